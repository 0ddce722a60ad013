#!/usr/bin/env python3
"""Calls of any function (--uprobe): all of them, where they came from, and what is refused."""

import contextlib
import json
import math
import os
import re
import subprocess
import time

from gdb_counts import gdb_counts, python_script
from machine import AFLAME, need, program
from recording import USAGE, Trace, aflame, bare, must, new_path, record, refused
from shares import having, weight_of
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


def probed(*uprobes, command=None, options=(), **how):
    need("bpf")
    for uprobe in uprobes:
        options = (*options, "--uprobe", uprobe)
    command = command or (program("probed"), THREADS, CALLS)
    run = record(*command, options=options, **how)
    expect(not run.fields("lost"), "lost: %s" % run.fields("lost"))
    return run


def called(run):
    """{function: calls} in the table of that name."""
    tables = json.loads(must("report", "functions_called", "--json", run.path))["tables"]
    counts = {}
    for table in tables:
        for row in table["rows"]:
            counts[row["function"]] = counts.get(row["function"], 0) + row["calls"]
    return counts


def tallied(run):
    tables = json.loads(must("tally", "--json", run.path))["tables"]
    rows = [row for table in tables for row in table["rows"]]
    return {
        row["function"].split()[-1]: row["calls"]
        for row in rows
        if row.get("function", "").startswith("[seen]")
    }


def counted_stacks(run):
    return [([bare(f) for f in frames], w) for frames, w in run.stacks(weight="count")]


@case("every call is counted: static functions, threads, a fork, a library that is loaded late")
def _():
    run = probed("-:odd_step", "probed:even_step", "libz.so.1:crc32")
    if "crc32" not in run.truth:
        raise Skip("no libz.so.1 here")
    equal(called(run), run.truth, "calls")
    equal(tallied(run), run.truth, "calls in tally")
    seen = len(run.events("call_seen"))
    summed = sum(f["count"] for f in run.fields("call_sum"))
    equal(seen + summed, sum(run.truth.values()), "calls with a stack and without")
    note("%d calls with a stack, %d without" % (seen, summed))


@case("each call has the stack that it came from")
def _():
    run = probed("-:odd_step", "-:even_step")
    stacks = counted_stacks(run)
    for step, caller in (("odd_step", "calls_odd"), ("even_step", "calls_even")):
        without = weight_of(stacks, having("[stack not recorded]", step))
        whole = weight_of(stacks, having(caller, step))
        equal(whole + without, run.truth[step], "calls of " + step)
        expect(whole, "no stack of " + step)
        child = weight_of(stacks, having("main", caller, step))
        threads = weight_of(stacks, having("start_thread", caller, step))
        expect(child and threads, "stacks: %s" % stacks[:8])
        equal(child + threads, whole, "stacks from main and from threads")
        expect(all(f[-1] == step for f, _ in stacks if step in f), "frames below " + step)


@case("with @1/N one call in N of each thread has a stack, and all are counted")
def _():
    run = probed("-:odd_step@1/%d" % EVERY)
    equal(called(run), {"odd_step": run.truth["odd_step"]}, "calls")
    of_threads = [CALLS + i for i in range(THREADS)] + [CALLS]
    want = sum(math.ceil(n / EVERY) for n in of_threads)
    equal(len(run.events("call_seen")), want, "calls with a stack")
    without = weight_of(counted_stacks(run), having("[stack not recorded]", "odd_step"))
    equal(without, sum(of_threads) - want, "calls without a stack in the flame graph")


@case("a pattern names all functions that match; a function that is named twice is probed once")
def _():
    run = probed("-:*_step", "-:odd_step@1/7")
    equal(called(run), {k: run.truth[k] for k in ("odd_step", "even_step")}, "calls")


@case("the program that a shell starts is probed by its path, from its first call on")
def _():
    words = "%s 1 10; %s 1 30" % (program("probed"), program("probed"))
    run = probed(program("probed") + ":odd_step", command=("sh", "-c", words))
    equal(called(run), {"odd_step": 2 * 10 + 2 * 30}, "calls")


def open_files(pid):
    """What the process has open; a descriptor may be closed meanwhile."""
    folder, files = "/proc/%d/fd" % pid, []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            files.append(os.readlink(os.path.join(folder, name)))
    return files


