#!/usr/bin/env python3
"""Programs that cannot be recorded like others: what they do must be what they do without us, and
the CPU time they use must be seen."""

import functools
import os
import re
import resource
import signal
import subprocess

from machine import AFLAME, SCRIPTS, WORKPLACE, need, need_tool, program
from recording import Trace, as_stranger, bare, new_path, record, witnessed
from shares import weight_of
from stranger import Stranger
from tap import Skip, case, equal, expect, note, run_cases

SAMPLERS = ("perf", "timer", "bpf")
VALGRIND_TOOLS = (
    ("memcheck", "40"),
    ("callgrind", "40"),
    ("cachegrind", "20"),
    ("helgrind", "80"),
    ("drd", "80"),
    ("massif", "80"),
    ("dhat", "80"),
    ("none", "80"),
)


def without_pids(text):
    return re.sub(rb"^(--|==)\d+\1", rb"\1", text, flags=re.M)


def check_seen(trace, truth, sampler, least=0.8):
    """What aflame sampled below the witness, of the CPU time that the kernel counted there."""
    used_us = truth["user_us"] + (truth["system_us"] if sampler == "bpf" else 0)
    share = weight_of(trace.stacks(), lambda frames: frames[0] != "witness") / used_us / 1e3
    note("%.1f %% of %.0f ms" % (100 * share, used_us / 1e3))
    expect(least <= share <= 1.1, "%.1f %% of the CPU time was sampled" % (100 * share))


def as_without_us(sampler, *command, least=0.8, **how):
    """Recorded and not, it says the same on both outputs and ends with the same status."""
    need(sampler)
    plain = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=WORKPLACE, **how
    )
    run = witnessed(*command, sampler=sampler, rate=499, status=None, quiet=False, **how)
    equal(run.status, plain.returncode, "the status")
    equal(run.stdout, plain.stdout, "the output")
    equal(without_pids(run.stderr), without_pids(plain.stderr), "standard error")
    check_seen(run, run.truth, sampler, least)
    return run


def for_each(samplers, words, sentence):
    def add(function):
        for sampler in samplers:
            for word in words:
                words_in_it = word[: sentence.count("%s")]
                case("%s: %s" % (sampler, sentence % words_in_it), tries=3)(
                    lambda s=sampler, w=word: function(s, *w)
                )
        return function

    return add


@for_each(SAMPLERS, VALGRIND_TOOLS, "valgrind's %s runs a program as it does without us")
def _(sampler, tool, millions):
    valgrind = (need_tool("valgrind"), "-q", "--tool=" + tool)
    run = as_without_us(sampler, *valgrind, program("crowd"), millions)
    equal(run.status, 5, "the status")


@for_each(SAMPLERS, [("memcheck",)], "what valgrind's %s follows into children is seen, too")
def _(sampler, tool):
    valgrind = (need_tool("valgrind"), "-q", "--trace-children=yes", "--tool=" + tool)
    as_without_us(sampler, *valgrind, "/bin/sh", "-c", '"$0" 30; "$0" 30', program("crowd"))


@for_each(("perf", "timer"), [("memcheck",), ("none",)], "valgrind's %s runs without rights")
def _(sampler, tool):
    valgrind = (need_tool("valgrind"), "-q", "--tool=" + tool)
    with Stranger() as other:
        command = (*valgrind, other.program("crowd"), "80")
        trace, truth = as_stranger(other, *command, sampler=sampler, status=5)
        check_seen(trace, truth, sampler)


