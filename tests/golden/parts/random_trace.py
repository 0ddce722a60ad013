#!/usr/bin/env python3
"""random_trace.py SEED STEPS: a trace as text (mktrace), in which borders of parts lie anywhere: between
ticks and their user parts, in open ranges, between works and their calls, which come first or much later,
where ids of 32 bits wrap, in graphs, in waits, and between events of one moment."""
import random
import struct
import sys

THREADS = (101, 102, 103)
FUNCTIONS = ("LAUNCH cuLaunchKernel", "COPY cuMemcpyHtoDAsync_v2", "SYNC cuStreamSynchronize",
             "GRAPH_LAUNCH cuGraphLaunch")
WALL = 1700000000000000000
MPI_NONE = 0x2C000000


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ns = 1
        self.correlation = 2**32 - 40 * (1 + seed % 5)
        self.open = {tid: 0 for tid in THREADS}
        self.works = []   # (text) of calls whose works are still to come
        self.early = []   # calls whose works came before them
        self.asleep = []  # wake-ups whose waits are still to end
        self.handles = []  # of requests of MPI, the last ones
        self.sequence = self.wakes = 0

    def line(self, stream, process, tid, text):
        pid = 101 if process else 100
        print(f"{self.ns // 10**9:4d}.{self.ns % 10**9:09d} s{stream} p{process} {pid}/{tid} {text}")

    def own(self, tid, text):
        self.line(tid - 100, 1, tid, text)

    def discard(self):
        print(f"!discard s{self.random.randrange(1, 7)} {self.random.randrange(1, 9)}")

    def define(self):
        self.discard()
        self.line(0, 0, 100, 'note key="cmd" value="random"')
        for tid in THREADS:
            self.own(tid, f'thread tid={tid} name="t{tid}"')
            for i in range(1, 9):
                self.own(tid, f"stack stack={i} stop=COMPLETE epoch=1 pcs=[{i * 256 + tid},{i % 3 * 4096},36864]")
                self.own(tid, f"callpath callpath={i} stack={i} py_stack=0")
        self.own(101, 'process pid=101 ppid=100 parent=0 exe="/bin/random" cmdline="random"')
        for i, function in enumerate(FUNCTIONS, 1):
            category, name = function.split()
            self.own(101, f'function function={i} api=CUDA category={category} name="{name}"')
        self.own(101, 'device device=1 parent=0 type=GPU api=CUDA name="NVIDIA H200" vendor="NVIDIA" driver="CUDA 13.0"')
        self.own(101, 'device device=2 parent=0 type=GPU api=OPENCL name="Mock" vendor="aflame" driver="1"')
        self.own(101, "queue queue=1 device=1 context=1 flags=0 handle=0x7")
        self.own(101, "queue queue=2 device=2 context=1 flags=0 handle=0x8")
        self.own(101, f"clock clock=DEVICE device=1 mono_ns={10**12} foreign={WALL} uncertainty_ns=10")
        self.own(101, f"clock clock=DEVICE device=2 mono_ns={10**12} foreign=0 uncertainty_ns=10")
        for stream in range(1, 7):
            tid, process = (stream + 100, 1) if stream < 4 else (104, 1)
            for i in range(1, 4):
                kernel = f'kernel kernel={i} program=1 name="kernel{i}"'
                self.line(stream, process, tid, kernel)
                self.line(stream, process, tid,
                          f"descriptor descriptor={i} op={'READ' if i == 3 else 'KERNEL'} queue={1 if stream != 6 else 2} "
                          f"kernel={i % 3} bytes={i * 64 if i == 3 else 0} global_x={i * 64} global_y=1 global_z=1 "
                          "local_x=8 local_y=1 local_z=1")
        for i in range(1, 4):
            self.line(4, 1, 104, f"kstack kstack={i} stop=COMPLETE pcs=[{2**63 + i * 16}]")
        for i, flags in enumerate(("0", "AMOUNT"), 1):
            self.line(7, 0, 100, f'counter counter={i} device={i - 1} flags={flags} per=1000 name="counter {i}" unit="J" group=""')
        for node in (1, 2, 3):
            self.own(101, f"graph_node node={node} graph=1 original=0 callpath={node}")

    def gpu_work(self, correlation, node):
        busy = self.random.randrange(1, 500)
        self.line(5, 1, 104, f"gpu_work descriptor={self.random.randrange(1, 4)} correlation={correlation % 2**32} "
                             f"start_ns={WALL + self.ns} busy_ns={busy} node={node}")

    def cl_work(self, correlation):
        status = 0 if self.random.random() < .9 else -54
        if status:
            text = f"work_long descriptor=1 correlation={correlation} queued_ns=0 submit_ns=0 start_ns=0 end_ns=0 status=-54"
        else:
            text = (f"work descriptor={self.random.randrange(1, 4)} correlation={correlation} queued_ns={self.ns} "
                    f"submit_after_ns=1 start_after_ns=2 busy_ns={self.random.randrange(1, 300)}")
        self.line(6, 1, 104, text)

    def launch(self, tid):
        self.correlation += 1
        function = self.random.choices((1, 2, 3, 4), (8, 3, 2, 1))[0]
        works = {3: 0, 4: 3}.get(function, 1)
        if self.random.random() < .05:
            works = 0   # it is lost
        correlation, path = self.correlation, self.random.randrange(1, 9)
        call = lambda: self.own(tid, f"call callpath={path} correlation={correlation % 2**32} function={function} "
                                     f"duration_ns={self.random.randrange(0, min(self.ns, 60))}")
        todo = [lambda n=n: self.gpu_work(correlation, n + 1 if function == 4 else 0) for n in range(works)]
        if self.random.random() < .2 and works:
            todo.pop()()
            self.early.append(call)
        else:
            call()
        self.works += todo

    def launch_cl(self, tid):
        self.sequence += 1
        correlation = self.sequence
        self.own(tid, f"launch callpath={self.random.randrange(1, 9)} correlation={correlation}")
        if self.random.random() < .95:
            self.works.append(lambda: self.cl_work(correlation))

    def annotate(self, tid):
        if self.open[tid] and self.random.random() < .5:
            self.open[tid] -= 1
            domain = self.random.choice(("", "", "", "nccl"))
            self.own(tid, f'range edge=POP color=0 range=0 domain="{domain}" name=""')
            return
        self.open[tid] += 1
        name = self.random.choice(("step", "forward", f"aten::mm, seq = {self.random.randrange(6)}",
                                   "autograd::engine::evaluate_function: Mm",
                                   f"Mm, seq = {self.random.randrange(6)}"))
        domain = self.random.choice(("", "", "", "nccl"))
        self.own(tid, f'range edge=PUSH color=0 range=0 domain="{domain}" name="{name}"')
        if "aten" in name:
            self.own(tid, f"operation sequence={name[-1]} callpath={self.random.randrange(1, 9)}")

    def sample(self, tid):
        if self.random.random() < .5:
            flags = self.random.choice(("JOINS", "JOINS", "0"))
            self.line(4, 1, tid, f"ksample callpath=0 kstack={self.random.randrange(1, 4)} flags={flags} cpu=0 weight_ns=1000")
        else:
            self.own(tid, f"sample callpath={self.random.randrange(1, 9)} flags={self.random.choice(('0', 'SYSCALL'))} "
                          f"weight_ns={self.random.randrange(1, 9) * 100}")

    def wake(self, tid):
        self.wakes += 1
        self.asleep.append(self.wakes)
        if self.random.random() < .9:
            self.own(tid, f"wake wake={self.wakes} tid={self.random.choice(THREADS)} "
                          f"callpath={self.random.randrange(1, 9)} kstack=0")

    def wait(self, tid):
        state = self.random.choice(("SLEEPING", "RUNNABLE"))
        wake = self.asleep.pop(self.random.randrange(len(self.asleep))) if self.asleep and self.random.random() < .9 else 0
        self.own(tid, f"offcpu callpath={self.random.randrange(1, 9)} kstack=0 state={state} "
                      f"blocked_ns={self.random.randrange(0, min(self.ns, 90))} queued_ns={self.random.randrange(9)} wake={wake}")

    def mpi(self, tid, function, tail, **fields):
        duration = self.random.randrange(0, min(self.ns, 60))
        self.own(tid, f"{function} callpath={self.random.randrange(1, 9)} duration_ns={duration} "
                      + "".join(f"{name}={value} " for name, value in fields.items()) + f"tail={tail.hex()}")

    def post(self, tid):
        """Handles come again before anybody saw them complete, and MPICH's for sends that are over are shared."""
        handle = self.random.choice((2**31 + self.random.randrange(5), 2**30 + 1))
        function = self.random.choice(("MPI_Isend", "MPI_Irecv", "MPI_Send_init", "MPI_Recv_init"))
        if function.endswith("init"):
            handle = 2**31 + 8 + self.random.randrange(2)
        peer = "source" if "ecv" in function else "dest"
        self.mpi(tid, function, struct.pack("Q", handle),
                 **{peer: self.random.choice((0, 1, 2**32 - 2)), "count": 1, "bytes": self.random.randrange(2000)})
        self.handles = [handle] + self.handles[:9]

    def complete(self, tid):
        if not self.handles:
            return
        handle = self.random.choice(self.handles)
        gone = MPI_NONE if handle < 2**31 + 8 and self.random.random() < .8 else handle
        how = self.random.random()
        status = struct.pack("iiiiQ", self.random.randrange(3), 0, 0, 0, self.random.randrange(2000))
        if how < .4:
            self.mpi(tid, "MPI_Wait", struct.pack("QQ", handle, gone) + status)
        elif how < .6:
            self.mpi(tid, "MPI_Waitall", struct.pack("=HQQHQQH", 2, handle, handle, 2, gone, gone, 2) + status * 2, count=2)
        elif how < .8:
            self.mpi(tid, "MPI_Test", struct.pack("=QQi", handle, gone, 1) + status)
        elif how < .9:
            self.mpi(tid, "MPI_Start", struct.pack("QQ", handle, handle))
        else:
            self.mpi(tid, "MPI_Request_free", struct.pack("QQ", handle, MPI_NONE))

    def other_call(self, tid):
        if self.random.random() < .3:
            self.own(tid, f"call_seen callpath={self.random.randrange(1, 9)} function={self.random.randrange(1, 5)} correlation=0")
            return
        name = self.random.choice(("cuMemAlloc_v2", "cuMemFree_v2", "clFinish", "clWaitForEvents", "cuEventQuery"))
        self.own(tid, f"{name} callpath={self.random.randrange(1, 9)} duration_ns={self.random.randrange(0, min(self.ns, 60))}")

    def read(self, _):
        span = self.random.choice((0, self.random.randrange(1, 500)))
        self.line(7, 0, 100, f"reading span_ns={span} values=[1,{self.random.randrange(9000)},2,{self.random.randrange(10**15)}]")

    def step(self):
        if self.random.random() < .01:
            self.discard()
        if self.random.random() < .7:
            self.ns += self.random.randrange(1, 40)
        if self.works and self.random.random() < .4:
            self.works.pop(self.random.randrange(len(self.works)))()
        elif self.early and self.random.random() < .2:
            self.early.pop(0)()
        else:
            tid = self.random.choice(THREADS)
            self.random.choice((self.launch, self.launch, self.launch_cl, self.annotate, self.annotate, self.sample,
                                self.sample, self.wait, self.wake, self.post, self.complete, self.other_call,
                                self.read))(tid)


maker = Maker(int(sys.argv[1]))
maker.define()
for _ in range(int(sys.argv[2])):
    maker.step()
