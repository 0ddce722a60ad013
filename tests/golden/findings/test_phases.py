#!/usr/bin/env python3
"""The phases of a run: of programs that launch work in a loop, that make ranges, or that only compute, with
steps and times that are known.

    test_phases.py MKTRACE AFLAME [WORDS]"""

import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../live"), os.path.join(HERE, "../time")]
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from page import Page, sums, varints
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


def trace(name, launches, end, more=(), lost=()):
    """A process that launches one kernel at each (time, call path), with @more lines of events. Records of the work
    of the launches with the numbers @lost are not there."""
    path = os.path.join(WORK, name + ".trace")
    lines = [HEAD, *more]
    for i in range(1, PATHS):
        lines.append("   0.000000017 s1   p1   101/101      stack        stack=%d stop=COMPLETE epoch=1 pcs=[0x%x000]\n" % (i, i))
        lines.append("   0.000000017 s1   p1   101/101      callpath     callpath=%d stack=%d py_stack=0\n" % (i, i))
    for number, (ns, callpath) in enumerate(sorted(launches), 1):
        lines.append("%s s1   p1   101/101      call_long    callpath=%d correlation=%d function=1 duration_ns=1000 status=0\n"
                     % (at(ns), callpath, number))
        if number in lost:
            continue
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


def table(made, *words):
    done = subprocess.run([AFLAME, "report", "--json", *words, made], stdout=subprocess.PIPE, check=True)
    tables = [table for table in json.loads(done.stdout)["tables"] if table["name"] == "phases"]
    return tables[0] if tables else {"rows": [], "note": None}


def phases(made, *words):
    return table(made, *words)["rows"]


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


@case("one thread and two find the same steady part, also where records of work are lost")
def _():
    launches, begins, end = training(40)
    last = len(launches)
    for name, lost in (("none", ()), ("end", range(last - 20, last + 1)), ("middle", (60, 61, 90))):
        made = trace("lost_" + name, launches, end + 5 * MS, lost=lost)
        one, two = (
            subprocess.run([AFLAME, "report", "--json", made], stdout=subprocess.PIPE, check=True,
                           env={**os.environ, "AFLAME_JOBS": jobs}).stdout for jobs in "12")  # fmt: skip
        equal(two, one, "the report, lost: " + name)
        expect(b'"steady_findings"' in one, "findings of the steady part, lost: " + name)


@case("report.html has where each step begins, and a device below the thread that launched its work")
def _():
    launches, begins, end = training(40)
    made = trace("page", launches, end + 5 * MS)
    subprocess.run([AFLAME, "flame", "-o", made + ".html", made], check=True)
    with open(made + ".html", encoding="utf-8") as file:
        page = Page(file.read())
    equal(page.time["steps"], {"n": 39, "steady": 3, "by": "launches"}, "the steps")
    equal(list(sums(varints(page.blob("af-steps")[0], 40))), [begin - 1000 for begin in begins], "where they begin")
    equal([track["name"] for track in page.tracks], ["train", "train", "NVIDIA H200 (device 1)", "stream 7"], "tracks")
    equal([track["busy"] for track in page.tracks], [0, 0, 0, 20000 * len(launches)], "what they did")


