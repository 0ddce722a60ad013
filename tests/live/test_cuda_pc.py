#!/usr/bin/env python3
"""Samples of what GPUs execute, on the mock of CUPTI's PC sampling: it says in a file which samples
there were, and ends the program where it is used in a way that the real one punishes."""

import collections
import lzma
import os
import re
import shutil
import subprocess

from cuda_work import check_cuda, cuda_run, machine_with, truth_of
from machine import WORKPLACE, need_tool, program
from recording import aflame, new_path, refused
from tap import case, equal, expect, near, note, run_cases

HERE = os.path.dirname(os.path.abspath(__file__))
CYCLES_A_SECOND = 4 * 1e9  # of the mock's device: four processors
DEFAULT_RATE = 100000
NOT_ISSUED = "_not_issued"
PREFIX = "smsp__pcsamp_warps_issue_stalled_"


class Samples:
    """What a trace says of samples, joined as a reader has to."""

    def __init__(self, run):
        self.windows = {f["window"]: f for f in run.fields("gpu_window")}
        self.codes = {f["code"]: f for f in run.fields("code")}
        self.stalls = {f["stall"]: f["name"] for f in run.fields("stall")}
        self.programs = {f["program"]: f for f in run.fields("program")}
        self.crcs = collections.defaultdict(set)
        for f in run.fields("program_crc"):
            self.crcs[f["crc"]].add(f["program"])
        self.counts = collections.Counter()  # (name, symbol, offset, reason, correlation)
        self.issued = collections.Counter()  # window → samples, each once
        for f in run.fields("gpu_sample"):
            code = self.codes[f["code"]]
            for stall, n in zip(f["counts"][::2], f["counts"][1::2]):
                reason = self.stalls[stall]
                key = code["name"], code["symbol"], f["offset"], reason, f["correlation"]
                self.counts[key] += n
                if not reason.endswith(NOT_ISSUED):
                    self.issued[f["window"]] += n

    def check(self):
        """What is true of every trace."""
        for window, f in self.windows.items():
            expect(f["start_ns"] <= f["end_ns"], "a window that ends before it starts")
            equal(self.issued[window] + f["other"] + f["dropped"], f["samples"], "its samples")
        for f in self.codes.values():
            expect(f["program"] in self.crcs[f["crc"]], "code of a program of another CRC")
            expect(self.programs[f["program"]]["object"], "the program's object was not kept")
        for reason in (r for r in self.stalls.values() if r.endswith(NOT_ISSUED)):
            expect(reason[: -len(NOT_ISSUED)] in self.stalls.values(), "%s alone" % reason)

    def of(self, name):
        """Samples of a function, each once."""
        kept = (n for k, n in self.counts.items() if k[0] == name and not k[3].endswith(NOT_ISSUED))
        return sum(kept)


def reported_by_mock(path):
    """(what was handed out, what was lost), as Samples.counts"""
    read, lost = collections.Counter(), collections.Counter()
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            for line in file:
                name, symbol, offset, reason, n, how, correlation = line.split()
                key = name, int(symbol), int(offset), reason, int(correlation)
                (read if how == "read" else lost)[key] += int(n)
    return read, lost


def sampled(*words, rate="", options=(), knobs=None, check=True, **how):
    """(run, Samples) of cuda_samples; all that the mock handed out is in the trace."""
    truth = new_path("truth")
    run = cuda_run(
        "cuda_samples",
        *words,
        options=["--gpu-samples" + rate, *options],
        knobs=dict(knobs or {}, MOCK_CUPTI_PC_TRUTH=truth),
        **how,
    )
    samples = Samples(run)
    if check:
        samples.check()
        read, lost = reported_by_mock(truth)
        equal(samples.counts, read, "samples by function, offset, reason and launch")
        equal(lost, collections.Counter(), "samples that were not read before their module went")
    return run, samples


def notes(run):
    return [f["value"] for f in run.fields("note") if f["key"] == "cuda.samples"]


def expected(ns, period):
    return ns / 1e9 * CYCLES_A_SECOND / period


