#!/usr/bin/env python3
"""Inside kernels of CUDA, on the mock of CUPTI's PC sampling: to which call path, line and
instruction the samples of a kernel go that was launched from several."""

import lzma
import os
import re

from cuda_work import cuda_run, truth_of
from machine import SOURCE
from recording import aflame, new_path, parse_folded
from tap import case, equal, expect, near, note, run_cases

CUBIN = os.path.join(SOURCE, "tests/unit/code/13.0-sm_90-lineinfo.cubin.xz")


def sampled(*words, rate=""):
    return cuda_run("cuda_samples", *words, options=["--gpu-samples" + rate])


def drawn(run, *options):
    """(stacks, samples, shares of them: exact, apportioned, of no kernel) of the view gpu"""
    done = aflame("flame", "--view", "gpu", *options, run.path)
    expect(done.returncode == 0, done.stderr)
    found = re.search(
        r"(\d+) samples of instructions: ([\d.]+) % exact, ([\d.]+) % apportioned by busy time, "
        r"([\d.]+) % of no",
        done.stderr,
    )
    expect(found, done.stderr)
    note(done.stderr.strip())
    words = found.groups()
    return parse_folded(done.stdout), int(words[0]), [float(word) for word in words[1:]]


def total(stacks, *frames):
    return sum(n for stack, n in stacks if all(frame in stack for frame in frames))


def in_trace(run):
    """How many samples there are, each once."""
    reasons = {f["stall"]: f["name"] for f in run.fields("stall")}
    count = 0
    for f in run.fields("gpu_sample"):
        for reason, n in zip(f["counts"][::2], f["counts"][1::2]):
            count += 0 if reasons[reason].endswith("_not_issued") else n
    return count


@case("two call paths of one kernel have its samples as they have its time")
def _():
    run = sampled("paths", "30")
    truth_of(run)
    stacks, samples, (exact, shared, nobody) = drawn(run, "-w", "samples", "--depth", "stall")
    equal(samples, in_trace(run), "samples that are drawn, and those of the trace")
    equal(sum(n for _, n in stacks), samples, "samples of all stacks")
    hot, cold = total(stacks, "hot_path", "k1_[G]"), total(stacks, "cold_path", "k1_[G]")
    near(hot / (hot + cold), 0.75, 0.02, "the longer path's share of k1")
    expect(nobody < 1 and exact + shared > 99, "%.1f %% of no kernel" % nobody)
    expect(shared > 10, "what two paths did in one window cannot be exact")
    issue = total(stacks, "k1_[G]", "0x0200_[g]", "[long scoreboard]_[g]")
    expect(issue > samples / 10, "%d samples at the instruction that waits" % issue)


@case("time is divided, and neither lost nor made, down to the reasons")
def _():
    run = sampled("paths", "10")
    truth_of(run)
    widths = []
    for depth in ("kernel", "line", "insn", "stall"):
        done = aflame("flame", "--view", "gpu", "--depth", depth, run.path)
        stacks = parse_folded(done.stdout)
        widths.append([total(stacks, path) for path in ("hot_path", "cold_path", "k2_[G]")])
    for width in widths:
        equal(width, widths[0], "time of paths")


@case("serialized, each sample has its launch, and all of them are exact")
def _():
    run = sampled("paths", "30", rate="=exact")
    truth_of(run)
    stacks, samples, (exact, _, _) = drawn(run, "-w", "samples")
    equal(samples, in_trace(run), "samples that are drawn, and those of the trace")
    equal(exact, 100.0, "% exact")
    expect(total(stacks, "hot_path") and total(stacks, "cold_path"), "a path without samples")


@case("lines of a real cubin, with what was inlined into them")
def _():
    cubin = new_path("cubin")
    with lzma.open(CUBIN) as packed, open(cubin, "wb") as file:
        file.write(packed.read())
    run = sampled("cubin", "3", cubin, "three_deep")
    stacks, _, _ = drawn(run)
    lines = {frame for stack, _ in stacks for frame in stack if "chains.cu" in frame}
    note("%s" % sorted(lines))
    expect(any(line.startswith("three_deep (chains.cu:") for line in lines), "no line of it")
    stacks, _, _ = drawn(run, "--depth", "insn")
    leaves = {stack[-1] for stack, _ in stacks if any("three_deep" in frame for frame in stack)}
    expect(all(re.match(r"0x[0-9a-f]{4} \S.*_\[g\]$", leaf) for leaf in leaves), leaves)


run_cases()
