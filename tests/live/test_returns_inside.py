#!/usr/bin/env python3
"""Times of calls of any function without root: libaflame probes where functions end, in the program."""

import math
import os
import re
import shutil
import subprocess

from gdb_counts import gdb_counts, python_script
from machine import need, program
from recording import Trace, bare, record
from returned import holds, table, truths
from shares import having, weight_of
from stranger import Stranger
from tap import Skip, case, equal, expect, note, run_cases

THREADS, CALLS, EVERY = 3, 60, 7
LEFT = ("throws", "leaps")  # by exceptions and longjmp
STACKS = ("handles", "yields")  # that are not the thread's own
ASSEMBLY = ("hops", "by_register", "by_memory", "by_pointer", "by_table", "enters", "in_pieces")
ROOMY = (program("returns_roomy"), THREADS, CALLS)
ZLIB = """
import zlib
for i in range(400):
    zlib.compress(b"%d" % i * 99)
"""
SQLITE = """
import sqlite3, zlib
c = sqlite3.connect(":memory:")
c.execute("create table t(a, b)")
for i in range(200):
    c.execute("insert into t values(?, ?)", (i, zlib.compress(b"%d" % i * 99)))
try:
    c.execute("select nonsense")
except sqlite3.Error as e:
    print(e)
print(sum(len(zlib.decompress(b)) for _, b in c.execute("select * from t where a > 10 order by b")))
"""


class Inside:
    """A recording by @other, who has no rights, with --uprobe for each of @functions."""

    def __init__(self, other, *functions, command=None, options=("--sample", "none")):
        path = program("returns")
        if not os.path.exists(path):
            raise Skip("no g++ when aflame was built, or not x86-64")
        self.path = other.path("trace")
        shutil.rmtree(self.path, ignore_errors=True)
        words = [str(word) for word in command or (path, THREADS, CALLS)]
        for function in functions:
            options = (*options, "--uprobe", function if ":" in function else "-:" + function)
        done = other.run((other.install(), "record", "-o", self.path, *options, "--", *words))
        self.stdout = done.stdout
        # What it reports at the end is no message.
        self.stderr = "".join(line + "\n" for line in done.stderr.decode().splitlines() if line.startswith("aflame"))
        if "disassembler" in self.stderr:
            raise Skip("this build has no Capstone")
        self.status = done.returncode
        if os.path.exists(self.path):
            self.trace = Trace(self.path)
            self.trace.check()
            expect(not self.trace.fields("lost"), self.trace.fields("lost"))

    def fields(self, kind):
        return self.trace.fields(kind)


def timed(other, *functions, after="", **how):
    run = Inside(other, *[f + "+RETURN" + after for f in functions], **how)
    equal((run.status, run.stderr), (0, ""), "(status, standard error)")
    return run


@case("recursion in threads: every call has its time, no shorter than inside and no longer than outside")
def _():
    with Stranger() as other:
        run = timed(other, "climbs")
        holds(run, "climbs")
        stacks = [[bare(f) for f in frames] for frames, _ in run.trace.stacks(weight="count")]
        equal(max(frames.count("climbs") for frames in stacks), 5, "calls inside of each other in the deepest stack")
        expect(all(frames[-1] == "climbs" for frames in stacks if "climbs" in frames), "stacks: %s" % stacks[:3])


@case("calls that an exception or longjmp leaves are counted, have no time, and confuse no other")
def _():
    with Stranger() as other:
        run = timed(other, *LEFT)
        holds(run, *LEFT)
        truth = truths(run)
        for name in LEFT:
            expect(0 < truth[name].returned < truth[name].calls, "%s: %s" % (name, truth[name]))


@case("calls on a signal's stack and on stacks that are switched have their own times; a child has not made its parent's")
def _():
    with Stranger() as other:
        run = timed(other, *STACKS, "forks")
        holds(run, *STACKS, "forks")
        equal(len(run.fields("process")), 1 + truths(run)["forks"].calls, "processes")


@case("jumps to other functions end a call, also by registers and memory; jump tables and pieces elsewhere do not")
def _():
    with Stranger() as other:
        run = timed(other, *ASSEMBLY, command=ROOMY)
        holds(run, *ASSEMBLY)
        expect(all(t.inside_ns for f, t in truths(run).items() if f in ("by_table", "enters", "in_pieces")), "spun")


@case("a jump to another function under a condition: all 16 conditions, with all flags")
def _():
    with Stranger() as other:
        run = timed(other, "cond_*", command=ROOMY)
        conditions = [name for name in truths(run) if name.startswith("cond_")]
        equal(len(conditions), 16, "conditions")
        holds(run, *conditions)


