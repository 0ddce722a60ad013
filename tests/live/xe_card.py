"""A machine with Intel GPUs, by the stand-in of programs/xe_stand_in.c: what the devices of a case are and what
their streams give, rows of the three layouts (written anew here, by a whole number and shifts), and what a trace of
them has to hold."""

import collections
import json
import os
import random

from machine import BUILD
from recording import aflame, new_path
from tap import equal, expect

STAND_IN = os.path.join(BUILD, "tests/live/programs/libxe_stand_in.so")

# The fields of rows from bit 0 on: name, bits. Linux, drivers/gpu/drm/xe/xe_eu_stall.c
BEFORE = ("OtherStall", "ControlStall", "PipeStall", "SendStall", "DistStall", "SbidStall", "SyncStall")
COUNTS = {
    "pvc": (29, ("Active", *BEFORE, "InstrFetchStall")),
    "xe2": (29, ("PSDepStall", *BEFORE, "InstrFetchStall", "Active")),
    "xe3p": (61, ("PSDepStall", *BEFORE, "InstrFetchStall", "Active")),
}
REASONS = COUNTS["xe2"][1]
VERSIONS = {"pvc": (0, 0), "xe2": (20, 1), "xe3p": (35, 11)}


def row(layout, ip, counts, tail=0):
    """64 bytes: @counts by reason; @tail is what follows the counts."""
    ip_bits, reasons = COUNTS[layout]
    number = ip
    for i, reason in enumerate(reasons):
        number |= counts.get(reason, 0) << (ip_bits + 8 * i)
    number |= tail << (ip_bits + 8 * len(reasons))
    return number.to_bytes(64, "little")


def notes(run, key):
    return [f["value"] for f in run.fields("note") if f["key"] == key]


def lost(run, reason):
    return sum(f["count"] for f in run.fields("lost") if f["reason"] == reason)


def doctor(machine, name):
    done = aflame("doctor", "--json", env=machine.env())
    rows = {c["name"]: c for c in json.loads(done.stdout)["collectors"]}
    return rows[name]["works"], rows[name]["says"]


class Sent:
    """What streams gave, to be held against a trace."""

    def __init__(self):
        self.counts = collections.Counter()  # (device, address, reason)
        self.other = collections.Counter()  # device → samples of address 0
        self.rows = 0

    def add(self, device, ip, counts):
        self.rows += 1
        for reason, n in counts.items():
            if ip:
                self.counts[device, ip << 3, reason] += n
            else:
                self.other[device] += n


class Card:
    """A render node and its script."""

    def __init__(self, folder, number, layout="xe2", driver="xe", device="e20b", pci=None, gts=1, media=0):
        self.folder, self.node, self.layout = folder, "renderD%d" % (128 + number), layout
        self.device, self.files = number + 1, 0
        self.pci = pci or "0000:%02x:00.0" % (3 + number)
        major, minor = VERSIONS[layout]
        self.lines = ["driver " + driver, "device " + device]
        self.lines += ["gt 0 %d %d %d %d 20" % (i, i, major, minor) for i in range(gts)]
        self.lines += ["gt 1 0 %d 30 0 0" % (gts + i) for i in range(media)]
        sysfs = self.sysfs = os.path.join(folder, "pci", self.pci)
        os.makedirs(os.path.join(sysfs, "tile0/gt0/freq0"))
        self.write(os.path.join(sysfs, "device"), "0x%s\n" % device)
        self.write(os.path.join(sysfs, "tile0/gt0/freq0/max_freq"), "2400\n")
        os.symlink("../../../bus/pci/drivers/" + driver, os.path.join(sysfs, "driver"))
        os.symlink("../../../bus/pci", os.path.join(sysfs, "subsystem"))
        os.makedirs(os.path.join(folder, "drm", self.node))
        os.symlink(sysfs, os.path.join(folder, "drm", self.node, "device"))

    @staticmethod
    def write(path, content):
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())

    def gt(self, tile=0, gt=0, **files):
        """Files of a GT that have numbers to be read over time: act_freq=1200, reason_pl1=0, …"""
        path = os.path.join(self.sysfs, "tile%d/gt%d" % (tile, gt))
        for name in ("freq0/throttle", "gtidle"):
            os.makedirs(os.path.join(path, name), exist_ok=True)
        for name, value in files.items():
            if name == "idle_ms":
                name = "gtidle/idle_residency_ms"
            elif name == "status" or name.startswith("reason_"):
                name = "freq0/throttle/" + name
            else:
                name = "freq0/" + name
            self.write(os.path.join(path, name), "%d\n" % value)
        return self

    def step(self, line):
        self.lines.append(line)
        return self

    def give(self, gt, content):
        """One read gives @content, bytes."""
        self.files += 1
        name = "%s.%d" % (self.node, self.files)
        self.write(os.path.join(self.folder, name), content)
        return self.step("rows %d %s" % (gt, name))

    def rows(self, gt, sent, nr, seed, addresses=500):
        """@nr rows at random, which @sent gets, too: some of address 0, some with all counts at their most."""
        r = random.Random(seed)
        content = bytearray()
        reasons = COUNTS[self.layout][1]
        ips = [r.randrange(1, 1 << 29) | r.choice((0, 1 << 28)) for _ in range(addresses)]
        if self.layout == "xe3p":
            ips = [ip | r.randrange(1 << 32) << 29 for ip in ips]
        for _ in range(nr):
            ip = r.choice(ips) if r.random() > 0.02 else 0
            if r.random() < 0.02:
                counts = dict.fromkeys(reasons, 255)
            else:
                counts = {reason: r.randrange(1, 256) for reason in r.sample(reasons, r.randrange(1, 4))}
            tail = r.randrange(16) if self.layout != "pvc" else 0
            content += row(self.layout, ip, counts, tail)
            sent.add(self.device, ip, counts)
        return self.give(gt, bytes(content))


