#!/usr/bin/env python3
"""What comes first among the findings of a program that uses a GPU: what the GPU waited for, by its cause.

    test_gain.py MKTRACE AFLAME [WORDS]"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-gain-")
WORK = _work.name
US, MS = 10**3, 10**6
DEVICE_NS = 1700000000000000000

HEAD = """\
   0.000000000 s0   p0   100/100      note         key="cmd" value="train"
   0.000000001 s0   p0   100/100      note         key="collector.cpu" value="perf: as asked"
   0.000000010 s1   p1   101/101      thread       tid=101 name="train"
   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="/usr/bin/train" cmdline="train"
   0.000000012 s1   p1   101/101      function     function=1 api=CUDA category=LAUNCH name="cuLaunchKernel"
   0.000000012 s1   p1   101/101      function     function=2 api=CUDA category=SYNC name="cuStreamSynchronize"
   0.000000013 s1   p1   101/101      device       device=1 parent=0 type=GPU api=CUDA name="NVIDIA H200" vendor="NVIDIA" driver="CUDA 13.0"
   0.000000014 s1   p1   101/101      queue        queue=1 device=1 context=1 flags=0 handle=0x7
   0.000000015 s1   p1   101/101      clock        clock=DEVICE device=1 mono_ns=1000000000015 foreign=1700000000000000015 uncertainty_ns=10
   0.000000016 s1   p1   101/101      kernel       kernel=1 program=1 name="gemm"
   0.000000017 s2   p1   101/103      thread       tid=103 name="cuda-buffers"
   0.000000018 s2   p1   101/103      descriptor   descriptor=1 op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1
