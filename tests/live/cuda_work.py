"""CUDA programs under the mock of tests/mock_cuda, and what their traces say: calls of the driver,
the device work they asked for, and the stacks of both.

The mock's folders hold one library each, so LD_LIBRARY_PATH says what a machine has; what goes wrong
on some machines is a MOCK_… variable (mock_cupti.h, mock_cuda.h).
"""

import json
import os

from machine import BUILD, program
from recording import bare, record
from shares import having, weight_of
from tap import equal, expect

MOCK = os.path.join(BUILD, "tests/mock_cuda")
SLACK_NS = 10000  # clocks are read one after the other
LAUNCHES = ("LAUNCH", "GRAPH_LAUNCH", "COPY", "FILL")


def machine_with(*folders, **variables):
    """The environment of a machine with these parts of CUDA: driver, cupti12, cupti13, runtime."""
    path = [os.path.join(MOCK, folder) for folder in folders]
    known = os.environ.get("LD_LIBRARY_PATH")
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(path + ([known] if known else [])))
    env.update({name: str(value) for name, value in variables.items()})
    return env


def truth_of(run):
    """What the program reported: its line of JSON."""
    lines = [t for t in run.stdout.decode().splitlines() if t.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def cuda_run(name, *words, parts=("driver", "cupti13", "runtime"), knobs=None, **how):
    """A recording of the program @name (or a path), on a machine with @parts of CUDA that behaves as @knobs."""
    driver = 12040 if "cupti12" in parts else 13000
    usual = {"MOCK_CUDA_DEVICES": 1, "MOCK_CUDA_VERSION": driver}
    env = machine_with(*parts, **dict(usual, **(knobs or {})))
    command = name if os.path.isabs(name) else program(name)
    return record(command, *words, env=env, **how)


class Call:
    """A call of the driver API, and its stack."""

    def __init__(self, event, function, stop):
        fields = event["fields"]
        self.name, self.category = function["name"], function["category"]
        self.correlation, self.status = fields["correlation"], fields.get("status", 0)
        self.end = event["time_ns"]
        self.start = self.end - fields["duration_ns"]
        self.stop = stop  # why the walk of its stack ended; None without a stack
        self.tid = event["tid"]
        self.works = []


class GpuWork:
    """What a device did, its times on the trace's clock; start is None without stamps."""

    def __init__(self, event, descriptor, kernel, to_trace):
        fields = event["fields"]
        self.op, self.bytes, self.queue = descriptor["op"], descriptor["bytes"], descriptor["queue"]
        self.kernel = kernel
        self.descriptor, self.node = descriptor, fields["node"]
        self.busy = fields.get("busy_ns")
        if self.busy is None:
            self.busy = fields["end_ns"] - fields["start_ns"]
        self.start = fields["start_ns"] + to_trace if fields["start_ns"] else None
        self.call = None


class Cuda:
    """Calls and work of one recording, joined by correlation: every join that a reader has to make."""

    def __init__(self, run):
        stops = {
            (e["stream"], e["fields"]["stack"]): e["fields"]["stop"] for e in run.events("stack")
        }
        self._stops = {
            (e["stream"], e["fields"]["callpath"]): stops[e["stream"], e["fields"]["stack"]]
            for e in run.events("callpath")
        }
        functions = {
            (e["process"], e["fields"]["function"]): e["fields"] for e in run.events("function")
        }
        calls = run.events("call") + run.events("call_long")
        by_number = {}
        for e in calls:
            key = e["process"], e["fields"]["correlation"]
            expect(key not in by_number, "two calls with the number %s" % (key,))
            path = e["stream"], e["fields"]["callpath"]
            function = functions[e["process"], e["fields"]["function"]]
            by_number[key] = Call(e, function, self._stops.get(path))
        self.calls = list(by_number.values())
        self.works = [self._work(run, e, by_number) for e in self._work_events(run)]

    @staticmethod
    def _work_events(run):
        return run.events("gpu_work") + run.events("gpu_work_long")

    def _work(self, run, event, by_number):
        descriptor = self._descriptors(run)[event["stream"], event["fields"]["descriptor"]]
        kernel = self._kernels(run).get((event["process"], descriptor["kernel"]))
        work = GpuWork(event, descriptor, kernel, self._to_trace(run))
        work.call = by_number.get((event["process"], event["fields"]["correlation"]))
        if work.call:
            work.call.works.append(work)
        return work

    def _descriptors(self, run):
        if not hasattr(self, "_known_descriptors"):
            self._known_descriptors = {
                (e["stream"], e["fields"]["descriptor"]): e["fields"] for e in run.events("descriptor")
            }
        return self._known_descriptors

    def _kernels(self, run):
        if not hasattr(self, "_known_kernels"):
            self._known_kernels = {
                (e["process"], e["fields"]["kernel"]): e["fields"]["name"]
                for e in run.events("kernel")
            }
        return self._known_kernels

    @staticmethod
    def _to_trace(run):
        """The mock's devices have one clock, so that any pair of readings will do."""
        pairs = [f for f in run.fields("clock") if f["clock"] == "DEVICE"]
        expect(pairs, "no reading of a device's clock")
        return pairs[-1]["mono_ns"] - pairs[-1]["foreign"]

    def named(self, name):
        return [c for c in self.calls if c.name == name]

    def kernels(self):
        """{kernel: how many ran}"""
        found = {}
        for work in self.works:
            if work.op == "KERNEL":
                found[work.kernel] = found.get(work.kernel, 0) + 1
        return found

    def by_op(self):
        """{operation: [how many, bytes]} of copies and fills."""
        found = {}
        for work in self.works:
            if work.op not in ("KERNEL", "GRAPH"):
                entry = found.setdefault(work.op, [0, 0])
                entry[0] += 1
                entry[1] += work.bytes
        return found


def check_cuda(run, lost=False):
    """What is true of every trace of CUDA: the Cuda of @run."""
    cuda = Cuda(run)
    expect(cuda.calls, "no calls")
    for call in cuda.calls:
        expect(call.start <= call.end, "%s ends before it begins" % call.name)
        if call.category in LAUNCHES:
            equal(call.stop, "COMPLETE", "why the stack of a %s ends" % call.name)
    for work in cuda.works:
        expect(work.call, "%s %s without its call" % (work.op, work.kernel))
        expect(work.call.category in LAUNCHES, "%s asked for work" % work.call.name)
        if work.start:
            expect(work.start >= work.call.start - SLACK_NS, "work starts before it is asked for")
    if not lost:
        # A tick that hits within a call's bookkeeping is merged with the one before: no work is lost.
        lost = [e["fields"] for e in run.events("lost") if e["fields"]["reason"] != "BUSY"]
        equal(lost, [], "losses")
    return cuda


def cuda_notes(run):
    """What the collector says of itself, one per process."""
    return [f["value"] for f in run.fields("note") if f["key"] == "cuda"]


def kernels_of(truth):
    return {name: truth[name] for name in ("k1", "k2", "k3", "k4") if truth.get(name)}


def bare_stacks(run, **how):
    """Device work by stack, frames without the suffixes that say their kinds."""
    return [([bare(f) for f in frames], w) for frames, w in run.stacks(view="gpu", **how)]


def check_paths(run):
    """All that is true of cuda_paths, to the nanosecond."""
    truth = truth_of(run)
    cuda = check_cuda(run)
    equal(len(cuda.named("cuLaunchKernel")), truth["launches"], "launches")
    equal(len(cuda.named("cuCtxSynchronize")), truth["syncs"], "waits")
    equal(sum(cuda.kernels().values()), truth["launches"], "kernels")
    stacks = bare_stacks(run)
    for path in ("hot_path", "cold_path"):
        for kernel in ("k1", "k2"):
            wanted = having("main", path, "launch_" + kernel, "cuLaunchKernel", kernel)
            equal(
                weight_of(stacks, wanted),
                truth["ns.%s.%s" % (path, kernel)],
                "nanoseconds of %s under %s" % (kernel, path),
            )
    equal(sum(w for _, w in stacks), 200000 * truth["launches"], "device time in all")
