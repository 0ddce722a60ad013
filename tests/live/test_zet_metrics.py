#!/usr/bin/env python3
"""Counters of Intel's GPUs over time by Level Zero's metric streamers, with the mock driver of tests/mock_zet under
the real loader: each value of each report has to be in the trace, with its counter, its span and its time."""

import json

from readings import Readings
from recording import FAILED, USAGE, aflame, new_path, record, refused
from tap import case, equal, expect, note, run_cases
from xe_card import lost, notes
from zet_card import EVENT, TIME, Device, Group, Machine, Metric, need_mock, stalls

PCI = "0000:3a:00.0"
PERIOD = 2000000  # ns, between reports of the cases
BEGIN = 5 << 40  # the device's clock, which is not ours


def compute_basic(name="ComputeBasic", sampling=TIME | EVENT):
    return Group(
        name,
        "Compute Metrics Basic set",
        sampling,
        0,
        [
            Metric("GpuTime", "", "GPU", "ns", of="duration"),
            Metric("QueryBeginTime", "", "GPU", "ns", of="timestamp"),
            Metric("AvgGpuCoreFrequencyMHz", "", "GPU", "MHz"),
            Metric("GpuBusy", "", "GPU", "percent", of="ratio", value="float32"),
            Metric("XVE_INST", "", "XVE", "events"),
            Metric("BYTES_READ_RATE", "", "GTI", "GBpS", of="throughput", value="float64"),
            Metric("Overrun", "", "OA", "", of="flag", value="bool8"),
            Metric("IP", "", "XVE", "Address", of="ip"),
        ],
    )


NAMES = ("GpuTime", "AvgGpuCoreFrequencyMHz", "GpuBusy", "XVE_INST", "BYTES_READ_RATE", "Overrun")


def report(machine, i, device=1, part=0, **changed):
    """Report @i, and what a trace should have of it."""
    values = {
        "GpuTime": PERIOD - i,
        "AvgGpuCoreFrequencyMHz": 1000 + i,
        "GpuBusy": i % 101 + 0.5,
        "XVE_INST": (1 << 40) + i,
        "BYTES_READ_RATE": i / 4096,
        "Overrun": i % 2,
    }
    values.update(changed)
    machine.report(
        device,
        values["GpuTime"],
        BEGIN + i * PERIOD,
        *(values[name] for name in NAMES[1:]),
        1234,
        part=part,
    )
    return {name: rounded(value) for name, value in values.items() if is_kept(value)}


def rounded(value):
    return int(value * 1000000 + 0.5) / 1000000


def is_kept(value):
    return not isinstance(value, str) and value >= 0


def streamed(machine, what="ComputeBasic", *options, command=("sleep", "0.6"), **how):
    need_mock()
    options = ("--sample", "none,zet-metrics=" + what, "--api", "none", *options)
    run = record(*command, env=machine.env(), options=options, **how)
    return run, Readings(run)


def card(**how):
    return Device("Mock Arc", compute_basic(), pci=PCI, **how)


def quiet_reads(machine, device=1, nr=10):
    """Nothing for some ticks of 20 ms, so that reports can be older than their read."""
    for _ in range(nr):
        machine.read(device)


@case("each value of each report is in the trace, at the device's pace, over the report's own span")
def _():
    machine = Machine(card())
    quiet_reads(machine)
    sent = []
    for i in range(120):
        sent.append(report(machine, i))
        if i % 10 == 9:
            machine.read(1).read(1)  # then there is nothing, until the next tick
    run, readings = streamed(machine, command=("sleep", "1"))
    (device,) = readings.shares
    seen = readings.shares[device]
    equal([values for _, _, values in seen], sent, "values")
    equal([span for _, span, _ in seen], [PERIOD - i for i in range(120)], "spans")
    times = [time for time, _, _ in seen]
    steps = [b - a for a, b in zip(times, times[1:])]
    equal({step for i, step in enumerate(steps) if i % 10 != 9}, {PERIOD}, "nanoseconds between reports of one read")
    # reads come each 20 ms or later, as late as they like, and the device's clock is what counts
    expect(all(PERIOD <= step < PERIOD + 10000 for step in steps), "nanoseconds between reports: %s" % sorted(steps)[-3:])
    equal(lost(run, "DROPPED"), 0, "LOST")
    equal(notes(run, "collector.zet_metrics.reports"), ["GPU 0xe20b (%s): 120 reports each 10 ms" % PCI], "note")
    note("%d values" % sum(len(values) for values in sent))


