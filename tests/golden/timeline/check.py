#!/usr/bin/env python3
"""What any timeline must be.    check.py FILE.json [FILE.pbtxt]

Slices of a track nest, arrows have both ends and stacks are there; and Perfetto's form, as protoc
prints it, has the same slices."""

import json
import re
import sys
from collections import Counter, defaultdict

CLOCK = "start, CLOCK_MONOTONIC, ns"


def ns(us):
    return round(us * 1000)


def fail(what, *about):
    sys.exit("%s: %s" % (what, about))


def check_nesting(slices):
    rows = defaultdict(list)
    for e in slices:
        rows[e["pid"], e["tid"]].append((ns(e["ts"]), -ns(e.get("dur", 0)), e["name"]))
    for row, found in rows.items():
        ends = []
        for start, minus, name in sorted(found):
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and start - minus > ends[-1]:
                fail("slices cross", row, name, start)
            ends.append(start - minus)


def check_arrows(slices):
    begin = Counter(e["bind_id"] for e in slices if e.get("flow_out") and not e.get("flow_in"))
    if any(nr > 1 for nr in begin.values()):
        fail("two arrows of one id", begin)
    for e in slices:
        if e.get("flow_in") and e["bind_id"] not in begin:
            fail("an arrow from nowhere", e)


def check_stacks(trace):
    frames = trace["stackFrames"]
    for e in trace["traceEvents"]:
        node = e.get("sf")
        while node is not None:
            node = frames[str(node)].get("parent")


def of_perfetto(path):
    """(start, end or None for an instant, name) of all slices, from the text of a Trace."""
    names, open_, found = {}, defaultdict(list), []
    with open(path, encoding="utf-8") as f:
        packets = f.read().split("packet {\n")[1:]
    events = []
    for i, p in enumerate(packets):
        for part in re.findall(r"event_names \{\s+iid: (\d+)\s+name: (\".*\")", p):
            names[part[0]] = part[1]
        kind = re.search(r"type: TYPE_(\w+)", p)
        if kind and kind.group(1) != "COUNTER":
            events.append((int(re.search(r"timestamp: (\d+)", p).group(1)), i, kind.group(1), p))
    for time, _, kind, p in sorted(events):
        track = re.search(r"track_uuid: (\d+)", p).group(1)
        if kind == "SLICE_END":
            start, name = open_[track].pop()
            found.append((start, time, name))
            continue
        name = names[re.search(r"name_iid: (\d+)\s+track_uuid", p).group(1)]
        if kind == "SLICE_BEGIN":
            open_[track].append((time, name))
        else:
            found.append((time, None, name))
    if any(open_.values()):
        fail("slices without an end", open_)
    return Counter((start, end) for start, end, _ in found), {n for _, _, n in found}


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        trace = json.load(f)
    slices = [e for e in trace["traceEvents"] if e["ph"] in "Xi"]
    if not slices or len(slices) != trace["otherData"]["slices"]:
        fail("not as many slices as it says", len(slices))
    check_nesting(slices)
    check_arrows(slices)
    check_stacks(trace)
    if len(sys.argv) < 3:
        return
    base = trace["otherData"][CLOCK]
    want = Counter()
    for e in slices:
        start = base + ns(e["ts"])
        want[start, start + ns(e["dur"]) if e.get("dur") else None] += 1
    have, names = of_perfetto(sys.argv[2])
    if want != have:
        fail("the formats differ", want - have, have - want)
    if len(names) != len({e["name"] for e in slices}):
        fail("the names differ", names)


main()
