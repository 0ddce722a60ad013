#!/usr/bin/env python3
"""Findings from calls of APIs: each use that costs, planted so often and for so long, is found with just that,
with the calls' arguments and, where they need none, from plain recordings.

    test_usage.py MKTRACE AFLAME [WORDS]"""

import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-usage-")
WORK = _work.name
os.environ["XDG_CACHE_HOME"] = WORK
US, MS = 10**3, 10**6
DEVICE_NS = 1700000000000000000
NAMES = ("step", "cudaMemcpy", "main", "libc_start")
FUNCTIONS = (("cuLaunchKernel", "LAUNCH"), ("cuStreamSynchronize", "SYNC"), ("cuMemcpyHtoD_v2", "COPY"),
             ("cuMemAlloc_v2", "ALLOC"), ("cuCtxSynchronize", "SYNC"), ("cuModuleLoadDataEx", "LOAD"))  # fmt: skip

HEAD = """\
   0.000000000 s0   p0   100/100      note         key="cmd" value="train"
   0.000000010 s1   p1   101/101      thread       tid=101 name="train"
   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="/usr/bin/train" cmdline="train"
   0.000000013 s1   p1   101/101      device       device=1 parent=0 type=GPU api=CUDA name="NVIDIA H200" vendor="NVIDIA" driver="CUDA 13.0"
   0.000000014 s1   p1   101/101      queue        queue=1 device=1 context=1 flags=0 handle=0x7
   0.000000014 s1   p1   101/101      queue        queue=2 device=1 context=1 flags=0 handle=0xc100
   0.000000014 s1   p1   101/101      queue        queue=3 device=1 context=1 flags=1 handle=0xc200
   0.000000015 s1   p1   101/101      clock        clock=DEVICE device=1 mono_ns=1000000000015 foreign=1700000000000000015 uncertainty_ns=10
   0.000000016 s1   p1   101/101      kernel       kernel=1 program=1 name="gemm"
   0.000000017 s2   p1   101/103      thread       tid=103 name="cuda-buffers"
   0.000000018 s2   p1   101/103      descriptor   descriptor=1 op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1
   0.000000020 s1   p1   101/101      stack        stack=1 stop=COMPLETE epoch=1 pcs=[0x1000,0x3000,0x4000]
   0.000000020 s1   p1   101/101      callpath     callpath=1 stack=1 py_stack=0
   0.000000020 s1   p1   101/101      stack        stack=2 stop=COMPLETE epoch=1 pcs=[0x2000,0x1000,0x3000,0x4000]
   0.000000020 s1   p1   101/101      callpath     callpath=2 stack=2 py_stack=0
"""  # fmt: skip


