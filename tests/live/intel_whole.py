"""Intel GPUs from end to end, without one: Intel's own driver in its mode without hardware compiles and launches a
kernel, and a stand-in for the kernel's xe driver gives samples that lie in it. Stacks, lines, inlined calls,
instructions and reasons are held against other tools: readelf and iga64 on the driver's binary.

    it = Whole()             the kernel, the program that launches it, and rows that lie in it: it.words, it.content
    check_tree(it, recording), check_views(it, recording)
                            of that program, made while somebody gave the rows once it had launched
"""

import collections
import json
import os
import re
import shutil
import subprocess

from intel_driver import NO_HARDWARE, clean, spirv
from machine import SCRIPTS, program
from recording import must, new_path, record
from tap import Skip, equal, expect, note
from xe_card import row

BELOW = ["ze_works", "_start", "__libc_start_main", "__libc_start_call_main", "main", "mode_stays"]
LAUNCH = ["launch", "zeCommandListAppendLaunchKernel"]
LAUNCHES = {"hot_path": 3, "cold_path": 1}
REASONS = {"SbidStall": "scoreboard", "Active": "active", "SendStall": "send"}
with open(os.path.join(SCRIPTS, "ze_kernels.cl"), encoding="utf-8") as _source:
    _lines = _source.read().splitlines()
# Lines that are inlined, and the line into which.
POLY = range(_lines.index("float poly(float x)") + 1, _lines.index("}") + 2)
CALL = next(i + 1 for i, text in enumerate(_lines) if "= poly(" in text)


def words():
    """The program, and its arguments."""
    return [program("ze_works"), "stays", spirv("heavy")]


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


class Whole:
    """A kernel as other tools see it, and samples at some of its instructions."""

    def __init__(self):
        self.words = words()
        run = record(*self.words, env=clean(**NO_HARDWARE))
        path, address, size = self.where = placed(run)
        self.lines, self.instructions = lines_of(path), instructions_of(path)
        expect(len(self.lines) > 10 and len(self.instructions) > 20, (self.lines, self.instructions))
        offsets = sorted(self.instructions)[4::5]
        offsets += [next(o for o in self.instructions if line_at(self.lines, o) in POLY)]
        content = b""
        self.sent = collections.Counter()
        # Multiples of the launches: parts by their number are whole.
        for i, offset in enumerate(sorted(set(offsets))):
            counts = {"SbidStall": 4 * (i + 1), "Active": 8} if i % 2 else {"SendStall": 12 + 4 * i}
            content += row("pvc", (address + offset & 0xFFFFFFFF) >> 3, counts)
            for reason, n in counts.items():
                self.sent[offset, reason] += n
        # One that no code is at.
        content += row("pvc", (address + size + 0x10000 & 0xFFFFFFFF) >> 3, {"SyncStall": 5})
        self.content = content

    def expected(self):
        """The whole flame graph of samples: {frames: samples}."""
        tree = {}
        for (offset, reason), n in self.sent.items():
            line = line_at(self.lines, offset)
            inside = ["heavy (ze_kernels.cl:%d)" % (CALL if line in POLY else line)]
            inside += ["poly (ze_kernels.cl:%d)" % line] if line in POLY else []
            inside += ["0x%04x %s" % (offset, self.instructions[offset]), "[%s]" % REASONS[reason]]
            for caller, launches in LAUNCHES.items():
                tree[tuple(BELOW + [caller] + LAUNCH + ["heavy"] + inside)] = n * launches // 4
        return tree


def plain(frame):
    return re.sub(r"_\[[a-zA-Z]\]$", "", frame)


def together(tree):
    """The same samples, whichever of the two callers launched the kernel."""
    sums = collections.Counter()
    for frames, n in tree.items():
        expect(frames[len(BELOW)] in LAUNCHES, frames)
        sums[frames[: len(BELOW)] + frames[len(BELOW) + 1 :]] += n
    return dict(sums)


def check_tree(it, run, slow=False):
    """
    The recording @run has all samples of @it, each below its whole stack. @slow: not all launches fall into the window
    of the samples, so how they are apportioned to the two callers is open.
    """
    equal(placed(run)[1:], it.where[1:], "where the code was when it was sampled")
    text = must("flame", "--view", "gpu", "--weight", "samples", "--depth", "stall", run.path)
    got, nowhere = {}, []
    for line in text.splitlines():
        frames, n = line.rsplit(" ", 1)
        frames = tuple(plain(f) for f in frames.split(";"))
        if "[samples of no recorded kernel]" in frames:
            nowhere.append((frames[-1], int(n)))
        else:
            got[tuple(" ".join(f.split()) for f in frames)] = int(n)
    wanted = it.expected()
    if slow:
        got, wanted = together(got), together(wanted)
    for frames in wanted.keys() | got.keys():
        near = [";".join(f[-3:]) for f in got if f[-2].split(" ")[0] == frames[-2].split(" ")[0]]
        equal(got.get(frames), wanted.get(frames), "samples of %s, beside %s" % (";".join(frames), near))
    equal(nowhere, [("[sync]", 5)], "samples where no code is")
    lines = {frames[10:-2] for frames in it.expected()}
    expect(any(len(f) == 2 for f in lines) and any(len(f) == 1 for f in lines), "an inlined call, and none: %s" % lines)
    note("%d instructions, %d samples, %d stacks" % (len({o for o, _ in it.sent}), sum(it.sent.values()), len(wanted)))


def check_views(it, run):
    """Other views of the same trace count the same samples."""
    path = run.path
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
