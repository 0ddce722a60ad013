#!/usr/bin/env python3
"""Level Zero's metrics: what `aflame doctor --metrics` lists, by the mock of tests/mock_zet under the
real loader, and by Intel's own driver without a GPU."""

import glob
import json
import os
import time

from machine import BUILD
from recording import USAGE, aflame
from tap import Skip, case, equal, expect, near, note, run_cases
from zet_card import (
    EVENT,
    TIME,
    Device,
    Group,
    Machine,
    Metric,
    need_loader,
    need_mock,
    stalls,
)


def doctor(machine, *options, status):
    """Output of `aflame doctor --metrics` there."""
    done = aflame("doctor", "--metrics", *options, env=machine.env())
    equal(done.returncode, status, "status, after %s%s" % (done.stdout, done.stderr))
    equal(done.stderr, "", "standard error")
    return done.stdout


def listed(machine, status=0):
    return json.loads(doctor(machine, "--json", status=status))


def two_cards():
    """A card of two parts, and one that has an odd group."""
    oa = Group(
        "ComputeBasic",
        "Compute Metrics Basic set",
        TIME | EVENT,
        0,
        [
            Metric("GpuTime", "Time elapsed on the GPU", "GPU", "ns", 1, "duration"),
            Metric("GpuBusy", "Busy \u2264 100 %", "GPU", "percent", 2, "ratio", "float32"),
            Metric("XVE_STALL", "Stalled", "XVE", "", 3, "raw", "bool8"),
        ],
    )
    late = Group("Late", "", EVENT, 3, [Metric("N", of="newer than aflame", value="newer, too")])
    return (
        Device("Mock Max 1550", oa, stalls(), pci="0000:3a:00.0"),
        Device("Mock Max 1550 tile", stalls(), part_of=1),
        Device("Mock Arc", late, Group("None in it", "empty", TIME, 1, [])),
    )


@case("doctor --metrics --json has every group and metric of all devices and sub-devices")
def _():
    need_mock()
    cards = two_cards()
    got = listed(Machine(*cards))
    equal(got["works"], True, "works")
    equal(got["says"], "", "says")
    equal([d["name"] for d in got["devices"]], [c.name for c in cards], "devices")
    equal([d["part_of"] for d in got["devices"]], [0, 1, 0], "parts")
    equal([d["pci"] for d in got["devices"]], ["0000:3a:00.0", "", ""], "PCI addresses")
    equal([d["uuid"] for d in got["devices"]], ["%02x" % n * 16 for n in (1, 2, 3)], "UUIDs")
    equal(got["devices"][0]["vendor_id"], 0x8086, "vendor")
    for device, card in zip(got["devices"], cards):
        want = [group.json() for group in card.groups]
        for group in want:
            for metric in group["metrics"]:
                if metric["name"] == "N":
                    metric["type"] = metric["value"] = ""
        equal(device["groups"], want, "groups of " + card.name)


TEXT = """\
device 1: Mock Max 1550 (0000:3a:00.0)
  ComputeBasic (time-based and event-based, domain 0, 3 metrics): Compute Metrics Basic set
    GpuTime (duration, uint64, ns, GPU): Time elapsed on the GPU
    GpuBusy (ratio, float32, percent, GPU): Busy \u2264 100 %
    XVE_STALL (raw, bool8, XVE): Stalled
  EuStallSampling (time-based, domain 100, 11 metrics): EU stall sampling
    IP (ip, uint64, Address, XVE): IP address
"""


@case("doctor --metrics as text is the same list")
def _():
    need_mock()
    text = doctor(Machine(*two_cards()), status=0)
    expect(text.startswith(TEXT), text)
    expect("device 2: Mock Max 1550 tile, a part of device 1\n  EuStallSampling (time" in text, text)
    expect("device 3: Mock Arc\n  Late (event-based, domain 3, 1 metric)\n    N ()\n  None in it" in text, text)
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    equal(len(lines), 3 + 11 + 11 + 1, "metrics")
    if not glob.glob("/usr/lib/*/libigdmd.so.1"):
        expect("also: libigdmd.so.1" in text, text)


@case("ZET_ENABLE_METRICS is set for the driver, and what it prints is nowhere")
def _():
    need_mock()
    machine = Machine(*two_cards())
    text = doctor(machine, status=0)
    log = machine.log()
    expect(log and all(line == ["init", "1"] for line in log), "log of the mock: %s" % log)
    expect("mock_zet prints" not in text, text)


@case("control characters in a driver's texts do not reach the terminal")
def _():
    need_mock()
    text = doctor(Machine(Device("Red\x1b[31m", stalls())), status=0)
    expect("Red\\x1b[31m" in text and "\x1b" not in text, repr(text[:200]))


