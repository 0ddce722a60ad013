"""Faults: what is done to a recording and by the programs in it. Each fault is a function that
returns what was lost (and where it is reported), fails by AssertionError, and is left out by Skip. The
live test runs the short ones; tests/bench/stress runs all, longer, and prints the table."""

import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import seen
from machine import (
    AFLAME, BUILD, PROGRAMS, SCRIPTS, SOURCE, WORKPLACE, any_sampler, need, need_tool, probes, program, samplers)
from recording import Recording, Trace, aflame, new_path
from tap import Skip, equal, expect

FAULTS = []


# Faults of which little is seen, or where nobody can say how much, and why.
OUT_OF_REACH = "threads and children that start where the session's files cannot be opened are not sampled from inside"
SHORT_LIVED = "processes and threads that live about 1 ms end before they are set up or before a first sample"
OUTSIDE = "only the kernel's sampler (bpf) sees programs that the library is not loaded into"
LOST = "what the disk cannot take is lost, and reported"
DEBUGGED = "perf does not sample while a debugger is attached, and tells so"
DIED = "perf's events are the recorder's, and end with it"
OWN = "the fault itself holds the samples against what was to be seen"
LIMITS = {
    "chroot into an empty directory": OUT_OF_REACH,
    "pivot_root in a mount namespace of its own": OUT_OF_REACH,
    "another /dev/shm is mounted over the recorder's": OUT_OF_REACH,
    "setuid to nobody": OUT_OF_REACH,
    "a seccomp filter that refuses files, sockets and perf events": OUT_OF_REACH,
    "a fork bomb of 780 processes": SHORT_LIVED,
    "2000 threads at once": SHORT_LIVED,
    "rlimit of 4 descriptors, set by the program": OUT_OF_REACH,
    "rlimit of 0 bytes for files, set by the program": OUT_OF_REACH,
    "env -i: the library is not loaded into what it starts": OUTSIDE,
    "a set-user-id program, started by nobody": OUTSIDE,
    "a program linked against musl, however it is started": OWN,
    "a 32-bit program, however it is started": OWN,
    "what else is to be preloaded into a 32-bit program": OUTSIDE,
    "gdb comes to a recorded program, and stays": DEBUGGED,
    "the recorder dies of SIGSEGV, SIGABRT, SIGBUS": DIED,
    "a disk that is full from the start": LOST,
    "a disk that fills meanwhile, and is freed again": LOST,
    "a quota that is reached": LOST,
    "a disk quota that is reached": LOST,
    "a disk quota that is reached, and raised soon after": LOST,
    "a disk that becomes read-only meanwhile": LOST,
    "a disk that fails meanwhile": LOST,
    "a disk that stands still for 0.8 s": OWN,
    "a read-only disk": LOST,
    "a /dev/shm without room": LOST,
    "the trace directory is removed meanwhile": LOST,
    "limits on the recorder and the program: -f -n -v -u": OUT_OF_REACH,
    "kill -9 of target, recorder, both, 200 times, threads being born and dying": OWN,
    "the same with --ring": OWN,
}


def fault(sentence, quick=True):
    """@quick: also in the live test. What is unharmed must also be seen: the fault states the share of
    the CPU time that was sampled, and fails where that is too low, but for a known limit."""

    def add(function):
        def watched(long):
            del seen.RUNS[:]
            reported = function(long)
            return "%s; %s" % (seen.judge(LIMITS.get(sentence)), reported)

        FAULTS.append((sentence, watched, quick))
        return function

    return add


def run(*command, sampler=None, rate=999, options=(), env=None, before=None, timeout=120, out=None, alone=False):
    """(CompletedProcess, Recording) of a recorded command. @alone: without a witness, who would be there too."""
    path = out or new_path()
    sampler = sampler or any_sampler()
    witness = [] if alone else [program("witness"), path + ".used"]
    done = subprocess.run(
        [AFLAME, "record", "-q", "-o", path, "--sample", sampler, "-F", str(rate), *options, "--", *witness, *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
        preexec_fn=before, timeout=timeout, cwd=WORKPLACE, check=False)
    if not alone:
        seen.add(path, sampler)
    return done, Recording(path, done)


def bare(*command, **how):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, cwd=WORKPLACE, check=False, **how)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout


def losses(trace):
    """What the trace says was lost, but for stacks cut short."""
    answer = json.loads(aflame("report", "summary", "--json", "--limit", "0", trace.path).stdout)
    rows = [t["rows"] for t in answer["tables"] if t["name"] == "lost"][0]
    rows = [row for row in rows if not row["key"].startswith("stacks_")]
    expect(not [row for row in rows if row["key"].startswith("damaged")], "damage: %s" % rows)
    return "; ".join("%d: %s" % (row["count"], row["what"]) for row in rows) or "nothing"


def same(word, number=0, sampler=None, rate=999):
    before = bare(program("fault_injection"), word, str(number))
    if before[0] == 77:
        raise Skip("this machine cannot do it")
    done, trace = run(program("fault_injection"), word, str(number), sampler=sampler, rate=rate)
    equal((done.returncode, done.stdout), before, "(status, output)")
    trace.check()
    if word not in ("bomb",):
        expect(len(trace.events("sample")) >= 1, "no samples")
    return losses(trace)


def add_programs():
    words = (
        ("close_all", 0, "a program closes every descriptor"),
        ("chrooted", 0, "chroot into an empty directory"),
        ("pivoted", 0, "pivot_root in a mount namespace of its own"),
        ("mounts", 0, "another /dev/shm is mounted over the recorder's"),
        ("drops_user", 0, "setuid to nobody"),
        ("bomb", 4, "a fork bomb of 780 processes"),
        ("many_threads", 2000, "2000 threads at once"),
        ("deep_recursion", 0, "stack overflows caught on an alternate stack"),
        ("spawns", 0, "posix_spawn and vfork by turns"),
        ("daemonise", 0, "a daemon, twice forked, that outlives its parent"),
        ("own_handlers", 0, "SIGSEGV, SIGBUS, SIGPROF, SIGTRAP handled by the program"),
        ("small_stacks", 0, "threads on the smallest stacks, rlimit stack of 256k"),
        ("seccomp_kills", 0, "a seccomp filter that kills for what recording needs, by prctl"),
        ("seccomp_kills", 1, "the same by the bare system call"),
        ("seccomp_refuses", 0, "a seccomp filter that refuses files, sockets and perf events"),
        ("ignores", 0, "signals ignored over fork and exec"),
        ("limits", 0, "rlimit of 4 descriptors, set by the program"),
        ("limits", 1, "rlimit of 0 bytes for files, set by the program"),
        ("limits", 2, "rlimit of 1 MiB of address space, set by the program"),
        ("limits", 3, "rlimit of one process, set by the program"),
    )
    for word, number, sentence in words:
        def one(long, w=word, n=number):
            return " | ".join("%s: %s" % (s, same(w, n, s)) for s in (samplers() if long else samplers()[:1]))
        fault(sentence, word not in ("limits",))(one)


add_programs()


# --- how programs are started


@fault("env -i: the library is not loaded into what it starts", False)
def _(long):
    done, trace = run("env", "-i", program("fault_injection"), "works", "50")
    equal((done.returncode, done.stdout), (0, b"worked\n"), "(status, output)")
    return "the program itself, as its environment is gone; %s" % losses(trace)


@fault("LD_PRELOAD is in use by the program already", False)
def _(long):
    own = os.path.join(PROGRAMS, "libpycalls.so")
    done, trace = run("sh", "-c", 'case $LD_PRELOAD in *libaflame.so:%s) exec "%s" works 100;; esac; exit 9'
                      % (own, program("fault_injection")), env=dict(os.environ, LD_PRELOAD=own))
    equal((done.returncode, done.stdout), (0, b"worked\n"), "(status, output)")
    expect(len(trace.events("sample")) > 5, "samples")
    return losses(trace)


@fault("a static program, alone and beneath a shell", False)
def _(long):
    done, _ = run(program("static_hello"), alone=True)
    equal(done.stdout, b"hello\n", "output")
    done, trace = run("sh", "-c", "%s; %s works 50" % (program("static_hello"), program("fault_injection")))
    equal((done.returncode, done.stdout), (0, b"hello\nworked\n"), "(status, output)")
    return "the static program itself, reported when it is alone; %s" % losses(trace)