class Program:
    """One thread: each method is its next call, of so many ns."""

    def __init__(self):
        self.now = self.gpu = 1 * MS
        self.lines, self.late = [], []
        self.calls = 0

    def put(self, text):
        self.lines.append((self.now, "s1   p1   101/101      " + text))

    def call(self, function, ns, gap=0, **fields):
        """With its arguments, as --api has it."""
        self.now += gap + ns
        fields.setdefault("callpath", 1)
        self.put("%s duration_ns=%d %s" % (function, ns, " ".join("%s=%d" % field for field in fields.items())))

    def plain(self, function, ns):
        """As recordings without --api have it."""
        number = [name for name, _ in FUNCTIONS].index(function) + 1
        self.now += ns
        self.calls += 1
        self.put("call_long    callpath=1 correlation=%d function=%d duration_ns=%d status=0" % (self.calls, number, ns))

    def around(self, function, ns):
        """A call that ends now, as the last one in it did."""
        self.put("%s duration_ns=%d callpath=1" % (function, ns))

    def launch(self, busy=10 * US, ns=5 * US, stream=None):
        if stream is None:
            self.plain("cuLaunchKernel", ns)
        else:
            self.calls += 1
            self.call("cuLaunchKernel", ns, correlation=self.calls, hStream=stream)
        self.gpu = max(self.gpu, self.now)
        self.late.append("gpu_work     descriptor=1 correlation=%d start_ns=%d busy_ns=%d node=0"
                         % (self.calls, DEVICE_NS + self.gpu, busy))  # fmt: skip
        self.gpu += busy

    def memory(self, memory, address, size, category="ALLOC"):
        self.put("memory       category=%s memory=%s device=0 correlation=0 address=0x%x bytes=%d" % (category, memory, address, size))

    def trace(self, name):
        path = os.path.join(WORK, name + ".trace")
        end = max(self.now, self.gpu) + 10
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD)
            for number, (function, category) in enumerate(FUNCTIONS, 1):
                file.write('   0.000000021 s1   p1   101/101      function     function=%d api=CUDA category=%s name="%s"\n'
                           % (number, category, function))  # fmt: skip
            for ns, text in self.lines:
                file.write("%s\n" % text if text[0] == "!" else "%4d.%09d %s\n" % (*divmod(ns, 10**9), text))
            for text in self.late:
                file.write("%4d.%09d s2   p1   101/103      %s\n" % (*divmod(end, 10**9), text))
            file.write("%4d.%09d s0   p0   100/100      process_end  process=1 status=0 user_ns=0 kernel_ns=0 "
                       "max_rss_bytes=4096 source=WAIT\n" % divmod(end + 10, 10**9))  # fmt: skip
            for number, text in enumerate(("/usr/bin/train", *NAMES), 1):
                file.write('  90.000000010 s0   p0   100/100      string       string=%d text="%s"\n' % (number, text))
            for number in range(1, len(NAMES) + 1):
                file.write("  90.000000020 s0   p0   100/100      symbol       process=1 address=0x%x000 epoch=0 module=1 "
                           "offset=0x%x000 source=SYMTAB frames=[%d,0,0]\n" % (number, number, number + 1))  # fmt: skip
        subprocess.run([MKTRACE, path, path[:-6]], check=True)
        return path[:-6]


def report(made, *words):
    done = subprocess.run([AFLAME, "report", *words, "--json", made], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)  # fmt: skip
    equal(done.returncode, 0, "exit status of report %s: %s" % (" ".join(words), done.stderr))
    return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def uses(made, *words):
    """{kind: row} of the table of uses; each has a finding with the same time if it is not tiny."""
    whole = report(made, *words)
    rows = report(made, "usage", "-n", "0", *words)["usage"] if "usage" in whole else []
    found = {(row["kind"], row["time_ns"]): row for row in report(made, "findings", "-n", "0", *words)["findings"]}
    for row in rows:
        wanted = row["time_ns"] * 100 >= row["span_ns"]
        equal((row["kind"], row["time_ns"]) in found, wanted, "a finding on %s" % row)
        if wanted:
            text = found[row["kind"], row["time_ns"]]["finding"]
            expect(row["function"] in text and "%s " % format(row["calls"], ",") in text, text)
    equal(len(rows), len({row["kind"] for row in rows}), "rows: %s" % rows)
    return {row["kind"]: row for row in rows}


def figures(row, *keys):
    return [row[key] for key in keys]


@case("copies of memory that is neither pinned nor managed are found, and no others")
def _():
    program = Program()
    program.memory("PINNED", 0x7000, 0x1000)
    program.memory("MANAGED", 0x9000, 0x1000)
    program.memory("DEVICE", 0x20000, 0x1000)
    program.memory("PINNED", 0x30000, 0x1000)
    program.memory("PINNED", 0x30000, 0, "FREE")
    for address in (0x6FFF, 0x7000, 0x7FFF, 0x8000, 0x9800, 0x20000, 0x30000):
        program.call("cuMemcpyHtoD_v2", 100 * US, callpath=2, srcHost=address, ByteCount=1000)
    for _ in range(2):
        program.call("cuMemcpyDtoHAsync_v2", 50 * US, dstHost=0x100, ByteCount=24, hStream=5)
        program.call("cuMemcpyDtoD_v2", 50 * US, ByteCount=24)
    program.call("cuMemcpyDtoHAsync_v2", 50 * US, callpath=2, dstHost=0x100, ByteCount=24, hStream=5)  # one is none
    rows = report(program.trace("pageable"), "usage")["usage"]
    equal([figures(row, "kind", "function", "driver", "caller", "calls", "time_ns", "bytes") for row in rows],
          [["pageable-copies", "cudaMemcpy", "cuMemcpyHtoD_v2", "step", 4, 400 * US, 4000],
           ["pageable-copies", "cuMemcpyDtoHAsync_v2", "", "step", 2, 100 * US, 48]], "uses")  # fmt: skip


