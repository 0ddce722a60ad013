#!/usr/bin/env python3
"""CUDA calls of programs that nothing was loaded into, as the kernel's probes see them: on the mock
of a driver, which is probed as the real one is."""

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import time

from cuda_work import MOCK, machine_with
from machine import AFLAME, need, need_tool, program
from recording import Trace, must, new_path
from shares import having, weight_of
from tap import Skip, case, equal, expect, run_cases

ROUNDS = 1000
SOON = 1  # seconds until a recorder has begun, and has seen what began


class Waiting:
    """A program that has made its CUDA ready and goes on at a signal."""

    def __init__(self, *before, driver=None, words=(), parts=("driver", "runtime")):
        env = machine_with(*parts, MOCK_CUDA_DEVICES=1)
        if driver:
            env["LD_LIBRARY_PATH"] = driver + ":" + env["LD_LIBRARY_PATH"]
        command = [*before, program("cuda_waits"), str(ROUNDS), *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
        )

    def ready(self):
        equal(self.process.stdout.readline(), "ready\n", "the program's first words")
        return self

    def say(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def go(self):
        output = self.process.communicate("\n", timeout=60)[0]
        equal(self.process.returncode, 0, "status of the program")
        return json.loads(output.splitlines()[-1])


def recorder(*options):
    need("bpf")
    path = new_path()
    words = [AFLAME, "record", "-q", "-o", path, *options]
    return path, subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def recorded(path, process):
    reported = process.communicate(timeout=60)[1]
    equal((process.returncode, reported), (0, ""), "the recorder")
    trace = Trace(path)
    trace.check()
    lost = [f for f in trace.fields("lost") if f["reason"] != "PAUSED"]
    equal(lost, [], "losses")
    return trace


def seen(trace):
    """{function: calls}"""
    names = {
        (e["stream"], e["fields"]["function"]): e["fields"]["name"]
        for e in trace.events("function")
    }
    calls = {}
    for event in trace.events("call_seen"):
        name = names[event["stream"], event["fields"]["function"]]
        calls[name] = calls.get(name, 0) + 1
    return calls


def check_seen(trace, truth):
    """Every call, once, under the path that made it; nothing is reported of devices."""
    equal(seen(trace), truth, "calls")
    counts = trace.counts()
    for kind in ("call", "call_long", "gpu_work", "gpu_work_long", "device"):
        equal(counts.get(kind, 0), 0, kind)
    stacks = trace.stacks(view="gpu", weight="count")
    leaf = "[launch seen from outside]"
    for path, each in (("hot_path", 3), ("cold_path", 1)):
        got = weight_of(stacks, having("main", path, "launch", "cuLaunchKernel", leaf))
        equal(got, each * ROUNDS, "launches of " + path)
    copies = having("main", "hot_path", "cuMemcpyHtoD_v2", "[copy seen from outside]")
    equal(weight_of(stacks, copies), ROUNDS, "copies")
    equal(sum(w for _, w in stacks), 5 * ROUNDS, "launches and copies")
    tables = json.loads(must("report", "--json", trace.path))["tables"]
    expect(any(t["name"] == "calls_seen" for t in tables), "no table of calls seen")


@case("a program that runs already: every call under its path, and no device times")
def _():
    waiting = Waiting().ready()
    run = recorder("-p", str(waiting.process.pid))
    time.sleep(SOON)
    truth = waiting.go()
    check_seen(recorded(*run), truth)


@case("what a watched process starts later is seen too")
def _():
    waiting = Waiting("sh", "-c", 'read go; "$@"; exit $?', "sh")
    run = recorder("-p", str(waiting.process.pid))
    time.sleep(SOON)
    waiting.say()
    waiting.ready()
    time.sleep(SOON)
    truth = waiting.go()
    check_seen(recorded(*run), truth)


@case("so is what it forks with the driver mapped")
def _():
    waiting = Waiting(words=["1"]).ready()
    run = recorder("-p", str(waiting.process.pid))
    time.sleep(SOON)
    waiting.say()
    waiting.ready()
    time.sleep(SOON)
    truth = waiting.go()
    check_seen(recorded(*run), truth)


@case("with -a every program is seen")
def _():
    waiting = Waiting().ready()
    run = recorder("-a", "-d", "3s")
    time.sleep(SOON)
    truth = waiting.go()
    run[1].wait()
    trace = Trace(run[0])
    equal(seen(trace), truth, "calls")


@case("a driver that was replaced since is probed as it is mapped")
def _():
    folder = new_path("driver")
    os.mkdir(folder)
    for name in os.listdir(os.path.join(MOCK, "driver")):
        if name.startswith("libcuda.so") and not name.endswith(".p"):
            shutil.copy(os.path.join(MOCK, "driver", name), folder)
    waiting = Waiting(driver=folder).ready()
    with open("/proc/%d/maps" % waiting.process.pid) as file:
        expect(folder in file.read(), "the copy is not what is mapped")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    run = recorder("-p", str(waiting.process.pid))
    time.sleep(SOON)
    truth = waiting.go()
    trace = recorded(*run)
    equal(seen(trace), truth, "calls")


@case("what a recorded program starts without libaflame is seen from outside")
def _():
    need("bpf")
    path = new_path()
    waiting = Waiting(
        AFLAME, "record", "-q", "-o", path, "--sample", "bpf", "--", "env", "-u", "LD_PRELOAD", "-u",
        "CUDA_INJECTION64_PATH",
    ).ready()  # fmt: skip
    time.sleep(SOON)
    truth = waiting.go()
    check_seen(Trace(path), truth)


@case("who carries libaflame tells of its calls itself, once")
def _():
    need("bpf")
    path = new_path()
    waiting = Waiting(AFLAME, "record", "-q", "-o", path, "--sample", "bpf", "--",
                      parts=("driver", "runtime", "cupti13")).ready()  # fmt: skip
    time.sleep(SOON)
    truth = waiting.go()
    counts = Trace(path).counts()
    equal(counts.get("call_seen", 0), 0, "calls seen from outside")
    expect(counts["call"] + counts.get("call_long", 0) >= sum(truth.values()), "calls: %s" % counts)


@case("where it cannot, as there is no CUPTI, they are seen from outside")
def _():
    need("bpf")
    path = new_path()
    waiting = Waiting(AFLAME, "record", "-q", "-o", path, "--sample", "bpf", "--").ready()
    truth = waiting.go()
    check_seen(Trace(path), truth)


@case("--cuda-calls=twice: both see each call, by the same number, under the same path")
def _():
    need("bpf")
    path = new_path()
    waiting = Waiting(AFLAME, "record", "-q", "-o", path, "--sample", "none", "--cuda-calls=twice", "--",
                      parts=("driver", "runtime", "cupti13")).ready()  # fmt: skip
    time.sleep(SOON)
    truth = waiting.go()
    trace = Trace(path)
    trace.check()
    names = {f["function"]: f["name"] for f in trace.fields("function")}
    inside = {
        f["correlation"]: names[f["function"]]
        for kind in ("call", "call_long")
        for f in trace.fields(kind)
    }
    both = [f for f in trace.fields("call_seen") if f["correlation"] in inside]
    equal(len(both), len(trace.fields("call_seen")), "calls seen that have their call")
    for f in both:
        equal(names[f["function"]], inside[f["correlation"]], "function of a number")
    got = {name: sum(names[f["function"]] == name for f in both) for name in truth}
    # What was called before the probe came is in the program's calls alone.
    launches = {n: c for n, c in truth.items() if not n.startswith("cuMem") or "cpy" in n}
    equal({name: got[name] for name in launches}, launches, "calls seen twice")
    stacks = trace.stacks(view="gpu", weight="count")
    hot = weight_of(stacks, having("main", "hot_path", "launch", "cuLaunchKernel"))
    equal(hot, 3 * ROUNDS, "launches of hot_path: counted once")
    leaf = having("[launch seen from outside]")
    equal(weight_of(stacks, leaf), 0, "launches from outside")


@case("--api none leaves it alone")
def _():
    waiting = Waiting().ready()
    run = recorder("--api", "none", "-p", str(waiting.process.pid))
    time.sleep(SOON)
    waiting.go()
    equal(recorded(*run).counts().get("call_seen", 0), 0, "calls seen")


def usdt_of(library, name):
    """(offset in the file of the place, of its semaphore): the note says addresses."""
    notes = subprocess.run(["readelf", "-nW", library], stdout=subprocess.PIPE, text=True, check=True)
    found = re.search(
        r"Provider: aflame\s+Name: %s\s+Location: (\w+), Base: \w+, Semaphore: (\w+)\s+"
        r"Arguments: 4@%%edi 4@%%esi" % name,
        notes.stdout,
    )
    expect(found, "no aflame:%s in the notes of %s" % (name, library))
    heads = subprocess.run(["readelf", "-lW", library], stdout=subprocess.PIPE, text=True, check=True)
    loads = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", heads.stdout)

    def in_file(address):
        for offset, start, size in (map(lambda x: int(x, 16), load) for load in loads):
            if start <= address < start + size:
                return address - start + offset
        raise AssertionError("%#x is not in the file" % address)

    return [in_file(int(word, 16)) for word in found.groups()]


def probe_open(library, offset, semaphore, pid):
    """A descriptor that counts how often @pid comes by (perf_event_open(2), the PMU uprobe)."""
    with open("/sys/bus/event_source/devices/uprobe/type") as file:
        kind = int(file.read())
    path = ctypes.create_string_buffer(library.encode())
    attr = struct.pack("<IIQQQQQIIQQ", kind, 128, semaphore << 32, 0, 0, 0, 0, 0, 0,
                       ctypes.addressof(path), offset).ljust(128, b"\0")  # fmt: skip
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, attr, pid, -1, -1, 0)
    if fd < 0:
        raise Skip("no uprobes here: " + os.strerror(ctypes.get_errno()))
    return fd


@case("other tracers see the calls that libaflame writes, by their numbers")
def _():
    need("bpf")
    need_tool("readelf")
    path = new_path()
    waiting = Waiting(AFLAME, "record", "-q", "-o", path, "--sample", "none", "--",
                      parts=("driver", "runtime", "cupti13")).ready()  # fmt: skip
    with open("/proc/%d/task/%d/children" % ((waiting.process.pid,) * 2)) as file:
        pid = int(file.read().split()[-1])
    library = os.path.join(os.path.dirname(AFLAME), "../inject/libaflame.so")
    before = Trace(path)
    fd = probe_open(library, *usdt_of(library, "cuda_call"), pid)
    truth = waiting.go()
    hits = int.from_bytes(os.read(fd, 8), "little")
    os.close(fd)
    names = {f["function"]: f["name"] for f in before.fields("function")}
    calls = [f for kind in ("call", "call_long") for f in before.fields(kind)]
    mine = [f for f in calls if names[f["function"]] in truth]
    equal(len(mine), sum(truth.values()), "calls in the trace")
    # What was called before the probe came: the module, and what is not in the program's truth.
    equal(hits, len(mine), "calls that the probe saw")


run_cases()