@case("steps of at least 1.5 times the median one are slow steps, the longest first, counted from 1")
def _():
    lengths = [10 * MS] * 60
    lengths[40], lengths[20], lengths[30] = 95 * MS, 15 * MS, 14 * MS
    begins = [200 * MS + sum(lengths[:i]) for i in range(len(lengths))]
    launches = [(begin + i * MS, 1 + i) for begin in begins for i in range(3)]
    made = trace("slow_steps", launches, begins[-1] + 12 * MS)
    done = subprocess.run([AFLAME, "report", "--json", made], stdout=subprocess.PIPE, check=True)
    (table,) = [table for table in json.loads(done.stdout)["tables"] if table["name"] == "slow_steps"]
    equal([(row["step"], row["length_ns"], row["of_median"], row["from_ns"]) for row in table["rows"]],
          [(41, 95 * MS, 950, begins[40] - 1000), (21, 15 * MS, 150, begins[20] - 1000)], "slow steps")  # fmt: skip
    expect("of 59 steps; the median step takes 10.000 ms" in table["note"], table["note"])
    launches, begins, end = training(40, slow=0)
    done = subprocess.run([AFLAME, "report", "--json", trace("even_steps", launches, end)], stdout=subprocess.PIPE, check=True)
    (table,) = [table for table in json.loads(done.stdout)["tables"] if table["name"] == "slow_steps"]
    equal(table["rows"], [], "of steps that are alike")
    expect("none takes 1.5 times" in table["note"], table["note"])


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
    work = "%s s2   p1   101/103      gpu_work     descriptor=1 correlation=%d start_ns=%d busy_ns=2000 node=0\n"
    more = [work % (at(ns + later), number, 1700000000000000000 + ns + later) for later in (9 * MS, 11 * MS, 13 * MS)
            for number, (ns, _) in enumerate(launches, 1)]  # fmt: skip
    more.sort(key=lambda line: float(line.split()[0]))
    mixed = {row["phase"]: row for row in phases(trace("graphs", launches, 705 * MS, more))}
    equal(mixed["steady"], rows["steady"], "of two graphs whose works alternate")
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


def edge(ns, kind, name, number=0, tid=101):
    stream = {101: "s1", 104: "s4"}[tid]
    return '%s %s   p1   101/%d      range        edge=%s color=0 range=%d domain="" name="%s"\n' % (
        at(ns), stream, tid, kind, number, name)  # fmt: skip


def ranges(begins, lengths, name, number=None):
    """Ranges on the first thread, or by START and END with numbers from @number."""
    made = []
    for i, (begin, length) in enumerate(zip(begins, lengths)):
        text = name % i if "%" in name else name
        made.append(edge(begin, "PUSH" if number is None else "START", text, 0 if number is None else number + i))
        made.append(edge(begin + length, "POP" if number is None else "END", "", 0 if number is None else number + i))
    return made


def times(rows):
    return [(row["phase"], row["from_ns"], row["to_ns"], row["steps"]) for row in rows]


def stepped(steps, start=200 * MS, slow=3):
    lengths = [100 * MS if step < slow else 10 * MS for step in range(steps)]
    return [start + sum(lengths[:i]) for i in range(steps)], lengths


