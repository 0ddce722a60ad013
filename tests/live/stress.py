#!/usr/bin/env python3
"""What programs may do and recorders rarely see done: the program must not notice, and nothing may be left."""

import glob
import os
import signal
import subprocess
import time

from machine import AFLAME, SAMPLERS, need, program
from recording import Trace, aflame, new_path, record
from tap import Skip, case, equal, expect, note, run_cases

# A word of programs/stress.c: its number, and what is true.
QUIET = {
    "vfork_signals": (0, "a child of vfork that sets its signals back changes nothing for its parent"),
    "waits": (0, "a program that waits for any signal is given none of ours"),
    "old_signals": (0, "System V's and X/Open's ways to set handlers"),
    "small_stack": (0, "handlers on the smallest legal stack"),
    "lowest_descriptor": (50000, "the lowest free descriptor is the program's"),
    "strict": (0, "strict seccomp"),
}


def stress(word, number=0, sampler="perf", rate=4999, **how):
    need(sampler)
    run = record(program("stress"), word, number, sampler=sampler, rate=rate, status=None, **how)
    if run.status == 77:
        raise Skip("this machine cannot do it")
    equal(run.status, 0, "status")
    return run


def sampled_ms(run):
    return sum(s["weight_ns"] for s in run.fields("sample")) / 1e6


def add_quiet():
    for sampler in SAMPLERS:
        for word, (number, words) in QUIET.items():
            # A SIGTRAP that a program sends itself while it blocks it is lost once in some 500 times at
            # 20,000 samples a second (docs/limits.md).
            tries = 3 if word == "old_signals" else 1
            case("%s: %s" % (sampler, words), tries=tries)(lambda s=sampler, w=word, n=number: stress(w, n, s))


add_quiet()


@case("a program goes on being sampled when its first thread has ended")
def _():
    for sampler in SAMPLERS:
        run = stress("leader_exits", sampler=sampler, rate=999)
        share = sampled_ms(run) / run.truth["thread_ms"]
        note("%s: %.2f of its CPU time" % (sampler, share))
        expect(share > 0.9, "%.2f of the CPU time was sampled" % share)


@case("threads of C11 are sampled")
def _():
    for sampler in SAMPLERS:
        run = stress("c11_threads", sampler=sampler, rate=999)
        expect(sampled_ms(run) > 150, "%.0f ms were sampled" % sampled_ms(run))
        frames = max(run.stacks(), key=lambda s: s[1])[0]
        equal(frames[-2:], ["c11_run", "work"], "the stack")


@case("a handler that jumps out of everything does not end the sampling")
def _():
    for sampler in SAMPLERS:
        run = stress("jumps", 20, sampler=sampler)
        expect(sampled_ms(run) > 0.8 * run.truth["late_ms"], "%.0f ms were sampled" % sampled_ms(run))


@case("a program whose runtime sets signals behind our back is sampled from outside")
def _():
    for sampler in SAMPLERS:
        need(sampler)
        run = record(program("bare_signals"), sampler=sampler, rate=999)
        expect(run.events("ksample") and not run.events("sample"), "%s: %s" % (sampler, run.counts()))


@case("an unfinished trace whose .session is a pipe is refused, not waited for")
def _():
    path = new_path()
    os.mkdir(path)
    os.mkfifo(path + "/.session")
    done = aflame("flame", path, timeout=20)
    expect(done.returncode and "unfinished" in done.stderr, "status %d: %s" % (done.returncode, done.stderr))


@case("recording over a trace whose recorder was killed finishes that first; over one that lives is refused")
def _():
    need("perf")
    path = new_path()
    recorder = subprocess.Popen([AFLAME, "record", "-q", "-o", path, "--sample", "perf", "--",
                                 program("stress"), "waits"], stderr=subprocess.DEVNULL)
    while not glob.glob(path + "/.session") or not open(path + "/.session").read():
        time.sleep(0.01)
    time.sleep(0.2)
    with open(path + "/.session") as file:
        shared = file.readline().strip()
    done = aflame("record", "-q", "-f", "-o", path, "--", program("stress"), "nothing")
    expect("still being recorded" in done.stderr, "status %d: %s" % (done.returncode, done.stderr))
    recorder.kill()
    recorder.wait()
    expect(os.path.isdir(shared), "nothing was left to finish")
    done = aflame("record", "-q", "-o", path, "--", program("stress"), "nothing")
    equal((done.returncode, done.stderr), (0, ""), "(status, stderr)")
    expect(not os.path.exists(shared), "%s is left" % shared)
    expect(Trace(path + ".old").counts()["process"] == 1, "the old trace is not whole")


