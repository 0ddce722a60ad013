#!/usr/bin/env python3
"""Calls of Level Zero with their arguments, by libaflame-ze.so, beside the tracing layer that records
device work: each call is there once, whoever else traces, and device times stay what they are. (All
functions, one by one: tests/api/coverage.)"""

import collections
import json
import os
import subprocess
import sys

from api_work import calls_of
from intel_driver import NO_HARDWARE, clean, spirv, vendors
from machine import BUILD, need, program
from recording import bare, must, new_path, record
from tap import Skip, case, equal, expect, run_cases

MOCK = os.path.join(BUILD, "tests/mock_ze/libmock_ze.so")
CALLS = ["--api", "ze:full"]
# The loader's functions that the hooks of device work are at (src/inject/ze/calls.h).
LAUNCH = "zeCommandListAppendLaunchKernel"
EXECUTE = "zeCommandQueueExecuteCommandLists"


def module(*names):
    path = new_path("module")
    with open(path, "w", encoding="utf-8") as file:
        file.write(" ".join(names))
    return path


def mocked(mode, knobs=None, options=(), name="ze_works", **how):
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK, **(knobs or {}))
    modules = (module("heavy"), module("light", "never", "refused"))
    words = (program(name), *((mode,) if mode else ()), *modules)
    run = record(*words, env=env, options=options, **how)
    plain = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False)
    equal(run.stdout, plain.stdout, "the output of the program, recorded")
    return run


def seen_by_hooks(run):
    """How many calls of each function the hooks of device work saw."""
    names = {
        (e["process"], e["fields"]["function"]): e["fields"]["name"] for e in run.events("function")
    }
    calls = run.events("call") + run.events("call_long")
    return collections.Counter(names[e["process"], e["fields"]["function"]] for e in calls)


def of(calls, names):
    return {n: c for n, c in collections.Counter(c.name for c in calls).items() if n in names}


def stacks(run, weight):
    found = collections.Counter()
    for frames, value in run.stacks(view="gpu", weight=weight):
        found[tuple(f if not f.startswith("[graph") else "[graph]" for f in map(bare, frames))] += value
    return found


@case("mock: each call that the hooks of device work see is recorded once, and instead of theirs")
def _():
    for mode in ("paths", "copies", "events", "spread", "contexts", "refused"):
        without, run = mocked(mode), mocked(mode, options=CALLS)
        hooked = seen_by_hooks(without)
        expect(hooked, "nothing was called in " + mode)
        equal(seen_by_hooks(run), {}, "calls that are recorded twice in " + mode)
        equal(of(calls_of(run, "ze"), hooked), dict(hooked), "calls of " + mode)


@case("mock: device times and their call paths are the same with all calls")
def _():
    for mode in ("paths", "copies", "spread", "contexts", "reload"):
        without, run = mocked(mode), mocked(mode, options=CALLS)
        for weight in ("count", "time"):
            a, b = stacks(without, weight), stacks(run, weight)
            expect(sum(a.values()), "no work in " + mode)
            equal(b, a, "%s of %s" % (weight, mode))


@case("mock: tally and flame agree on device time")
def _():
    run = mocked("paths", options=CALLS)
    flame = sum(w for _, w in run.stacks(view="gpu", weight="time"))
    equal(flame, 3 * 8000 + 80000 + 104000, "device time of the flame graph")
    tally = json.loads(must("tally", "--json", run.path))
    rows = [r for t in tally["tables"] if t["name"] == "kernels" for r in t["rows"]]
    busy = [r["time_ns"] for r in rows]
    equal(sum(busy), flame, "device time of the tally")


