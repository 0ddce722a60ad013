#!/usr/bin/env python3
"""tests/one_of_each, on lines that come a second time and lines that do not.

    test_one_of_each.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases


def reported(line, path="render/a.c"):
    """What the script says of a tree of this line, without the plan and the verdict."""
    with tempfile.TemporaryDirectory(prefix="aflame-one-") as root:
        name = os.path.join(root, "src", path)
        os.makedirs(os.path.dirname(name))
        with open(name, "w", encoding="utf-8") as to:
            to.write("\n%s\n" % line)
        done = subprocess.run([os.path.join(HERE, "one_of_each"), root], stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()[2:]
    equal(done.returncode, 1 if lines else 0, "status")
    return lines


AGAIN = [
    ("notes", "size_t whole = sizeof n + n.n_namesz;", "unwind/notes.h"),
    ("notes by libelf", "while ((next = gelf_getnote(data, next, &note, &a, &b)))", "unwind/notes.h"),
    ("a decoder of LEB128", "\tv |= (uint64_t)(byte & 0x7f) << shift;", "base/leb128.h"),
    ("a decoder that counts", "\tfor (;; shift += 7)", "base/leb128.h"),
    ("an encoder", "\tfor (; v > 127; v >>= 7)", "base/leb128.h"),
    ("a tag of Protocol Buffers", "put(bytes, field << 3 | PB_VARINT);", "base/protobuf.h"),
    ("a clock", "clock_gettime(CLOCK_MONOTONIC, &t);", "base/system/clock.h"),
    ("nanoseconds", "return t.tv_sec * 1000000000 + t.tv_nsec;", "base/system/clock.h"),
    ("an array that doubles", "\tl->cap = l->cap ? l->cap * 2 : 256;", "base/arena.h"),
    ("a capacity of another name", "\tcap_tracks *= 2;", "base/arena.h"),
    ("a copy of text", "\tname = strdup(text);", "base/arena.h"),
    ("zeroed pages", "mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);", "base/pages.h"),
]

for what, line, where in AGAIN:

    @case(what + ", again, is named with file, line and what to use")
    def _(line=line, where=where):
        lines = reported(line)
        equal(len(lines), 1, "lines that are named")
        expect(lines[0].startswith("# src/render/a.c:2:") and where in lines[0], lines)
        equal(reported(line, where), [], "where it is at home")


@case("what uses them is fine")
def _():
    equal(reported("AF_GROW(a, nr, cap); af_xrealloc(a, n); x = cap ? cap : 1; {SYS_clock_gettime, 0},"), [], "what it says")


@case("what one file may, another may not")
def _():
    line = "MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED"
    equal(reported(line, "base/system/fs_map.c"), [], "where it may be")
    equal(len(reported(line, "base/system/fs.c")), 1, "beside it")


@case("an empty tree is not a right one")
def _():
    with tempfile.TemporaryDirectory(prefix="aflame-one-") as root:
        os.mkdir(os.path.join(root, "src"))
        done = subprocess.run([os.path.join(HERE, "one_of_each"), root], stdout=subprocess.DEVNULL)
    equal(done.returncode, 1, "status")


run_cases()
