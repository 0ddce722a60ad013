#!/usr/bin/env python3
"""What calls of APIs cost by their use: programs that do each of it, and count how often they did."""

import json

from cuda_work import cuda_run, truth_of
from machine import need, program
from recording import must, record
from tap import case, equal, expect, note, run_cases


def table(run, report, name):
    for found in json.loads(must("report", report, "-n", "0", "--json", run.path))["tables"]:
        if found["name"] == name:
            return found["rows"]
    return []


def uses(run):
    """{(kind, function, caller): row}; the findings have the same times."""
    rows = table(run, "usage", "usage")
    found = {(row["kind"], row["time_ns"]) for row in table(run, "findings", "findings")}
    for kind in {row["kind"] for row in rows}:
        # Of a kind the first three are findings.
        for row in [row for row in rows if row["kind"] == kind][:3]:
            wanted = row["time_ns"] * 100 >= row["span_ns"]
            equal((kind, row["time_ns"]) in found, wanted, "a finding on %s" % row)
    for row in rows:
        note("%(kind)s: %(calls)d of %(of_calls)s %(function)s by %(caller)s, %(time_ns)d ns" % row)
    return {(row["kind"], row["function"], row["caller"]): row for row in rows}


def recorded_ns(run, function):
    """The time in its calls, by another report."""
    return sum(row["time_ns"] for row in table(run, "summary", "calls") if row["function"] == function)


# On a busy machine steps may be so uneven that there is no steady part: these cases have three tries.
def in_steps(row, run, each, what):
    """As often as the steady part has steps, where these are known."""
    steady = [phase for phase in table(run, "summary", "phases") if phase["phase"] == "steady"]
    if steady and steady[0]["steps"]:
        # A step begins with its first launch, so what is done before that is in the step before.
        expect(abs(row["calls"] - each * steady[0]["steps"]) <= each,
               "%s: %d calls in %d steps" % (what, row["calls"], steady[0]["steps"]))  # fmt: skip
    else:
        note("no steps were found")


@case("OpenCL: each use that costs is found as often as the program did it", tries=3)
def _():
    need("opencl")
    run = record(program("cl_misuses"), options=["--api", "opencl:full", "--api-stacks"])
    found, truth = uses(run), run.truth
    copies = found["host-copies", "clEnqueueReadBuffer", "read_back"]
    equal((copies["calls"], copies["bytes"]), (truth["calls.read_back"], truth["bytes.read_back"]), "copies")
    equal(copies["time_ns"], recorded_ns(run, "clEnqueueReadBuffer"), "their time")
    again = found["needless-waits", "clFinish", "finish_again"]
    # One may have been kept from its CPU, and then took long.
    expect(truth["calls.finish_again"] - 2 <= again["calls"] <= truth["calls.finish_again"], "needless waits: %s" % again)
    each = found["waits-each", "clFinish", "wait_for_each"]
    equal((each["calls"], each["of_calls"]), (truth["calls.wait_for_each"],) * 2, "waits for each")
    if truth["polled.loops"]:
        polls = found["polling", "clGetEventInfo", "poll_event"]
        equal((polls["calls"], polls["loops"]), (truth["polled.calls"], truth["polled.loops"]), "queries")
    for kind, function, caller in (("steady-allocations", "clCreateBuffer", "cl_buffer"),
                                   ("steady-allocations", "clReleaseMemObject", "allocate_each"),
                                   ("late-loading", "clBuildProgram", "build_each")):  # fmt: skip
        row = found.get((kind, function, caller))
        if row:
            expect(row["calls"] <= truth["steps"], "%s more often than there are steps: %s" % (function, row))
            in_steps(row, run, 1, function)
    expect(("late-loading", "clBuildProgram", "build_each") in found, "no steady part")


@case("CUDA: each use that costs is found as often as the program did it", tries=3)
def _():
    run = cuda_run("cuda_misuses", options=["--api", "cuda:full", "--api-stacks"])
    found, truth = uses(run), truth_of(run)
    copies = found["pageable-copies", "cudaMemcpy", "copy_pageable"]
    equal((copies["calls"], copies["bytes"], copies["driver"]),
          (truth["copy_pageable"], 4096 * truth["copy_pageable"], "cuMemcpyHtoD_v2"), "copies")  # fmt: skip
    expect(not [key for key in found if key[2] == "copy_pinned"], "pinned memory: %s" % sorted(found))
    again = found["needless-waits", "cuStreamSynchronize", "wait_again"]
    expect(truth["wait_again"] - 2 <= again["calls"] <= truth["wait_again"], "needless waits: %s" % again)
    each = found["waits-each", "cuStreamSynchronize", "wait_for_each"]
    equal((each["calls"], each["of_calls"]), (truth["wait_for_each"],) * 2, "waits for each")
    polls = found["polling", "cuEventQuery", "poll_event"]
    equal((polls["calls"], polls["loops"]), (truth["polled.calls"], truth["polled.loops"]), "queries")
    for kind, function, caller in (("steady-allocations", "cudaMalloc", "allocate_each"),
                                   ("steady-allocations", "cudaFree", "allocate_each"),
                                   ("late-loading", "cuModuleLoadData", "load_each")):  # fmt: skip
        in_steps(found[kind, function, caller], run, 1, function)


@case("CUDA without arguments: copies, allocations, loads and waits for each are found as well", tries=3)
def _():
    run = cuda_run("cuda_misuses")
    found, truth = uses(run), truth_of(run)
    equal(found["host-copies", "cudaMemcpy", "copy_pageable"]["calls"], truth["copy_pageable"], "copies")
    equal(found["waits-each", "cuStreamSynchronize", "wait_for_each"]["calls"], truth["wait_for_each"], "waits for each")
    for kind, function, caller in (("steady-allocations", "cudaMalloc", "allocate_each"),
                                   ("late-loading", "cuModuleLoadData", "load_each")):  # fmt: skip
        in_steps(found[kind, function, caller], run, 1, function)


@case("CUDA: with the runtime's calls recorded too, tables of calls have each time once")
def _():
    plain, full = cuda_run("cuda_misuses"), cuda_run("cuda_misuses", options=["--api", "cuda:full"])
    for run in (plain, full):
        calls = {row["function"]: row for row in table(run, "summary", "calls")}
        expect(not [name for name in calls if name.startswith("cuda")], "the runtime's: %s" % sorted(calls))
        equal(calls["cuMemcpyHtoD_v2"]["calls"], truth_of(run)["copy_pageable"] * 3 // 2, "copies")
    reasons = [row["device"] for row in table(full, "gaps", "idle")]
    equal(len(reasons), len(table(plain, "gaps", "idle")), "devices")
    (device,) = table(full, "gaps", "idle")
    parts = sum(value for key, value in device.items() if key.endswith("_percent") and value and key not in (
        "busy_percent", "idle_percent"))  # fmt: skip
    note("shares of idle time and work: %s" % {k: v for k, v in device.items() if k.endswith("_percent")})
    expect(parts <= 202, "more than there is: %s" % parts)


run_cases()
