"""The formats that aflame exports, read back. Each reader gives {column: {stack: weight}}, stacks
as tuples of names from the root on, without those frames that only say whose they are; weights are
whole numbers in the column's unit, or fractions of them where the text has them."""

import gzip
import json
import re
from collections import Counter, defaultdict
from fractions import Fraction


# What a name can do to a format: a trace's strings may have `;` and newlines.
HOSTILE_MAIN = r"ma;in\x0a\x0d<&>\x22']]></script>\xff 12"
HOSTILE_KERNEL = r"k;e<r>\xfe\xc3 7"


def hostile(text):
    """analyse/mixed.trace with such names"""
    for name in ("main", "block_forward", "Model.step"):
        text = text.replace('"%s"' % name, '"%s"' % (HOSTILE_MAIN + name))
    return text.replace('"saxpy"', '"%s"' % HOSTILE_KERNEL).replace("train.py", "<t>;rain.py")


def folded(text):
    """bytes of folded text → {stack: weight}"""
    stacks = Counter()
    for line in text.split(b"\n"):
        if line:
            stack, _, count = line.rpartition(b" ")
            stacks[tuple(stack.split(b";"))] += Fraction(count.decode())
    return stacks


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data):
    """{field: [values]} of a message in Protocol Buffers' wire format"""
    fields, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        assert at <= len(data)
        fields[key >> 3].append(value)
    return fields


def numbers(packed):
    at, found = 0, []
    while at < len(packed):
        value, at = varint(packed, at)
        found.append(value)
    return found


def one(fields, number, default=0):
    return fields[number][0] if fields[number] else default


class Pprof:
    """columns: names; samples: (stack of frames, values, labels); a frame is (function, line)."""

    def __init__(self, path):
        top = message(gzip.open(path).read())
        self.strings = [s.decode() for s in top[6]]
        assert self.strings[0] == ""
        types = [message(t) for t in top[1]]
        self.columns = [self.strings[one(t, 1)] for t in types]
        self.units = [self.strings[one(t, 2)] for t in types]
        self.functions = {one(f, 1): f for f in map(message, top[5])}
        self.mappings = {one(m, 1): m for m in map(message, top[3])}
        self.locations = {one(loc, 1): loc for loc in map(message, top[4])}
        self.samples = [self.sample(message(s)) for s in top[2]]
        assert 0 not in self.functions and 0 not in self.locations and 0 not in self.mappings

    def sample(self, s):
        values = numbers(s[2][0])
        assert len(values) == len(self.columns)
        labels = {}
        for label in map(message, s[3]):
            text = one(label, 2)
            labels[self.strings[one(label, 1)]] = self.strings[text] if text else one(label, 3)
        return [self.location(i) for i in reversed(numbers(s[1][0]))], values, labels

    def location(self, number):
        """Its frames, the outermost first, as (name, line, file)."""
        loc = self.locations[number]
        assert not loc[2] or loc[2][0] in self.mappings
        frames = []
        for line in reversed([message(line) for line in loc[4]]):
            f = self.functions[one(line, 1)]
            frames.append((self.strings[one(f, 2)], one(line, 2), self.strings[one(f, 4)]))
        assert frames
        return frames

    def stacks(self):
        found = {c: Counter() for c in self.columns}
        for stack, values, _ in self.samples:
            names = tuple(frame[0] for loc in stack for frame in loc)
            for column, unit, value in zip(self.columns, self.units, values):
                if value:
                    found[column][names] += Fraction(value, 10**6 if unit == "millionths" else 1)
        return found


def fractions(text):
    return json.loads(text, parse_float=Fraction, parse_int=Fraction)


def speedscope(path):
    with open(path, encoding="utf-8") as f:
        profile = fractions(f.read())
    frames = [f["name"] for f in profile["shared"]["frames"]]
    found = defaultdict(Counter)
    for p in profile["profiles"]:
        assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
        column = p["name"].rpartition(": ")[2]
        for stack, weight in zip(p["samples"], p["weights"]):
            found[column][tuple(frames[int(i)] for i in stack)] += weight
    return found


def callgrind(path):
    """{column: total}, {column: {function: self}}, {column: {function: self and calls}}"""
    names, functions, total = {}, (defaultdict(Counter), defaultdict(Counter)), {}
    function = call = None
    with open(path, encoding="utf-8", newline="\n") as f:
        for line in f.read().split("\n"):
            name = re.fullmatch(r"(c?)(fn|fi|fl|ob)=\((\d+)\)(?: (.*))?", line)
            if name:
                kind = {"fi": "fl"}.get(name[2], name[2])
                if name[4] is not None:
                    assert (kind, name[3]) not in names
                    names[kind, name[3]] = name[4]
                if line.startswith("fn"):
                    function = names[kind, name[3]]
            elif line.startswith("events:"):
                columns = [c.replace("_", "-") for c in line.split()[1:]]
            elif line.startswith("summary:"):
                total = dict(zip(columns, map(int, line.split()[1:])))
            elif line.startswith("calls="):
                call = True
            elif re.fullmatch(r"\d+( \d+)*", line):
                for column, value in zip(columns, map(int, line.split()[1:])):
                    if not call:
                        functions[0][column][function] += value
                    functions[1][column][function] += value
                call = None
    return total, functions[0], functions[1]


