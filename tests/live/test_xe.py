#!/usr/bin/env python3
"""Samples of Intel's GPUs by their kernel driver, on a stand-in that answers the driver's calls inside the recorder
(programs/xe_stand_in.c): no hardware and no driver of Intel's is here. Each sample that the stand-in gave has to be
in the trace, at its address and for its reason, and nothing else."""

import os
import re
import signal
import subprocess
import time

from machine import AFLAME, WORKPLACE, need
from recording import FAILED, USAGE, Trace, aflame, new_path, record, refused
from tap import case, equal, expect, note, run_cases
from xe_card import COUNTS, Machine, Samples, Sent, doctor, lost, notes, row

SLEEP = ("sleep", "0.4")


def recorded(machine, *options, **how):
    how.setdefault("options", ("--gpu-samples", *options))
    return record(*how.pop("command", SLEEP), env=machine.env(), **how)


def each_layout(layout):
    @case("rows of %s are in the trace, each at its address and for its reason" % layout)
    def _():
        machine, sent = Machine(), Sent()
        card = machine.card(layout=layout)
        for i in range(4):
            card.rows(0, sent, 9000, seed=i)
            card.step("pause 0")
        run = recorded(machine)
        samples = Samples(run)
        samples.check(sent)
        equal({r for _, _, r in samples.counts}, set(COUNTS[layout][1]), "reasons that were seen")
        expect(sent.other[1], "no row of address 0 was sent")
        short = {bool(f["flags"] & 4) for f in map(flags_as_number, samples.windows.values())}
        equal(short, {layout != "xe3p"}, "addresses have 32 bits")
        equal(samples.dropped(), 0, "dropped")
        equal({f["period_cycles"] for f in samples.windows.values()}, {1004}, "the driver's usual period")
        text = notes(run, "collector.xe.rows")
        expect(len(text) == 1 and text[0].startswith("%d rows, " % sent.rows), text)
        note("%d rows, %d addresses and reasons" % (sent.rows, len(sent.counts)))


def flags_as_number(window):
    flags = window["flags"]
    names = {"SERIALIZED": 1, "FULL": 2, "ADDRESS_32": 4}
    if not isinstance(flags, int):
        words = flags if isinstance(flags, list) else re.split(r"[|, ]+", str(flags))
        flags = sum(names[w] for w in words if w and w != "0")
    return dict(window, flags=flags)


for each in COUNTS:
    each_layout(each)


@case("the device is known by its PCI address, its units and its clock")
def _():
    machine, sent = Machine(), Sent()
    machine.card(pci="0000:4d:00.0").rows(0, sent, 100, seed=1)
    run = recorded(machine)
    devices = [e for e in run.events("device") if e["process"] == 0]
    equal([e["fields"]["name"] for e in devices], ["GPU 0xe20b (0000:4d:00.0)"], "devices")
    known = {f["key"]: f["value"] for f in run.fields("device_note")}
    for key, value in {"pci": "0000:4d:00.0", "processors": "20", "clock_khz": "2400000", "graphics": "20.1"}.items():
        equal(known.get(key), value, key)
    text = notes(run, "collector.xe")
    expect(re.search(r"every 1004 GPU cycles \(47\.8 M times a second on all XeCores at 2400 MHz\), GT 0", text[0]), text)


@case("every card and every GT is sampled, media only where it can be")
def _():
    machine, sent = Machine(), Sent()
    two = machine.card(gts=2, media=1)
    two.rows(0, sent, 500, seed=1).rows(1, sent, 700, seed=2).step("open 2 22")
    machine.card(layout="xe3p").rows(0, sent, 300, seed=3)
    run = recorded(machine)
    Samples(run).check(sent)
    equal(sorted(line for line in machine.log() if line.startswith("open")),
          ["open gt 0 rate 1004 wait 1024: 0"] * 2 + ["open gt 1 rate 1004 wait 1024: 0",
           "open gt 2 rate 1004 wait 1024: 22"], "streams")
    expect(" and 1; GPU 0xe20b" in notes(run, "collector.xe")[0], notes(run, "collector.xe"))


@case("streams are closed to programs, do not block, and end with the recording")
def _():
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 100, seed=1)
    recorded(machine)
    log = machine.log()
    equal([line for line in log if line.startswith("enable")], ["enable gt 0 flags cloexec nonblock"], "enabled")
    equal([line for line in log if line.startswith("close")], ["close gt 0"], "closed")


@case("rows that the device dropped are counted, and the rest is read")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card()
    card.rows(0, sent, 100, seed=1).step("error 0 5").rows(0, sent, 200, seed=2).step("pause 0")
    card.step("error 0 5").step("error 0 11").step("error 0 4").rows(0, sent, 300, seed=3)
    run = recorded(machine)
    samples = Samples(run)
    samples.check(sent)
    equal(samples.dropped(), 2, "dropped")
    equal(lost(run, "DROPPED"), 2, "LOST")
    full = [f for f in map(flags_as_number, samples.windows.values()) if f["flags"] & 2]
    equal(sum(f["dropped"] for f in full), 2, "dropped in windows that say so")
    expect("dropped 2 times" in notes(run, "collector.xe.rows")[0], notes(run, "collector.xe.rows"))


