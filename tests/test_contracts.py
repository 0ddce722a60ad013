#!/usr/bin/env python3
"""tests/contracts and tests/comments, on small trees that are right and wrong.

    test_contracts.py BUILD [WORDS]"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "live"))

from tap import case, equal, expect, run_cases

HEAD = "/* A file of some use. */\n"


def lint(script, style="ReflowComments: false\n", **files):
    """(exit status, complaints) of SCRIPT on a tree of these files, `__` for a slash, `_h` for `.h`."""
    with tempfile.TemporaryDirectory(prefix="aflame-contracts-") as root:
        os.mkdir(os.path.join(root, "src"))
        with open(os.path.join(root, ".clang-format"), "w", encoding="utf-8") as to:
            to.write(style)
        for name, text in files.items():
            stem, kind = name.replace("__", "/").rsplit("_", 1)
            with open(os.path.join(root, "src", f"{stem}.{kind}"), "w", encoding="utf-8") as to:
                to.write(text)
        done = subprocess.run([os.path.join(HERE, script), root], stdout=subprocess.PIPE, text=True)
    return done.returncode, [line[2:] for line in done.stdout.splitlines() if line.startswith("# ")]


@case("prototypes with a comment above, at their end, or for their group are fine")
def _():
    text = HEAD + ("/* Opens it. */\nint a_open(int fd);\nvoid a_close(void);\n\n"
                   "void a_free(struct a *a); /* a zeroed one is fine */\n\n"
                   "static inline int a_add(int b)\n{\n\tint c = f(b);\n\treturn c;\n}\n\n"
                   "typedef void a_take(void *arg);\nextern int a_nr;\n#define A_CALL(x) \\\n\ta_open(x);\n")
    equal(lint("contracts", a_h=text, a_c="#include <a.h>\n"), (0, []), "what it says")


@case("a prototype without a comment is named, with file and line")
def _():
    text = HEAD + "/* Opens it. */\nint a_open(int fd);\n\nint a_read(int fd,\n           char *to);\n"
    status, lines = lint("contracts", a_h=text)
    equal((status, lines), (1, ["src/a.h:5: a_read() has no contract"]), "what it says")


@case("a prototype inside extern \"C\" needs one, too")
def _():
    text = HEAD + "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nint a_open(int fd);\n\n#ifdef __cplusplus\n}\n#endif\n"
    equal(lint("contracts", a_h=text), (1, ["src/a.h:6: a_open() has no contract"]), "what it says")


@case("a comment of a member is no contract of the function after the struct")
def _():
    text = HEAD + "struct a {\n\tint b; /* of it */\n};\n\nint a_open(int fd);\n"
    equal(lint("contracts", a_h=text)[0], 1, "status")


@case("a file without a head is named, unless the header of its name has one")
def _():
    proto = "\n/* Opens it. */\nint a_open(int fd);\n"
    status, lines = lint("contracts", a_h=HEAD + proto, a_c="int x;\n", b_c="int y;\n")
    equal((status, len(lines)), (1, 1), "status and complaints")
    expect(lines[0].startswith("src/b.c:1: "), f"the file is named: {lines}")


@case("comments that keep their layout are fine, also with code that begins with *")
def _():
    text = "/*\n * A table:\n *\n *\ta\tb\n */\nvoid f(int *x)\n{\n\t*x = 1;\n}\n"
    equal(lint("comments", a_c=text), (0, []), "what it says")


@case("a comment line that was run together, or is too wide, is named")
def _():
    text = "/*\n * A table:\n *\ta\n *b\n */\nint x; /* " + "wide " * 20 + "*/\n"
    status, lines = lint("comments", a_c=text)
    equal(status, 1, "status")
    equal([line.split(": ")[0] for line in lines], ["src/a.c:4", "src/a.c:6"], "the lines")


@case("a .clang-format that reflows comments is an error")
def _():
    equal(lint("comments", style="ColumnLimit: 100\n", a_c=HEAD)[0], 1, "status")


run_cases()
