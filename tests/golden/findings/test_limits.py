#!/usr/bin/env python3
"""What the machine held back: throttling, full memory, others' work on the device, busy and hot neighbours,
 each planted for so long, is found for just that long; and what is not known is not guessed.

    test_limits.py MKTRACE AFLAME [WORDS]"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-limits-")
WORK = _work.name
os.environ["XDG_CACHE_HOME"] = WORK
MS, S, GB = 10**6, 10**9, 10**9
DEVICE_NS = 1700000000000000000
MEMORY = 80 * GB

HEAD = """\
   0.000000000 s0   p0   100/100      note         key="cmd" value="train"
   0.000000001 s0   p0   100/100      device       device=3000 parent=0 type=GPU api=0 name="Ours" vendor="NVIDIA" driver="NVML"
   0.000000002 s0   p0   100/100      device_note  device=3000 key="pci" value="0000:18:00.0"
   0.000000003 s0   p0   100/100      device       device=3001 parent=0 type=GPU api=0 name="Neighbour" vendor="NVIDIA" driver="NVML"
   0.000000004 s0   p0   100/100      device_note  device=3001 key="pci" value="0000:2a:00.0"
   0.000000010 s1   p1   101/101      thread       tid=101 name="train"
   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="/usr/bin/train" cmdline="train"
   0.000000012 s1   p1   101/101      function     function=1 api=CUDA category=LAUNCH name="cuLaunchKernel"
   0.000000013 s1   p1   101/101      device       device=1 parent=0 type=GPU api=CUDA name="Ours" vendor="NVIDIA" driver="CUDA 13.0"
   0.000000014 s1   p1   101/101      device_note  device=1 key="pci" value="0000:18:00.0"
   0.000000015 s1   p1   101/101      queue        queue=1 device=1 context=1 flags=0 handle=0x7
   0.000000015 s1   p1   101/101      queue        queue=2 device=1 context=1 flags=0 handle=0x8
   0.000000016 s1   p1   101/101      clock        clock=DEVICE device=1 mono_ns=1000000000016 foreign=1700000000000000016 uncertainty_ns=10
   0.000000017 s1   p1   101/101      kernel       kernel=1 program=1 name="gemm"
   0.000000018 s2   p1   101/103      thread       tid=103 name="cuda-buffers"
   0.000000019 s2   p1   101/103      descriptor   descriptor=1 op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1
   0.000000019 s2   p1   101/103      descriptor   descriptor=2 op=KERNEL queue=2 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1
   0.000000020 s1   p1   101/101      callpath     callpath=1 stack=0 py_stack=0
