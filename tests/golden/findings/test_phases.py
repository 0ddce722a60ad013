#!/usr/bin/env python3
"""The phases of a run: of programs that launch work in a loop, with steps that are known.

    test_phases.py MKTRACE AFLAME [WORDS]"""

import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-phases-")
WORK = _work.name
MS = 10**6

HEAD = """\
   0.000000000 s0   p0   100/100      note         key="cmd" value="train"
   0.000000010 s1   p1   101/101      thread       tid=101 name="train"
   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="/usr/bin/train" cmdline="train"
   0.000000012 s1   p1   101/101      function     function=1 api=CUDA category=LAUNCH name="cuLaunchKernel"
   0.000000013 s1   p1   101/101      device       device=1 parent=0 type=GPU api=CUDA name="NVIDIA H200" vendor="NVIDIA" driver="CUDA 13.0"
   0.000000014 s1   p1   101/101      queue        queue=1 device=1 context=1 flags=0 handle=0x7
   0.000000015 s1   p1   101/101      clock        clock=DEVICE device=1 mono_ns=1000000000015 foreign=1700000000000000015 uncertainty_ns=10
   0.000000016 s1   p1   101/101      kernel       kernel=1 program=1 name="gemm"
   0.000000017 s2   p1   101/103      thread       tid=103 name="cuda-buffers"
   0.000000018 s2   p1   101/103      descriptor   descriptor=1 op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1
"""
PATHS = 8


def at(ns):
    return "%4d.%09d" % divmod(ns, 10**9)


def trace(name, launches, end):
    """A process that launches one kernel at each (time, call path)."""
    path = os.path.join(WORK, name + ".trace")
    lines = [HEAD]
    for i in range(1, PATHS):
        lines.append("   0.000000017 s1   p1   101/101      stack        stack=%d stop=COMPLETE epoch=1 pcs=[0x%x000]\n" % (i, i))
        lines.append("   0.000000017 s1   p1   101/101      callpath     callpath=%d stack=%d py_stack=0\n" % (i, i))
    for number, (ns, callpath) in enumerate(sorted(launches), 1):
        lines.append("%s s1   p1   101/101      call_long    callpath=%d correlation=%d function=1 duration_ns=1000 status=0\n"
                     % (at(ns), callpath, number))
        lines.append("%s s2   p1   101/103      gpu_work     descriptor=1 correlation=%d start_ns=%d busy_ns=20000 node=0\n"
                     % (at(ns + 50000), number, 1700000000000000000 + ns + 1000))
    lines.append("%s s0   p0   100/100      process_end  process=1 status=0 user_ns=0 kernel_ns=0 max_rss_bytes=4096 source=WAIT\n" % at(end))
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    subprocess.run([MKTRACE, path, path[:-6]], check=True)
    return path[:-6]


