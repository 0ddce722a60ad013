#!/usr/bin/env python3
"""Level Zero's metrics: the list of `aflame doctor --metrics`, and stalls of instructions by the collector zet-stall,
with the mock of tests/mock_zet under the real loader, and with Intel's own driver without a GPU."""

import glob
import json
import os
import time

from machine import BUILD
from recording import FAILED, USAGE, aflame, new_path, record
import xe_card
from tap import Skip, case, equal, expect, near, note, run_cases
from xe_card import Samples, Sent
from zet_card import EVENT, PVC_REASONS, REASONS, TIME, Device, Group, Machine, Metric, need_loader, need_mock, stalls


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


def is_alone(machine):
    """The driver has ZET_ENABLE_METRICS, no memory of ours, and of descriptors the standard ones and two pipes."""
    log = [line for line in machine.log() if line[0] == "init"]
    expect(log and all(line == ["init", "1", "0", "5"] for line in log), "log of the mock: %s" % log)


@case("ZET_ENABLE_METRICS is set for the driver, which reaches nothing of ours, and its output is nowhere")
def _():
    need_mock()
    machine = Machine(*two_cards())
    text = doctor(machine, status=0)
    is_alone(machine)
    expect("mock_zet prints" not in text, text)
    machine = Machine(*two_cards())
    run = sampled(machine)
    is_alone(machine)
    expect(b"mock_zet" not in run.stdout + run.stderr, run.stdout)


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


PCI = "0000:3a:00.0"
SLEEP = ("sleep", "0.3")
PVC = 12 << 22 | 60 << 14
XE3P = 35 << 22


def sampled(machine, *options, command=SLEEP, more=None, **how):
    """A recording there, as users begin one; @more of the environment."""
    need_mock()
    env = machine.env(**(more or {}))
    return record(*command, options=("--gpu-samples", *options), env=env, **how)


def notes(run, key):
    return [f["value"] for f in run.fields("note") if f["key"] == key]


def lost(run, reason):
    return sum(f["count"] for f in run.fields("lost") if f["reason"] == reason)


def flags(run):
    return {str(f["flags"]) for f in Samples(run).windows.values()}


def each_kind(name, reasons, version, bits, wide):
    @case("zet-stall: rows of %s are in the trace, count for count, as the driver gave them" % name)
    def _():
        machine, sent = Machine(Device("Mock", stalls(reasons), pci=PCI, ip_version=version)), Sent()
        for i in range(4):
            machine.rows(sent, 1, 700, seed=i, bits=bits).read(1)
        run = sampled(machine)
        samples = Samples(run)
        samples.check(sent)
        equal({r for _, _, r in samples.counts}, set(reasons), "reasons that were seen")
        expect(sent.other[1], "no row of address 0 was sent")
        equal(samples.dropped(), 0, "dropped")
        addresses = {a for _, a, _ in samples.counts}
        equal(any(a >> 32 for a in addresses), wide, "addresses of more than 32 bits")
        expect(all(("ADDRESS_32" in f or f == "4") != wide for f in flags(run)), flags(run))
        text = notes(run, "collector.zet.rows")
        expect(len(text) == 1 and text[0].startswith("2800 rows, "), text)
        note("%d samples of %d addresses and reasons" % (sum(sent.counts.values()), len(sent.counts)))


each_kind("Ponte Vecchio", PVC_REASONS, PVC, 29, False)
each_kind("Xe2", REASONS, 20 << 22 | 1 << 14, 29, False)
each_kind("Xe3p", REASONS, XE3P, 57, True)
each_kind("a driver that does not tell its version", REASONS, 0, 29, False)


@case("zet-stall: period and reports are what was asked for, with an event, after activating the group")
def _():
    # 8 Xe cores at 2000 MHz: 9.1 M a second at the slowest, 63.7 M at the fastest
    for option, cycles in (("--gpu-samples", 1004), ("--gpu-samples=20M", 753), ("--gpu-samples=100M", 251)):
        machine, sent = Machine(Device("Mock", stalls(), pci=PCI)), Sent()
        machine.rows(sent, 1, 10, seed=1)
        run = sampled(machine, option)
        Samples(run).check(sent)
        log = [line for line in machine.log() if line[0] != "init"]
        equal(
            log,
            [
                ["activate", "1", "1"],
                ["open", "1", "EuStallSampling", str(cycles), "4096", "event"],
                ["close", "1"],
                ["activate", "1", "0"],
            ],
            "log of the mock",
        )
        expect("every %d GPU cycles asked for" % cycles in notes(run, "collector.zet")[0], notes(run, "collector.zet"))
        equal({f["period_cycles"] for f in Samples(run).windows.values()}, {cycles}, "cycles")


