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

RANKS = 4


def generate(out, *options):
    """A set of generated ranks, and the truth about it."""
    command = [os.path.join(BUILD, "tests/bench/gen_set"), out, "--ranks", str(RANKS), "--hosts", "2"]
    done = subprocess.run([*command, "--bytes", "1000000", *options], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def made():
    out = new_path("set")
    return out, generate(out, "--straggler", "2")


def tables(*words):
    return {t["name"]: t["rows"] for t in json.loads(must(*words, "--json"))["tables"]}


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
    for words, keys, head in (([], [], "4 ranks"), (["--rank", "2"], ["R", "2", "enter"], "rank 2  cpu"),
                              (["--rank", "3"], [">"], "rank 3  cpu"), ([], ["R", "enter"], "4 ranks")):
        terminal.press(*keys).wait_for(head)
        row = tables("report", "top", "--view", "cpu", *words, out)["time_top"][0]
        shown, function = first_row(terminal)
        equal(function, row["function"], "the first function of %s" % head)
        equal("%.3f ms" % (row["self"] / 1e6), shown, "its time in %s" % head)
        heads.append(shown)
    equal(heads[0], heads[3], "all ranks, before and after")
    terminal.press("R", "9", "9", "enter").wait_for("no rank 99")
    terminal.press("q")


def folded_total(*words):
    return sum(int(line.rsplit(" ", 1)[1]) for line in must(*words).splitlines())


def files_of(folder):
    total = 0
    for name in must("flamescope", "--interval", "500ms", "-o", folder + ".folded", made()[0]).split():
        with open(name, encoding="utf-8") as file:
            total += sum(int(line.rsplit(" ", 1)[1]) for line in file)
    return total


@case("flamescope's map of a set has what those of its ranks have, and parts of its time add up to it")
def _():
    out, truth = made()
    for view, key in (("cpu", "count"), ("gpu", "time_ns")):
        whole = tables("flamescope", "--view", view, out)
        single = [tables("flamescope", "--view", view, "--rank", str(i), out) for i in range(RANKS)]
        equal(sum(row[key] for row in whole["heat"]), sum(row[key] for one in single for row in one["heat"]), view)
    # All begin at one time, on clocks that are far apart.
    longest = max(one["heat_about"][0]["to_ns"] for one in single)
    expect(abs(truth["clocks"][1]["offset_begin_ns"]) > 10e6, truth["clocks"])
    expect(abs(whole["heat_about"][0]["to_ns"] - longest) < 5e6, (whole["heat_about"], longest))
    equal(files_of(new_path("part")), folded_total("flame", "--view", "cpu", out), "time of all parts")


run_cases()
