#!/usr/bin/env python3
"""nsys.sqlite: what `nsys export --type sqlite` could write, made up for what the real files beside
it lack: two processes whose correlation ids are the same numbers and of which one has no stacks, a
runtime's call around the driver's, kernels of a graph without its nodes, domains by registered
strings, frames without names, a gap between samples, rows that lack things or cannot be.
	make_nsys.py nsys.sqlite
"""
import os
import sqlite3
import sys

SCHEMA = {
    "StringIds": "id value",
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid pid name",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
    "TARGET_INFO_GPU": "vmId id name busLocation cuDevice",
    "META_DATA_EXPORT": "name value",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId streamId correlationId globalPid demangledName"
    " shortName registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory"
    " dynamicSharedMemory graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId streamId correlationId globalPid bytes copyKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId streamId correlationId globalPid value bytes",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end deviceId contextId streamId correlationId globalPid syncType",
    "CUDA_CALLCHAINS": "id symbol module unresolved originalIP stackDepth",
    "NVTX_EVENTS": "start end eventType rangeId text globalTid endGlobalTid textId domainId",
    "COMPOSITE_EVENTS": "id start cpu threadState globalTid cpuCycles",
    "SAMPLING_CALLCHAINS": "id symbol module kernelMode unresolved specialEntry originalIP unwindMethod stackDepth",
    "OSRT_API": "start end eventClass globalTid nameId returnValue nestingLevel callchainId",
    "ENUM_CUDA_MEMCPY_OPER": "id name label",
}
TEXT = {"value", "name", "label", "text", "busLocation", "utcTime", "localTime"}

strings = []


def s(text):
    if text not in strings:
        strings.append(text)
    return strings.index(text) + 1


def pid(p):
    return 1 << 56 | p << 24


def tid(p, t):
    return pid(p) | t


path = sys.argv[1]
if os.path.exists(path):
    os.unlink(path)
db = sqlite3.connect(path)
db.execute("PRAGMA page_size = 512")
for table, columns in SCHEMA.items():
    words = ", ".join('"%s" %s' % (c, "TEXT" if c in TEXT else "INTEGER") for c in columns.split())
    db.execute('CREATE TABLE "%s" (%s)' % (table, words))


def put(table, *values):
    columns = SCHEMA[table].split()
    row = list(values) + [None] * (len(columns) - len(values))
    db.execute('INSERT INTO "%s" VALUES (%s)' % (table, ",".join("?" * len(columns))), row)


def call(start, end, p, t, correlation, name, chain=None):
    put("CUPTI_ACTIVITY_KIND_RUNTIME", start, end, 0, tid(p, t), correlation, s(name), 0, chain)


def kernel(start, end, stream, correlation, p, name, node=None):
    put("CUPTI_ACTIVITY_KIND_KERNEL", start, end, 0, 1, stream, correlation, pid(p), s(name + "<float>"), s(name),
        32, 10, 2, 1, 128, 1, 1, 1024, 2048, node)


def chain(table, number, frames, extra=()):
    for depth, (symbol, module) in enumerate(reversed(frames)):
        if table == "CUDA_CALLCHAINS":
            put(table, number, s(symbol), s(module), 1 if symbol.startswith("0x") else None, 0, depth)
        else:
            put(table, number, s(symbol), s(module), 1 if module == "[kernel.kallsyms]" else None,
                1 if symbol.startswith("0x") else None, None, 0, 1, depth)


A, B = 100, 200
put("TARGET_INFO_SESSION_START_TIME", 1700000000 * 10**9, "", "")
put("TARGET_INFO_GPU", 0, 7, "NVIDIA Test GPU", "0000:01:00.0", 0)
put("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.16.1")
put("PROCESSES", pid(A), A, "/usr/bin/train")
put("PROCESSES", pid(B), B, "/usr/bin/serve")
put("PROCESSES", pid(300), 300, "/usr/bin/nothing")
put("ThreadNames", s("main"), 0, tid(A, A))
put("ThreadNames", s("loader"), 0, tid(A, 101))

