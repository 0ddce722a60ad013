#!/usr/bin/env python3
"""A few programs that Debian ships: what was sampled of them, held against the CPU time that the kernel
says they used. tests/live/debian has all of them, and the table."""

import atexit
import copy
import os
import shutil
import signal
from types import SimpleNamespace

from debian_rows import compare_hottest, left_out, row_of
from debian_programs import PROGRAMS
from machine import samplers
from perf_shares import Beside, Shares, read_row
from tap import Skip, case, expect, note, run_cases
from witnessed import Place, Sampled, run

SHORT = ("xz", "sort", "perl", "python threads", "python processes", "static", "static stripped", "stripped", "java with its option", "luajit")
# Functions of these are held against perf's: threads that end before a sample, code made in memory, time in page faults.
WITH_PERF = ("http.server", "node --perf-basic-prof", "python 700 deep", "static")
RATE = 997

place = Place()
atexit.register(place.remove)


def add(entry):
    @case("%s: sampled is what was used, and leaves have names" % entry.name, tries=2)
    def _():
        why = left_out(entry, None)
        if why:
            raise Skip(why)
        place.prepare(entry)
        plain = run(entry, place)
        expect(not plain.status and plain.witnessed, "alone: status %d, %s" % (plain.status, plain.err))
        for sampler in ["auto"] + samplers():
            row = row_of(entry, place, sampler, RATE, plain, "not asked")
            reported = "%s: %.2f s user, %.2f s kernel, %.2f s sampled (%.1f %%), %.0f %% named; %s" % (
                row["sampler"], row["user_s"], row["system_s"], row["sampled_s"], 100 * row["coverage"], 100 * row["named"], row["reported"])
            note(reported)
            expect(not row["short"], "%s: %s" % (", ".join(row["short"]), reported))


def add_with_perf(entry):
    @case("%s: the hottest function's share is perf's" % entry.name, tries=2)
    def _():
        why = "perf sees all CPUs as root only" if os.geteuid() else None if shutil.which("perf") else "perf is not installed"
        why = why or left_out(entry, None)
        if not why and entry.name == "http.server" and not shutil.which("ab"):
            why = "ab is not installed (apache2-utils)"
        if why:
            raise Skip(why)
        place.prepare(entry)
        plain = run(entry, place)
        for sampler in ["auto"] + samplers():
            row = row_of(entry, place, sampler, RATE, plain, Beside)
            note("%s: %s" % (row["sampler"], row["hottest"]))
            expect(" / " in row["hottest"], "perf: %s" % row["hottest"])
            expect(not any(s.startswith("hottest") for s in row["short"]), "%s: %s, %s" % (row["sampler"], row["hottest"], row["short"]))


REPORT = """ 72.15% |        2112|[JIT] tid 7901      |[.] JS:*fib /tmp/loop.js:2:13   |-      -
  7.12% |         208|node                |[.] Builtins_FindOrderedHashMapEntry  |-      -
  0.24% |           7|[kernel.kallsyms]   |[k] exc_page_fault
  0.10% |           3|libc.so.6           |[.] pthread_rwlock_unlock@@GLIBC_2.34 |-
"""


@case("every row of perf's report is read, whatever its module is called")
def _():
    rows = [read_row(line) for line in REPORT.splitlines()]
    expect([r[0] for r in rows] == [2112, 208, 7, 3], rows)
    shares = Shares(rows, {}, 1000, 2.33)
    name = shares.hottest(False)
    expect(name == "JS:*fib /tmp/loop.js:2:13" and abs(shares.share(name, False) - 2112 / 2323) < 1e-9, (name, shares.of))
    expect(shares.of["pthread_rwlock_unlock"] == [3, 3] and shares.covered == 1, (shares.of, shares.covered))
    try:
        read_row("  7.12% |node |[.] no count")
    except ValueError:
        return
    expect(False, "a line that is no row was taken for one")


@case("a server ends by SIGINT where the test itself was started with SIGINT ignored")
def _():
    entry = copy.copy(next(p for p in PROGRAMS if p.name == "http.server"))
    entry.load = lambda port: ["true"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = run(entry, place)
    finally:
        signal.signal(signal.SIGINT, before)
    expect(done.witnessed and done.status == 0, "status %d: %s" % (done.status, done.err[-200:]))


def compared(perf, stacks, used_s=10.0):
    """Whether the bar is met: @perf has counts of functions, @stacks are seconds of stacks, sampled 1000 times a second."""
    entry = SimpleNamespace(jit=False)
    folded = "".join("program;main;%s %d\n" % (stack, 1e9 * s) for stack, s in stacks.items())
    shares = Shares([(n, "program", ".", name) for name, n in perf.items()], {}, 1000, used_s)
    words, short = compare_hottest(entry, shares, Sampled(folded), Sampled(folded, 1e6), False)
    note(words)
    return not short


@case("the comparison with perf fails where functions are mistaken, and only there")
def _():
    perf = {"hot": 6000, "other": 4000}
    expect(compared(perf, {"hot": 6.0, "other": 4.0}), "the same shares")
    expect(not compared(perf, {"hot": 5.0, "other": 5.0}), "ten points too few")
    expect(not compared(perf, {"hot": 7.0, "other": 3.0}), "ten points too many")
    expect(compared(perf, {"alias": 6.0, "other": 4.0}), "another name of the same function")
    expect(not compared(perf, {"alias": 5.0, "b": 3.0, "other": 2.0}), "no function has that share, whatever it is called")
    expect(compared(perf, {"hot": 0.8, "other": 0.2, "[ended before a sample]": 9.0}), "most is not known, and reported so")
    expect(not compared(perf, {"other": 5.0, "[ended before a sample]": 5.0}), "more is others' than what is not known explains")
    expect(compared({"hot": 500, "other": 500}, {"hot": 6.0, "other": 4.0}), "perf has seen a tenth")
    expect(not compared({"hot": 5000, "other": 3000}, {"hot": 3.0, "other": 7.0}), "perf has seen four fifths")
    expect(not compared(perf, {"other": 6.0, "hot": 4.0}), "two functions' names are swapped")
    many = {"f%d" % i: 500 for i in range(20)}
    expect(not compared(many, {**{f: 0.3 for f in many}, "f7": 4.3}), "one of many is made hot")
    expect(compared({"hot": 3, "other": 1}, {"hot": 5.0, "other": 5.0}, 0.004), "perf has four samples")


for one in PROGRAMS:
    if one.name in SHORT:
        add(one)
    if one.name in WITH_PERF:
        add_with_perf(one)

run_cases()
