#!/usr/bin/env python3
"""Intel GPUs from end to end, without one: Intel's own Level Zero driver compiles a kernel and launches it (its mode
without hardware, in which nothing is computed and nothing has times), and a stand-in for the kernel driver
(programs/xe_stand_in.c) gives samples of addresses of that kernel. aflame has to bring them together: from the
program's stack to the launch, the kernel, its lines and what is inlined into them, the instruction and the reason."""

import json
import os
import shutil
import subprocess

from machine import BUILD, SCRIPTS, WORKPLACE, program
from recording import bare, must, new_path, record
from tap import Skip, case, equal, expect, note, run_cases
from xe_card import Machine, row

INSNS = os.path.join(BUILD, "tests", "unit", "code_insns")
IP_BITS = 29  # of a row: addresses of 8 bytes, of which the upper bits are not there

# intel.md: no hardware (AUB capture), a Ponte Vecchio of two subslices.
NO_HARDWARE = {
    "NEOReadDebugKeys": "1",
    "SetCommandStreamReceiver": "1",
    "ProductFamilyOverride": "pvc",
    "HardwareInfoOverride": "1x2x8",
    "AUBDumpCaptureFileName": "/dev/null",
}


def spirv(name):
    """A module of one kernel, by Intel's offline compiler."""
    if not shutil.which("ocloc"):
        raise Skip("no ocloc (intel-opencl-icd)")
    out = new_path("ocloc")
    words = ["ocloc", "compile", "-file", os.path.join(SCRIPTS, "ze_kernels.cl"), "-device", "pvc"]
    words += ["-options", "-g -DKERNEL=" + name, "-output", name, "-out_dir", out]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, cwd=WORKPLACE)
    found = [f for f in os.listdir(out) if f.endswith(".spv")] if os.path.isdir(out) else []
    if not found:
        raise Skip("ocloc does not compile for pvc here: %s" % done.stdout[-200:])
    return os.path.join(out, found[0])


def environment(machine=None):
    left = {k: v for k, v in os.environ.items() if not k.startswith("ZE")}
    return dict(machine.env() if machine else left, **NO_HARDWARE)


def insns_of(run):
    """{offset: ([function (file:line)], outermost first, text)} of the only kernel that the recording has."""
    (program_,) = run.fields("program")
    path = os.path.join(run.path, "objects", program_["object"])
    found = {}
    for line in subprocess.check_output([INSNS, path], universal_newlines=True).split("\n"):
        if line.count("\t") == 2:
            where, frames, text = line.split("\t")
            chain = [f.split(":") for f in frames.split()]
            lines = ["%s (%s%s)" % (f, os.path.basename(at), n != "0" and ":" + n or "") for f, at, n in chain]
            found[int(where.split()[0], 16)] = (lines[::-1], text)
    return found


def first_run(words):
    """A recording without samples: what lies where, and the device's PCI address."""
    plain = subprocess.run(words, env=environment(), stdout=subprocess.PIPE, check=False, timeout=120)
    if plain.returncode:
        raise Skip("Intel's Level Zero driver does not run without hardware here: %s" % plain.stdout)
    run = record(*words, env=environment())
    placed = [f for f in run.fields("code_placed") if f["size"]]
    notes = {f["key"]: f["value"] for f in run.fields("device_note")}
    return run, int(placed[0]["address"], 16), notes.get("pci")


def rows_at(address, counts, nr):
    return [row("pvc", address >> 3 & (1 << IP_BITS) - 1, counts)] * nr


def sampled(words, pci, rows):
    machine = Machine()
    card = machine.card(layout="pvc", pci=pci)
    card.give(0, b"".join(rows))
    return record(*words, env=environment(machine), options=("--gpu-samples",))


def stacks_of(run, weight, *options):
    """{frames, from main on where there is one: weight}"""
    stacks = {}
    for line in must("flame", "--view", "gpu", "-w", weight, *options, run.path).split("\n"):
        if line:
            frames, number = line.rsplit(" ", 1)
            frames = [bare(f) for f in frames.split(";")]
            frames = frames[frames.index("main") if "main" in frames else 0 :]
            stacks[tuple(frames)] = stacks.get(tuple(frames), 0) + int(number)
    return stacks


def instruction_of(insns):
    """One that is inlined, with its frames and text."""
    inlined = sorted(at for at, (lines, _) in insns.items() if len(lines) > 1)
    expect(inlined, "the kernel has inlined calls")
    at = inlined[len(inlined) // 2]
    lines, text = insns[at]
    if not text:
        raise Skip("neither libiga64 nor iga64 is here")
    return at, (*lines, "0x%04x %s" % (at, text.replace(";", ":")))


@case("from the program's stack to the reason why an instruction stalled, whole")
def _():
    words = (program("ze_works"), "paths", spirv("heavy"))
    first, address, pci = first_run(words)
    at, tail = instruction_of(insns_of(first))
    nowhere = address + 0x7000000
    rows = rows_at(address + at, {"SbidStall": 100, "Active": 20}, 7) + rows_at(nowhere, {"SendStall": 3}, 1)
    run = sampled(words, pci, rows)
    equal([int(f["address"], 16) for f in run.fields("code_placed") if f["size"]], [address], "the code's place")

    launches = stacks_of(run, "count")
    got = stacks_of(run, "samples", "--depth", "stall")
    expect({"hot_path", "cold_path"} <= {f[2] for f in launches}, launches)
    wanted, sent = {}, {"[scoreboard]": 700, "[active]": 140}
    for frames, count in launches.items():
        for reason, samples in sent.items():
            wanted[(*frames, *tail, reason)] = samples * count / sum(launches.values())
    unknown = [f for f in got if "main" not in f]
    for frames in unknown:
        equal((frames[1], frames[-1]), ("[samples of no recorded kernel]", "[send]"), "a sample of nobody")
        equal(frames[-2], "0x%x" % (nowhere & 0xFFFFFFFF), "its address")
        equal(got.pop(frames), 3, "samples of nobody")
    equal(len(unknown), 1, "stacks of nobody")
    equal(set(got), set(wanted), "stacks")
    for frames, samples in wanted.items():
        expect(abs(got[frames] - samples) < 1.01, "%s: %d, not %.1f" % (frames, got[frames], samples))
    equal(sum(got.values()), sum(sent.values()), "samples")
    for frames in sorted(got):
        note("%s %d" % (";".join(frames), got[frames]))
    (table,) = json.loads(must("report", "samples", "--json", run.path))["tables"]
    equal([(r["samples"], r["by_launches"]) for r in table["rows"] if r["samples"]], [(843, 840)], "the report")


if __name__ == "__main__":
    run_cases()
