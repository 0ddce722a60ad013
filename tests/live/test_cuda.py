#!/usr/bin/env python3
"""The CUDA collector on the mock of a driver and of CUPTI: no GPU, but the same collector, programs
and bytes. Kernels on the mock take exactly as long as they were told to."""

import os
import re

from cuda_work import check_cuda, cuda_notes, cuda_run, machine_with, truth_of
from machine import program
from recording import aflame, bare, must, new_path, record
from shares import having, weight_of
from tap import case, equal, expect, note, run_cases


def bare_stacks(run, **how):
    return [([bare(f) for f in frames], w) for frames, w in run.stacks(view="gpu", **how)]


def kernels_of(truth):
    return {name: truth[name] for name in ("k1", "k2", "k3", "k4") if truth.get(name)}


# --- launches


def check_paths(run):
    truth = truth_of(run)
    cuda = check_cuda(run)
    equal(len(cuda.named("cuLaunchKernel")), truth["launches"], "launches")
    equal(len(cuda.named("cuCtxSynchronize")), truth["syncs"], "waits")
    equal(sum(cuda.kernels().values()), truth["launches"], "kernels")
    stacks = bare_stacks(run)
    for path in ("hot_path", "cold_path"):
        for kernel in ("k1", "k2"):
            wanted = having("main", path, "launch_" + kernel, "cuLaunchKernel", kernel)
            equal(
                weight_of(stacks, wanted),
                truth["ns.%s.%s" % (path, kernel)],
                "nanoseconds of %s under %s" % (kernel, path),
            )
    equal(sum(w for _, w in stacks), 200000 * truth["launches"], "device time in all")


@case("device time is under the call paths that asked for it, to the nanosecond")
def _():
    check_paths(cuda_run("cuda_paths"))


@case("the layouts of CUPTI 12.4 are read as well")
def _():
    run = cuda_run("cuda_paths", parts=("driver", "cupti12"))
    check_paths(run)
    expect("libcupti.so.12" in cuda_notes(run)[0], cuda_notes(run))


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
    shapes = {w.kernel: w.shape for w in cuda.works}
    equal([shapes["k1"]["global_" + d] for d in "xyz"], [4 * 32, 2, 1], "k1's size")
    equal(shapes["k3"]["local_y"], 2, "k3's block")
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
        if m["does"] == "ALLOC":
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


@case("a copy to another device is told as one")
def _():
    check_copies(cuda_run("cuda_copies", knobs={"MOCK_CUDA_DEVICES": 2}))


@case("copies are read in the layouts of 12.4 too")
def _():
    check_copies(cuda_run("cuda_copies", parts=("driver", "cupti12")))


# --- graphs


def check_graphs(run):
    truth, cuda = truth_of(run), check_cuda(run)
    equal(len(cuda.named("cuGraphLaunch")), truth["graph_launches"], "graph launches")
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    equal(cuda.by_op()["FILL"][0], truth["fills"], "fills")
    expect(all(w.node for w in cuda.works), "work of a graph without its node")
    captured = [n for n in run.fields("graph_node") if n["callpath"]]
    equal(len(captured), truth["captured"], "nodes with the stack of their capture")
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
            wanted = having("main", replay, "cuGraphLaunch", "main", capture, kernel)
            third = truth["count." + replay] / 3
            equal(weight_of(stacks, wanted), third, "%s, %s, %s" % (replay, capture, kernel))
    equal(
        weight_of(stacks, having("replay_host", "capture_host", "k1")), 1, "k1 beside a host node"
    )
    side = having("replay_original", "capture_first", "capture_side", "k2")
    equal(weight_of(stacks, side), truth["count.replay_original"] / 3, "k2 of the joined stream")


@case("an updated graph's work stands under the capture that it was updated from")
def _():
    truth, stacks = check_graphs(cuda_run("cuda_graphs"))
    for kernel in ("k3", "k4", "fill"):
        wanted = having("replay_updated", "cuGraphLaunch", "capture_second", kernel)
        equal(weight_of(stacks, wanted), truth["count.replay_updated"] / 3, kernel)
    equal(weight_of(stacks, having("replay_updated", "capture_first")), 0, "of the first capture")


