#!/usr/bin/env python3
"""The kernel's side of Intel GPUs, in a virtual machine: stand-ins for xe and i915, and the real i915 (vm/README.md)."""

import functools
import json
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm"))

import guest  # first, as machine gives tests a cache of their own
from intel_driver import NO_HARDWARE
from intel_whole import Whole, check_tree, check_views
from machine import BUILD, probes
from recording import Trace, bare, must, new_path, parse_folded
from tap import Skip, case, equal, expect, note, run_cases

STEPS = ["modules", "walk", "drivers", "batches"]
STALLS = ["doctor", "kernels", "stalls", "busy", "layouts"]  # where the build has the collector
FACTS = 88  # of xe_walk


def has_collector():
    return "xe-eustall" in probes()


def need_collector():
    if not has_collector():
        raise Skip("no collector xe-eustall in this build")


def batches(out):
    """Batches of an Intel GPU: COMPUTE_WALKERs in a second level, and a circle of calls without an end."""
    bases = [0x61010014, *[0] * 5, 1, 0, 0, 0, 1, 0x8000, *[0] * 10]
    walkers = [word for i in range(100) for word in (0x72080025, *[0] * 17, 0xF0000080 + 64 * i, *[0] * 20)]
    whole = bases + [0x18C00101, 0x10000 + 4 * (len(bases) + 4), 0, 0x05000000] + walkers + [0x05000000]
    endless = [0x18C00101, 0x10000, 0] * 32 + [0x18800101, 0x10004, 0]
    for name, words in (("whole", whole), ("endless", endless)):
        with open("%s/batch-%s" % (out, name), "wb") as file:
            file.write(struct.pack("<%dI" % len(words), *words))


@functools.lru_cache(maxsize=None)
def whole():
    """The kernel that Intel's driver will launch in the guest, or the reason why there is none."""
    try:
        need_collector()
        return Whole(), None
    except Skip as reason:
        return None, str(reason)


def whole_prepare(out):
    """What step_whole() wants, in the folder @out: the module, rows that lie in the kernel, the command."""
    it = whole()[0]
    os.mkdir(out)
    module = shutil.copy(it.words[-1], out)
    with open(out + "/rows", "wb") as file:
        file.write(it.content)
    with open(out + "/program", "w", encoding="ascii") as file:
        json.dump({"words": it.words[:-1] + [module], "env": NO_HARDWARE}, file)


def steps():
    stalls = STALLS if has_collector() else []
    return STEPS + stalls + (["whole"] if whole()[0] else []) + ["i915", "kernel"]


@functools.lru_cache(maxsize=None)
def booted():
    """The folder that the guest wrote to, or the reason why there is none: booted once for all cases."""
    out = new_path("guest")
    os.mkdir(out)
    batches(out)
    command = "exec python3 -B %s/inside.py %s %s >$OUT/output 2>&1\n" % (guest.HERE, BUILD, " ".join(steps()))
    try:
        for name in ("xe_walk", "xe_work", "xe_batch", "i915_batch"):
            guest.call("gcc", "-O1", "-g", "-Wall", "-Werror", "-o", "%s/%s" % (out, name), "%s/%s.c" % (guest.HERE, name))
        if whole()[0]:
            whole_prepare(out + "/whole")
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
    equal(notes.get("collector.drm"), "calls seen: %s; times of work: by gpu_scheduler, of i915; kernels in batches of: xe, i915" % HOOKS, "the note")


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
        # It has no memory where its batches would be.
        expect(frames[-1] == "[batch not readable at its launch]" and frames[-3:-1] == ["submit", "ioctl"], frames)
        paths[frames[-4]] = weight
    equal(paths, {"draw": 3, "compute": 2}, "pieces of work by who asked for them")


SUBMITTED = {  # by xe_batch: who submitted the batch, how it is called, the kernel in it: samples
    ("own", None, "fffd0080"): 5,
    ("together", "[batch of 2 kernels]", "fffe0080"): 7,
    ("other_space", None, "ffff0080"): 11,
    ("lately", "[batch not readable at its launch]", "fff00080"): 13,
    ("late", None, "fff00080"): 1,
    ("deep", None, "ffe00080"): 17,
    ("rebound", None, "ffd00080"): 19,
    ("placed", None, "ffb00080"): 29,
    ("placed_again", None, "ffb00080"): 31,
    ("child", None, "ffc00080"): 23,
}


def kernels_trace():
    need_collector()
    step = found("kernels")
    equal(step["recorder"]["status"], 0, "status of the recorder, which printed " + step["recorder"]["out"])
    equal(step["work"], {"status": 0, "out": "done\n"}, "the program's end")
    return Trace(booted()[0] + "/kernels")


