#!/usr/bin/env python3
"""tests/again, with live cases that pass when they are reported to.

    test_again.py BUILD [WORDS]"""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases

# A live test of one case, which passes by the letters of a word, one a run: p or f.
PROGRAM = """
import os, sys
path = os.path.join(sys.argv[1], "runs")
with open(path) as runs:
    word = runs.read()
with open(path, "w") as runs:
    runs.write(word[1:])
print("1..1")
print(("ok" if word[:1] == "p" else "not ok") + " 1 - it holds")
print("#   why")
"""


def again(log, word=""):
    """(exit status, lines, letters left) of a run over a log of tests/summary's."""
    with tempfile.TemporaryDirectory(prefix="aflame-again-") as root:
        os.mkdir(root + "/live")
        shutil.copy(os.path.join(HERE, "again"), root)
        for name, text in {"live/test_odd.py": PROGRAM, "runs": word, "log": log}.items():
            with open(os.path.join(root, name), "w", encoding="utf-8") as to:
                to.write(text)
        done = subprocess.run([root + "/again", root, root + "/log"], stdout=subprocess.PIPE, text=True)
        with open(root + "/runs", encoding="utf-8") as runs:
            return done.returncode, done.stdout.splitlines(), runs.read()


FAILED = "skipped: x\nfailed: aflame:live / live_odd: it holds\n#   is 5, not 6\n1 passed, 1 failed, 1 skipped\n"


@case("what passes three times of three is unsteady")
def _():
    wanted = ["1..1", "ok 1 - live_odd: it holds, run again alone", "#   passed 3 of 3"]
    equal(again(FAILED, "pppp"), (0, wanted, "p"), "what it says")


@case("what fails once more has failed, with what it reported")
def _():
    status, lines, _ = again(FAILED, "ppf")
    wanted = ["1..1", "not ok 1 - live_odd: it holds, run again alone", "#   passed 2 of 3", "#   why"]
    equal((status, lines), (1, wanted), "what it says")


@case("unit and golden tests, and programs that failed as a whole, are not run again")
def _():
    log = "failed: aflame:unit / tree: it holds\nfailed: aflame:live / live_odd (timeout)\n"
    equal(again(log, "ppp"), (0, ["1..0"], "ppp"), "what it says")


@case("a case that is not there has not passed")
def _():
    status, lines, _ = again("failed: aflame:live / live_odd: it\n", "ppp")
    equal((status, lines[2]), (1, "#   passed 0 of 3"), "what it says")


@case("many are not run again")
def _():
    log = "".join("failed: aflame:live / live_odd: case %d\n" % i for i in range(9))
    status, lines, left = again(log, "p" * 27)
    equal((lines[-1], left), ("1..0", "p" * 27), "what it says")
    expect("9 live cases failed" in lines[0], lines)


run_cases()
