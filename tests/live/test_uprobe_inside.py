#!/usr/bin/env python3
"""Calls of any function without root: libaflame places the probes in the program."""

import json
import os
import re
import shutil
import subprocess

from gdb_counts import gdb_counts, python_script
from machine import PROGRAMS, program
from recording import Trace, bare, must
from shares import having, weight_of
from stranger import Stranger
from tap import Skip, case, equal, expect, note, run_cases

THREADS, CALLS, EVERY = 4, 2000, 64
SQLITE = """
import sqlite3
c = sqlite3.connect(":memory:")
c.execute("create table t(a)")
for i in range(500):
    c.execute("insert into t values(?)", (i,))
print(len(list(c.execute("select a from t"))))
"""


def recorded(other, *command, uprobes, options=("--sample", "none")):
    """(trace, the program's truth, what it printed), recorded by @other, who has no rights."""
    path = other.path("trace")
    shutil.rmtree(path, ignore_errors=True)
    for uprobe in uprobes:
        options = (*options, "--uprobe", uprobe)
    done = other.run((other.install(), "record", "-q", "-o", path, *options, "--", *map(str, command)))
    if b"needs a disassembler" in done.stderr:
        raise Skip("this build has no Capstone")
    equal((done.returncode, done.stderr), (0, b""), "(status, standard error)")
    trace = Trace(path)
    trace.check()
    expect(not trace.fields("lost"), trace.fields("lost"))
    truth = re.findall(r"truth (\w+) (\d+)", done.stdout.decode())
    return trace, {name: int(number) for name, number in truth}, done.stdout


def called(trace):
    tables = json.loads(must("report", "functions_called", "--json", trace.path))["tables"]
    counts = {}
    for row in (row for table in tables for row in table["rows"]):
        counts[row["function"]] = counts.get(row["function"], 0) + row["calls"]
    return counts


def notes(trace):
    return [f["value"] for f in trace.fields("note") if f["key"] == "probes"]


@case("every call is counted: static functions, threads, a fork, a library that is loaded late; with its stack")
def _():
    with Stranger() as other:
        trace, truth, _ = recorded(other, program("probed"), THREADS, CALLS,
                                   uprobes=("-:odd_step", "probed:even_step", "libz.so.1:crc32"))  # fmt: skip
        equal(called(trace), truth, "calls")
        equal(notes(trace), [], "notes")
        expect({"odd_step", "even_step"} <= set(truth), truth)
        stacks = [([bare(f) for f in frames], w) for frames, w in trace.stacks(weight="count")]
        for step, caller in (("odd_step", "calls_odd"), ("even_step", "calls_even")):
            equal(weight_of(stacks, having(caller, step)), truth[step], "stacks of " + step)
            child = weight_of(stacks, having("main", caller, step))
            threads = weight_of(stacks, having("start_thread", caller, step))
            equal(child + threads, truth[step], "stacks from main and from threads")


@case("with @1/N one call in N of each thread has a stack, and all are counted")
def _():
    with Stranger() as other:
        trace, truth, _ = recorded(other, program("probed"), THREADS, CALLS, uprobes=("-:odd_step@1/%d" % EVERY,))
        equal(called(trace), {"odd_step": truth["odd_step"]}, "calls")
        seen = len(trace.events("call_seen"))
        # The main thread of each process has CALLS; each other thread has one more than the one before.
        least = truth["odd_step"] // EVERY
        expect(least <= seen <= least + THREADS + 2, "%d of %d calls have a stack" % (seen, truth["odd_step"]))


@case("registers, flags, exceptions, recursion: a program cannot tell, and functions of one instruction are seen")
def _():
    if not os.path.exists(os.path.join(PROGRAMS, "probed_state")):
        raise Skip("no g++ for x86-64 here")
    with Stranger() as other:
        trace, truth, printed = recorded(
            other, program("probed_state"), uprobes=["-:" + name for name in ("kept", "throws", "again", "tiny", "leads", "red", "odd")]
        )
        alone = subprocess.run([program("probed_state")], stdout=subprocess.PIPE, check=True).stdout
        equal(printed, alone, "what it printed")
        equal(truth.pop("caught"), 500, "exceptions")
        equal(called(trace), truth, "calls")


@case("Debian's Python and SQLite: as many calls of sqlite3_step as gdb counts")
def _():
    command = python_script(SQLITE)
    (hits,) = gdb_counts(["sqlite3_step"], command)
    with Stranger() as other:
        trace, _, printed = recorded(other, *command, uprobes=("libsqlite3.so.0:sqlite3_step",))
        equal(printed, b"500\n", "what it printed")
        equal(called(trace), {"sqlite3_step": hits}, "calls, and gdb's")
        note("%d calls" % hits)
        stacks = [[bare(f) for f in frames] for frames, _ in trace.stacks(weight="count")]
        expect(any("<module>" in " ".join(frames) for frames in stacks), "no Python below: %s" % stacks[:3])


@case("sampling and calls at once; a child that runs another program")
def _():
    with Stranger() as other:
        text = "%s %d %d; exec %s %d %d" % (program("probed"), 1, 100, program("probed"), 1, 50)
        trace, truth, printed = recorded(other, "sh", "-c", text, uprobes=("%s:odd_step" % program("probed"),),
                                         options=())  # fmt: skip
        each = [int(n) for n in re.findall(rb"odd_step (\d+)", printed)]
        equal(len(each), 2, "runs")
        equal(called(trace), {"odd_step": sum(each)}, "calls")


@case("a function that was not called is reported, and the program runs")
def _():
    with Stranger() as other:
        done = other.run((other.install(), "record", "-o", other.path("trace"), "--sample", "none", "--uprobe", "-:odd_step",
                          "--uprobe", "libz.so.1:inflate", "--", program("probed"), "1", "10"))  # fmt: skip
        reported = done.stderr.decode()
        if "disassembler" in reported:
            raise Skip("this build has no Capstone")
        equal(done.returncode, 0, reported)
        equal(re.findall(r"no call of (\w+) was seen", reported), ["inflate"], reported)


@case("what cannot be probed so is refused with its reason, and the program runs")
def _():
    if not os.path.exists(os.path.join(PROGRAMS, "probed_state")):
        raise Skip("no g++ for x86-64 here")
    with Stranger() as other:
        aflame = other.install()
        for options, reason in (
            (("--uprobe", "-:loops"), "loops cannot be probed: it has a loop over its first instructions"),
            (("--uprobe", "-:calls"), "calls cannot be probed: its first instructions work only where they are"),
            (("--uprobe", "-:no_such"), "has no function no_such"),
            (("--off-cpu", "--uprobe", "-:kept"), "needs the collector bpf"),
            (("--uprobe", "-:tiny+RETURN"), "tiny cannot be timed: it is so short that it ends where it begins"),
        ):
            for strict in (("--strict",), ()):
                done = other.run((aflame, "record", *strict, "-o", other.path("none"), *options, "--",
                                  program("probed_state")))  # fmt: skip
                reported = done.stderr.decode()
                if "needs a disassembler" in reported or "has no disassembler" in reported:
                    raise Skip("this build has no Capstone")
                expect(reason in reported, "%s: %s" % (options, reported))
                # What makes no sense is refused, what cannot be done here only with --strict.
                ran = b"truth kept 1000" in done.stdout
                equal(ran, not strict and "no_such" not in options[-1], "%s: whether the program ran" % (options,))


run_cases()
