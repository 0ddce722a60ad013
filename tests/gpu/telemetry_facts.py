"""Counters over time on a real GPU: power held against the device's own energy counter, which the program reads by
itself, too."""

import collections
import json
import os
import re

from machine import PYTHON, SOURCE, run, truth_of
from python_facts import has_module

PERIOD_MS = 10
WITHIN = 0.05  # the bar of energy
CORE = 0.002  # of a core, at 10 ms


def readings(machine, path):
    """({name: counter}, {name: [(ns, span, value in its unit)]} of the first GPU and of the host, missed ticks)"""
    counters, found, missed = {}, [], 0
    for event in machine.json_lines(path, ("counter", "reading", "lost")):
        f = event["fields"]
        if event["kind"] == "counter":
            counters[f["counter"]] = f
        elif event["kind"] == "lost":
            missed += f["count"] if f["reason"] == "LATE" and event["process"] == 0 else 0
        else:
            pairs = zip(f["values"][::2], f["values"][1::2])
            found += [(number, event["time_ns"], f["span_ns"], value) for number, value in pairs]
    gpu = min((c["device"] for c in counters.values() if c["device"]), default=0)
    of = collections.defaultdict(list)
    for number, time_ns, span_ns, value in found:
        c = counters[number]
        if c["device"] in (0, gpu):
            of[c["name"]].append((time_ns, span_ns, value / c["per"]))
    return {c["name"]: c for c in counters.values()}, of, missed


def notes(machine, path):
    return {e["fields"]["key"]: e["fields"]["value"] for e in machine.json_lines(path, ("note",))}


def integral(power, begin_ns, end_ns):
    """Joules: each reading holds until the next."""
    total = 0
    for (time_ns, _, watt), (next_ns, _, _) in zip(power, power[1:]):
        inside = min(next_ns, end_ns) - max(time_ns, begin_ns)
        total += watt * inside / 1e9 if inside > 0 else 0
    return total


def check_energy(table, of, truth):
    """The trace's counter is read at its first and last tick; the program reads it around its load."""
    power, own = of["power"], truth["mj"] / 1e3
    (end_ns, span_ns, counted), *_ = of["energy"][-1:]
    if len(of["energy"]) > 1:
        counted, span_ns = sum(v for _, _, v in of["energy"]), end_ns - (of["energy"][0][0] - of["energy"][0][1])
    for what, joule, begin_ns, until_ns in (("the program's", own, truth["begin_ns"], truth["end_ns"]),
                                            ("the trace's", counted, end_ns - span_ns, end_ns)):  # fmt: skip
        mine = integral(power, begin_ns, until_ns)
        table.fact("power integrated over time is the device's energy, by %s reading of it" % what,
                   abs(mine / joule - 1) <= WITHIN, "%.1f J to %g %%" % (joule, 100 * WITHIN),
                   "%.1f J of %.1f J, off by %+.2f %%" % (mine, joule, 100 * (mine / joule - 1)))  # fmt: skip


def check_ticks(table, of, note, name):
    times = [time_ns for time_ns, _, _ in of[name]]
    periods = (times[-1] - times[0]) / (PERIOD_MS * 1e6)
    missed = int((re.findall(r"and (\d+) times not in time", note) or ["0"])[0])
    ticks = len(times) + missed
    table.fact("ticks are exact in number", int(periods - 0.5) + 2 <= ticks <= int(periods + 0.5) + 2,
               "%.2f periods" % periods, "%d readings, %d missed, %.2f periods" % (len(times), missed, periods))  # fmt: skip


def recorder_cost(machine, source, seconds):
    """(CPU time of the recorder in ns, ticks of @source), of a recording that long."""
    options = ("--telemetry", "%s=%d" % (source, PERIOD_MS)) if source else ()
    path, _ = machine.record(["sleep", str(seconds)], ("--sample", "none", "--api", "none", *options))
    found = notes(machine, path)
    nr = int(re.search(r"read (\d+) times", found["telemetry." + source]).group(1)) if source else 0
    return int(found["cost.recorder_ns"]), nr