"""  # fmt: skip
OURS, NEIGHBOUR = 3000, 3001
COUNTERS = ((OURS, "throttled: power cap", "", 0), (OURS, "SM clock", "MHz", 0), (OURS, "power", "W", 0),
            (OURS, "temperature", "°C", 0), (OURS, "GPU busy", "%", 0), (OURS, "memory used", "bytes", 0),
            (NEIGHBOUR, "GPU busy", "%", 0),
            (NEIGHBOUR, "throttled: heat (driver)", "", 0), (NEIGHBOUR, "throttled: power cap", "", 0),
            (NEIGHBOUR, "temperature", "°C", 0), (OURS, "PCIe received", "bytes", 1),
            (OURS, "PCIe generation", "", 0), (OURS, "PCIe generation, most", "", 0), (OURS, "PCIe lanes", "", 0),
            (OURS, "PCIe lanes, most", "", 0), (OURS, "PCIe sent", "bytes", 1))  # fmt: skip


class Host:
    """Counters of two devices, and work on the first, at times in ms."""

    def __init__(self, notes=()):
        self.notes, self.lines, self.calls = notes, [], 0

    def read(self, at, device, name, value, span=0):
        number = 1 + [c[:2] for c in COUNTERS].index((device, name))
        self.lines.append((at * MS, "s0   p0   100/100      reading      span_ns=%d values=[%d,%d]" % (span * MS, number, value)))

    def level(self, device, name, value_of, until=10000, step=100):
        for at in range(step, until + 1, step):
            self.read(at, device, name, value_of(at))

    def work(self, start, end, descriptor=1):
        self.calls += 1
        self.lines.append((start * MS - 1000, "s1   p1   101/101      call         callpath=1 correlation=%d function=1 duration_ns=500" % self.calls))
        self.lines.append((end * MS + 10, "s2   p1   101/103      gpu_work_long descriptor=%d correlation=%d start_ns=%d end_ns=%d node=0"
                           % (descriptor, self.calls, DEVICE_NS + start * MS, DEVICE_NS + end * MS)))  # fmt: skip

    def trace(self, name):
        path = os.path.join(WORK, name + ".trace")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD)
            for key, value in self.notes:
                file.write('   0.000000021 s1   p1   101/101      device_note  device=1 key="%s" value="%d"\n' % (key, value))
            for number, (device, counter, unit, flags) in enumerate(COUNTERS, 1):
                file.write('   0.000000022 s0   p0   100/100      counter      counter=%d device=%d flags=%s per=1 name="%s" unit="%s" group=""\n'
                           % (number, device, "AMOUNT" if flags else "0", counter, unit))  # fmt: skip
            for ns, text in sorted(self.lines, key=lambda line: line[0]):
                file.write("%4d.%09d %s\n" % (*divmod(ns, S), text))
            file.write("  10.100000000 s0   p0   100/100      process_end  process=1 status=0 user_ns=0 kernel_ns=0 "
                       "max_rss_bytes=4096 source=WAIT\n")  # fmt: skip
        subprocess.run([MKTRACE, path, path[:-6]], check=True)
        return path[:-6]


def report(made, what, *words):
    done = subprocess.run([AFLAME, "report", what, "--json", *words, made], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)  # fmt: skip
    equal(done.returncode, 0, "exit status of report %s: %s" % (what, done.stderr))
    return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def limits(made, *words):
    return report(made, "summary", *words).get("limits", [])


def finding(made, kind):
    found = [row for row in report(made, "findings", "-n", "0")["findings"] if row["kind"] == kind]
    equal(len(found), 1, "findings of the kind " + kind)
    equal(found[0]["check"], "aflame report limits " + made, "the command that shows its numbers")
    return found[0]


def says(row, *parts):
    for part in parts:
        expect(part in row["finding"], "%r is not in: %s" % (part, row["finding"]))


@case("throttled: how much of the device's work, what reason, and what its clock was then and else")
def _():
    host = Host()
    # In work from 1 s to 5 s (two queues) and from 7 s to 9 s; the cap holds from 3 s to 8 s: 3 s of 6 s.
    host.work(1000, 5000)
    host.work(2000, 4000, descriptor=2)
    host.work(7000, 9000)
    host.level(OURS, "throttled: power cap", lambda ms: 3000 <= ms < 8000)
    host.level(OURS, "SM clock", lambda ms: 1200 if 3000 <= ms < 8000 else 1980)
    host.level(OURS, "power", lambda ms: 700 if 3000 <= ms < 8000 else 400)
    host.level(OURS, "temperature", lambda ms: 83 if ms == 7500 else 70)
    made = host.trace("throttled")
    (row,) = limits(made)
    equal((row["kind"], row["limit"], row["device"]), ("throttled", "throttled: power cap", "Ours"), "its row")
    equal((row["time_ns"], row["of_ns"]), (3 * S, 6 * S), "time throttled, of the time with work")
    equal((row["from_ns"], row["to_ns"]), (3 * S, 8 * S), "from and to")
    equal((row["value"], row["otherwise"], row["unit"]), (1200, 1980, "MHz"), "clocks")
    equal((row["power_w"], row["most_celsius"]), (700, 83), "power then, and the most heat")
    found = finding(made, "throttled")
    equal((found["time_ns"], found["share"]), (3 * S, 50), "the finding's time")
    says(found, "Ours was throttled (power cap) for 3.0", "50.0 % of 6.0", "between 3.0", "and 8.0",
         "its clock was 1,200 MHz then and 1,980 MHz else, 700 W, up to 83 °C")  # fmt: skip
    expect("power limit" in found["helps"], found["helps"])
    # A part of the run has its part of it.
    (row,) = limits(made, "--from", "4s", "--to", "7500ms")
    equal((row["time_ns"], row["of_ns"]), (1500 * MS, 1500 * MS), "of a part of the run")


@case("a PCIe link is full where traffic is near what its generation and lanes move, and says what it could be")
def _():
    host = Host()
    host.work(1000, 9000)
    # Generation 4 by 8 lanes moves 15.75 GB/s, from 5 s on by 16 twice that: 14 GB/s are 89 and 44 %.
    for name, of in (("PCIe generation", lambda ms: 4), ("PCIe generation, most", lambda ms: 5),
                     ("PCIe lanes", lambda ms: 16 if ms >= 5000 else 8), ("PCIe lanes, most", lambda ms: 16)):  # fmt: skip
        host.level(OURS, name, of)
    for at in range(200, 10001, 100):
        host.read(at, OURS, "PCIe received", 1400000000 if 2000 < at <= 8000 else 1000000, span=100)
        host.read(at, OURS, "PCIe sent", 1200000000, span=100)
    made = host.trace("link")
    (row,) = limits(made)
    equal((row["kind"], row["limit"], row["device"], row["unit"]), ("full-link", "PCIe received", "Ours", "bytes/s"), "its row")
    equal((row["time_ns"], row["of_ns"]), (3 * S, 9900 * MS), "time, of the time with readings")
    equal((row["from_ns"], row["to_ns"], row["link"]), (2 * S, 5 * S, "generation 4 of 5, 8 of 16 lanes"), "from, to, link")
    equal(row["value"], 14 * GB, "bytes a second")
    expect(abs(row["otherwise"] - 16e9 / 8 * 128 / 130 * 8) < 1, "bytes a second that it moves: %s" % row["otherwise"])
    found = finding(made, "full-link")
    says(found, "the PCIe link of Ours was full (PCIe received) for 3.0", "14.0 GB of 15.8 GB a second",
         "generation 4 of 5, 8 of 16 lanes")  # fmt: skip
    expect("slot" in found["helps"], found["helps"])
    # Nobody knows what a link moves whose generation was not read.
    host.lines = [line for line in host.lines if "values=[12," not in line[1]]
    equal(limits(host.trace("unknown_link")), [], "limits of an unknown link")


@case("throttled: a device that never was is no row, and without its work all of the time counts")
def _():
    host = Host()
    host.work(1000, 5000)
    host.level(OURS, "throttled: power cap", lambda ms: 6000 <= ms < 9000)
    equal(limits(host.trace("idle_throttled")), [], "throttled while it had no work")
    host = Host()
    host.level(OURS, "throttled: power cap", lambda ms: 6000 <= ms < 9000)
    (row,) = limits(host.trace("no_work"))
    equal((row["time_ns"], row["of_ns"], row["of"]), (3 * S, 9900 * MS, "the time with readings"), "without work")
    equal(row["value"], None, "a clock that was not read")


@case("memory: nearly full only where its size is known, and for how long")
def _():
    for notes in ((), (("memory_bytes", MEMORY),)):
        host = Host(notes)
        host.work(1000, 9000)
        host.level(OURS, "memory used", lambda ms: 79 * GB if 4000 <= ms < 6000 else 60 * GB)
        made = host.trace("memory%d" % len(notes))
        rows = limits(made)
        if not notes:
            equal(rows, [], "rows without the memory's size")
            continue
        equal([(r["kind"], r["time_ns"], r["value"], r["otherwise"]) for r in rows],
              [("memory-full", 2 * S, 79 * GB, MEMORY)], "its row")  # fmt: skip
        found = finding(made, "memory-full")
        equal(found["time_ns"], None, "time that can be gained")
        (row,) = limits(made, "--from", "5s", "--to", "8s")
        equal((row["time_ns"], row["of_ns"]), (S, 3 * S), "of a part of the run")
        says(found, "the memory of Ours was nearly full for 2.0", "79.0 GB of 80.0 GB in use")


@case("another process on the device: busy while this trace's work was over for a second")
def _():
    host = Host()
    # Until 5 s it is this trace's work; the device's own number lags behind, and does not count.
    host.work(1000, 5000)
    host.level(OURS, "GPU busy", lambda ms: 97 if 1000 < ms < 5900 else 40 if 7000 < ms <= 9000 else 0)
    made = host.trace("shared")
    (row,) = limits(made)
    equal((row["kind"], row["time_ns"], row["value"]), ("shared-device", 2 * S, 40), "its row")
    equal((row["from_ns"], row["to_ns"]), (7 * S, 9 * S), "from and to")
    # Readings from 6.0 s to 9.9 s, each of the 100 ms before it.
    equal(row["of_ns"], 4 * S, "the time that is known")
    says(finding(made, "shared-device"), "Ours was 40 % busy with work of others for 2.0")
    host = Host()
    host.work(1000, 9950)
    host.level(OURS, "GPU busy", lambda ms: 97)
    equal(limits(host.trace("own")), [], "a device that is busy with the trace's own work")


@case("a neighbour: busy while this trace's devices are idle, and hot")
def _():
    host = Host()
    host.work(1000, 3000)
    host.work(7000, 9000)
    host.level(NEIGHBOUR, "GPU busy", lambda ms: 90 if 2000 <= ms < 6000 else 5)
    host.level(NEIGHBOUR, "temperature", lambda ms: 88)
    host.level(NEIGHBOUR, "throttled: heat (driver)", lambda ms: 5000 <= ms < 8000)
    host.level(NEIGHBOUR, "throttled: power cap", lambda ms: 1)
    made = host.trace("neighbour")
    rows = {row["kind"]: row for row in limits(made)}
    equal(set(rows), {"busy-neighbour", "hot-neighbour"}, "kinds")
    busy, hot = rows["busy-neighbour"], rows["hot-neighbour"]
    equal((busy["device"], busy["time_ns"], busy["of_ns"], busy["value"]), ("Neighbour", 3 * S, 4 * S, 90), "busy")
    equal((hot["limit"], hot["time_ns"], hot["most_celsius"]), ("throttled: heat (driver)", 3 * S, 88), "hot")
    says(finding(made, "busy-neighbour"), "Neighbour, on which nothing of this trace ran, was 90 % busy", "75.0 % of 4.0")
    says(finding(made, "hot-neighbour"), "was throttled (heat (driver)) for 3.0", "up to 88 °C")


@case("read in parts of time, the limits are the same")
def _():
    host = Host((("memory_bytes", MEMORY),))
    for start in range(500, 9500, 500):
        host.work(start, start + 150 + start % 700)
        host.work(start + 100, start + 350, descriptor=2)
    host.level(OURS, "throttled: power cap", lambda ms: ms // 700 % 2)
    host.level(OURS, "SM clock", lambda ms: 1200 + ms // 700 % 2 * 780)
    host.level(OURS, "memory used", lambda ms: 78 * GB if ms // 900 % 2 else GB)
    host.level(NEIGHBOUR, "GPU busy", lambda ms: 90 if ms // 1100 % 2 else 5)
    os.environ["MKTRACE_PACKET"] = "64"
    made = host.trace("parts")
    os.environ.update(AFLAME_JOBS="1", AFLAME_PART_BYTES="1000000000")
    one = limits(made)
    equal({row["kind"] for row in one}, {"throttled", "memory-full", "busy-neighbour"}, "kinds")
    size = sum(os.path.getsize(os.path.join(made, name)) for name in os.listdir(made))
    for parts in (2, 7, 40):
        os.environ.update(AFLAME_JOBS="2", AFLAME_PART_BYTES=str(size // parts + 1))
        equal(limits(made), one, "of %d parts" % parts)


run_cases()
