#!/usr/bin/env python3
"""The CUDA collector on the mock of a driver and of CUPTI: no GPU, but the same collector, programs
and bytes. Kernels on the mock take exactly as long as they were reported to."""

import collections
import json
import os
import re
import sys

from cuda_work import (
    bare_stacks,
    check_cuda,
    check_paths,
    cuda_notes,
    cuda_run,
    kernels_of,
    machine_with,
    truth_of,
)
from machine import SCRIPTS, any_sampler, program, pythons
from recording import must, record
from shares import having, weight_of
from tap import Skip, case, equal, expect, note, run_cases


# --- launches


@case("device time is under the call paths that asked for it, to the nanosecond")
def _():
    check_paths(cuda_run("cuda_paths"))


@case("the layouts of CUPTI 12.4 are read as well")
def _():
    run = cuda_run("cuda_paths", parts=("driver", "cupti12"))
    check_paths(run)
    expect("libcupti.so.12" in cuda_notes(run)[0], cuda_notes(run))


RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def as_reported(run, event):
    """A piece of work in the words of the file that was made beside the records."""
    fields = event["fields"]

    def newest(kind, key, value):
        same = [e for e in run.events(kind) if e["process"] == event["process"]]
        if kind in ("descriptor", "launch_config"):
            same = [e for e in same if e["stream"] == event["stream"]]
        return [e["fields"] for e in same if e["fields"][key] == value][-1]

    descriptor = newest("descriptor", "descriptor", fields["descriptor"])
    queue = newest("queue", "queue", descriptor["queue"])
    reported = {
        "op": descriptor["op"],
        "correlation": fields["correlation"],
        "start": fields["start_ns"],
        "end": fields["start_ns"] + fields["busy_ns"],
        "device": queue["device"] - 1,
        "context": queue["context"],
        "stream": int(queue["handle"], 16),
    }
    if descriptor["op"] != "KERNEL":
        return dict(reported, bytes=descriptor["bytes"])
    config = newest("launch_config", "descriptor", fields["descriptor"])
    block = [descriptor["local_" + axis] for axis in "xyz"]
    return dict(
        reported,
        name=newest("kernel", "kernel", descriptor["kernel"])["name"],
        grid=[descriptor["global_" + axis] // n for axis, n in zip("xyz", block)],
        block=block,
        registers=config["registers"],
        static=config["static_shared"],
        dynamic=config["dynamic_shared"],
        local=config["local"],
        cluster=[config["cluster_" + axis] for axis in "xyz"],
    )


def check_recorded(name, **how):
    knobs = {"MOCK_CUPTI_RECORDED": os.path.join(RECORDED, name + ".records")}
    run = cuda_run("cuda_paths", "1", knobs=knobs, **how)
    with open(os.path.join(RECORDED, name + ".json"), encoding="ascii") as file:
        want = [json.loads(line) for line in file]
    first, last = (f(r["start"] for r in want) for f in (min, max))
    works = [e for e in run.events("gpu_work") if first <= e["fields"]["start_ns"] <= last]
    got = [as_reported(run, e) for e in works]
    nodes = [e["fields"]["node"] for e in works]
    equal(len(got), len(want), "records")
    for one, record in zip(got, want):
        node = record.pop("node")
        equal(one, record, "a record")
        expect(bool(nodes.pop(0)) == bool(node), "a node of a graph")


for name in ("h200", "h200_whole"):

    @case("records that an H200 made are read as NVIDIA's own headers read them (%s)" % name)
    def _(name=name):
        check_recorded(name)


for name in ("h200_cupti12", "h200_cupti12_whole"):

    @case("records that CUPTI 12.4 made on an H200 are read as its headers read them (%s)" % name)
    def _(name=name):
        check_recorded(name, parts=("driver", "cupti12"))


@case("correlation numbers may wrap")
def _():
    check_paths(cuda_run("cuda_paths", knobs={"MOCK_CUPTI_CORRELATION": 0xFFFFFFE0}))


@case("every way to launch makes one piece of work, and a call that fails makes none")
def _():
    run = cuda_run("cuda_launches")
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    for function in ("cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchKernelEx"):
        expect(any(c.works for c in cuda.named(function)), "no work of " + function)
    refused = [c for c in cuda.calls if c.status]
    recorded = {"cuLaunchKernel", "cuModuleLoadData", "cuMemAlloc_v2"}
    equal({c.name for c in refused}, recorded, "functions that failed")
    equal([w for c in refused for w in c.works], [], "work of calls that failed")
    descriptors = {w.kernel: w.descriptor for w in cuda.works}
    equal([descriptors["k1"]["global_" + d] for d in "xyz"], [4 * 32, 2, 1], "k1's size")
    equal(descriptors["k3"]["local_y"], 2, "k3's block")
    clusters = {(c["cluster_x"], c["cluster_y"]) for c in run.fields("launch_config")}
    equal(clusters, {(0, 0), (2, 1)}, "clusters")


@case("launches through the runtime have its function in their stacks")
def _():
    run = cuda_run("cuda_by_runtime")
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    stacks = bare_stacks(run, weight="count")
    equal(weight_of(stacks, having("through_runtime", "cudaLaunchKernel", "k1")), truth["k1"], "k1")
    equal(weight_of(stacks, having("through_driver", "cuLaunchKernel", "k2")), truth["k2"], "k2")
    equal(weight_of(stacks, having("through_driver", "cudaLaunchKernel")), 0, "runtime's in k2")
    copied = bare_stacks(run, weight="bytes")
    equal(weight_of(copied, having("copy_by_runtime", "cudaMemcpy")), truth["write.bytes"], "bytes")


# --- streams, contexts, copies


def check_streams(run):
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    queues = {q["queue"]: q for q in run.fields("queue")}
    equal(len(queues), 6, "streams with work: two and the default one in each of two contexts")
    equal(len({q["context"] for q in queues.values()}), 2, "contexts")
    equal(len({q["device"] for q in queues.values()}), truth["devices"], "devices")
    ends = {}
    for work in sorted(cuda.works, key=lambda w: w.start):
        expect(ends.get(work.queue, 0) <= work.start, "work of one stream overlaps")
        ends[work.queue] = work.start + work.busy
    in_turn = {w.queue for w in cuda.works if w.kernel == "k3"}
    equal(len(in_turn), 2, "default streams")
    last = next(w for w in cuda.works if w.kernel == "k4")
    awaited = next(w for w in cuda.works if w.busy == 2000000)
    expect(last.start >= awaited.start + awaited.busy, "k4 starts before what it waits for")
    equal(len({c.tid for c in cuda.named("cuLaunchKernel")}), 3, "threads that launch")


@case("streams of two contexts on one device are told apart")
def _():
    check_streams(cuda_run("cuda_streams"))


@case("streams of two devices are told apart")
def _():
    check_streams(cuda_run("cuda_streams", knobs={"MOCK_CUDA_DEVICES": 2}))


@case("a GPU that processes share is one, and has the work of all")
def _():
    env = machine_with("driver", "cupti13", "runtime", MOCK_CUDA_DEVICES=2, MOCK_CUDA_GPU=7)
    launches = program("cuda_launches")
    run = record("sh", "-c", '"$1" & "$1" & MOCK_CUDA_GPU=8 "$1"; wait', "sh", launches, env=env)
    notes = {(e["process"], e["fields"]["device"]): e["fields"]["value"]
             for e in run.events("device_note") if e["fields"]["key"] == "uuid"}  # fmt: skip
    equal(len(set(notes.values())), 4, "devices of two machines' GPUs")
    uuid = "GPU-07afafaf-afaf-afaf-afaf-afafafafaf00"
    tables = json.loads(must("report", "--json", run.path))["tables"]
    rows = [t["rows"] for t in tables if t["name"] == "gpus"]
    equal(len(rows), 1, "tables of shared GPUs")
    equal([(row["processes"], row["uuid"]) for row in rows[0]], [(2, uuid)], "shared GPUs")
    sharing = {process for (process, device), u in notes.items() if u == uuid}
    works = [e for e in run.events("gpu_work") + run.events("gpu_work_long")
             if e["process"] in sharing]  # fmt: skip
    equal(rows[0][0]["works"], len(works), "pieces of work")


@case("threads that come and go, with contexts and graphs of their own, lose nothing")
def _():
    sampling = {"sampler": any_sampler(), "rate": 4999, "options": ["--cuda-graphs", "nodes"]}
    run = cuda_run("cuda_threads", knobs={"MOCK_CUPTI_CORRELATION": 0xFFFFF000}, **sampling)
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    equal(cuda.by_op()["FILL"][0], truth["fills"], "fills")
    stacks = bare_stacks(run, weight="count")
    for names, want in (
        (("thread_run", "plain", "k1"), truth["k1"]),
        (("thread_run", "replayed", "cuGraphLaunch", "captured", "k2"), truth["k2"]),
        (("thread_run", "replayed", "cuGraphLaunch", "captured", "k3"), truth["k3"]),
        (("thread_run", "filled", "fill"), truth["fills"]),
    ):
        equal(weight_of(stacks, having(*names)), want, ";".join(names))


OPS = {"write": "WRITE", "read": "READ", "copy": "COPY", "fill": "FILL", "peer": "PEER"}
MEMORIES = {"device": "DEVICE", "pinned": "PINNED", "managed": "MANAGED", "pool": "POOL"}


def check_copies(run):
    truth, cuda = truth_of(run), check_cuda(run)
    want = {
        OPS[op]: [truth[op + ".calls"], truth[op + ".bytes"]]
        for op in OPS
        if op + ".calls" in truth
    }
    equal(cuda.by_op(), want, "calls and bytes by operation")
    stacks = bare_stacks(run, weight="bytes")
    equal(weight_of(stacks, having("main", "fill")), truth["fill.bytes"], "bytes under fill()")
    held, allocated = {}, {}
    for m in run.fields("memory"):
        if m["category"] == "ALLOC":
            held[m["address"]] = m
            allocated[m["memory"]] = allocated.get(m["memory"], 0) + m["bytes"]
        else:
            expect(held.pop(m["address"], None), "what is freed was never allocated: %s" % m)
    equal(held, {}, "memory that is never freed")
    wanted = {MEMORIES[m]: truth["alloc.%s.bytes" % m] for m in MEMORIES}
    equal(allocated, wanted, "bytes allocated by kind")


@case("copies and fills have their kinds and bytes, memory its kind and its end")
def _():
    check_copies(cuda_run("cuda_copies"))


@case("a copy to another device is reported as one")
def _():
    check_copies(cuda_run("cuda_copies", knobs={"MOCK_CUDA_DEVICES": 2}))


@case("copies are read in the layouts of 12.4 too")
def _():
    check_copies(cuda_run("cuda_copies", parts=("driver", "cupti12")))


# --- graphs


def check_graphs(run, updated=0):
    truth, cuda = truth_of(run), check_cuda(run)
    equal(len(cuda.named("cuGraphLaunch")), truth["graph_launches"], "graph launches")
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    equal(cuda.by_op()["FILL"][0], truth["fills"], "fills")
    expect(all(w.node for w in cuda.works), "work of a graph without its node")
    captured = [n for n in run.fields("graph_node") if n["callpath"]]
    equal(len(captured), truth["captured"] + updated, "nodes with the stack of their capture")
    return truth, bare_stacks(run, weight="count")


@case("a graph's work stands under its replay, and under that where it was captured")
def _():
    truth, stacks = check_graphs(cuda_run("cuda_graphs"))
    for replay in ("replay_original", "replay_clone", "replay_updated", "replay_host"):
        under = having("main", replay, "cuGraphLaunch")
        equal(weight_of(stacks, under), truth["count." + replay], "work under " + replay)
    for replay, capture, kernels in (
        ("replay_original", "capture_first", ("k1", "k2", "fill")),
        ("replay_clone", "capture_first", ("k1", "k2", "fill")),
    ):
        for kernel in kernels:
            wanted = having("main", replay, "cuGraphLaunch", capture, kernel)
            third = truth["count." + replay] / 3
            equal(weight_of(stacks, wanted), third, "%s, %s, %s" % (replay, capture, kernel))
    equal(
        weight_of(stacks, having("replay_host", "capture_host", "k1")), 1, "k1 beside a host node"
    )
    side = having("replay_original", "capture_first", "capture_side", "k2")
    equal(weight_of(stacks, side), truth["count.replay_original"] / 3, "k2 of the joined stream")


class Printing:
    """What tests/gpu/trace.py needs of a machine."""

    def json_lines(self, path, kinds):
        return [json.loads(line) for line in must("print", "--json", "-k", ",".join(kinds), path).splitlines()]


@case("the reader of tests/gpu, which no other test here runs, joins and names the same work")
def _():
    run = cuda_run("cuda_graphs")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
    from trace import Trace

    del sys.path[0]

    cuda, theirs = check_cuda(run), Trace(Printing(), run.path)
    names = collections.Counter(w.descriptor["name"] for w in theirs.kernels())
    equal(dict(names), dict(cuda.kernels()), "kernels")
    equal(len(theirs.launches()), sum(c.category in ("LAUNCH", "GRAPH_LAUNCH") for c in cuda.calls), "launches")
    expect(all(w.call and "main" in theirs.names(w.call.path) for w in theirs.works), "work without its stack")


@case("an updated graph's work stands under the capture that it was updated from")
def _():
    truth, stacks = check_graphs(cuda_run("cuda_graphs"))
    for kernel in ("k3", "k4", "fill"):
        wanted = having("replay_updated", "cuGraphLaunch", "capture_second", kernel)
        equal(weight_of(stacks, wanted), truth["count.replay_updated"] / 3, kernel)
    equal(weight_of(stacks, having("replay_updated", "capture_first")), 0, "of the first capture")


@case("CUPTI 12.4 does not tell what an update is like: who updated stands for who captured")
def _():
    truth, stacks = check_graphs(cuda_run("cuda_graphs", parts=("driver", "cupti12")), updated=3)
    wanted = having("replay_clone", "cuGraphLaunch", "capture_first", "k1")
    equal(weight_of(stacks, wanted), truth["count.replay_clone"] / 3, "k1 of the clone")
    equal(weight_of(stacks, having("replay_updated", "k3")), truth["k3"], "k3")
    equal(weight_of(stacks, having("replay_updated", "capture_first")), 0, "of the first capture")


# --- as a whole


@case("graphs timed as a whole are one piece of work under each replay")
def _():
    run = cuda_run("cuda_graphs", options=["--cuda-graphs", "whole"])
    truth, cuda = truth_of(run), check_cuda(run)
    equal({w.op for w in cuda.works}, {"GRAPH"}, "operations")
    equal(len(cuda.works), truth["graph_launches"], "graphs that ran")
    stacks = bare_stacks(run, weight="count")
    for replay in ("replay_original", "replay_clone", "replay_updated"):
        got = weight_of(stacks, having("main", replay, "cuGraphLaunch"))
        equal(got, truth["count." + replay] / 3, "graphs of " + replay)
    spent = sum(w for _, w in bare_stacks(run))
    expect(spent >= 15 * 70000 + 5 * 40000 + 50000, "%d ns of device time" % spent)


@case("a program that replays graphs for a second is flushed meanwhile, and lives")
def _():
    # Long enough for a flush; the mock breaks the program where the real CUPTI does.
    run = cuda_run("cuda_graphs", "5000", options=["--cuda-graphs", "whole"])
    truth, cuda = truth_of(run), check_cuda(run)
    equal(sum(w.op == "GRAPH" for w in cuda.works), truth["graph_launches"], "graphs that ran")
    expect(len([f for f in run.fields("clock") if f["clock"] == "DEVICE"]) > 2, "no flush")
    reported = [n["value"] for n in run.fields("note") if n["key"] == "cuda.graphs"]
    expect("between devices" in reported[0], reported)


@case("graphs of very many nodes a second: that it would pay to time them as a whole is reported")
def _():
    run = cuda_run("cuda_graphs", "200000", "1000", check=False)  # its size takes other readers long
    truth, works = truth_of(run), run.counts()["gpu_work"]
    reported = [n["value"] for n in run.fields("note") if n["key"] == "cuda.graphs"]
    # The mock is faster than any device: what the recorder did not take in time is counted.
    expect(works > truth["graph_launches"], "%d pieces of work" % works)
    if not reported:
        raise Skip("this machine is too slow for 100,000 nodes a second")
    expect("--cuda-graphs=whole" in reported[0], reported)


@case("kernels launched from Python stand under its lines, in every thread")
def _():
    for version, python in pythons()[:1] + pythons()[-1:]:
        run = cuda_run(python, os.path.join(SCRIPTS, "cuda_python.py"), "20")
        truth, cuda = truth_of(run), check_cuda(run)
        equal(cuda.kernels(), kernels_of(truth), "kernels")
        stacks = [
            ([f.split(" (")[0].split(".")[-1] for f in frames], w)
            for frames, w in bare_stacks(run, weight="count")
        ]
        for names, kernel in (
            (("main", "train", "forward", "launch"), "k1"),
            (("main", "train", "backward", "launch"), "k2"),
            (("aside", "launch"), "k3"),
        ):
            wanted = having(*names, "cuLaunchKernel", kernel)
            equal(
                weight_of(stacks, wanted), 20, "Python %s: %s under %s" % (version, kernel, names)
            )


@case("CPU samples and CUDA work are in one trace")
def _():
    run = cuda_run("cuda_paths", "100", sampler=any_sampler(), rate=999)
    check_paths(run)
    kinds = {frames[-1][-4:] for frames, _ in run.stacks(view="all")}
    expect("_[G]" in kinds, "no device work in --view all")


@case("what was launched with recording off is not recorded, nor what it asked for")
def _():
    run = cuda_run("cuda_paths", "300", options=["--delay", "200ms"])
    cuda = check_cuda(run, lost=True)
    launches = len(cuda.named("cuLaunchKernel"))
    note("%d of %d launches were made with recording on" % (launches, 8 * 300))
    expect(0 < launches < 8 * 300, "%d launches" % launches)
    equal(len(cuda.works), launches, "kernels")


@case("--duration loses nothing of a program that goes on")
def _():
    # Launches until the end and beyond; what ran when recording ended was launched before that.
    run = cuda_run("cuda_paths", "1500", options=["--duration", "700ms"])
    cuda = check_cuda(run, lost=True)
    launches = len(cuda.named("cuLaunchKernel"))
    expect(0 < launches < 8 * 1500, "%d launches" % launches)
    equal(len(cuda.works), launches, "kernels")
    equal([f["value"] for f in run.fields("note") if f["key"] == "stopped"], ["after --duration"])


@case("the newest work, with --ring, has its function's name and its capture's stack")
def _():
    run = cuda_run("cuda_graphs", "3000", options=["--ring", "1M"])
    stacks = bare_stacks(run, weight="count")
    total = sum(w for _, w in stacks)
    captured = weight_of(stacks, lambda f: any(name.startswith("capture_") for name in f))
    note("%d pieces of work are left" % total)
    expect(total > 1000, "%d pieces of work" % total)
    equal(captured, total, "those under where they were captured")
    replayed = weight_of(stacks, lambda f: "main" in f[:5])
    named = weight_of(stacks, lambda f: "main" in f[:5] and "cuGraphLaunch" in f)
    expect(replayed > 1000, "%d with the stack of their replay" % replayed)
    equal(named, replayed, "those under cuGraphLaunch")


@case("--verify finds every replayed stack to be the walked one")
def _():
    run = cuda_run("cuda_paths", "1000", "1000", options=["--verify"])
    notes = {n["key"]: n["value"] for n in run.fields("note")}
    expect(int(notes["replay.hits"]) > 7000, "replays: %s" % notes["replay.hits"])
    equal(notes["replay.wrong"], "0", "wrong replays")
    size = sum(
        os.path.getsize(os.path.join(run.path, f)) for f in os.listdir(run.path) if f != "objects"
    )
    note("%d bytes a launch and its kernel, all in all" % (size / 8000))


@case("the summary counts launches, kernels and what they took")
def _():
    text = must("report", "summary", cuda_run("cuda_paths").path)
    expect(re.search(r"k1 +12\.000 ms +75\.00 %", text), text)
    expect(re.search(r"k2 +4\.000 ms +25\.00 %", text), text)
    expect(re.search(r"cuLaunchKernel .* 80 ", text), text)


run_cases()