@case("without arguments copies that wait are of host memory, pinned or not")
def _():
    program = Program()
    for _ in range(7):
        program.plain("cuMemcpyHtoD_v2", 100 * US)
        program.plain("cuMemAlloc_v2", 1 * US)
    (kind, row), = uses(program.trace("plain-copies")).items()
    equal([kind, *figures(row, "calls", "time_ns", "bytes", "caller")], ["host-copies", 7, 700 * US, None, "step"], "uses")


@case("allocations and loads count in the steady part, where steps are known by step")
def _():
    for name, api in (("plain-steady", False), ("api-steady", True)):
        program = Program()
        one = lambda function, ns: program.call(function, ns) if api else program.plain(function, ns)  # noqa: E731
        for _ in range(50):
            one("cuMemAlloc_v2", 100 * US)
        one("cuModuleLoadDataEx", 2 * MS)
        for step in range(41):
            program.launch()
            one("cuMemAlloc_v2", 30 * US)
            one("cuMemAlloc_v2", 50 * US)
            if step in (20, 30):
                one("cuModuleLoadDataEx", 300 * US)
            program.now += 500 * US
        made = program.trace(name)
        (steady,) = [row for row in report(made)["phases"] if row["phase"] == "steady"]
        rows = uses(made)
        row = rows["steady-allocations"]
        steps = steady["steps"]
        equal(figures(row, "calls", "time_ns", "steps"), [2 * steps, steps * 80 * US, steps], "allocations, %s" % name)
        equal(row["span_ns"], steady["length_ns"], "of the steady part")
        equal(figures(rows["late-loading"], "calls", "time_ns"), [2, 600 * US], "loads")
        (finding,) = [row for row in report(made, "findings")["findings"] if row["kind"] == "steady-allocations"]
        expect("(2 a step) in the steady part took" in finding["finding"], finding["finding"])
        part = uses(made, "--from", "%dns" % steady["from_ns"], "--to", "%dns" % steady["to_ns"])["steady-allocations"]
        equal(figures(part, "calls", "time_ns", "steps"), [2 * steps, steps * 80 * US, None], "the same as a part of the run")


@case("of very many allocations those in the steady part are known to a few calls")
def _():
    program = Program()
    for step in range(41):
        program.launch()
        for _ in range(300):
            program.call("cuMemAlloc_v2", 2 * US)
    made = program.trace("many")
    (steady,) = [row for row in report(made)["phases"] if row["phase"] == "steady"]
    row = uses(made)["steady-allocations"]
    expect(abs(row["calls"] - 300 * steady["steps"]) <= 8, "%s in %d steps" % (row, steady["steps"]))
    equal(row["time_ns"], row["calls"] * 2 * US, "their time")


@case("waits are needless if nothing was put on the stream, or recorded as the event, since the last one")
def _():
    program = Program()
    a, b, event = 0xA000, 0xB000, 0xE000
    needless = 0

    def wait(is_needless, function="cuStreamSynchronize", ns=2 * US, **fields):
        nonlocal needless
        program.call(function, ns, **fields)
        needless += is_needless

    wait(False, hStream=a)  # nothing is known of the stream
    program.launch(stream=a)
    wait(False, hStream=a)
    wait(True, hStream=a)
    program.launch(stream=b)
    wait(True, hStream=a)
    wait(False, hStream=0)  # the default stream waits for the others
    wait(True, hStream=0)
    program.call("cuLaunchKernelEx", US)  # its stream is in a struct
    wait(False, hStream=a)
    wait(False, hStream=b)
    program.call("cuMemsetD8Async", US, hStream=b)
    wait(True, hStream=a)
    wait(False, "cuEventSynchronize", hEvent=event)
    wait(False, "cuEventSynchronize", hEvent=event)  # that it was recorded was not seen
    program.call("cuEventRecord", US, hEvent=event, hStream=b)
    wait(False, "cuEventSynchronize", hEvent=event)
    made = program.trace("needless")
    row = uses(made)["needless-waits"]
    equal(figures(row, "calls", "time_ns"), [needless, needless * 2 * US], "before the device was waited for")
    wait(False, "cuCtxSynchronize")
    program.launch(stream=a)
    wait(False, "cuCtxSynchronize")
    wait(False, hStream=b, ns=300 * US)  # it took long: it had something to wait for
    made = program.trace("needless-all")
    equal(figures(uses(made)["needless-waits"], "calls"), [needless], "with that")