@case("zet-stall: the device is known by its PCI address, its units and its clock")
def _():
    machine, sent = Machine(Device("Mock Arc", stalls(), pci=PCI)), Sent()
    machine.rows(sent, 1, 10, seed=1)
    run = sampled(machine)
    devices = [e["fields"] for e in run.events("device") if e["process"] == 0]
    equal([d["name"] for d in devices], ["GPU 0xe20b (%s)" % PCI], "devices")
    known = {f["key"]: f["value"] for f in run.fields("device_note")}
    for key, value in {"pci": PCI, "processors": "8", "clock_khz": "2000000", "graphics": "20.1"}.items():
        equal(known.get(key), value, key)


@case("zet-stall: a card is sampled once for all its parts, each with its rows; other cards, too")
def _():
    machine, sent = (
        Machine(
            Device("Mock Max", stalls(), pci=PCI),
            Device("Mock Max tile 0", stalls(), part_of=1),
            Device("Mock Max tile 1", stalls(), part_of=1),
            Device("Mock Arc", stalls(), pci="0000:4a:00.0"),
            Device("Without"),
        ),
        Sent(),
    )
    machine.rows(sent, 1, 200, seed=1, part=1).rows(sent, 1, 100, seed=2, part=0).rows(sent, 1, 5, seed=3, part=3)
    machine.rows(sent, 4, 300, seed=4, seen=2)
    run = sampled(machine)
    Samples(run).check(sent)
    equal(sorted(line[1] for line in machine.log() if line[0] == "open"), ["1", "4"], "streamers")


@case("zet-stall: parts are sampled where only they have the group, under the address of the whole")
def _():
    machine, sent = Machine(Device("Whole", pci=PCI), Device("Part", stalls(), part_of=1)), Sent()
    machine.rows(sent, 2, 50, seed=1, seen=1)
    run = sampled(machine)
    Samples(run).check(sent)
    equal([f["value"] for f in run.fields("device_note") if f["key"] == "pci"], [PCI], "PCI address")


@case("zet-stall: data that the driver dropped are counted, and the rest is read")
def _():
    machine, sent = Machine(Device("Mock", stalls())), Sent()
    machine.rows(sent, 1, 20, seed=1).drop(1).read(1).rows(sent, 1, 20, seed=2).read(1)
    machine.rows(sent, 1, 20, seed=3).drop(1)
    run = sampled(machine)
    samples = Samples(run)
    samples.check(sent)
    equal(samples.dropped(), 2, "dropped")
    equal(lost(run, "DROPPED"), 2, "LOST")
    expect("dropped 2 times" in notes(run, "collector.zet.rows")[0], notes(run, "collector.zet.rows"))


@case("zet-stall: counts of names that are not known are other stalls, which a note says")
def _():
    group = stalls()
    group.metrics.append(Metric("BrandNewStall", "", "XVE", "Events", 4))
    machine, sent = Machine(Device("Mock", group)), Sent()
    machine.rows(sent, 1, 200, seed=1)
    run = sampled(machine)
    Samples(run).check(sent)
    expect("1 reasons of unknown names" in notes(run, "collector.zet")[0], notes(run, "collector.zet"))


@case("zet-stall: while recording is off no streamer is open")
def _():
    machine, sent = Machine(Device("Mock", stalls())), Sent()
    machine.rows(sent, 1, 100, seed=1)
    run = sampled(machine, "--delay", "0.2", "--duration", "0.3", command=("sleep", "0.8"))
    Samples(run).check(sent)
    equal([line[0] for line in machine.log() if line[0] in ("open", "close")], ["open", "close"], "streamers")
    begin = min(e["time_ns"] for e in run.events("note"))
    first = min(f["start_ns"] for f in Samples(run).windows.values())
    expect(first - begin > 150e6, "sampled %g ms after the begin" % ((first - begin) / 1e6))


