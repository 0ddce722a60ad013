#!/usr/bin/env python3
"""Times of kernels and copies of AMD's HIP, on mocks of the runtime and of rocprofiler-sdk: each piece of work is in
the trace as often and exactly as long as the mock did it, under the stack that launched it, whatever the SDK is like."""

import collections
import json
import os
import subprocess

from machine import BUILD, program
from recording import bare, must, new_path, record
from shares import having, weight_of
from tap import case, equal, expect, run_cases

MOCKS = os.path.join(BUILD, "tests/mock_hip")
HOUR_NS = 3600 * 10**9
HEAVY, LIGHT = 16000, 4000


def environment(library="sdk", **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MOCK_", "ROCP"))}
    path = {"LD_LIBRARY_PATH": os.path.join(MOCKS, library)} if library else {}
    return {**clean, **path, **variables}


class Mocked:
    """A recording of hip_work, and the mock's own account of its work."""

    def __init__(self, mode, library="sdk", options=(), status=0, **variables):
        log = new_path("log")
        self.run = record(program("hip_work"), mode, options=options, status=status,
                          env=environment(library, MOCK_HIP_LOG=log, **variables))
        self.did = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                rows = [line.split() for line in file]
            self.did = [(name.replace(".kd", ""), int(start), int(end)) for name, _, start, end in rows]

    def note(self):
        values = {f["value"] for f in self.run.fields("note") if f["key"] == "collector.hip"}
        equal(len(values), 1, "notes of the collector: %s" % values)
        return values.pop()

    def lost(self):
        found = collections.Counter()
        for f in self.run.fields("lost"):
            found[f["reason"]] += f["count"]
        return dict(found)

    def works(self):
        """All device work, in the order of their start."""
        kernels = {f["kernel"]: f["name"] for f in self.run.fields("kernel")}
        queues = {f["queue"]: f for f in self.run.fields("queue")}
        descriptors = {(e["stream"], e["fields"]["descriptor"]): e["fields"] for e in self.run.events("descriptor")}
        found = []
        for kind in "gpu_work", "gpu_work_long", "work_long":
            for event in self.run.events(kind):
                f = event["fields"]
                d = descriptors[event["stream"], f["descriptor"]]
                start = f["start_ns"] or 0
                found.append(dict(
                    name=kernels.get(d["kernel"], "copy" if d["op"] != "KERNEL" else "?"), start=start,
                    end=start + f["busy_ns"] if kind == "gpu_work" else f["end_ns"] or 0,
                    op=d["op"], descriptor=d, queue=queues[d["queue"]], number=f["correlation"], kind=kind))
        return sorted(found, key=lambda w: w["start"])

    def times(self):
        return sorted((w["name"], w["start"], w["end"]) for w in self.works())

    def check_times(self):
        equal(self.times(), sorted(self.did), "works and their times")
        equal(self.lost(), {}, "losses")

    def coverage(self):
        """{API: (kernel launches, those whose work came, works, those without a launch)}."""
        tables = {t["name"]: t["rows"] for t in json.loads(must("report", "--json", self.run.path))["tables"]}
        columns = ("launches", "joined", "works", "without_a_launch")
        return {r["api"]: tuple(r[c] for c in columns) for r in tables["coverage_devices"]}

    def stacks(self, weight):
        return [([bare(f) for f in frames], w) for frames, w in self.run.stacks(view="gpu", weight=weight)]


def check_paths(mocked):
    paths = {("hot_path", "launch", "hipLaunchKernel", "heavy"): (5, HEAVY),
             ("cold_path", "launch", "hipLaunchKernel", "heavy"): (2, HEAVY),
             ("launch", "hipLaunchKernel", "light"): (3, LIGHT)}
    for weight in "count", "time":
        stacks = mocked.stacks(weight)
        for path, (count, ns) in paths.items():
            got = weight_of(stacks, having("main", "mode_paths", *path))
            equal(got, count if weight == "count" else count * ns, "%s of %s" % (weight, path))
        equal(sum(w for _, w in stacks), 10 if weight == "count" else 7 * HEAVY + 3 * LIGHT, "all " + weight)
        frames = {f for stack, _ in stacks for f in stack}
        expect(not [f for f in frames if "aflame" in f or "rocprof" in f or "mock" in f], frames)


@case("kernels lie under the call of HIP and the stack that launched them, to the nanosecond, without an option")
def _():
    mocked = Mocked("paths")
    mocked.check_times()
    equal(mocked.note(), "kernels and copies timed by rocprofiler-sdk 1.0.1", "the note")
    check_paths(mocked)
    equal(mocked.coverage(), {"HIP": (10, 10, 10, 0)}, "coverage")
    equal([(e["api"], e["type"]) for e in mocked.run.fields("device")], [("HIP", "GPU")] * 2, "devices")
    for work in mocked.works():
        d = work["descriptor"]
        equal([d[k] for k in ("global_x", "global_y", "global_z", "local_x", "local_y", "local_z")],
              [512, 2, 1, 64, 2, 1], "sizes")


@case("the clock of the SDK is brought to the trace's: work begins after its call does, by either clock")
def _():
    for how, ahead in ("", 0), ("hour", HOUR_NS):
        mocked = Mocked("paths", MOCK_SDK=how)
        mocked.check_times()
        pairs = mocked.run.fields("clock")
        pairs = [p for p in pairs if p["clock"] == "DEVICE"]
        expect(pairs, "no pairs of clocks")
        for p in pairs:
            off = p["foreign"] - p["mono_ns"] - ahead
            expect(abs(off) <= p["uncertainty_ns"], "a pair is off by %d ns, more than it says" % off)
            expect(ahead or not off, "one clock, and a pair off by %d ns" % off)
        first = min(e["time_ns"] for e in mocked.run.events("note"))
        launches = sorted(e["time_ns"] - e["fields"]["duration_ns"] for e in mocked.run.events("hipLaunchKernel"))
        slack = max(p["uncertainty_ns"] for p in pairs)
        for work, launched in zip(mocked.works(), launches):
            expect(work["start"] - ahead >= launched - slack >= first - slack, "work begins before its call")


@case("copies of each direction, a fill and a second device are told apart; a launch that failed has no work")
def _():
    mocked = Mocked("kinds")
    mocked.check_times()
    equal(mocked.run.stdout, b"failed 1\n", "the program's output")
    copies = {w["op"]: w["descriptor"]["bytes"] for w in mocked.works() if w["op"] != "KERNEL"}
    equal(copies, {"HOST": 1000, "WRITE": 1001, "READ": 1002, "COPY": 1003, "PEER": 1004}, "copies")
    kernels = {w["name"]: w["queue"]["device"] for w in mocked.works() if w["op"] == "KERNEL"}
    devices = [f["device"] for f in mocked.run.fields("device") if f["type"] == "GPU"]
    equal(kernels, {"__amd_rocclr_fillBufferAligned": devices[0], "light": devices[1]}, "kernels by device")
    calls = [bare(f[-1]) for f, _ in mocked.run.stacks(view="gpu", weight="count")]
    equal(len(calls), 7, "stacks of works")
    for name, call in ("light", "hipLaunchKernel"), ("__amd_rocclr_fillBufferAligned", "hipMemsetAsync"):
        equal(weight_of(mocked.stacks("count"), having("mode_kinds", call, name)), 1, name)


@case("within a call of HIP, each copy is that of the call that made it")
def _():
    mocked = Mocked("nested")
    mocked.check_times()
    by_number = collections.defaultdict(list)
    for e in mocked.run.events("hipMemcpyAsync"):
        by_number[e["fields"]["correlation"]].append(e["fields"]["args"]["sizeBytes"])
    equal({w["number"]: [w["descriptor"]["bytes"]] for w in mocked.works()}, dict(by_number), "copies by call")
    equal(sorted(b for b, in by_number.values()), [1000] * 3 + [2000] * 3, "bytes")
    stacks = mocked.stacks("time")
    equal(weight_of(stacks, having("mode_nested", "hipMemcpy", "hipMemcpyAsync")), 3 * 3000, "under their calls")
    equal(mocked.coverage(), {"HIP": (0, 0, 6, 0)}, "coverage")


@case("all kernels of a graph are its launch's; what a thread of the runtime launches has that thread's stack")
def _():
    mocked = Mocked("graphs")
    mocked.check_times()
    stacks = mocked.stacks("count")
    equal(weight_of(stacks, having("mode_graphs", "hipGraphLaunch", "heavy")), 8, "heavy of graphs")
    equal(weight_of(stacks, having("mode_graphs", "hipGraphLaunch", "light")), 3, "light of graphs")
    equal(weight_of(stacks, having("worker", "light")), 1, "light of the runtime's thread")


@case("4,000 launches by 8 threads: each kernel lies under the thread's own function; flame and tally agree")
def _():
    mocked = Mocked("threads")
    mocked.check_times()
    stacks = mocked.stacks("time")
    for n in range(8):
        name, ns = ("heavy", HEAVY) if n % 2 else ("light", LIGHT)
        equal(weight_of(stacks, having("worker_%d" % n, "launch", "hipLaunchKernel", name)), 500 * ns, "worker_%d" % n)
    tables = {t["name"]: t["rows"] for t in json.loads(must("tally", "--json", mocked.run.path))["tables"]}
    tallied = {r["kernel"]: (r["calls"], r["time_ns"]) for r in tables["kernels"]}
    equal(tallied, {"heavy": (2000, 2000 * HEAVY), "light": (2000, 2000 * LIGHT)}, "kernels in tally")


@case("calls that go by us are found by the SDK alone, with their stacks")
def _():
    mocked = Mocked("direct")
    mocked.check_times()
    equal(weight_of(mocked.stacks("time"), having("mode_direct", "launch", "heavy")), 3 * HEAVY, "time")


@case("records in another order, longer ones, and other versions of the SDK give the same")
def _():
    for how, version in ("reverse", "10001"), ("larger", "10205"), ("", "600"), ("reverse larger", "601"):
        mocked = Mocked("paths", MOCK_SDK=how, MOCK_SDK_VERSION=version)
        mocked.check_times()
        check_paths(mocked)


@case("dropped records, those that never come and those without times are counted")
def _():
    mocked = Mocked("paths", MOCK_SDK="drop")
    equal(mocked.lost(), {"DROPPED": 3}, "dropped")
    equal(len(mocked.works()), 7, "works")
    equal(mocked.coverage(), {"HIP": (10, 7, 7, 0)}, "coverage")
    mocked = Mocked("paths", MOCK_SDK="keep")
    equal(mocked.lost(), {"UNFINISHED": 2}, "kept")
    equal(len(mocked.works()), 8, "works")
    mocked = Mocked("paths", MOCK_SDK="stampless")
    equal(mocked.lost(), {"NO_STAMPS": 1}, "without times")
    equal(len(mocked.works()), 10, "works")


@case("no SDK, an older one and one that refuses: calls alone, and the trace and the report say why")
def _():
    for library, how, words in ((None, "", "no librocprofiler-sdk.so here (install ROCm's rocprofiler-sdk)"),
                                ("older", "", "lacks rocprofiler_configure_external_correlation_id_request_service: "
                                              "install that of ROCm 6.4 or later"),
                                ("sdk", "refuse", "refused to start (status 12)")):
        mocked = Mocked("paths", library=library, MOCK_SDK=how)
        expect(words in mocked.note(), mocked.note())
        expect(words in " ".join(must("report", mocked.run.path).split()), "the report does not say why")
        equal(len(mocked.works()), 0, "works")
        equal(len(mocked.run.fields("hipLaunchKernel")), 10, "calls")
    expect("0.5.0 is older than 0.6" in Mocked("paths", MOCK_SDK_VERSION="500").note(), "an old version")


@case("another tool of the SDK's records the same work beside us, with its own numbers")
def _():
    tool = os.path.join(MOCKS, "tool/libmock_tool.so")
    alone = subprocess.run([program("hip_work"), "paths"], stdout=subprocess.PIPE, check=True, timeout=60,
                           env=environment(ROCP_TOOL_LIBRARIES=tool))
    equal(alone.stdout, b"tool 10 0\n", "the tool without us")
    mocked = Mocked("paths", ROCP_TOOL_LIBRARIES=tool)
    equal(mocked.run.stdout, alone.stdout, "the tool beside us")
    mocked.check_times()


@case("a program that registers a tool of its own before HIP starts, and one that forks, are recorded")
def _():
    mocked = Mocked("own")
    equal(mocked.run.stdout, b"priority 0\n", "the program's tool comes first")
    expect(mocked.note().endswith(", beside another tool"), mocked.note())
    mocked.check_times()
    mocked = Mocked("forks")
    mocked.check_times()
    equal(len(mocked.works()), 3, "works")


@case("a timeline has each kernel on its queue, as long as it took, with an arrow from its launch")
def _():
    mocked = Mocked("paths")
    events = json.loads(must("timeline", mocked.run.path))["traceEvents"]
    slices = collections.Counter((e["name"], round(e["dur"] * 1000)) for e in events
                                 if e["ph"] == "X" and e["name"] in ("heavy", "light"))
    equal(slices, {("heavy", HEAVY): 7, ("light", LIGHT): 3}, "slices")
    ends = {e["bind_id"]: e for e in events if e.get("flow_in")}
    begins = {e["bind_id"]: e for e in events if e.get("flow_out") and e["name"] == "hipLaunchKernel"}
    equal((len(ends), set(ends)), (10, set(begins)), "arrows")
    for arrow, end in ends.items():
        expect(begins[arrow]["ts"] <= end["ts"], "work begins before its call")


@case("doctor says whether kernels would be timed")
def _():
    runtime, sdk = os.path.join(MOCKS, "runtime"), os.path.join(MOCKS, "sdk")
    for path, words in ((runtime, "no times of kernels (install ROCm's rocprofiler-sdk)"),
                        (runtime + ":" + sdk, "kernels and copies timed by rocprofiler-sdk")):
        answer = json.loads(must("doctor", "--json", env=environment(None, LD_LIBRARY_PATH=path)))
        says = [c["says"] for c in answer["collectors"] if c["name"] == "hip"]
        equal(len(says), 1, "collectors called hip")
        expect(words in says[0], says[0])


@case("work before _exit(), and before SIGKILL after a second, is in the trace")
def _():
    Mocked("exits").check_times()
    Mocked("idle", status=-9).check_times()


@case("sums alone, and a program that is recorded without HIP")
def _():
    mocked = Mocked("paths", options=["--tally-only"])
    equal((mocked.run.counts().get("gpu_work", 0), mocked.run.counts().get("launch", 0)), (0, 0), "events")
    sums = mocked.run.fields("work_sum")
    equal(sum(s["count"] for s in sums), 10, "pieces of work")
    equal(sum(s["time_ns"] for s in sums), 7 * HEAVY + 3 * LIGHT, "their time")
    mocked = Mocked("paths", options=["--api", "none"])
    equal((mocked.run.counts().get("gpu_work", 0), mocked.did), (0, []), "work")


run_cases()
