"""What a report.html has in time, as src/render/html_time.h describes it."""

import base64
import json
import re
import struct
import zlib


def varints(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


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
    """report, names, trees (label → (weights, self by node), names of nodes), time or None"""

    def __init__(self, text):
        self.text = text
        script = re.search(r'id="af-report">(.*?)</script>', text, re.S)
        self.report = json.loads(script.group(1))
        self.names = self.blob("af-names")[0].decode("utf-8", "replace").split("\n")
        self.trees = {}
        for index, tree in enumerate(self.report["trees"]):
            self.trees[tree["label"]] = self.tree(index, tree)
        self.time = self.report.get("time")
        self.tracks = self.time["tracks"] if self.time else []

    def blob(self, name):
        packed = re.search(r'id="%s">([^<]*)<' % name, self.text).group(1)
        data = zlib.decompress(base64.b64decode(packed), -15)
        sections, at = [], 0
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0]
            sections.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        return sections

    def tree(self, index, meta):
        _, names, *columns = self.blob("af-tree-%d" % index)
        weights = {}
        for weight, column in zip(meta["weights"], columns):
            same = meta["weights"][weight["same"]] if "same" in weight else None
            if same:
                scale = same["scale"]
                values = [v // scale * weight["scale"] for v in weights[same["name"]]]
            else:
                values = [v * weight["scale"] for v in varints(column)]
            weights[weight["name"]] = values
        return weights, varints(names)

    def total(self, label, weight):
        return sum(self.trees[label][0][weight])

    def slices(self, index):
        track = self.tracks[index]
        if not track["n"]:
            return []
        start, length, name, node, weight, count, flow = map(
            varints, self.blob("af-time-%d" % index)
        )
        nr = track["n"]
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
        times, values = map(varints, self.blob("af-time-%d" % index))
        return list(zip(sums(times), sums(map(zigzag, values))))

    def of_view(self, label):
        """All slices that add to the tree, and are of its nodes."""
        return [
            one
            for index, track in enumerate(self.tracks)
            if track["view"] == label
            for one in self.slices(index)
        ]