@case("without arguments waits are needless if the whole device was waited for, and nothing launched")
def _():
    program = Program()
    for _ in range(20):
        program.launch()
        program.plain("cuStreamSynchronize", 4 * US)
        program.plain("cuStreamSynchronize", 4 * US)  # of another stream, maybe
        program.plain("cuCtxSynchronize", 4 * US)
        program.plain("cuCtxSynchronize", 4 * US)
    row = uses(program.trace("needless-plain"))["needless-waits"]
    equal(figures(row, "function", "calls", "time_ns"), ["cuCtxSynchronize", 20, 80 * US], "uses")


@case("OpenCL: a blocking copy waits for the queue, if that keeps the order")
def _():
    program = Program()
    for queue in (0xC100, 0xC200):  # the second is out of order
        for _ in range(5):
            program.call("clEnqueueNDRangeKernel", 5 * US, command_queue=queue)
            program.call("clEnqueueReadBuffer", 70 * US, command_queue=queue, blocking_read=1, ptr=0x5000, size=100)
            program.call("clEnqueueReadBuffer", 3 * US, command_queue=queue, blocking_read=0, ptr=0x5000, size=100)
            program.call("clEnqueueReadBuffer", 60 * US, command_queue=queue, blocking_read=1, ptr=0x5000, size=100)
            program.call("clFinish", 2 * US, command_queue=queue)
    rows = uses(program.trace("opencl"))
    equal(figures(rows["needless-waits"], "function", "calls", "time_ns"), ["clFinish", 5, 10 * US], "waits")
    equal(figures(rows["host-copies"], "calls", "time_ns", "bytes"), [20, 10 * 130 * US, 2000], "copies")


@case("a wait after each piece of work is one finding, a wait after several none")
def _():
    for name, works, api in (("each", 1, True), ("each-plain", 1, False), ("batch", 3, True)):
        program = Program()
        for _ in range(50):
            for _ in range(works):
                program.launch(stream=0xA000 if api else None)
            if api:
                program.call("cuStreamSynchronize", 20 * US, hStream=0xA000)
            else:
                program.plain("cuStreamSynchronize", 20 * US)
        rows = uses(program.trace(name))
        if works > 1:
            equal(rows, {}, "of several")
        else:
            equal(figures(rows["waits-each"], "calls", "of_calls", "time_ns"), [50, 50, 1000 * US], "of one")


@case("queries in a row are a loop, also of several functions in turn; other calls end it")
def _():
    program = Program()
    for length in (15, 16, 100):
        for i in range(length):
            program.call("cuEventQuery", US, gap=US, hEvent=1)
            if i % 2:
                program.call("cuStreamQuery", US, gap=US, hStream=1)
        program.launch(stream=1)
    rows = {row["function"]: row for row in report(program.trace("polling"), "usage")["usage"]}
    equal(figures(rows["cuEventQuery"], "kind", "calls", "loops", "time_ns"), ["polling", 116, 2, 116 * US], "of one")
    # From the first to the last: each takes a microsecond, as does the time before it.
    equal(rows["cuEventQuery"]["lasted_ns"], (2 * (16 + 7) - 1 + 2 * (100 + 49) - 1) * US, "how long they lasted")
    equal(figures(rows["cuStreamQuery"], "calls", "loops"), [50, 1], "of the other")