@case("mock: arguments, what they point to, and errors")
def _():
    calls = calls_of(mocked("paths", options=CALLS), "ze")
    (kernel,) = [c for c in calls if c.name == "zeKernelCreate"]
    equal(kernel.args["phKernel"] is not None and kernel.result, "ZE_RESULT_SUCCESS", "zeKernelCreate")
    launches = [c for c in calls if c.name == LAUNCH]
    expect(launches, "no launches")
    groups = {tuple(c.args["pLaunchFuncArgs"].values()) for c in launches}
    equal(groups, {(16, 3, 1)}, "groups")
    equal({c.depth for c in calls}, {0}, "depth")
    refused = [c for c in calls_of(mocked("refused", options=CALLS), "ze") if c.name == LAUNCH]
    expect([c for c in refused if c.flags == "FAILED" and c.result != "ZE_RESULT_SUCCESS"], refused)


@case("mock: a program that opens the loader itself")
def _():
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK)
    for words in ((), ("loader",)):
        command = (program("ze_dlsym"), *words)
        run = record(*command, env=env, options=CALLS)
        equal(run.truth, {"own_strdup": 1, "found": 0, "unknown": 0}, "what it found")
        names = [c.name for c in calls_of(run, "ze")]
        made = ["zeInit", "zeDriverGet", "zeDeviceGet", "zeContextCreate", "zeModuleCreate"]
        made += ["zeKernelCreate", "zeCommandListCreateImmediate", LAUNCH]
        equal(names, made if words else [], "its calls")
        equal(len(run.events("gpu_work")), len(words), "works")


LOOK_UP = """
import ctypes
loader, all_of_it = ctypes.CDLL("libze_loader.so.1"), ctypes.CDLL(None)
all_of_it.dlsym.restype = ctypes.c_void_p
all_of_it.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
for name in ("zeInit", "zeMemAllocHost", "zeInitDrivers", "zeCommandListHostSynchronize", "zeDeviceGetRootDevice"):
    print(name, hasattr(loader, name), bool(all_of_it.dlsym(None, name.encode())))
"""


@case("functions that the loader lacks are found neither on its handle nor by the default search")
def _():
    words = (sys.executable, "-c", LOOK_UP)
    plain = subprocess.run(words, env=clean(), stdout=subprocess.PIPE, check=False)
    if plain.returncode:
        raise Skip("no libze_loader.so.1 (libze1)")
    run = record(*words, env=clean(), options=CALLS)
    there = [line.split()[:2] for line in plain.stdout.decode().splitlines()]
    expect(["zeInit", "True"] in there, plain.stdout)
    # Python keeps its libraries to itself, so only functions that stand before the loader's are in the default search.
    want = ["%s %s %s" % (name, has, has) for name, has in there]
    text = run.stdout.decode()
    equal(text.splitlines(), want, "what the program found")


@case("mock: a tracer of the program's own, and the layer turned on or off by the user")
def _():
    without = seen_by_hooks(mocked("tracer", knobs={"ZE_ENABLE_TRACING_LAYER": 1}))
    run = mocked("tracer", knobs={"ZE_ENABLE_TRACING_LAYER": 1}, options=CALLS)
    equal(run.truth["traced"], 2, "what its tracer saw")
    equal(of(calls_of(run, "ze"), without), dict(without), "calls")
    without = mocked("contexts")
    run = mocked("contexts", knobs={"ZE_ENABLE_TRACING_LAYER": 0}, options=CALLS)
    hooked = seen_by_hooks(without)
    equal(of(calls_of(run, "ze"), hooked), dict(hooked), "calls without the layer")
    equal(run.events("gpu_work"), [], "work without the layer")


@case("mock: threads, and a child of the program")
def _():
    for mode in ("threads", "churn", "fork"):
        hooked = seen_by_hooks(mocked(mode))
        run = mocked(mode, options=CALLS)
        calls = calls_of(run, "ze")
        equal(of(calls, {LAUNCH, EXECUTE}), {n: c for n, c in hooked.items() if n in (LAUNCH, EXECUTE)}, mode)
        equal(len({(c.pid, c.tid) for c in calls}) > 1, True, "threads of " + mode)


