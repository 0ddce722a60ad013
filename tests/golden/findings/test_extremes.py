#!/usr/bin/env python3
"""Runs of nothing and of very much: a sentence that helps, and results that grow as the run does.

    test_extremes.py MKTRACE AFLAME [WORDS]"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from many_processes import FUNCTIONS, lines
from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-extremes-")
WORK = _work.name


def made(name, text):
    path = os.path.join(WORK, name)
    with open(path + ".trace", "w", encoding="utf-8") as file:
        file.writelines(text)
    subprocess.run([MKTRACE, path + ".trace", path], check=True)
    return path


def aflame(*words, status=0):
    done = subprocess.run([AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
    equal(done.returncode, status, "exit status of %s: %s" % (words, done.stderr))
    return done


@case("a run without samples: each command says that there are none, and how there would be some")
def _():
    with open(os.path.join(HERE, "none.trace"), encoding="utf-8") as file:
        none = made("none", file.readlines())
    helps = "A program that is soon over needs a higher rate (-F 999), one that waits --off-cpu, and --sample none samples nothing\n"
    for words in (("flame",), ("flame", "-o", os.path.join(WORK, "x.svg")), ("flame", "--view", "cpu"), ("report", "top"),
                  ("report", "tree"), ("report", "callers", "main"), ("flamescope",), ("export", "--format", "folded")):
        expect(aflame(*words, none, status=1).stderr.endswith(helps), words)
    expect("no work of a device was recorded. `aflame doctor`" in aflame("flame", "--view", "gpu", none, status=1).stderr, "devices")
    expect("the trace has no table kernels: it has nothing that belongs there" in aflame("report", "kernels", none, status=1).stderr, "kernels")
    report = aflame("report", none).stdout
    expect("no CPU time was sampled and no work of a device recorded: a program that is soon over" in report and "true [101]" in report, report)
    page = os.path.join(WORK, "none.html")
    aflame("flame", "-o", page, none)
    expect(os.path.getsize(page) > 10000, "a page")


@case("10,000 processes: reports add them up, and a picture and a page grow as their number does, and no faster")
def _():
    sizes = {}
    for number in (5000, 10000):
        trace = made("many%d" % number, lines(number))
        document = json.loads(aflame("report", "--json", "-n", "0", trace).stdout)
        tables = {table["name"]: table for table in document["tables"]}
        equal(sum(row["sampled_ns"] for row in tables["processes"]["rows"]), number * 300 * 1000, "the time of all processes")
        top = {row["function"]: row["self"] for row in json.loads(aflame("report", "top", "--json", "-n", "0", trace).stdout)["tables"][0]["rows"]}
        equal(sum(top.values()), number * 300 * 1000, "the time of all functions")
        equal(len([name for name in top if name != "main"]), FUNCTIONS, "functions")
        shown = aflame("report", trace).stdout
        expect(len(shown.splitlines()) < 100 and "× " in shown, "%d lines, alike processes as one" % len(shown.splitlines()))
        for name in ("x.svg", "x.html", "x.json"):
            path = os.path.join(WORK, name)
            aflame(*(("timeline",) if name == "x.json" else ("flame",)), "-o", path, trace)
            sizes[name, number] = os.path.getsize(path)
    for name in ("x.svg", "x.html", "x.json"):
        small, large = sizes[name, 5000], sizes[name, 10000]
        expect(large <= 2.2 * small and large <= 10 << 20, "%s: %d bytes of 5,000 processes, %d of 10,000" % (name, small, large))


@case("10,000 processes, each the child of the last: all of them are counted, however deep")
def _():
    text = [line.replace("ppid=1001 parent=1 ", "ppid=%d parent=%d " % (999 + i, i - 1)) if " process  " in line else line
            for i, line in numbered(lines(10000))]
    trace = made("chain", text)
    rows = [row for table in json.loads(aflame("report", "processes", "--json", "-n", "0", trace).stdout)["tables"] for row in table["rows"]]
    equal(len(rows), 10000, "processes")
    widest = max(len(line) for line in aflame("report", trace).stdout.splitlines())
    expect(widest < 300, "a line of %d columns" % widest)


def numbered(all_lines):
    """(the number of the process, line): a process begins with its thread."""
    number = 0
    for line in all_lines:
        number += " thread  " in line
        yield number, line


run_cases()