@case("ranges of one name but for a number are the steps, to the nanosecond, and win over launches")
def _():
    begins, lengths = stepped(40)
    launches = [(begin + i * length // 4, 1) for begin, length in zip(begins, lengths) for i in range(4)]
    end = begins[-1] + 10 * MS
    expected = [("start", 0, begins[0], None), ("warm-up", begins[0], begins[3], 3),
                ("steady", begins[3], begins[39] + 9 * MS, 37), ("end", begins[39] + 9 * MS, end + 5 * MS, None)]
    worked = [length * 9 // 10 for length in lengths]
    made = table(trace("named", launches, end + 5 * MS, ranges(begins, worked, "step %d of 40")))
    equal(times(made["rows"]), expected, "PUSH and POP")
    expect('"step N of N"' in made["note"], made["note"])
    made = table(trace("started", [], end + 5 * MS, ranges(begins, worked, "step", number=1)))
    equal(times(made["rows"]), expected, "START and END, of a program that launches nothing")
    expect('ranges "step"' in made["note"], made["note"])


@case("of ranges within ranges the steps are those that a loop is called by, neither its epochs nor its layers")
def _():
    begins, lengths = stepped(80, slow=0)
    more = []
    for i, (begin, length) in enumerate(zip(begins, lengths)):
        if i % 10 == 0:
            more.append(edge(begin, "PUSH", "epoch %d" % (i // 10)))
        more.append(edge(begin, "PUSH", "train_step"))
        for layer in range(4):
            more.append(edge(begin + layer * length // 4, "PUSH", "layer %d" % layer))
            more.append(edge(begin + (layer + 1) * length // 4 - 1000, "POP", ""))
        more.append(edge(begin + length - 500, "POP", ""))
        if i % 10 == 9:
            more.append(edge(begin + length - 100, "POP", ""))
    rows = {row["phase"]: row for row in phases(trace("within", [], 1050 * MS, more))}
    equal((rows["steady"]["steps"], rows["steady"]["from_ns"]), (80, 200 * MS), "of 8 epochs and 320 layers")
    unnamed = [line.replace("train_step", "work") for line in more]
    rows = {row["phase"]: row for row in phases(trace("unnamed", [], 1050 * MS, unnamed))}
    equal(rows["steady"]["steps"], 8, "without a name that says what a step is: the outermost")


@case("marks that repeat begin the steps; the last one does not end")
def _():
    begins, _ = stepped(30)
    more = [edge(begin, "MARK", "iteration %d" % i) for i, begin in enumerate(begins)]
    made = table(trace("marks", [], begins[-1] + 20 * MS, more))
    equal(times(made["rows"])[1:3], [("warm-up", begins[0], begins[3], 3), ("steady", begins[3], begins[29], 26)],
          "marks")  # fmt: skip
    expect('marks "iteration N"' in made["note"], made["note"])
    begins, lengths = stepped(30)
    cut = ranges(begins, lengths, "step")[:-1]
    equal(phases(trace("cut", [], begins[-1] + 5 * MS, cut))[2]["to_ns"], begins[29], "of a range that is still open")


@case("ranges that overlap, that differ, that are few, that leave most out or are over soon are no steps")
def _():
    begins, lengths = stepped(40, slow=0)
    end = begins[-1] + 10 * MS
    equal(phases(trace("one", [], end, ranges(begins, lengths, "step", number=1)))[1]["steps"], 40, "one at a time")
    twice = [14 * MS if i % 2 == 0 else 5 * MS for i in range(40)]
    made = sorted(ranges(begins, twice, "step", number=1), key=lambda line: float(line.split()[0]))
    equal(phases(trace("overlap", [], end, made)), [], "two at a time, now and then")
    equal(phases(trace("thin", [], end, ranges(begins, [2 * MS] * 40, "step"))), [], "a fifth of the time")
    equal(phases(trace("seven", [], end, ranges(begins[:7], lengths, "step"))), [], "seven")
    equal(phases(trace("soon", [], 6 * end, ranges(begins, lengths, "step"))), [], "of a run of 6 times its length")
    shuffled = random.Random(3)
    lengths = [10**shuffled.randrange(3, 9) for _ in range(40)]
    begins = [200 * MS + sum(lengths[:i]) for i in range(40)]
    equal(phases(trace("wild", [], begins[-1] + 10 * MS, ranges(begins, lengths, "step"))), [], "of a µs to 100 ms")


CODE = """\
   0.000000021 s1   p1   101/101      py_code      code=1 version=777 first_line=1 lines= name="<module>" file="/home/me/work.py"
   0.000000022 s1   p1   101/101      py_code      code=2 version=777 first_line=1360 lines= name="_find_and_load" file="<frozen importlib._bootstrap>"
   0.000000023 s1   p1   101/101      py_code      code=3 version=777 first_line=30 lines= name="solve" file="/home/me/work.py"
   0.000000024 s1   p1   101/101      py_code      code=4 version=777 first_line=50 lines= name="smooth" file="/home/me/work.py"
   0.000000025 s1   p1   101/101      py_code      code=5 version=777 first_line=70 lines= name="write" file="/home/me/work.py"
"""
IMPORT, SOLVE, SMOOTH, WRITE = range(11, 15)
for i, path in enumerate((IMPORT, SOLVE, SMOOTH, WRITE)):
    CODE += "   0.000000031 s1   p1   101/101      py_stack     py_stack=%d stop=COMPLETE frames=[0x%x00000000,0x100000000]\n" % (path, i + 2)
    CODE += "   0.000000032 s1   p1   101/101      stack        stack=%d stop=COMPLETE epoch=1 pcs=[0x%x000]\n" % (path, path)
    CODE += "   0.000000033 s1   p1   101/101      callpath     callpath=%d stack=%d py_stack=%d\n" % (path, path, path)


def sampled(name, plan, every=10 * MS, seed=1):
    """A program with a sample every 10 ms: @plan has (seconds, {call path: share}) and nothing launches."""
    shuffled, now, more = random.Random(seed), 0, [CODE]
    for seconds, mix in plan:
        end = now + int(seconds * 1000) * MS
        while now < end:
            now += every
            path = shuffled.choices(list(mix), mix.values())[0] if mix else None
            if path:
                more.append("%s s1   p1   101/101      sample       callpath=%d flags=0 weight_ns=%d\n" % (at(now), path, every))
    return trace(name, [], now + MS, more)


WORKS = {SOLVE: 7, SMOOTH: 3}


@case("a program that computes is steady from the end of its imports to its last step, to the sample")
def _():
    made = sampled("imports", [(10, {IMPORT: 1}), (60, WORKS), (3, {WRITE: 1})])
    found = table(made)
    equal(times(found["rows"]), [("start", 0, 10000 * MS, None), ("steady", 10000 * MS, 70000 * MS, None),
                                 ("end", 70000 * MS, 73001 * MS, None)], "phases")  # fmt: skip
    equal({row["step_ns"] for row in found["rows"]}, {None}, "no steps are known")
    expect("10.000 s ± 10.000 ms" in found["note"] and "100 % of the samples before it import" in found["note"], found["note"])
    made = json.loads(subprocess.run([AFLAME, "report", "--json", "steady_findings", made], stdout=subprocess.PIPE, check=True).stdout)
    rows = [row for t in made["tables"] if t["name"] == "steady_findings" for row in t["rows"]]
    expect(rows and not any("importing" in row["finding"] for row in rows), "findings of the steady part: %s" % rows)


@case("imports may be longer than the work; an edge between alike mixes is as near as its stated error")
def _():
    rows = phases(sampled("long", [(30, {IMPORT: 1}), (10, WORKS)]))
    equal(times(rows)[:2], [("start", 0, 30000 * MS, None), ("steady", 30000 * MS, 40000 * MS, None)], "30 s of imports")
    for seed in range(5):
        found = table(sampled("alike%d" % seed, [(8, {SOLVE: 2, SMOOTH: 8}), (60, WORKS)], seed=seed))
        value, unit = found["note"].split("± ")[1].split()[:2]
        error = float(value) * {"ms": MS, "s": 1000 * MS}[unit]
        steady = {row["phase"]: row for row in found["rows"]}["steady"]
        expect(abs(steady["from_ns"] - 8000 * MS) <= error <= 1000 * MS, "8 s, found %s" % found)
    rows = phases(sampled("asleep", [(10, {}), (40, WORKS)]))
    equal(times(rows)[1][:2], ("steady", 10000 * MS), "a start that waits")


@case("two kinds of work that take turns, bursts, few samples, and a run without a start have no phases")
def _():
    equal(phases(sampled("halves", [(30, {SOLVE: 1}), (30, {SMOOTH: 1})])), [], "two halves")
    equal(phases(sampled("turns", [(11, {SOLVE: 1}), (13, {SMOOTH: 1})] * 3)), [], "by turns")
    equal(phases(sampled("few", [(0.3, {IMPORT: 1}), (1, WORKS)])), [], "130 samples")
    equal(phases(sampled("same", [(60, WORKS)])), [], "all of it is steady")
    equal(phases(sampled("imports alone", [(40, {IMPORT: 1}), (2, WORKS)])), [], "imports are not what a run repeats")
    drift = [(1, {SOLVE: 60 - i, SMOOTH: i}) for i in range(60)]
    equal(phases(sampled("drift", drift)), [], "a mix that drifts")
    equal(phases(sampled("idle", [(6, WORKS), (20, {})] * 3 + [(6, WORKS)])), [], "bursts")
    slower = [(1, {None: i % 3, **WORKS}) for i in range(60)]
    equal(phases(sampled("slower", slower)), [], "all of it, slowed by others at times")


run_cases()