@case("counters have the metric's name, unit and group; what adds up is an amount, and times are none")
def _():
    machine = Machine(card())
    report(machine, 1)
    run, readings = streamed(machine)
    known = [(f["name"], f["unit"], f["per"], f["group"], "AMOUNT" in str(f["flags"]) or f["flags"] == 1)
             for f in readings.counters.values()]
    equal(known, [
        ("GpuTime", "ns", 1, "ComputeBasic", True),
        ("AvgGpuCoreFrequencyMHz", "MHz", 1, "ComputeBasic", False),
        ("GpuBusy", "%", 1000000, "ComputeBasic", False),
        ("XVE_INST", "events", 1, "ComputeBasic", True),
        ("BYTES_READ_RATE", "GBpS", 1000000, "ComputeBasic", False),
        ("Overrun", "", 1, "ComputeBasic", False),
    ], "counters")
    devices = {e["fields"]["device"]: e["fields"]["name"] for e in run.events("device") if e["process"] == 0}
    equal(devices, {f["device"]: "GPU 0xe20b (%s)" % PCI for f in readings.counters.values()}, "devices")
    equal({f["key"]: f["value"] for f in run.fields("device_note")}["pci"], PCI, "PCI address")
    expect("6 counters, a report each 10 ms asked for" in notes(run, "collector.zet_metrics")[0],
           notes(run, "collector.zet_metrics"))


@case("the period is the one that is asked for, and the driver is asked for the group alone")
def _():
    for what, ns, reports in (("ComputeBasic", 10000000, 5), ("ComputeBasic@2", 2000000, 25),
                              ("ComputeBasic@50us", 50000, 1000), ("ComputeBasic@1s", 1000000000, 1)):
        machine = Machine(Device("Mock", compute_basic("Other"), compute_basic()))
        report(machine, 1)
        streamed(machine, what, command=("sleep", "0.2"))
        log = [line for line in machine.log() if line[0] != "init"]
        equal(log, [["activate", "1", "1"], ["open", "1", "ComputeBasic", str(ns), str(reports), "event"],
                    ["close", "1"], ["activate", "1", "0"]], "log of the mock")


@case("values that are negative, no number or too large are left out and counted; the others of the report are there")
def _():
    machine = Machine(card())
    sent = [report(machine, 0), report(machine, 1, GpuBusy="nan"), report(machine, 2, GpuBusy=-3.5),
            report(machine, 3, BYTES_READ_RATE="inf"), report(machine, 4, BYTES_READ_RATE="1e30"), report(machine, 5)]
    run, readings = streamed(machine)
    equal([values for _, _, values in readings.shares[next(iter(readings.shares))]], sent, "values")
    equal([len(values) for values in sent], [6, 5, 5, 5, 5, 6], "values of each")
    expect("4 values left out" in notes(run, "collector.zet_metrics.reports")[0],
           notes(run, "collector.zet_metrics.reports"))


@case("parts of a device have counters of their own, and all devices are streamed")
def _():
    machine = Machine(card(), Device("Tile 0", compute_basic(), part_of=1), Device("Tile 1", compute_basic(), part_of=1),
                      Device("Mock B", compute_basic(), pci="0000:4a:00.0"), Device("Without"))
    sent = {"1": [report(machine, i, part=0) for i in range(20)], "2": [report(machine, i, part=1) for i in range(30)]}
    other = [report(machine, i, device=4) for i in range(40)]
    _, readings = streamed(machine)
    first, second = sorted(readings.shares)
    for part, want in sent.items():
        seen = [values for _, _, values in readings.shares[first] if "GpuBusy, part " + part in values]
        equal(seen, [{"%s, part %s" % item: value for item, value in zip(((name, part) for name in values),
                                                                       values.values())} for values in want],
              "values of part " + part)
    equal([values for _, _, values in readings.shares[second]], other, "values of the other")
    equal(sorted(line[1] for line in machine.log() if line[0] == "open"), ["1", "4"], "streamers")


@case("a group without times of its own has reports of the driver's period, that end when they are read")
def _():
    group = Group("Bare", "", TIME, 0, [Metric("N")])
    machine = Machine(Device("Mock", group))
    quiet_reads(machine)
    for i in range(10):
        machine.report(1, 7 * i)
    _, readings = streamed(machine, "Bare@5ms")
    seen = readings.shares[next(iter(readings.shares))]
    equal([values for _, _, values in seen], [{"N": 7 * i} for i in range(10)], "values")
    equal({span for _, span, _ in seen}, {5000000}, "spans")
    equal({b[0] - a[0] for a, b in zip(seen, seen[1:])}, {5000000}, "nanoseconds between them")


@case("reports that the driver dropped, and those that it cannot calculate, are counted; the rest is there")
def _():
    machine = Machine(card())
    sent = [report(machine, 0)]
    machine.drop(1).read(1)
    report(machine, 1)
    machine.read(1)
    sent.append(report(machine, 2))
    run, readings = streamed(machine)
    equal([values["XVE_INST"] - (1 << 40) for values in
           (v for _, _, v in readings.shares[next(iter(readings.shares))])], [0, 1, 2], "reports")
    equal(lost(run, "DROPPED"), 1, "LOST")
    expect("dropped 1 times" in notes(run, "collector.zet_metrics.reports")[0], "note")