main = [("_start", "/usr/bin/train"), ("main", "/usr/bin/train")]
chain("CUDA_CALLCHAINS", 1, main + [("step(int)", "/usr/bin/train"), ("cudaLaunchKernel", "/usr/lib/libcudart.so.12")])
chain("CUDA_CALLCHAINS", 2, main + [("0x7f12", "/usr/lib/libgone.so"), ("copy_in", "/usr/lib/libdata.so"),
                                    ("cudaMemcpyAsync", "/usr/lib/libcudart.so.12"),
                                    ("cuMemcpyHtoDAsync_v2", "/usr/lib/libcuda.so.1")])
call(1000, 1500, A, A, 1, "cudaLaunchKernel_v7000", 1)
call(1100, 1400, A, A, 1, "cuLaunchKernel", 1)
kernel(2000, 5000, 7, 1, A, "gemm")
call(1600, 1900, A, 101, 2, "cudaMemcpyAsync_v3020", 2)
put("CUPTI_ACTIVITY_KIND_MEMCPY", 2500, 4500, 0, 1, 8, 2, pid(A), 4096, 1)
call(5000, 5100, A, A, 3, "cudaGraphLaunch_v10000")
kernel(5200, 5300, 7, 3, A, "first", 11)
kernel(5300, 5450, 7, 3, A, "second", 12)
call(6000, 6100, A, A, 4, "cudaMemsetAsync_v3020", 0)
put("CUPTI_ACTIVITY_KIND_MEMSET", 6200, 6250, 0, 1, 7, 4, pid(A), 0, 512)
call(7000, 9000, A, A, 5, "cudaDeviceSynchronize_v3020")
put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 7001, 8999, 0, 1, 0, 5, pid(A), 4)
# The same numbers in another process, which has no stacks.
call(1000, 1100, B, B, 1, "cuLaunchKernel")
kernel(3000, 3700, 7, 1, B, "infer")
kernel(4000, 4001, 7, 99, B, "asked by nobody")
kernel(4100, 4000, 7, 1, B, "ends before it begins")

put("NVTX_EVENTS", 0, None, 75, None, "NCCL", tid(A, A), None, None, 3)
put("NVTX_EVENTS", 900, 6500, 59, None, "epoch", tid(A, A), None, None, 0)
put("NVTX_EVENTS", 950, 1900, 59, None, None, tid(A, A), None, s("forward"), 3)
put("NVTX_EVENTS", 1550, 2000, 60, 5, "load", tid(A, 101), tid(A, 101), None, 0)
put("NVTX_EVENTS", 6600, None, 59, None, "never ends", tid(A, A), None, None, 0)
put("NVTX_EVENTS", 6700, None, 34, None, "a mark", tid(A, A), None, None, 0)

chain("SAMPLING_CALLCHAINS", 1, main + [("step(int)", "/usr/bin/train")])
chain("SAMPLING_CALLCHAINS", 2, main + [("read", "/usr/lib/libc.so.6"), ("do_syscall_64", "[kernel.kallsyms]"),
                                        ("vfs_read", "[kernel.kallsyms]")])
for number, (start, thread) in enumerate([(1000, A), (2000, A), (3000, A), (9000, A), (9500, 101)], 1):
    put("COMPOSITE_EVENTS", number, start, number % 2, 1, tid(A, thread), 1000)
chain("SAMPLING_CALLCHAINS", 3, main + [("step(int)", "/usr/bin/train")])
chain("SAMPLING_CALLCHAINS", 4, main)
put("OSRT_API", 9100, 9200, 0, tid(A, A), s("poll"), 0, 0, 0)
put("OSRT_API", 9300, 9400, 0, tid(A, A), s("poll"), 0, 0, 0)
db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i + 1, text) for i, text in enumerate(strings)])
db.commit()
db.close()
