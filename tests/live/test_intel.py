#!/usr/bin/env python3
"""Intel GPUs from end to end, without one: Intel's own driver in its mode without hardware compiles and launches a
kernel, and a stand-in for the kernel's xe driver (programs/xe_stand_in.c) gives samples that lie in it. Stacks, lines,
inlined calls, instructions and reasons are held against other tools: readelf and iga64 on the driver's binary."""

import collections
import json
import os
import re
import shutil
import subprocess

from intel_driver import NO_HARDWARE, clean, spirv
from machine import program
from recording import must, new_path, record
from tap import Skip, case, equal, expect, note, run_cases
from xe_card import Machine, row

BELOW = ["ze_works", "_start", "__libc_start_main", "__libc_start_call_main", "main", "mode_stays"]
LAUNCH = ["launch", "zeCommandListAppendLaunchKernel"]
LAUNCHES = {"hot_path": 3, "cold_path": 1}
REASONS = {"SbidStall": "scoreboard", "Active": "active", "SendStall": "send"}
POLY = range(2, 9)  # lines of ze_kernels.cl that are inlined


def recorded(machine=None, **knobs):
    env = dict(machine.env() if machine else {}, **clean(**NO_HARDWARE, **knobs))
    run = record(program("ze_works"), "stays", spirv("heavy"), env=env, options=("--gpu-samples",) if machine else ())
    return run


def placed(run):
    """The kernel's object, and where its code lies in the device's memory."""
    found = [f for f in run.fields("code_placed") if f["size"]]
    if not found:
        raise Skip("Intel's Level Zero driver does not run without hardware here")
    equal(len(found), 1, "functions of device code")
    (made,) = run.fields("program")
    return os.path.join(run.path, "objects", made["object"]), int(found[0]["address"], 16), found[0]["size"]


def output(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 0, "%s: %s" % (words[0], done.stderr[-500:]))
    return done.stdout.decode("utf-8", "replace")


