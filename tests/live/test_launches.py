#!/usr/bin/env python3
"""Less of each launch: the stacks of one in N (--launches), and the buffers of CUPTI (--cuda-buffer)."""

import json
import math
import signal

from cuda_work import Cuda, bare_stacks, check_paths, cuda_run, truth_of
from machine import need, program
from recording import USAGE, aflame, bare, must, record
from shares import having, weight_of
from tap import case, equal, expect, near, note, run_cases

EVERY = 8


def deviation(nr, every):
    """Of the number that are chosen of @nr, where the gap to the next is any from 1 to 2 * @every - 1."""
    return math.sqrt(nr * ((2 * every - 1) ** 2 - 1) / 12 / every**3)


def lost(run):
    """{what: how many} in the table of that name."""
    tables = json.loads(must("report", "lost", "--json", run.path))["tables"]
    return {row["key"]: row["count"] for table in tables for row in table["rows"]}


def check_chosen(nr_chosen, nr, every):
    note("%d of %d launches have a stack" % (nr_chosen, nr))
    near(nr_chosen, nr / every, 5 * deviation(nr, every), "launches with a stack")


@case("CUDA: one launch in 8 has its stack; all are there, and device time adds up to the nanosecond")
def _():
    run = cuda_run("cuda_paths", "1000", options=("--launches", "1/%d" % EVERY))
    truth, cuda = truth_of(run), Cuda(run)
    launches = cuda.named("cuLaunchKernel")
    equal(len(launches), 8000, "launches")
    equal(len(cuda.works), truth["launches"], "pieces of work")
    expect(all(w.call for w in cuda.works), "work without its call")
    equal({c.stop for c in launches}, {"COMPLETE", "NOT_CHOSEN"}, "how stacks end")
    equal({c.stop for c in cuda.calls if c.category == "SYNC"}, {"COMPLETE"}, "stacks of waits")
    chosen = sum(c.stop == "COMPLETE" for c in launches)
    check_chosen(chosen, len(launches), EVERY)
    equal(lost(run).get("works_stackless"), len(launches) - chosen, "works that were shared")
    stacks = bare_stacks(run)
    for kernel in ("k1", "k2"):
        want = sum(truth["ns.%s.%s" % (path, kernel)] for path in ("hot_path", "cold_path"))
        equal(weight_of(stacks, having("main", kernel)), want, "nanoseconds of " + kernel)
        hot = weight_of(stacks, having("main", "hot_path", "launch_" + kernel, kernel))
        near(hot / want, 0.75, 5 * math.sqrt(0.75 * 0.25 / (4000 / EVERY)), "its share of hot_path")
    counts = bare_stacks(run, weight="count")
    equal(sum(w for _, w in counts), 8000, "launches in the flame graph")


@case("--launches 1/1 leaves none out")
def _():
    run = cuda_run("cuda_paths", options=("--launches", "1/1"))
    check_paths(run)
    expect("works_stackless" not in lost(run), "works were shared")


@case("calls that are traced with all their arguments choose, too")
def _():
    run = cuda_run("cuda_paths", "1000", options=("--launches", "1/%d" % EVERY, "--api", "cuda"))
    truth = truth_of(run)
    shared = lost(run)["works_stackless"]
    check_chosen(8000 - shared, 8000, EVERY)
    equal(sum(w for _, w in bare_stacks(run)), 200000 * truth["launches"], "device time in all")


@case("OpenCL: one launch in 4 has its stack, and each kernel has all its launches")
def _():
    need("opencl")
    run = record(program("cl_paths"), options=("--launches", "1/4"))
    left = lost(run)["works_stackless"]
    note("%d works without a stack" % left)
    expect(150 < left < 320, "of 321 works %d have no stack" % left)
    counts = [([bare(f) for f in frames], w) for frames, w in run.stacks(view="gpu", weight="count")]
    for kernel in ("k1", "k2"):
        equal(weight_of(counts, having("main", kernel)), 160, "launches of " + kernel)


@case("buffers of the size that was set are used over and over, and nothing is lost")
def _():
    for size, words in ((16 << 10, "16K"), (4 << 20, "4M"), (20 << 10, "17K")):
        run = cuda_run("cuda_paths", "200", knobs={"MOCK_CUPTI_BUFFER_BYTES": size},
                       options=("--cuda-buffer", words))  # fmt: skip
        check_paths(run)
    # The mock is no witness that agrees with everything.
    done = cuda_run("cuda_paths", "200", knobs={"MOCK_CUPTI_BUFFER_BYTES": 12345}, quiet=False,
                    status=None, check=False)  # fmt: skip
    equal(done.status, -signal.SIGABRT, "its status for buffers of another size")


@case("words that make no sense are refused, with what is right")
def _():
    for options, words in (
        (("--launches", "8"), "takes 1/N"),
        (("--launches", "1/0"), "takes 1/N"),
        (("--launches", "1/-2"), "takes 1/N"),
        (("--launches", "1/2x"), "takes 1/N"),
        (("--launches", "1/8", "--tally-only"), "--tally-only has no samples and no stacks"),
        (("--cuda-buffer", "1K"), "16K to 16M"),
        (("--cuda-buffer", "1G"), "16K to 16M"),
        (("--cuda-buffer", "64K", "--api", "opencl"), "needs --api cuda"),
    ):
        done = aflame("record", *options, "--", "true")
        equal(done.returncode, USAGE, "status of " + " ".join(options))
        expect(words in done.stderr, "%s: %s" % (options, done.stderr))



run_cases()
