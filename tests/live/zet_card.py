"""Machines with GPUs whose Level Zero driver is the mock of tests/mock_zet, under the real loader."""

import collections
import ctypes.util
import itertools
import os
import random

from machine import BUILD
from recording import new_path
from tap import Skip

MOCK = os.path.join(BUILD, "tests/mock_zet/libmock_zet.so")
TIME, EVENT = 2, 1  # zet_metric_group_sampling_type_flag_t
TYPES = {
    "duration": 0,
    "event": 1,
    "event with range": 2,
    "throughput": 3,
    "timestamp": 4,
    "flag": 5,
    "ratio": 6,
    "raw": 7,
    "ip": 0x7FFFFFFE,
}
VALUES = {"uint32": 0, "uint64": 1, "float32": 2, "float64": 3, "bool8": 4}
RESULTS = {
    "lost": 0x70000001,
    "permissions": 0x70010000,
    "missing": 0x70020000,
    "uninitialized": 0x78000001,
    "in use": 0x78000006,
    "unknown": 0x7FFFFFFE,
}
# The names of the specification, as drivers list them: of Xe2, of Ponte Vecchio.
REASONS = (
    "Active",
    "PSDepStall",
    "ControlStall",
    "PipeStall",
    "SendStall",
    "DistStall",
    "SbidStall",
    "SyncStall",
    "InstrFetchStall",
    "OtherStall",
)
PVC_REASONS = tuple(r for r in REASONS if r != "PSDepStall")

_numbers = itertools.count(1)


def need_loader():
    if not ctypes.util.find_library("ze_loader"):
        raise Skip("no loader of Level Zero: apt install libze1")


def need_mock():
    need_loader()
    if not os.path.exists(MOCK):
        raise Skip("no mock_zet: it is built with Level Zero's headers, apt install libze-dev")


class Metric:
    def __init__(self, name, description="", component="", unit="", tier=1, of="event", value="uint64"):
        self.name, self.description, self.component, self.unit = name, description, component, unit
        self.tier, self.type, self.value = tier, of, value

    def json(self):
        return {
            "name": self.name,
            "description": self.description,
            "component": self.component,
            "tier": self.tier,
            "type": self.type,
            "value": self.value,
            "unit": self.unit,
        }

    def line(self):
        words = (self.name, self.description, self.component, self.unit, self.tier)
        return ("metric", *words, TYPES.get(self.type, 99), VALUES.get(self.value, 99))


class Group:
    def __init__(self, name, description, sampling, domain, metrics):
        self.name, self.description, self.sampling = name, description, sampling
        self.domain, self.metrics = domain, metrics

    def json(self):
        return {
            "name": self.name,
            "description": self.description,
            "time_based": bool(self.sampling & TIME),
            "event_based": bool(self.sampling & EVENT),
            "domain": self.domain,
            "metrics": [metric.json() for metric in self.metrics],
        }

    def lines(self):
        yield ("group", self.name, self.description, self.sampling, self.domain)
        for metric in self.metrics:
            yield metric.line()


def stalls(reasons=REASONS):
    """The group EuStallSampling, as Intel's driver describes it."""
    metrics = [Metric("IP", "IP address", "XVE", "Address", 4, "ip")]
    metrics += [Metric(r, "Number of %s" % r, "XVE", "Events", 4) for r in reasons]
    return Group("EuStallSampling", "EU stall sampling", TIME, 100, metrics)


class Device:
    def __init__(self, name, *groups, pci="", ip_version=20 << 22 | 1 << 14, part_of=0):
        self.name, self.groups, self.pci = name, groups, pci
        self.ip_version, self.part_of = ip_version, part_of

    def lines(self):
        yield ("device", self.name, self.pci, self.ip_version, self.part_of)
        for group in self.groups:
            yield from group.lines()


class Machine:
    """Its devices have numbers from 1, as they are listed: parts behind the whole that they are of."""

    def __init__(self, *devices):
        self.devices = devices
        self.more = []
        self.path = new_path("mock_zet") + ".txt"
        self.log_path = self.path + ".log"

    def fault(self, how, call, result=0, device=0, times=0):
        self.more.append((how, call, RESULTS.get(result, result), device, times))
        return self

    def row(self, sent, device, ip, counts, part=0, seen=None):
        """A row of {reason: count}; @sent has it as a reader should see it, of the trace's device @seen."""
        names = [metric.name for metric in self.devices[device - 1].groups[-1].metrics[1:]]
        self.more.append(("row", device, part, ip, *(counts.get(name, 0) for name in names)))
        known = collections.Counter()
        for name, n in counts.items():
            known[name if name in REASONS else "OtherStall"] += n
        sent.add(seen or device, ip, known)

    def rows(self, sent, device, nr, seed, bits=29, **how):
        """Rows at random, some without an address, some with counts that no raw report holds."""
        r = random.Random(seed)
        names = [metric.name for metric in self.devices[device - 1].groups[-1].metrics[1:]]
        ips = [r.randrange(1, 1 << bits) | r.choice((0, 1 << bits - 1)) for _ in range(100)]
        for _ in range(nr):
            counts = {name: r.randrange(1, r.choice((256, 100000))) for name in r.sample(names, r.randrange(1, 4))}
            self.row(sent, device, r.choice(ips) if r.random() > 0.03 else 0, counts, **how)
        return self

    def report(self, device, *values, part=0):
        """A report of the device's last group: a value for each metric."""
        self.more.append(("row", device, part, *values))
        return self

    def read(self, device):
        self.more.append(("read", device))
        return self

    def drop(self, device):
        self.more.append(("drop", device))
        return self

    def env(self, **more):
        """The environment in which programs find this machine's GPUs."""
        with open(self.path, "w", encoding="utf-8") as file:
            for device in self.devices:
                for line in device.lines():
                    print(*line, sep="\t", file=file)
            for line in self.more:
                print(*line, sep="\t", file=file)
        known = {"ZE_ENABLE_ALT_DRIVERS": MOCK, "MOCK_ZET": self.path, "MOCK_ZET_LOG": self.log_path}
        return dict(os.environ, **known, **more)

    def log(self):
        """What the mock was asked, [[word, …], …]."""
        if not os.path.exists(self.log_path):
            return []
        with open(self.log_path, encoding="utf-8") as file:
            return [line.rstrip("\n").split("\t") for line in file]