@case("every sample is in the trace: function, offset, reason; so are the programs they are of")
def _():
    run, samples = sampled("paths", "10")
    check_cuda(run)
    truth = truth_of(run)
    period = next(iter(samples.windows.values()))["period_cycles"]
    for kernel in ("k1", "k2"):
        want = expected(truth["ns." + kernel], period)
        near(samples.of(kernel) / want, 1, 0.02, "samples of %s, of those there were" % kernel)
    hot = {k[2] for k in samples.counts if k[3] == PREFIX + "long_scoreboard"}
    equal(hot, {512}, "offset of the hot instruction")
    expect(any("reasons" in reported for reported in notes(run)), notes(run))


@case("windows follow one another without a gap, from the first kernel to the last")
def _():
    run, samples = sampled("paths", "15")
    windows = [samples.windows[n] for n in sorted(samples.windows)]
    expect(len(windows) >= 4, "%d windows" % len(windows))
    for one, next_one in zip(windows, windows[1:]):
        expect(next_one["start_ns"] <= one["end_ns"], "a gap between windows")
        expect(next_one["end_ns"] - next_one["start_ns"] < 2e9, "a window of seconds")
    cuda = check_cuda(run)
    expect(windows[0]["start_ns"] <= min(w.start for w in cuda.works), "work before the first")
    last = max(w.start + w.busy for w in cuda.works)
    expect(windows[-1]["end_ns"] >= last, "work after the last window")


@case("the period is the power of two that brings about as many samples as were asked for")
def _():
    for rate, want in (("", DEFAULT_RATE), ("=20k", 20000), ("=1M", 1000000)):
        run, samples = sampled("paths", "2", rate=rate)
        periods = {f["period_cycles"] for f in samples.windows.values()}
        equal(len(periods), 1, "periods")
        got = CYCLES_A_SECOND / periods.pop()
        note("%s: %d a second" % (rate or "as it is", got))
        expect(want / 1.5 <= got <= want * 1.5, "%d samples a second, not %d" % (got, want))


@case("where little of the device is busy the period becomes shorter, once")
def _():
    run, samples = sampled("sparse", "60")
    periods = [samples.windows[n]["period_cycles"] for n in sorted(samples.windows)]
    note("%s; %s" % (sorted(set(periods)), notes(run)))
    expect(min(periods) < max(periods), "periods %s" % periods)
    equal(periods, sorted(periods, reverse=True), "periods, ever shorter")


@case("a real cubin's functions have their names and numbers")
def _():
    path = os.path.join(os.path.dirname(HERE), "unit/code/13.0-sm_90-lineinfo.cubin.xz")
    cubin = os.path.join(WORKPLACE, "real.cubin")
    with lzma.open(path) as packed, open(cubin, "wb") as file:
        file.write(packed.read())
    run, samples = sampled("cubin", "3", cubin, "two_deep")
    (code,) = samples.codes.values()
    equal(code["name"], "two_deep", "the function")
    equal(code["symbol"], symbol_of(cubin, "two_deep"), "its number")
    kept = samples.programs[code["program"]]["object"]
    with open(os.path.join(run.path, "objects", kept), "rb") as one, open(cubin, "rb") as other:
        expect(one.read() == other.read(), "the object is not what was loaded")


def symbol_of(path, name):
    need_tool("readelf")
    text = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"^ *(\d+): .* %s$" % name, text.stdout, re.M).group(1))


@case("modules that come and go all the time: what they did is read before they go")
def _():
    run, samples = sampled("churn", "200", knobs={"MOCK_CUPTI_PC_FORGETS": 1})
    check_cuda(run)
    period = max(f["period_cycles"] for f in samples.windows.values())
    want = expected(truth_of(run)["ns.k3"], period)
    near(samples.of("k3") / want, 1, 0.05, "samples of k3, of those there were")


@case("what CUPTI hands over by itself as a module goes is not forgotten")
def _():
    sampled("churn", "40", knobs={"MOCK_CUPTI_PC_KEEPS": 1})