@case("tiny messages are counted by peer, beside all messages; waits in MPI by function")
def _():
    program = Program()
    for i in range(100):
        program.call("MPI_Send", 10 * US, bytes=8, dest=3, count=1)
        if i % 5 == 0:
            program.call("MPI_Isend", 20 * US, bytes=4096, dest=3, count=1)
        if i < 31:
            program.call("MPI_Send", 10 * US, bytes=8, dest=4, count=1)
    program.call("MPI_Allreduce", 5 * MS, bytes=8)
    allreduced = program.now
    program.call("MPI_Barrier", 1 * MS, depth=1)  # within another of MPI's
    program.call("MPI_Iallreduce", 1 * MS, bytes=8)
    for _ in range(40):
        program.call("MPI_Test", 5 * US)
    made = program.trace("mpi")
    rows = uses(made)
    equal(sorted(rows), ["mpi-waits", "polling", "tiny-messages"], "kinds")
    equal(figures(rows["tiny-messages"], "calls", "of_calls", "time_ns", "bytes", "peers"), [100, 151, 1000 * US, 800, 1], "messages")
    equal(figures(rows["mpi-waits"], "function", "calls", "time_ns"), ["MPI_Allreduce", 1, 5 * MS], "waits")
    equal(figures(rows["polling"], "function", "calls", "loops"), ["MPI_Test", 40, 1], "queries")
    (part,) = report(made, "--from", "%dns" % (allreduced - 3 * MS), "--to", "%dns" % (allreduced - 1 * MS))["mpi"]
    equal(figures(part, "time_ns", "collective_ns", "calls"), [2 * MS, 2 * MS, 0], "a part of one call")


@case("OpenMP: a wait after each target task is one finding; waits after several, and for other tasks, are none")
def _():
    for targets, others, expected in ((1, 0, True), (1, 3, True), (2, 0, False), (0, 1, False), (0, 0, False)):
        program = Program()
        for _ in range(40):
            for flags in [8] * targets + [4] * others:
                program.call("ompt_task_create", US, task_flags=flags | 1 << 28)
            program.call("ompt_taskwait", 100 * US)
        rows = uses(program.trace("taskwaits-%d-%d" % (targets, others))) if expected else report(program.trace("none"))
        equal("waits-each" in rows, expected, "%d target tasks and %d others" % (targets, others))
        if expected:
            equal(figures(rows["waits-each"], "function", "calls", "of_calls", "time_ns"), ["ompt_taskwait", 40, 40, 4 * MS], "waits")
        else:
            equal(rows.get("usage", []), [], "%d target tasks and %d others" % (targets, others))


@case("waits at the barriers of a parallel region end with the region, and are shares of its threads' time in it")
def _():
    program = Program()

    def worker(text):
        program.lines.append((program.now, "s2   p1   101/103      " + text))

    program.call("ompt_barrier_implicit", 1 * MS, in_region_ns=1 * MS, region_codeptr_ra=0x1001, gap=9 * MS)
    program.call("ompt_barrier_explicit", 1 * MS, in_region_ns=1 * MS, region_codeptr_ra=0x1001)
    program.around("ompt_implicit_task in_region_ns=%d region_codeptr_ra=0x1001" % (10 * MS), 10 * MS)
    program.around("ompt_parallel codeptr_ra=0x1001", 10 * MS)
    program.call("ompt_parallel", 1 * MS, codeptr_ra=0x9999)
    # The runtime needs its worker again 40 ms after the region.
    program.now += 40 * MS
    late = program.now
    worker("ompt_barrier_implicit duration_ns=%d in_region_ns=%d region_codeptr_ra=0x1001" % (49 * MS, 8 * MS))
    worker("ompt_implicit_task duration_ns=%d in_region_ns=%d region_codeptr_ra=0x1001" % (51 * MS, 10 * MS))
    worker("ompt_barrier_implicit duration_ns=%d in_region_ns=%d region_codeptr_ra=0" % (9 * MS, 9 * MS))
    made = program.trace("barriers")
    row = uses(made)["barrier-waits"]
    equal(figures(row, "function", "caller", "time_ns", "calls", "span_ns", "threads"),
          ["step parallel region", "step", 9 * MS, 2, 20 * MS, 2], "waits")
    # From 3 ms after the worker's wait began, 5 ms before its region ended: its call began before.
    words = ("--from", "%dns" % (late - 46 * MS), "--to", "%dns" % late)
    part = uses(made, *words)["barrier-waits"]
    equal(figures(part, "function", "time_ns", "calls", "span_ns"), ["step parallel region", 6 * MS, 1, 10 * MS], "a part of the waits")


