#!/usr/bin/env python3
"""OpenCL work on a real driver (PoCL will do): every command with its call path, its times on the
trace's clock, its bytes, and the programs that ran."""

import os
import re

from device_work import check_complete, check_objects, check_work, kernel_names, works
from machine import BUILD, SOURCE, need, program, pythons
from recording import bare, must, record
from shares import having, weight_of
from tap import Skip, case, equal, expect, near, note, run_cases


def recorded(name, *words, sampler="none", **how):
    need("opencl")
    run = record(program(name), *words, sampler=sampler, **how)
    check_work(run)
    return run


@case("device time is split over kernels and call paths as it was spent", tries=3)
def _():
    run = recorded("cl_paths", "profile")
    check_complete(run)
    stacks = [([bare(f) for f in frames], w) for frames, w in run.stacks(view="gpu")]
    parts = {
        "%s_path.%s"
        % (path, kernel): having("main", "run", path + "_path", "launch_" + kernel, kernel)
        for path in ("hot", "cold")
        for kernel in ("k1", "k2")
    }
    weights = {name: weight_of(stacks, wanted) for name, wanted in parts.items()}
    for name, weight in weights.items():
        near(weight / sum(weights.values()), run.truth["share." + name], 0.005, name)
    near(
        sum(weights.values()) / 1e6 / run.truth["device_ms"],
        1,
        0.005,
        "device time over what the program saw",
    )
    counts = run.stacks(view="gpu", weight="count")
    for name, want in (
        ("hot_path.k1", 120),
        ("hot_path.k2", 120),
        ("cold_path.k1", 40),
        ("cold_path.k2", 40),
    ):
        equal(weight_of(counts, parts[name]), want, "launches of " + name)


@case("kernels take three times as long as those with a third of the work", tries=3)
def _():
    run = recorded("cl_paths")
    names = kernel_names(run)
    spent = {}
    for work in works(run):
        if work.op == "KERNEL":
            spent[names[work.kernel]] = spent.get(names[work.kernel], 0) + work.end - work.start
            equal((work.descriptor["global_x"], work.descriptor["local_x"]), (4096, 64), "its size")
    near(spent["k1"] / sum(spent.values()), 0.75, 0.04, "k1")


@case("an in-order queue runs one command after the other")
def _():
    run = recorded("cl_paths", "0.3")
    ends = 0
    for work in works(run):
        expect(
            work.start >= ends - 1000,
            "work starts %d ns before the one before has ended" % (ends - work.start),
        )
        ends = work.end


@case("CPU samples and device work of one run are in one tree")
def _():
    need("perf")
    run = recorded("cl_paths", sampler="perf", rate=499)
    both = run.stacks(view="all")
    kinds = {f[-4:] for frames, _ in both for f in frames[-1:]}
    expect("_[G]" in kinds, "no device work in --view all")
    cpu = sum(w for _, w in run.stacks(view="cpu"))
    gpu = sum(w for _, w in run.stacks(view="gpu"))
    expect(cpu and gpu, "cpu %d, gpu %d" % (cpu, gpu))
    on_cpu = weight_of(run.stacks(view="cpu"), lambda f: f[-1] in ("k1", "k2"))
    note("%.2f of the samples are in kernels that run on this CPU" % (on_cpu / cpu))
    expect(on_cpu > 0.5 * cpu, "PoCL's kernels have no names: %f" % (on_cpu / cpu))


@case("queues, sub-devices, contexts and user events are told apart")
def _():
    run = recorded("cl_queues")
    check_complete(run)
    names = kernel_names(run)
    launched, queues_of = {}, {}
    for work in works(run):
        if work.op != "KERNEL":
            continue
        name = names[work.kernel]
        launched[name] = launched.get(name, 0) + 1
        queues_of.setdefault(name, set()).add(work.queue)
        if name == "delayed":
            delay_ms = (work.start - work.queued) / 1e6
            note("delayed starts %.0f ms after it was queued" % delay_ms)
            expect(delay_ms >= 200, "the wait for the user event is not in its times")
    for key, want in run.truth.items():
        if key.startswith("launches.") and want:
            equal(launched.pop(key[len("launches.") :], 0), want, key)
    equal(launched, {}, "other kernels")
    equal(len(queues_of["in_context"]), 8, "queues of in_context")
    equal(len(queues_of["producer"] | queues_of["consumer"]), 2, "queues of producer and consumer")
    check_sub_devices(run, queues_of)
    flags = {q["queue"]: q["flags"] for q in run.fields("queue")}
    for queue in queues_of["top"]:
        expect("OUT_OF_ORDER" in flags[queue], "flags of the diamond's queue: %s" % flags[queue])
    expect(
        not any("USER_PROFILING" in f for f in flags.values()),
        "profiling that nobody asked for: %s" % flags,
    )
    contexts = {q["queue"]: q["context"] for q in run.fields("queue")}
    equal(len({contexts[q] for q in queues_of["in_context"]}), 8, "contexts of in_context")


