#!/usr/bin/env python3
"""Times of calls of any function (--uprobe LIB:FUNC+RETURN): by every way out of one, and what is refused."""

import json
import math
import os
import re
import subprocess

from gdb_counts import gdb_counts, PYTHON, python_script
from machine import WORKPLACE, need, program
from recording import USAGE, aflame, bare, must, record, refused
from returned import holds, table, truths
from shares import having, weight_of
from tap import Skip, case, equal, expect, note, run_cases

THREADS, CALLS, EVERY = 3, 60, 7
LEFT = ("throws", "leaps")  # by exceptions and longjmp
STACKS = ("handles", "yields")  # that are not the thread's own
ASSEMBLY = ("hops", "by_register", "by_memory", "by_pointer", "by_table", "enters", "in_pieces")
SQLITE = """
import sqlite3, zlib
c = sqlite3.connect(":memory:")
c.execute("create table t(a)")
for i in range(300):
    c.execute("insert into t values(?)", (zlib.compress(b"%d" % i * 99),))
print(len(list(c.execute("select a from t"))))
"""


def returns():
    need("bpf")
    path = program("returns")
    if not os.path.exists(path):
        raise Skip("no g++ when aflame was built, or not x86-64")
    tried = aflame("record", "--uprobe", "-:at_once+RETURN", "-o", "/dev/null/none", "--", path, 1, 1)
    if "has no disassembler" in tried.stderr:
        raise Skip("aflame was built without Capstone")
    return path


def timed(*functions, after="", command=None, lib="-"):
    options = []
    for function in functions:
        options += ["--uprobe", "%s:%s+RETURN%s" % (lib, function, after)]
    run = record(*(command or (returns(), THREADS, CALLS)), options=options)
    expect(not run.fields("lost"), "lost: %s" % run.fields("lost"))
    return run


@case("recursion in threads: every call has its time, no shorter than inside and no longer than outside")
def _():
    run = timed("climbs")
    holds(run, "climbs")
    deepest = max(len([f for f in frames if bare(f) == "climbs"]) for frames, _ in run.stacks(weight="count"))
    equal(deepest, 5, "calls inside of each other in the deepest stack")


@case("calls that an exception or longjmp leaves are counted, have no time, and confuse no other")
def _():
    run = timed(*LEFT)
    holds(run, *LEFT)
    truth = truths(run)
    for name in LEFT:
        expect(0 < truth[name].returned < truth[name].calls, "%s: %s" % (name, truth[name]))


@case("calls on a signal's stack and on stacks that are switched have their own times")
def _():
    holds(timed(*STACKS), *STACKS)


@case("a call that forks returns once: the child has not made it")
def _():
    run = timed("forks")
    holds(run, "forks")
    equal(len(run.fields("process")), 1 + truths(run)["forks"].calls, "processes")


@case("the same program stripped, and by its exported names")
def _():
    returns()
    functions = ("climbs", *LEFT, *STACKS, "forks", *ASSEMBLY[:-1], "cond_*")
    run = timed(*functions, command=(program("returns_stripped"), THREADS, CALLS))
    conditions = [name for name in truths(run) if name.startswith("cond_")]
    holds(run, *functions[:-1], *conditions)


@case("jumps to other functions end a call; jump tables and pieces elsewhere do not")
def _():
    run = timed(*ASSEMBLY)
    holds(run, *ASSEMBLY)
    expect(all(t.inside_ns for f, t in truths(run).items() if f in ("by_table", "enters", "in_pieces")), "spun")


@case("a jump to another function under a condition: all 16 conditions, with all flags")
def _():
    run = timed("cond_*")
    conditions = [name for name in truths(run) if name.startswith("cond_")]
    equal(len(conditions), 16, "conditions")
    holds(run, *conditions)


@case("two functions of which one ends by a jump to the other: each has its own times")
def _():
    run = timed("hops", "at_once")
    holds(run, "hops")
    truth, row = truths(run), table(run)["at_once"]
    equal(row["calls"], row["timed"], "calls of at_once, timed")
    expect(row["calls"] > sum(truth[f].calls for f in ASSEMBLY[:4]), "calls of at_once: %s" % row)


@case("with @1/N one call in N of a thread has a time, if it returns")
def _():
    run = timed("leaps", "hops", after="@1/%d" % EVERY)
    rows = table(run)
    equal(rows["leaps"]["calls"], CALLS, "calls of leaps")
    chosen = range(0, CALLS, EVERY)
    equal(rows["leaps"]["timed"], sum(1 for i in chosen if i % 3), "calls of leaps, timed")
    equal(rows["hops"]["calls"], CALLS, "calls of hops")
    equal(rows["hops"]["timed"], math.ceil(CALLS / EVERY), "calls of hops, timed")


