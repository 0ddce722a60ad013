"""Another reading of PyTorch's traces, to hold aflame's import against: json, and nesting by time
looked for slice by slice."""

import collections
import fractions
import gzip
import json
import re

OPERATOR, FUNCTION, RANGE = "cpu_op", "python_function", "user_annotation"
CALLS = ("cuda_runtime", "cuda_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def ns(text):
    return round(fractions.Fraction(text) * 1000)


def frame(event):
    """As aflame shows it."""
    parts = re.match(r"(.*?)\((\d+)\): (.+)$", event["name"])
    if event["cat"] == FUNCTION and parts:
        return "%s (%s:%s)" % (parts[3], parts[1].rsplit("/", 1)[-1], parts[2])
    return event["name"].replace(";", ":")


class Trace:
    def __init__(self, path):
        with gzip.open(path) as file:
            data = json.load(file, parse_float=str, parse_int=str)
        self.by = collections.defaultdict(list)
        for event in data["traceEvents"]:
            if "ts" in event:
                event["from"] = ns(event["ts"])
                event["to"] = event["from"] + ns(event.get("dur", "0"))
            if event["ph"] in "Xsf":
                self.by[event.get("cat")].append(event)
        self.work = [e for cat in WORK for e in self.by[cat]]
        self.calls = {}
        for cat in CALLS:
            for event in self.by[cat]:
                self.calls.setdefault(event["args"].get("correlation"), event)
        self.forward = self.forward_operators()

    def forward_operators(self):
        """By operator that runs backwards: the one that it does that for."""
        starting = {}
        for event in self.by[OPERATOR]:
            starting[event["tid"], event["from"]] = event  # of several the innermost
        ends = collections.defaultdict(dict)
        for event in self.by["fwdbwd"]:
            ends[event["id"]][event["ph"]] = starting.get((event["tid"], event["from"]))
        return {id(e["f"]): e["s"] for e in ends.values() if e.get("f") and e.get("s")}

    def around(self, event, *categories):
        """The slices of the event's thread that enclose it, from the outermost in."""
        found = [
            e
            for cat in categories
            for e in self.by[cat]
            if e["tid"] == event["tid"] and e["from"] <= event["from"] and e["to"] >= event["to"]
        ]
        return sorted(found, key=lambda e: (e["from"], -e["to"], e["cat"] == OPERATOR))

    def stack(self, call):
        slices = self.around(call, OPERATOR, FUNCTION)
        frames = [frame(e) for e in slices]
        if any(e["cat"] == FUNCTION for e in slices):
            return frames
        for i, event in enumerate(slices):
            forward = self.forward.get(id(event))
            if forward:
                above = [frame(e) for e in self.around(forward, OPERATOR, FUNCTION)]
                return above + ["[backward]"] + frames[i:]
        return frames

    def stacks(self):
        """Stack and function of the call of each piece of work → how many."""
        out = collections.Counter()
        for event in self.work:
            call = self.calls[event["args"]["correlation"]]
            out[tuple(self.stack(call)) + (call["name"],)] += 1
        return out

    def kernels(self):
        """Name → (how many, nanoseconds)."""
        out = collections.defaultdict(lambda: (0, 0))
        for event in self.by["kernel"]:
            count, total = out[event["name"]]
            out[event["name"]] = count + 1, total + event["to"] - event["from"]
        return dict(out)

    def within(self, name):
        """How many pieces of work were asked for inside of the range."""
        calls = (self.calls[e["args"]["correlation"]] for e in self.work)
        return sum(any(r["name"] == name for r in self.around(c, RANGE)) for c in calls)
