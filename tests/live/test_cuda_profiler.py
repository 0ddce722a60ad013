#!/usr/bin/env python3
"""Programs with a CUPTI profiler of their own (PyTorch's, XLA's), on the mock of CUPTI, which has one
subscriber and one pair of buffer functions as the real one: they see what they see alone, and aflame
sees it as well."""

import json
import subprocess

from cuda_work import check_cuda, cuda_notes, cuda_run, kernels_of, machine_with, truth_of
from machine import program
from recording import must
from tap import case, equal, expect, note, run_cases

ROUNDS, PROFILED = 3, 50


def alone(*words):
    """What the program says of itself and its profile, unrecorded."""
    env = machine_with("driver", "cupti13", MOCK_CUDA_DEVICES=1)
    done = subprocess.run([program("cuda_profiles"), *words], env=env, capture_output=True, check=True)
    equal(done.stderr, b"", "what the program complains of")
    return json.loads(done.stdout)


def check_profile(truth, rounds=ROUNDS):
    equal(truth["profile.k1"], PROFILED * rounds, "kernels that were launched while it profiled")
    equal(truth["profile.others"], 0, "others in the program's profile")
    equal(truth["profile.badly_stamped"], 0, "kernels whose stamps are not of its clock")
    equal(truth["profile.launches"], PROFILED * rounds, "callbacks of launches")
    equal(truth["profile.forgotten"], 0, "calls whose word CUPTI did not keep")


def check_both(*words, **how):
    """The profile is what it is alone, and the trace has every kernel, also those."""
    run = cuda_run("cuda_profiles", *words, **how)
    truth = truth_of(run)
    check_profile(truth)
    equal(truth, alone(*words), "what the program says, recorded and alone")
    equal(run.stderr, b"", "what the program complains of")
    cuda = check_cuda(run, lost=True)
    equal(cuda.kernels(), kernels_of(truth), "kernels in the trace")
    took = sorted(w.busy for w in cuda.works if w.kernel == "k1")
    expect(10000 <= took[0] and took[-1] <= 40000, "k1 took %s to %s ns" % (took[0], took[-1]))
    reported = [f["value"] for f in run.fields("note") if f["key"] == "cuda.profiler"]
    equal(len(reported), 1, "notes of the program's profiler")
    expect("cuda_profiles" in reported[0], reported)
    expect("own profiler" in must("report", "summary", run.path), "the summary does not say so")
    return run


@case("the program's own profiler and aflame both see every kernel")
def _():
    for _ in range(5):
        check_both("linked", str(ROUNDS))


@case("a profiler that looks CUPTI's functions up is served as well")
def _():
    for _ in range(5):
        check_both("dlsym", str(ROUNDS))


@case("a profiler that comes before CUDA starts is served as well")
def _():
    check_both("linked", str(ROUNDS), "early")


@case("one that looked the functions up before CUDA started keeps CUPTI, and the trace says so")
def _():
    run = cuda_run("cuda_profiles", "dlsym", str(ROUNDS), "early")
    check_profile(truth_of(run))
    expect("another profiler" in cuda_notes(run)[0], cuda_notes(run))


@case("when recording has ended the program's profiler goes on")
def _():
    run = cuda_run("cuda_profiles", "linked", "200", options=["--duration", "100ms"])
    check_profile(truth_of(run), 200)
    seen = sum(check_cuda(run, lost=True).kernels().values())
    note("%d kernels were recorded" % seen)
    expect(0 < seen < 200 * (PROFILED + 40), "%d kernels" % seen)


@case("while recording is off the program's profiler goes on, and what follows is recorded")
def _():
    run = cuda_run("cuda_profiles", "linked", "200", options=["--delay", "200ms"])
    check_profile(truth_of(run), 200)
    cuda = check_cuda(run, lost=True)
    equal(len(cuda.named("cuLaunchKernel")), len(cuda.works), "launches and kernels")


@case("without CUDA recorded the program's profiler has CUPTI to itself")
def _():
    run = cuda_run("cuda_profiles", "linked", str(ROUNDS), options=["--api", "none"])
    check_profile(truth_of(run))


run_cases()