"""


class Program:
    """One thread that feeds one GPU: each method is what it does next."""

    def __init__(self):
        self.now = self.gpu = 1 * MS
        self.lines, self.late, self.names, self.paths = [], [], [], {}
        self.calls = self.used = 0
        self.python = []  # (function, file): Python's frames of all samples, the innermost first

    def path(self, *names):
        """The call path of these functions, the innermost first, all called by main."""
        for name in (*names, "main"):
            if name not in self.names:
                self.names.append(name)
        return self.paths.setdefault((*names, "main"), len(self.paths) + 1)

    def put(self, text):
        self.lines.append((self.now, "s1   p1   101/101      " + text))

    def call(self, function, ns, *names):
        self.now += ns
        self.calls += 1
        self.put("call_long    callpath=%d correlation=%d function=%d duration_ns=%d status=0"
                 % (self.path(*names), self.calls, function, ns))

    def launch(self, busy, ns=5 * US):
        self.call(1, ns, "cuLaunchKernel", "step")
        self.gpu = max(self.gpu, self.now)
        self.late.append("gpu_work     descriptor=1 correlation=%d start_ns=%d busy_ns=%d node=0"
                         % (self.calls, DEVICE_NS + self.gpu, busy))
        self.gpu += busy

    def wait(self, over=0):
        """For the GPU, on a CPU, and @over longer."""
        begun, ended = self.now, max(self.gpu, self.now) + over
        while self.now + MS <= ended:
            self.run(MS, "cuStreamSynchronize", "step")
        self.now = begun
        self.call(2, ended - begun, "cuStreamSynchronize", "step")

    def run(self, ns, *names):
        """In samples of a millisecond."""
        while ns > 0:
            part = min(ns, MS)
            self.now += part
            self.used += part
            self.put("sample       callpath=%d flags=0 weight_ns=%d" % (self.path(*names), part))
            ns -= part

    def off(self, ns, *names):
        self.now += ns
        self.put("offcpu       callpath=%d kstack=0 state=SLEEPING blocked_ns=%d queued_ns=0 wake=0"
                 % (self.path(*names), ns))

    def trace(self, name, processors=0):
        path = os.path.join(WORK, name + ".trace")
        end = max(self.now, self.gpu)
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD)
            if processors:
                file.write('   0.000000019 s1   p1   101/101      device_note  device=1 key="processors" value="%d"\n' % processors)
            for number, code in enumerate(self.python, 1):
                file.write('   0.000000019 s1   p1   101/101      py_code      code=%d version=777 first_line=10 lines= '
                           'name="%s" file="%s"\n' % (number, *code))
            if self.python:
                file.write("   0.000000019 s1   p1   101/101      py_stack     py_stack=1 stop=COMPLETE frames=[%s]\n"
                           % ",".join("0x%x00000000" % number for number in range(1, len(self.python) + 1)))
            for names, number in self.paths.items():
                file.write("   0.000000020 s1   p1   101/101      stack        stack=%d stop=COMPLETE epoch=1 pcs=[%s]\n"
                           % (number, ",".join("0x%x000" % (self.names.index(x) + 1) for x in names)))
                file.write("   0.000000020 s1   p1   101/101      callpath     callpath=%d stack=%d py_stack=%d\n"
                           % (number, number, bool(self.python)))
            for ns, text in self.lines:
                file.write("%4d.%09d %s\n" % (*divmod(ns, 10**9), text))
            for text in self.late:
                file.write("%4d.%09d s2   p1   101/103      %s\n" % (*divmod(end + 10, 10**9), text))
            file.write("%4d.%09d s0   p0   100/100      process_end  process=1 status=0 user_ns=%d kernel_ns=0 "
                       "max_rss_bytes=4096 source=WAIT\n" % (*divmod(end + 20, 10**9), self.used))
            texts = ["/usr/bin/train", *self.names]
            for number, text in enumerate(texts, 1):
                file.write('  90.000000010 s0   p0   100/100      string       string=%d text="%s"\n' % (number, text))
            for number in range(1, len(texts)):
                file.write("  90.000000020 s0   p0   100/100      symbol       process=1 address=0x%x000 epoch=0 module=1 "
                           "offset=0x%x000 source=SYMTAB frames=[%d,0,0]\n" % (number, number, number + 1))
        subprocess.run([MKTRACE, path, path[:-6]], check=True)
        return path[:-6]


def run(*words):
    done = subprocess.run([AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    equal(done.returncode, 0, "exit status of %s: %s" % (" ".join(words), done.stderr))
    return json.loads(done.stdout)


def findings(made):
    return run("report", "findings", "-n", "0", "--json", made)["tables"][0]["rows"]


def of_kind(rows, kind):
    return [row for row in rows if row["kind"] == kind]


def checked(row):
    return run(*shlex.split(row["check"])[1:], "--json")


@case("of a GPU that is always busy nothing stands out, however much CPU time waits for it")
def _():
    program = Program()
    for _ in range(100):
        program.launch(10 * MS)
        program.wait()
    made = program.trace("busy")
    rows = findings(made)
    equal([row["kind"] for row in rows[:2]], ["busy", "kernel"], "the first two")
    expect(rows[0]["finding"].startswith("nothing stands out: NVIDIA H200 had work for"), rows[0]["finding"])
    (device,) = checked(rows[0])["tables"][0]["rows"]
    equal((rows[0]["time_ns"], rows[0]["share"]), (device["busy_ns"], device["busy_percent"]), "what its check says")
    expect("--gpu-samples" in rows[0]["helps"], rows[0]["helps"])
    (spinning,) = of_kind(rows, "spinning")
    expect(" of CPU time) in calls that wait" not in spinning["finding"] and "a GPU waited for" in spinning["finding"],
           spinning["finding"])


@case("a lock is first of the device's waits, before the whole thread's; CPU time that no GPU waits for says so")
def _():
    program = Program()
    for _ in range(60):
        program.launch(MS)
        program.off(10 * MS, "pthread_mutex_lock", "step")
    rows = findings(program.trace("lock-first"))
    ranks = {row["kind"]: row["rank"] for row in rows}
    equal(ranks["blocked"], 1, "rank")
    expect("off-cpu" in ranks, ranks)
    program = Program()
    for _ in range(60):
        program.launch(10 * MS)
        program.run(9 * MS, "prepare", "step")
        program.wait()
    (row,) = [row for row in findings(program.trace("beside")) if row["finding"].startswith("prepare itself took")]
    expect(row["finding"].endswith("; no GPU waited for that"), row["finding"])


@case("a kernel whose grid has fewer blocks than the GPU has multiprocessors stands out, one with enough does not")
def _():
    program = Program()
    for _ in range(100):
        program.launch(10 * MS)
        program.wait()
    for processors, kind in ((132, "kernel"), (16, "busy"), (17, "kernel")):
        made = program.trace("small%d" % processors, processors)
        row = findings(made)[0]
        equal(row["kind"], kind, "the first finding with %d multiprocessors" % processors)
        text = "; of %d multiprocessors it can use 16, as its grid has no more blocks" % processors
        equal(text in row["finding"], kind == "kernel", row["finding"])
        if kind == "kernel":
            expect("more blocks" in row["helps"], row["helps"])
            equal(checked(row)["total"], row["time_ns"], "what its check says")


@case("a GPU that waits for a part of the time is no busy one, and what it waits for comes first")
def _():
    program = Program()
    for _ in range(100):
        program.launch(6 * MS)
        program.wait()
        program.run(5 * MS, "read_batch", "step")
    rows = findings(program.trace("part"))
    equal(of_kind(rows, "busy"), [], "busy")
    (host,) = of_kind(rows, "host")
    (spinning,) = of_kind(rows, "spinning")
    expect("below read_batch" in host["finding"] and "doing that ahead" in host["helps"], host)
    expect("kernels: one every" not in host["finding"], host["finding"])
    expect(host["rank"] < spinning["rank"] and host["time_ns"] < spinning["time_ns"],
           "%s before %s" % (host["finding"], spinning["finding"]))


@case("short gaps between many short kernels are launches one by one: the verdict and the remedy say so, long ones do not")
def _():
    program = Program()
    for _ in range(4000):
        program.launch(5 * US)
        program.run(94 * US, "step")
        program.now += US  # a sample at the moment of a call would be the call's
    made = program.trace("launching")
    (row,) = of_kind(findings(made), "host")
    expect("4,000 kernels: one every 99.976 us on average, each of 5.000 us" in row["finding"], row["finding"])
    expect("CUDA graphs" in row["helps"], row["helps"])
    equal(run("report", "gaps", "--json", made)["tables"][0]["rows"][0]["key"], "launch-bound", "the verdict")
    program = Program()
    for _ in range(40):
        program.launch(5 * US)
        program.run(10 * MS, "step")
    made = program.trace("computing")
    equal(run("report", "gaps", "--json", made)["tables"][0]["rows"][0]["key"], "host-bound", "the verdict")


@case("a thread that waits for Python's GIL is kept apart from one that waits for a lock, also in a stripped interpreter")
def _():
    program = Program()
    taken = ("pthread_cond_timedwait", "python3.12!fn_5fbbe0")
    for k in range(60):
        program.launch(MS)
        if k % 10:  # the interpreter's loop takes it in the same function
            program.off(10 * MS, *taken, "_PyEval_EvalFrameDefault", "step")
        else:
            program.off(10 * MS, *taken, "PyEval_RestoreThread", "step")
    (row,) = of_kind(findings(program.trace("gil")), "blocked")
    idle = checked(row)["total"]
    expect("of it waiting for Python's GIL" in row["finding"] and "GIL" in row["helps"], row["finding"])
    equal(row["time_ns"], idle, "what its check says")

    program = Program()
    for _ in range(60):
        program.launch(MS)
        program.off(10 * MS, "pthread_mutex_lock", "step")
    (row,) = of_kind(findings(program.trace("lock")), "blocked")
    expect("of it in waits for a lock" in row["finding"] and "GIL" not in row["finding"], row["finding"])

    program = Program()
    for _ in range(60):
        program.launch(MS)
        program.off(10 * MS, "something", "step")
    (row,) = of_kind(findings(program.trace("something")), "blocked")
    expect("lock" not in row["finding"].split("process")[1], row["finding"])


@case("computing names page faults as its cause, and memory that is taken and given back, if that is much of it")
def _():
    for name, faults, calls, cause in (
        ("faults", 8, 0, "of it in page faults"),
        ("churn", 6, 2, "of it in page faults and calls that take memory from the system and give it back"),
        ("neither", 1, 0, None),
    ):
        program = Program()
        for _ in range(60):
            program.launch(MS)
            program.run(faults * MS, "exc_page_fault", "step")
            if calls:
                program.run(calls * MS, "__x64_sys_munmap", "step")
            program.run((10 - faults - calls) * MS, "step")
        (row,) = of_kind(findings(program.trace(name)), "host")
        if cause:
            part = re.search(r"; (\S+) ms " + re.escape(cause) + "($|;)", row["finding"])
            expect(part and abs(float(part[1]) - 59 * (faults + calls)) < 1, row["finding"])
            expect("memory" in row["helps"], row["helps"])
        else:
            expect("page fault" not in row["finding"], row["finding"])


@case("many waits, after each of which the GPU is fed again, are one finding; a few, after which a thread computes, are not")
def _():
    program = Program()
    for _ in range(300):
        for _ in range(5):
            program.launch(5 * US)
            program.wait(over=20 * US)
        program.run(40 * US, "step")
    rows = findings(program.trace("many"))
    (row,) = of_kind(rows, "waiting")
    expect("waited for it, or right after" in row["finding"], row["finding"])
    expect("all 1,500 calls that wait" in row["finding"], row["finding"])
    equal(checked(row)["total"], row["time_ns"], "what its check says")
    equal(row["rank"], 1, "rank")

    program = Program()
    for _ in range(150):
        program.launch(MS)
        program.wait(over=50 * US)
        program.run(9 * MS, "read_batch", "step")
    rows = findings(program.trace("few"))
    equal([row["kind"] for row in rows[:1]], ["host"], "the first")
    expect(all("or right after" not in row["finding"] for row in rows), "no such finding")


@case("the line is the program's own, not the installed package's that it calls; without one, the package's")
def _():
    program = Program()
    program.python = [("sort", "/opt/x/lib/python3.12/site-packages/numpy/fromnumeric.py"), ("load", "/home/me/read.py"),
                      ("loads", "/usr/lib/python3.12/json/decoder.py"), ("<module>", "/home/me/train.py")]
    for _ in range(60):
        program.launch(MS)
        program.run(9 * MS, "qsort", "_PyEval_EvalFrameDefault")
    (row,) = of_kind(findings(program.trace("own")), "host")
    expect("below load (read.py:10)" in row["finding"], row["finding"])
    program.python = [(name, file.replace("/home/me", "/usr/lib/python3.12")) for name, file in program.python]
    (row,) = of_kind(findings(program.trace("package")), "host")
    expect("below sort (fromnumeric.py:10)" in row["finding"], row["finding"])


@case("compiling in the program is named, by whichever compiler")
def _():
    for names in (("codegen", "compile_inner (convert_frame.py:12)"), ("x", "compile (compiler.py:7)"),
                  ("x", "backend_compile_and_load (compiler.py:3)"), ("nvrtcCompileProgram",)):
        program = Program()
        for _ in range(60):
            program.launch(MS)
            program.run(9 * MS, *names)
        (row,) = of_kind(findings(program.trace("compiles")), "host")
        expect("; 472.000 ms of it compiling" in row["finding"] and "cache" in row["helps"], row["finding"])


@case("imports that compile their sources say so")
def _():
    program = Program()
    importing = ("_find_and_load (<frozen importlib._bootstrap>:1360)",)
    for _ in range(60):
        program.run(MS, "parse", "Py_CompileStringObject", *importing)
        program.run(MS, *importing)
    (row,) = of_kind(findings(program.trace("compiled")), "imports")
    expect("; 60.000 ms of it compiling their sources" in row["finding"], row["finding"])
    expect("compileall" in row["helps"], row["helps"])


run_cases()
