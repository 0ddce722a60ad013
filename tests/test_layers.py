#!/usr/bin/env python3
"""tests/layers, on trees with includes that are right and wrong.

    test_layers.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases


def layers(script=os.path.join(HERE, "layers"), **files):
    """(exit status, what it says beside the plan) of a tree of these files, `__` for a slash."""
    with tempfile.TemporaryDirectory(prefix="aflame-layers-") as root:
        os.mkdir(os.path.join(root, "src"))
        for name, text in files.items():
            path = os.path.join(root, "src", name.replace("__", "/") + ".c")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as to:
                to.write(text)
        done = subprocess.run([script, root], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout.splitlines()[1:]


@case("a room includes itself, what its line names and the system's folders")
def _():
    text = '#include <sys/stat.h>\n#include "trace/write/a.h"\n#include "base/buf.h"\n# include "trace/layout.h"\n'
    status, lines = layers(trace__write__a=text)
    equal((status, lines), (0, ["ok 1 - every include keeps to the rooms (1 files)"]), "what it says")


@case("a room that includes one above it is named, with file and line")
def _():
    status, lines = layers(base__a="\n#include <cmd/main.h>\n", trace__write__b='#include "trace/read/reader.h"\n')
    equal(status, 1, "status")
    expect("# src/base/a.c:2: base may not include cmd" in lines, lines)
    expect("# src/trace/write/b.c:1: trace/write may not include trace/read" in lines, lines)


@case("a room inside another is none of the other's")
def _():
    status, lines = layers(unwind__a='#include "sym/elf/symtab.h"\n', sym__elf__b='#include "sym/lines/lines.h"\n')
    equal(status, 1, "status")
    expect("# src/unwind/a.c:1: unwind may not include sym/elf" in lines, lines)
    expect("# src/sym/elf/b.c:1: sym/elf may not include sym/lines" in lines, lines)


@case("a folder without a line is named")
def _():
    status, lines = layers(base__a="", sym__cellar__b="")
    equal(status, 1, "status")
    equal(lines[1:], ["# src/sym/cellar/b.c: its folder is not a room of tests/layers"], "what it says")


@case("a public header that includes one of src is named")
def _():
    status, lines = layers(**{"..__include__aflame__a": '#include "base/buf.h"\n', "base__b": '#include "aflame/error.h"\n'})
    equal((status, lines[1:]), (1, ["# include/aflame/a.c:1: aflame may not include base"]), "what it says")


@case("a line that names a room below it, a circle, is named")
def _():
    with open(os.path.join(HERE, "layers"), encoding="utf-8") as script:
        text = script.read().replace("\nbase: aflame\n", "\nbase: cmd\n")
    with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as to:
        to.write(text)
    os.chmod(to.name, 0o700)
    status, lines = layers(script=to.name, base__a="")
    os.unlink(to.name)
    equal((status, lines[1:]), (1, ["# tests/layers: base may not name cmd, which is not above it"]), "what it says")


@case("an empty tree is not a right one")
def _():
    equal(layers()[0], 1, "status")


run_cases()
