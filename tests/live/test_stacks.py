#!/usr/bin/env python3
"""Stacks and names where code is moved, made at run time, called very deep, or has no symbols."""

import json

from machine import SAMPLERS, any_sampler, need_tool, program
from recording import must, new_path, record
from shares import having, weight_of
from tap import case, equal, expect, near, note, run_cases

RATE = {"perf": 997, "timer": 997}
MAIN = ("_start", "main")


def for_samplers(sentence):
    """A case for each sampler, whose function takes the sampler."""

    def add(function):
        for sampler in SAMPLERS:
            case("%s: %s" % (sampler, sentence), tries=3)(lambda s=sampler: function(s))
        return function

    return add


def findings(recording):
    """{kind: row} of the trace's findings, rows by the titles of their columns."""
    table = json.loads(must("report", "findings", "-n", "0", "--json", recording.path))["tables"][0]
    titles = [column["title"] for column in table["columns"]]
    return {row[1]: dict(zip(titles, row)) for row in table["rows"]}


@for_samplers("code that is mapped a second time, or was moved, keeps its names and callers")
def _(sampler):
    recording = record(program("moved_code"), sampler=sampler, rate=RATE[sampler])
    whole = sum(recording.truth.values())
    stacks = recording.stacks()
    total = sum(weight for _, weight in stacks)
    for name in ("spin_again", "spin_moved"):
        part = weight_of(stacks, having(*MAIN, "run_for", name)) / total
        near(part, recording.truth[name] / whole, 0.05, name)
    unknown = weight_of(stacks, lambda f: any(x.startswith("[unknown") for x in f))
    equal(unknown, 0, "time in addresses of no mapping")


@for_samplers("code that is made at run time is called that, and the finding counts it")
def _(sampler):
    recording = record(program("moved_code"), sampler=sampler, rate=RATE[sampler])
    stacks = recording.stacks()
    made = weight_of(stacks, lambda f: f[-1] == "[jit: no map]")
    part = recording.truth["made"] / sum(recording.truth.values())
    near(made / sum(weight for _, weight in stacks), part, 0.05, "what was made at run time")
    row = findings(recording).get("jit-nameless")
    expect(row, "no finding of code without a map")
    equal(row["At most"], made, "its time")
    expect("moved_code" in row["Finding"], row["Finding"])


@case("node: no address is without a mapping, with its map of names and without", tries=2)
def _():
    node = need_tool("node")
    script = new_path("sorts") + ".js"
    with open(script, "w", encoding="utf-8") as file:
        file.write(
            "const end = Date.now() + 700; let s = 0;\n"
            "while (Date.now() < end) { const a = [];\n"
            "  for (let i = 0; i < 20000; i++) a.push((i * 7919) % 10007);\n"
            "  a.sort(); s += a.map(String).join().length; }\n"
        )
    for options in ([], ["--perf-basic-prof"]):
        recording = record(node, *options, script, sampler=any_sampler(), rate=997, quiet=False)
        stacks = recording.stacks()
        total = sum(weight for _, weight in stacks)
        unknown = weight_of(stacks, lambda f: any(x.startswith("[unknown") for x in f))
        builtin = weight_of(stacks, lambda f: any(x.startswith("Builtin") for x in f))
        note("%s: %.3f in builtins" % (options, builtin / total))
        expect(unknown <= 0.01 * total, "%.3f in no mapping" % (unknown / total))
        expect(builtin > 0.2 * total, "only %.3f is below builtins" % (builtin / total))


@case("java: code of its compiler is told apart, and the finding names java's options", tries=2)
def _():
    java = need_tool("java")
    source = new_path("Busy") + ".java"
    with open(source, "w", encoding="utf-8") as file:
        file.write(
            "public class Busy { public static void main(String[] a) { long end = System.nanoTime()"
            " + 1500000000L; long s = 0; while (System.nanoTime() < end) for (int i = 0; i < 100000;"
            " i++) s = s * 31 + (s >> 7) + i; System.out.println(s); } }\n"
        )
    recording = record(java, source, sampler=any_sampler(), rate=997, quiet=False)
    stacks = recording.stacks()
    total = sum(weight for _, weight in stacks)
    made = weight_of(stacks, lambda f: f[-1] == "[jit: no map]")
    note("%.2f of the time is in code of the compiler" % (made / total))
    expect(made > 0.1 * total, "only %.2f in code made at run time" % (made / total))
    expect(weight_of(stacks, lambda f: f[-1].startswith("[unknown")) < 0.01 * total, "unknown")
    expect("PreserveFramePointer" in findings(recording)["jit-nameless"]["What usually helps"], "")


run_cases()
