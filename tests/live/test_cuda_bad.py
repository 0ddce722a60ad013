#!/usr/bin/env python3
"""The CUDA collector where something is wrong with CUPTI or there is none, and at the end of processes:
on the mock of tests/mock_cuda."""

import ctypes
import os
import re

from cuda_work import (
    MOCK,
    bare_stacks,
    check_cuda,
    check_paths,
    cuda_notes,
    cuda_run,
    kernels_of,
    machine_with,
    truth_of,
)
from device_work import check_objects
from machine import program
from recording import aflame, must, new_path, record
from shares import having, weight_of
from tap import case, equal, expect, note, run_cases


# --- what CUPTI gets wrong


def lost_by_reason(run):
    found = {}
    for f in run.fields("lost"):
        found[f["reason"]] = found.get(f["reason"], 0) + f["count"]
    return found


@case("records without stamps are counted and weigh nothing")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_ZERO_EVERY": 10})
    cuda = check_cuda(run, lost=True)
    unstamped = [w for w in cuda.works if w.start is None]
    lost = lost_by_reason(run)
    note("%d without stamps, lost: %s" % (len(unstamped), lost))
    equal(max(len(unstamped), lost.get("NO_STAMPS", 0)), 8, "records without stamps")
    stacks = bare_stacks(run)
    expect(0 < sum(w for _, w in stacks) < 80 * 200000, "their time is not known, and nothing")


@case("records that end before they start are counted and weigh nothing")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_SWAP_EVERY": 8})
    check_cuda(run, lost=True)
    equal(lost_by_reason(run), {"NO_STAMPS": 10}, "losses")
    total = sum(w for _, w in bare_stacks(run))
    expect(0 < total < 80 * 200000, "%d ns of device time" % total)


@case("records that CUPTI drops are counted")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_DROP_EVERY": 8})
    cuda = check_cuda(run, lost=True)
    equal(sum(cuda.kernels().values()), 70, "kernels that were reported")
    lost = lost_by_reason(run)
    equal(sum(lost.values()), 10, "losses: %s" % lost)
    expect("10" in must("report", "summary", run.path), "the summary does not say so")


@case("a slow flush at the end is waited for")
def _():
    check_paths(cuda_run("cuda_paths", knobs={"MOCK_CUPTI_FLUSH_MS": 300}))


@case("a CUPTI that the program has loaded is the one that is used")
def _():
    loaded = {
        "MOCK_CUDA_VERSION": 13000,
        "LD_PRELOAD": os.path.join(MOCK, "cupti12/libcupti.so.12"),
    }
    run = cuda_run("cuda_paths", parts=("driver", "cupti13"), knobs=loaded)
    check_paths(run)
    expect("libcupti.so.12" in cuda_notes(run)[0], cuda_notes(run))


@case("CUPTI that gives up in the middle ends the recording of CUDA, not the program")
def _():
    run = cuda_run("cuda_paths", knobs={"MOCK_CUPTI_FATAL_AFTER": 20})
    expect(any("fatal" in n for n in cuda_notes(run)), cuda_notes(run))
    equal(truth_of(run)["launches"], 80, "the program's own count")


# --- no CUPTI