@case("a reading that gives a few instructions at a time goes on until there is nothing left")
def _():
    run, samples = sampled("paths", "4", knobs={"MOCK_CUPTI_PC_ROUND": 7})
    expect(len(samples.windows) > 10, "%d windows" % len(samples.windows))


@case("exact: each sample has its kernel's launch, and its windows say so")
def _():
    run, samples = sampled("paths", "30", rate="=exact")
    cuda = check_cuda(run)
    launched = {w.call.correlation: w.kernel for w in cuda.works}
    expect(samples.counts, "no samples")
    for name, _, _, _, correlation in samples.counts:
        equal(launched.get(correlation), name, "the kernel of launch %d" % correlation)
    equal({f["flags"] for f in samples.windows.values()}, {"SERIALIZED"}, "flags")
    some = len({k[4] for k in samples.counts})
    note("%d of %d launches sampled" % (some, len(launched)))
    expect(some < len(launched), "all launches were serialized")


# --- what goes wrong


@case("a second context of a device is not sampled, which is reported; the first one goes on")
def _():
    run, samples = sampled("contexts", "6")
    check_cuda(run)
    expect(any("one at a time" in reported for reported in notes(run)), notes(run))
    expect(samples.counts, "no samples of the first context")


@case("after a context is destroyed the next one is sampled")
def _():
    run, samples = sampled("reset", "6")
    check_cuda(run)
    truth = truth_of(run)
    period = next(iter(samples.windows.values()))["period_cycles"]
    near(samples.of("k1") / expected(truth["ns.k1"], period), 1, 0.02, "samples of k1")


def goes_on(pattern, **knobs):
    """No samples, and the trace says why; everything else is recorded."""
    run, samples = sampled("paths", "2", knobs=knobs, check=False)
    equal(check_cuda(run).kernels(), {"k1": 4, "k2": 2}, "kernels")
    equal(samples.counts, collections.Counter(), "samples")
    note(notes(run))
    expect(any(re.search(pattern, reported) for reported in notes(run)), notes(run))
    return run


@case("where CUPTI refuses to sample the cause is named, and the rest is recorded")
def _():
    for error, pattern in (
        (35, r"NVreg_RestrictProfilingToAdminUsers=0.*INSUFFICIENT_PRIVILEGES"),
        (26, r"DCGM.*HARDWARE_BUSY"),
        (43, r"MIG"),
        (27, r"Turing"),
        (33, r"hypervisor"),
        (41, r"confidential"),
    ):
        goes_on(pattern, MOCK_CUPTI_PC_ENABLE_ERROR=error)
    goes_on(r"cuptiPCSamplingSetConfigurationAttribute", MOCK_CUPTI_PC_SET_ERROR=7)
    goes_on(r"no more samples: .*cuptiPCSamplingGetData", MOCK_CUPTI_PC_GET_ERROR=999)


@case("a device's buffer that is full is counted, and sampling begins again, less often")
def _():
    run, samples = sampled("paths", "40", knobs={"MOCK_CUPTI_PC_FULL": 30000})
    check_cuda(run)
    flags = [samples.windows[n]["flags"] for n in sorted(samples.windows)]
    note("%s; %s" % (flags, notes(run)))
    expect("FULL" in flags, "windows %s" % flags)
    after = [n for n in samples.windows if n > 1 + flags.index("FULL") and samples.issued[n]]
    expect(after, "no samples afterwards")
    periods = [f["period_cycles"] for f in samples.windows.values()]
    expect(max(periods) >= 4 * min(periods), "periods %s" % periods)


@case("reading that takes long holds nobody up")
def _():
    run, _ = sampled("paths", "5", knobs={"MOCK_CUPTI_PC_GET_MS": 300}, check=False)
    cuda = check_cuda(run)
    took = max(w.start + w.busy for w in cuda.works) - min(w.start for w in cuda.works)
    note("%.0f ms of kernels took %.0f ms" % (5 * 60, took / 1e6))
    expect(took < 5 * 60e6 * 1.5, "the program was held up")


