"""What a report.html has in time, as src/render/html/time.h describes it."""

import json
import math
import re
import struct
import zlib


ESCAPED = (0, 5, 7, 8, 11, 12, 13, 14, 15, 24, 26, 27, 60, 127)


def unpack(text):
    """The bytes that a blob's text stands for."""
    bits = []
    for code in map(ord, text[1:]):
        if code > 127:
            bits.append(format(ESCAPED[(code >> 7) - 2], "07b"))
        bits.append(format(code & 127, "07b"))
    bits = "".join(bits)
    nr = len(bits) // 8
    return int("0" + bits[: nr * 8], 2).to_bytes(nr, "big")[: nr - int(text[0])]


def varints(data, nr):
    """A column of @nr numbers, or none: all first bytes, then the second ones, and so forth."""
    if not data:
        return []
    values, at, open_, shift = [0] * nr, 0, range(nr), 0
    while open_:
        more = []
        for byte, index in zip(data[at:], open_):
            values[index] |= (byte & 127) << shift
            if byte > 127:
                more.append(index)
        at += len(open_)
        open_ = more
        shift += 7
    assert at == len(data)
    return values


def in_order(column, late):
    """Those of nodes that are not @late stand first."""
    soon, later = iter(column), iter(column[late.count(False) :])
    return [next(later) if is_late else next(soon) for is_late in late]


def add_expected(column, by):
    """Of differences to what @by lets expect."""
    x = y = 0.0
    for i, unit in enumerate(by):
        expected = math.floor(unit * (x / y)) if y else 0
        column[i] = zigzag(column[i]) + expected
        if unit:
            x += column[i] - x / 4
            y += unit - y / 4


def zigzag(value):
    return -(value + 1) // 2 if value & 1 else value // 2


def sums(differences):
    total = 0
    for difference in differences:
        total += difference
        yield total


class Slice:
    def __init__(self, start, length, name, node, weight, count, flow):
        self.start, self.length, self.name, self.node = start, length, name, node
        self.weight, self.count, self.flow = weight, count, flow


class Page:
    """report, facts, names, trees (label → (weights, self by node), names of nodes), time or None"""

    def __init__(self, text):
        self.text = text
        script = re.search(r'id="af-report">(.*?)</script>', text, re.S)
        self.report = json.loads(script.group(1))
        self.facts = json.loads(self.blob("af-tables")[0])
        self.names = self.blob("af-names")[0].decode("utf-8", "replace").split("\n")
        self.trees = {}
        for index, tree in enumerate(self.report["trees"]):
            self.trees[tree["label"]] = self.tree(index, tree)
        self.time = self.report.get("time")
        self.tracks = self.time["tracks"] if self.time else []

    def blob(self, name):
        packed = re.search(r'id="%s">([^<]*)<' % name, self.text).group(1)
        data = zlib.decompress(unpack(packed), -15)
        sections, at = [], 0
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0]
            sections.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        return sections

    def tree(self, index, meta):
        depths, ids, by, *columns = self.blob("af-tree-%d" % index)
        nr = meta["nodes"]
        steps = varints(depths, nr)
        sibling = [step > 0 for step in steps]
        inner = [step == 0 for step in steps[1:]] + [False]
        names = in_order(varints(ids, nr), sibling)
        depth, last = -1, {}
        for i, step in enumerate(steps):
            depth += 1 - step
            if step:
                names[i] = (names[i] + last[depth]) % len(self.names)
            last[depth] = names[i]
        columns = [varints(column, nr) for column in columns]
        for column, teller in zip(columns, by):
            if teller:
                add_expected(column, columns[teller - 1])
        weights = {}
        for w, weight in enumerate(meta["weights"]):
            column = in_order(columns[weight.get("same", w)], inner)
            weights[weight["name"]] = [value * weight["scale"] for value in column]
        return weights, names

    def total(self, label, weight):
        return sum(self.trees[label][0][weight])

    def slices(self, index):
        track = self.tracks[index]
        if not track["n"]:
            return []
        nr = track["n"]
        start, length, name, node, weight, count, flow = (
            varints(column, nr) for column in self.blob("af-time-%d" % index)
        )
        nodes = self.trees[track["stacks"]][1] if track["stacks"] else []
        name = name or [nodes[n - 1] for n in node]
        flows, last = [], 0
        for value in flow or [0] * nr:
            last += zigzag(value - 1) if value else 0
            flows.append(last if value else None)
        columns = (sums(start), length, name, node, weight or length, count or [1] * nr, flows)
        slices = [Slice(*values) for values in zip(*columns)]
        assert len(slices) == nr == len(length) == len(name) == len(node)
        return slices

    def points(self, index):
        nr = self.tracks[index]["n"]
        times, values = (varints(column, nr) for column in self.blob("af-time-%d" % index))
        return list(zip(sums(times), sums(map(zigzag, values))))

    def of_view(self, label):
        """All slices that add to the tree, and are of its nodes."""
        return [
            one
            for index, track in enumerate(self.tracks)
            if track["view"] == label
            for one in self.slices(index)
        ]