@case("graphs of CUPTI 12.4, which does not tell of updates, are whole otherwise")
def _():
    truth, stacks = check_graphs(cuda_run("cuda_graphs", parts=("driver", "cupti12")))
    wanted = having("replay_clone", "cuGraphLaunch", "capture_first", "k1")
    equal(weight_of(stacks, wanted), truth["count.replay_clone"] / 3, "k1 of the clone")
    equal(weight_of(stacks, having("replay_updated", "k3")), truth["k3"], "k3")


# --- what CUPTI gets wrong


def lost_by_reason(run):
    found = {}
    for f in run.fields("lost"):
        found[f["reason"]] = found.get(f["reason"], 0) + f["count"]
    return found


@case("records without stamps are counted and weigh nothing")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_ZERO_EVERY": 10})
    cuda = check_cuda(run, lost=True)
    unstamped = [w for w in cuda.works if w.start is None]
    lost = lost_by_reason(run)
    note("%d without stamps, lost: %s" % (len(unstamped), lost))
    equal(max(len(unstamped), lost.get("NO_STAMPS", 0)), 8, "records without stamps")
    stacks = bare_stacks(run)
    expect(0 < sum(w for _, w in stacks) < 80 * 200000, "their time is not known, and nothing")


@case("records that CUPTI drops are counted")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_DROP_EVERY": 8})
    cuda = check_cuda(run, lost=True)
    equal(sum(cuda.kernels().values()), 70, "kernels that were told")
    lost = lost_by_reason(run)
    equal(sum(lost.values()), 10, "losses: %s" % lost)
    expect("10" in must("report", "summary", run.path), "the summary does not say so")


@case("a slow flush at the end is waited for")
def _():
    check_paths(cuda_run("cuda_paths", knobs={"MOCK_CUPTI_FLUSH_MS": 300}))


@case("CUPTI that gives up in the middle ends the recording of CUDA, not the program")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_FATAL_AFTER": 20})
    expect(any("fatal" in n for n in cuda_notes(run)), cuda_notes(run))
    equal(truth_of(run)["launches"], 80, "the program's own count")


# --- no CUPTI


def broken_cupti():
    """A folder of libraries that are none: what the machine itself has must not be found."""
    folder = new_path("broken")
    os.mkdir(folder)
    for major in (12, 13):
        with open(os.path.join(folder, "libcupti.so.%d" % major), "w") as file:
            file.write("not a library")
    return folder


def refused(name, pattern, **how):
    """The program runs as ever, nothing of CUDA is recorded, and the trace says why."""
    run = cuda_run("cuda_paths", "2", **how)
    equal(truth_of(run)["launches"], 16, "the program's own count")
    equal([run.counts().get(k, 0) for k in ("gpu_work", "call")], [0, 0], "work and calls")
    said = " ".join(cuda_notes(run))
    note("%s: %s" % (name, said))
    expect(re.search(pattern, said), "%s: %r is not in %r" % (name, pattern, said))


@case("without a CUPTI that can be loaded the program runs, and the trace says what is missing")
def _():
    refused("none", r"^not recorded: .*(CUPTI|libcupti)", parts=("driver", broken_cupti()))


@case("a CUPTI that somebody else holds is left alone")
def _():
    refused("held", r"another profiler", knobs={"MOCK_CUPTI_HELD": 1})


@case("a CUPTI that is too old or too new is not used")
def _():
    refused("old", r"old|12\.4|18", knobs={"MOCK_CUPTI_VERSION": 18})
    refused("new", r"new|14", knobs={"MOCK_CUPTI_VERSION": 140000})


@case("a CUPTI that may not trace says what to allow")
def _():
    refused(
        "may not", r"NVreg_RestrictProfilingToAdminUsers", knobs={"MOCK_CUPTI_ENABLE_ERROR": 35}
    )


@case("--api none leaves CUDA alone, and programs without CUDA have no word of it")
def _():
    run = cuda_run("cuda_paths", "2", options=["--api", "none"])
    equal(run.counts().get("call", 0), 0, "calls")
    run = record(program("short"), env=machine_with("driver", "cupti13"))
    equal(cuda_notes(run), [], "what is said of CUDA")


