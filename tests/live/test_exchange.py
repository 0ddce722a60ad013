#!/usr/bin/env python3
"""Real recordings out to other tools' formats and in again: nothing is lost that the format has."""

import collections
import functools
import gzip
import json
import os
import re
import sqlite3

import kineto
from cuda_work import cuda_run
from machine import any_sampler, need, program
from recording import must, new_path, parse_folded, record, sampled
from tap import case, equal, expect, note, run_cases


@functools.lru_cache(maxsize=None)
def samples():
    return sampled("0.3")


@functools.lru_cache(maxsize=None)
def device():
    need("opencl")
    return record(program("cl_paths"), "0.3", sampler=any_sampler(), rate=997)


def plain(stacks):
    """Without the marks of kinds, which gpuperf's text has for kernel frames only."""
    out = collections.Counter()
    for stack, count in stacks:
        out[tuple(re.sub(r"_\[[ij]\]$", "", frame) for frame in stack)] += count
    return out


def folded(path, *words):
    return plain(parse_folded(must("flame", *words, path)))


@case("samples exported as gpuperf's text and imported are the same stacks, as often")
def _():
    text, again = new_path("cpu") + ".txt", new_path("again")
    must("export", "--format", "gpuperf-cpu", "-o", text, samples().path)
    must("import", "-q", "-o", again, text)
    want = folded(samples().path, "--view", "cpu", "-w", "samples")
    expect(sum(want.values()) > 20, "too few samples: %d" % sum(want.values()))
    equal(folded(again, "--view", "cpu", "-w", "samples"), want, "stacks")
    note("%d samples, %d stacks" % (sum(want.values()), len(want)))


@case("a recording exported for pprof or speedscope and imported has the same stacks")
def _():
    want = folded(samples().path, "--view", "cpu")
    for kind, end in (("pprof", ".pb.gz"), ("speedscope", ".speedscope.json")):
        out, again = new_path(kind) + end, new_path(kind + "-again")
        must("export", "--format", kind, "-o", out, samples().path)
        must("import", "-q", "-o", again, out)
        equal(folded(again, "--view", "cpu"), want, "stacks by time, " + kind)
        by_samples = ("--view", "cpu", "-w", "samples")
        equal(folded(again, *by_samples), folded(samples().path, *by_samples), kind)
    note("%d stacks" % len(want))


def slices_of_threads(events):
    """[(thread, start, end, name)] of X, and of B and E, which lie in order on each thread."""
    opened = collections.defaultdict(list)
    for event in sorted(events, key=lambda e: e.get("ts", 0)):
        thread = (event["pid"], event["tid"])
        if event["ph"] == "X":
            yield thread, event["ts"], event["ts"] + event["dur"], event["name"]
        elif event["ph"] == "B":
            opened[thread].append(event)
        elif event["ph"] == "E":
            begun = opened[thread].pop()
            yield thread, begun["ts"], event["ts"], begun["name"]


@case("a trace of node's events has the time that each slice had for itself")
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "../golden/exchange/node.json.gz")
    trace = new_path("node")
    must("import", "-q", "-o", trace, path)
    with gzip.open(path) as f:
        slices = list(slices_of_threads(json.load(f)["traceEvents"]))
    # A slice is in the shortest of those around it.
    want, total = collections.Counter(), 0
    for thread, start, end, name in slices:
        around = [s for s in slices if s[0] == thread and s[1] <= start and end <= s[2] and s[1:3] != (start, end)]
        want[name] += (end - start) * 1000
        if around:
            want[min(around, key=lambda s: s[2] - s[1])[3]] -= (end - start) * 1000
        else:
            total += (end - start) * 1000
    got = collections.Counter()
    for stack, value in parse_folded(must("flame", trace)):
        got[stack[-1]] += value
    equal(sum(got.values()), total, "all of it, in ns")
    equal(got, +want, "by name, in ns")
    expect(total > 1000000 and len(got) > 5, "%d ns of %d names" % (total, len(got)))
    note("%d slices, %d names, %d ns" % (len(slices), len(got), total))