@case("kernels in batches of a program without libaflame have the samples, under the stacks that submitted them")
def _():
    trace = kernels_trace()
    got = {}
    for frames, weight in parse_folded(must("flame", "--view", "gpu", "--depth", "stall", "--weight", "samples", trace.path)):
        frames = [bare(f) for f in frames]
        at = frames.index("ioctl")
        equal(frames[at - 1], "submit", "the caller of the driver")
        *batch, kernel, offset, reason = frames[at + 1 :]
        equal((offset, reason), ("0x0010", "[scoreboard]"), "the instruction and why it stalls, in %s" % frames)
        key = (frames[at - 2], batch[0] if batch else None, kernel.replace("kernel at 0x8000", ""))
        got[key] = got.get(key, 0) + weight
    equal(got, SUBMITTED, "samples")


@case("of a batch that is written late kernels are found later; memory that is not there has none")
def _():
    notes = {n["key"]: n["value"] for n in kernels_trace().fields("note")}
    expect(notes["collector.drm"].endswith("kernels in batches of: xe, i915"), notes["collector.drm"])
    want = "1 batches of GPUs were read later than they were submitted; 3 could not be read to their ends"
    expect(notes.get("collector.batches", "").startswith(want), notes)
    lost = [e for e in kernels_trace().fields("lost") if e["reason"] != "PAUSED"]
    equal(lost, [], "losses")


@case("code has its place as long as the GPU has its memory")
def _():
    placed = [p["size"] for p in kernels_trace().fields("code_placed") if number(p["address"]) == 0x8000FFB00080]
    # The recorder may read of the kernel when its memory is gone: then nothing tells its end but the cap, 64 KiB.
    sizes = (16 * 4096 - 0x80, 1 << 16)
    equal([size in sizes or size for size in placed], [True, 0, True, 0], "sizes")


def samples_of(trace):
    """{card: {address: {reason: count}}} of a trace, and the card of each window."""
    cards = {d["device"]: d["value"] for d in trace.fields("device_note") if d["key"] == "pci"}
    windows = {w["window"]: w for w in trace.fields("gpu_window")}
    reasons = {s["stall"]: s["name"] for s in trace.fields("stall")}
    found = {}
    for sample in trace.fields("address_sample"):
        card = cards[windows[sample["window"]]["device"]]
        sums = found.setdefault(card, {}).setdefault("%#x" % number(sample["address"]), {})
        for reason, count in zip(sample["counts"][::2], sample["counts"][1::2]):
            sums[reasons[reason]] = sums.get(reasons[reason], 0) + count
    return found


def number(field):
    return int(field, 0) if isinstance(field, str) else field


def stalls_trace(name, recorder):
    equal(recorder["status"], 0, "status of the recorder, which printed " + recorder["out"])
    trace = Trace("%s/%s" % (booted()[0], name))
    trace.check()
    return trace


@case("doctor: root may observe, a user only where dev.xe.observation_paranoid is 0")
def _():
    need_collector()
    doctor = found("doctor")
    expect(doctor["root"]["works"] and doctor["allowed"]["works"], doctor)
    expect("0000:00:04.0" in doctor["root"]["says"], doctor["root"]["says"])
    expect(not doctor["refused"]["works"] and "sysctl dev.xe.observation_paranoid=0" in doctor["refused"]["says"], doctor)


@case("doctor: root may see the work of the kernel's drivers, with the kernels in batches; a user may not")
def _():
    need_collector()
    doctor = found("doctor")
    expect(doctor["drivers"]["works"], doctor["drivers"])
    for words in ("xe_exec,", "by gpu_scheduler, of i915", "batches of: xe, i915"):
        expect(words in doctor["drivers"]["says"], doctor["drivers"])
    expect("refused" not in doctor["drivers"]["says"], doctor["drivers"])
    equal(doctor["refused_drivers"], {"works": False, "says": "bpf does not work (see above)"}, "a user")


@case("all rows of both cards are in the trace, by address and reason, across a reset and a drop")
def _():
    need_collector()
    step = found("stalls")
    trace = stalls_trace("stalls", step["recorder"])
    equal(samples_of(trace), step["sent"], "samples")
    equal([s["open"] for s in step["states"]], [0, 0], "streams that are left open")
    lost = sum(e["count"] for e in trace.fields("lost") if e["reason"] in ("DROPPED", 17))
    expect(lost > 0, "the drop is not a loss: %r" % trace.fields("lost"))


