#!/usr/bin/env python3
"""record --wall: waits have their time, and end as they would without it."""

import collections

from machine import program
from recording import bare, must, record, refused, USAGE
from tap import case, equal, expect, note, run_cases


def time_of(stacks, name):
    return sum(ns for frames, ns in stacks if name in [bare(f) for f in frames]) / 1e9


def sums_of(output):
    """The program says what each of its waits took, several times."""
    sums = collections.Counter()
    for line in output.decode().splitlines():
        _, name, seconds = line.split()
        sums[name] += float(seconds)
    return sums


def record_wall(*command, rate=999, **how):
    return record(*command, sampler="timer", rate=rate, options=("--wall",), **how)


@case("each wait has the time that it took, and none ends early", tries=3)
def _():
    run = record_wall(program("waits"))
    stacks, truth = run.stacks(), sums_of(run.stdout)
    equal(len(truth), 15, "functions that waited or worked")
    all_ns = sum(truth.values())
    for name, took in sorted(truth.items()):
        seen = time_of(stacks, name)
        note("%s: %.3f s of %.3f" % (name, seen, took))
        expect(abs(seen - took) / all_ns <= 0.02, "%s: %.3f s sampled, it took %.3f" % (name, seen, took))


@case("threads that wait and those that work, in Python", tries=3)
def _():
    text = """
import threading, time
def sleeper():
    time.sleep(0.6)
def worker():
    end = time.monotonic() + 0.6
    while time.monotonic() < end: pass
threads = [threading.Thread(target=f) for f in (sleeper, sleeper, worker)]
for t in threads: t.start()
for t in threads: t.join()
"""
    run = record_wall("python3", "-c", text)
    stacks = run.stacks()
    for name, wanted in (("sleeper", 1.2), ("worker", 0.6)):
        seen = sum(ns for frames, ns in stacks if any(f.startswith(name + " (") for f in frames)) / 1e9
        expect(abs(seen - wanted) < 0.1 * wanted, "%s: %.3f s of %.1f" % (name, seen, wanted))


@case("tables say which clock it was, and CPU time used is no measure of it")
def _():
    run = record_wall(program("waits"))
    expect("Where wall-clock time went" in must("report", "top", run.path), "the title of the table")
    text = must("report", run.path)
    expect("by the wall clock" in text, "report says nothing of the clock")
    expect("counted twice" not in text, "waits are held against CPU time")


@case("a program that cannot load the library is started without it, and its ld.so says nothing")
def _():
    run = record_wall("sh", "-c", '"$0"; exec sleep 0.2', program("foreign_32"))
    expect(time_of(run.stacks(), "sh") + time_of(run.stacks(), "sleep") > 0.15, "%s" % run.stacks())


@case("what cannot be sampled by the wall clock is refused")
def _():
    for words in (("-p", "1"), ("-a",), ("--off-cpu", "true"), ("--sample", "perf", "true")):
        refused(USAGE, "--wall samples a program that aflame starts", "record", "--wall", *words)


run_cases()