@case("Nsight Systems' export has the time of each kernel below the call with its correlation")
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    path, trace = new_path("nsys") + ".sqlite", new_path("nsys")
    with gzip.open(os.path.join(here, "../golden/exchange/nsys.sqlite.gz")) as f, open(path, "wb") as out:
        out.write(f.read())
    must("import", "-q", "-o", trace, path)
    # Correlations are of a process; of the calls with one the outer one is the program's.
    rows = sqlite3.connect(path).execute(
        """SELECT kernel.value, (SELECT function.value FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
             JOIN StringIds AS function ON function.id = r.nameId
             WHERE r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24
             ORDER BY r.start LIMIT 1), k.end - k.start
           FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS kernel ON kernel.id = k.demangledName
           WHERE k.end >= k.start"""
    )
    want, got = collections.Counter(), collections.Counter()
    for kernel, function, ns in rows:
        want[kernel, re.sub(r"_v\d+$", "", function or "[stack not recorded]")] += ns
    for stack, ns in parse_folded(must("flame", "--view", "gpu", trace)):
        kernel = re.sub(r"_\[G\]$", "", stack[-1])
        if not re.match("copy |fill", kernel):
            got[kernel, stack[-2]] += ns
    equal(got, want, "ns by kernel and call")
    expect(len(got) == 5, "%d kernels" % len(got))


@case("gpuperf's own reader takes every line: five words and a stack, times that are now")
def _():
    run = samples()
    lines = must("export", "--format", "gpuperf-cpu", run.path).splitlines()
    notes = must("print", "-k", "clock", "--json", run.path).splitlines()
    pairs = [json.loads(line)["fields"] for line in notes]
    since_1970 = int([p for p in pairs if p["clock"] == "REALTIME"][0]["foreign"])
    for line in lines:
        time, _comm, pid, tid, cpu, stack = line.split(None, 5)
        expect(int(pid) > 0 and int(tid) > 0 and int(cpu) >= 0 and stack, line)
        expect(abs(int(time) - since_1970) < 600e9, "%s is not within ten minutes" % time)


@case("launches exported as gpuperf's text are one line each, at the call's time, and imported are calls")
def _():
    for words, least in ((("cuda_graphs",), 5), (("cuda_samples", "paths", "5"), 15), (("cuda_by_runtime",), 15)):
        run = cuda_run(*words)
        names = {e["fields"]["function"]: e["fields"]["name"] for e in events(run.path, "function")}
        calls = [e for e in events(run.path, "call", "call_long") if "LaunchKernel" in names[e["fields"]["function"]]]
        text, again = new_path("launches") + ".txt", new_path("launches-again")
        must("export", "--format", "gpuperf-cpu", "-o", text, run.path)
        with open(text) as f:
            lines = [line.split(None, 5) for line in f]
        launches = [line for line in lines if "LaunchKernel" in line[5].rsplit(";", 1)[-1]]
        expect(len(calls) >= least, "%d calls" % len(calls))
        gaps = lambda times: [t - min(times) for t in sorted(times)]
        made = gaps([c["time_ns"] - c["fields"]["duration_ns"] for c in calls])
        equal(gaps([int(line[0]) for line in launches]), made, "when they were made")
        expect(all("LaunchKernel" not in line[5].rsplit(";", 1)[0] for line in launches), "a launch in a launch")
        by_runtime = sum(line[5].endswith(";cudaLaunchKernel\n") for line in launches)
        equal(by_runtime, 10 if words[0] == "cuda_by_runtime" else 0, "of the runtime")
        must("import", "-q", "-o", again, text)
        equal(len(events(again, "call_seen")), len(launches), "calls of the import")
        equal(len(events(again, "ksample")), len(lines) - len(launches), "samples of the import")
        back = [line.split(None, 5) for line in must("export", "--format", "gpuperf-cpu", again).splitlines()]
        stacks = lambda some: sorted(line[5].strip() for line in some)
        equal(stacks(back), stacks(lines), "stacks, there and back")
    note("%d launches" % len(launches))