def fails(machine, *words, named=True):
    """Something fails: a note says it, and where the collector was named a line while the program runs, whose output
    and status are untouched."""
    how = {"sampler": "zet-stall", "rate": 99} if named else {}
    run = sampled(machine, command=("sh", "-c", "sleep 0.3; echo out; exit 3"), status=3, quiet=False, **how)
    equal(run.stdout, b"out\n", "the program's output")
    text = run.stderr.decode()
    noted = " ".join(notes(run, "collector.zet") + notes(run, "collector.zet.rows"))
    note(text.strip() or noted)
    for word in words:
        expect((word in text or not named) and word in noted, "%r is not in: %s; %s" % (word, text, noted))
    equal(text.count("\n"), 1 if named else 0, "lines on standard error: %s" % text)
    return run


@case("zet-stall: each failure gives its sentence, and the recording goes on")
def _():
    need_mock()

    def mock(*fault):
        return Machine(Device("Mock", stalls())).fault(*fault)

    fails(mock("fail", "zeInit", "missing"), "ERROR_DEPENDENCY_UNAVAILABLE", named=False)
    fails(mock("fail", "zeContextCreate", "lost"), "Mock", "zeContextCreate failed (ERROR_DEVICE_LOST")
    fails(mock("fail", "zetContextActivateMetricGroups", "permissions"), "Mock", "sysctl dev.")
    fails(mock("fail", "zetMetricStreamerOpen", "in use"), "Mock", "another tool observes this GPU")
    fails(mock("fail", "zetMetricStreamerOpen", "unknown"), "another tool may observe this GPU")
    fails(mock("fail", "zetMetricStreamerReadData", "unknown"), "the GPU was reset, or is lost")
    run = fails(mock("crash", "zetMetricStreamerOpen"), "crashed in zetMetricStreamerOpen (Aborted)")
    equal(run.events("gpu_window"), [], "windows")
    fails(mock("crash", "zeInit"), "crashed in zeInit", named=False)


@case("zet-stall: a device that fails leaves the others")
def _():
    need_mock()
    machine, sent = Machine(Device("A", stalls()), Device("B", stalls())), Sent()
    machine.rows(sent, 2, 100, seed=1).fault("fail", "zetMetricStreamerOpen", "in use", 1)
    run = fails(machine, "another tool observes")
    Samples(run).check(sent)


@case("zet-stall: a read that fails once is a loss; a stream that fails again and again is opened anew")
def _():
    need_mock()
    for times, opens in ((1, 1), (2, 1), (3, 2)):
        machine, sent = Machine(Device("Mock", stalls())), Sent()
        machine.rows(sent, 1, 100, seed=times).fault("fail", "zetMetricStreamerReadData", "unknown", 0, times)
        run = sampled(machine, command=("sleep", "1.2"), quiet=opens == 1)
        samples = Samples(run)
        samples.check(sent)
        equal(samples.dropped(), 1, "dropped after %d failures" % times)
        equal(len([line for line in machine.log() if line[0] == "open"]), opens, "openings")


@case("zet-stall: reports that the driver cannot calculate are counted, named once, and the rest is read")
def _():
    need_mock()
    call = "zetMetricGroupCalculateMultipleMetricValuesExp"
    machine, sent = Machine(Device("Mock", stalls())), Sent()
    machine.rows(Sent(), 1, 10, seed=1).read(1).rows(Sent(), 1, 10, seed=2).read(1).rows(sent, 1, 100, seed=3)
    run = fails(machine.fault("fail", call, "unknown", 0, 2), call + " failed (ERROR_UNKNOWN")
    samples = Samples(run)
    samples.check(sent)
    equal(samples.dropped(), 2, "dropped")
    expect("2 times values that make no sense" in notes(run, "collector.zet.rows")[0], notes(run, "collector.zet.rows"))


@case("zet-stall: a crash while rows are read leaves those that were sent")
def _():
    need_mock()
    machine, sent = Machine(Device("A", stalls()), Device("B", stalls())), Sent()
    machine.rows(sent, 1, 100, seed=1).fault("crash", "zetMetricStreamerClose", 0, 2)
    run = fails(machine, "crashed in zetMetricStreamerClose")
    Samples(run).check(sent)


