#!/usr/bin/env python3
"""The kernel's side of Intel GPUs, in a virtual machine: a stand-in for the driver xe, the real i915 (vm/README.md)."""

import functools
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm"))

import guest  # first, as machine gives tests a cache of their own
from machine import BUILD
from recording import Trace, bare, new_path
from tap import Skip, case, equal, expect, note, run_cases
from xe_card import REASONS, Samples, Sent, row

STEPS = ("modules", "walk", "drivers", "stalls", "kernel")
FACTS = 85  # of xe_walk


SENT = Sent()


def rows_write(out):
    """Three files of rows for the stand-in, whose samples SENT has."""
    r = random.Random(21)
    for n in range(1, 4):
        with open("%s/rows.%d" % (out, n), "wb") as file:
            for _ in range(2000):
                ip = r.choice((0, r.randrange(1, 300), (1 << 29) - r.randrange(1, 300)))
                counts = {reason: r.randrange(1, 256) for reason in r.sample(REASONS, 3)}
                file.write(row("xe2", ip, counts))
                SENT.add(1, ip, counts)


@functools.lru_cache(maxsize=None)
def booted():
    """The folder that the guest wrote to, or the reason why there is none: booted once for all cases."""
    out = new_path("guest")
    os.mkdir(out)
    command = "exec python3 -B %s/inside.py %s %s >$OUT/output 2>&1\n" % (guest.HERE, BUILD, " ".join(STEPS))
    try:
        for name in ("xe_walk", "xe_work"):
            guest.call("gcc", "-O1", "-g", "-Wall", "-Werror", "-o", "%s/%s" % (out, name), "%s/%s.c" % (guest.HERE, name))
        rows_write(out)
        status = guest.boot(command, out, ["xe", "i915"])
    except guest.Missing as reason:
        return None, str(reason)
    if status != 0:
        with open(out + "/console", encoding="utf-8", errors="replace") as file:
            raise AssertionError("the guest ended with %s: %s" % (status, file.read()[-2000:]))
    return out, None


def found(step):
    """What a step found in the guest."""
    out, reason = booted()
    if reason:
        raise Skip(reason)
    with open(out + "/results.json", encoding="utf-8") as file:
        result = json.load(file)[step]
    note("%s: %.1f s in the guest" % (step, result["seconds"]))
    expect("broke" not in result, result.get("broke"))
    return result


@case("a guest boots, has the stand-in's cards and the real i915, and their types")
def _():
    modules = found("modules")
    equal(modules["failed"], [], "modules that were refused")
    equal(modules["btf"], ["xe", "i915", "drm", "gpu_sched"], "modules with BTF")
    equal(modules["nodes"], ["/dev/dri/renderD128", "/dev/dri/renderD129"], "the cards' nodes")


@case("the stand-in answers and refuses every ioctl as xe does")
def _():
    walk = found("walk")
    lines = walk["out"].splitlines()
    equal([line for line in lines if not line.startswith("ok ")][:-1], [], "facts that do not hold")
    equal(lines[-1], "%d facts" % FACTS, "number of facts")


HOOKS = "xe_exec, xe_vm_bind, xe_exec_queue_create, xe_gem_mmap_offset, i915_gem_execbuffer, i915_gem_mmap_offset, i915_gem_mmap, i915_gem_context_create"


def drivers_trace():
    step = found("drivers")
    equal(step["recorder"]["status"], 0, "status of the recorder, which printed " + step["recorder"]["out"])
    equal(step["work"], {"status": 0, "out": "done\n"}, "the program's end")
    return Trace(booted()[0] + "/drivers")


@case("record -a attaches to xe's and the real i915's functions, and to gpu_scheduler")
def _():
    notes = {n["key"]: n["value"] for n in drivers_trace().fields("note")}
    equal(notes.get("collector.drm"), "calls seen: %s; times of work: by gpu_scheduler" % HOOKS, "the note")


@case("calls of the driver are seen with the stack of the caller")
def _():
    trace = drivers_trace()
    names = {f["function"]: f["name"] for f in trace.fields("function")}
    calls = [names[c["function"]] for c in trace.fields("call_seen")]
    want = ["xe_exec_queue_create", "xe_vm_bind", "xe_gem_mmap_offset"] + ["xe_exec"] * 5
    equal(calls, want, "calls")


@case("work of a driver has the stack that asked for it, and its times, one after the other")
def _():
    trace = drivers_trace()
    (device,) = trace.fields("device")
    equal(device["name"], "xe 0000:00:04.0", "the device")
    works = trace.fields("work_long")
    equal([w["correlation"] for w in works], [1, 2, 3, 4, 5], "in their order")
    done = total_ms = 0
    for work, ms in zip(works, (40, 40, 40, 20, 20)):
        expect(work["queued_ns"] <= work["submit_ns"] <= work["start_ns"] <= work["end_ns"], "times out of order: %r" % work)
        equal(work["start_ns"], max(work["submit_ns"], done), "begin: given to the device, and the piece before it is done")
        done = work["end_ns"]
        total_ms += ms
        # The emulated machine may be late, but never early.
        took_ms = (done - works[0]["submit_ns"]) / 1e6
        expect(took_ms >= total_ms, "%d ms of work took %f" % (total_ms, took_ms))
    paths = {}
    for frames, weight in trace.stacks("gpu", "count"):
        frames = [bare(f) for f in frames]
        expect(frames[-1] == "[work on ccs0]" and frames[-3:-1] == ["submit", "ioctl"], frames)
        paths[frames[-4]] = weight
    equal(paths, {"draw": 3, "compute": 2}, "pieces of work by who asked for them")


@case("each row of the driver's stall sampler is in the trace, also after drops and a reset")
def _():
    step = found("stalls")
    equal(step["recorder"], {"status": 0, "out": ""}, "the recorder")
    trace = Trace(booted()[0] + "/stalls")
    trace.check()
    samples = Samples(trace)
    samples.check(SENT)
    equal(samples.dropped(), 1, "dropped")
    notes = {n["key"]: n["value"] for n in trace.fields("note")}
    expect("the GPU was reset 1 times, and opened again 1 times" in notes["collector.xe.rows"], notes)
    before, after = step["before"], step["after"]
    equal((after["rate"], after["wait"], after["open"]), (1004, 1024, 0), "rate, rows to wait for, open")
    since = {key: after[key] - before[key] for key in ("opened", "added", "taken", "lost")}
    equal(since, {"opened": 2, "added": SENT.rows, "taken": SENT.rows, "lost": 0}, "by the stand-in's account")


@case("doctor names what bars a user from the stall sampler: the node, then the kernel's gate")
def _():
    root, node, gate, free = found("stalls")["doctors"]
    expect(root[0] and "1 GT, rows of Xe2, every 251 to 1757 cycles; GPU" in root[1], root)
    expect(not node[0] and "renderD128 may not be opened by this user" in node[1], node)
    expect(not gate[0] and "run `sysctl dev.xe.observation_paranoid=0` as root" in gate[1], gate)
    expect(free[0], free)


@case("the guest's kernel had nothing to complain of")
def _():
    equal(found("kernel")["wrong"], [], "complaints")


run_cases()