@fault("a script whose #! names another script", False)
def _(long):
    first, second = new_path(), new_path()
    for path, text in ((first, "#!/bin/sh\nexec /bin/sh \"$@\"\n"), (second, "#!%s\n%s works 50\n" % (first, program("fault_injection")))):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
    done, trace = run(second)
    equal((done.returncode, done.stdout), (0, b"worked\n"), "(status, output)")
    expect(len(trace.events("sample")) > 3, "samples")
    return losses(trace)


@fault("a set-user-id program, started by nobody", False)
def _(long):
    if os.geteuid():
        raise Skip("needs root to make one")
    home = "/tmp/aflame-setuid-%d" % os.getpid()
    os.mkdir(home, 0o777)
    os.chmod(home, 0o777)
    try:
        copy = home + "/id"
        shutil.copy("/usr/bin/id", copy)
        os.chmod(copy, 0o4755)

        def nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        reach = subprocess.run([AFLAME, "version"], preexec_fn=nobody, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if reach.returncode:
            raise Skip("nobody may not run %s" % AFLAME)
        before = bare(copy, "-u", preexec_fn=nobody)
        done = subprocess.run([AFLAME, "record", "-q", "-o", home + "/t", "--sample", "none", "--", copy, "-u"],
                              preexec_fn=nobody, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        equal(done.stdout, before[1], "output")
        expect(b"set-user-id" in done.stderr, done.stderr.decode())
        return "all of it; reported: %s" % done.stderr.decode().strip()
    finally:
        shutil.rmtree(home, ignore_errors=True)


# --- what cannot be loaded into, what is debugged, what switches stacks


def starts_of(path):
    """The ways that one program starts another."""
    return (
        [path],
        ["sh", "-c", "%s; exit $?" % path],
        ["sh", "-c", "exec env X=1 /usr/bin/env %s" % path],
        [sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", path],
        [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)", path],
        ["sh", "-c", 'env "$0" -c "import os, sys; os.execvp(\'env\', [\'env\', sys.argv[1]])" %s' % path, sys.executable],
    )


def as_ever(command, sampler, alone=False):
    """Recorded, the command's output and status are as they are without; what we reported of it."""
    done, trace = run(*command, sampler=sampler, alone=alone)
    reported = [l for l in done.stderr.decode().splitlines() if not l.startswith("aflame record: nothing was recorded")]
    equal((done.stdout, reported), (b"worked\n", []), "(output, errors) of %s" % command)
    if len(reported) == len(done.stderr.splitlines()):
        equal(done.returncode, 7, "the status of %s" % command)
    return done.stderr.decode().strip(), trace


def is_seen_from_outside(name):
    path = program(name)
    equal(bare(path), (7, b"worked\n"), "(status, output)")
    for sampler in samplers():
        for command in starts_of(path):
            _, trace = as_ever(command, sampler, alone=True)
            # Started by others it is found some 50 ms after it began, and lives for 100.
            if command == [path]:
                expect(trace.events("ksample"), "%s is not sampled by %s" % (name, sampler))
    if probes().get("bpf", "none"):
        return "nothing: it is sampled from outside"
    _, trace = as_ever([path], "bpf")
    expect(len(trace.events("ksample")) > 50, "%d samples by the kernel" % len(trace.events("ksample")))
    return "nothing: it is sampled from outside"


@fault("a program linked against musl, however it is started")
def _(long):
    return is_seen_from_outside("foreign_musl")


@fault("a 32-bit program, however it is started")
def _(long):
    return is_seen_from_outside("foreign_32")


@fault("chains of exec: sh, env, python, the program")
def _(long):
    for sampler in samplers():
        for command in starts_of(program("foreign_64")):
            _, trace = as_ever(command, sampler)
            expect(any("work" in f for f, _ in trace.stacks()), "work, started by %s, is not there" % command)
    return losses(trace)


@fault("ticks in execve end no program")
def _(long):
    need("bpf")
    need_tool("bash")
    first, second = new_path(), new_path()
    for path, text in ((first, "#!/bin/bash\nfor ((i = 0; i < 3000; i++)); do :; done\nexec %s\n" % second),
                       (second, "#!/usr/bin/env bash\nexec /bin/echo hi\n")):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
    rounds = 400 if long else 40
    done, trace = run("bash", "-c", "for ((n = 0; n < %d; n++)); do %s; done" % (rounds, first), sampler="bpf")
    equal((done.returncode, done.stdout, done.stderr), (0, b"hi\n" * rounds, b""), "(status, output, errors)")
    return losses(trace)


@fault("nor where a thread that is not the first runs it")
def _(long):
    need("bpf")
    return same("thread_execs", 1000 if long else 200, "bpf", 9973)


@fault("what else is to be preloaded into a 32-bit program")
def _(long):
    command = [sys.executable, "-c", "import os, subprocess, sys; sys.exit(subprocess.run(sys.argv[1], env=dict(os.environ,"
               " LD_PRELOAD=os.environ.get('LD_PRELOAD', '') + ':/nowhere.so')).returncode)", program("foreign_32")]
    before = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    expect(b"/nowhere.so" in before.stderr, before.stderr.decode())
    done, trace = run(*command)
    equal((done.returncode, done.stdout, done.stderr), (7, before.stdout, before.stderr), "(status, output, errors)")
    return losses(trace)


def gdb(*words):
    return [need_tool("gdb"), "-nx", "-batch", "-ex", "set debuginfod enabled off", *words, program("foreign_64")]


@fault("a program under gdb: its breakpoints, and no trap of ours")
def _(long):
    command = gdb("-ex", "break puts", "-ex", "run", "-ex", "bt", "-ex", "continue")
    before = bare(*command)
    expect(b"Breakpoint 1, " in before[1] and b"exited with code 07" in before[1], before[1].decode())
    number = re.compile(rb"process [0-9]+|0x[0-9a-f]+")
    for sampler in samplers() + ([] if probes().get("bpf", "none") else ["bpf"]):
        done, trace = run(*command, sampler=sampler)
        equal((done.returncode, number.sub(b"N", done.stdout)), (before[0], number.sub(b"N", before[1])),
              "(status, output) with %s" % sampler)
        expect(any("work" in f for f, _ in trace.stacks()), "work is not sampled with %s" % sampler)
    return losses(trace)


def child_that_runs(parent, name):
    """The pid, as text, of a child that executes a program so named; it is waited for, as machines are slow."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
            for child in file.read().split():
                if os.path.basename(os.readlink("/proc/%s/exe" % child)) == name:
                    return child
        time.sleep(0.02)
    raise AssertionError("no %s was started within 20 s" % name)


def gdb_at(sampler, *words, tries=3):
    """A program that works, recorded, while gdb comes to it; what gdb reported, and the trace. A sample of the perf
    sampler that is due as gdb attaches is a known limit; it is rare."""
    reported = []

    def attach(recorder, path):
        pid = child_that_runs(recorder.pid, "fault_injection")
        reported.append(bare(need_tool("gdb"), "-nx", "-batch", "-ex", "set debuginfod enabled off", *words, "-p", pid)[1].decode())
        if "Operation not permitted" in reported[0]:
            process = recorder.communicate()
            raise Skip("gdb may not attach: %s" % process[1])

    status, out, err, path = while_recording(1000, attach, sampler=sampler)
    equal((status, out), (0, "worked\n"), "(status, output) with %s: %s" % (sampler, err))
    if "SIGTRAP" in reported[0] and sampler == "perf" and tries > 1:
        return gdb_at(sampler, *words, tries=tries - 1)
    expect("SIGTRAP" not in reported[0], "with %s gdb says: %s" % (sampler, reported[0]))
    return reported[0], Trace(path)


@fault("gdb comes to a recorded program, and stays")
def _(long):
    lost = []
    for sampler in samplers() + ([] if probes().get("bpf", "none") else ["bpf"]):
        reported, trace = gdb_at(sampler, "-ex", "break puts", "-ex", "shell sleep 1", "-ex", "continue", "-ex", "bt", "-ex", "detach")
        expect("Breakpoint 1, " in reported, reported)
        lost.append("%s: %s" % (sampler, losses(trace)))
        equal("debugger" in lost[-1], sampler == "perf", "what is reported to be lost: %s" % lost[-1])
    return " | ".join(lost)


@fault("gdb comes to a recorded program, and goes")
def _(long):
    for sampler in samplers() + ([] if probes().get("bpf", "none") else ["bpf"]):
        reported, trace = gdb_at(sampler, "-ex", "bt", "-ex", "detach")
        expect("works" in reported and "detached" in reported, reported)
        ms = sum(weight for frames, weight in trace.stacks() if "work" in " ".join(frames)) / 1e6
        expect(ms > 1300, "of 2 s, %s has %d ms" % (sampler, ms))
    return losses(trace)


@fault("greenlets")
def _(long):
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import greenlet"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("%s has no greenlet" % python)
    command = [python, os.path.join(SCRIPTS, "py_greenlets.py")]
    before = bare(*command)
    for sampler in samplers():
        done, trace = run(*command, sampler=sampler)
        equal((done.returncode, done.stdout, done.stderr), (*before, b""), "(status, output, errors)")
        share = {}
        for frames, weight in trace.stacks():
            who = [n for n in ("first", "second") if any(f.startswith(n + " ") for f in frames)]
            if any(f.startswith("burn ") for f in frames):
                equal(len(who), 1, "the number of greenlets on %s" % frames)
                share[who[0]] = share.get(who[0], 0) + weight
        equal(sorted(share), ["first", "second"], "who burns")
        part = share["first"] / sum(share.values())
        expect(abs(part - 0.6) < 0.12, "first has %.3f of burn" % part)
    return losses(trace)


# --- the machine


def mounted(script, *words, timeout=120):
    """Runs a shell script in a mount namespace of its own: $1 is aflame, $2 a folder."""
    need_tool("unshare")
    folder = new_path("mount")
    os.mkdir(folder)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", AFLAME, folder, *map(str, words)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=WORKPLACE, check=False, timeout=timeout)
    if done.returncode == 99 or "Operation not permitted" in done.stderr and "unshare" in done.stderr:
        raise Skip("nothing can be mounted here: %s" % done.stderr.strip()[-200:])
    return done


RECORD = '"$1" record --strict -q -f -F 9973 --sample %s -o "$2/t" -- %s/fault_injection works %d; echo "status $?"; '
COUNT = '"$1" print --count "$2/t" | grep -E "sample|total"; '


def recording(ms):
    return RECORD % (any_sampler(), PROGRAMS, ms)


@fault("a disk that is full from the start")
def _(long):
    done = mounted('mount -t tmpfs -o size=16k none "$2" || exit 99; ' + recording(300).replace("--strict ", ""))
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("No space left" in done.stderr and "free some" in done.stderr, done.stderr)
    return "reported: %s" % done.stderr.strip().splitlines()[-1]


@fault("a disk that fills meanwhile, and is freed again")
def _(long):
    done = mounted(
        'mount -t tmpfs -o size=4m none "$2" || exit 99; (sleep 0.4; head -c 8m /dev/zero >"$2/fill"; sleep 0.4;'
        'rm "$2/fill") 2>/dev/null & ' + recording(800) + COUNT)
    expect("worked" in done.stdout and "sample" in done.stdout, done.stdout + done.stderr)
    if "status 0" in done.stdout:
        return "nothing: the rings held it (%s)" % " ".join(done.stdout.split()[-4:])
    expect("No space left" in done.stderr, done.stderr)
    return "reported: %s" % done.stderr.strip().splitlines()[-1]


@fault("a quota that is reached", False)
def _(long):
    done = mounted('mount -t tmpfs -o usrquota,usrquota_block_hardlimit=128k none "$2" || exit 99; chmod 777 "$2"; '
                   + recording(400))
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("status 0" not in done.stdout and re.search("quota|space", done.stderr), done.stdout + done.stderr)
    return "reported: %s" % done.stderr.strip().splitlines()[-1]


# A disk of its own in a file: $3 is the file, $4 makes the file system.
DISK = ('truncate -s 128M "$3" && $4 "$3" >&2 && mount -o loop "$3" "$2" || exit 99; rm "$3"; ')


def on_disk(maker, script, *words):
    need_tool(maker.split()[0])
    if os.geteuid():
        raise Skip("needs root to mount one")
    file = new_path("disk")
    try:
        return mounted(DISK + script + ' umount "$2"', file, maker, *words)
    finally:
        if os.path.exists(file):
            os.unlink(file)


def meanwhile(act, undo="true"):
    """Shell: @act while a program is recorded on the disk, @undo 0.8 s later; how many samples there are."""
    return ('(sleep 1.2; cd /; %s; sleep 0.8; %s) & ' % (act, undo) + recording(2500) + 'wait; ' + COUNT)


def nr_samples(done):
    found = re.search(r"^sample +(\d+)", done.stdout, re.M)
    return int(found[1]) if found else 0


@fault("a disk quota that is reached")
def _(long):
    # ext4 and XFS know quotas only where the kernel was built with them; btrfs always does.
    need_tool("btrfs")
    done = on_disk("mkfs.btrfs -q", 'cd "$2" && btrfs quota enable . && btrfs subvolume create t >&2 && '
                   'btrfs qgroup limit 256k t || exit 99; cd /; mkdir "$2/t/sub"; set -- "$1" "$2/t/sub" "$2"; '
                   + recording(1200) + COUNT + 'set -- "$1" "$3";')
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("status 1" in done.stdout and "quota" in done.stderr, done.stdout + done.stderr)
    expect(nr_samples(done) > 100, "%d samples: %s%s" % (nr_samples(done), done.stdout, done.stderr))
    return "%d samples are there; reported: %s" % (nr_samples(done), [l for l in done.stderr.splitlines() if "quota" in l][0])


@fault("a disk quota that is reached, and raised soon after", False)
def _(long):
    need_tool("btrfs")
    done = on_disk("mkfs.btrfs -q", 'cd "$2" && btrfs quota enable . && btrfs subvolume create t >&2 && '
                   'btrfs qgroup limit 192k t || exit 99; cd /; mkdir "$2/t/sub"; '
                   'set -- "$1" "$2/t/sub" "$2"; (sleep 0.9; btrfs qgroup limit none "$3/t") & '
                   + recording(1200) + "wait; " + COUNT + 'set -- "$1" "$3";')
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("status 0" in done.stdout, done.stdout + done.stderr)
    return "nothing: the rings held it; %d samples" % nr_samples(done)


@fault("a disk that becomes read-only meanwhile", False)
def _(long):
    # What the kernel does of itself after an error: mount(8) refuses while files are open. What the
    # journal did not hold by then is gone, so it is given time.
    done = on_disk("mkfs.ext4 -q -E lazy_itable_init=0", meanwhile('sync -f "$2"; mount -o remount,abort "$2"'))
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("status 1" in done.stdout and "Read-only" in done.stderr, done.stdout + done.stderr)
    expect(nr_samples(done) > 100 and "unfinished" in done.stderr, done.stdout + done.stderr)
    return "%d samples are there; reported: %s" % (nr_samples(done), done.stderr.strip().splitlines()[-1])


@fault("a disk that fails meanwhile", False)
def _(long):
    shut = ("%s -c 'import fcntl, os, struct, sys; "
            "fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack(\"I\", 1))' \"$2\"" % sys.executable)
    done = on_disk("mkfs.ext4 -q -E lazy_itable_init=0", meanwhile(shut))
    expect("worked" in done.stdout, done.stdout + done.stderr)
    expect("status 1" in done.stdout and re.search("rror", done.stderr), done.stdout + done.stderr)
    return "reported: %s" % [l for l in done.stderr.splitlines() if "record" in l][0]


@fault("a disk that stands still for 0.8 s", False)
def _(long):
    need_tool("fsfreeze")
    done = on_disk("mkfs.ext4 -q -E lazy_itable_init=0", meanwhile('fsfreeze -f "$2"', 'fsfreeze -u "$2"'))
    expect("worked" in done.stdout and "status 0" in done.stdout, done.stdout + done.stderr)
    expect(nr_samples(done) > 5000, "%d samples" % nr_samples(done))
    return "nothing: the rings held it; %d samples" % nr_samples(done)


@fault("a read-only disk", False)
def _(long):
    done = mounted('mount -t tmpfs -o ro none "$2" || exit 99; ' + recording(50))
    expect("Read-only" in done.stderr and "status 1" in done.stdout, done.stdout + done.stderr)
    return "all; reported, and the program is not started: %s" % done.stderr.strip()


@fault("a /dev/shm without room", False)
def _(long):
    lines = []
    for size in ("4k", "64k", "200k", "1m"):
        done = mounted("mount -t tmpfs -o size=%s none /dev/shm || exit 99; " % size + recording(200).replace("--strict ", ""))
        expect("worked" in done.stdout, done.stdout + done.stderr)
        if "status 0" not in done.stdout:
            expect("/dev/shm" in done.stderr, done.stderr)
        lines.append("%s: %s" % (size, done.stderr.strip().splitlines()[-1][15:90] if done.stderr else "recorded"))
    return "; ".join(lines)


def while_recording(ms, act, after=0.4, **how):
    """Starts a recording, lets @act(recorder, path) fault, returns (status, out, err, path)."""
    path = new_path()
    sampler = how.pop("sampler", any_sampler())
    process = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "--sample", sampler, "-F", "999", *how.pop("options", ()), "--",
         program("fault_injection"), "works", str(ms)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=WORKPLACE,
        env=dict(os.environ, FAULTS_USED=path + ".used"), **how)
    time.sleep(after)
    act(process, path)
    out, err = process.communicate(timeout=120)
    for at in (path, path + "-moved"):
        if os.path.isdir(at):
            seen.add(at, sampler, path + ".used")
    return process.returncode, out.decode(), err.decode(), path


@fault("the trace directory is removed meanwhile")
def _(long):
    status, out, err, path = while_recording(1500 if long else 900, lambda p, t: shutil.rmtree(t))
    expect("worked" in out, "the program: %s" % out)
    expect(status == 0 and "removed" in err, "status %d: %s" % (status, err))
    expect(not os.path.exists(path), "something is there again")
    return "all; reported: %s" % err.strip().splitlines()[-1]


@fault("the trace directory is renamed meanwhile")
def _(long):
    status, out, err, path = while_recording(900, lambda p, t: os.rename(t, t + "-moved"))
    expect("worked" in out, "the program: %s" % out)
    moved = Trace(path + "-moved")
    expect(status == 0 and "renamed" in err, "status %d: %s" % (status, err))
    expect(len(moved.events("sample")) > 100, "%d samples" % len(moved.events("sample")))
    return "nothing; reported: %s" % err.strip().splitlines()[-1]


@fault("/dev/shm is swept while it is in use", False)
def _(long):
    def sweep(process, path):
        with open(path + "/.session") as file:
            shared = file.readline().strip()
        expect(shared.startswith("/dev/shm/aflame."), shared)
        shutil.rmtree(shared)
    status, out, err, path = while_recording(900, sweep)
    expect("worked" in out, "the program: %s" % out)
    trace = Trace(path)
    trace.check()
    expect(len(trace.events("sample")) > 50, "%d samples" % len(trace.events("sample")))
    return "%s; %s" % (losses(trace), err.strip() or "status %d" % status)


@fault("limits on the recorder and the program: -f -n -v -u", False)
def _(long):
    lines = []
    for what, flag, value in ((resource.RLIMIT_FSIZE, "-f", 1 << 16), (resource.RLIMIT_NOFILE, "-n", 8),
                              (resource.RLIMIT_AS, "-v", 64 << 20), (resource.RLIMIT_NPROC, "-u", 1)):
        done, trace = run(program("fault_injection"), "works", "200", rate=9973, alone=True,
                          before=lambda w=what, v=value: resource.setrlimit(w, (v, v)))
        expect(b"worked" in done.stdout and done.returncode == 0, "status %d, %s" % (done.returncode, done.stdout))
        expect(done.returncode == 0 or done.stderr.startswith(b"aflame"), done.stderr)
        lines.append("%s: %s" % (flag, done.stderr.decode().strip().splitlines()[-1][:90] if done.stderr else "recorded"))
    return "; ".join(lines)


@fault("the wall clock is set back and forth", False)
def _(long):
    # Setting the clock of a machine that others use would be a fault to them: what the recorder
    # writes of it is written here, with steps of days.
    need_tool("sh")
    text = ["0.000000000 s0 p0 1/1 clock clock=REALTIME device=0 mono_ns=0 foreign=%d uncertainty_ns=100" % 10**18]
    done, trace = run(program("fault_injection"), "works", "100")
    equal(done.returncode, 0, "status")
    before = trace.stacks()
    path = trace.path + "/recorder"
    with open(path, "rb") as file:
        data = bytearray(file.read())
    changed = 0
    at = 0
    while at + 80 <= len(data):
        size = int.from_bytes(data[at + 16:at + 24], "little") // 8
        event = at + 80
        while event + 12 <= at + size:
            kind = int.from_bytes(data[event:event + 2], "little")
            length = int.from_bytes(data[event + 2:event + 4], "little")
            if kind == 3:
                foreign = event + 12 + 16
                stamp = int.from_bytes(data[foreign:foreign + 8], "little")
                stamp += (-1) ** changed * 86400 * 10**9 * 30
                data[foreign:foreign + 8] = stamp.to_bytes(8, "little")
                changed += 1
            event += length
        at += size
    expect(changed >= 2, "%d pairs" % changed)
    with open(path, "wb") as file:
        file.write(data)
    trace.check()
    equal(trace.stacks(), before, "the flame graph with a clock that steps by months")
    del text
    return "nothing: all times are CLOCK_MONOTONIC's (the steps were put into the trace, not the machine)"


# --- stopped, killed


@fault("SIGSTOP and SIGCONT of the program, at random")
def _(long):
    def act(process, path):
        for _ in range(40 if long else 6):
            kids = open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()
            for kid in kids:
                os.kill(int(kid), signal.SIGSTOP)
            time.sleep(random.uniform(0, 0.05))
            for kid in kids:
                os.kill(int(kid), signal.SIGCONT)
            time.sleep(random.uniform(0, 0.05))
    status, out, err, path = while_recording(1500, act, 0.2)
    equal((status, out, err), (0, "worked\n", ""), "(status, output, errors)")
    trace = Trace(path)
    trace.check()
    sampled = sum(s["weight_ns"] for s in trace.fields("sample")) / 1e6
    expect(sampled > 0.85 * 3000 * 0.5, "%d ms" % sampled)
    return losses(trace)


@fault("SIGSTOP and SIGCONT of the recorder, at random", False)
def _(long):
    def act(process, path):
        for _ in range(40 if long else 6):
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(random.uniform(0, 0.05))
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(random.uniform(0, 0.05))
    status, out, err, path = while_recording(1500, act, 0.2)
    equal((status, out, err), (0, "worked\n", ""), "(status, output, errors)")
    Trace(path).check()
    return losses(Trace(path))


@fault("the recorder dies of SIGSEGV, SIGABRT, SIGBUS", False)
def _(long):
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
        status, out, _, path = while_recording(600, lambda p, t, n=number: p.send_signal(n))
        equal(status, -number, "status")
        time.sleep(0.7)
        trace = Trace(path)
        aflame("flame", path)
        trace.check()
        expect(len(trace.events("sample")) > 50, "%d samples" % len(trace.events("sample")))
    return "what was not yet written when it died"


@fault("the recorder has no standard input, output or error", False)
def _(long):
    path = new_path()
    line = 'exec 0<&- 1>&- 2>&-; "%s" record -q -o "%s" --sample %s -F 999 -- "%s" works 200' % (
        AFLAME, path, any_sampler(), program("fault_injection"))
    subprocess.run(["sh", "-c", line], check=False, timeout=60, env=dict(os.environ, FAULTS_USED=path + ".used"))
    seen.add(path, any_sampler())
    trace = Trace(path)
    trace.check()
    expect(len(trace.events("sample")) > 50, "%d samples" % len(trace.events("sample")))
    return losses(trace)


def kill9(rounds, *words):
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "tests/live/kill9.py"), AFLAME, PROGRAMS,
                           str(rounds), str(random.randrange(10**6)), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=3000)
    bad = [l for l in done.stdout.splitlines() if l.startswith("not ok") or l.startswith("# round")]
    expect(done.returncode == 0 and not bad, done.stdout[-2000:])
    return "; ".join(l.split(" - ")[1] for l in done.stdout.splitlines() if l.startswith("ok"))


@fault("kill -9 of target, recorder, both, 200 times, threads being born and dying", False)
def _(long):
    return kill9(200 if long else 6)


@fault("the same with --ring", False)
def _(long):
    return kill9(60 if long else 6, "--ring", "1M")
