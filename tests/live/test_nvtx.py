#!/usr/bin/env python3
"""What programs say of themselves by NVTX, on the mock of CUDA: ranges and marks, and the link that
PyTorch's emit_nvtx() makes between a backward pass and its forward operations (a fake PyTorch)."""

import os
import re

from cuda_work import check_cuda, cuda_run, truth_of
from machine import PROGRAMS, SCRIPTS, Skip, program, pythons
from recording import bare, must, parse_folded, refused
from shares import having, weight_of
from tap import case, equal, expect, note, run_cases


def gpu_stacks(run, *options):
    text = must("flame", "--view", "gpu", "-w", "count", *options, run.path)
    return [([bare(f) for f in frames], w) for frames, w in parse_folded(text)]


@case("ranges and marks are recorded with their domains, names and colours")
def _():
    run = cuda_run("nvtx_ranges")
    equal(truth_of(run)["depths"], 1, "what push and pop return")
    reported = [(r["edge"], r["domain"], r["name"]) for r in run.fields("range")]
    equal(
        reported,
        [
            ("START", "", "started"),
            ("START", "comm", "all_reduce"),
            ("PUSH", "", "step"),
            ("PUSH", "", "forward"),
            ("POP", "", ""),
            ("PUSH", "comm", "all_reduce"),
            ("POP", "", ""),
            ("POP", "comm", ""),
            ("MARK", "", "mark"),
            ("MARK", "comm", "gr\u00fc\u00df \u4f60 \U0001f525"),
            ("END", "comm", ""),
            ("END", "", ""),
        ],
        "ranges",
    )
    ranges = {r["edge"]: r["range"] for r in run.fields("range") if r["domain"] == "comm"}
    equal(ranges["START"], ranges["END"], "number of a range that was started")
    colors = {r["name"]: r["color"] for r in run.fields("range")}
    equal([colors["step"], colors["forward"]], [0xFF00FF00, 0], "colours")


@case("--ranges shows what launches were inside of, --range leaves out the rest")
def _():
    run = cuda_run("nvtx_ranges")
    stacks = gpu_stacks(run, "--ranges")
    for names, kernel in (
        (["step"], "k1"),
        (["step", "forward"], "k1"),
        (["all_reduce"], "k2"),
        ([], "k3"),
    ):
        inside = ["nvtx_ranges"] + names
        found = [
            w
            for frames, w in stacks
            if frames[: len(inside)] == inside
            and frames[len(inside)] == "_start"
            and frames[-1] == kernel
        ]
        equal(sum(found), 1, "%s in %s of %s" % (kernel, names, stacks))
    stacks = gpu_stacks(run, "--range", "step")
    equal(weight_of(stacks, having("main", "k1")), 2, "k1 in step")
    equal(sum(w for _, w in stacks), 2, "all in step")
    refused(1, r'inside a range "nowhere"', "flame", "--range", "nowhere", run.path)


@case("without a tool, and with --api none, NVTX does nothing")
def _():
    run = cuda_run("nvtx_ranges", options=["--api", "none"])
    equal(truth_of(run)["depths"], 0, "what push and pop return")
    equal(run.counts().get("range", 0), 0, "ranges")


def autograd(interpreter, *options, **variables):
    engine = os.path.join(PROGRAMS, "libtorch_engine.so")
    if not os.path.exists(engine):
        raise Skip("libtorch_engine.so was not built here")
    script = os.path.join(SCRIPTS, "py_autograd.py")
    knobs = {
        "PYTHONPATH": os.path.join(SCRIPTS, "faketorch"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCH_ENGINE": engine,
    }
    knobs.update(variables)
    wait = "10" if "--autograd" in options else "0"
    run = cuda_run(interpreter, script, wait, knobs=knobs, options=options)
    equal(run.stdout, b"done\n", "what the program says")
    return run


def reported_of_autograd(run):
    return [f["value"] for f in run.fields("note") if f["key"] == "autograd"]


def shown(frames, *patterns):
    rest = iter(frames)
    return all(any(re.match(p, f) for f in rest) for p in patterns)


def check_linked(run):
    check_cuda(run)
    stacks = gpu_stacks(run)
    expect("on, by emit_nvtx() of PyTorch 0.0 (a fake)" in reported_of_autograd(run), "not on")
    for layer in ("layer_a", "layer_b"):
        path = [r"main \(", r"step \(", layer + r" \(", r"addmm \("]
        forward = [w for f, w in stacks if shown(f, *path, "torch_forward", "cuLaunchKernel", "k1")]
        equal(sum(forward), 3, "k1 under %s" % layer)
        back = [
            w
            for f, w in stacks
            if shown(f, *path, "torch_forward", r"\[backward\]", "engine_run", "cuLaunchKernel", "k2")
        ]
        equal(sum(back), 3, "k2 under %s of %s" % (layer, stacks))
    equal(sum(w for _, w in stacks), 12, "kernels")


def some_pythons():
    found = pythons()
    if not found:
        raise Skip("no Python whose frames can be read")
    return found


@case("--autograd puts backward work under the forward operation that it goes back to")
def _():
    for version, interpreter in some_pythons():
        note(version)
        check_linked(autograd(interpreter, "--autograd"))


@case("without --autograd a program with PyTorch is recorded as it is")
def _():
    run = autograd(some_pythons()[-1][1])
    equal(run.counts().get("operation", 0), 0, "operations")
    equal(reported_of_autograd(run), [], "what is reported of it")
    expect(not any("[backward]" in f for f, _ in gpu_stacks(run)), "[backward] is in it")


@case("what emit_nvtx() raises is reported, and the program never hears of it")
def _():
    run = autograd(some_pythons()[-1][1], "--autograd", TORCH_EMIT_FAILS="1")
    reported = reported_of_autograd(run)
    expect("Profiler is already enabled" in reported[0], reported)
    equal(run.counts().get("operation", 0), 0, "operations")


@case("--autograd says where there is no Python, and needs CUDA")
def _():
    run = cuda_run("cuda_paths", "2", options=["--autograd"])
    equal(reported_of_autograd(run), ["not recorded: no Python in the process"], "what is reported of it")
    refused(2, "--api cuda", "record", "--autograd", "--api", "none", "--", program("short"))


run_cases()