def check_sub_devices(run, queues_of):
    if not run.truth["launches.sub_work"]:
        note("this device cannot be split")
        return
    devices = {d["device"]: d["parent"] for d in run.fields("device")}
    of_queue = {q["queue"]: q["device"] for q in run.fields("queue")}
    parts = {of_queue[q] for q in queues_of["sub_work"]}
    equal(len(parts), 2, "devices of sub_work")
    whole = {of_queue[q] for q in queues_of["top"]}
    equal({devices[p] for p in parts}, whole, "what they are parts of")


@case("what waits for an event starts after it has ended")
def _():
    run = recorded("cl_queues")
    names = kernel_names(run)
    last = {}
    for work in sorted((w for w in works(run) if w.op == "KERNEL"), key=lambda w: w.start):
        name = names[work.kernel]
        before = {
            "left": ["top"],
            "right": ["top"],
            "bottom": ["left", "right"],
            "consumer": ["producer"],
        }
        for other in before.get(name, []):
            expect(
                last[other] <= work.start + 1000, "%s starts before %s has ended" % (name, other)
            )
        last[name] = work.end


@case("events that are never released cost nothing and lose nothing")
def _():
    run = recorded("cl_leak")
    check_complete(run)
    by_op = {}
    for work in works(run):
        by_op[work.op] = by_op.get(work.op, 0) + 1
    equal(by_op, {"KERNEL": 5000, "WRITE": 501, "READ": 500}, "commands")


OPS = {
    "write": "WRITE",
    "write_rect": "WRITE",
    "read": "READ",
    "read_rect": "READ",
    "copy": "COPY",
    "copy_rect": "COPY",
    "svm_memcpy": "COPY",
    "fill": "FILL",
    "svm_fill": "FILL",
    "map": "MAP",
    "svm_map": "MAP",
    "unmap": "UNMAP",
    "svm_unmap": "UNMAP",
    "migrate": "MIGRATE",
}


@case("every kind of transfer has its exact bytes, and the function that asked for it")
def _():
    run = recorded("cl_copies", "0.5")
    check_complete(run)
    want, got = {}, {}
    for key, value in run.truth.items():
        what, kind = key.split(".")
        entry = want.setdefault(OPS[kind], {"calls": 0, "bytes": 0})
        entry[what] += value
    for work in works(run):
        entry = got.setdefault(work.op, {"calls": 0, "bytes": 0})
        entry["calls"] += 1
        entry["bytes"] += work.descriptor["bytes"]
    equal(got, want, "calls and bytes by operation")
    stacks = run.stacks(view="gpu", weight="bytes")
    for kind in ("write", "read", "copy", "write_rect", "read_rect", "copy_rect", "fill"):
        bytes_there = weight_of(stacks, lambda f, k=kind: "enqueue_" + k in f)
        extra = 0
        if kind == "read":
            extra = 4096 * 10  # enqueue_map reads back too
        equal(bytes_there, run.truth["bytes." + kind] - extra, "bytes of enqueue_" + kind)


@case("calls that fail stay failures, and no work is made of them")
def _():
    run = recorded("cl_errors", quiet=False)  # the device's compiler speaks on standard error
    names = kernel_names(run)
    fine = [w for w in works(run) if w.op == "KERNEL" and not w.status]
    equal(len(fine), int(run.truth["launches"]), "launches")
    equal({names[w.kernel] for w in fine}, {"fine"}, "kernels that ran")
    for work in works(run):
        if work.status:
            expect(not work.stamped, "times of work that never was")
    device = weight_of(run.stacks(view="gpu", weight="count"), lambda f: f[-1] == "never")
    equal(device, 0, "launches of never in the flame graph")


@case("a program sees its own queues and events as without the layer")
def _():
    run = recorded("cl_user_profiling")
    check_complete(run)
    equal(len([w for w in works(run) if w.op == "KERNEL"]), int(run.truth["launches"]), "launches")
    flags = sorted("USER_PROFILING" in q["flags"] for q in run.fields("queue"))
    equal(flags, [False, False, True, True], "queues with the program's own profiling")