@case("a trace that is read in parts has the same report: waits, loops and pinned memory lie across their borders")
def _():
    program, choice, mode = Program(), random.Random(1).choice, 0
    a, b, event = 0xA000, 0xB000, 0xE000

    def may_divide():
        if choice(range(50)) == 0:
            program.lines.append((program.now, "!close s1"))

    def pair():
        program.call("clEnqueueNDRangeKernel", US, command_queue=0xC100)
        may_divide()
        program.call("clFinish", 60 * US, command_queue=0xC100)

    modes = (
        (pair,),
        (lambda: program.launch(stream=choice((a, b))), lambda: program.call("cuStreamSynchronize", US, hStream=choice((0, a, b))),
         lambda: program.call("cuEventRecord", US, hEvent=event, hStream=a), lambda: program.call("cuEventSynchronize", US, hEvent=event),
         lambda: program.call("cuCtxSynchronize", US), lambda: program.call("cuMemAlloc_v2", US)),
        (lambda: program.call("cuStreamSynchronize", US, hStream=choice((a, b))), lambda: program.call("cuEventSynchronize", US, hEvent=event),
         lambda: program.plain("cuStreamSynchronize", US), lambda: program.plain("cuCtxSynchronize", US)),
        tuple(lambda name=name: program.call(name, US)
              for name in ("cuEventQuery", "cuStreamQuery", "cuCtxGetCurrent", "cuDeviceGetAttribute", "cuFuncGetAttribute", "MPI_Test")),
        (lambda: program.memory("PINNED", choice((0x7000, 0x8000)), 0x1000, choice(("ALLOC", "FREE"))),
         lambda: program.call("cuMemcpyHtoD_v2", 3 * US, srcHost=choice((0x7000, 0x8000, 0x9000)), ByteCount=1000)),
        (lambda: program.call("ompt_parallel", US, codeptr_ra=choice((0x1001, 0x3001))),
         lambda: program.call("ompt_implicit_task", 9 * US, in_region_ns=4 * US, region_codeptr_ra=choice((0x1001, 0x3001))),
         lambda: program.call("ompt_barrier_implicit", 6 * US, in_region_ns=2 * US, region_codeptr_ra=choice((0x1001, 0x3001)))),
        (lambda: program.call("ompt_task_create", US, task_flags=choice((4, 8, 8))), lambda: program.call("ompt_taskwait", 7 * US)),
        (lambda: program.call("ompt_taskwait", 7 * US), lambda: program.call("ompt_task_create", US, task_flags=4)))  # fmt: skip
    for _ in range(10000):
        mode = choice(range(8)) if choice(range(100)) == 0 else mode
        choice(modes[mode])()
        may_divide()
    made = program.trace("parts")
    whole = report(made, "-n", "0")
    for size in (7000, 20000, 150000):
        os.environ["AFLAME_PART_BYTES"] = str(size)
        equal(report(made, "-n", "0"), whole, "the report in parts of %d bytes" % size)
    del os.environ["AFLAME_PART_BYTES"]
    expect({"pageable-copies", "needless-waits", "waits-each", "polling", "barrier-waits"} <= {row["kind"] for row in whole["usage"]}, "kinds: %s" % whole)


@case("calls of the CUDA runtime around the driver's count once, in all tables and in the verdict")
def _():
    made = {}
    for name in ("driver", "both"):
        program = Program()
        for _ in range(60):
            program.launch(busy=200 * US, stream=0xA000)
            if name == "both":
                program.around("cudaLaunchKernel", 6 * US)
            # The first launch of a kernel loads its code: the runtime's call is a launch, the driver's a load.
            for function, ns, runtime in (("cuModuleLoadDataEx", 300 * US, "cudaLaunchKernel"),
                                          ("cuMemcpyHtoD_v2", 400 * US, "cudaMemcpy"),
                                          ("cuStreamSynchronize", 20 * US, "cudaStreamSynchronize")):
                program.call(function, ns, depth=int(name == "both"), **({"hStream": 0xA000} if "Stream" in function else {}))
                if name == "both":
                    program.around(runtime, ns)
        made[name] = program
    traces = {name: program.trace("nested-" + name) for name, program in made.items()}
    tables = {name: {**report(trace, "-n", "0"), **report(trace, "gaps", "-n", "0"), **report(trace, "usage", "-n", "0")}
              for name, trace in traces.items()}
    for table in ("calls", "usage", "verdict", "idle", "gaps"):
        equal(tables["both"].get(table), tables["driver"].get(table), table)
    expect(not [row for row in tables["both"]["calls"] if row["function"].startswith("cuda")], "the runtime's in the calls")


run_cases()