@case("a stream that a reset of the GPU ended is opened again, also after it was busy for a while")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card()
    card.step("open 0 0").rows(0, sent, 100, seed=1).step("error 0 19")
    card.step("open 0 16").step("open 0 0").rows(0, sent, 200, seed=2)
    run = recorded(machine, command=("sleep", "1.5"))
    Samples(run).check(sent)
    opened = [line.split(": ")[1] for line in machine.log() if line.startswith("open")]
    equal(opened, ["0", "16", "0"], "openings")
    expect("reset 1 times, and opened again 1 times" in notes(run, "collector.xe.rows")[0], notes(run, "collector.xe.rows"))


@case("another error ends a stream, with its name, and leaves the others")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card(gts=2)
    card.rows(0, sent, 100, seed=1).step("error 0 14").rows(1, sent, 200, seed=2)
    run = recorded(machine)
    Samples(run).check(sent)
    expect("GT 0 ended: Bad address" in notes(run, "collector.xe.rows")[0], notes(run, "collector.xe.rows"))


@case("a GT that another tool observes is named, and the others are sampled")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card(gts=2)
    card.step("open 0 16").rows(1, sent, 200, seed=2)
    run = recorded(machine, quiet=False)
    Samples(run).check(sent)
    text = run.stderr.decode()
    expect("another program observes it" in text and text.count("\n") == 1, text)
    expect("another program observes it" in notes(run, "collector.xe")[0], notes(run, "collector.xe"))


@case("a read that ends within a row is counted, and its whole rows are there")
def _():
    machine, sent = Machine(), Sent()
    counts = {"Active": 3, "SbidStall": 200}
    whole = b"".join(row("xe2", ip, counts) for ip in (5, 6, 5))
    for ip in (5, 6, 5):
        sent.add(1, ip, counts)
    machine.card().give(0, whole + b"\1" * 30).rows(0, sent, 50, seed=4)
    run = recorded(machine)
    Samples(run).check(sent)
    equal(lost(run, "DROPPED"), 1, "LOST")
    expect("1 reads ended within a row" in notes(run, "collector.xe.rows")[0], notes(run, "collector.xe.rows"))


@case("without the right to observe, one line says what to run, and the program runs")
def _():
    machine = Machine()
    machine.card().step("open 0 13")
    run = recorded(machine, quiet=False, command=("sh", "-c", "echo out; exit 3"), status=3)
    fix = "run `sysctl dev.xe.observation_paranoid=0` as root, or give aflame CAP_PERFMON"
    text = run.stderr.decode()
    expect(fix in text and text.count("\n") == 1 and text.startswith("aflame: GPU 0xe20b"), text)
    equal(run.stdout, b"out\n", "the program's output")
    equal(run.events("gpu_window"), [], "windows")


@case("doctor names the gate, and what is missing of kernel, hardware and rights")
def _():
    def says(*steps, **how):
        machine = Machine()
        card = machine.card(**how)
        for step in steps:
            card.step(step)
        return doctor(machine, "xe-eustall")

    equal(says(), (True, "GPU 0xe20b (0000:03:00.0): 1 GT, rows of Xe2, every 251 to 1757 cycles"), "works")
    equal(says(layout="pvc", gts=2)[1].split(": ")[1], "2 GTs, rows of PVC, every 251 to 1757 cycles", "two GTs")
    for step, text in {
        "open 0 13": "sysctl dev.xe.observation_paranoid=0",
        "open 0 16": "only one at a time can",
        "stalls 22": "Linux 6.15 or later is needed",
        "stalls 19": "Ponte Vecchio has, and Xe2",
        "row 128": "a newer aflame is needed",
    }.items():
        works, what = says(step)
        expect(not works and text in what, "%s: %s" % (step, what))
    works, what = doctor(Machine(), "xe-eustall")
    expect(not works and "no GPU with the xe driver" in what, what)


@case("when the sysctl is open already, doctor names the other gate")
def _():
    machine = Machine()
    machine.paranoid("xe/observation_paranoid", 0)
    machine.card().step("open 0 13")
    works, what = doctor(machine, "xe-eustall")
    expect(not works and "kernel.perf_event_paranoid=0" in what, what)


@case("GPUs and kernels without the sampler are noted and cost no word")
def _():
    for step in ("stalls 19", "stalls 22"):
        machine = Machine()
        machine.card(device="56a0").step(step)
        run = recorded(machine)
        expect("GPU 0x56a0" in notes(run, "collector.xe")[0], notes(run, "collector.xe"))


@case("the rate that was asked for is met by the slowest that has it")
def _():
    # 20 XeCores at 2400 MHz: 27 M a second at the slowest, 191 M at the fastest
    for asked, period in {"--gpu-samples=1M": 1757, "--gpu-samples=40M": 1004, "--gpu-samples=100M": 251,
                          "--gpu-samples": 1004, "--gpu-samples=exact": 1004}.items():
        machine, sent = Machine(), Sent()
        machine.card().rows(0, sent, 10, seed=1)
        run = record("sleep", "0.1", env=machine.env(), options=(asked,))
        equal({f["period_cycles"] for f in Samples(run).windows.values()}, {period}, asked)
        expect("open gt 0 rate %d wait 1024: 0" % period in machine.log(), machine.log())