@case("a GT that another tool observes is named, and the other card is sampled")
def _():
    need_collector()
    step = found("busy")
    trace = stalls_trace("busy", step["recorder"])
    equal(samples_of(trace), step["sent"], "samples")
    expect("(0000:00:04.0) is not sampled: another program observes it" in step["recorder"]["out"], step["recorder"]["out"])
    (text,) = [n["value"] for n in trace.fields("note") if n["key"] == "collector.xe"]
    expect("0000:00:04.0): another program observes it" in text and "0000:00:05.0): every" in text, text)


@case("rows of Ponte Vecchio, of both its tiles, and of Xe3p")
def _():
    need_collector()
    step = found("layouts")
    for graphics in ("1260", "3500"):
        equal(step[graphics]["loaded"]["status"], 0, "the stand-in, which printed " + step[graphics]["loaded"]["out"])
        trace = stalls_trace("stalls-" + graphics, step[graphics]["recorder"])
        equal(samples_of(trace), step[graphics]["sent"], "samples of graphics " + graphics)


@case("the BPF program that reads batches loads into Debian's kernel, and finds what the library finds")
def _():
    if not os.path.exists(BUILD + "/tests/live/batch/submit"):
        raise Skip("built without the collector bpf")
    step = found("batches")
    equal(step["status"], 0, "status: %s" % step["out"])
    lines = [line.split(" ", 1) for line in step["out"].splitlines()]
    library, kernel = ([rest for who, rest in lines if who == name] for name in ("library", "kernel"))
    equal(kernel, library, "lines of the BPF program")
    equal([line for line in kernel if line.startswith("stop")][-1], "stop end 104", "the whole batch")
    equal(len([line for line in kernel if " compute " in line]), 100, "kernels")


@case("the whole of it with a kernel's driver: Intel's own Level Zero driver, the stack, the line, the instruction, the reason")
def _():
    it, reason = whole()
    if not it:
        raise Skip(reason)
    step = found("whole")
    equal(step["recorder"]["status"], 0, "status of the recorder, which printed " + step["recorder"]["out"])
    trace = Trace(booted()[0] + "/whole/trace")
    check_tree(it, trace, slow=True)
    check_views(it, trace)


def i915_trace():
    step = found("i915")
    equal(step["loaded"], {"status": 0, "out": ""}, "the stand-in for i915")
    equal(step["recorder"]["status"], 0, "status of the recorder, which printed " + step["recorder"]["out"])
    equal(step["work"], {"status": 0, "out": "done\n"}, "the program's end")
    return Trace(booted()[0] + "/i915")


@case("i915: kernels in batches of a program without libaflame, under the stacks that submitted them")
def _():
    got = {}
    for frames, weight in i915_trace().stacks("gpu", "count"):
        frames = [bare(f) for f in frames]
        at = frames.index("ioctl")
        equal(frames[at - 1], "submit", "the caller of the driver")
        got[frames[at - 2]] = (frames[at + 1].replace("kernel at 0x8000", ""), weight)
    want = {
        "own": ("fffd0080", 1),
        "together": ("[batch of 2 kernels]", 1),
        "twice": ("fff00080", 2),
        "gone": ("[batch not readable at its launch]", 1),  # not what the process has there by now
        "mapped_again": ("ffd00080", 1),
    }
    equal(got, want, "batches by who submitted them")


@case("i915: work is queued and done when the stand-in says so itself, one piece after the other")
def _():
    trace, step = i915_trace(), found("i915")
    (device,) = trace.fields("device")
    equal(device["name"], "i915 " + step["card"], "the device")
    expect("[work on ccs0]" in [k["name"] for k in trace.fields("kernel")], "the engine")
    works = trace.fields("work_long")
    equal(len(works), len(step["times"]), "pieces of work")
    done = 0
    for work, (queued_from, queued_to, done_from, done_to) in zip(works, step["times"]):
        expect(queued_from <= work["queued_ns"] <= queued_to, "queued: %r, %d to %d" % (work, queued_from, queued_to))
        expect(done_from <= work["end_ns"] <= done_to, "done: %r, %d to %d" % (work, done_from, done_to))
        equal(work["start_ns"], max(work["queued_ns"], done), "begin: queued, and the piece before it is done")
        done = work["end_ns"]
        expect(done_from - queued_from >= 200e6, "200 ms of work took %d ns" % (done_from - queued_from))
    equal(sum(work["start_ns"] > work["queued_ns"] for work in works), 1, "pieces that waited for another")


@case("the guest's kernel had nothing to complain of")
def _():
    equal(found("kernel")["wrong"], [], "complaints")


run_cases()
