#!/usr/bin/env python3
"""A training of known content, as traces: what a first-time user asks of it has one answer.

    tasks_trace.py MKTRACE FOLDER    writes FOLDER/train and FOLDER/faster, traces

60 steps: load_batch waits 4 ms for its input (train.py:11), collate computes 2 ms (:14), 16 MiB are
copied (:15), forward launches four short kernels (:31) and one of 8 ms, walk (:27), whose code and
samples are there; after step 40 save_checkpoint computes for 80 ms (:45) while the GPU is idle, and
step 50 waits ten times as long for its input. In `faster` the kernel takes 4 ms."""

import hashlib
import os
import shutil
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/annotate")
US, MS, MIB = 10**3, 10**6, 1 << 20
DEVICE_NS = 1700000000000000000
STEPS, SLOW_STEP, SAVED_AFTER = 60, 50, 40

LINES = {  # lines of train.py
    "load": ("load_batch", 11), "collate": ("collate", 14), "copy": ("load_batch", 15),
    "heavy": ("forward", 27), "short": ("forward", 31), "save": ("save_checkpoint", 45),
    "main": ("<module>", 52), "train": ("train_step", 38),
}  # fmt: skip
PATHS = {  # native frames, innermost first, and lines of train.py
    "load": (["read"], ["load", "main"]), "collate": (["memcpy"], ["collate", "main"]),
    "copy": (["cudaMemcpyAsync"], ["copy", "main"]),
    "heavy": (["cudaLaunchKernel"], ["heavy", "train", "main"]),
    "short": (["cudaLaunchKernel"], ["short", "train", "main"]),
    "sync": (["cuStreamSynchronize"], ["train", "main"]), "save": (["pickle_dump"], ["save", "main"]),
}  # fmt: skip
UNDER = ["_PyEval_EvalFrameDefault", "Py_RunMain", "_start"]
OBJECT = "552a1c187efd52c5159de1c5a01cc703599510d64efdc5c83e37c81834ed3f0f"
STALLS = ["long_scoreboard", "long_scoreboard_not_issued", "selected", "barrier", "short_scoreboard", "wait"]
SAMPLES = ["160 counts=[3,40,6,20]", "176 counts=[1,6000,2,5800,3,100]", "208 counts=[3,60,6,200]",
           "352 counts=[1,450,3,10]", "384 counts=[4,800,3,5]"]  # fmt: skip


def head():
    yield 0, "s0   p0   100/100 note key=\"cmd\" value=\"python3 train.py\""
    yield 1, "s0   p0   100/100 note key=\"collector.cpu\" value=\"perf: as asked\""
    main = "s1   p1   101/101 "
    yield 10, main + 'thread tid=101 name="python3"'
    yield 11, main + 'process pid=101 ppid=100 parent=0 exe="/usr/bin/python3.12" cmdline="python3 train.py"'
    for number, (name, category) in enumerate(
            (("cuLaunchKernel", "LAUNCH"), ("cuStreamSynchronize", "SYNC"), ("cuMemcpyHtoDAsync_v2", "COPY")), 1):  # fmt: skip
        yield 12, main + 'function function=%d api=CUDA category=%s name="%s"' % (number, category, name)
    yield 13, main + 'device device=1 parent=0 type=GPU api=CUDA name="NVIDIA H200" vendor="NVIDIA" driver="CUDA 13.0"'
    yield 14, main + "queue queue=1 device=1 context=1 flags=0 handle=0x7"
    yield 15, main + "clock clock=DEVICE device=1 mono_ns=1000000000015 foreign=%d uncertainty_ns=10" % (DEVICE_NS + 15)
    yield 16, main + 'program program=1 device=1 form=NATIVE size=6528 object="%s" options=""' % OBJECT
    yield 16, main + 'kernel kernel=1 program=1 name="walk"'
    yield 16, main + 'kernel kernel=2 program=0 name="layer_norm"'
    for number, name in enumerate(STALLS, 1):
        yield 17, main + 'stall stall=%d device=1 flags=%s name="smsp__pcsamp_warps_issue_stalled_%s"' % (
            number, "NOT_ISSUED" if "not" in name else "0", name)  # fmt: skip
    yield 18, main + 'code code=1 program=1 symbol=0 crc=0xc0ffee name="walk"'
    for number, (name, line) in enumerate(LINES.values(), 1):
        yield 20, main + 'py_code code=%d version=777 first_line=%d lines= name="%s" file="/home/me/train.py"' % (number, line, name)
    for number, (native, python) in enumerate(PATHS.values(), 1):
        frames = ["0x%x00000000" % (1 + list(LINES).index(line)) for line in python]
        yield 21, main + "py_stack py_stack=%d stop=COMPLETE frames=[%s,0xffffffffffffffff]" % (number, ",".join(frames))
        pcs = ["0x%x000" % (1 + names().index(name)) for name in native + UNDER]
        yield 22, main + "stack stack=%d stop=COMPLETE epoch=1 pcs=[%s]" % (number, ",".join(pcs))
        yield 23, main + "callpath callpath=%d stack=%d py_stack=%d" % (number, number, number)
    yield 24, main + "kstack kstack=1 stop=COMPLETE pcs=[0xffffffff81000100,0xffffffff81000200]"
    late = "s2   p1   101/103 "
    yield 30, late + 'thread tid=103 name="cuda-buffers"'
    for number, what in enumerate(("op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=128 local_y=1 local_z=1",
                                   "op=KERNEL queue=1 kernel=2 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=128 local_y=1 local_z=1",
                                   "op=WRITE queue=1 kernel=0 bytes=%d global_x=0 global_y=0 global_z=0 local_x=0 local_y=0 local_z=0" % (16 * MIB)), 1):  # fmt: skip
        yield 31, late + "descriptor descriptor=%d %s" % (number, what)