@case("while recording is off nothing is sampled")
def _():
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 100, seed=1)
    run = recorded(machine, "--delay", "0.2", "--duration", "0.3", command=("sleep", "0.8"))
    Samples(run).check(sent)
    switches = [line.split(" ")[0] for line in machine.log() if line.startswith(("enable", "disable"))]
    equal(switches, ["enable", "disable"], "switches")
    begin = min(e["time_ns"] for e in run.events("note"))
    first = min(f["start_ns"] for f in Samples(run).windows.values())
    expect(first - begin > 150e6, "sampled %g ms after the begin" % ((first - begin) / 1e6))


@case("the collector that --sample names works or is refused")
def _():
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 100, seed=1)
    path = new_path()
    done = aflame("record", "-q", "-o", path, "--sample", "xe-eustall", "--api", "none", "--", *SLEEP, env=machine.env())
    equal((done.returncode, done.stderr), (0, ""), "(status, standard error)")
    expect("enable gt 0" in " ".join(machine.log()), machine.log())
    done = aflame("record", "--strict", "-o", new_path(), "--sample", "xe-eustall", "--", "true")
    expect(done.returncode == FAILED and "no GPU with the xe driver" in done.stderr, done.stderr)
    refused(USAGE, "needs --api cuda, or a GPU of Intel's", "record", "-o", new_path(), "--api", "none",
            "--gpu-samples", "--", "true")


@case("without a device the trace has no word of it")
def _():
    run = record("true", options=("--gpu-samples",))
    equal(notes(run, "collector.xe") + notes(run, "collector.xe.rows"), [], "notes")
    equal(run.events("gpu_window") + run.events("stall"), [], "events")


@case("nodes of other drivers are not opened")
def _():
    machine, sent = Machine(), Sent()
    machine.card(driver="amdgpu")
    machine.card().rows(0, sent, 10, seed=1)
    sent.counts = {(1, *key[1:]): n for key, n in sent.counts.items()}
    recorded(machine)
    nodes = {line for line in machine.log() if line.startswith("node")}
    equal(nodes, {"node renderD129"}, "nodes that were opened")


@case("Intel's own i915 gives rows of Ponte Vecchio, and marks those before which some were dropped")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card(driver="i915", layout="pvc", device="bd5")
    card.rows(0, sent, 400, seed=1)
    counts = {"Active": 1}
    marked = bytearray(row("pvc", 77, counts))
    marked[51] = 1
    sent.add(1, 77, counts)
    card.give(0, bytes(marked)).step("open 1 16")
    run = recorded(machine)
    samples = Samples(run)
    samples.check(sent)
    equal(samples.dropped(), 1, "dropped")
    works, what = doctor(machine, "i915-eustall")
    expect(works and "rows of PVC" in what, what)


@case("doctor tells the kernel's i915 from Intel's own")
def _():
    machine = Machine()
    machine.card(driver="i915", device="9a49").step("stalls 22")
    works, what = doctor(machine, "i915-eustall")
    expect(not works and "intel-i915-dkms" in what, what)
    run = recorded(machine)
    equal(run.events("gpu_window"), [], "windows")


@case("very many addresses, and a recording that keeps the newest, are written whole")
def _():
    machine, sent = Machine(), Sent()
    card = machine.card(layout="xe3p")
    for i in range(8):
        card.rows(0, sent, 30000, seed=i, addresses=30000)
    run = recorded(machine, command=("sleep", "3"))  # on a machine with much to do
    Samples(run).check(sent)
    expect(len({a for _, a, _ in sent.counts}) > 100000, "addresses")
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 5000, seed=1)
    run = recorded(machine, "--ring", "8M")
    Samples(run).check(sent)


@case("samples survive the recorder, which is killed")
def _():
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 5000, seed=1).step("pause 0").rows(0, sent, 5000, seed=2)
    path = new_path()
    command = (AFLAME, "record", "-q", "-o", path, "--sample", "none", "--gpu-samples", "--", "sleep", "3")
    recorder = subprocess.Popen(command, env=machine.env(), cwd=WORKPLACE, start_new_session=True)
    time.sleep(1)
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.wait()
    trace = Trace(path)
    trace.check()
    Samples(trace).check(sent)


@case("a program that the kernel samples and a GPU are in one trace")
def _():
    need("bpf")
    machine, sent = Machine(), Sent()
    machine.card().rows(0, sent, 500, seed=1)
    path = new_path()
    done = aflame("record", "-q", "-o", path, "--sample", "bpf", "--gpu-samples", "--", *SLEEP, env=machine.env())
    equal((done.returncode, done.stderr), (0, ""), "(status, standard error)")
    trace = Trace(path)
    trace.check()
    Samples(trace).check(sent)


run_cases()