def ignoring():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@case("a shell that ignores SIGCHLD: the recorder sees the end, the program inherits what it would")
def _():
    plain = subprocess.run([program("stress"), "inherited"], preexec_fn=ignoring, stdout=subprocess.PIPE, check=True)
    for sampler in SAMPLERS:
        need(sampler)
        run = record(program("stress"), "inherited", sampler=sampler, preexec_fn=ignoring, timeout=20)
        equal(run.stdout, plain.stdout, "SIGCHLD ignored, SIGXFSZ ignored, descriptor limits")


def shared_bytes(before):
    total = 0
    for path in set(glob.glob("/dev/shm/aflame.*")) - before:
        for file in glob.glob(path + "/*"):
            try:
                total += os.lstat(file).st_blocks * 512
            except OSError:
                pass
    return total


@case("processes that end leave nothing in shared memory, nor a descriptor in the recorder")
def _():
    need("perf")
    before = set(glob.glob("/dev/shm/aflame.*"))
    trace = Trace(new_path())
    recorder = subprocess.Popen([AFLAME, "record", "-q", "-o", trace.path, "--sample", "perf", "--",
                                 program("stress"), "forks", "400"], stderr=subprocess.PIPE)
    shared = descriptors = 0
    while recorder.poll() is None:
        shared = max(shared, shared_bytes(before))
        try:
            descriptors = max(descriptors, len(os.listdir("/proc/%d/fd" % recorder.pid)))
        except OSError:
            pass
        time.sleep(0.01)
    equal((recorder.returncode, recorder.stderr.read()), (0, b""), "(status, stderr)")
    note("at most %.1f MB of shared memory, %d descriptors" % (shared / 1e6, descriptors))
    equal(trace.counts()["process"], 801, "processes: each forks and executes")
    expect(shared < 30e6 and descriptors < 150, "%d bytes, %d descriptors" % (shared, descriptors))


@case("a hundred threads cost at most 64 MB of memory")
def _():
    need("perf")
    without = subprocess.run([program("stress"), "threads", "100"], stdout=subprocess.PIPE, check=True)
    run = record(program("stress"), "threads", 100, sampler="perf", rate=999)
    more = run.truth["rss_kb"] - float(without.stdout.split()[2])
    note("%.1f MB more" % (more / 1024))
    expect(0 < more < 64 * 1024, "%d KiB more" % more)


@case("ten thousand short threads share a handful of streams")
def _():
    for sampler in SAMPLERS:
        run = stress("short_threads", 5000, sampler=sampler)
        streams = glob.glob(run.path + "/s[0-9]*")
        expect(len(streams) < 20, "%d streams" % len(streams))


@case("while the recorder is stopped nothing is lost that the rings can hold", tries=3)
def _():
    need("perf")
    trace = Trace(new_path())
    recorder = subprocess.Popen([AFLAME, "record", "-q", "-o", trace.path, "-F", "9973", "--sample", "perf", "--",
                                 program("shares"), "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.3)
    os.kill(recorder.pid, signal.SIGSTOP)
    time.sleep(0.7)
    os.kill(recorder.pid, signal.SIGCONT)
    out, err = recorder.communicate(timeout=60)
    equal((recorder.returncode, err), (0, b""), "(status, stderr)")
    trace.check()
    cpu_ms = float([l.split()[2] for l in out.decode().splitlines() if "cpu_ms" in l][0])
    share = sampled_ms(trace) / cpu_ms
    note("%.3f of the CPU time" % share)
    expect(share > 0.95, "%.3f of the CPU time was sampled" % share)


run_cases()