def has_driver():
    """Of this machine's own."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def broken_cupti():
    """A folder of libraries that are none: what the machine itself has must not be found."""
    folder = new_path("broken")
    os.mkdir(folder)
    for major in (12, 13):
        with open(os.path.join(folder, "libcupti.so.%d" % major), "w") as file:
            file.write("not a library")
    return folder


def refused(name, pattern, **how):
    """The program runs as ever, nothing of CUDA is recorded, and the trace says why."""
    run = cuda_run("cuda_paths", "2", **how)
    equal(truth_of(run)["launches"], 16, "the program's own count")
    equal([run.counts().get(k, 0) for k in ("gpu_work", "call")], [0, 0], "work and calls")
    reported = " ".join(cuda_notes(run))
    note("%s: %s" % (name, reported))
    expect(re.search(pattern, reported), "%s: %r is not in %r" % (name, pattern, reported))


@case("without a CUPTI that can be loaded the program runs, and the trace says what is missing")
def _():
    refused("none", r"^not recorded: .*(CUPTI|libcupti)", parts=("driver", broken_cupti()))


@case("a CUPTI that somebody else holds is left alone")
def _():
    refused("held", r"another profiler", knobs={"MOCK_CUPTI_HELD": 1})


@case("a CUPTI that is too old or too new is not used")
def _():
    refused("old", r"old|12\.4|18", knobs={"MOCK_CUPTI_VERSION": 18})
    refused("new", r"new|14", knobs={"MOCK_CUPTI_VERSION": 140000})


@case("a CUPTI that may not trace says what to allow")
def _():
    refused(
        "may not", r"NVreg_RestrictProfilingToAdminUsers", knobs={"MOCK_CUPTI_ENABLE_ERROR": 35}
    )


@case("--api none leaves CUDA alone, and programs without CUDA have no word of it")
def _():
    run = cuda_run("cuda_paths", "2", options=["--api", "none"])
    equal(run.counts().get("call", 0), 0, "calls")
    run = record(program("short"), env=machine_with("driver", "cupti13"))
    equal(cuda_notes(run), [], "what is reported of CUDA")


@case("doctor says whether CUDA can be recorded, and if not why")
def _():
    for parts, knobs, pattern in (
        (("driver", "cupti13"), {}, r"works +cuda"),
        (("driver", "cupti12"), {"MOCK_CUDA_VERSION": 12040}, r"works +cuda"),
        (("driver", broken_cupti()), {}, r"does not +cuda .*(CUPTI|libcupti)"),
        (("driver", "cupti13"), {"MOCK_CUPTI_HELD": 1}, r"does not +cuda .*another profiler"),
        (("driver", "cupti13"), {"MOCK_CUPTI_VERSION": 18}, r"does not +cuda "),
        (("driver", "cupti13"), {"MOCK_CUDA_DEVICES": 0}, r"does not +cuda "),
        (("cupti13",), {}, r"does not +cuda .*no NVIDIA driver"),
    ):
        if "driver" not in parts and has_driver():
            continue
        done = aflame("doctor", env=machine_with(*parts, **knobs))
        line = next((t for t in done.stdout.splitlines() if " cuda " in t), "")
        note(line)
        expect(re.search(pattern, line), "%s %s: %r" % (parts, knobs, line))


# --- ends

SIGINT, SIGABRT, SIGKILL, SIGSEGV, SIGTERM = 2, 6, 9, 11, 15


@case("what was done is recorded however the program ends, but for SIGKILL")
def _():
    for how, status in (
        ("return", 9),
        ("exit", 9),
        ("_exit", 9),
        ("destroy", 9),
        ("quick_exit", 9),
        ("handler", 9),
        ("crash", -SIGSEGV),
        ("abort", -SIGABRT),
        (str(SIGTERM), -SIGTERM),
        (str(SIGINT), -SIGINT),
    ):
        run = cuda_run("cuda_exits", how, status=status)
        cuda = check_cuda(run, lost=True)
        equal(cuda.kernels().get("k1"), 20, "k1, waited for (%s)" % how)
        equal(len(cuda.named("cuLaunchKernel")), 25, "launches (%s)" % how)
        note("%s: %s, lost: %s" % (how, cuda.kernels(), lost_by_reason(run)))
        known = sum(cuda.kernels().values()) + sum(lost_by_reason(run).values())
        expect(known >= 25, "%s: work is missing, and nobody says so" % how)


@case("what was done when the process executes another program is recorded, the rest is counted")
def _():
    run = cuda_run("cuda_exits", "exec")
    cuda = check_cuda(run, lost=True)
    equal(cuda.kernels(), {"k1": 20}, "kernels that had run")
    equal(len(cuda.named("cuLaunchKernel")), 25, "launches")
    summary = must("report", "summary", run.path)
    expect(re.search(r"launches whose device work.* 5\n", summary), summary)


@case("SIGKILL loses no call, and at most what was not flushed")
def _():
    run = cuda_run("cuda_exits", str(SIGKILL), status=-SIGKILL)
    cuda = check_cuda(run, lost=True)
    equal(len(cuda.named("cuLaunchKernel")), 25, "launches")
    missing = 25 - sum(cuda.kernels().values())
    summary = must("report", "summary", run.path)
    lost = summary[summary.index("What was lost") :]
    expect(re.search(r"launches whose device work.* %d\n" % missing, lost), lost)


@case("a thread that launches while the process ends harms nobody")
def _():
    for _ in range(5):
        run = cuda_run("cuda_exits", "thread", status=9)
        cuda = check_cuda(run, lost=True)
        equal(cuda.kernels().get("k1"), 20, "k1")
        expect(cuda.kernels().get("k3", 0) > 0, "no k3")


@case("forked and executed children are recorded as processes of their own")
def _():
    run = cuda_run("cuda_forks")
    truth, cuda = truth_of(run), check_cuda(run)
    equal(cuda.kernels(), kernels_of(truth), "kernels")
    stacks = bare_stacks(run, weight="count")
    for function, kernel in (("in_child", "k1"), ("in_parent", "k2"), ("in_exec", "k3")):
        equal(weight_of(stacks, having("main", function, kernel)), truth[kernel], kernel)
    with_work = {e["process"] for e in run.events("gpu_work") + run.events("gpu_work_long")}
    equal(len(with_work), 3, "processes with work")


@case("CUDA_INJECTION64_PATH of the user's own is replaced, and that is reported")
def _():
    env = machine_with("driver", "cupti13", CUDA_INJECTION64_PATH="/nonexistent/tool.so")
    path = new_path()
    done = aflame("record", "-o", path, "--", program("cuda_paths"), "2", env=env)
    equal(done.returncode, 0, "status")
    reported = must("print", "--json", "-k", "note", path)
    expect("/nonexistent/tool.so" in reported, "what was replaced is not in the trace")


@case("the modules that were loaded are kept under their SHA-256")
def _():
    run = cuda_run("cuda_paths", "1")
    equal(len(check_objects(run)), 1, "objects")
    equal([p["form"] for p in run.fields("program")], ["NATIVE"], "forms")


run_cases()
