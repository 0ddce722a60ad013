#!/usr/bin/env python3
"""tests/sizes, on a tree that is short and on one thing too long at a time.

    test_sizes.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases


def function(lines):
    return "static int f(int a)\n{\n" + "\ta++;\n" * lines + "}\n"


def complaints(files):
    """What the script prints about a tree of these FILES (name: text), without the plan and the verdict."""
    with tempfile.TemporaryDirectory(prefix="aflame-sizes-") as root:
        for name, text in files.items():
            path = os.path.join(root, "src", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as to:
                to.write(text)
        done = subprocess.run([os.path.join(HERE, "sizes"), root], stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()[2:]
    equal(done.returncode, 1 if lines else 0, "status")
    return lines


@case("what is as long as it may be is let pass")
def _():
    files = {"a/%d.c" % i: function(3) * 10 for i in range(24)}
    files["a/long.c"] = "\n" * (500 - 63) + function(60)
    equal(complaints(files), [], "lines that are named")


@case("a file, a function, a room that is longer is named with its length")
def _():
    short = {"b/%d.c" % i: function(3) * 10 for i in range(3)}
    for files, wanted in (({"a/x.c": "\n" * 501}, "# src/a/x.c: 501 lines"),
                          ({"a/x.c": function(61)}, "# src/a/x.c:2: f() has 61 lines"),
                          ({"a/%d.h" % i: "\n" for i in range(26)}, "# src/a: 26 files")):
        lines = complaints({**short, **files})
        equal(len(lines), 1, "lines that are named")
        expect(lines[0].startswith(wanted), lines)


@case("files and functions that are long in the middle are named")
def _():
    expect("half of the files" in "\n".join(complaints({"a/%d.c" % i: "\n" * 300 for i in range(3)})), "files")
    expect("a tenth of the functions" in "\n".join(complaints({"a/x.c": function(40) * 3})), "functions")


run_cases()
