#!/usr/bin/env python3
"""Machines that cannot do what is wanted: full and read-only file systems, samplers that the kernel
refuses. A message names the cause and the fix, and the program runs on."""

import ctypes
import errno
import json
import os
import platform
import re
import struct
import subprocess

from machine import AFLAME, WORKPLACE, any_sampler, need, need_tool, program
from recording import FAILED, aflame, must, new_path, record, refused, sampled
from tap import Skip, case, equal, expect, near, note, run_cases


def with_mounts(script, *words):
    """Runs a shell script in a mount namespace of its own, as root there."""
    need_tool("unshare")
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("no namespaces to mount in here")
    done = subprocess.run(
        [*unshare, "sh", "-c", script, "sh", AFLAME, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=WORKPLACE,
        check=False,
        timeout=120,
    )
    if done.returncode == 99:
        raise Skip("nothing can be mounted here: %s" % done.stderr.strip())
    return done


def mounted(options, then):
    folder = new_path("mount")
    os.mkdir(folder)
    return "mount -t tmpfs -o %s none '%s' || exit 99; cd '%s'; %s" % (
        options,
        folder,
        folder,
        then,
    )


@case("a full disk: the program runs on, and a message names the cause and the fix")
def _():
    # The timer's few samples would fit into the small one.
    for size, what in (("64k", "small"), ("16k", "tiny"))[any_sampler() != "perf" :]:
        done = with_mounts(
            mounted(
                "size=" + size,
                '"$1" record -q -f -F 9973 --sample "$3" -- "$2" 0.5; echo "lenient $?";'
                '"$1" record --strict -q -f -F 9973 --sample "$3" -- "$2" 0.5; echo "status $?";'
                '"$1" print --count',
            ),
            program("shares"),
            any_sampler(),
        )
        note("%s: %s" % (what, done.stderr.strip()))
        expect("truth share.a 0." in done.stdout, "the program did not end: %s" % done.stdout)
        expect("status 1\n" in done.stdout, "recorded with %s" % done.stdout)
        expect("lenient 0\n" in done.stdout, "the program's status is lost: %s" % done.stdout)
        expect("No space left on device" in done.stderr, done.stderr)
        expect(
            re.search(r"free some|another.*-o|-o.*another", done.stderr),
            "no word of what to do: %s" % done.stderr,
        )
        if what == "small":
            expect(
                re.search(r"^total +\d+$", done.stdout, re.M),
                "what there is of the trace cannot be read: %s" % done.stderr,
            )


@case("a full disk when report, flame and print write their results")
def _():
    run = sampled()
    for words in (
        ["flame"],
        ["report", "summary"],
        ["report", "top", "--json"],
        ["print"],
        ["print", "--json"],
        ["help"],
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [AFLAME, *words] + ([run.path] if words != ["help"] else []),
                stdout=full,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                check=False,
            )
        equal(
            (done.returncode, "No space left on device" in done.stderr),
            (1, True),
            "(status, message) of %s" % words,
        )


@case("a read-only folder")
def _():
    run = sampled()
    done = with_mounts(
        mounted(
            "ro",
            '"$1" record -q --strict --sample none -- echo no; echo "status $?";'
            '"$1" record -q --sample none -- sh -c "exit 5"; echo "status $?";'
            '"$1" run -q --sample none -- sh -c "exit 6"; echo "status $?";'
            '"$1" flame -o x.svg "$2"; echo "status $?"',
        ),
        run.path,
    )
    equal(done.stdout, "status 1\nstatus 5\nstatus 6\nstatus 1\n", "exit statuses")
    expect(
        re.search(
            r"^aflame record: cannot make.*Read-only file system.*\n"
            r"aflame record: the program runs unrecorded: .*Read-only file system.*\n"
            r"aflame run: the program runs unrecorded: .*Read-only file system.*\naflame flame: .*Read-only file system",
            done.stderr,
        ),
        done.stderr,
    )


@case("a /dev/shm without room: the program runs on, nothing recorded is a failure")
def _():
    shm = "mount -t tmpfs -o size=%s none /dev/shm || exit 99; "
    record_words = (
        '"$1" record -q --strict -o "$3" --sample "$4" -- "$2" 0.3; echo "status $?";'
        '"$1" record -q -o "$3.2" --sample "$4" -- sh -c "$2 0.1; exit 5"; echo "lenient $?";'
        '"$1" doctor --json; echo "doctor $?"'
    )
    for size in ("4k", "64k"):
        done = with_mounts(shm % size + record_words, program("shares"), new_path(), any_sampler())
        note("%s: %s" % (size, done.stderr.strip()))
        expect(
            "truth share.a 0." in done.stdout.partition("status")[2],
            "the program did not end: %s" % done.stdout,
        )
        expect("lenient 5" in done.stdout, "the program's status is lost: %s" % done.stdout)
        expect("/dev/shm" in done.stderr, "no word of /dev/shm: %s" % done.stderr)
        expect("status 0" not in done.stdout, "nothing was recorded, but: %s" % done.stdout)
        expect("doctor 1" in done.stdout, "doctor finds nothing wrong")


@case("a /dev/shm that is read-only: reported by record and by doctor")
def _():
    done = with_mounts(
        "mount -t tmpfs -o ro none /dev/shm || exit 99;"
        '"$1" record -q --sample none -o "$2" -- sh -c "exit 5"; echo "status $?";'
        '"$1" doctor --json; echo "doctor $?"',
        new_path(),
    )
    expect(re.search(r"/dev/shm.*Read-only file system", done.stderr), done.stderr)
    expect("status 5" in done.stdout and "doctor 1" in done.stdout, done.stdout)


# --- limits


@case("tight limits (files, their size, memory, stack) change nothing for the program")
def _():
    # Long enough to be sampled from outside where libaflame takes no memory.
    command = "ulimit %s; exec " + program("shares") + " 0.4"
    for limit in ("-f 8", "-n 4", "-v 8000", "-s 64", "-l 0", "-t 2"):
        run = record("sh", "-c", command % limit, sampler=any_sampler(), quiet=False)
        drawn = aflame("flame", "--view", "cpu", run.path)
        note("ulimit %s: %d stacks; %s" % (limit, drawn.stdout.count("\n"), run.stderr.decode().strip()))
        expect("share.a" in run.truth, "ulimit %s: it did not end" % limit)
        if not drawn.stdout:
            expect(b"were lost" in run.stderr, "ulimit %s: nothing was recorded, unsaid" % limit)


@case("too few descriptors, in any number: the program runs, and nothing is left behind")
def _():
    script = (
        "mount -t tmpfs none /dev/shm || exit 99; for n in 5 6 7 8 9 10 11 12 13 14 15 16 18 20; do"
        ' (ulimit -n $n; "$1" record -q --sample "$3" -o "$2/$n" -- sh -c "ulimit -n; exit 7";'
        ' echo "$?"); done; ls /dev/shm | wc -l'
    )
    folder = new_path("few")
    os.mkdir(folder)
    done = with_mounts(script, folder, any_sampler())
    lines = done.stdout.split()
    equal(lines[-1], "0", "files in /dev/shm")
    equal(lines[1:-1:2], ["7"] * 14, "statuses")
    equal(lines[0:-1:2], [str(n) for n in (*range(5, 17), 18, 20)], "limits of the program")
    expect(re.search(r"^aflame record: the program runs unrecorded: .*Too many", done.stderr), done.stderr)


@case("a recorder that crashes before the program has started runs it")
def _():
    gdb = need_tool("gdb")
    script = ["-ex", "break af_session_open", "-ex", "run", "-ex", "signal SIGSEGV"]
    words = ["record", "-q", "-o", new_path(), "--", "sh", "-c", "echo ran; exit 9"]
    done = subprocess.run(
        [gdb, "-q", "-nx", "-batch", *script, "--args", AFLAME, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        check=False,
        timeout=120,
    )
    if "Breakpoint 1, " not in done.stdout:
        raise Skip("gdb stops no program here")
    expect("the recorder failed: the program runs unrecorded" in done.stdout, done.stdout)
    expect(re.search(r"^ran$", done.stdout, re.M) and "exited with code 011" in done.stdout, done.stdout)


@case("a limit on the size of files that holds for the recorder too is reported")
def _():
    line = 'ulimit -f 32; "$1" record -q --strict --sample none -o "$3" -- "$2" 0.05'
    done = subprocess.run(
        ["sh", "-c", line, "sh", AFLAME, program("shares"), new_path()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        check=False,
    )
    equal(done.returncode, FAILED, "status")
    expect("truth share.a" in done.stdout, "the program did not end: %s" % done.stdout)
    expect("ulimit -f" in done.stderr, done.stderr)


# --- samplers


@case("doctor's JSON parses, and its exit status is 0 where programs can be sampled")
def _():
    done = aflame("doctor", "--json")
    answer = json.loads(done.stdout)
    works = {c["name"]: c["works"] for c in answer["collectors"]}
    equal(set(works), {"bpf", "perf", "timer", "opencl", "cuda", "cuda-pc", "hip", "xe-eustall", "i915-eustall",
                       "ze", "kokkos", "itt", "omp", "zet-stall", "zet-metrics", "xe-oa"},
          "collectors")
    expect(
        all(c["works"] or c["says"] for c in answer["collectors"]),
        "a collector fails without a reason",
    )
    can = (works["perf"] or works["timer"]) and answer["shm"]["works"]
    equal(done.returncode, 0 if can else 1, "status")
    equal(aflame("doctor").returncode, done.returncode, "status of the text")


@case("a kernel that hides where its functions are: doctor says what shows them")
def _():
    hidden, level = new_path(), new_path()
    with open(hidden, "w") as file:
        file.write("0000000000000000 T _text\n0000000000000000 T schedule\n")
    for number, says in (("2", "sysctl kernel.kptr_restrict=1"), ("1", "cap_syslog")):
        with open(level, "w") as file:
            file.write(number + "\n")
        done = with_mounts(
            'mount --bind "$2" /proc/kallsyms && mount --bind "$3" /proc/sys/kernel/kptr_restrict ||'
            ' exit 99; "$1" doctor; "$1" doctor --json',
            hidden,
            level,
        )
        line = re.search(r"^does not +kernel  .*", done.stdout, re.M)
        expect(line and says in line.group(), done.stdout)
        expect(says in json.loads(done.stdout.splitlines()[-1])["kernel_names"]["says"], done.stdout)


REFUSABLE = {"perf_event_open": 298, "timer_create": 222}  # system calls of x86-64


def refusing(*calls):
    """For preexec_fn: the kernel refuses these calls (EPERM), as container runtimes have it do."""
    if platform.machine() != "x86_64":
        raise Skip("system call numbers of x86-64")
    code = [(0x20, 0, 0, 0)]  # load the call's number
    for call in calls:
        code += [(0x15, 0, 1, REFUSABLE[call]), (0x06, 0, 0, 0x00050000 | errno.EPERM)]
    code += [(0x06, 0, 0, 0x7FFF0000)]  # allow the others
    packed = b"".join(struct.pack("HBBI", *line) for line in code)
    libc = ctypes.CDLL(None, use_errno=True)

    def apply():
        buffer = ctypes.create_string_buffer(packed)
        program_of = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(
            22, 2, ctypes.create_string_buffer(program_of), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "seccomp")

    return apply


@case("where perf events are refused the timer takes their place, and a line says why")
def _():
    need("timer")
    refuse = refusing("perf_event_open")
    refused(
        FAILED,
        r"--sample perf does not work here.*perf",
        "record",
        "-q",
        "--strict",
        "--sample",
        "perf",
        "--",
        "true",
        preexec_fn=refuse,
    )
    words = ["-q", "-o", new_path(), "--sample", "perf", "--", "sh", "-c", "exit 9"]
    refused(9, r"unrecorded: --sample perf does not work here", "record", *words, preexec_fn=refuse)
    doctor = aflame("doctor", "--json", preexec_fn=refuse)
    equal(doctor.returncode, 0, "doctor's status")
    perf = [c for c in json.loads(doctor.stdout)["collectors"] if c["name"] == "perf"][0]
    note(perf["says"])
    equal(perf["works"], False, "doctor on perf")
    run = record(program("shares"), "0.3", sampler="auto", rate=997, quiet=False, preexec_fn=refuse)
    reported = run.stderr.decode()
    expect(re.search(r"^aflame: .*perf.*\n\Z", reported) and "timer" in reported, "reported: %s" % reported)
    expect(len(run.events("sample")) > 20, "%d samples" % len(run.events("sample")))


@case("where perf events are refused, threads that block samples are counted with their cause", tries=2)
def _():
    need("timer")
    run = record(
        program("masks"), "2", "only-raw", sampler="timer", rate=997, preexec_fn=refusing("perf_event_open")
    )
    document = json.loads(must("report", "coverage", "--json", "--by", "thread", run.path))
    found = []
    for table in document["tables"]:
        if table["name"] == "coverage_threads":
            found = table["rows"]
    used = sum(r["used_user_ns"] or 0 for r in found)
    near(used / 1e3, run.truth["user_us"], 0.1 * run.truth["user_us"], "user time of all threads, us")
    worst = found[0]
    expect(worst["is_short"] == "yes" and worst["used_user_ns"] > 0.8 * used, worst)
    expect("block the signal of samples" in worst["cause"], worst["cause"])


@case("where nothing can sample the program runs on, and a line says so")
def _():
    refuse = refusing("perf_event_open", "timer_create")
    equal(aflame("doctor", preexec_fn=refuse).returncode, 1, "doctor's status")
    run = record(
        program("prints"), sampler="auto", rate=997, quiet=False, status=42, preexec_fn=refuse
    )
    reported = run.stderr.decode().replace("to stderr\n", "")
    note(reported)
    expect(reported.startswith("aflame: no CPU samples"), "reported: %s" % reported)


run_cases()