@case("a function without room for a jump where it begins or ends is refused with the reason, and the program runs")
def _():
    with Stranger() as other:
        for name, why in (("at_once", "probed: it is too short"), ("by_register", "timed: a jump has no room where it returns"),
                          ("by_table", "timed: a jump has no room where it returns")):  # fmt: skip
            run = Inside(other, name + "+RETURN")
            reason = "without root %s cannot be %s; leave it out" % (name, why)
            expect(not run.status and reason in run.stderr and b"truth climbs" in run.stdout, run.stderr)


@case("registers, flags and the stack below are kept where functions end: a program cannot tell")
def _():
    with Stranger() as other:
        path = program("probed_state")
        run = timed(other, "kept", "throws", "again", "red", command=(path,))
        alone = subprocess.run([path], stdout=subprocess.PIPE, check=True).stdout
        equal(run.stdout, alone, "what it printed")
        rows = {name: (row["calls"], row["timed"]) for name, row in table(run).items()}
        equal(rows, {"kept": (1000, 1000), "throws": (1000, 500), "again": (100, 100), "red": (1000, 1000)},
              "calls and returns")  # fmt: skip


@case("with @1/N one call in N of a thread has a time, if it returns")
def _():
    with Stranger() as other:
        run = timed(other, "leaps", "climbs", after="@1/%d" % EVERY)
        rows, truth = table(run), truths(run)
        equal(rows["leaps"]["calls"], CALLS, "calls of leaps")
        equal(rows["leaps"]["timed"], sum(1 for i in range(0, CALLS, EVERY) if i % 3), "calls of leaps, timed")
        equal(rows["climbs"]["calls"], truth["climbs"].calls, "calls of climbs")
        each = truth["climbs"].calls // THREADS
        equal(rows["climbs"]["timed"], THREADS * math.ceil(each / EVERY), "calls of climbs, timed")


@case("Debian's Python and zlib: as many calls and returns as gdb counts calls")
def _():
    with Stranger() as other:
        command = python_script(ZLIB)
        hits = gdb_counts(["deflateInit2_", "deflate"], command)
        run = timed(other, "libz.so.1:deflateInit2_", "libz.so.1:deflate", command=command)
        rows = table(run)
        equal([rows[f]["calls"] for f in ("deflateInit2_", "deflate")], hits, "calls")
        equal([rows[f]["timed"] for f in ("deflateInit2_", "deflate")], hits, "calls that returned")
        expect(min(hits) >= 400, "gdb counted %s" % hits)
        stacks = [([bare(f) for f in frames], w) for frames, w in run.trace.stacks(weight="count")]
        equal(weight_of(stacks, having("deflate")), hits[1], "calls of deflate with a stack")


@case("all functions that patterns name in SQLite and zlib: as many calls and returns as the kernel's probes count")
def _():
    need("bpf")
    command, patterns = python_script(SQLITE), ("libsqlite3.so.0:sqlite3_[ps]*+RETURN", "libz.so.1:[c-i]*+RETURN")
    alone = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with Stranger() as other:
        run = Inside(other, *patterns, command=command)
        equal((run.status, run.stdout), (0, alone), "status, and what it printed; " + run.stderr)
        options = [word for pattern in patterns for word in ("--uprobe", pattern)]
        inside, kernel = table(run), table(record(*command, options=options, quiet=False))
        less = {f["value"] for f in run.fields("note") if f["key"] == "functions.less"}
        note("%d functions, %d calls; %s" % (len(inside), sum(row["calls"] for row in inside.values()), " ".join(less)))
        equal({f: row["calls"] for f, row in inside.items()}, {f: row["calls"] for f, row in kernel.items()}, "calls")
        timed_ones = {f: row["timed"] for f, row in inside.items() if row["timed"]}
        equal(timed_ones, {f: kernel[f]["timed"] for f in timed_ones}, "returns")
        expect(len(timed_ones) >= 8, "timed: %s" % timed_ones)


@case("functions of a pattern that cannot be timed are counted, and those that cannot be probed left out: both are reported")
def _():
    with Stranger() as other:
        command = python_script(ZLIB)
        run = Inside(other, "libz.so.1:*+RETURN", "-:Py_Is*", command=command)
        equal(run.status, 0, "status: " + run.stderr)
        (untimed, first), = re.findall(r"of the functions that match (\d+) cannot be timed, and are counted: (\w+) \(", run.stderr)
        equal([f["value"] for f in run.fields("note") if f["key"] == "functions.less"][0].split()[5], untimed, "in the note")
        rows = table(run)
        expect(int(untimed) > 3 and first not in rows or not rows[first]["timed"], "%s: %s" % (first, rows))
        expect(rows["deflate"]["calls"] == rows["deflate"]["timed"] >= 400, rows["deflate"])
        expect(all(row["timed"] in (0, row["calls"]) for row in rows.values()), "timed in part: %s" % rows)


run_cases()
