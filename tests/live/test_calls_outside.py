#!/usr/bin/env python3
"""Calls of Level Zero and OpenCL by programs that nothing was loaded into, as the kernel's probes on
the loaders' exports see them: on a mock of a driver under the real loader, and on PoCL."""

import json
import os
import subprocess
import time

from machine import AFLAME, BUILD, need, program
from recording import Trace, must, new_path
from shares import having, weight_of
from tap import Skip, case, equal, expect, note, run_cases

MOCK = os.path.join(BUILD, "tests/mock_ze/libmock_ze.so")
ROUNDS = 200
SOON = 1  # seconds until a recorder has begun, and has seen what began


def ze_words():
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    path = new_path("module")
    with open(path, "w", encoding="utf-8") as file:
        file.write("heavy")
    left = {k: v for k, v in os.environ.items() if not k.startswith("ZE")}
    return [program("ze_waits"), path, str(ROUNDS)], dict(left, ZE_ENABLE_ALT_DRIVERS=MOCK, MOCK_ZE_LOG="/dev/null")


def cl_words():
    if not os.path.exists(program("cl_waits")):
        raise Skip("built without OpenCL")
    return [program("cl_waits"), str(ROUNDS)], dict(os.environ, OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")


def seen(trace):
    """[{function: calls}], one for each stream, which is a process here."""
    names = {(e["stream"], e["fields"]["function"]): e["fields"]["name"] for e in trace.events("function")}
    streams = {}
    for event in trace.events("call_seen"):
        calls = streams.setdefault(event["stream"], {})
        name = names[event["stream"], event["fields"]["function"]]
        calls[name] = calls.get(name, 0) + 1
    return list(streams.values())


def recorded(make, *options):
    """(the program's own truth, trace) of a program that runs already when it is recorded."""
    need("bpf")
    words, env = make()
    waiting = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
    if waiting.stdout.readline() != "ready\n":
        raise Skip("no OpenCL device" if waiting.wait() == 77 else "no Level Zero")
    path = new_path()
    which = options or ("-p", str(waiting.pid))
    recorder = subprocess.Popen([AFLAME, "record", "-q", "-o", path, *which], stderr=subprocess.PIPE, text=True)
    time.sleep(SOON)
    output = waiting.communicate("\n", timeout=60)[0]
    equal(waiting.returncode, 0, "status of the program")
    reported = recorder.communicate(timeout=60)[1]
    equal((recorder.returncode, reported), (0, ""), "the recorder")
    trace = Trace(path)
    trace.check()
    lost = [f for f in trace.fields("lost") if f["reason"] != "PAUSED"]
    equal(lost, [], "losses")
    return json.loads(output.splitlines()[-1]), trace


def check_paths(trace, function):
    stacks = trace.stacks(view="gpu", weight="count")
    for path, each in (("hot_path", 3), ("cold_path", 1)):
        got = weight_of(stacks, having("main", path, "launch", function, "[launch seen from outside]"))
        equal(got, each * ROUNDS, "launches of " + path)
    tables = json.loads(must("report", "--json", trace.path))["tables"]
    expect(any(t["name"] == "calls_seen" for t in tables), "no table of calls seen")


@case("Level Zero: every launch of a program that runs already, under the path that made it")
def _():
    truth, trace = recorded(ze_words)
    equal(seen(trace), [truth], "calls")
    check_paths(trace, "zeCommandListAppendLaunchKernel")
    stacks = trace.stacks(view="gpu", weight="count")
    executions = having("main", "execute", "zeCommandQueueExecuteCommandLists", "[graph launch seen from outside]")
    equal(weight_of(stacks, executions), ROUNDS, "executions of lists")
    note(next(f["value"] for f in trace.fields("note") if f["key"] == "ze.seen"))


@case("OpenCL: every launch of a program that runs already, under the path that made it")
def _():
    truth, trace = recorded(cl_words)
    equal(seen(trace), [truth], "calls")
    check_paths(trace, "clEnqueueNDRangeKernel")
    note(next(f["value"] for f in trace.fields("note") if f["key"] == "opencl.seen"))


@case("with -a a program of either API is seen")
def _():
    for make in (ze_words, cl_words):
        truth, trace = recorded(make, "-a", "-d", "4s")
        expect(truth in seen(trace), "calls are %s, not %s" % (seen(trace), truth))


@case("a program that libaflame is loaded into records its calls itself, and none is seen twice")
def _():
    need("bpf")
    for make in (ze_words, cl_words):
        words, env = make()
        path = new_path()
        command = [AFLAME, "record", "-q", "-o", path, "--sample", "bpf", "--", *words]
        done = subprocess.run(command, input="\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
        equal((done.returncode, done.stderr), (0, ""), "the recorder")
        trace = Trace(path)
        equal(trace.counts().get("call_seen", 0), 0, "calls seen")
        expect(trace.counts().get("launch", 0) or trace.counts().get("call", 0), "no launches")


run_cases()