@case("device work exported as gpuperf's JSON has each kernel, with its times and sizes")
def _():
    run = device()
    data = json.loads(must("export", "--format", "gpuperf-gpu", run.path))
    kernels = [e for e in data["traceEvents"] if e["cat"] == "GPU_Kernel"]
    count, total = collections.Counter(), collections.Counter()
    for event in kernels:
        expect(event["ph"] == "X" and event["name"].startswith("Kernel: "), event)
        expect(event["pid"] == "Device_0" and event["tid"].startswith("GPU0_Stream"), event)
        name = event["name"][len("Kernel: ") :]
        count[name] += 1
        total[name] += round(event["dur"] * 1000)
    want_count, want_total = collections.Counter(), collections.Counter()
    for weight, into in (("count", want_count), ("time", want_total)):
        words = ("--view", "gpu", "--depth", "kernel", "-w", weight)
        for stack, value in parse_folded(must("flame", *words, run.path)):
            into[re.sub(r"_\[G\]$", "", stack[-1])] += value
    kernels_of = {name: want_count[name] for name in count}
    expect(count, "no kernels")
    equal(dict(count), kernels_of, "kernels")
    equal(dict(total), {name: want_total[name] for name in total}, "their times")


@case("the merged text has the same stacks, in microseconds")
def _():
    run = device()
    merged = parse_folded(must("export", "--format", "gpuperf-folded", run.path))
    want = parse_folded(must("flame", "--view", "gpu", "--depth", "kernel", run.path))
    expect(any(stack[-1].startswith("[GPU_Kernel]") for stack, _ in merged), "no kernels")
    got_us, want_us = sum(us for _, us in merged), sum(ns for _, ns in want) / 1000
    expect(abs(got_us - want_us) <= len(want), "%d us, not %d" % (got_us, want_us))


def graph(trace, depth):
    words = ("--view", "gpu", "-w", "samples", "--depth", depth)
    return parse_folded(must("flame", *words, trace))


def on_device(graph):
    """What a graph has on the device, whoever launched it."""
    total = collections.Counter()
    for stack, count in graph:
        first = [at for at, frame in enumerate(stack) if frame.endswith("_[G]")][0]
        total[tuple(stack[first:])] += count
    return total


def apportioned_alike(got, want):
    """Each instruction has its samples, and each path its share: each interval has whole samples."""
    equal(on_device(got), on_device(want), "samples on the device")
    got, whole = {tuple(stack): count for stack, count in got}, sum(count for _, count in want)
    for stack, count in want:
        off = abs(got.get(tuple(stack), 0) - count)
        expect(off <= whole / 100, "%s is off by %d of %d" % (stack, off, whole))


def there_and_back(run, depths, least, alike=equal):
    """The graphs of the trace of an export are those of the trace."""
    text, again = new_path("iaprof") + ".txt", new_path("again")
    must("export", "--format", "iaprof", "-o", text, run.path)
    must("import", "-q", "-o", again, text)
    for depth in depths:
        want = graph(run.path, depth)
        if alike is equal:
            equal(graph(again, depth), want, "the graph to " + depth)
        else:
            alike(graph(again, depth), want)
    total = sum(count for _, count in want)
    expect(total >= least, "%d samples" % total)
    note("%d samples, %d stacks" % (total, len(want)))
    return want


@case("samples of PoCL's kernels exported as iaprof's profile and imported are the same graphs")
def _():
    there_and_back(device(), ("kernel", "line", "insn"), 50)


@case("so are samples of CUDA's, with their stall reasons")
def _():
    run = cuda_run("cuda_samples", "paths", "5", options=["--gpu-samples"])
    want = there_and_back(run, ("kernel", "line", "stall"), 1000, apportioned_alike)
    expect(any("[long scoreboard]_[g]" in stack for stack, _ in want), "no such reason")
    expect(any("cold_path" in stack for stack, _ in want), "no such path")


@case("so are those of graphs, beneath who captured their nodes")
def _():
    run = cuda_run("cuda_graphs", options=["--gpu-samples"])
    want = there_and_back(run, ("kernel", "line", "stall"), 50)
    expect(any("[graph" in frame for stack, _ in want for frame in stack), "no graph")


