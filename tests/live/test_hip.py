#!/usr/bin/env python3
"""Calls of AMD's HIP on the installed libamdhip64.so, without a device as a rule: all are in the trace, as often as they
were made, with their arguments, errors and stacks. tests/api/coverage calls every function, on a mock."""

import json
import os

from machine import PROGRAMS, Skip, program
from recording import must, record
from tap import case, equal, expect, run_cases

CALLS = {"hipMalloc": 1, "hipLaunchKernel": 5, "hipDeviceSynchronize": 3}


def recorded(*options):
    if not os.path.exists(os.path.join(PROGRAMS, "hip_calls")):
        raise Skip("no HIP here (apt install libamdhip64-dev)")
    return record(program("hip_calls"), options=options)


def failed_of(run):
    """What the program counted."""
    return {name: int(n) for name, n in (line.split() for line in run.stdout.decode().splitlines())}


def names_of(run):
    """Of each address in a stack, the function that it is in."""
    strings = {f["string"]: f["text"] for f in run.fields("string")}
    return {f["address"]: strings[f["frames"][0]] for f in run.fields("symbol") if f["frames"]}


def check_calls(run):
    failed = failed_of(run)
    equal(set(failed), set(CALLS), "what the program says")
    for name, n in CALLS.items():
        calls = run.fields(name)
        equal(len(calls), n, "calls of %s" % name)
        equal(sum("FAILED" in c["flags"] for c in calls), failed[name], "of them failed")
        expect(all(c["duration_ns"] > 0 for c in calls), "a call without a time")


@case("calls of a program that is linked with HIP are recorded without an option; those that failed are counted")
def _():
    run = recorded()
    check_calls(run)
    tables = {t["name"]: t["rows"] for t in json.loads(must("tally", "--json", run.path))["tables"]}
    rows = {r["function"]: r for r in tables["api"]}
    for name, n in failed_of(run).items():
        equal((rows[name]["calls"], rows[name]["failed"]), (CALLS[name], n), name)
    expect("calls alone, no times of kernels" in must("report", run.path), "the report does not say that kernels lack")


@case("each launch has the stack that it came by, and its arguments")
def _():
    run = recorded("--api", "hip")
    check_calls(run)
    names = names_of(run)
    stacks = {f["stack"]: f["pcs"] for f in run.fields("stack")}
    paths = {f["callpath"]: stacks[f["stack"]] for f in run.fields("callpath")}
    for call in run.fields("hipLaunchKernel"):
        frames = [names.get(pc, "?") for pc in paths[call["callpath"]]]
        equal(frames[:3], ["launch", "outer", "main"], "the callers")
        args = call["args"]
        equal((args["numBlocks"], args["dimBlocks"]), ({"x": 1, "y": 1, "z": 1}, {"x": 64, "y": 2, "z": 1}), "sizes")
    equal(run.fields("hipMalloc")[0]["args"]["size"], 4096, "bytes")


@case("by --api none, and by another API's name, nothing of HIP is recorded")
def _():
    for apis in "none", "mpi":
        run = recorded("--api", apis)
        equal({name: run.counts().get(name, 0) for name in CALLS}, dict.fromkeys(CALLS, 0), "--api " + apis)
        equal(set(failed_of(run)), set(CALLS), "what the program says")


run_cases()
