#!/usr/bin/env python3
"""Traces that are written later: staged on a host, without names, ended before the job is killed."""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import time

from machine import AFLAME, WORKPLACE, program
from recording import FAILED, Trace, aflame, must, new_path
from tap import Skip, case, equal, expect, run_cases

OF_LAUNCHERS = re.compile(r"RANK$|^(OMPI|PMI|PMIX|SLURM|FLUX|PALS|PBS|LSB|TORCHELASTIC|MASTER|HYD|AFLAME)_?")
BARE = {k: v for k, v in os.environ.items() if not OF_LAUNCHERS.search(k)}

# Ends at SIGTERM after so many seconds, with status 3; it opens "ready" when it is at work.
PROGRAM = """
import signal, sys, time
ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(time.time()))
ready = False
while not ends or time.time() < ends[0] + %g:
    sum(range(1000))
    if not ready:
        ready = open(sys.argv[1], "w").close() is None
sys.exit(3)
"""


STARTED = []


@atexit.register
def _():
    for recorder in STARTED:
        if recorder.poll() is None:
            os.killpg(recorder.pid, signal.SIGKILL)


def rank(number, **more):
    return {**BARE, "PMI_RANK": str(number), "PMI_SIZE": "8", "FLUX_JOB_ID": "7", "FLUX_TASK_RANK": str(number), **more}


def start(place, number, *options, ends_after=0.0, **more):
    """A rank's recorder, when its program is at work. What a failed case leaves is killed at the end."""
    ready = new_path("ready")
    recorder = subprocess.Popen(
        [AFLAME, "record", "--sample", "none", "-o", place, *options, "--", "python3", "-c", PROGRAM % ends_after, ready],
        env=rank(number, **more), stderr=subprocess.PIPE, cwd=WORKPLACE, start_new_session=True)
    STARTED.append(recorder)
    for _ in range(600):
        if os.path.exists(ready):
            return recorder
        time.sleep(0.05)
    raise AssertionError("the program never ran: %s" % recorder.stderr.read())


def end(recorder, signo=signal.SIGTERM, status=3):
    """To all processes of the rank, as launchers send it."""
    os.killpg(recorder.pid, signo)
    stderr = recorder.communicate(timeout=60)[1].decode()
    equal(recorder.returncode, status, "the status; it writes " + stderr)
    return stderr


def stage_new():
    path = new_path("stage")
    os.mkdir(path, 0o700)
    return path


def killed(place, number, stage):
    """A staged trace whose recorder and program were killed. Returns the staging directory."""
    end(start(place, number, "--stage", stage), signal.SIGKILL, -signal.SIGKILL)
    trace = "%s/rank-%04d" % (place, number)
    expect(os.path.exists(trace + "/.staged"), "the place says that the trace is staged: %s" % os.listdir(trace))
    with open(trace + "/.staged", encoding="utf-8") as stub:
        return stub.read().splitlines()[2]


def rows(command, *words, status=0):
    done = aflame(command, *words, "--json")
    equal(done.returncode, status, command + " " + done.stderr)
    return {os.path.basename(row["trace"]): row for row in json.loads(done.stdout)["tables"][0]["rows"]}


def states(command, *words, status=0):
    return {name: row["state"] for name, row in rows(command, *words, status=status).items()}


def is_whole(trace):
    names = set(os.listdir(trace))
    expect("metadata" in names and not names & {".staged", ".session", ".unnamed", ".naming"}, "whole: %s" % names)
    Trace(trace).check()


@case("a staged trace is at its place in the end, whole, and nothing of it is elsewhere")
def _():
    place, stage = new_path(), stage_new()
    done = aflame("record", "-q", "-o", place, "--", program("shares"), "0.1", env=rank(2, AFLAME_STAGE=stage))
    equal(done.returncode, 0, done.stderr)
    equal(done.stderr, "", "standard error")
    is_whole(place + "/rank-0002")
    equal(os.listdir(stage), [], "the staging directory")
    expect(any("run" in frames for frames, _ in Trace(place + "/rank-0002").stacks()), "functions have names")


@case("a staged trace that nobody can stage is recorded in its place")
def _():
    place = new_path()
    done = aflame("record", "-q", "-o", place, "--stage", new_path("none"), "--", "true", env=rank(0))
    equal(done.returncode, 0, done.stderr)
    expect("the trace is recorded in its place" in done.stderr, done.stderr)
    Trace(place + "/rank-0000").check()


