#!/usr/bin/env python3
"""Counters from a recording to its views, with the mock drivers of tests/mock_zet and tests/mock_ze under the real
loader: tables and tracks have what `aflame print` has of the trace."""

import json
import os

from intel_driver import clean
from machine import BUILD, program
from readings import Readings
from recording import must, new_path, record
from tap import Skip, case, equal, expect, run_cases
from zet_card import TIME, Device, Group, Machine, Metric, need_mock

MOCK_ZE = os.path.join(BUILD, "tests/mock_ze/libmock_ze.so")
PCI = "0000:3a:00.0"
PERIOD = 2000000  # ns, between reports
BEGIN = 5 << 40


def module(*names):
    path = new_path("module")
    with open(path, "w", encoding="utf-8") as file:
        file.write(" ".join(names))
    return path


def table(run, report, name, *options):
    (found,) = [t for t in json.loads(must("report", report, "--json", "-n", 0, *options, run.path))["tables"]
                if t["name"] == name]
    return found["rows"]


def about(got, wanted, what):
    expect(abs(got - wanted) <= 0.001 + 1e-6 * abs(wanted), "%s is %s, not %s" % (what, got, wanted))


def streamed():
    """Sixty reports, a pause of ten, forty more."""
    need_mock()
    group = Group("Basic", "Basic set", TIME, 0, [
        Metric("GpuTime", "", "GPU", "ns", of="duration"),
        Metric("QueryBeginTime", "", "GPU", "ns", of="timestamp"),
        Metric("GpuBusy", "", "GPU", "percent", of="ratio", value="float32"),
        Metric("XVE_INST", "", "XVE", "events"),
    ])
    machine = Machine(Device("Mock Arc", group, pci=PCI))
    for _ in range(20):  # ticks with nothing, so that reports can be older than their read
        machine.read(1)
    for i in range(110):
        if not 60 <= i < 70:
            machine.report(1, PERIOD, BEGIN + i * PERIOD, i % 3 * 25 + 0.5, 1000 + i)
    machine.read(1)
    options = ("--sample", "none,zet-metrics=Basic", "--api", "none")
    run = record("sleep", "1", env=machine.env(), options=options)
    return run, Readings(run)


@case("sums of a stream of metrics are those of its readings")
def _():
    run, readings = streamed()
    (seen,) = readings.shares.values()
    equal(len(seen), 100, "readings in the trace")
    spans = [span for _, span, _ in seen]
    rows = {r["counter"]: r for r in table(run, "counters", "counters")}
    equal(set(rows), {"GpuTime", "GpuBusy", "XVE_INST"}, "counters")
    equal({(r["readings"], r["covered_ns"], r["device"]) for r in rows.values()},
          {(100, sum(spans), "GPU 0xe20b (%s)" % PCI)}, "readings, time and device of each")
    busy = [values["GpuBusy"] for _, _, values in seen]
    about(rows["GpuBusy"]["mean"], sum(v * s for v, s in zip(busy, spans)) / sum(spans), "mean of a level")
    equal([rows["GpuBusy"][k] for k in ("min", "max", "unit", "total")], [0.5, 50.5, "%", None], "a level")
    nr = [values["XVE_INST"] for _, _, values in seen]
    equal([rows["XVE_INST"][k] for k in ("total", "total_unit", "unit")], [sum(nr), "events", "events/s"], "an amount")
    about(rows["XVE_INST"]["mean"], sum(nr) / sum(spans) * 1e9, "rate of an amount")
    about(rows["XVE_INST"]["max"], max(nr) / PERIOD * 1e9, "largest rate of an amount")


@case("the tracks of a stream of metrics have its values, and a gap where the device paused")
def _():
    run, readings = streamed()
    (seen,) = readings.shares.values()
    events = json.loads(must("timeline", "--show", "counters", run.path))["traceEvents"]
    points = [(e["ts"], e["args"]["%"]) for e in events if e["ph"] == "C" and e["name"].endswith(": GpuBusy")]
    start = int(json.loads(must("timeline", "--show", "counters", run.path))["otherData"]["start, CLOCK_MONOTONIC, ns"])
    wanted, before, end = [], None, None
    for time, span, values in seen:
        if end and time - span - end > span / 4:
            wanted.append(0)
            before = None
        if values["GpuBusy"] != before:
            wanted.append(values["GpuBusy"])
        before, end = values["GpuBusy"], time
    equal([value for _, value in points], wanted + [0], "values")
    equal(wanted.count(0), 1, "pauses")
    about(points[0][0] * 1000, seen[0][0] - seen[0][1] - start, "begin of the first, ns")
    about(points[-1][0] * 1000, seen[-1][0] - start, "end of the last, ns")


@case("metrics of single launches are columns of their kernel")
def _():
    if not os.path.exists(MOCK_ZE):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    run = record(program("ze_works"), "measured", module("heavy"), module("light", "never", "refused"),
                 env=clean(ZE_ENABLE_ALT_DRIVERS=MOCK_ZE, MOCK_ZE_LOG="/dev/null"),
                 options=("--launch-metrics", "LaunchBasic"))
    ns = [8000, 16000, 24000, 32000] + 4 * [40000]  # of the kernels that were measured: test_ze.py
    rows = {r["counter"]: r for r in table(run, "kernel-counters", "kernel_counters")}
    equal({r["kernel"] for r in rows.values()}, {"heavy"}, "kernels")
    equal({(r["how"], r["measured"]) for r in rows.values()}, {("measured", len(ns))}, "how")
    equal([rows["GpuTime"][k] for k in ("total", "unit")], [sum(ns), "ns"], "an amount")
    about(rows["GpuTime"]["mean"], sum(ns) / len(ns), "mean of an amount")
    about(rows["EuActive"]["mean"], sum(ns) / len(ns) / 1e6, "mean of a level")
    equal(rows["EuActive"]["total"], None, "total of a level")
    (row,) = table(run, "kernel-counters", "kernels_by_counter", "--counters", "gputime,commands")
    equal((row["kernel"], row["measured_commands"]), ("heavy", 1), "columns")
    about(row["measured_gputime"], sum(ns) / len(ns), "a column")
    expect(row["launches"] >= len(ns) and row["kernel_ns"] >= sum(ns), row)


run_cases()
