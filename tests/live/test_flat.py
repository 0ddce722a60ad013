#!/usr/bin/env python3
"""The flat profile: shares, lines and names, held against what programs know and addr2line says."""

import json
import os
import re
import subprocess

from machine import any_sampler, need_tool, program
from recording import RATES, must, record
from tap import case, equal, expect, near, run_cases

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def flat(recording, *words):
    """{name of a table: its rows} of report flat, all of them."""
    document = json.loads(must("report", "flat", "-n", "0", "--json", *words, recording.path))
    equal(document["report"], "flat", "the report")
    return {table["name"]: table["rows"] for table in document["tables"]}


def of_function(rows, name):
    """The row of the function that the program has under this name; there is one."""
    found = [row for row in rows if row["name"] == name]
    equal(len(found), 1, "rows of %s" % name)
    return found[0]


def defined_at(source, function):
    """The line of SOURCE on which the function's definition names it, and the macro that defines it."""
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = [i + 1 for i, line in enumerate(lines) if re.match(r"(APART|INLINED|int) .*\b%s\(.*[^;]$" % function, line)]
    equal(len(found), 1, "definitions of %s in %s" % (function, source))
    return found[0]


def sampled_addresses(recording):
    """{address in the program's file: [(function, file, line)], innermost first} of the trace's symbols."""
    texts = {e["string"]: e["text"] for e in recording.fields("string")}
    found = {}
    for e in recording.fields("symbol"):
        if e["source"] == "DWARF" and texts.get(e["module"], "").startswith(SOURCES_BUILT):
            frames = e["frames"]
            found[int(e["offset"], 16)] = [
                (texts[frames[i]], texts.get(frames[i + 1], ""), frames[i + 2]) for i in range(0, len(frames), 3)
            ]
    return found


SOURCES_BUILT = os.path.dirname(program("shares"))


@case("shares of three functions, and where they are", tries=3)
def _():
    sampler = any_sampler()
    recording = record(program("shares"), sampler=sampler)
    tables = flat(recording)
    for name in "abc":
        row = of_function(tables["flat"], name)
        near(row["self_share"] / 100, recording.truth["share." + name], 0.02, name)
        equal(row["line"], defined_at("shares.c", name), "the line of %s" % name)
        equal(row["function"], "%s (shares.c:%d)" % (name, row["line"]), "how %s is shown" % name)
    expect(of_function(tables["flat"], "main")["total_share"] > 95, "main is in nearly all stacks")
    head = tables["sampling"][0]
    equal(head["samples"], sum(row["samples"] for row in tables["flat"]), "samples of all functions")
    expect(head["samples"] > 100, "%d samples" % head["samples"])
    near(head["rate_hertz"], RATES[sampler], 1, "the requested rate")
    # Of user mode alone there may be more: the interrupts that take samples are the kernel's time, a tenth at this rate.
    expect(0 < head["achieved_hertz"] < 1.3 * RATES[sampler], "%s a second" % head["achieved_hertz"])
    equal(head["dropped"], sum(row["count"] for row in tables["dropped"]), "dropped samples by reason")


@case("a stripped program has the starts of its functions, and offsets", tries=3)
def _():
    recording = record(program("shares_stripped"), sampler=any_sampler())
    rows = [row for row in flat(recording)["flat"] if row["module"] == "shares_stripped" and row["self_share"] > 5]
    equal(len(rows), 3, "functions with a share of their own")
    for row, share in zip(rows, (0.6, 0.3, 0.1)):
        near(row["self_share"] / 100, share, 0.03, row["function"])
        shown = re.fullmatch(r"shares_stripped!fn_([0-9a-f]+)\+0x([0-9a-f]+)", row["function"])
        expect(shown, row["function"])
        equal(int(shown.group(1), 16) + int(shown.group(2), 16), row["address"], "start and offset")
        equal(row["line"], None, "its line")


@case("inlined functions are functions, and each line is the one that addr2line has", tries=3)
def _():
    addr2line = need_tool("addr2line")
    recording = record(program("inlined"), sampler=any_sampler())
    rows = flat(recording)["flat"]
    for name, kind, cumulative in (("inner", "inlined", 0.5), ("middle", "inlined", 0.8), ("outer", "native", 1)):
        row = of_function(rows, name)
        near(row["self_share"] / 100, recording.truth["share." + name], 0.03, name)
        near(row["total_share"] / 100, cumulative, 0.03, "%s, cumulative" % name)
        equal(row["kind"], kind, name)
        equal(row["line"], defined_at("inlined.c", name), "the line of %s" % name)
    addresses = sampled_addresses(recording)
    expect(len(addresses) > 5, "%d addresses" % len(addresses))
    command = [addr2line, "-i", "-f", "-a", "-e", program("inlined"), *map(hex, addresses)]
    output = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    judged = {}
    for part in re.split(r"^0x", output, flags=re.M)[1:]:
        lines = part.splitlines()
        places = [re.match(r"(.*):(\d+|\?)", place).groups() for place in lines[2::2]]
        judged[int(lines[0], 16)] = [
            (function, os.path.basename(file), int(line) if line != "?" else 0)
            for function, (file, line) in zip(lines[1::2], places)
        ]
    for address, frames in addresses.items():
        equal([(f, os.path.basename(p), line) for f, p, line in frames], judged[address], hex(address))
    # Lines of the report are innermost ones of these.
    innermost = {(frames[0][0], frames[0][2]) for frames in addresses.values()}
    lines = [row for row in flat(recording, "--lines")["lines"] if row["location"].startswith("inlined.c:")]
    expect(sum(row["self_share"] for row in lines) > 80, "lines of inlined.c: %s" % lines)
    for row in lines:
        expect((row["function"], row["line"]) in innermost, "%(function)s, line %(line)d" % row)


@case("a recursive function counts once a stack", tries=3)
def _():
    rows = flat(record(program("recursion"), sampler=any_sampler()))["flat"]
    near(of_function(rows, "descend")["total_share"] / 100, 0.5, 0.03, "descend")
    expect(max(row["total_share"] for row in rows) <= 100, "a share of more than all")
    expect(of_function(rows, "descend")["samples"] > 50, "samples of descend")


run_cases()