def names():
    return list(dict.fromkeys(UNDER + [name for native, _ in PATHS.values() for name in native]))


class Run:
    """One thread that feeds one GPU."""

    def __init__(self, heavy_ns):
        self.now = self.gpu = 20 * MS
        self.heavy_ns, self.lines, self.late, self.calls, self.used = heavy_ns, [], [], 0, 0

    def put(self, path, text):
        self.lines.append((self.now, "s1   p1   101/101 " + text % (1 + list(PATHS).index(path))))

    def compute(self, path, ns):
        for _ in range(ns // MS):
            self.now, self.used = self.now + MS, self.used + MS
            self.put(path, "sample callpath=%%d flags=0 weight_ns=%d" % MS)

    def wait(self, path, ns):
        self.now += ns
        self.put(path, "offcpu callpath=%%d kstack=1 state=SLEEPING blocked_ns=%d queued_ns=0 wake=0" % ns)

    def call(self, path, function, ns):
        self.now, self.calls = self.now + ns, self.calls + 1
        self.put(path, "call_long callpath=%%d correlation=%d function=%d duration_ns=%d status=0" % (self.calls, function, ns))

    def work(self, path, function, descriptor, ns):
        self.call(path, function, 5 * US)
        self.gpu = max(self.gpu, self.now)
        self.late.append("gpu_work descriptor=%d correlation=%d start_ns=%d busy_ns=%d node=0"
                         % (descriptor, self.calls, DEVICE_NS + self.gpu, ns))  # fmt: skip
        self.gpu += ns

    def step(self, number):
        self.wait("load", (40 if number == SLOW_STEP else 4) * MS)
        self.compute("collate", 2 * MS)
        self.work("copy", 3, 3, MS)
        for _ in range(4):
            self.work("short", 1, 2, 100 * US)
        self.work("heavy", 1, 1, self.heavy_ns)
        begun, ended = self.now, self.gpu
        self.compute("sync", ended - begun)
        self.now = begun
        self.call("sync", 2, ended - begun)
        if number == SAVED_AFTER:
            self.compute("save", 80 * MS)

    def write(self, path):
        end = max(self.now, self.gpu)
        lines = [*head(), *self.lines, *((end + 10, "s2   p1   101/103 " + text) for text in self.late)]
        for sample in SAMPLES:
            lines.append((end + 20, "s1   p1   101/101 gpu_sample window=1 code=1 offset=%s"
                          % sample.replace(" ", " correlation=0 ")))  # fmt: skip
        lines.append((end + 21, "s1   p1   101/101 gpu_window window=1 device=1 flags=0 start_ns=%d end_ns=%d "
                      "period_cycles=4096 samples=7665 dropped=0 other=0" % (10**12 + 1000, 10**12 + end)))  # fmt: skip
        last = end + 5 * MS
        lines.append((last, "s0   p0   100/100 process_end process=1 status=0 user_ns=%d kernel_ns=0 "
                      "max_rss_bytes=4096 source=WAIT" % self.used))  # fmt: skip
        texts = ["/usr/bin/python3.12", *names(), "__schedule", "__x64_sys_read"]
        for number, text in enumerate(texts, 1):
            lines.append((last + 1, 's0   p0   100/100 string string=%d text="%s"' % (number, text)))
        for number in range(1, len(names()) + 1):
            lines.append((last + 2, "s0   p0   100/100 symbol process=1 address=0x%x000 epoch=0 module=1 offset=0x%x000 "
                          "source=SYMTAB frames=[%d,0,0]" % (number, number, number + 1)))  # fmt: skip
        for number in (1, 2):
            lines.append((last + 3, "s0   p0   100/100 symbol process=0 address=0xffffffff81000%d00 epoch=0 module=0 "
                          "offset=0x0 source=SYMTAB frames=[%d,0,0]" % (number, len(texts) - 2 + number)))  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            for ns, text in lines:
                file.write("%4d.%09d %s\n" % (*divmod(ns, 10**9), text))


def main(mktrace, folder):
    with open(os.path.join(GOLDEN, "walk.cubin"), "rb") as file:
        cubin = hashlib.sha256(file.read()).hexdigest()
    for name, heavy_ns in (("train", 8 * MS), ("faster", 4 * MS)):
        run = Run(heavy_ns)
        for number in range(1, STEPS + 1):
            run.step(number)
        made = os.path.join(folder, name)
        run.write(made + ".trace")
        subprocess.run([mktrace, made + ".trace", made], check=True)
        os.makedirs(os.path.join(made, "objects"), exist_ok=True)
        shutil.copy(os.path.join(GOLDEN, "walk.cubin"), os.path.join(made, "objects", cubin))


main(*sys.argv[1:])