def reason(machine, *words):
    """The machine has no metrics, and these words say why."""
    got = listed(machine, status=1)
    equal(got["works"], False, "works")
    says = " ".join([got["says"]] + [d["says"] for d in got["devices"]])
    note(says)
    for word in words:
        expect(word in says, "%r is not in: %s" % (word, says))
    return got


@case("each failure of a driver is a sentence, with what fixes it")
def _():
    need_mock()
    card = Device("Mock", stalls())
    reason(
        Machine(card).fault("fail", "zeInit", "missing"),
        "zeInit failed (ERROR_DEPENDENCY_UNAVAILABLE, 0x70020000)",
        "" if glob.glob("/usr/lib/*/libigdm[dl].so.1") else "apt install intel-metrics-discovery",
    )
    reason(Machine(card).fault("fail", "zeInit", "uninitialized"), "apt install libze-intel-gpu1")
    reason(Machine(card).fault("fail", "zeDeviceGet", "lost"), "ERROR_DEVICE_LOST")
    reason(Machine(), "no driver of Level Zero has a GPU here")
    reason(Machine(Device("Without")), "no metric groups")
    reason(Machine(card).fault("fail", "zetMetricGroupGet", 0x12345), "zetMetricGroupGet failed (0x12345)")
    reason(Machine(card).fault("fail", "zetMetricGroupGet", "permissions"), "sysctl dev.")


@case("a device that fails leaves the others")
def _():
    need_mock()
    machine = Machine(Device("A", stalls()), Device("B", stalls())).fault("fail", "zetMetricGroupGet", "lost", 1)
    got = listed(machine)
    equal([len(d["groups"]) for d in got["devices"]], [0, 1], "groups")
    expect("ERROR_DEVICE_LOST" in got["devices"][0]["says"], got["devices"][0]["says"])
    equal(got["devices"][1]["says"], "", "says of the other")


@case("a driver that crashes is named with its call; what it listed before is shown")
def _():
    need_mock()
    card = Device("Mock", stalls())
    reason(Machine(card).fault("crash", "zeInit"), "crashed in zeInit (Aborted)")
    got = listed(Machine(card, Device("B", stalls())).fault("crash", "zetMetricGroupGet", 0, 2))
    equal([len(d["groups"]) for d in got["devices"]], [1, 0], "groups")
    expect("crashed in zetMetricGroupGet" in got["says"], got["says"])


@case("a driver that hangs is ended after 10 s")
def _():
    need_mock()
    start = time.monotonic()
    got = listed(Machine(Device("A", stalls()), Device("B", stalls())).fault("hang", "zetMetricGet", 0, 2))
    near(time.monotonic() - start, 10.5, 2, "seconds")
    equal([len(d["groups"]) for d in got["devices"]], [1, 1], "groups")
    expect("did not answer in zetMetricGet" in got["says"], got["says"])


def intel(product, **more):
    """The environment in which Intel's own driver believes in a GPU (its AUB mode)."""
    need_loader()
    if not glob.glob("/usr/lib/*/libze_intel_gpu.so.1"):
        raise Skip("no Level Zero driver of Intel: apt install intel-opencl-icd")
    known = {
        "NEOReadDebugKeys": "1",
        "SetCommandStreamReceiver": "1",
        "ProductFamilyOverride": product,
        "AUBDumpCaptureFileName": "/dev/null",
    }
    return dict(os.environ, **known, **more)


@case("Intel's driver without a GPU: a missing library or a crash is reported, nothing hangs")
def _():
    seen = set()
    for product, more in (
        ("tgllp", {}),
        ("skl", {}),
        ("dg2", {"HardwareInfoOverride": "2x4x16"}),
        ("pvc", {"HardwareInfoOverride": "1x2x8"}),
    ):
        start = time.monotonic()
        done = aflame("doctor", "--metrics", "--json", env=intel(product, **more))
        got = json.loads(done.stdout)
        note("%s: %s" % (product, got["says"]))
        equal(done.returncode, 0 if got["works"] else 1, "status")
        equal(done.stderr, "", "standard error")
        expect(got["works"] or got["says"], "neither metrics nor a reason")
        expect(time.monotonic() - start < 9, "it hanged")
        seen.add("libig" if "libig" in got["says"] else "crashed" if "crashed" in got["says"] else "else")
    if not glob.glob("/usr/lib/*/libigdm[dl].so.1"):
        expect("libig" in seen, "no product names the missing library: %s" % seen)


@case("--metrics takes no trace")
def _():
    done = aflame("doctor", "--metrics", BUILD)
    equal(done.returncode, USAGE, "status")
    expect("--metrics takes no trace" in done.stderr, done.stderr)


run_cases()
