#!/usr/bin/env python3
"""The kernel's side of Intel GPUs, in a virtual machine: a stand-in for the driver xe, the real i915 (vm/README.md)."""

import functools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm"))

import guest  # first, as machine gives tests a cache of their own
from machine import BUILD
from recording import new_path
from tap import Skip, case, equal, expect, note, run_cases

STEPS = ("modules", "walk", "kernel")
FACTS = 85  # of xe_walk


@functools.lru_cache(maxsize=None)
def booted():
    """The folder that the guest wrote to, or the reason why there is none: booted once for all cases."""
    out = new_path("guest")
    os.mkdir(out)
    command = "exec python3 -B %s/inside.py %s %s >$OUT/output 2>&1\n" % (guest.HERE, BUILD, " ".join(STEPS))
    try:
        guest.call("gcc", "-O1", "-Wall", "-Werror", "-o", out + "/xe_walk", guest.HERE + "/xe_walk.c")
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


@case("the guest's kernel had nothing to complain of")
def _():
    equal(found("kernel")["wrong"], [], "complaints")


run_cases()
