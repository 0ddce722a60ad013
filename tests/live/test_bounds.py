#!/usr/bin/env python3
"""Recording within bounds: by time, by size, the newest only, on and off, and snapshots while it goes
on. What was not recorded is reported."""

import glob
import os
import re
import select
import signal
import subprocess
import time

from device_work import kernel_names
from machine import AFLAME, WORKPLACE, any_sampler, need, program, samplers
from recording import RATES, USAGE, Trace, aflame, must, new_path, record, refused
from tap import case, equal, expect, near, note, run_cases


def sampled_ms(trace):
    return sum(s["weight_ns"] for s in trace.fields("sample")) / 1e6


def lost(trace, reason):
    return sum(e["count"] for e in trace.fields("lost") if e["reason"] == reason)


def disk_bytes(path):
    """Of the streams that events are in."""
    return sum(os.path.getsize(f) for f in glob.glob(path + "/s[0-9]*"))


class Live:
    """A recording that goes on, and its FIFOs."""

    def __init__(self, *options, seconds="20", sampler=None, command=()):
        self.trace = Trace(new_path())
        self.fifo = new_path("fifo")
        sampler = sampler or any_sampler()
        self.process = subprocess.Popen(
            [AFLAME, "record", "-q", "-o", self.trace.path, "--sample", sampler,
             "-F", str(RATES[sampler]), "--ctl", self.fifo, *options, "--",
             *(command or (program("shares"), seconds))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=WORKPLACE)
        end = time.monotonic() + 20
        while not os.path.exists(self.fifo + ".ack") or not self.processes():
            expect(time.monotonic() < end and self.process.poll() is None, "it did not start")
            time.sleep(0.01)
        self.send = os.open(self.fifo, os.O_WRONLY)
        self.answers = os.open(self.fifo + ".ack", os.O_RDONLY | os.O_NONBLOCK)
        self.rest = b""

    def processes(self):
        """Pids of the program."""
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            kids = file.read().split()
        own = os.path.realpath(AFLAME)
        try:
            return [int(k) for k in kids if os.readlink("/proc/%s/exe" % k) != own]
        except OSError:
            return []

    def answer(self):
        end = time.monotonic() + 30
        while b"\n" not in self.rest:
            expect(select.select([self.answers], [], [], end - time.monotonic())[0], "no answer")
            self.rest += os.read(self.answers, 4096)
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def ask(self, line):
        os.write(self.send, line.encode() + b"\n")
        return self.answer()

    def grow(self, size):
        """Waits until the trace has @size bytes more than now."""
        def has():
            return int(re.search(r"(\d+) bytes", self.ask("status"))[1])

        goal, end = has() + size, time.monotonic() + 20
        while has() < goal:
            expect(time.monotonic() < end, "nothing is recorded")
            time.sleep(0.05)

    def end(self, kill=True):
        for pid in self.processes() if kill else ():
            os.kill(pid, signal.SIGKILL)
        self.process.communicate(timeout=60)
        os.close(self.send)
        os.close(self.answers)
        self.trace.check()
        return self.trace


@case("--delay leaves the beginning out, and says for how long")
def _():
    for sampler in samplers():
        run = record(program("shares"), "0.5", sampler=sampler, options=["--delay", "300ms"])
        off = lost(run, "PAUSED") / 1e6
        note("%s: off for %.0f ms, %.0f sampled of %.0f" % (sampler, off, sampled_ms(run), run.truth["cpu_ms"]))
        expect(290 < off < 1500, "%d ms" % off)
        resumed = [e["time_ns"] for e in run.events("lost") if e["fields"]["reason"] == "PAUSED"]
        begin = resumed[0] - off * 1e6
        first = (min(e["time_ns"] for e in run.events("sample")) - begin) / 1e6
        expect(first >= 290, "a sample after %d ms" % first)
        # How much of these 300 ms the program had a CPU is up to the machine: it may be none.
        cpu_ms = run.truth["cpu_ms"]
        expect(0.75 * (cpu_ms - off) < sampled_ms(run) < 1.1 * cpu_ms, "%d ms" % sampled_ms(run))
        equal(run.counts()["process"], 1, "processes: they are known although they began meanwhile")


@case("--delay longer than the program: nothing but what it was")
def _():
    run = record(program("shares"), "0.1", sampler=any_sampler(), options=["--delay", "1h"])
    equal((len(run.events("sample")), run.counts()["process"]), (0, 1), "samples, processes")


@case("--max-size stops the recording, not the program, and says so")
def _():
    need("perf")
    run = record(program("shares"), "1", sampler="perf", options=["--max-size", "100k"])
    expect("share.a" in run.truth, "it did not end")
    size = disk_bytes(run.path)
    note("%d bytes" % size)
    expect(90 << 10 <= size <= 300 << 10, "%d bytes" % size)
    stopped = [n["value"] for n in run.fields("note") if n["key"] == "stopped"]
    expect(stopped and "--max-size" in stopped[0], stopped)
    expect(lost(run, "PAUSED") > 0, "no word of what is missing")
    expect("--max-size" in must("report", "summary", run.path), "the summary does not say it")


@case("--max-size counts what many threads hold")
def _():
    need("perf")
    code = ("import threading, time\nend = time.monotonic() + 1.5\n"
            "def work():\n    while time.monotonic() < end: sum(range(200))\n"
            "threads = [threading.Thread(target=work) for _ in range(24)]\n"
            "for t in threads: t.start()\nfor t in threads: t.join()\n")
    run = record("python3", "-c", code, sampler="perf", rate=20000, options=["--max-size", "256k"])
    size = disk_bytes(run.path)
    note("%d bytes" % size)
    expect(200 << 10 <= size <= 600 << 10, "%d bytes: two packets of each thread are 3 MiB" % size)
    expect([n for n in run.fields("note") if n["key"] == "stopped"], "it was not stopped")


@case("--ring keeps the newest events within its size, readable, and counts what gave way")
def _():
    need("perf")
    run = record(program("threads"), "2.2", sampler="perf", rate=20000, options=["--ring", "1M"])
    whole = record(program("threads"), "2.2", sampler="perf", rate=20000)
    size, all_size = disk_bytes(run.path), disk_bytes(whole.path)
    gone, kept = lost(run, "OLDEST"), len(run.events("sample"))
    note("%d of %d bytes; %d kept, %d gone" % (size, all_size, kept, gone))
    expect(size <= 1 << 20, "%d bytes" % size)
    expect(gone > 0 and size > 0.5 * (1 << 20), "%d gone, %d bytes" % (gone, size))
    stacks = {tuple(f) for f, _ in run.stacks()}
    expect(not [s for s in stacks if "[unknown]" in s[-1]], "frames without a name: %s" % stacks)
    expect(stacks <= {tuple(f) for f, _ in whole.stacks()} or len(stacks) > 3, "strange stacks")


@case("--ring counts what many small files take on the disk")
def _():
    script = 'i=0; while [ $i -lt 600 ]; do "$1"; i=$((i + 1)); done'
    run = record("sh", "-c", script, "sh", program("short"), sampler=any_sampler(), options=["--ring", "1M"])
    beside = ("symbols", "recorder", "metadata", "objects")
    files = [os.lstat(os.path.join(run.path, n)) for n in os.listdir(run.path) if n not in beside]
    taken = sum(f.st_blocks for f in files) * 512
    note("%d files, %d kB on the disk" % (len(files), taken >> 10))
    expect(taken <= 1 << 20, "%d bytes on the disk" % taken)
    expect(len(files) > 20, "%d files" % len(files))


@case("--ring holds what many stacks and processes need")
def _():
    need("perf")
    run = record(program("recursion"), sampler="perf", rate=20000, options=["--ring", "1M"], status=None)
    equal(run.status, 0, "status")
    expect(disk_bytes(run.path) <= 1.1 * (1 << 20), "%d bytes" % disk_bytes(run.path))
    counts = run.counts()
    without = sum(1 for s in run.fields("sample") if not s["callpath"])
    expect(counts["sample"] and without < 0.02 * counts["sample"], "%d without a stack" % without)


@case("sizes and times that cannot be are refused, with what can")
def _():
    for words, pattern in (
        (["--ring", "10"], r"--ring is too small.*1M"),
        (["--ring", "10X"], r"--ring.*10X.*10M"),
        (["--max-size", "-1"], r"--max-size.*-1"),
        (["--ring", "2M", "--max-size", "2M"], r"choose one"),
        (["--delay", "5 parsecs"], r"--delay.*5 parsecs.*10s"),
    ):
        refused(USAGE, pattern, "record", *words, "--", "true")


@case("--ctl: what is no FIFO is refused before anything is started")
def _():
    path = new_path()
    with open(path, "w") as file:
        file.write("x")
    refused(USAGE, r"--ctl: .* is not a FIFO.*another", "record", "--strict", "-o", new_path(), "--ctl", path, "--", "true")
    with open(path) as file:
        equal(file.read(), "x", "the file")


@case("--ctl switches recording off and on, for both samplers; the gaps are reported")
def _():
    for sampler in samplers():
        live = Live(sampler=sampler)
        expect(live.ask("status").startswith("ok status on"), "status")
        time.sleep(0.3)
        equal(live.ask("off"), "ok off", "answer")
        gap = time.monotonic()
        expect(live.ask("status").startswith("ok status off"), "status")
        time.sleep(0.5)
        gap = (time.monotonic() - gap) * 1000
        equal(live.ask("on"), "ok on", "answer")
        time.sleep(0.3)
        trace = live.end()
        paused = [e for e in trace.events("lost") if e["fields"]["reason"] == "PAUSED"]
        equal(len(paused), 1, "gaps")
        near(paused[0]["fields"]["count"] / 1e6, gap, 60, "ms off")
        end = paused[0]["time_ns"]
        begin = end - paused[0]["fields"]["count"]
        inside = [s for s in trace.events("sample") if begin + 2e6 < s["time_ns"] < end - 1e6]
        before = [s for s in trace.events("sample") if s["time_ns"] <= begin]
        after = [s for s in trace.events("sample") if s["time_ns"] >= end]
        note("%s: %d before, %d in the gap, %d after" % (sampler, len(before), len(inside), len(after)))
        expect(before and after and not inside, "samples")
        expect(not os.path.exists(live.fifo), "the FIFO is left")


@case("--ctl off in the midst of OpenCL: what was launched before is seen to its end, what after is not there")
def _():
    need("opencl")
    live = Live(sampler="none", command=(program("cl_loop"), "600000", "100"))
    live.grow(500000)
    equal(live.ask("off"), "ok off", "answer")
    time.sleep(0.2)
    equal(live.ask("on"), "ok on", "answer")
    live.grow(500000)
    equal(live.ask("off"), "ok off", "answer")
    trace = live.end(kill=False)
    equal(live.process.returncode, 0, "status")
    launches = {e["fields"]["correlation"] for e in trace.events("launch")}
    works = {e["fields"]["correlation"] for e in trace.events("work") + trace.events("work_long")}
    note("%d launches of 600000, %d pieces of work" % (len(launches), len(works)))
    equal((len(launches - works), len(works - launches)), (0, 0), "launches without work, work without launch")
    expect(100 < len(launches) < 600000, "launches")
    gaps = [(e["time_ns"] - e["fields"]["count"], e["time_ns"]) for e in trace.events("lost")
            if e["fields"]["reason"] == "PAUSED"]
    equal(len(gaps), 2, "gaps")
    inside = [e for e in trace.events("launch") for b, t in gaps if b + 5e6 < e["time_ns"] < t - 1e6]
    equal(len(inside), 0, "launches in the gaps")
    expect(kernel_names(trace), "no kernel has a name")


@case("--ctl stop: for good; the program goes on")
def _():
    live = Live()
    time.sleep(0.2)
    equal(live.ask("stop"), "ok stop", "answer")
    expect(live.ask("on").startswith("error"), "on after stop")
    expect(live.ask("status").startswith("ok status stopped"), "status")
    expect(live.processes(), "the program has ended")
    trace = live.end()
    expect(["by --ctl"] == [n["value"] for n in trace.fields("note") if n["key"] == "stopped"], "note")


@case("--ctl survives what is no word: noise, half a line, endless ones, nobody who reads answers")
def _():
    live = Live()
    os.write(live.send, os.urandom(3000).replace(b"\n", b"x") + b"\n")
    expect(live.answer().startswith("error"), "noise")
    os.write(live.send, b"stat")
    time.sleep(0.15)
    os.write(live.send, b"us\r\n")
    expect(live.answer().startswith("ok status"), "half a line")
    os.write(live.send, b"on" * 20000 + b"\n")
    expect("too long" in live.answer(), "a long line")
    os.write(live.send, b"\n\n  \t\n")
    for _ in range(3000):
        os.write(live.send, b"nonsense nonsense nonsense\n" * 4)
    time.sleep(0.3)
    while live.answer() and select.select([live.answers], [], [], 0.5)[0]:
        pass
    live.rest = b""
    expect(live.ask("status").startswith("ok status"), "after the flood")
    expect(len(live.end().events("sample")) > 20, "samples")


@case("snapshots by SIGUSR2 and --ctl: whole traces with names, while recording goes on")
def _():
    for options in ((), ("--ring", "1M")):
        live = Live(*options)
        time.sleep(0.4)
        os.kill(live.process.pid, signal.SIGUSR2)
        named = new_path("snapshot")
        equal(live.ask("snapshot " + named), "ok snapshot " + named, "answer")
        expect(live.ask("snapshot " + named).startswith("error"), "the same name twice")
        expect(live.ask("snapshot").startswith("ok snapshot " + live.trace.path + "."), "answer")
        first = Trace(live.trace.path + ".1")
        end = time.monotonic() + 20
        while not os.path.exists(first.path) and time.monotonic() < end:
            time.sleep(0.02)
        whole = live.end()
        for one in (first, Trace(named)):
            one.check()
            leaves = {f[-1] for f, _ in one.stacks()}
            expect({"a", "b", "c"} <= leaves, "leaves: %s" % leaves)
            expect(len(one.events("sample")) <= len(whole.events("sample")) + lost(whole, "OLDEST"), "samples")
        equal([f for f in os.listdir(WORKPLACE) if f.endswith(".tmp")], [], "temporary files left")


@case("a signal to the process group reaches the program once, one to the recorder too")
def _():
    code = ("import signal, sys, time\nseen = []\n"
            "signal.signal(signal.SIGINT, lambda *a: seen.append(a[0]))\nprint('ready', flush=True)\n"
            "end = time.monotonic() + 20\n"
            "while not seen and time.monotonic() < end: time.sleep(0.01)\n"
            "time.sleep(0.4)\nprint('interrupted', len(seen), flush=True)\n")
    for send in (os.killpg, os.kill):
        for _ in range(5):
            process = subprocess.Popen(
                [AFLAME, "record", "-q", "-o", new_path(), "--sample", any_sampler(), "--", "python3", "-c", code],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
            equal(process.stdout.readline(), b"ready\n", "its first line")
            send(process.pid, signal.SIGINT)
            equal(process.communicate(timeout=60)[0], b"interrupted 1\n", "output after %s" % send.__name__)


@case("kill -9 of the recorder of a ring: within the size, nothing kept twice")
def _():
    need("perf")
    live = Live("--ring", "1M", sampler="perf", seconds="3")
    time.sleep(2.5)
    victims = live.processes()
    live.process.kill()
    live.process.wait()
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.1)
    must("flame", live.trace.path)
    live.trace.check()
    seen = [e["time_ns"] for e in live.trace.events("sample")]
    equal(len(seen), len(set(seen)), "samples with a time of their own")
    expect(disk_bytes(live.trace.path) <= 1.2 * (1 << 20), "%d bytes" % disk_bytes(live.trace.path))
    expect(not os.path.exists(live.trace.path + "/.session"), "not finished")


run_cases()