def check_table(table, refers):
    """All columns are as long as the table says, and what refers to another is within it."""
    for name, column in table.items():
        if isinstance(column, list):
            assert len(column) == table["length"], (name, len(column), table["length"])
    for name, size in refers.items():
        for value in table[name]:
            assert value in (None, -1) or 0 <= value < size, (name, value, size)


def firefox_thread(t, profile):
    strings, nr = t["stringArray"], len(t["stringArray"])
    categories = len(profile["meta"]["categories"])
    tables = {n: t[n]["length"] for n in ("stackTable", "frameTable", "funcTable", "resourceTable")}
    check_table(t["samples"], {"stack": tables["stackTable"]})
    check_table(t["stackTable"], {"frame": tables["frameTable"], "prefix": tables["stackTable"],
                                  "category": categories})
    check_table(t["frameTable"], {"func": tables["funcTable"], "category": categories})
    check_table(t["funcTable"], {"name": nr, "fileName": nr, "resource": tables["resourceTable"]})
    check_table(t["resourceTable"], {"name": nr, "lib": len(profile["libs"])})
    check_table(t["markers"], {"name": nr, "category": categories})
    stacks = t["stackTable"]
    assert all(p is None or p < i for i, p in enumerate(stacks["prefix"])), "a stack before its caller"
    assert len(set(strings)) == nr, "a string twice"
    times = t["samples"]["time"]
    assert times == sorted(times), "samples out of order"
    schemas = {s["name"] for s in profile["meta"]["markerSchema"]}
    for phase, start, end, data in zip(*(t["markers"][c] for c in (
            "phase", "startTime", "endTime", "data"))):
        assert (phase == 1 and end > start) or (phase == 0 and end is None), (phase, start, end)
        assert data["type"] in schemas and ("cause" not in data or
                                            data["cause"]["stack"] < stacks["length"])

    def names(stack):
        found = []
        while stack is not None:
            found.append(strings[int(t["funcTable"]["name"][int(t["frameTable"]["func"][
                int(stacks["frame"][int(stack)])])])])
            stack = stacks["prefix"][int(stack)]
        return tuple(reversed(found))

    found = Counter()
    scale = 10**6 if t["samples"]["weightType"] == "tracing-ms" else 1
    for stack, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
        found[names(stack)] += weight * scale
    return found


def firefox(path):
    """{column: {stack: weight}}: of traces cpu and gpu, of folded text samples"""
    with open(path, encoding="utf-8") as f:
        profile = fractions(f.read())
    meta, found = profile["meta"], defaultdict(Counter)
    assert meta["preprocessedProfileVersion"] == 48 and meta["version"] == 27
    assert any(c["color"] == "grey" for c in meta["categories"])
    ids = [(t["pid"], t["tid"]) for t in profile["threads"]]
    assert len(set(ids)) == len(ids), "two threads of one id"
    for t in profile["threads"]:
        column = ("samples" if t["samples"]["weightType"] == "samples"
                  else "gpu" if str(t["tid"]).startswith("row") else "cpu")
        found[column].update(firefox_thread(t, profile))
    for c in profile["counters"]:
        check_table(c["samples"], {})
        assert 0 <= c["mainThreadIndex"] < len(ids)
    return found


def perfetto(path):
    """{column: {stack: weight}} of stack samples, and of render stages the sum"""
    with open(path, "rb") as f:
        trace = message(f.read())
    functions, frames, stacks, found = {}, {}, {}, {"cpu": Counter(), "gpu": Counter()}
    for packet in map(message, trace[1]):
        interned = message(one(packet, 12, b""))
        for s in map(message, interned[5]):
            functions[one(s, 1)] = one(s, 2)
        for frame in map(message, interned[6]):
            assert one(frame, 1) not in frames
            frames[one(frame, 1)] = functions[one(frame, 2)].decode()
        for stack in map(message, interned[7]):
            assert one(stack, 1) not in stacks and stack[2]
            stacks[one(stack, 1)] = tuple(frames[i] for i in stack[2])
        if packet[135]:
            sample = message(packet[135][0])
            task = message(sample[1][0])
            assert one(task, 2) and one(task, 3)
            found["cpu"][stacks[one(sample, 6)]] += one(sample, 11)
        if packet[53]:
            found["gpu"][()] += one(message(packet[53][0]), 2)
    return found


def chrome(path):
    with open(path, encoding="utf-8") as f:
        events = fractions(f.read())["traceEvents"]
    return {"gpu": {(): sum(e.get("dur", 0) * 1000 for e in events if e.get("cat") == "work")}}
