"""Counters over time on a real GPU: power held against the device's own energy counter, which the program reads by
itself, too."""

import collections
import json
import os

from machine import PYTHON, run, truth_of
from python_facts import has_module

PERIOD_MS = 10
WITHIN = 0.05  # the bar of energy
CORE = 0.002  # of a core, at 10 ms


def readings(machine, path):
    """({name: counter}, {name: [(ns, span, value in its unit)]} of the first device, ticks that were missed)"""
    counters, of, missed = {}, collections.defaultdict(list), 0
    for event in machine.json_lines(path, ("counter", "reading", "lost")):
        f = event["fields"]
        if event["kind"] == "counter":
            counters[f["counter"]] = f
        elif event["kind"] == "lost":
            missed += f["count"] if f["reason"] == "DROPPED" and event["process"] == 0 else 0
        else:
            for number, value in zip(f["values"][::2], f["values"][1::2]):
                c = counters[number]
                if c["device"] in (0, min(x["device"] for x in counters.values() if x["device"])):
                    of[c["name"]].append((event["time_ns"], f["span_ns"], value / c["per"]))
    return {c["name"]: c for c in counters.values()}, of, missed


def notes(machine, path):
    return {e["fields"]["key"]: e["fields"]["value"] for e in machine.json_lines(path, ("note",))}


def between(values, begin_ns, end_ns):
    """Amounts of the time from @begin_ns to @end_ns; those across its borders by their parts."""
    total = 0
    for time_ns, span_ns, value in values:
        inside = min(time_ns, end_ns) - max(time_ns - span_ns, begin_ns)
        total += value * inside / span_ns if inside > 0 else 0
    return total


def integral(power, begin_ns, end_ns):
    """Joules: each reading holds until the next."""
    total = 0
    for (time_ns, _, watt), (next_ns, _, _) in zip(power, power[1:]):
        inside = min(next_ns, end_ns) - max(time_ns, begin_ns)
        total += watt * inside / 1e9 if inside > 0 else 0
    return total


def check_energy(table, of, truth):
    begin_ns, end_ns = truth["begin_ns"], truth["end_ns"]
    own = truth["mj"] / 1e3
    counted, power = between(of["energy"], begin_ns, end_ns), integral(of["power"], begin_ns, end_ns)
    table.fact("energy in the trace is that of the device's counter", abs(counted / own - 1) < 0.01,
               "%.1f J to 1 %%" % own, "%.1f J of %.1f J" % (counted, own))  # fmt: skip
    table.fact("power integrated over time is the device's energy", abs(power / own - 1) <= WITHIN,
               "%.1f J to %g %%" % (own, 100 * WITHIN), "%.1f J, off by %+.2f %%" % (power, 100 * (power / own - 1)))  # fmt: skip


def check_ticks(table, of, missed, name):
    times = [time_ns for time_ns, _, _ in of[name]]
    periods = (times[-1] - times[0]) / (PERIOD_MS * 1e6)
    ticks = len(times) + missed
    table.fact("ticks are exact in number", int(periods - 0.5) + 2 <= ticks <= int(periods + 0.5) + 2,
               "%.2f periods" % periods, "%d readings, %d missed, %.2f periods" % (len(times), missed, periods))  # fmt: skip


def check_cost(table, machine):
    """The recorder's CPU time with it, less what it takes without."""
    seconds = 10
    spent, ticks = [], 1
    for options in ((), ("--telemetry", "nvml=%d" % PERIOD_MS)):
        path, _ = machine.record(["sleep", str(seconds)], ("--sample", "none", "--api", "none", *options))
        found = notes(machine, path)
        spent.append(int(found["cost.recorder_ns"]))
        ticks = len(readings(machine, path)[1].get("power", [1]))
    share = (spent[1] - spent[0]) / 1e9 / seconds
    table.budget("telemetry of NVML at %d ms" % PERIOD_MS, 100 * share, "% core", 100 * CORE,
                 "(%.0f us a tick)" % ((spent[1] - spent[0]) / 1e3 / ticks))  # fmt: skip


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
    path, done = machine.record(command, ("--telemetry", "nvml=%d,system,memory" % PERIOD_MS, "--sample", "none"))
    truth = truth_of(done)
    if not table.fact("power.py ends well", truth and not done.returncode, "0", done.stderr[-600:] or True):
        return
    counters, of, missed = readings(machine, path)
    table.note("; ".join("%s %.4g to %.4g %s (%d)" % (name, min(v for _, _, v in values), max(v for _, _, v in values),
                                                     counters[name]["unit"], len(values))
                         for name, values in of.items() if counters[name]["device"]))  # fmt: skip
    table.note(notes(machine, path).get("telemetry.nvml", "no note"))
    check_ticks(table, of, missed, "power")
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