@case("zet-stall: a driver that hangs costs 3 s, and is named")
def _():
    need_mock()
    for call in ("zeInit", "zetMetricStreamerReadData"):
        start = time.monotonic()
        machine = Machine(Device("Mock", stalls())).fault("hang", call)
        fails(machine, "did not answer in " + call, named=call != "zeInit")
        seconds = time.monotonic() - start
        note("%s: %.1f s" % (call, seconds))
        expect(seconds < 9, "it took %.1f s" % seconds)


@case("zet-stall takes over where the kernel refuses its own stream, and a note says why")
def _():
    need_mock()
    for step, why in (("open 0 13", "sysctl dev.xe.observation_paranoid=0"), ("stalls 22", "Linux 6.15")):
        kernel = xe_card.Machine()
        card = kernel.card(pci=PCI)
        for _ in range(9):
            card.step(step)
        machine, sent = Machine(Device("Mock", stalls(), pci=PCI)), Sent()
        machine.rows(sent, 1, 100, seed=1)
        more = {k: v for k, v in kernel.env().items() if k in ("LD_PRELOAD", "XE_STAND_IN")}
        run = sampled(machine, more=more, quiet=False)
        Samples(run).check(sent)
        expect(why in notes(run, "collector.xe")[0], notes(run, "collector.xe"))
        text = run.stderr.decode()
        lines = 2 if "open" in step else 0  # the first is the kernel's refusal
        equal(text.count("\n"), lines, "lines of " + text)
        expect(not lines or text.endswith("aflame: Level Zero samples it instead\n"), text)


@case("where the kernel gives its stream, Level Zero's driver is not loaded")
def _():
    need_mock()
    kernel, sent = xe_card.Machine(), Sent()
    kernel.card(pci=PCI).rows(0, sent, 50, seed=1)
    machine = Machine(Device("Mock", stalls(), pci=PCI))
    more = {k: v for k, v in kernel.env().items() if k in ("LD_PRELOAD", "XE_STAND_IN")}
    run = sampled(machine, more=more)
    Samples(run).check(sent)
    equal(machine.log(), [], "log of the mock")
    equal(notes(run, "collector.zet"), [], "notes")


@case("zet-stall by its name: it works or is refused, and doctor has a row")
def _():
    need_mock()
    machine, sent = Machine(Device("Mock", stalls())), Sent()
    machine.rows(sent, 1, 100, seed=1)
    path = new_path()
    words = ("record", "-q", "-o", path, "--sample", "zet-stall", "--", *SLEEP)
    done = aflame(*words, env=machine.env())
    equal((done.returncode, done.stderr), (0, ""), "(status, standard error)")
    expect(["close", "1"] in machine.log(), machine.log())
    words = ("record", "--strict", "-o", new_path(), "--sample", "zet-stall", "--", "true")
    done = aflame(*words, env=Machine(Device("Without")).env())
    expect(done.returncode == FAILED and "no metric groups" in done.stderr, done.stderr)

    def row(machine):
        done = aflame("doctor", "--json", env=machine.env())
        found = {c["name"]: c for c in json.loads(done.stdout)["collectors"]}["zet-stall"]
        return found["works"], found["says"]

    equal(row(machine), (True, "Mock: EuStallSampling with 11 metrics"), "doctor")
    works, says = row(Machine(Device("Without")))
    expect(not works and "no metric groups" in says, says)


@case("zet-stall: Intel's driver without a GPU is named as what is missing, and the program runs")
def _():
    for product, more in (("tgllp", {}), ("pvc", {"HardwareInfoOverride": "1x2x8"})):
        env = intel(product, **more)
        # As where a user names a driver, which turns the collector on.
        env["ZE_ENABLE_ALT_DRIVERS"] = "libze_intel_gpu.so.1"
        run = record("sh", "-c", "exit 3", options=("--gpu-samples",), env=env, status=3, quiet=False)
        text = " ".join(notes(run, "collector.zet"))
        note(text)
        expect("libig" in text or "crashed" in text or "EuStallSampling" in text, text)


run_cases()
