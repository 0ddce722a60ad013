"""Counters over time: what a trace has of those that the recorder read."""

from tap import equal


class Readings:
    """By device [(time, span, {name: value})]: levels of a moment, and shares of a span of time."""

    def __init__(self, run):
        mine = [e for e in run.events("counter") if e["process"] == 0]
        self.counters = {e["fields"]["counter"]: e["fields"] for e in mine}
        equal(len(self.counters), len(mine), "counters with a number of their own")
        self.levels, self.shares = {}, {}
        for e in run.events("reading"):
            equal(e["process"], 0, "the process of readings")
            f = e["fields"]
            pairs = list(zip(f["values"][::2], f["values"][1::2]))
            (device,) = {self.counters[n]["device"] for n, _ in pairs}
            values = {self.counters[n]["name"]: v / self.counters[n]["per"] for n, v in pairs}
            equal(len(values), len(pairs), "values of a reading")
            to = self.shares if f["span_ns"] else self.levels
            to.setdefault(device, []).append((e["time_ns"], f["span_ns"], values))

    def of(self, name, device=1):
        both = self.levels.get(device, []) + self.shares.get(device, [])
        return [values[name] for _, _, values in both if name in values]