class Machine:
    def __init__(self):
        self.folder = new_path("xe")
        self.cards = []
        for name in ("dri", "drm", "sysctl/xe", "sysctl/i915", "pmu", "counts", "oa"):
            os.makedirs(os.path.join(self.folder, name))
        self.paranoid("xe/observation_paranoid", 1)

    def paranoid(self, name, value):
        Card.write(os.path.join(self.folder, "sysctl", name), "%d\n" % value)

    def count(self, event, engine, value):
        """An event of a card's event source, and what it counts: @engine is its (class, instance, GT)."""
        kind, instance, gt = engine
        name = "%x" % (event | instance << 12 | kind << 20 | gt << 60)
        Card.write(os.path.join(self.folder, "counts", name), "%d\n" % value)
        return "counts/" + name

    def events(self, card, cpu=0):
        """The event source of a card, and its engines' events: Linux, drivers/gpu/drm/xe/xe_pmu.c."""
        path = os.path.join(self.folder, "pmu", "xe_" + card.pci.replace(":", "_"))
        os.makedirs(os.path.join(path, "events"))
        for name, text in {"type": "7777", "cpumask": str(cpu), "events/engine-active-ticks": "event=0x02",
                           "events/engine-total-ticks": "event=0x03"}.items():
            Card.write(os.path.join(path, name), text + "\n")

    def card(self, **how):
        self.cards.append(Card(self.folder, len(self.cards), **how))
        return self.cards[-1]

    def env(self):
        """The environment in which aflame sees the machine."""
        for card in self.cards:
            Card.write(os.path.join(self.folder, "dri", card.node), "\n".join(card.lines) + "\n")
        return dict(os.environ, LD_PRELOAD=STAND_IN, XE_STAND_IN=self.folder)

    def log(self):
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []


class Samples:
    """What a trace has of the recorder's windows, joined as a reader has to."""

    def __init__(self, run):
        recorder = [e for e in run.events("gpu_window") if e["process"] == 0]
        self.windows = {e["fields"]["window"]: e["fields"] for e in recorder}
        self.stalls = {f["stall"]: f["name"] for f in run.fields("stall")}
        self.counts, self.other = collections.Counter(), collections.Counter()
        of_window = collections.Counter()
        for e in run.events("address_sample"):
            f = e["fields"]
            equal(e["process"], 0, "the process of rows")
            address = int(str(f["address"]), 0)
            for stall, n in zip(f["counts"][::2], f["counts"][1::2]):
                expect(n, "a reason that is not there")
                self.counts[self.windows[f["window"]]["device"], address, self.stalls[stall]] += n
                of_window[f["window"]] += n
        for number, f in self.windows.items():
            expect(f["start_ns"] <= f["end_ns"], "a window that ends before it starts")
            equal(of_window[number] + f["other"] + f["dropped"], f["samples"], "samples of a window")
            if f["other"]:
                self.other[f["device"]] += f["other"]

    def dropped(self):
        return sum(f["dropped"] for f in self.windows.values())

    def check(self, sent):
        expect(sent.counts, "the case sends nothing")
        for key in sent.counts.keys() | self.counts.keys():
            equal(self.counts[key], sent.counts[key], "samples of (device, address, reason) %s" % (key,))
        equal(self.other, sent.other, "samples of address 0")
