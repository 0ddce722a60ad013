#!/usr/bin/env python3
"""Calls of traced APIs with their arguments: calls as no program should make them are recorded as what
they are, and the program does what it does without aflame. (All functions, one by one:
tests/api/coverage.)"""

import collections
import os
import signal
import subprocess
import time

from api_work import calls_of
from cuda_work import cuda_run
from machine import AFLAME, need, program
from recording import Trace, aflame, must, new_path, record
from tap import case, equal, expect, note, run_cases

STATUS = 55
LAST = [("clGetPlatformIDs", 7)] * 5
OPENCL = ["--api", "opencl:full"]


def bad(way, status=STATUS, options=(), **how):
    """A recording of cl_bad, whose name is in the sentence of the case."""
    need("opencl")
    return record(program("cl_bad"), way, options=[*OPENCL, *options], status=status, **how)


def check_last(run, pid=None):
    """The calls that end the program are there, outermost and as they were passed."""
    calls = [c for c in calls_of(run) if pid in (None, c.pid)][-len(LAST) :]
    equal([(c.name, c.args["num_entries"]) for c in calls], LAST, "the last calls")
    equal({c.depth for c in calls}, {0}, "their depth")


def only(run, name):
    return [c for c in calls_of(run) if c.name == name]


def open_calls(run):
    """[names] of calls that had not returned, by the lines of print --calls."""
    lines = must("print", "--calls", run.path).splitlines()
    return [line.split()[2].split("(")[0] for line in lines if line.endswith("not returned")]