@case("a killed recorder's staged trace is gathered, once, by one of two; finish names it")
def _():
    place, stage = new_path(), stage_new()
    where = [killed(place, number, stage) for number in (0, 1)]
    equal({os.stat(w).st_mode & 0o7777 for w in where}, {0o700}, "modes")
    refused = aflame("flame", place + "/rank-0001")
    equal(refused.returncode, FAILED, "reading it")
    expect(where[1] in refused.stderr and "aflame gather" in refused.stderr, refused.stderr)
    two = [subprocess.Popen([AFLAME, "gather", place, "--json"], stdout=subprocess.PIPE) for _ in range(2)]
    moved = [row["trace"] for one in two for row in json.loads(one.communicate()[0])["tables"][0]["rows"] if row["state"] == "moved"]
    equal(sorted(os.path.basename(m) for m in moved), ["rank-0000", "rank-0001"], "moved")
    equal(os.listdir(stage), [], "the staging directory")
    equal(states("finish", place), {"rank-0000": "named", "rank-0001": "named"}, "finish")
    equal(states("finish", place), dict.fromkeys(("rank-0000", "rank-0001"), "complete before"), "finish again")
    for name in ("rank-0000", "rank-0001"):
        is_whole(place + "/" + name)


@case("a recorder at work keeps its staged trace from being gathered")
def _():
    place, stage = new_path(), stage_new()
    equal(aflame("record", "-q", "-o", place, "--", "true", env=rank(1)).returncode, 0, "rank 1")
    recorder = start(place, 0, "--stage", stage)
    found = states("gather", place, "--stage", stage)
    equal(found, {"rank-0000": "still being recorded", "rank-0001": "here"}, "gather")
    equal(states("finish", place), {"rank-0000": "staged", "rank-0001": "complete before"}, "finish")
    tables = json.loads(must("report", "ranks", place, "--json"))["tables"]
    listed = next(t["rows"] for t in tables if t["name"] == "ranks")
    equal([(row["rank"], row["state"]) for row in listed], [(0, "recorded, staged"), (1, "complete")], "the ranks")
    end(recorder)
    equal(states("gather", place), {"rank-0000": "here", "rank-0001": "here"}, "gather after its end")


@case("a move that was killed anywhere is made good")
def _():
    place, stage = new_path(), stage_new()
    for number in range(3):
        where, trace = killed(place, number, stage), "%s/rank-%04d" % (place, number)
        for name in os.listdir(where):
            if not os.path.isdir(where + "/" + name) and name not in (".staging", ".session", ".origin"):
                with open(where + "/" + name, "rb") as one, open(trace + "/" + name, "wb") as other:
                    other.write(one.read() if number else one.read(100))  # 0: while a file was copied
        if number:  # 1: all was copied
            os.rename(where + "/.staging", where + "/.moved")
        if number == 2:  # and the stub was removed
            os.unlink(trace + "/.staged")
    # Of 1 and 2 the recorder had ended; here it was killed, so their last events are not there.
    moved = states("gather", place, "--stage", stage)
    equal((moved["rank-0000"], moved["rank-0001"]), ("moved", "moved"), "gather")
    equal(os.listdir(stage), [], "the staging directory")
    equal([os.path.exists("%s/rank-%04d/.staged" % (place, n)) for n in range(3)], [False] * 3, "stubs")
    must("finish", place + "/rank-0000")
    is_whole(place + "/rank-0000")


@case("a staged trace whose place is gone comes back by --stage; one whose place is taken stays")
def _():
    place, stage = new_path(), stage_new()
    where = [killed(place, number, stage) for number in (0, 1)]
    shutil.rmtree(place + "/rank-0000")
    os.unlink(place + "/rank-0001/.staged")
    open(place + "/rank-0001/metadata", "w", encoding="utf-8").close()
    found = rows("gather", place, "--stage", stage, status=FAILED)
    equal(found["rank-0000"]["state"], "moved", "of the place that is gone")
    equal(os.listdir(stage), [os.path.basename(where[1])], "the other stays")
    must("finish", place + "/rank-0000")
    is_whole(place + "/rank-0000")


@case("stubs of other hosts, hostile stubs and lost staging directories are reported, and nothing is touched")
def _():
    place, stage = new_path(), stage_new()
    where = killed(place, 0, stage)
    stub = place + "/rank-0000/.staged"
    boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
    other = stage_new()
    open(other + "/.staging", "w", encoding="utf-8").close()
    for text, state in (
        ("elsewhere\nboot\n%s\n" % where.replace("stage", "stagf"), "on another host"),
        ("elsewhere\nboot\n%s\n" % other, "on another host"),
        ("elsewhere\nboot\n/etc\n", "on another host"),
        ("", "on another host"),
        ("x\n" * 5000, "on another host"),
        ("vm\x1b[31m\n\n../up\n", "on another host"),
        ("here\n%s\n%s\n" % (boot, where[:-1] + ("0" if where[-1] != "0" else "1")), "lost"),
    ):
        with open(stub, "w", encoding="utf-8") as file:
            file.write(text)
        found = rows("gather", place, status=FAILED if state == "lost" else 0)
        equal(found["rank-0000"]["state"], state, "with the stub %.60r" % text)
        expect("\x1b" not in found["rank-0000"]["host"], "the host is printable")
    equal(os.listdir(other), [".staging"], "the other directory")
    expect(os.path.exists(where + "/.staging"), "the trace stays")