@case("a process that ends with work in the queue ends, and what is missing is reported")
def _():
    for how in ("return", "exit", "_exit"):
        run = recorded("cl_exit_without_finish", how, status=9)
        equal(len(run.events("launch")), 20, "launches (%s)" % how)
        done = len(run.events("work")) + len(run.events("work_long"))
        note("%s: %d of 20 completed" % (how, done))
        expect(1 <= done <= 20, "%d pieces of work" % done)
        if done < 20:
            summary = must("report", "summary", run.path)
            lost = summary[summary.index("What was lost") :]
            expect(re.search(r"\b%d\b" % (20 - done), lost), lost)


@case("sources and binaries of programs are kept under their SHA-256")
def _():
    run = recorded("cl_paths", "0.1")
    named = check_objects(run)
    forms = [p["form"] for p in run.fields("program")]
    expect("SOURCE" in forms and "BINARY" in forms, "forms: %s" % forms)
    source = next(p["object"] for p in run.fields("program") if p["form"] == "SOURCE")
    with open(os.path.join(run.path, "objects", source), "rb") as file:
        text = file.read()
    expect(b"kernel void k1(global uint *out, uint n)" in text, "the source is not the source")
    note("%d objects" % len(named))
    for p in run.fields("kernel"):
        expect(p["program"], "kernel %s of no program" % p["name"])


@case("the same source built in eight contexts is kept once")
def _():
    run = recorded("cl_queues")
    check_objects(run)
    sources = [p["object"] for p in run.fields("program") if p["form"] == "SOURCE"]
    note("%d programs, %d sources" % (len(sources), len(set(sources))))
    equal(len(set(sources)), 1, "different sources")


@case("--verify finds every replayed stack to be the walked one")
def _():
    run = recorded("cl_paths", options=["--verify"])
    notes = {n["key"]: n["value"] for n in run.fields("note")}
    note({k: v for k, v in notes.items() if k.startswith("replay.")})
    expect(int(notes["replay.hits"]) > 200, "too few replays to tell: %s" % notes["replay.hits"])
    equal(notes["replay.wrong"], "0", "wrong replays")


@case("--api none leaves OpenCL alone")
def _():
    need("opencl")
    run = record(program("cl_paths"), "0.1", options=["--api", "none"])
    equal(
        [run.counts().get(k, 0) for k in ("launch", "work", "queue")],
        [0, 0, 0],
        "launches, work, queues",
    )


# --- the demo: a transformer block


@case("the demo in C: device work stands on the stages that asked for it")
def _():
    need("opencl")
    demo = os.path.join(BUILD, "demo/aflame-demo")
    if not os.path.exists(demo):
        raise Skip("the demo was not built here")
    run = record(demo, "--steps", "6", "--check")
    check_work(run)
    check_complete(run)
    stacks = run.stacks(view="gpu")
    for stage, kernel in (
        ("block_attention", "softmax_rows"),
        ("attention_scores", "matmul"),
        ("block_norm", "layer_norm"),
    ):
        expect(
            weight_of(stacks, having("main", "run_step", stage, kernel)),
            "no %s under %s" % (kernel, stage),
        )


@case("the demo in Python: device work stands on the lines of train.py")
def _():
    need("opencl")
    found = pythons()
    if not found:
        raise Skip("no Python from 3.8 to 3.15 here")
    library = os.path.join(BUILD, "demo/libdemoblock.so")
    script = os.path.join(SOURCE, "demo/train.py")
    for version, python in [found[0], found[-1]]:
        run = record(
            python,
            script,
            "--library",
            library,
            "--steps",
            "8",
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"),
        )
        check_work(run)
        check_complete(run)
        check_demo_paths(run.stacks(view="gpu"), version)


def check_demo_paths(stacks, version):
    total = sum(w for _, w in stacks)
    order = [
        r"<module> \(train\.py:\d+\)$",
        r"main \(train\.py:\d+\)$",
        r".*train_step \(train\.py:\d+\)$",
        r".*forward \(train\.py:\d+\)$",
        r"device_launch$",
        r"matmul$",
    ]

    def wanted(frames):
        rest = iter(frames)
        return all(any(re.match(p, f) for f in rest) for p in order)

    share = weight_of(stacks, wanted) / total
    note(
        "Python %s: %.2f of the device time is matmul under train_step and forward"
        % (version, share)
    )
    expect(share > 0.3, "Python %s: the path is not there" % version)
    in_script = weight_of(stacks, lambda f: any("(train.py:" in x for x in f))
    expect(in_script >= 0.99 * total, "device time outside of train.py")


run_cases()
