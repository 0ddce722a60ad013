#!/usr/bin/env python3
"""Ranks of a job and steps of a program that are recorded, the others run untouched; groups of ranks;
ranks that are there twice, begin anew, are killed, or have no room."""

import os
import re
import shutil
import signal
import subprocess

from machine import AFLAME, PROGRAMS, any_sampler, need_root, need_tool, program, pythons
from rank_work import RECORD, bare_environment, new_folder
from recording import Trace, aflame, bare, must, new_path, parse_folded, record, refused
from tap import Skip, case, equal, expect, run_cases

MPIRUN = {"mpirun.openmpi": ["--oversubscribe"], "mpirun.mpich": []}
SAY = 'echo "${OMPI_COMM_WORLD_RANK-$PMI_RANK} ${AFLAME_SESSION:+ours} ${LD_PRELOAD:+ours}"'


def launched(launcher, nr, folder, *options):
    """{rank: what of ours its program saw} of @nr ranks."""
    words = [need_tool(launcher), *MPIRUN[launcher], "-n", str(nr), *RECORD, *options, "--", "sh", "-c", SAY]
    done = subprocess.run(words, cwd=folder, env=bare_environment(), check=False, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    equal((done.returncode, done.stderr), (0, ""), "(status, standard error) of %s" % launcher)
    return {int(line.split()[0]): " ".join(line.split()[1:]) for line in done.stdout.splitlines()}


def start(rank, folder, *command, options=(), stdin=subprocess.DEVNULL, **more):
    variables = {"RANK": str(rank), "WORLD_SIZE": "64", "TORCHELASTIC_RUN_ID": "job", **more}
    return subprocess.Popen([*RECORD, "-o", "set", *options, "--", *command], cwd=folder,
                            env=bare_environment(**variables), stdin=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, universal_newlines=True)


def notes(path):
    return {n["key"]: n["value"] for n in Trace(path).fields("note")}


def traces_in(folder):
    return sorted(name for name in os.listdir(folder) if name != ".job")


@case("the chosen ranks are recorded; the others run, and nothing of aflame's is in them")
def _():
    for launcher in MPIRUN:
        for chosen, wanted in (("--ranks 0-1,4", {0, 1, 4}), ("--every 3", {0, 3}),
                               ("--ranks 2-9 --hosts one", {2, 3, 4, 5}), ("--hosts nowhere", set())):
            folder = new_folder()
            ran = launched(launcher, 6, folder, "-o", "set", *chosen.split())
            equal(ran, {r: "ours ours" if r in wanted else "" for r in range(6)}, "ranks that ran")
            equal(os.listdir(folder), ["set"] if wanted else [], "what is there")
            if not wanted:
                continue
            equal(traces_in(folder + "/set"), ["rank-%04d" % r for r in sorted(wanted)], "traces")
            of = notes(folder + "/set/rank-%04d" % max(wanted))
            equal((of["ranks.size"], of["ranks.selection"]), ("6", chosen), "notes")
            report = must("report", folder + "/set")
            expect("%d of the job's 6 ranks were recorded, as %s asks" % (len(wanted), chosen) in report, report)


@case("ranks that left no trace are named")
def _():
    folder = new_folder()
    launched("mpirun.mpich", 8, folder, "-o", "set")
    expect("of the job's" not in must("report", folder + "/set"), "a whole set lacks none")
    for rank in (2, 4, 5):
        shutil.rmtree(folder + "/set/rank-%04d" % rank)
    report = must("report", folder + "/set")
    expect("3 of the job's 8 ranks left no trace here: 2, 4-5;" in report, report)


@case("where no rank is known the program runs, and the reason is named")
def _():
    folder = new_folder()
    done = aflame("record", "--ranks", "0", "--", "sh", "-c", "exit 3", cwd=folder, env=bare_environment())
    equal((done.returncode, os.listdir(folder)), (3, []), "(status, files)")
    expect(re.search("unrecorded: --ranks.*mpirun", done.stderr), done.stderr)
    refused(1, "--ranks.*mpirun", "record", "--strict", "--ranks", "0", "--", "true", cwd=folder, env=bare_environment())
    refused(2, "--ranks takes numbers and ranges", "record", "--ranks", "2-1", "--", "true", cwd=folder)
    for rank in (0, 1):
        done = start(rank, folder, "true", options=["--hosts", "one"])
        equal(("rank 0 alone" in done.communicate()[1], done.returncode), (rank == 0, 0), "rank %d" % rank)
    equal(traces_in(folder + "/set"), ["rank-0000"], "traces")


@case("groups come from a file, the environment and the launcher; a bad file costs only them")
def _():
    folder = new_folder()
    with open(folder + "/groups", "w", encoding="utf-8") as file:
        file.write("# tensor parallel by two\n0-1 dp=0\n2-3 dp=1\n%s switch=s7\n" % os.uname().nodename)
    launched("mpirun.mpich", 4, folder, "-o", "set", "--groups", "groups")
    for rank in range(4):
        found = {k: v for k, v in notes(folder + "/set/rank-%04d" % rank).items() if k.startswith("group.")}
        equal(found, {"group.dp": str(rank // 2), "group.switch": "s7", "group.local": str(rank)}, "rank %d" % rank)
    done = start(5, folder, "true", AFLAME_GROUPS="tp=1,pp=0", ROLE_NAME="trainer", GROUP_RANK="2")
    equal(done.communicate()[1], "", "standard error")
    found = notes(folder + "/set/rank-0005")
    equal([found["group." + k] for k in ("tp", "pp", "role", "node")], ["1", "0", "trainer", "2"], "groups")
    done = start(6, folder, "true", options=["--groups", "nowhere"])
    expect("without the groups" in done.communicate()[1], "it is not named")
    equal(notes(folder + "/set/rank-0006")["rank"], "6", "the rank of the trace")


@case("notes tell the host's boot and its time namespace")
def _():
    folder = new_folder()
    must("record", "-q", "-o", "here", "--", "true", cwd=folder)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        equal(notes(folder + "/here")["boot_id"], file.read().strip(), "boot_id")
    need_root()
    words = [need_tool("unshare"), "--time", "--monotonic", "86400", "--fork", AFLAME, "record", "-q", "-o", "later", "--", "true"]
    if subprocess.run(words, cwd=folder, check=False, stderr=subprocess.PIPE).returncode:
        raise Skip("no time namespaces here")
    equal(notes(folder + "/later")["timens"], "monotonic 86400 0", "timens")


@case("a rank that is there twice has two traces; one that begins anew keeps the first")
def _():
    folder = new_folder()
    wait = ["sh", "-c", "echo up; read x; exit 4"]
    first = start(3, folder, *wait, stdin=subprocess.PIPE)
    first.stdout.readline()
    second = start(3, folder, "sh", "-c", "exit 5")
    words = second.communicate(timeout=60)[1]
    equal(second.returncode, 5, "status of the second")
    expect(re.search(r"another recorder of rank 3 .*rank-0003b", words), words)
    first.communicate(timeout=60)
    equal(first.returncode, 4, "status of the first")
    for restarts in ("0", "1", "2"):
        again = start(4, folder, "true", TORCHELASTIC_RESTART_COUNT=restarts)
        again.communicate(timeout=60)
    equal(traces_in(folder + "/set"), ["rank-0003", "rank-0003b", "rank-0004", "rank-0004.restart-1",
                                       "rank-0004.restart-2"], "traces")
    equal(notes(folder + "/set/rank-0004.restart-2")["ranks.restarts"], "2", "restarts")
    for name in traces_in(folder + "/set"):
        Trace(folder + "/set/" + name).check()
    # The next job sets all of them aside, and the one after it removes them.
    for job in ("two", "three"):
        start(0, folder, "true", TORCHELASTIC_RUN_ID=job).communicate(timeout=60)
    equal(sorted(name.split("-")[0] for name in os.listdir(folder)), ["set", "set.old"], "folders")


@case("a program, a recorder or both that are killed leave a trace that says so")
def _():
    folder = new_folder()
    wait = ["sh", "-c", "echo $$; read x; exit 4"]
    ranks = [start(r, folder, *wait, stdin=subprocess.PIPE) for r in range(3)]
    programs = [int(rank.stdout.readline()) for rank in ranks]
    os.kill(programs[0], signal.SIGKILL)
    ranks[1].kill()
    os.kill(programs[2], signal.SIGKILL)
    ranks[2].kill()
    for rank in ranks:
        rank.communicate(timeout=60)
    equal(ranks[0].returncode, -signal.SIGKILL, "status of a killed program")
    for rank in range(3):
        trace = Trace(folder + "/set/rank-%04d" % rank)
        must("report", trace.path)  # finishes it
        found = notes(trace.path)
        equal(("recovered" in found, found.get("end.status", "")),
              (rank > 0, "" if rank else "by signal 9 (Killed)"), "rank %d" % rank)


@case("a host without room: its ranks run with their status, the others are recorded")
def _():
    need_root()
    folder = new_folder()
    script = 'mkdir -p small; mount -t tmpfs -o size=8k none small && cd small && exec "$@"'
    words = [need_tool("unshare"), "--mount", "sh", "-c", script, "sh", *RECORD, "-o", "set", "--", "sh", "-c", "exit 9"]
    env = bare_environment(RANK="0", WORLD_SIZE="2", TORCHELASTIC_RUN_ID="job")
    done = subprocess.run(words, cwd=folder, env=env, check=False, timeout=60, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    equal(done.returncode, 9, "status: %s" % done.stderr)
    expect("No space left" in done.stderr, done.stderr)
    other = start(1, folder, "sh", "-c", "exit 8")
    equal((other.communicate(timeout=60)[1], other.returncode), ("", 8), "the other host's rank")


# --- steps


def seen(run):
    """({function: sampled ns}, names of the recorded ranges that are steps, gaps in ns)"""
    sums = {"inside": 0, "outside": 0}
    for frames, ns in parse_folded(must("flame", "--view", "cpu", run.path)):
        for name in {bare(f) for f in frames} & set(sums):
            sums[name] += ns
    steps = [r["name"] for r in run.fields("range") if r["name"].startswith("step")]
    return sums, steps, [l["count"] for l in run.fields("lost") if l["reason"] == "PAUSED"]


@case("--steps records those steps alone, by ranges or marks, by name or without")
def _():
    sampler = any_sampler()
    for how, name, where in (("push", "@step", ()), ("push", "", ()), ("start", "", ()), ("mark", "@step", ()),
                             ("push", "@step", ("thread",))):
        options = ["--api", "none", "--steps", "10:14" + name]
        run = record(program("nvtx_steps"), how, "20", "10", "14", *where, sampler=sampler, rate=997,
                     options=options, status=7)
        sums, steps, gaps = seen(run)
        what = "%s %s %s" % (how, name, where)
        # Of ranges that overlap the next one begins within the last one.
        wanted = ["step %d" % n for n in range(10, 16 if how == "start" else 15)]
        equal(steps, wanted, "ranges of " + what)
        equal(sums["outside"], 0, "samples outside of the steps, " + what)
        expect(sums["inside"] > 0, "no samples of the steps, " + what)
        equal(len(gaps), 2, "gaps of " + what)
        report = must("report", run.path)
        expect(re.search(r"What was lost\n +nothing\n", report), report)
        expect(not re.search("of the CPU time (was|is) (not )?sampled|missing", report), report)


@case("--steps counts Python's steps, too")
def _():
    found = pythons()
    if not found:
        raise Skip("no Python whose frames can be read")
    script = new_path("steps") + ".py"
    with open(script, "w", encoding="utf-8") as file:
        file.write("import ctypes, sys, time\nnvtx = ctypes.CDLL(sys.argv[1])\n"
                   "def burn():\n    end = time.thread_time() + 0.01\n    while time.thread_time() < end:\n        pass\n"
                   "def inside(): burn()\ndef outside(): burn()\n"
                   "for i in range(1, 21):\n    nvtx.nvtx_push(b'iteration %d' % i)\n"
                   "    (inside if 10 <= i <= 14 else outside)()\n    nvtx.nvtx_pop()\n")
    run = record(found[-1][1], script, os.path.join(PROGRAMS, "libnvtx_py.so"), sampler=any_sampler(), rate=997,
                 options=["--steps", "10:14@iteration"])
    names = [r["name"] for r in run.fields("range") if r["name"]]
    equal(names, ["iteration %d" % n for n in range(10, 15)], "ranges")
    text = must("flame", "--view", "cpu", run.path)
    expect("inside (" in text and "outside (" not in text, text[:2000])


@case("--steps that never come are named, and senseless ones refused")
def _():
    folder = new_folder()
    for steps, reason in (("30:40@step", "had 20 steps step"), ("1:2@nowhere", "no region, NVTX range or marker named nowhere")):
        done = aflame("record", "-q", "-o", "t", "--sample", "none", "--steps", steps, "--", program("nvtx_steps"),
                      "push", "20", "0", "0", cwd=folder)
        equal(done.returncode, 7, "status")
        expect(reason in done.stderr, done.stderr)
    for words in (["--steps", "0:3"], ["--steps", "3:2"], ["--steps", "x"], ["--steps", "1:2", "--delay", "1"]):
        refused(2, "--steps", "record", *words, "--", "true", cwd=folder)


run_cases()
