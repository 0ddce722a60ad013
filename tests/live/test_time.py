#!/usr/bin/env python3
"""Time in reports of real runs: slices add up to trees, heat maps show what repeats itself, and
parts of a run add up to the whole."""

import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/time"))

from machine import any_sampler, need, program
from page import Page
from recording import must, new_path, record
from tap import case, equal, expect, near, note, run_cases


def page_of(run):
    path = new_path("report") + ".html"
    must("flame", "-o", path, run.path)
    with open(path, encoding="utf-8", errors="replace") as f:
        return Page(f.read())


def check_page(run, *views):
    page = page_of(run)
    equal(page.time["left_out"], 0, "left out")
    for view in views:
        slices = page.of_view(view)
        expect(len(slices) > 20, "%d slices of %s" % (len(slices), view))
        equal(sum(s.weight for s in slices), page.total(view, "time"), "time of " + view)
        expect(all(s.node > 1 for s in slices), "a slice has no node")
    note("%d tracks, %d bytes" % (len(page.tracks), len(page.text)))
    return page


def scope(run, *options):
    document = json.loads(must("flamescope", "--json", *options, run.path))
    return {table["name"]: table["rows"] for table in document["tables"]}


@case("bursts have their period, and their samples are in the map", tries=3)
def _():
    run = record(program("bursts"), sampler=any_sampler())
    page = check_page(run, "cpu")
    tables = scope(run)
    expect(len(tables["periods"]) == 1, "no period was found")
    (found,) = tables["periods"]
    near(found["period_ns"] / 1e6, run.truth["period_ms"], 3, "period in ms")
    expect(found["strength_percent"] > 35, "strength is %s" % found)
    equal(sum(r["count"] for r in tables["heat"]), page.total("cpu", "samples"), "samples")


@case("work of a device is on its tracks, and parts of the run have all of it")
def _():
    need("opencl")
    run = record(program("cl_paths"), "profile")
    page = check_page(run, "gpu")
    whole = page.total("gpu", "time")
    middle = page.time["span"] // 2
    parts = 0
    for piece in (["--to", "%dns" % middle], ["--from", "%dns" % middle]):
        tables = scope(run, "--view", "gpu", "--map", *piece)
        busy = sum(row["time_ns"] for row in tables["heat"])
        lines = must("flame", "--view", "gpu", *piece, run.path).splitlines()
        equal(sum(int(line.rsplit(" ", 1)[1]) for line in lines), busy, "flame graph of a part")
        parts += busy
    equal(parts, whole, "both parts")


run_cases()
