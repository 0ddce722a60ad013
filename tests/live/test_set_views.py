#!/usr/bin/env python3
"""Every view of a set answers for all of its ranks, and names those that it cannot read."""

import functools
import json
import os
import re
import subprocess

from machine import AFLAME, BUILD
from recording import must, new_path
from tap import case, equal, expect, run_cases
from terminal import Terminal

RANKS = 6


def generate(out, *options):
    """A set of generated ranks, and the truth about it."""
    command = [os.path.join(BUILD, "tests/bench/gen_set"), out, "--ranks", str(RANKS), "--hosts", "2"]
    done = subprocess.run([*command, "--bytes", "60000", *options], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def made():
    out = new_path("set")
    return out, generate(out, "--straggler", "2")


def tables(*words):
    return {t["name"]: t["rows"] for t in json.loads(must(*words, "--json", "-n", "0"))["tables"]}


def first_row(terminal):
    """Self and function of the first row of Top."""
    found = re.match(r" *([\d.]+ \w+) +[\d.]+ % .* % \w+ +(\S+)", terminal.lines()[3])
    expect(found, "no row:\n" + terminal.text())
    return found[1], found[2]


@case("tui shows all ranks together, or the one that is chosen, as the reports do")
def _():
    out, _ = made()
    terminal = Terminal([AFLAME, "tui", "--view", "cpu", out], columns=110)
    terminal.wait_for(r"%d ranks  cpu by CPU time" % RANKS)
    heads = []
    for words, keys, head in (([], [], "6 ranks"), (["--rank", "2"], ["R", "2", "enter"], "rank 2  cpu"),
                              (["--rank", "3"], [">"], "rank 3  cpu"), ([], ["R", "enter"], "6 ranks")):
        terminal.press(*keys).wait_for(head)
        row = tables("report", "top", "--view", "cpu", *words, out)["time_top"][0]
        shown, function = first_row(terminal)
        equal(function, row["function"], "the first function of %s" % head)
        equal("%.3f ms" % (row["self"] / 1e6), shown, "its time in %s" % head)
        heads.append(shown)
    equal(heads[0], heads[3], "all ranks, before and after")
    terminal.press("R", "9", "9", "enter").wait_for("no rank 99")
    terminal.press("q")


run_cases()
