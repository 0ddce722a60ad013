#!/usr/bin/env python3
"""tests/summary, on runs as meson logs them.

    test_summary.py BUILD [WORDS]"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases


def summary(*runs, environment=None):
    """(exit status, lines) of what it prints of these runs."""
    with tempfile.TemporaryDirectory(prefix="aflame-summary-") as build:
        os.mkdir(build + "/meson-logs")
        with open(build + "/meson-logs/testlog.json", "w", encoding="utf-8") as log:
            log.writelines(json.dumps(run) + "\n" for run in runs)
        done = subprocess.run(
            [os.path.join(HERE, "summary"), build],
            stdout=subprocess.PIPE,
            env=dict(os.environ, **(environment or {})),
        )
    return done.returncode, done.stdout.decode(errors="replace").splitlines()


def run(name, stdout, result="FAIL", returncode=1, stderr=""):
    return dict(name=name, stdout=stdout, result=result, returncode=returncode, stderr=stderr)


@case("a failed case is followed by why it failed, and by no other case's lines")
def _():
    text = "1..3\nok 1 - one\n# of one\nnot ok 2 - two\n#   is 5, not 6\n# b.c:7\nok 3 - three\n# x\n"
    status, lines = summary(run("t", text))
    wanted = ["failed: t: two", "#   is 5, not 6", "# b.c:7", "2 passed, 1 failed, 0 skipped"]
    equal((status, lines), (1, wanted))


@case("what failed cases say is bounded: 40 lines, and 2000 characters of each")
def _():
    reported = ["# " + "y" * 5000] + ["# line %d" % i for i in range(99)]
    _, lines = summary(run("t", "\n".join(["1..1", "not ok 1 - long"] + reported)))
    equal(lines[1], "# " + "y" * 1998 + " [3002 more characters]")
    equal(lines[40:], ["# line 38", "#   [60 more lines]", "0 passed, 1 failed, 0 skipped"])


@case("a program that fails beside its cases shows the end of what it printed")
def _():
    text = "1..2\nok 1 - one\n"
    errors = "".join("line %d\n" % i for i in range(100))
    status, lines = summary(run("t", text, "ERROR", -11, errors + "Segmentation fault\n"))
    equal((status, lines[0]), (1, "failed: t (error)"))
    equal((len(lines), lines[40]), (42, "#   Segmentation fault"))


@case("a skip that cmocka calls not ok is none that failed")
def _():
    status, lines = summary(run("t", "1..2\nok 1 - a\nnot ok 2 # SKIP b\n# no GPU\n", "FAIL", 0))
    equal((status, lines), (0, ["skipped: t: b", "1 passed, 0 failed, 1 skipped"]))


@case("characters that the terminal has not do not end it")
def _():
    text = "1..1\nnot ok 1 - a\n#   is '\u2714\udcff'\n"
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "utf-8"}):
        status, lines = summary(run("t", text), environment=environment)
        equal((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        expect("udcff" in lines[1], "it printed %r" % lines)


run_cases()