def on_small_disks(script, *words):
    """In a mount namespace of its own: $1 is aflame, $2 a folder of 24 pages."""
    folder = new_path("small")
    os.mkdir(folder)
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=96k none "$2" || exit 99; ' + script, "sh", AFLAME, folder, *words],
        env=rank(0), cwd=WORKPLACE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        raise Skip("nothing can be mounted here: %s" % done.stderr.strip()[-200:])
    return done


@case("a full place leaves the trace in the staging directory; with room it is gathered")
def _():
    stage = stage_new()
    done = on_small_disks(
        '''"$1" record -q -o "$2/run" --stage "$3" -- "$4" 0.2 >/dev/null; echo "status $?"
        ls -A "$2/run/rank-0000"; ls -A "$3"; "$1" gather "$2/run" 2>&1; echo "status $?"
        mount -o remount,size=16m "$2"; "$1" gather "$2/run" && "$1" finish "$2/run" && ls -A "$2/run/rank-0000" "$3"''',
        stage, program("shares"))
    before, after = done.stdout.split("status 1\n")
    expect(before.startswith("status 0\n"), "the program's status: " + before + done.stderr)
    expect("No space left" in done.stderr and "aflame gather" in done.stderr, done.stderr)
    expect(".staged" in before and "s1-0" not in before and ".aflame-stage." in before, before)
    expect("1 moved" in after and "1 named" in after and "symbols" in after, after + done.stderr)
    equal(os.listdir(stage), [], "the staging directory")


@case("a staging directory without room is left alone")
def _():
    place = new_path()
    done = on_small_disks('"$1" record -q -o "$3" --stage "$2" -- "$4" 0.2 >/dev/null; echo "status $?"; ls -A "$2"',
                          place, program("shares"))
    equal(done.stdout, "status 0\n", "status, and what is left: " + done.stderr)
    expect("has room for" in done.stderr and "recorded in its place" in done.stderr, done.stderr)
    is_whole(place + "/rank-0000")


@case("SIGTERM in a job leaves a trace that lacks only names, which the next command writes")
def _():
    place = new_path()
    recorder = start(place, 3, ends_after=0.3)
    stderr = end(recorder)
    expect("aflame finish" in stderr, stderr)
    trace = place + "/rank-0003"
    expect(os.path.exists(trace + "/.unnamed"), "%s" % os.listdir(trace))
    equal([f["value"] for f in Trace(trace).fields("note") if f["key"] == "end.status"], ["with status 3"], "its end")
    expect(not os.path.exists(trace + "/.unnamed"), "print wrote the names")
    is_whole(trace)


@case("a program that goes on after SIGTERM keeps its status, and its recording ends before it is killed")
def _():
    place, stage = new_path(), stage_new()
    recorder = start(place, 4, "--grace", "0.5", "--stage", stage, ends_after=4)
    os.killpg(recorder.pid, signal.SIGTERM)
    trace = place + "/rank-0004"
    for _ in range(60):
        moved = os.path.exists(trace + "/.unnamed") and not os.path.exists(trace + "/.staged")
        if moved and not os.listdir(stage):
            break
        time.sleep(0.05)
    expect(recorder.poll() is None, "the program runs on")
    equal(os.listdir(stage), [], "the staging directory")
    equal(states("finish", place), {"rank-0004": "named"}, "finish, while the program runs")
    recorder.communicate(timeout=60)
    equal(recorder.returncode, 3, "status")
    is_whole(trace)


@case("names are claimed: a living process keeps them, a dead one's claim is taken over")
def _():
    place = new_path()
    done = aflame("record", "-q", "--no-symbols", "-o", place, "--", program("shares"), "0.1", env=rank(0))
    equal((done.returncode, done.stderr), (0, ""), "record")
    trace, boot = place + "/rank-0000", open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()

    def claimed(text):
        os.replace(trace + "/.unnamed", trace + "/.naming")
        with open(trace + "/.naming", "w", encoding="utf-8") as file:
            file.write(text)

    claimed("-\nother-boot other-host\n")
    equal(states("finish", place), {"rank-0000": "being named by another process"}, "a fresh claim of another host")
    os.utime(trace + "/.naming", (0, 0))
    equal(states("finish", place), {"rank-0000": "named"}, "an old claim of another host")
    os.unlink(trace + "/symbols")
    open(trace + "/.unnamed", "w", encoding="utf-8").close()
    claimed("-\n%s here\n" % boot)
    with subprocess.Popen(["flock", trace + "/.naming", "sleep", "60"]) as holder:
        time.sleep(0.3)
        equal(states("finish", place), {"rank-0000": "being named by another process"}, "a living claim")
        subprocess.run(["pkill", "-P", str(holder.pid)], check=False)
        holder.kill()
    time.sleep(0.1)
    equal(states("finish", place, "-j", "3"), {"rank-0000": "named"}, "a dead process's claim")
    is_whole(trace)


run_cases()
