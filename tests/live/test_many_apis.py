#!/usr/bin/env python3
"""One program that uses six APIs, two kinds of ranges and a GPU whose power is read, recorded by one command: all of it
is on one timeline and on one clock, so the work that an API did lies inside of the program's range for it."""

import collections
import functools
import glob
import json
import os
import re
import shutil
import subprocess

from cuda_work import MOCK as MOCK_CUDA
from intel_driver import clean
from machine import BUILD, SCRIPTS, WORKPLACE, Skip, need_own_tool
from recording import must, new_path, record
from tap import case, equal, expect, note, run_cases

MOCK_NVML = os.path.join(BUILD, "tests/mock_nvml")
MOCK_ZE = os.path.join(BUILD, "tests/mock_ze/libmock_ze.so")
SOURCES = ("many_apis", "cl_setup", "cuda_setup", "ze_setup", "nvtx_say", "itt_say")
SLACK_US = 100  # clocks of devices are read one after the other


def mpi_words():
    """The compiler's words for MPI; none without it."""
    if not shutil.which("mpicc"):
        return []
    for how in (("--showme:compile", "--showme:link"), ("-compile_info", "-link_info")):
        done = [subprocess.run(["mpicc", word], capture_output=True, text=True, check=False) for word in how]
        if not any(d.returncode for d in done):
            return ["-DWITH_MPI", *[w for d in done for w in d.stdout.split() if w.startswith(("-I", "-L", "-l"))]]
    return []


@functools.lru_cache(maxsize=None)
def built():
    """The program, and the APIs that it has besides OpenCL, CUDA, Level Zero and OpenMP."""
    clang = need_own_tool("clang-19")
    library = glob.glob("/usr/lib/llvm-19/lib/libomptarget.so*")
    if not library or not os.path.exists("/usr/lib/llvm-19/bin/clang-offload-packager"):
        raise Skip("libomp-19-dev or clang-tools-19 is not installed")
    if not os.path.exists(MOCK_ZE) or not os.path.exists("/usr/include/CL/cl.h"):
        raise Skip("libze-dev or opencl-headers is not installed")
    hip = ["-DWITH_HIP", "-lamdhip64"] if os.path.exists("/usr/include/hip/hip_runtime_api.h") else []
    path = os.path.join(WORKPLACE, "many_apis")
    words = ["-O1", "-g", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-rdynamic", "-o", path]
    words += [os.path.join(SCRIPTS, name + ".c") for name in SOURCES]
    words += [os.path.join(MOCK_CUDA, "driver/libcuda.so.1"), "-lOpenCL", "-lze_loader", "-ldl", "-lpthread"]
    done = subprocess.run([clang, *words, *hip, *mpi_words()], stderr=subprocess.PIPE, check=False)
    expect(not done.returncode, done.stderr.decode("utf-8", "replace"))
    return path, os.path.dirname(library[0]), (["HIP"] if hip else []) + (["MPI"] if mpi_words() else [])


@functools.lru_cache(maxsize=None)
def recorded():
    path, llvm, more = built()
    module = new_path("module")
    with open(module, "w", encoding="utf-8") as file:
        file.write("heavy")
    folders = (llvm, MOCK_CUDA + "/driver", MOCK_CUDA + "/cupti13", MOCK_NVML)
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK_ZE, LD_LIBRARY_PATH=":".join(folders), MOCK_CUDA_DEVICES=1,
                MOCK_CUDA_VERSION=13000, OMPI_MCA_ess_singleton_isolated=1)  # fmt: skip
    run = record(path, module, options=("--api", "all", "--telemetry", "system=20,nvml=20"), env=env)
    equal(run.truth["sum"], 2 * run.truth["steps"], "the program's result")
    return run, more


# How often each step does it: works by the name of the slice, and calls of APIs without works.
WORKS = {"OpenCL": ("turns", 4), "CUDA": ("k1", 3), "Level Zero": ("heavy", 2), "OpenMP": ("openmp target region", 2)}
CALLS = {"HIP": ("hipLaunchKernel", 5), "MPI": ("MPI_Allreduce", 1)}


@case("each API's work or calls are on the timeline as often as they were made, inside of the ranges around them")
def _():
    run, more = recorded()
    steps = int(run.truth["steps"])
    path = new_path("timeline") + ".json"
    must("timeline", "-o", path, run.path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[e["cat"]].append((e["name"], e["ts"], e["ts"] + e["dur"]))
    ranges = collections.defaultdict(list)
    for name, start, end in slices["range"]:
        ranges[name].append((start, end))
    equal(len(ranges["step"]), steps, "ranges of NVTX")

    def holds(outer, start, end):
        return any(s - SLACK_US <= start and end <= e + SLACK_US for s, e in ranges[outer])

    for api, (name, often) in list(WORKS.items()) + [(api, CALLS[api]) for api in more]:
        own = "by " + api
        equal(len(ranges[own]), steps, "tasks of ITT: " + own)
        expect(all(holds("step", *r) for r in ranges[own]), "%s: a task outside of its step" % own)
        found = [s for s in slices["work" if api in WORKS else "call"] if s[0].startswith(name)]
        equal(len(found), often * steps, "%s: %s" % (api, name))
        out = [s for s in found if not holds(own, *s[1:])]
        equal(out, [], "%s: outside of the range of its API" % name)
    tracks = {e["name"] for e in events if e["ph"] == "C"}
    expect(any(t.endswith(": power") for t in tracks) and "CPU user" in tracks, "counters: %s" % tracks)
    note("%d slices, %d counters, of OpenCL, CUDA, Level Zero, OpenMP%s" % (
        sum(map(len, slices.values())), len(tracks), "".join(", " + api for api in more)))  # fmt: skip


@case("the page has tracks of the same: calls, a device of each API with its work, both kinds of ranges, and power")
def _():
    run, more = recorded()
    steps = int(run.truth["steps"])
    page = new_path("page") + ".html"
    must("flame", "-o", page, run.path)
    with open(page, encoding="utf-8") as file:
        report = json.loads(re.search(r'id="af-report">(.*?)</script>', file.read(), re.S)[1])
    tracks = report["time"]["tracks"]
    # A device is a heading, below which are its queues.
    works = collections.Counter()
    for t in tracks:
        if t["slice"] == "work":
            works[tracks[t["parent"]]["name"]] += t["n"]
    by_api = {"OpenMP": "OpenMP", "CUDA": "Mock GPU", "Level Zero": "mock GPU"}
    for api, device in by_api.items():
        (nr,) = [n for name, n in works.items() if name.startswith(device)]
        # A target region has a transfer to the device and one from it.
        equal(nr, WORKS[api][1] * steps * (3 if api == "OpenMP" else 1), "pieces of work of " + api)
    equal(len(works), 4, "devices with work, of which one is OpenCL's: %s" % works)
    ranges = {t["name"]: t["n"] for t in tracks if t["slice"] == "range"}
    equal(ranges, {"NVTX": steps, "ITT: many": steps * (4 + len(more))}, "tracks of ranges")
    power = [t for t in tracks if t["kind"] == "counter" and t["name"].endswith("power")]
    equal(len(power), 1, "tracks of power")
    # The mock's power changes once, and equal readings are one step.
    equal((power[0]["n"], power[0]["unit"]), (2, "W"), "steps of power")
    tables = json.loads(must("tally", "--json", run.path))["tables"]
    calls = {row["function"] for table in tables for row in table["rows"] if "function" in row}
    for api in more:
        expect(CALLS[api][0] in calls, "%s is not in the tally: %s" % (CALLS[api][0], calls))


run_cases()