@case("samples of the end are there however the program ends")
def _():
    for how in ("paths", "destroy", "exec"):
        run, samples = sampled(how, "3")
        period = next(iter(samples.windows.values()))["period_cycles"]
        want = expected(truth_of(run)["ns.k1"], period)
        near(samples.of("k1") / want, 1, 0.02 if how != "exec" else 0.2, "samples of k1 (%s)" % how)


@case("of two processes that use one GPU one is sampled, and the other says so")
def _():
    both = "%s paths 10 & %s paths 10; wait" % (program("cuda_samples"), program("cuda_samples"))
    run = cuda_run(shutil.which("sh"), "-c", both, options=["--gpu-samples"])
    reported = notes(run)
    equal(sum("another process" in words for words in reported), 1, "processes that were refused")
    equal(len({e["process"] for e in run.events("gpu_window")}), 1, "processes that were sampled")


@case("sampling is changed only while nobody launches, on however many threads")
def _():
    knobs = {"MOCK_CUPTI_PC_LAUNCH_US": 100, "MOCK_CUPTI_PC_FULL": 50000}
    for rate in ("=20M", "=exact"):
        run = cuda_run("cuda_threads", "6", "24", options=["--gpu-samples" + rate], knobs=knobs)
        check_cuda(run)
        note(notes(run))
        windows = len(run.fields("gpu_window"))
        expect(windows >= 5, "%d windows: modules of other contexts come and go" % windows)


@case("a recording that ends before the program leaves it as it was, not sampled any more")
def _():
    run, samples = sampled("paths", "25", options=["--duration", "500ms"], check=False)
    equal(truth_of(run)["rounds"], 25, "the program's own count")
    periods = {f["period_cycles"] for f in samples.windows.values()}
    want = expected(truth_of(run)["ns.k1"], max(periods))
    note("%d of %d samples" % (samples.of("k1"), want))
    expect(0 < samples.of("k1") < 0.6 * want, "samples after the end")


@case("nothing is sampled while recording is off")
def _():
    run, samples = sampled("paths", "10", options=["--delay", "300ms"], check=False)
    on = 300e6 + run.events("note")[0]["time_ns"]
    expect(samples.windows, "no windows")
    early = [f for f in samples.windows.values() if f["end_ns"] < on]
    equal(early, [], "windows before")


@case("without --gpu-samples nothing is sampled, and CUPTI is not asked")
def _():
    run = cuda_run("cuda_samples", "paths", "1", knobs={"MOCK_CUPTI_PC_ENABLE_ERROR": 35})
    kinds = ("gpu_window", "gpu_sample", "stall", "code", "program_crc")
    equal([run.counts().get(k, 0) for k in kinds], [0] * 5, "events")
    equal(notes(run), [], "what is reported of samples")


@case("--gpu-samples that makes no sense is refused")
def _():
    for value, pattern in (("=0", "1k to 100M"), ("=1G", "1k to 100M"), ("=exactly", "exact")):
        refused(2, pattern, "record", "--gpu-samples" + value, "--", "true")
    refused(2, "--api cuda", "record", "--api", "none", "--gpu-samples", "--", "true")


@case("doctor says whether GPUs can be sampled, and if not what to do")
def _():
    for knobs, pattern in (
        ({}, r"works +cuda-pc +the first GPU tells \d+ reasons"),
        ({"MOCK_CUPTI_PC_ENABLE_ERROR": 35}, r"does not +cuda-pc +only root.*NVreg"),
        ({"MOCK_CUPTI_PC_ENABLE_ERROR": 26}, r"does not +cuda-pc .*DCGM"),
        ({"MOCK_CUPTI_PC_ENABLE_ERROR": 43}, r"does not +cuda-pc .*MIG"),
        ({"MOCK_CUPTI_HELD": 1}, r"does not +cuda-pc .*another profiler"),
    ):
        done = aflame("doctor", env=machine_with("driver", "cupti13", **knobs))
        line = next((t for t in done.stdout.splitlines() if " cuda-pc " in t), "")
        note(line)
        expect(re.search(pattern, line), "%s: %r" % (knobs, line))


run_cases()