def wait_for_probes(pid):
    """Until the recorder has attached all that it will, and reads the kernel's ring."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        files = open_files(pid)
        if any("bpf_link" in f or "bpf-link" in f for f in files) and "anon_inode:[eventpoll]" in files:
            time.sleep(0.5)
            return
        time.sleep(0.1)
    expect(False, "the recorder has no probes after a minute: %s" % files)


def attached(returns):
    """Records a process that runs, and waits inside of getchar(); returns the trace and the calls that there were."""
    need("bpf")
    path = new_path()
    target = subprocess.Popen(
        [program("probed"), str(THREADS), str(CALLS), "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "--sample", "none", "-p", str(target.pid)]
        + ["--uprobe", "-:odd_step%s" % returns, "--uprobe", "libc.so.6:getchar%s" % returns],
        stderr=subprocess.PIPE,
    )
    wait_for_probes(recorder.pid)
    output = target.communicate(b"\n", timeout=60)[0].decode()
    reported = recorder.communicate(timeout=60)[1].decode()
    equal(recorder.returncode, 0, "status of the recorder: " + reported)
    expect("no call of getchar" in reported, reported)
    truth = dict(re.findall(r"truth (\w+) (\d+)", output))
    want = {"odd_step": int(truth["odd_step"])}
    # The process waits inside of its only getchar() when it is probed.
    equal(called(Trace(path)), want, "calls")
    return Trace(path), want


@case("-p: the program and the libraries that a process has mapped")
def _():
    trace, _ = attached("")
    equal(len(trace.fields("call_long")), 0, "calls with times")


@case("-p with +RETURN: a call that was under way is not one that returns")
def _():
    need("bpf")
    refusal = aflame("record", "--uprobe", "-:odd_step+RETURN", "-o", "/dev/null/none", "--", program("probed"), 1, 1)
    if "has no disassembler" in refusal.stderr:
        raise Skip("aflame was built without Capstone")
    trace, want = attached("+RETURN")
    equal(len(trace.fields("call_long")), want["odd_step"], "calls with times")


@case("Debian's Python and SQLite: as many calls of sqlite3_step as gdb counts")
def _():
    command = python_script(SQLITE)
    (hits,) = gdb_counts(["sqlite3_step"], command)
    run = probed("libsqlite3.so.0:sqlite3_step", command=command)
    equal(called(run), {"sqlite3_step": hits}, "calls")
    expect(hits > 1000, "gdb counted %d" % hits)


@case("a function that was not called is reported, and the program runs")
def _():
    run = probed("libz.so.1:inflate", "-:odd_step", quiet=False)
    expect(b"no call of inflate was seen" in run.stderr, run.stderr)
    expect(b"odd_step" not in run.stderr, run.stderr)


@case("those of a pattern that were not called are one line, and a note each")
def _():
    command = python_script("import zlib\nzlib.compress(b'x' * 1000)")
    run = probed("libz.so.1:deflate*", command=command, quiet=False)
    notes = [f["value"] for f in run.fields("note") if f["key"] == "functions.uncalled"]
    (line,) = [text for text in run.stderr.decode().splitlines() if "not called" in text]
    nr, names, more = re.search(r"of (\d+) functions of \S*libz\S* these were not called: (.*) and (\d+) more", line).groups()
    equal(int(nr), len(called(run)) + len(notes), "functions that match: " + line)
    equal(len(names.split(", ")) + int(more), len(notes), "those that were not called: " + line)
    equal(sorted(set(names.split(", ")) & set(called(run))), [], "called, and reported: " + line)


def refuses(uprobe, pattern):
    need("bpf")
    refused(USAGE, pattern, "record", "--uprobe", uprobe, "--", program("probed"), 1, 1)


@case("what names nothing is refused, with near names")
def _():
    refuses("-:odd_stp", r"probed has no function odd_stp; near names: odd_step")
    refuses("libz.so.1:deflate_", r"has no function deflate_; near names: deflate")
    refuses("libc.so.6:step_of_nobody_here", r"has no function step_of_nobody_here")
    refuses("libno_such.so:f", r"no library libno_such\.so where ld\.so looks: give its path")
    refuses("/no/such/file:f", r"no file /no/such/file")
    refuses("/etc/passwd:f", r"/etc/passwd is no ELF file")
    refuses("libc.so.6:strlen", r"chosen by ld\.so among several \(IFUNC\)")
    refuses("libc.so.6:*", r"more than 128 functions")


@case("words that make no sense are refused")
def _():
    for words in ("f", ":f", "libz.so.1:", "-:@1/2"):
        refuses(words, r"--uprobe takes LIB:FUNCTION")
    for every in ("0", "-1", "1000001", "2x", ""):
        refuses("-:odd_step@1/" + every, r"with N from 1 to 1000000")
    need("bpf")
    words = ("--tally-only", "--uprobe", "-:odd_step", "--", program("probed"), 1, 1)
    refused(USAGE, r"leave out .*--uprobe", "record", *words)
    done = aflame("record", "--wall", "--uprobe", "-:odd_step", "--", program("probed"), 1, 1)
    equal(done.returncode, USAGE, done.stderr)
    expect("leave out --uprobe" in done.stderr, done.stderr)


run_cases()