@case("each failure gives its sentence, and the recording goes on")
def _():
    for fault, text in {
        ("fail", "zeInit", "uninitialized"): "apt install libze-intel-gpu1",
        ("fail", "zetMetricStreamerOpen", "in use"): "another tool observes this GPU",
        ("fail", "zetContextActivateMetricGroups", "permissions"): "sysctl dev.",
        ("crash", "zetMetricStreamerOpen", 0): "crashed in zetMetricStreamerOpen",
        ("crash", "zetMetricGetProperties", 0): "crashed in zetMetricGetProperties",
    }.items():
        # the probe lists groups before, and must not fail: the fault is the second call's
        machine = Machine(card())
        report(machine, 1)
        machine.fault(*fault)
        path = new_path()
        done = aflame("record", "-o", path, "-q", "--sample", "none,zet-metrics=ComputeBasic", "--api", "none", "--",
                      "sh", "-c", "echo ran; sleep 0.3", env=machine.env())
        says = " ".join([done.stderr] + [f.get("value", "") for f in all_notes(path)])
        expect("ran" in done.stdout, done.stdout + done.stderr)
        expect(text in says, "%s: %s" % (fault, says))


def all_notes(path):
    done = aflame("print", "--format", "json", path)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [e["fields"] for e in events if e.get("kind") == "note"]


@case("a crash while reports are read leaves those that were sent")
def _():
    machine = Machine(card())
    sent = [report(machine, i) for i in range(50)]
    machine.read(1)
    machine.fault("crash", "zetMetricStreamerClose")
    run, readings = streamed(machine, quiet=False)
    expect("crashed in zetMetricStreamerClose" in run.stderr.decode(), run.stderr)
    seen = [values for _, _, values in readings.shares[next(iter(readings.shares))]]
    equal(seen, sent, "reports before the crash")


@case("a group that no device has is named, with what lists them")
def _():
    machine = Machine(Device("Mock", compute_basic(sampling=EVENT), compute_basic("Other")))
    run, readings = streamed(machine, quiet=False)
    text = run.stderr.decode()
    expect("no GPU has a time-based metric group ComputeBasic" in text and "doctor --metrics" in text, text)
    equal(readings.counters, {}, "counters")


@case("while recording is off no streamer is open")
def _():
    machine = Machine(card())
    sent = [report(machine, i) for i in range(5)]
    run, readings = streamed(machine, "ComputeBasic", "--delay", "0.2", "--duration", "0.3", command=("sleep", "0.8"))
    equal([values for _, _, values in readings.shares[next(iter(readings.shares))]], sent, "values")
    begin = min(e["time_ns"] for e in run.events("note"))
    first = min(time for time, _, _ in readings.shares[next(iter(readings.shares))])
    expect(first - begin > 150e6, "streamed %g ms after the begin" % ((first - begin) / 1e6))
    equal([line[0] for line in machine.log() if line[0] in ("open", "close")], ["open", "close"], "streamers")


@case("metrics and stalls are recorded together, with devices and counters of their own")
def _():
    machine = Machine(Device("A", stalls(), pci=PCI), Device("B", compute_basic(), pci="0000:4a:00.0"))
    sent = [report(machine, i, device=2) for i in range(5)]
    run, readings = streamed(machine, "ComputeBasic,zet-stall")
    equal([values for _, _, values in readings.shares[next(iter(readings.shares))]], sent, "values")
    devices = [e["fields"]["device"] for e in run.events("device") if e["process"] == 0]
    equal(len(devices), len(set(devices)), "numbers of devices: %s" % devices)


@case("doctor has a row, and words that make no sense are refused")
def _():
    need_mock()

    def row(machine):
        done = aflame("doctor", "--json", env=machine.env())
        (it,) = [c for c in json.loads(done.stdout)["collectors"] if c["name"] == "zet-metrics"]
        return it["works"], it["says"]

    equal(row(Machine(Device("Mock", compute_basic(), stalls()))), (True, "Mock: 1 group"), "row")
    works, says = row(Machine(Device("Mock", stalls())))
    expect(not works and "beside EuStallSampling" in says, says)
    for words, pattern in {
        "zet-metrics": "needs the name of a metric group",
        "zet-metrics=": "needs the name of a metric group",
        "zet-metrics=@5": "needs the name of a metric group",
        "zet-metrics=G@": "takes 10us to 1s",
        "zet-metrics=G@2s": "takes 10us to 1s",
        "zet-metrics=G@-1": "takes 10us to 1s",
        "zet-metrics=G@nan": "takes 10us to 1s",
    }.items():
        refused(USAGE, pattern, "record", "-o", new_path(), "--sample", words, "--", "true")
    done = aflame("record", "--strict", "-o", new_path(), "--sample", "none,zet-metrics=G", "--", "true",
                  env=Machine().env())
    expect(done.returncode == FAILED and "zet-metrics does not work here" in done.stderr, done.stderr)


run_cases()
