"""Calls of functions as gdb counts them, by breakpoints that never stop: a witness of --uprobe."""

import os
import re
import subprocess

from machine import need_tool
from tap import Skip

PYTHON = "/usr/bin/python3"


def python_script(text):
    """A command of the distribution's Python that runs @text; skips the case where there is none."""
    if not os.path.exists(PYTHON):
        raise Skip("no %s" % PYTHON)
    return PYTHON, "-c", text


def gdb_counts(functions, command):
    """How often @command calls each of @functions; skips the case where gdb cannot count."""
    need_tool("gdb")
    words = ["gdb", "-q", "-batch", "-nx", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"]
    for function in functions:
        words += ["-ex", "break " + function]
    for number, _ in enumerate(functions, 1):
        words += ["-ex", "ignore %d 1000000" % number]
    words += ["-ex", "run", "-ex", "info breakpoints", "--args", *command]
    reported = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=120, check=False).stdout.decode()  # fmt: skip
    hits = [int(n) for n in re.findall(r"already hit (\d+) time", reported)]
    if len(hits) != len(functions):
        raise Skip("gdb cannot count them here: %s" % " ".join(reported.split())[-200:])
    return hits
