#!/usr/bin/env python3
"""Counters of Intel's GPUs over time, from files that look like those of the kernel's xe driver (xe_card.py): no
hardware and no driver of Intel's is here. Each number that the files had has to be in the trace, with its name, its
unit and its time, and as often as was asked for."""

import os
import re
import shutil
import struct
import sys

from readings import Readings
from recording import FAILED, USAGE, aflame, new_path, record, refused
from tap import case, equal, expect, near, note, run_cases
from xe_card import Machine, Samples, Sent, doctor, lost, notes

NS_PER_MS = 1000000


def by_heartbeat(machine, *command, ms=20, options=(), **how):
    options = ("--sample", "none,xe-oa=%d" % ms, "--api", "none", *options)
    run = record(*command, env=machine.env(), options=options, **how)
    return run, Readings(run)


def set_while(folder, pause, *steps):
    """A program that writes files of @folder: each step is {name: text, or None to remove it}."""
    program = """
import os, sys, time
time.sleep(%r)
for step in %r:
    for name, text in step.items():
        path = os.path.join(%r, name)
        if text is None:
            os.remove(path)
        else:
            with open(path + ".new", "w") as f:
                f.write(text)
            os.rename(path + ".new", path)
    time.sleep(%r)
""" % (pause, steps, folder, pause)
    return sys.executable, "-c", program


def in_time(readings, ms, missed):
    """As many as there is time for: one at once, one each @ms, and the last at the end."""
    times = [time for time, _, _ in readings.levels[1]]
    periods = (times[-2] - times[0]) / (ms * NS_PER_MS)
    expect(abs(periods - (len(times) - 2 + missed)) < 1, "%g periods, %d readings, %d missed"
           % (periods, len(times) - 1, missed))
    return len(times)