@case("each call is a slice as long as it took, and a row of tally; stacks end in the function")
def _():
    run = timed("throws")
    rows, truth = table(run), truths(run)["throws"]
    slices = [f["duration_ns"] for f in run.fields("call_long")]
    equal(len(slices), truth.returned, "calls with a time")
    equal(sum(slices), rows["throws"]["time_ns"], "time of them all")
    events = json.loads(must("timeline", "--format", "json", "-o", "-", run.path))
    events = events["traceEvents"] if isinstance(events, dict) else events
    drawn = [e for e in events if e.get("name") == "throws" and e.get("ph") == "X"]
    equal(len(drawn), truth.returned, "slices")
    expect(abs(sum(e["dur"] for e in drawn) * 1000 - sum(slices)) < len(slices), "their length")
    tables = json.loads(must("tally", "--json", run.path))["tables"]
    tallied = {r["function"]: r for t in tables for r in t["rows"] if "throws" in r.get("function", "")}
    equal(tallied["throws"]["calls"], truth.returned, "in tally, timed")
    equal(tallied["throws"]["time_ns"], sum(slices), "in tally, time")
    equal(tallied["[seen] throws"]["calls"], truth.calls - truth.returned, "in tally, without time")
    stacks = [([bare(f) for f in frames], w) for frames, w in run.stacks(weight="count")]
    equal(weight_of(stacks, having("main", "throws")), truth.returned, "calls with a stack")
    expect(all(f[-1] == "throws" for f, _ in stacks if "throws" in f), "stacks: %s" % stacks[:4])


@case("a stripped library of Debian's, in Python: as many calls and returns as gdb counts calls")
def _():
    returns()
    command = python_script(SQLITE)
    hits = gdb_counts(["sqlite3_step", "deflate"], command)
    options = ("--uprobe", "libsqlite3.so.0:sqlite3_step+RETURN", "--uprobe", "libz.so.1:deflate+RETURN")
    rows = table(record(*command, options=options))
    equal([rows[f]["calls"] for f in ("sqlite3_step", "deflate")], hits, "calls")
    equal([rows[f]["timed"] for f in ("sqlite3_step", "deflate")], hits, "calls that returned")
    expect(min(hits) >= 300, "gdb counted %s" % hits)
    note("%s calls" % hits)


@case("Debian's Python: its interpreter loop, which is in pieces and jumps by tables, returns from each call")
def _():
    returns()
    names = ("_PyEval_EvalFrameDefault", "PyObject_Vectorcall")
    exported = subprocess.run(["nm", "-D", PYTHON], stdout=subprocess.PIPE, check=False).stdout.decode()
    if not all(" T %s\n" % name in exported for name in names):
        raise Skip("no %s with %s" % (PYTHON, " and ".join(names)))
    script = os.path.join(WORKPLACE, "calls.py")
    with open(script, "w") as file:
        file.write("f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)\nprint(sum(f(i) for i in range(9)))\n")
    rows = table(timed(*names, command=(PYTHON, script)))
    for name in names:
        equal(rows[name]["timed"], rows[name]["calls"], "returns of " + name)
        expect(rows[name]["calls"] > 100, "calls of %s: %s" % (name, rows[name]))


@case("a function whose exits cannot all be known is refused, with the reason")
def _():
    path = returns()
    for function, reason in (
        ("has_data", r"it has data among its instructions"),
        ("unknown", r"it has bytes that Capstone does not know at 0x[0-9a-f]+"),
        ("far_away", r"it has an unusual return"),
        ("counts_down", r"it has an unusual jump"),
        ("sizeless", r"its code is not in the file, or has no size"),
    ):
        pattern = r"\+RETURN: where %s of \S+returns returns is not known: %s" % (function, reason)
        refused(USAGE, pattern, "record", "--uprobe", "-:%s+RETURN" % function, "--", path, 1, 1)
        run = record(path, 1, 1, options=("--uprobe", "-:" + function), quiet=False)
        expect(b"no call of %s was seen" % function.encode() in run.stderr, run.stderr)
    # Nobody named this one.
    run = record(path, 1, 1, options=("--uprobe", "-:unknow?+RETURN"), quiet=False)
    less = [f["value"] for f in run.fields("note") if f["key"] == "functions.less"]
    expect(less and "match 1 cannot be timed, and are counted: unknown (it has bytes that" in less[0], less)


@case("+RETURN must be at the end of the function's name, before @1/N")
def _():
    path = returns()
    refused(USAGE, r"not \"@1/2\+RETURN\"", "record", "--uprobe", "-:hops@1/2+RETURN", "--", path, 1, 1)
    refused(USAGE, r"--uprobe takes LIB:FUNCTION", "record", "--uprobe", "-:+RETURN", "--", path, 1, 1)


run_cases()