def check_cost(table, machine):
    """The recorder's CPU time with each source, less what it takes without. Of a longer and a shorter recording, so that
    what is done once (nvmlInit) is in neither."""
    short, long = 2, 12
    ticks = os.path.join(machine.work, "ticks")
    done = run(["cc", "-O2", "-o", ticks, os.path.join(SOURCE, "tests/bench/ticks.c")], 60)
    bare = float(run([ticks, str(PERIOD_MS), str(long - short)], 60).stdout) if not done.returncode else 0
    table.budget("a thread that does nothing but wake each %d ms" % PERIOD_MS, bare / 10 / PERIOD_MS, "% core", None,
                 "(%.0f us a tick)" % bare)  # fmt: skip
    base = recorder_cost(machine, None, long)[0] - recorder_cost(machine, None, short)[0]
    for source, limit in (("nvml", 100 * CORE), ("nvml-links", None), ("system", 100 * CORE), ("memory", 100 * CORE),
                          ("network", 100 * CORE)):  # fmt: skip
        (less, few), (more, many) = (recorder_cost(machine, source, seconds) for seconds in (short, long))
        each = (more - less - base) / 1e3 / (many - few)
        table.budget("telemetry of %s at %d ms, above that" % (source, PERIOD_MS), (each - bare) / 10 / PERIOD_MS, "% core",
                     limit, "(%.0f us a tick)" % each)  # fmt: skip


def check_training(table, machine):
    """The energy of a training, by kernel and the function that launched it."""
    command = ["python3", os.path.join(PYTHON, "train.py"), "400"]
    path, done = machine.record(command, ("--telemetry", "nvml=%d" % PERIOD_MS))
    if not table.fact("train.py ends well", not done.returncode, "0", done.stderr[-600:] or True):
        return
    tables = json.loads(machine.output("report", "energy", "-n", "0", "--json", path))["tables"]
    rows, of = tables[0]["rows"], readings(machine, path)[1]
    total = sum(row["energy_j"] for row in rows)
    counted = sum(v for _, _, v in of["energy"])
    table.fact("rows of energy add up to the device's counter", abs(total / counted - 1) < WITHIN,
               "%.1f J" % counted, "%.1f J in %d rows of %.1f J" % (total, len(rows), counted))  # fmt: skip
    callers = {row["caller"] for row in rows} - {""}
    table.fact("energy has its callers", callers, "names", ", ".join(sorted(callers)[:4]))
    table.note(machine.output("report", "energy", "-n", "12", path))


def run_telemetry(table, machine, quick):
    answer = json.loads(run([machine.aflame, "doctor", "--json"], 60).stdout or "{}")
    sources = {s["name"]: s for s in answer.get("telemetry", [])}
    if not table.fact("doctor: NVML has counters", sources["nvml"]["works"], "works", sources["nvml"]["says"]):
        return
    check_cost(table, machine)
    if not has_module("torch"):
        table.skip("energy", "no torch here")
        return
    command = ["python3", os.path.join(PYTHON, "power.py"), "5" if quick else "9"]
    options = ("--telemetry", "nvml=%d,nvml-links,system=%d" % (PERIOD_MS, PERIOD_MS), "--sample", "none")
    path, done = machine.record(command, options)
    truth = truth_of(done)
    if not table.fact("power.py ends well", truth and not done.returncode, "0", done.stderr[-600:] or True):
        return
    check_training(table, machine)
    counters, of, missed = readings(machine, path)
    table.note("; ".join("%s %.4g to %.4g %s (%d)" % (name, min(v for _, _, v in values), max(v for _, _, v in values),
                                                     counters[name]["unit"], len(values))
                         for name, values in of.items() if counters[name]["device"]))  # fmt: skip
    table.note(notes(machine, path).get("telemetry.nvml", "no note"))
    check_ticks(table, of, notes(machine, path)["telemetry.system"], "threads running")
    check_energy(table, of, truth)
    watt = sorted(w for ns, _, w in of["power"] if truth["begin_ns"] < ns < truth["end_ns"])
    table.fact("power follows the load", watt[-len(watt) // 10] > 1.5 * watt[len(watt) // 10],
               "at least half as much again", "%.0f W to %.0f W" % (watt[len(watt) // 10], watt[-len(watt) // 10]))  # fmt: skip
    for name in ("SM clock", "temperature", "memory used", "GPU busy", "throttled: power cap"):
        table.fact("there is %s" % name, of.get(name), "readings", "%d" % len(of.get(name, [])))
    timeline = os.path.join(machine.work, "power.json")
    machine.output("timeline", "-o", timeline, path)
    with open(timeline, encoding="utf-8") as file:
        tracks = {e["name"] for e in json.load(file)["traceEvents"] if e["ph"] == "C"}
    table.fact("power has a track", any("power" in t for t in tracks), "a track", sorted(tracks)[:6])
    table.note(machine.output("report", "counters", "-n", "30", path))