def training(steps, layers=4, start=200 * MS, slow=3):
    """Launches of a loop: one call path before its layers, one in each, two after; the first steps are slow."""
    made = [(start * i // 8 + MS, 7) for i in range(7)]
    now, begins = start, []
    for step in range(steps):
        begins.append(now)
        length = 100 * MS if step < slow else 10 * MS
        made.append((now, 1))
        made += [(now + (i + 1) * length // 10, 2) for i in range(layers)]
        made += [(now + length // 2, 3), (now + length * 6 // 10, 4)]
        now += length
    return made, begins, now


def phases(made, *words):
    done = subprocess.run([AFLAME, "report", "--json", *words, made], stdout=subprocess.PIPE, check=True)
    tables = [table for table in json.loads(done.stdout)["tables"] if table["name"] == "phases"]
    return tables[0]["rows"] if tables else []


@case("a loop's start, slow first steps, steady part and end are told apart, to the nanosecond")
def _():
    launches, begins, end = training(40)
    rows = phases(trace("loop", launches, end + 5 * MS))
    equal([(row["phase"], row["from_ns"], row["to_ns"], row["steps"]) for row in rows], [
        ("start", 0, begins[0] - 1000, None),
        ("warm-up", begins[0] - 1000, begins[3] - 1000, 3),
        ("steady", begins[3] - 1000, begins[39] - 1000, 36),
        ("end", begins[39] - 1000, end + 5 * MS, None),
    ], "phases")  # fmt: skip
    equal([row["step_ns"] for row in rows], [None, 100 * MS, 10 * MS, None], "a step")
    equal(sum(row["length_ns"] for row in rows), end + 5 * MS, "the whole run")


@case("calls of an inner loop are no steps, however many there are")
def _():
    for layers in (2, 16):
        launches, begins, end = training(30, layers=layers)
        rows = {row["phase"]: row for row in phases(trace("layers%d" % layers, launches, end))}
        equal(rows["steady"]["steps"], 26, "of %d layers" % layers)


@case("a loop that launches one graph has steps; a loop that is a small part of a run has none")
def _():
    launches = [(200 * MS + step * 10 * MS, 1) for step in range(50)]
    rows = {row["phase"]: row for row in phases(trace("graph", launches, 705 * MS))}
    equal((rows["steady"]["steps"], rows["steady"]["step_ns"]), (49, 10 * MS), "of a graph")
    launches, _, end = training(40)
    equal(phases(trace("small", launches, 20 * end)), [], "of a run of 20 times its length")


@case("steps of which each fourth waits for the device are steady, and what a start repeats is no step")
def _():
    lengths = [1 * MS, 1 * MS, 1 * MS, 37 * MS] * 25
    begins = [200 * MS + sum(lengths[:i]) for i in range(len(lengths))]
    launches = [(begin + i * MS // 10, 1 + i) for begin in begins for i in range(2)]
    launches += [(50 * MS + i * MS // 10, 5) for i in range(90)]  # as many, and regular
    rows = {row["phase"]: row for row in phases(trace("waits", launches, 1205 * MS))}
    equal((rows["steady"]["from_ns"], rows["steady"]["steps"], rows["steady"]["step_ns"]),
          (begins[0] - 1000, 99, (begins[99] - begins[0]) // 99), "the loop")


@case("what launches evenly is steady without steps; a rate that changes is not, nor is what a start does")
def _():
    shuffled = random.Random(7)
    launches = [(shuffled.randrange(200 * MS, 3000 * MS), shuffled.randrange(1, PATHS)) for _ in range(500)]
    rows = {row["phase"]: row for row in phases(trace("even", launches, 3000 * MS))}
    equal((rows["steady"]["steps"], rows["steady"]["step_ns"]), (None, None), "no steps")
    expect(rows["steady"]["from_ns"] <= 600 * MS and rows["steady"]["to_ns"] >= 2900 * MS, "its time: %s" % rows)
    slow = [(ns, path) for ns, path in launches if ns > 1200 * MS or shuffled.random() < 0.1]
    rows = {row["phase"]: row for row in phases(trace("slow", slow, 3000 * MS))}
    expect(1000 * MS <= rows["steady"]["from_ns"] <= 1500 * MS, "it begins with its rate: %s" % rows)
    falling = [(ns, path) for ns, path in launches if shuffled.random() < ((3000 * MS - ns) / 2800 / MS) ** 3]
    equal(phases(trace("falling", falling, 3000 * MS)), [], "of a rate that falls")
    more = [(ns * 10 // 11, 1) for ns, path in launches for _ in range(1)] * 140  # more than are kept
    more = [(ns + number % 140, path) for number, (ns, path) in enumerate(sorted(more))]
    rows = {row["phase"]: row for row in phases(trace("more", more, 3000 * MS))}
    expect(rows["steady"]["to_ns"] >= 2600 * MS, "70,000 calls: %s" % rows)


@case("a run of a few steps, and a part of a run have no phases")
def _():
    launches, _, end = training(6)
    equal(phases(trace("few", launches, end)), [], "6 steps")
    launches, _, end = training(40)
    made = trace("part", launches, end)
    expect(phases(made), "all of it")
    equal(phases(made, "--from", "300ms"), [], "a part")


run_cases()
