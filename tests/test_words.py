#!/usr/bin/env python3
"""tests/words, on words that it knows and words that only look like them.

    test_words.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases


def complaints(path, line):
    """What the script prints about a tree of this line alone, without the plan and the verdict."""
    with tempfile.TemporaryDirectory(prefix="aflame-words-") as root:
        name = os.path.join(root, path)
        os.makedirs(os.path.dirname(name) or root, exist_ok=True)
        with open(name, "w", encoding="utf-8") as to:
            to.write("\n%s\n" % line)
        done = subprocess.run([os.path.join(HERE, "words"), root], stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()[2:]
    equal(done.returncode, 1 if lines else 0, "status")
    return lines


OLD = [
    ("a name", "src/render/a.c", "int af_doings_open(void);", "annotations"),
    ("part of a name", "src/collect/a.c", "\tstruct guest_list all;", "client"),
    ("a constant", "src/sym/a.h", "enum { BAKE_MAX = 3 };", "symbolize"),
    ("a comment", "src/base/a.c", "/* Only who knocks is let in. */", "fault injection"),
    ("a message", "src/cmd/a.c", '\tputs("it was told already");', "reported"),
    ("a document", "docs/a.md", "The door is closed.", "control socket"),
    ("a page's script", "viewer/a.js", "// the baked names", "symbolize"),
    ("a test in Python", "tests/live/a.py", "said = output()", "reported"),
    ("a comment without a subject", "src/sym/a.c", "/* What is left goes to the root. */", "a subject"),
    ("a name of one room", "src/analyse/a.c", "\tstruct af_query asked;", "query"),
]
NEW = [
    ("a comment that asks", "src/sym/a.c", "/* What is left? */"),
    ("a longer word", "src/render/a.c", "int indoor, baker, outside;"),
    ("a name that is right elsewhere", "src/inject/a.c", "\tbool asked;"),
    ("English in a comment", "src/analyse/a.c", "/* Within a second, the shape of the facts does not change. */"),
    ("things that are told apart", "docs/a.md", "Two functions of one name are told apart by their module."),
    ("perf's virtual machines", "src/exchange/perf/a.c", "/* A guest's kernel. */"),
    ("what a test's input has", "tests/golden/a/in.txt", "said the door"),
]

for what, path, line, instead in OLD:

    @case(what + " is named with file, line and the word to use")
    def _(path=path, line=line, instead=instead):
        lines = complaints(path, line)
        equal(len(lines), 1, "lines that are named")
        expect(lines[0].startswith("# %s:2:" % path) and "(use " in lines[0] and instead in lines[0], lines)


for what, path, line in NEW:

    @case(what + " is left alone")
    def _(path=path, line=line):
        equal(complaints(path, line), [], "lines that are named")


run_cases()
