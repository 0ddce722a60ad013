#!/usr/bin/env python3
"""Differences of recordings whose difference is known: the same program, twice as long, built
another way, and by the steps that it tells of."""

import json

from cuda_work import cuda_run
from machine import SAMPLERS, need, program
from recording import aflame, must, new_path, parse_folded, record
from tap import case, equal, expect, near, note, run_cases


def sampled(name="shares", scale="0.5"):
    sampler = "perf" if "perf" in SAMPLERS else SAMPLERS[0]
    need(sampler)
    return record(program(name), scale, sampler=sampler)


def tables(before, after, *options):
    text = must("diff", before.path, after.path, "--json", "-n", "0", "--all", *options)
    return {t["name"]: t["rows"] for t in json.loads(text)["tables"]}


def functions(before, after, *options):
    return {row["function"]: row for row in tables(before, after, *options)["functions"]}


def total(run, *options):
    return sum(weight for _, weight in parse_folded(must("flame", *options, run.path)))


@case("a program that runs twice as long has grown, and by shares has not", tries=3)
def _():
    once, twice = sampled(), sampled(scale="1")
    rows = functions(once, twice, "--view", "cpu")
    for name in "abc":
        row = rows[name]
        equal(row["self"], "grew", name)
        near(row["self_after"] / row["self_before"], 2, 0.5, "how much more of " + name)
        expect(row["self_noise"] < row["self_change"], "noise of %s is less than its change" % name)
    shares = functions(once, twice, "--view", "cpu", "--normalize", "total")
    for name in "abc":
        row = shares[name]
        near(row["self_change_percent"], 0, 5, "change of the share of %s, in %%" % name)
    all_of = tables(once, twice, "--view", "cpu")["total"][0]
    equal(all_of["before"], total(once, "--view", "cpu"), "before")
    equal(all_of["after"], total(twice, "--view", "cpu"), "after")
    equal(
        sum(row["self_change"] for row in rows.values()),
        all_of["change"],
        "sum of the changes of functions",
    )
    failed = aflame("diff", once.path, twice.path, "--fail-above", "20%")
    equal(failed.returncode, 3, "status of a gate that does not hold")
    must("diff", once.path, twice.path, "--fail-above", "20%", "--normalize", "total")
    note("noise of all: %d of %d ns" % (all_of["noise"], all_of["before"]))


@case("another build is another program of the same functions", tries=3)
def _():
    one, other = sampled(), sampled("shares_O0")
    found = tables(one, other, "--view", "cpu", "--normalize", "total")
    names = {row["path"].split(";")[-1] for t in ("new", "vanished") for row in found[t]}
    for name in ("main", "run", "a", "b", "c"):
        expect(name not in names, "%s is a path of one build alone" % name)
    roots = [row for row in found["functions"] if row["kind"] == "process"]
    equal([row["function"] for row in roots], ["shares_O0"], "processes")


@case("two counts a line are those of both traces", tries=3)
def _():
    once, again = sampled(), sampled()
    path = new_path("two") + ".folded"
    must("diff", once.path, again.path, "--view", "cpu", "-o", path)
    with open(path, encoding="utf-8") as f:
        lines = [line.rsplit(" ", 2) for line in f]
    equal(sum(int(line[1]) for line in lines), total(once, "--view", "cpu"), "before")
    equal(sum(int(line[2]) for line in lines), total(again, "--view", "cpu"), "after")
    must("diff", once.path, again.path, "--view", "cpu", "-o", new_path("diff") + ".svg")
    must("diff", once.path, again.path, "-o", new_path("diff") + ".html")


@case("steps are counted where the program tells of them, and device work has no noise")
def _():
    run = cuda_run("nvtx_ranges")
    found = tables(run, run, "--view", "gpu", "--step", "step")
    equal([found["total"][0][k] for k in ("change", "noise", "normalized_by")], [0, 0, "step"], "all")
    done = aflame("diff", run.path, run.path, "--step", "epoch")
    equal(done.returncode, 1, "status without such a step")
    expect("epoch" in done.stderr, done.stderr)


run_cases()