def built(name, compiler, *options, libraries=("-pthread",)):
    """The program of that name in programs/ as compiled now."""
    path = new_path(name)
    source = os.path.join(SCRIPTS, name + (".cc" if compiler == "g++" else ".c"))
    done = subprocess.run(
        [need_tool(compiler), *options, "-o", path, source, *libraries],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise Skip("%s %s: %s" % (compiler, " ".join(options), done.stdout.decode()[:300]))
    return path


@for_each(SAMPLERS, [("qemu-x86_64",)], "a program below %s is sampled once")
def _(sampler, qemu):
    as_without_us(sampler, need_tool(qemu), program("crowd"), "150")


@for_each(SAMPLERS, [("qemu-aarch64",)], "a program for another machine below %s does not meet us")
def _(sampler, qemu):
    arm = built("crowd", "aarch64-linux-gnu-gcc", "-O1")
    as_without_us(sampler, need_tool(qemu), "-L", "/usr/aarch64-linux-gnu", arm, "150")


SANITIZED = [("gcc", "-fsanitize=" + s) for s in ("address", "address,undefined", "thread", "leak")]
SANITIZED += [("clang", "-fsanitize=" + s) for s in ("address", "thread", "memory", "leak")]
SANITIZED += [(compiler, "-fsanitize=undefined") for compiler in ("gcc", "clang")]
SANITIZED += [("clang", "-fsanitize=address", "-shared-libasan")]
SANITIZED += [("gcc", "-fsanitize=" + s, "-static-lib%ssan" % s[0]) for s in ("address", "thread")]


def sanitized(name, compiler, *options):
    """Built, and with what it needs to find its runtime."""
    path = built(name, compiler, "-O1", "-g", *options)
    if "-shared-libasan" not in options:
        return (path,)
    found = subprocess.run([compiler, "-print-runtime-dir"], stdout=subprocess.PIPE, check=False)
    place = found.stdout.decode().strip()
    return ("env", "LD_LIBRARY_PATH=" + place, path)


@for_each(("perf", "timer"), SANITIZED, "a program by %s %s runs as it does without us")
def _(sampler, *how):
    # The search for leaks, by a process that stops this one, takes 60 ms in the end.
    scale = "400" if how[1].endswith("leak") else "100"
    run = as_without_us(sampler, *sanitized("crowd", *how), scale, least=0.9)
    equal(run.status, 5, "the status")
    # Not where a sanitizer's runtime would let a signal through.
    work = weight_of(run.stacks(), lambda frames: "work" in [bare(f) for f in frames])
    share = work / run.truth["user_us"] / 1e3
    expect(share > 0.7, "%.1f %% of the CPU time was sampled in work()" % (100 * share))


@for_each(("perf", "timer"), [("address",), ("leak",)], "what gcc -fsanitize=%s finds it finds, too")
def _(sampler, kind):
    need(sampler)
    wrong = sanitized("wrong", "gcc", "-fsanitize=" + kind)
    plain = subprocess.run([*wrong, kind], stderr=subprocess.PIPE, check=False)
    run = record(*wrong, kind, sampler=sampler, status=plain.returncode, quiet=False)
    expect(plain.returncode and b"SUMMARY" in plain.stderr, "it finds nothing without us")
    equal(*(re.findall(b"SUMMARY.*", text) for text in (run.stderr, plain.stderr)), "finds")


PLACES = [(place,) for place in ("thread", "small", "alternate", "fiber")]
SAMPLE_BYTES = 1024  # of the program's stack, beside the kernel's signal frame


def check_paint(run, sampler):
    """It was sampled, and samples took hardly more of its stack than the kernel's signal frame."""
    check_seen(run, run.truth, sampler)
    taken, frame = run.truth["taken"], run.truth["frame"]
    note("%d bytes, %d of them the kernel's" % (taken, frame))
    expect(taken <= frame + SAMPLE_BYTES, "a sample took %d bytes" % (taken - frame))


@for_each(("perf", "timer"), PLACES, "a sample takes hardly more of a stack (%s) than its signal")
def _(sampler, place):
    run = witnessed(program("paints"), place, sampler=sampler, rate=499)
    check_paint(run, sampler)
    expect(run.truth["taken"] > run.truth["frame"] / 2, "no sample met the paint")
    equal(run.truth.get("neighbour", 0), 0, "what was written of another coroutine's stack")


@for_each(("perf", "timer"), [("greenlet",)], "a sample takes hardly more of the stack that a %s calls C on than its signal")
def _(sampler, _library):
    need(sampler)
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import greenlet"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("%s has no greenlet" % python)
    script = os.path.join(SCRIPTS, "py_paints.py")
    run = witnessed(python, script, program("libpaint_here.so"), sampler=sampler, rate=499)
    check_paint(run, sampler)
    expect(run.truth["taken"] > run.truth["frame"] / 2, "no sample met the paint")


@functools.lru_cache(maxsize=None)
def go_paints():
    place = new_path("go_paints")
    library = program("libpaint_here.so")
    done = subprocess.run(
        (need_tool("go"), "build", "-o", place, os.path.join(SCRIPTS, "go_paints.go")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=300,
        env={
            **os.environ,
            "GOCACHE": os.path.join(WORKPLACE, "gocache"),
            "GO111MODULE": "off",
            "CGO_LDFLAGS": library + " -Wl,-rpath," + os.path.dirname(library),
        },
    )
    if done.returncode:
        raise Skip("go build: %s" % done.stdout.decode()[:300])
    return place


# Go's threads are sampled from outside: nothing of ours is on their stacks.
@for_each(("perf", "timer"), [("goroutine",)], "a sample takes nothing of the stack that a %s calls C on")
def _(sampler, _caller):
    need(sampler)
    run = witnessed(go_paints(), sampler=sampler, rate=499)
    check_paint(run, sampler)
    expect(run.truth["taken"] < run.truth["frame"] / 2, "a signal met the paint")


@for_each(("perf", "timer"), [("Boost",)], "coroutines of %s on 8 KiB keep to their stacks")
def _(sampler, _library):
    need(sampler)
    path = built("boost_fiber", "g++", "-O2", libraries=("-lboost_context",))
    run = witnessed(path, sampler=sampler, rate=499)
    check_seen(run, run.truth, sampler)
    equal(run.truth["neighbour"], 0, "what was written of other coroutines' stacks")


def check_filtered(sampler, how, calls):
    need(sampler)
    run = witnessed(program("filters"), how, calls, sampler=sampler, rate=499, status=5)
    equal(run.stdout.splitlines()[-1:], [b"done"], "the output")
    check_seen(run, run.truth, sampler)


# What kills for prctl(2), too, is noticed only after a while where an inline call has set it.
FILTERS = [("prctl", "unusual"), ("prctl", "needed"), ("syscall", "unusual"), ("syscall", "needed")]
FILTERS += [("inline", "unusual")]


@for_each(SAMPLERS, FILTERS, "a filter of system calls that %s sets does not meet us (%s)")
def _(sampler, how, calls):
    check_filtered(sampler, how, calls)


@for_each(("perf", "bpf"), [("inline", "needed")], "a filter of calls set by an %s one does not meet us (%s)")
def _(sampler, how, calls):
    check_filtered(sampler, how, calls)


LIBRARY_KIB = 1792  # libaflame itself, which takes 2 MiB; the program leaves 512 KiB


@for_each(SAMPLERS, [("as",), ("data",)], "threads of a program that limits its memory (%s) are made, and seen")
def _(sampler, kind):
    need(sampler)
    run = witnessed(program("limits"), kind, "self", sampler=sampler, rate=499)
    check_seen(run, run.truth, sampler)


@for_each(SAMPLERS, [("as", "v"), ("data", "d")], "those of one that a shell limits (%s), too")
def _(sampler, kind, flag):
    need(sampler)
    plain = subprocess.run([program("limits"), kind], stdout=subprocess.PIPE, check=True)
    script = 'ulimit -%s %d; exec "$0" %s shell' % (flag, int(plain.stdout) + LIBRARY_KIB, kind)
    run = witnessed("bash", "-c", script, program("limits"), sampler=sampler, rate=499)
    check_seen(run, run.truth, sampler)


@case("who waits for the recorder sees the signal that ended the program, and one core at most")
def _():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    for command in ("record", "run"):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV):
            path = new_path()
            words = (AFLAME, command, "-q", "-o", path, "--", "sh", "-c", "kill -%d $$" % number)
            process = subprocess.Popen(words, cwd=WORKPLACE, stderr=subprocess.PIPE)
            _, status = os.waitpid(process.pid, 0)
            reported = process.stderr.read()
            expect(os.WIFSIGNALED(status), "%s: status %#x, %s" % (command, status, reported))
            equal((os.WTERMSIG(status), os.WCOREDUMP(status)), (number, False), "(signal, core)")
            Trace(path).check()
    after = "trap '' INT; %s record -q -o %s -- sh -c 'kill -TERM $$'; echo $?" % (AFLAME, new_path())
    done = subprocess.run(["sh", "-c", after], stdout=subprocess.PIPE, check=False, cwd=WORKPLACE)
    equal(done.stdout, b"143\n", "what a shell sees")


run_cases()
