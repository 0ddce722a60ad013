#!/usr/bin/env python3
"""Inside kernels, on a real driver (PoCL runs them on this machine's processors): samples of its
threads are samples of instructions, each below the call path that launched the kernel."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys

from machine import BUILD, SOURCE, any_sampler, need, need_tool, program
from recording import Trace, aflame, bare, must, new_path, parse_folded, record
from shares import having, tolerance, weight_of
from tap import Skip, case, equal, expect, near, note, run_cases

PATHS = [(path, kernel) for path in ("hot", "cold") for kernel in ("k1", "k2")]


@functools.lru_cache(maxsize=None)
def devices():
    return must("doctor")


def need_pocl():
    need("opencl")
    if not re.search("pocl|portable computing", devices(), re.I):
        raise Skip("no PoCL here, so no kernels run on the processors")


def recorded(*command, options="", cache=None, **how):
    """A recording with samples; PoCL keeps its objects in @cache."""
    need_pocl()
    env = dict(os.environ, POCL_CACHE_DIR=cache or new_path("pocl"), CL_PROGRAMS_OPTIONS=options)
    os.makedirs(env["POCL_CACHE_DIR"], exist_ok=True)
    if not options:
        del env["CL_PROGRAMS_OPTIONS"]
    env.update(how.pop("env", {}))
    return record(*command, sampler=any_sampler(), env=env, **how)


def stacks_of(trace, depth, weight="samples"):
    """What the device did, and the share of samples that were exact and apportioned."""
    done = aflame("flame", "--view", "gpu", "--depth", depth, "-w", weight, trace.path)
    expect(done.returncode == 0, done.stderr)
    found = re.search(
        r"(\d+) samples of instructions: ([\d.]+) % exact, ([\d.]+) % apportioned", done.stderr
    )
    expect(found, "nothing is reported of samples: %s" % done.stderr)
    note(done.stderr.strip())
    return parse_folded(done.stdout), [float(word) for word in found.groups()]


def in_kernel(frames):
    return any(frame.endswith("_[G]") for frame in frames)


def check_attributed(run):
    """The samples in kernels on the CPU are those of instructions, and have call paths."""
    stacks, (reported, exact, apportioned) = stacks_of(run, "insn")
    sampled = sum(w for f, w in run.stacks(view="cpu", weight="samples") if in_kernel(f))
    equal(sum(w for _, w in stacks), reported, "samples in the graph")
    equal(reported, sampled, "samples of instructions, and of threads in kernels")
    expect(exact + apportioned >= 99, "only %.1f %% have a kernel" % (exact + apportioned))
    for frames, _ in stacks:
        expect(frames[-1].endswith("_[g]"), "no instruction at the end of %s" % frames)
    return stacks


@case("samples of PoCL's threads are of instructions, below the path that launched", tries=3)
def _():
    run = recorded(program("cl_paths"), "profile")
    stacks = check_attributed(run)
    weights = {
        (path, kernel): weight_of(
            stacks, having("main", "run", path + "_path", "launch_" + kernel, kernel)
        )
        for path, kernel in PATHS
    }
    whole = sum(weights.values())
    for (path, kernel), weight in weights.items():
        name = "%s_path.%s" % (path, kernel)
        truth = run.truth["share." + name]
        near(weight / whole, truth, tolerance(any_sampler(), truth, whole), name)
    times, _ = stacks_of(run, "insn", "time")
    shallow = parse_folded(must("flame", "--view", "gpu", "--depth", "kernel", run.path))
    equal(sum(w for _, w in times), sum(w for _, w in shallow), "time at any depth")


def disassembled(path, function):
    """{offset: (mnemonic, offset that it jumps to or None)} of @function, by objdump."""
    text = subprocess.run(
        [need_tool("objdump"), "-d", "--no-show-raw-insn", path],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=True,
    ).stdout
    body = re.search(r"^([0-9a-f]+) <%s>:\n(.*?)(?:\n\n|\Z)" % function, text, re.M | re.S)
    expect(body, "%s is not in its object" % function)
    start = int(body.group(1), 16)
    insns = {}
    for at, mnemonic, operands in re.findall(
        r"^ *([0-9a-f]+):\t(\w+) *(.*)$", body.group(2), re.M
    ):
        target = re.match(r"([0-9a-f]+) <", operands) if mnemonic.startswith("j") else None
        insns[int(at, 16) - start] = (mnemonic, target and int(target.group(1), 16) - start)
    return insns


def loops_of(insns):
    """[(first, last)] offsets of the innermost loops."""
    back = [(to, at) for at, (_, to) in insns.items() if to is not None and 0 <= to < at]
    return [
        (first, last)
        for first, last in back
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in back)
    ]


def codes_of(run):
    """{function: path of its object in the trace}"""
    objects = {
        e["fields"]["program"]: e["fields"]["object"]
        for e in run.events("program")
        if not e["process"]
    }
    return {
        f["name"]: os.path.join(run.path, "objects", objects[f["program"]])
        for f in run.fields("code")
    }


@case("the hot instructions are those of the kernel's loop, and are called what they are", tries=3)
def _():
    run = recorded(program("cl_paths"), "0.5")
    stacks, _ = stacks_of(run, "insn")
    for function, path in codes_of(run).items():
        kernel = re.sub(r"^_pocl_kernel_(\w+?)_workgroup\w*$", r"\1", function)
        insns = disassembled(path, function)
        loops = loops_of(insns)
        whole = inside = 0
        for frames, weight in stacks:
            if kernel not in map(bare, frames):
                continue
            offset, *text = bare(frames[-1]).split()
            equal(text[:1], [insns[int(offset, 16)][0]], "the instruction at " + offset)
            whole += weight
            inside += weight if any(a <= int(offset, 16) <= b for a, b in loops) else 0
        note("%s: %d of %d samples in the loops %s" % (kernel, inside, whole, loops))
        expect(whole and inside >= 0.95 * whole, "%d of %d in the loop" % (inside, whole))


@case("lines are those of the kernel's source, where the compiler kept them", tries=3)
def _():
    run = recorded(program("cl_paths"), "0.1", options="-g -cl-opt-disable")
    stacks, _ = stacks_of(run, "line")
    lines = {}
    for frames, weight in stacks:
        found = re.match(r"(\w+) \(.*\.cl:(\d+)\)$", bare(frames[-1]))
        key = (found.group(1), int(found.group(2))) if found else None
        lines[key] = lines.get(key, 0) + weight
    note("samples by line: %s" % lines)
    loop = sum(w for key, w in lines.items() if key and key[0] == "spin" and 3 <= key[1] <= 6)
    expect(loop >= 0.95 * sum(lines.values()), "not in the loop of spin(): %s" % lines)
    # What a kernel calls is below the kernel.
    for frames, _ in stacks:
        expect({"k1", "k2"} & {bare(f) for f in frames}, "no kernel in %s" % frames)


def same_elsewhere(run, cache):
    """The trace, moved to where no object of PoCL is, says what it reported."""
    before = {d: must("flame", "--view", "gpu", "--depth", d, run.path) for d in ("line", "insn")}
    moved = Trace(new_path("moved"))
    shutil.copytree(run.path, moved.path)
    shutil.rmtree(cache)
    run.remove()
    for depth, text in before.items():
        equal(must("flame", "--view", "gpu", "--depth", depth, moved.path), text, depth)
    return moved


@case("a trace says the same where PoCL's cache is not")
def _():
    cache = new_path("pocl")
    run = recorded(program("cl_paths"), "0.2", cache=cache, options="-g -cl-opt-disable")
    check_attributed(same_elsewhere(run, cache))


@case("kernels that PoCL deletes with their program are in the trace")
def _():
    run = recorded(program("cl_paths"), "0.2", env={"POCL_KERNEL_CACHE": "0"})
    check_attributed(run)


@case("queues and parts of devices at once: no sample is lost or counted twice")
def _():
    check_attributed(recorded(program("cl_queues")))


@case("in one tree with its threads a kernel's time is there once")
def _():
    run = recorded(program("cl_paths"), "0.3")
    cpu, gpu = run.stacks(view="cpu"), run.stacks(view="gpu")
    threads = sum(w for f, w in cpu if not in_kernel(f))
    device = sum(w for _, w in gpu)
    for depth in ("kernel", "insn"):
        text = must("flame", "--view", "all", "--depth", depth, run.path)
        equal(sum(w for _, w in parse_folded(text)), threads + device, "time, to " + depth)
    both = must("flame", "--view", "all", "-w", "samples", run.path)
    samples = run.stacks(view="cpu", weight="samples")
    equal(sum(w for _, w in parse_folded(both)), sum(w for _, w in samples), "samples")


@case("a training script goes from Python to instructions of kernels", tries=3)
def _():
    library = os.path.join(BUILD, "demo/libdemoblock.so")
    if not os.path.exists(library):
        raise Skip("the demo was not built here")
    script = os.path.join(SOURCE, "demo/train.py")
    run = recorded(sys.executable, script, "--library", library, "--steps", "60")
    stacks = check_attributed(run)
    python = weight_of(stacks, lambda f: any(re.search(r"\(train\.py:\d+\)", x) for x in f))
    whole = sum(w for _, w in stacks)
    note("%d of %d samples stand on the script" % (python, whole))
    expect(python >= 0.99 * whole, "only %d of %d stand on the script" % (python, whole))
    matmul = weight_of(stacks, lambda f: "matmul" in f)
    expect(matmul > 0.5 * whole, "matmul has %d of %d" % (matmul, whole))



def annotated_rows(run, name, *arguments):
    reported = json.loads(must("annotate", "--json", *arguments, run.path))
    return next(table["rows"] for table in reported["tables"] if table["name"] == name)


def annotated(run, *arguments):
    """The tables of `aflame annotate`, their rows as dictionaries."""
    reported = json.loads(must("annotate", "--json", *arguments, run.path))
    return {
        table["name"]: table["rows"]
        for table in reported["tables"]
    }


@case("annotate has the kernel's lines, by the text in the trace, and its instructions", tries=3)
def _():
    need_tool("objdump")
    run = recorded(program("cl_paths"), "0.3", options="-g -cl-opt-disable")
    # Each kernel has an object of its own, with the function that both call.
    tables = annotated(run, "spin")
    facts = {row["key"]: row["value"] for row in tables["kernel"]}
    other = annotated(run, re.search(r"spin@[0-9a-f]{8}", facts["same_name"]).group())
    insns = [row for row in tables["insns"] if row["samples"]]
    whole = sum(row["samples"] for row in insns)
    both = whole + sum(row["samples"] for row in other["insns"])
    stacks, _ = stacks_of(run, "insn")
    sampled = weight_of(stacks, lambda f: any(re.match(r"spin\b", x) for x in f))
    expect(abs(both - sampled) <= 2, "%d of %d samples of spin" % (both, sampled))
    expect(all(row["text"] for row in insns), "an instruction has no text: %s" % insns)
    equal(sum(row["samples"] for row in tables["lines"]), whole, "samples of its lines")
    # How a loop's time is divided between its head and its body is the CPU's affair.
    body = sum(row["samples"] for row in tables["lines"] if "x ^= x" in row["source"])
    head = sum(row["samples"] for row in tables["lines"] if "for (uint i = 0; i < n" in row["source"])
    expect(head + body > 0.9 * whole, "the loop has %d of %d: %s" % (head + body, whole, tables["lines"]))
    expect(body > 0.2 * whole, "the loop's body has %d of %d: %s" % (body, whole, tables["lines"]))
    shown = must("annotate", "spin", run.path)
    expect(re.search(r"^ +[\d.]+ % +[\d,]+ +#+ +\d+ +x \^= x << 13;$", shown, re.M), shown)


run_cases()