@case("a reading each period, at once and at the end; those that were missed are counted")
def _():
    machine = Machine()
    machine.card().gt(act_freq=1200, cur_freq=1500, idle_ms=100, status=0)
    for ms in (100, 20, 2):
        run, readings = by_heartbeat(machine, "sleep", "0.45", ms=ms)
        missed = lost(run, "LATE")
        nr = in_time(readings, ms, missed)
        expect(nr + missed >= 450 // ms + 1, "%d readings, %d missed" % (nr, missed))
        text = "read %d times" % nr + (", and %d times not in time" % missed if missed else "")
        equal(notes(run, "collector.xe_oa.readings"), [text], "note")
        equal(len(readings.shares[1]), nr - 1, "shares of the time between them")
        spans = sum(span for _, span, _ in readings.shares[1])
        equal(spans, readings.levels[1][-1][0] - readings.levels[1][0][0], "spans")
        note("%d ms: %d readings, %d missed" % (ms, nr, missed))


@case("without a period there is one each 100 ms")
def _():
    machine = Machine()
    machine.card().gt(act_freq=1200)
    run = record("sleep", "0.45", env=machine.env(), options=("--sample", "none,xe-oa", "--api", "none"))
    in_time(Readings(run), 100, lost(run, "LATE"))
    text = notes(run, "collector.xe_oa")
    equal(text, ["every 100 ms, by the driver's files and events: GPU 0xe20b (0000:03:00.0): GT 0 frequency"], "note")


@case("counters are defined with their names, units and device; each number of the files is there")
def _():
    machine = Machine()
    card = machine.card().gt(act_freq=1200, cur_freq=1550, idle_ms=7, status=1, reason_thermal=0, reason_pl1=1)
    card.gt(tile=1, gt=1, act_freq=0)
    run, readings = by_heartbeat(machine, "sleep", "0.1")
    known = [(f["name"], f["unit"], f["per"], f["group"], f["device"], f["flags"])
             for f in readings.counters.values()]
    none = known[0][-1]
    equal(known, [
        ("GT 0 frequency", "MHz", 1, "GT 0", 1, none),
        ("GT 0 frequency asked for", "MHz", 1, "GT 0", 1, none),
        ("GT 0 awake", "%", 1000, "GT 0", 1, none),
        ("GT 0 throttled", "", 1, "GT 0", 1, none),
        ("GT 0 throttled: pl1", "", 1, "GT 0", 1, none),
        ("GT 0 throttled: thermal", "", 1, "GT 0", 1, none),
        ("GT 1 frequency", "MHz", 1, "GT 1", 1, none),
    ], "counters")
    expect("AMOUNT" not in str(none) and none != 1, none)
    for name, value in {"GT 0 frequency": 1200, "GT 0 frequency asked for": 1550, "GT 0 throttled": 1,
                        "GT 0 throttled: pl1": 1, "GT 0 throttled: thermal": 0, "GT 1 frequency": 0}.items():
        equal(set(readings.of(name)), {value}, name)
    equal(set(readings.of("GT 0 awake")), {100}, "of a GT whose idleness does not grow")
    devices = [e["fields"]["name"] for e in run.events("device") if e["process"] == 0]
    equal(devices, ["GPU 0xe20b (0000:03:00.0)"], "devices")


@case("numbers that change are seen as they change, and each in its turn")
def _():
    machine = Machine()
    card = machine.card().gt(act_freq=300)
    steps = [{"tile0/gt0/freq0/act_freq": "%d\n" % mhz} for mhz in (900, 2400, 0, 1350)]
    _, readings = by_heartbeat(machine, *set_while(card.sysfs, 0.12, *steps), ms=10)
    seen = readings.of("GT 0 frequency")
    turns = [mhz for i, mhz in enumerate(seen) if not i or seen[i - 1] != mhz]
    equal(turns, [300, 900, 2400, 0, 1350], "frequencies")


@case("the share of time awake is what the driver's milliseconds of idleness leave")
def _():
    machine = Machine()
    card = machine.card().gt(act_freq=1, idle_ms=1000)
    # 60 ms of idleness, once; and a counter that begins anew, of which no share is known
    steps = ({"tile0/gt0/gtidle/idle_residency_ms": "1060\n"}, {"tile0/gt0/gtidle/idle_residency_ms": "3\n"})
    run, readings = by_heartbeat(machine, *set_while(card.sysfs, 0.35, *steps), ms=100)
    shares = [(span, values["GT 0 awake"]) for _, span, values in readings.shares[1]]
    idle = [(span, share) for span, share in shares if share != 100]
    expect(len(idle) == 1, shares)
    near(idle[0][0] * (100 - idle[0][1]) / 100 / NS_PER_MS, 60, 0.1, "milliseconds of idleness")
    equal(len(shares), len(readings.levels[1]) - 2, "shares: none of the first reading, and of the counter's new begin")
    expect("; 1 values could not be had" in notes(run, "collector.xe_oa.readings")[0], notes(run, "collector.xe_oa.readings"))


@case("files that vanish, come back or make no sense are left out and counted; the others go on")
def _():
    machine = Machine()
    card = machine.card().gt(act_freq=1200, status=0, idle_ms=5)
    steps = (
        {"tile0/gt0/freq0/act_freq": None, "tile0/gt0/gtidle/idle_residency_ms": "unknown\n"},
        {"tile0/gt0/freq0/act_freq": "-5\n", "tile0/gt0/gtidle/idle_residency_ms": "99999999999999999999999\n"},
        {"tile0/gt0/freq0/act_freq": "77\n", "tile0/gt0/gtidle/idle_residency_ms": "6\n"},
    )
    run, readings = by_heartbeat(machine, *set_while(card.sysfs, 0.1, *steps), ms=10)
    all_times = len(readings.of("GT 0 throttled"))
    seen = readings.of("GT 0 frequency")
    equal([seen[0], seen[-1], set(seen)], [1200, 77, {1200, 77}], "frequencies")
    expect(5 < len(seen) < all_times - 10, "%d of %d" % (len(seen), all_times))
    text = notes(run, "collector.xe_oa.readings")[0]
    failed = int(text.split("; ")[1].split(" ")[0])
    expect(all_times - len(seen) <= failed, "%d of %d failed: %s" % (all_times - len(seen), all_times, text))


@case("a driver that goes away whole ends no recording")
def _():
    machine = Machine()
    card = machine.card().gt(act_freq=1200)
    aside = card.sysfs + ".gone"
    run, readings = by_heartbeat(machine, "sh", "-c", "sleep 0.2; mv %s %s; sleep 0.2" % (card.sysfs, aside), ms=10)
    shutil.rmtree(aside)
    seen, text = len(readings.of("GT 0 frequency")), notes(run, "collector.xe_oa.readings")[0]
    turns = int(re.match(r"read (\d+) times", text).group(1))
    expect(5 < seen < turns - 5 and "; %d values could not be had" % (turns - seen) in text, "%d: %s" % (seen, text))


@case("all cards are read, with the numbers that samples of stalls give them")
def _():
    machine, sent = Machine(), Sent()
    machine.card().gt(act_freq=100)
    machine.card(layout="xe3p").gt(act_freq=200).rows(0, sent, 300, seed=3)
    options = ("--sample", "xe-oa=10,xe-eustall,none", "--api", "none")
    run = record("sleep", "0.4", env=machine.env(), options=options)
    Samples(run).check(sent)
    readings = Readings(run)
    equal([set(readings.of("GT 0 frequency", device)) for device in (1, 2)], [{100}, {200}], "of the cards")
    known = {e["fields"]["device"]: e["fields"]["name"] for e in run.events("device") if e["process"] == 0}
    equal(known, {1: "GPU 0xe20b (0000:03:00.0)", 2: "GPU 0xe20b (0000:04:00.0)"}, "devices")


@case("--gpu-samples reads them as well, also where the kernel refuses samples of stalls")
def _():
    for step in ("open 0 0", "open 0 13", "open 0 16"):
        machine = Machine()
        machine.card().gt(act_freq=450).step(step)
        run = record("sleep", "0.25", env=machine.env(), options=("--gpu-samples",), quiet=False)
        seen = Readings(run).of("GT 0 frequency")
        expect(len(seen) >= 3 and set(seen) == {450}, "%s: %s" % (step, seen))


@case("a card that this user may not open is read, and one without EU stalls, too")
def _():
    machine = Machine()
    machine.card(device="56a0").gt(act_freq=600).step("stalls 19")
    _, readings = by_heartbeat(machine, "sleep", "0.1")
    equal(set(readings.of("GT 0 frequency")), {600}, "frequencies")


@case("while recording is off nothing is read, and a share does not reach over it")
def _():
    machine = Machine()
    machine.card().gt(act_freq=1200, idle_ms=5)
    run, readings = by_heartbeat(machine, "sleep", "0.8", ms=10, options=("--delay", "0.2", "--duration", "0.3"))
    times = [time for time, _, _ in readings.levels[1]]
    begin = min(e["time_ns"] for e in run.events("note"))
    expect(times[0] - begin > 150e6, "read %g ms after the begin" % ((times[0] - begin) / 1e6))
    (stopped,) = [e["time_ns"] for e in run.events("note") if e["fields"]["key"] == "stopped"]
    expect(times[-1] - stopped < 20e6, "read %g ms after it was stopped" % ((times[-1] - stopped) / 1e6))
    expect(len(times) + lost(run, "LATE") > 20, "%d readings" % len(times))
    equal(min(time - span for time, span, _ in readings.shares[1]), times[0], "where the first share begins")


@case("a recording that keeps the newest has the definitions again")
def _():
    machine = Machine()
    machine.card().gt(act_freq=1200)
    _, readings = by_heartbeat(machine, "sleep", "0.3", ms=5, options=("--ring", "8M"))
    expect(len(readings.of("GT 0 frequency")) > 30, readings.levels)


RENDER, COPY, COMPUTE = 0, 1, 4
ACTIVE, ALL = 2, 3


def with_engines():
    """A card of two GTs with four engines, of which one is not known to the event source."""
    machine = Machine()
    card = machine.card(gts=2).gt(act_freq=1200, idle_ms=5).gt(gt=1, act_freq=800, idle_ms=7)
    machine.events(card, cpu=3)
    engines = [(RENDER, 0, 0), (COMPUTE, 0, 0), (COMPUTE, 3, 1), (COPY, 8, 1), (9, 0, 0)]
    for engine in engines:
        card.step("engine %d %d %d" % engine)
    files = [(machine.count(ACTIVE, engine, 500), machine.count(ALL, engine, 1000)) for engine in engines[:3]]
    return machine, files


def counts_while(machine, pause, *steps):
    """A program that changes counts: all those of a step at once, by one link. A step is {path: text, or None}."""
    counts, names = os.path.join(machine.folder, "counts"), []
    os.rename(counts, counts + ".0")
    os.symlink(counts + ".0", counts)
    for i, step in enumerate(steps, 1):
        folder = "%s.%d" % (counts, i)
        shutil.copytree("%s.%d" % (counts, i - 1), folder)
        os.symlink(folder, folder + ".link")
        names.append(folder + ".link")
        for path, text in step.items():
            changed = os.path.join(folder, os.path.basename(path))
            os.remove(changed)
            if text is not None:
                with open(changed, "w", encoding="ascii") as f:
                    f.write(text)
    program = "import os, time\nfor name in %r:\n time.sleep(%r)\n os.rename(name, %r)\ntime.sleep(%r)" % (
        names, pause, counts, pause)
    return sys.executable, "-c", program


@case("engines are as busy as their ticks tell, and where they tell it the GT's idleness is not asked")
def _():
    machine, (render, compute, other) = with_engines()
    steps = (
        {render[0]: "1500\n", render[1]: "5000\n", compute[0]: "500\n", compute[1]: "2000\n",
         other[0]: "1601\n", other[1]: "1600\n"},
        {render[0]: "1400\n", render[1]: "6000\n", compute[0]: "1000\n", compute[1]: "2500\n"},
    )
    run, readings = by_heartbeat(machine, *counts_while(machine, 0.25, *steps), ms=100)
    names = [f["name"] for f in readings.counters.values()]
    equal(names, ["GT 0 frequency", "GT 0 rcs0 busy", "GT 0 ccs0 busy", "GT 1 frequency", "GT 1 ccs3 busy"], "counters")
    # a quarter; ticks that go back are no share; all of it, even where the ticks are more
    equal(readings.of("GT 0 rcs0 busy"), [25], "render")
    equal(readings.of("GT 0 ccs0 busy"), [0, 100], "compute")
    equal(readings.of("GT 1 ccs3 busy"), [100], "the other GT's")
    expect("; 1 values could not be had" in notes(run, "collector.xe_oa.readings")[0], notes(run, "collector.xe_oa.readings"))
    asked = sorted({line for line in machine.log() if line.startswith("event")})
    expect(asked and all(line.endswith(" pid -1 cpu 3") for line in asked), asked)


@case("an event that vanishes is left out and counted, and the others go on")
def _():
    machine, (render, compute, _) = with_engines()
    steps = ({render[1]: None}, {compute[0]: "700\n", compute[1]: "1400\n"})
    run, readings = by_heartbeat(machine, *counts_while(machine, 0.2, *steps), ms=20)
    equal(readings.of("GT 0 rcs0 busy"), [], "render")
    equal(readings.of("GT 0 ccs0 busy"), [50], "compute")
    expect("values could not be had" in notes(run, "collector.xe_oa.readings")[0], "note")


@case("where events are refused the idleness is read, with a line that fixes it")
def _():
    for refused_by, fix in ((13, True), (1, True), (19, False)):
        machine, _ = with_engines()
        with open(os.path.join(machine.folder, "counts/refused"), "w", encoding="ascii") as f:
            f.write("%d" % refused_by)
        run, readings = by_heartbeat(machine, "sleep", "0.1")
        expect(readings.of("GT 0 awake") and not readings.of("GT 0 rcs0 busy"), readings.counters)
        text = notes(run, "collector.xe_oa")[0]
        equal("sysctl kernel.perf_event_paranoid=0" in text, fix, text)


HZ = 19200000  # of a unit's time


def heads(layout, *numbers):
    """Reports of an observation unit with (time, ticks of the GPU's clock); what follows the head is noise."""
    content = b""
    for stamp, ticks in numbers:
        if layout == "xe2":
            content += struct.pack("<4Q", 1 << 19, stamp, 0, ticks) + b"\xa5" * 160
        else:
            content += struct.pack("<4I", 1 << 19, stamp % 2**32, 0, ticks % 2**32) + b"\xa5" * 240
    return content


def reports_while(machine, pause, *contents):
    """A program that lets a unit's stream have reports, or an errno, one after the other."""
    names = []
    for i, content in enumerate(contents):
        names.append(os.path.join(machine.folder, "reports.%d" % i))
        with open(names[-1], "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
    program = "import os, time\nfor name in %r:\n time.sleep(%r)\n os.rename(name, %r)\ntime.sleep(%r)" % (
        names, pause, os.path.join(machine.folder, "oa/3"), pause)
    return sys.executable, "-c", program


def with_unit(layout="xe2"):
    machine = Machine()
    return machine, machine.card(layout=layout).gt(act_freq=1200).step("unit 3 0 %d" % HZ)


for each_layout, wraps in (("xe2", False), ("pvc", True)):
    @case("the mean frequency is what reports of %s tell, over the time that they tell" % each_layout)
    def _(layout=each_layout, wraps=wraps):
        machine, _card = with_unit(layout)
        begin, ticks = (2**32 - 1000000, 2**32 - 5000000) if wraps else (1 << 40, 1 << 50)
        # 0.1 s at 2000 MHz in three reports, 0.05 s at 300.5 MHz, and 0.1 s without a tick
        first = heads(layout, (begin, ticks), (begin + HZ // 20, ticks + 150000000), (begin + HZ // 10, ticks + 200000000))
        second = heads(layout, (begin + HZ // 10 + HZ // 20, ticks + 200000000 + 15025000))
        third = heads(layout, (begin + HZ // 4, ticks + 200000000 + 15025000))
        run, readings = by_heartbeat(machine, *reports_while(machine, 0.15, first, second, third), ms=40)
        means = [(span, values["GT 0 mean frequency"]) for _, span, values in readings.shares[1]]
        equal(means, [(100000000, 2000), (50000000, 300.5), (100000000, 0)], "means")
        units = [(f["name"], f["unit"], f["per"]) for f in readings.counters.values()]
        equal(units, [("GT 0 frequency", "MHz", 1), ("GT 0 mean frequency", "MHz", 1000)], "counters")
        # two reports in 40 ms at least: 2^18 ticks of 19.2 MHz are 13.7 ms
        equal([line for line in machine.log() if line.startswith(("config", "unit", "close unit"))][-4:],
              ["config added: 0", "unit 3 exponent 17: 0", "config removed: 0", "close unit 3"], "calls")
        equal(notes(run, "collector.xe_oa.readings")[0].count("could not be had"), 0, "failures")


@case("reports that were lost or make no sense are counted, and those that follow count")
def _():
    machine, _card = with_unit()
    cut = heads("xe2", (HZ, 0))[:100]
    run, readings = by_heartbeat(machine, *reports_while(
        machine, 0.12, heads("xe2", (HZ, 1000)), "errno 5", cut, heads("xe2", (1 << 62, 0)),
        heads("xe2", ((1 << 62) + HZ // 100, 10000000))), ms=30)
    equal([values["GT 0 mean frequency"] for _, _, values in readings.shares[1]], [1000], "means")
    expect("; 3 values could not be had" in notes(run, "collector.xe_oa.readings")[0], notes(run, "collector.xe_oa.readings"))


@case("a stream that ends leaves the other counters")
def _():
    machine, _card = with_unit()
    run, readings = by_heartbeat(machine, *reports_while(machine, 0.12, "errno 19", heads("xe2", (1, 1))), ms=30)
    expect(len(readings.of("GT 0 frequency")) >= 5 and not readings.of("GT 0 mean frequency"), readings.levels)
    expect("; 1 values could not be had" in notes(run, "collector.xe_oa.readings")[0], notes(run, "collector.xe_oa.readings"))


@case("where the stream of a unit is refused a line fixes it, and files are read")
def _():
    for step, text in {
        "grant 1 13": "sysctl dev.xe.observation_paranoid=0",
        "grant 0 13": "sysctl dev.xe.observation_paranoid=0",
        "grant 0 16": "another program observes it",
        "grant 0 19": "the driver opens no stream of it: No such device",
        "grant 1 22": "the driver opens no stream of it: Invalid argument",
    }.items():
        machine, card = with_unit()
        card.step(step).step(step)
        run, readings = by_heartbeat(machine, "sleep", "0.1")
        equal(set(readings.of("GT 0 frequency")), {1200}, "frequencies")
        (says,) = notes(run, "collector.xe_oa")
        # the probe took the first refusal
        expect("; GT 0 has no mean frequency: " in says and text in says, says)


@case("only a collector that is named takes a unit, as others need it")
def _():
    machine, card = with_unit()
    record("sleep", "0.1", env=machine.env(), options=("--gpu-samples",), quiet=False)
    equal([line for line in machine.log() if line.startswith(("config", "unit"))], [], "calls")
    works, says = doctor(machine, "xe-oa")
    expect(works and "GT 0 mean frequency" in says, says)
    card.step("grant 0 16")
    works, says = doctor(machine, "xe-oa")
    expect(works and "GT 0 has no mean frequency: another program observes it" in says, says)


@case("doctor names what is read, and what is missing")
def _():
    machine = Machine()
    machine.card().gt(act_freq=1, idle_ms=1)
    equal(doctor(machine, "xe-oa"), (True, "GPU 0xe20b (0000:03:00.0): GT 0 frequency, GT 0 awake"), "works")
    machine = Machine()
    machine.card()
    works, what = doctor(machine, "xe-oa")
    expect(not works and "shows no frequency of GPU 0xe20b" in what, what)
    works, what = doctor(Machine(), "xe-oa")
    expect(not works and "no GPU with the xe driver" in what, what)


@case("lists of --sample that make no sense are refused, with what does")
def _():
    for words, pattern in {
        "xe-oa=0": "takes 1 to 60000 milliseconds",
        "xe-oa=1e3": "takes 1 to 60000 milliseconds",
        "xe-oa=": "takes 1 to 60000 milliseconds",
        "xe-eustall=5": "takes no value",
        "perf,timer": "two ways to sample the CPU",
        "xe-eustall,zet-stall": "two samplers of instructions",
        "nothing": 'xe-oa\\[=MS\\].*, not "nothing"',
        "none,": 'not ""',
    }.items():
        machine = Machine()
        machine.card().gt(act_freq=1)
        refused(USAGE, pattern, "record", "-o", new_path(), "--sample", words, "--", "true", env=machine.env())
    done = aflame("record", "--strict", "-o", new_path(), "--sample", "none,xe-oa", "--", "true", env=Machine().env())
    expect(done.returncode == FAILED and "no GPU with the xe driver" in done.stderr, done.stderr)


if __name__ == "__main__":
    run_cases()