def iaprof_lines(run):
    """Samples with a stall reason, and without; each line has iaprof's frames and suffixes, and a count."""
    form = r"(?P<comm>[^;]+);(?P<pid>\d+);(?:[^;]+;)*-;[^;]+_\[G\];[^;]+_\[G\];[^;]+_\[g\]"
    form += r"(?P<reason>;[^;]+_\[g\])?;0x[0-9a-f]+_\[g\] (?P<count>\d+)"
    with_reason = without = 0
    for line in must("export", "--format", "iaprof-folded", run.path).splitlines():
        parts = re.fullmatch(form, line)
        expect(parts, line)
        with_reason += int(parts["count"]) if parts["reason"] else 0
        without += 0 if parts["reason"] else int(parts["count"])
    return with_reason, without


@case("what iaprof's flame would print: instructions of a CPU's kernels have no reason, and no frame of one")
def _():
    run = device()
    total = sum(count for _, count in graph(run.path, "kernel"))
    expect(total > 50, "%d samples" % total)
    equal(iaprof_lines(run), (0, total), "samples with a reason, without")


@case("what iaprof's flame would print: CUDA's have a frame of each reason")
def _():
    run = cuda_run("cuda_samples", "paths", "5", options=["--gpu-samples"])
    reasons = {reason for e in events(run.path, "gpu_sample") for reason in e["fields"]["counts"][::2]}
    expect(reasons and 0 not in reasons, "samples without a reason")
    total = sum(count for _, count in graph(run.path, "kernel"))
    equal(iaprof_lines(run), (total, 0), "samples with a reason, without")


@functools.lru_cache(maxsize=None)
def pytorch():
    """A step of a transformer, as PyTorch 2.11 recorded it on an H200: the trace and its import."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "..", "golden", "exchange", "pytorch.json.gz")
    trace = new_path("pytorch")
    must("import", "-q", "-o", trace, path)
    return kineto.Trace(path), trace


def events(trace, *kinds):
    words = [word for kind in kinds for word in ("-k", kind)]
    return [json.loads(line) for line in must("print", "--json", *words, trace).splitlines()]


@case("a trace of PyTorch's: each kernel as often and as long as another reading has it")
def _():
    want, trace = pytorch()
    names, descriptors, got = {}, {}, collections.defaultdict(lambda: (0, 0))
    for event in events(trace, "kernel", "descriptor", "gpu_work", "gpu_work_long"):
        fields, process = event["fields"], event["process"]
        if event["kind"] == "kernel":
            names[process, fields["kernel"]] = fields["name"]
        elif event["kind"] == "descriptor":
            descriptors[event["stream"], fields["descriptor"]] = fields
        elif descriptors[event["stream"], fields["descriptor"]]["op"] == "KERNEL":
            name = names[process, descriptors[event["stream"], fields["descriptor"]]["kernel"]]
            busy = fields.get("busy_ns", fields.get("end_ns", 0) - fields["start_ns"])
            got[name] = got[name][0] + 1, got[name][1] + busy
    equal(dict(got), want.kernels(), "kernels")
    note("%d kernels of %d names" % (sum(n for n, _ in got.values()), len(got)))


@case("a trace of PyTorch's: every call, and the stack of every piece of work")
def _():
    want, trace = pytorch()
    calls = sum(len(want.by[cat]) for cat in kineto.CALLS)
    equal(len(events(trace, "call", "call_long")), calls, "calls")
    equal(sum(e["ph"] == "s" for e in want.by["ac2g"]), len(want.work), "arrows to work")
    got = collections.Counter()
    for stack, count in parse_folded(must("flame", "--view", "gpu", "-w", "count", trace)):
        got[tuple(stack[1:-1])] += count
    equal(got, want.stacks(), "stacks")
    note("%d pieces of work, %d stacks" % (len(want.work), len(got)))
    expect(any("[backward]" in stack for stack in got), "no stack goes back to a forward operator")


@case("a trace of PyTorch's: a range begins in the function that opens it, and goes on")
def _():
    want, trace = pytorch()
    name = "Optimizer.step#AdamW.step"
    text = must("flame", "--view", "gpu", "-w", "count", "--range", name, trace)
    got = sum(count for _, count in parse_folded(text))
    expect(got > 5, "only %d" % got)
    equal(got, want.within(name), "pieces of work inside of the range")


run_cases()