@case("mock: functions that the driver gives by name are recorded, newer ones are noted")
def _():
    run = mocked(None, name="ze_extension", options=CALLS)
    truth = {"taken": 0, "refused": 0x78000004, "loader": 0x78000003, "newer": 0, "lacks": 0x78000004}
    equal(run.truth, truth, "results")
    offsets = [c for c in calls_of(run, "ze") if c.name == "zeKernelSetGlobalOffsetExp"]
    equal([tuple(c.args.values())[1:] for c in offsets], [(1, 2, 3), (1, 2, 4), (5, 0, 1)], "offsets")
    equal([c.flags == "FAILED" for c in offsets], [False, True, True], "failed")
    (text,) = [f["value"] for f in run.fields("note") if f["key"] == "ze.newer"]
    expect("zexKernelNewerThanAll" in text, text)


@case("mock: levels: default leaves queries and settings of kernels out, --tally-only adds up")
def _():
    full = {c.name for c in calls_of(mocked("paths", options=CALLS), "ze")}
    run = mocked("paths", options=["--api", "ze:default"])
    some = {c.name for c in calls_of(run, "ze")}
    left = {"zeKernelSetArgumentValue", "zeKernelSetGroupSize"}
    expect(left <= full and not left & some and LAUNCH in some, (full, some))
    text = must("tally", mocked("paths", options=["--tally-only", "--api", "ze:full"], check=False).path)
    expect(LAUNCH in text and "Level Zero" in text, text)


@case("OpenCL by Level Zero: calls of both are recorded, nested, and device time is in the tally once")
def _():
    need("opencl")
    leo = os.path.join(BUILD, "tests/mock_ze/libmock_leo.so")
    if not os.path.exists(leo) or not os.path.exists(MOCK):
        raise Skip("mock_leo was not built here: libze-dev or opencl-headers are missing")
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK, OCL_ICD_VENDORS=vendors("libpocl.so.2"))
    # The last one is called first.
    layers = "OPENCL_LAYERS=%s:%s" % (leo, os.path.join(BUILD, "src/inject/libaflame.so"))
    run = record("env", layers, program("cl_intel"), env=env, options=["--api", "opencl:full,ze:full"])
    upper = [c for c in calls_of(run) if c.name == "clEnqueueNDRangeKernel"]
    lower = [c for c in calls_of(run, "ze") if c.name == LAUNCH]
    equal((len(upper), len(lower)), (3, 3), "launches of OpenCL and of Level Zero")
    equal([(c.depth, d.depth) for c, d in zip(upper, lower)], [(0, 1)] * 3, "depths")
    equal(len(run.events("gpu_work")) + len(run.events("gpu_work_long")), 0, "works of Level Zero")
    flame = sum(w for _, w in run.stacks(view="gpu", weight="time"))
    tables = json.loads(must("tally", "--json", run.path))["tables"]
    kernels = [r for t in tables if t["name"] == "kernels" for r in t["rows"]]
    equal(sum(r["count"] if "count" in r else r["calls"] for r in kernels), 3, "kernels in the tally: %s" % kernels)
    expect(flame > 0, "no device time")
    equal(sum(r["time_ns"] for r in kernels), flame, "device time of the tally and of the flame graph")


@case("Intel's driver: each call once, and the same results")
def _():
    path = spirv("heavy")
    env = clean(**NO_HARDWARE)
    for mode in ("paths", "threads", "contexts", "fork"):
        words = (program("ze_works"), mode, path)
        plain = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False, timeout=120)
        if plain.returncode:
            raise Skip("Intel's Level Zero driver does not run without hardware here: %s" % plain.stdout)
        without, run = record(*words, env=env), record(*words, env=env, options=CALLS)
        equal(run.stdout, plain.stdout, "the output of the program, recorded")
        hooked, calls = seen_by_hooks(without), calls_of(run, "ze")
        names = {n for n in hooked if "Synchronize" not in n}
        equal(of(calls, names), {n: hooked[n] for n in names}, "calls of " + mode)
        equal({c.depth for c in calls}, {0}, "depth")


run_cases()