@case("doctor says whether CUDA can be recorded, and if not why")
def _():
    for parts, knobs, pattern in (
        (("driver", "cupti13"), {}, r"works +cuda"),
        (("driver", "cupti12"), {"MOCK_CUDA_VERSION": 12040}, r"works +cuda"),
        (("driver", broken_cupti()), {}, r"does not +cuda .*(CUPTI|libcupti)"),
        (("driver", "cupti13"), {"MOCK_CUPTI_HELD": 1}, r"does not +cuda .*another profiler"),
        (("driver", "cupti13"), {"MOCK_CUPTI_VERSION": 18}, r"does not +cuda "),
        (("driver", "cupti13"), {"MOCK_CUDA_DEVICES": 0}, r"does not +cuda "),
        (("cupti13",), {}, r"does not +cuda .*no NVIDIA driver"),
    ):
        done = aflame("doctor", env=machine_with(*parts, **knobs))
        line = next((t for t in done.stdout.splitlines() if " cuda " in t), "")
        note(line)
        expect(re.search(pattern, line), "%s %s: %r" % (parts, knobs, line))


# --- ends

SIGINT, SIGKILL, SIGTERM, SIGABRT = 2, 9, 15, 6


@case("what was done is recorded however the program ends, but for SIGKILL")
def _():
    for how, status in (
        ("return", 9),
        ("exit", 9),
        ("_exit", 9),
        ("destroy", 9),
        ("abort", 128 + SIGABRT),
        (str(SIGTERM), 128 + SIGTERM),
        (str(SIGINT), 128 + SIGINT),
    ):
        run = cuda_run("cuda_exits", how, status=status)
        cuda = check_cuda(run, lost=True)
        equal(cuda.kernels().get("k1"), 20, "k1, waited for (%s)" % how)
        equal(len(cuda.named("cuLaunchKernel")), 25, "launches (%s)" % how)
        note("%s: %s, lost: %s" % (how, cuda.kernels(), lost_by_reason(run)))
        known = sum(cuda.kernels().values()) + sum(lost_by_reason(run).values())
        expect(known >= 25, "%s: work is missing, and nobody says so" % how)


@case("SIGKILL loses no call, and at most what was not flushed")
def _():
    run = cuda_run("cuda_exits", str(SIGKILL), status=128 + SIGKILL)
    cuda = check_cuda(run, lost=True)
    equal(len(cuda.named("cuLaunchKernel")), 25, "launches")


@case("a thread that launches while the process ends harms nobody")
def _():
    for _ in range(5):
        run = cuda_run("cuda_exits", "thread", status=9)
        cuda = check_cuda(run, lost=True)
        equal(cuda.kernels().get("k1"), 20, "k1")
        expect(cuda.kernels().get("k3", 0) > 0, "no k3")


@case("forked and executed children are recorded as processes of their own")
def _():
    run = cuda_run("cuda_forks")
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    stacks = bare_stacks(run, weight="count")
    for function, kernel in (("in_child", "k1"), ("in_parent", "k2"), ("in_exec", "k3")):
        equal(weight_of(stacks, having("main", function, kernel)), truth[kernel], kernel)
    with_work = {e["process"] for e in run.events("gpu_work") + run.events("gpu_work_long")}
    equal(len(with_work), 3, "processes with work")


@case("CUDA_INJECTION64_PATH of the user's own is replaced, and that is said")
def _():
    env = machine_with("driver", "cupti13", CUDA_INJECTION64_PATH="/nonexistent/tool.so")
    path = new_path()
    done = aflame("record", "-o", path, "--", program("cuda_paths"), "2", env=env)
    equal(done.returncode, 0, "status")
    said = must("print", "--json", "-k", "note", path)
    expect("/nonexistent/tool.so" in said, "what was replaced is not in the trace")


@case("the modules that were loaded are kept under their SHA-256")
def _():
    from device_work import check_objects

    run = cuda_run("cuda_paths", "1")
    equal(len(check_objects(run)), 1, "objects")
    equal([p["form"] for p in run.fields("program")], ["NATIVE"], "forms")


run_cases()