def lines_of(path):
    """[(offset, line)] as readelf decodes the line table."""
    text = subprocess.run(["readelf", "--debug-dump=decodedline", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    rows = re.findall(r"^ze_kernels\.cl +(\d+) +(?:0x)?([0-9a-f]+) ", text.stdout.decode(), re.M)
    return sorted((int(at, 16), int(line)) for line, at in rows)


def instructions_of(path):
    """{offset: text} as iga64 disassembles the kernel."""
    if not shutil.which("iga64"):
        raise Skip("no iga64 (libigc-tools)")
    text = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    at, size = re.search(r"\.text\.heavy +PROGBITS +\w+ +(\w+) +(\w+)", text).groups()
    code = new_path("code")
    with open(path, "rb") as binary, open(code, "wb") as file:
        binary.seek(int(at, 16))
        file.write(binary.read(int(size, 16)))
    printed = output("iga64", "-d", "-p=12p72", "-Xprint-pc", code)
    found = re.findall(r"/\* \[(\w+)\] +\*/ (.*)", printed)
    return {int(at, 16): shown(text) for at, text in found if shown(text) != "illegal"}  # behind the end


def shown(text):
    """An instruction as folded text can have it: with : for ;."""
    return " ".join(text.replace(";", ":").split())


def line_at(lines, offset):
    return [line for at, line in lines if at <= offset][-1]


class Sampled:
    """A recording with samples at some instructions; what each tool says of them."""

    def __init__(self, early):
        path, address, size = placed(recorded())
        self.lines, self.instructions = lines_of(path), instructions_of(path)
        expect(len(self.lines) > 10 and len(self.instructions) > 20, (self.lines, self.instructions))
        offsets = sorted(self.instructions)[4::5]
        offsets += [next(o for o in self.instructions if line_at(self.lines, o) in POLY)]
        machine, content = Machine(), b""
        self.sent = collections.Counter()
        # Multiples of the launches: parts by their number are whole.
        for i, offset in enumerate(sorted(set(offsets))):
            counts = {"SbidStall": 4 * (i + 1), "Active": 8} if i % 2 else {"SendStall": 12 + 4 * i}
            content += row("pvc", (address + offset & 0xFFFFFFFF) >> 3, counts)
            for reason, n in counts.items():
                self.sent[offset, reason] += n
        # One that no code is at.
        content += row("pvc", (address + size + 0x10000 & 0xFFFFFFFF) >> 3, {"SyncStall": 5})
        card = machine.card(layout="pvc", device="0bd5")
        if not early:
            card.step("wait 0 launched")
        card.give(0, content)
        self.run = recorded(machine, ZE_WORKS_LAUNCHED=os.path.join(machine.folder, "launched"))
        equal(placed(self.run)[1:], (address, size), "where the code was when it was sampled")

    def expected(self):
        """The whole flame graph of samples: {frames: samples}."""
        tree = {}
        for (offset, reason), n in self.sent.items():
            line = line_at(self.lines, offset)
            inside = ["heavy (ze_kernels.cl:%d)" % (12 if line in POLY else line)]
            inside += ["poly (ze_kernels.cl:%d)" % line] if line in POLY else []
            inside += ["0x%04x %s" % (offset, self.instructions[offset]), "[%s]" % REASONS[reason]]
            for caller, launches in LAUNCHES.items():
                tree[tuple(BELOW + [caller] + LAUNCH + ["heavy"] + inside)] = n * launches // 4
        return tree


def plain(frame):
    return re.sub(r"_\[[a-zA-Z]\]$", "", frame)


@case("the whole of it: stack, launch, kernel, inlined call, line, instruction, reason")
def _():
    it = Sampled(early=False)
    check_tree(it)
    check_views(it)


@case("the same of samples that came before anybody knew what lies there")
def _():
    check_tree(Sampled(early=True))


def check_tree(it):
    text = must("flame", "--view", "gpu", "--weight", "samples", "--depth", "stall", it.run.path)
    got, nowhere = {}, []
    for line in text.splitlines():
        frames, n = line.rsplit(" ", 1)
        frames = tuple(plain(f) for f in frames.split(";"))
        if "[samples of no recorded kernel]" in frames:
            nowhere.append((frames[-1], int(n)))
        else:
            got[tuple(" ".join(f.split()) for f in frames)] = int(n)
    wanted = it.expected()
    for frames in wanted.keys() | got.keys():
        near = [";".join(f[-3:]) for f in got if f[-2].split(" ")[0] == frames[-2].split(" ")[0]]
        equal(got.get(frames), wanted.get(frames), "samples of %s, beside %s" % (";".join(frames), near))
    equal(nowhere, [("[sync]", 5)], "samples where no code is")
    lines = {frames[10:-2] for frames in wanted}
    expect(any(len(f) == 2 for f in lines) and any(len(f) == 1 for f in lines), "an inlined call, and none: %s" % lines)
    note("%d instructions, %d samples, %d stacks" % (len({o for o, _ in it.sent}), sum(it.sent.values()), len(wanted)))


def check_views(it):
    """Other views of the same trace count the same samples."""
    path = it.run.path
    wanted = collections.Counter()
    for (_, reason), n in it.sent.items():
        wanted[reason] += n
    tables = {t["name"]: t["rows"] for t in json.loads(must("report", "stalls", "--json", path))["tables"]}
    equal({r["driver"]: r["samples"] for r in tables["reasons"]}, dict(wanted), "samples by reason")
    equal([(r["kernel"], r["samples"]) for r in tables["stalls"]], [("heavy", sum(wanted.values()))], "kernels")
    annotated = must("annotate", "heavy", path)
    for offset in {o for o, _ in it.sent}:
        expect("%04x" % offset in annotated, "0x%04x is not in %s" % (offset, annotated[:3000]))
    expect("ze_kernels.cl" in annotated, annotated[:2000])
    calls = {r["function"]: r["calls"] for t in json.loads(must("tally", "--json", path))["tables"] for r in t["rows"] if "calls" in r and "function" in r}
    equal(calls.get("zeCommandListAppendLaunchKernel"), sum(LAUNCHES.values()), "launches in %s" % calls)
    report = new_path("report") + ".html"
    must("flame", "-o", report, path)
    expect(os.path.getsize(report) > 10000, "report.html")


run_cases()