@case("null pointers where the API forbids them")
def _():
    run = bad("nulls")
    failed = [c for c in calls_of(run) if c.flags == "FAILED"]
    equal(
        [c.name for c in failed],
        ["clGetPlatformIDs", "clGetDeviceIDs", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer"]
        + ["clWaitForEvents", "clCreateProgramWithSource", "clCreateKernel", "clReleaseMemObject"],
        "calls that failed",
    )
    equal(failed[5].args["strings"], None, "strings")
    equal(failed[5].args["errcode_ret"], "CL_INVALID_VALUE", "the error of clCreateProgramWithSource")
    equal((failed[3].args["event_wait_list"], failed[3].args["num_events_in_wait_list"]), (None, 3))
    check_last(run)


def outside(options=()):
    """By thread: how far each call's beginning and end lie outside of the program's own readings around it, in ns."""
    need("opencl")
    run = record(program("cl_timed"), options=[*OPENCL, *options])
    windows, calls = collections.defaultdict(list), collections.defaultdict(list)
    for line in run.stdout.decode().splitlines():
        tid, before, after = (int(word) for word in line.split()[1:])
        windows[tid].append((before, after))
    for c in only(run, "clGetPlatformIDs"):
        if not c.depth:
            calls[c.tid].append(c)
    equal({tid: len(c) for tid, c in calls.items()}, {tid: len(w) for tid, w in windows.items()}, "calls of each thread")
    return [max(before - c.begin, c.end - after) for tid, c_all in calls.items()
            for c, (before, after) in zip(c_all, windows[tid])]  # fmt: skip


@case("a call lies between the program's own readings of the clock around it", tries=2)
def _():
    exact = outside(["--call-clock", "system"])
    expect(max(exact) <= 0, "by the system's clock, off by up to %d ns" % max(exact))
    off = sorted(outside())
    note("%d calls, off by %d ns at most, all but 1 in 1000 by %d" % (len(off), off[-1], off[-1 - len(off) // 1000]))
    # The clock may be slewed meanwhile.
    expect(off[-1 - len(off) // 1000] <= 100 and off[-1] <= 1000, "off by up to %d ns" % off[-1])


@case("arrays and strings that end where the memory does")
def _():
    run = bad("edges")
    launch = only(run, "clEnqueueNDRangeKernel")[0]
    equal(launch.args["work_dim"], 1000, "work_dim")
    expect("UNREADABLE" in launch.flags and "FAILED" in launch.flags, launch.flags)
    strings = [c.args["kernel_name"] for c in only(run, "clCreateKernel")]
    equal(strings[1:], ["x" * 10, "0x10"], "names of kernels")
    argument = only(run, "clSetKernelArg")[1]
    expect(argument.args["arg_value"].startswith("0x"), "bytes of %s" % argument)
    check_last(run)


@case("a string of 1 MB is cut at 1 KB, and marked")
def _():
    run = bad("long")
    call = only(run, "clCreateKernel")[1]
    equal(call.args["kernel_name"], "y" * 1024, "its name")
    expect("TRUNCATED" in call.flags, call.flags)
    check_last(run)


@case("calls of a callback are within the call that it was called by")
def _():
    run = bad("nested")
    outer, inner = only(run, "clBuildProgram")[1], only(run, "clGetProgramBuildInfo")[0]
    equal((outer.depth, inner.depth), (0, 1), "depths")
    expect(outer.begin <= inner.begin and inner.end <= outer.end, "%s %s" % (outer, inner))
    equal(outer.args["options"], "-DX=1", "options")
    check_last(run)


@case("calls of an event's callback are of the thread that runs it")
def _():
    run = bad("event")
    call = only(run, "clGetEventInfo")[-1]
    # An event that has completed already is called back by the thread that asks for it, within its call.
    depth = int(call.tid == call.pid)
    equal((call.depth, call.args["param_name"]), (depth, "CL_EVENT_COMMAND_EXECUTION_STATUS"), "the call")
    check_last(run)


@case("a call that longjmp() left is over")
def _():
    run = bad("longjmp")
    equal(len(only(run, "clBuildProgram")), 1, "builds that returned")
    equal(open_calls(run), [], "calls under way")
    check_last(run)


@case("a child forked inside a call has calls of its own")
def _():
    run = bad("fork")
    pids = [c.pid for c in calls_of(run)]
    equal(len(set(pids)), 2, "processes")
    child = [c for c in calls_of(run) if c.pid != pids[0]]
    equal([(c.name, c.args["num_entries"]) for c in child], LAST, "the child's calls")
    check_last(run, pids[0])


@case("exit() inside a call: the status is the program's, and the call did not return")
def _():
    run = bad("exits", status=7)
    equal(len(only(run, "clGetProgramBuildInfo")), 1, "calls of the callback")
    equal(open_calls(run), ["clBuildProgram"], "calls under way")


@case("a thread that ends inside a call leaves the others' calls alone")
def _():
    run = bad("pthread")
    equal(len(only(run, "clBuildProgram")), 1, "builds that returned")
    equal(len(calls_of(run)[-1:]), 1, "calls")
    check_last(run)


@case("a thread that is cancelled inside clWaitForEvents")
def _():
    run = bad("cancelled")
    equal(only(run, "clWaitForEvents"), [], "waits that returned")
    check_last(run)


@case("SIGKILL: completed calls are kept, and the one under way is known")
def _():
    run = bad("dies", status=-signal.SIGKILL)
    check_last(run)
    equal(open_calls(run), ["clWaitForEvents"], "calls under way")


@case("SIGSEGV inside a call: the same")
def _():
    run = bad("crashes", status=-signal.SIGSEGV)
    equal(only(run, "clSetKernelArg")[0].args["arg_size"], 8, "the call before")
    equal(open_calls(run), ["clEnqueueNDRangeKernel"], "calls under way")


@case("SIGINT while a call never returns")
def _():
    need("opencl")
    path = new_path()
    words = [AFLAME, "record", "-q", "-o", path, "--sample", "none", *OPENCL]
    child = subprocess.Popen(
        [*words, "--", program("cl_bad"), "blocks"], stdout=subprocess.PIPE, start_new_session=True
    )
    equal(child.stdout.readline(), b"waiting\n", "standard output")
    time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    equal(child.wait(60), -signal.SIGINT, "status")
    run = Trace(path)
    run.check()
    equal(open_calls(run), ["clWaitForEvents"], "calls under way")
    equal(len(only(run, "clCreateUserEvent")), 1, "the call before")


@case("standard input and output are the program's")
def _():
    data = os.urandom(3000)
    run = bad("copies", input=data, stdin=None)
    equal(run.stdout, data, "standard output")
    equal(len([c for c in only(run, "clGetPlatformIDs") if c.args["num_entries"] == 7]), 3000)


def ask(fifo, line):
    """The answer to a line of --ctl."""
    with open(fifo, "w") as send:
        send.write(line + "\n")
    with open(fifo + ".ack") as answers:
        return answers.readline().strip()


@case("--ctl switches functions off and on while the program runs")
def _():
    need("opencl")
    trace, fifo = Trace(new_path()), new_path("fifo")
    command = [AFLAME, "record", "-q", *OPENCL, "--ctl", fifo, "-o", trace.path, "--", program("cl_bad"), "copies"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def pass_through(line):
        process.stdin.write(line)
        process.stdin.flush()
        equal(process.stdout.readline(), line, "what came back")

    pass_through(b"a" * 9 + b"\n")
    equal(ask(fifo, "api off clGetPlatform*"), "ok 2 functions are off", "off")
    pass_through(b"b" * 99 + b"\n")
    equal(ask(fifo, "api on clGetPlatformIDs"), "ok 1 functions are on", "on")
    pass_through(b"c" * 19 + b"\n")
    expect("error no function is called" in ask(fifo, "api off nothing*"), "an unknown name")
    expect("their API is not traced" in ask(fifo, "api on cuMem*"), "an API without wrappers")
    process.stdin.close()
    equal(process.wait(60), STATUS, "status")
    calls = [c for c in calls_of(trace) if c.name == "clGetPlatformIDs" and c.args["num_entries"] == 7]
    equal(len(calls), 10 + 20, "calls")
    notes = [note["value"] for note in trace.fields("note") if note["key"] == "calls.switched"]
    equal(notes, ["opencl: off clGetPlatform*", "opencl: on clGetPlatformIDs"], "notes")


@case("print --calls of sums alone names the command that shows them")
def _():
    run = bad("nulls", options=["--tally-only"])
    done = aflame("print", "--calls", run.path)
    equal((done.returncode, done.stdout), (0, ""), "status and output")
    expect("has sums of calls alone (--tally-only): aflame tally shows them" in done.stderr, done.stderr)


@case("a program without calls has none, and tally says so")
def _():
    run = record("true", options=OPENCL)
    equal(calls_of(run), [], "calls")
    done = aflame("tally", run.path)
    equal((done.returncode, done.stdout), (0, ""), "status and tables")
    expect("no calls of a traced API" in done.stderr, done.stderr)


@case("a function that is newer than aflame has its name, its result and no arguments")
def _():
    run = cuda_run("cuda_newer", options=["--api", "cuda:full"], knobs={"MOCK_CUPTI_NEWER_IDS": 10})
    lines = must("print", "--calls", run.path).splitlines()
    calls = [line.split()[2:5] for line in lines if "cuOfTomorrow" in line]
    equal(calls, [["cuOfTomorrow(…)", "=", "0"], ["cuOfTomorrow(…)", "=", "0x7"]], "its calls")


@case("an older CUPTI: the calls that it reports have their arguments")
def _():
    run = cuda_run("cuda_launches", parts=("driver", "cupti12"), options=["--api", "cuda:full"])
    launches = [c for c in calls_of(run, "cu") if c.name == "cuLaunchKernel"]
    expect(launches, "no launch")
    expect(all(c.args["blockDimX"] > 0 for c in launches), launches[0])


@case("no CUPTI: no calls, and a note that says why")
def _():
    run = cuda_run("cuda_launches", parts=("driver",), options=["--api", "cuda:full"])
    equal(calls_of(run, "cu"), [], "calls")
    notes = {n["key"]: n["value"] for n in run.fields("note")}
    expect(notes["cuda"].startswith("not recorded: "), notes["cuda"])


@case("a struct of arguments that is longer than aflame knows")
def _():
    run = cuda_run("cuda_newer", options=["--api", "cuda:full"])
    call = [c for c in calls_of(run, "cu") if c.name == "cuMemAlloc_v2"][-1]
    equal((call.args["dptr"], call.args["bytesize"]), ("0x1234", 4096), "arguments")


run_cases()
