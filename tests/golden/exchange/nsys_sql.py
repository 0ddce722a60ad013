#!/usr/bin/env python3
"""An export of Nsight Systems read by plain SQL, against the trace that aflame made of it: how many
of each and how long together, exactly. Lines of TAP; the first argument counts those before.
	nsys_sql.py NUMBER AFLAME FILE.sqlite TRACE
"""
import collections
import re
import sqlite3
import subprocess
import sys

NUMBER, AFLAME, FILE, TRACE = sys.argv[1:5]
BACKTRACE = 67  # of ENUM_NSYS_EVENT_CLASS: a call once more, with its stack
MARK, PUSH_POP, START_END = 34, 59, 60  # of ENUM_NSYS_EVENT_TYPE
OPS = {1: "WRITE", 2: "READ", 8: "COPY", 9: "HOST", 10: "PEER", 11: "WRITE", 12: "READ"}
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^]]*\]|\S+)')
WORK = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"]

db = sqlite3.connect(FILE)
tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
number = int(NUMBER)


def rows(table, sql):
    return list(db.execute(sql.replace("@", table))) if table in tables else []


def aflame(*words):
    return subprocess.run([AFLAME, *words], capture_output=True, text=True, check=True).stdout


def events(kinds):
    """Nanoseconds, process, thread, kind and fields of all events of some kinds."""
    for line in aflame("print", TRACE, "-k", kinds).splitlines():
        word = line.split()
        yield round(float(word[0]) * 1e9), word[2], word[3], word[4], dict(FIELD.findall(line))


class Sums(dict):
    """What there is → how many, and nanoseconds together."""

    def add(self, key, ns, nr=1):
        count, total = self.get(key, (0, 0))
        self[key] = (count + nr, total + ns)


def same(what, want, got):
    global number
    number += 1
    count, total = (sum(v[i] for v in want.values()) for i in (0, 1))
    print("%sok %d - nsys: %s: %d, %d ns" % ("" if want == got else "not ", number, what, count, total))
    for key in sorted(set(want) | set(got), key=str):
        if want.get(key) != got.get(key):
            print("#", key, "file", want.get(key), "aflame", got.get(key))


def function(name):
    return re.sub(r"_v\d+$", "", name)


def device_work():
    want, got, names, descriptors = Sums(), Sums(), {}, {}
    for name, start, end in rows(WORK[0], "SELECT value, start, end FROM @ JOIN StringIds ON id = demangledName"):
        want.add(name, end - start)
    for kind, size, start, end in rows(WORK[1], "SELECT copyKind, bytes, start, end FROM @"):
        want.add((OPS[kind], size), end - start)
    for size, start, end in rows(WORK[2], "SELECT bytes, start, end FROM @"):
        want.add(("FILL", size), end - start)
    for start, end in rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "SELECT start, end FROM @"):
        want.add(("GRAPH", 0), end - start)
    for _, process, _, _, field in events("kernel"):
        names[process, field["kernel"]] = field["name"][1:-1]
    for line in aflame("print", TRACE).splitlines():
        word = line.split()
        if word[4] not in ("descriptor", "gpu_work", "gpu_work_long"):
            continue
        field = dict(FIELD.findall(line))
        if word[4] == "descriptor":
            descriptors[word[1], field["descriptor"]] = (word[2], field)
            continue
        process, descriptor = descriptors[word[1], field["descriptor"]]
        busy = int(field["busy_ns"]) if "busy_ns" in field else int(field["end_ns"]) - int(field["start_ns"])
        kernel = descriptor["op"] == "KERNEL"
        got.add(names[process, descriptor["kernel"]] if kernel else (descriptor["op"], int(descriptor["bytes"])), busy)
    same("device work", want, got)


CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"


def calls():
    want, got, names = Sums(), Sums(), {}
    single = set(rows(CALLS, "SELECT globalTid >> 24, correlationId FROM @ WHERE eventClass <> %d" % BACKTRACE))
    for name, start, end, kind, pid, correlation in rows(
            CALLS, "SELECT value, start, end, eventClass, globalTid >> 24, correlationId FROM @"
            " JOIN StringIds ON id = nameId"):
        if kind != BACKTRACE or (pid, correlation) not in single:
            want.add(function(name), end - start)
    for _, process, _, _, field in events("function"):
        names[process, field["function"]] = field["name"][1:-1]
    for _, process, _, _, field in events("call,call_long"):
        got.add(names[process, field["function"]], int(field["duration_ns"]))
    same("calls", want, got)


def ranges():
    want, got, open_, started = Sums(), Sums(), collections.defaultdict(list), {}
    for name, kind, start, end in rows(
            "NVTX_EVENTS", "SELECT coalesce(text, value), eventType, start, end FROM @"
            " LEFT JOIN StringIds ON id = textId WHERE eventType IN (%d, %d, %d)" % (MARK, PUSH_POP, START_END)):
        if kind == MARK and name:
            want.add(name, 0)
        elif end is not None:
            want.add(name, end - start)
    found = list(events("range"))
    for ns, process, thread, _, field in found:
        key, name = (process, thread, field["domain"]), field["name"][1:-1]
        if field["edge"] == "PUSH":
            open_[key].append((name, ns))
        elif field["edge"] == "POP":
            name, start = open_[key].pop()
            got.add(name, ns - start)
        elif field["edge"] == "START":
            started[process, field["range"]] = (name, ns)
        elif field["edge"] == "MARK":
            got.add(name, 0)
    for ns, process, _, _, field in found:
        if field["edge"] == "END":
            name, start = started[process, field["range"]]
            got.add(name, ns - start)
    same("ranges and marks", want, got)


def samples():
    """A sample of time weighs the period; of what a file does not tell so, anything."""
    want, got = Sums(), Sums()
    reported = dict(rows("META_DATA_CAPTURE", "SELECT name, value FROM @"))
    period = 0
    if reported.get("LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE") == "Software":
        period = int(reported["LINUX_PERF_OPTIONS:SAMPLING_PERIOD"])
    for tid, count in rows("COMPOSITE_EVENTS", "SELECT globalTid & 0xffffff, count(*) FROM @ GROUP BY 1"):
        want.add(str(tid), count * period, count)
    for _, _, thread, _, field in events("ksample,sample"):
        got.add(thread.split("/")[1], int(field["weight_ns"]) if period else 0)
    same("samples of threads", want, got)


def chains():
    """Stacks of calls, as names from the root; by the numbers that calls have of them."""
    stacks = collections.defaultdict(list)
    for number_, symbol, module, unnamed in rows(
            "CUDA_CALLCHAINS", "SELECT c.id, s.value, m.value, unresolved FROM @ c JOIN StringIds s"
            " ON s.id = symbol JOIN StringIds m ON m.id = module ORDER BY c.id, stackDepth DESC"):
        stacks[number_].append("[%s: no symbol]" % module.split("/")[-1] if unnamed else symbol.split("@@")[0])
    asked = rows(CALLS, "SELECT globalTid >> 24, correlationId, callchainId, value FROM @"
                 " JOIN StringIds ON id = nameId WHERE callchainId IS NOT NULL")
    # 2023.4 has them from 0 here and from 1 there: right is where each stack has its function.
    ahead = max((0, 1), key=lambda n: sum(function(a[3]) in stacks.get(a[2] + n, ()) for a in asked))
    return {(a[0], a[1]): (stacks.get(a[2] + ahead, []), function(a[3])) for a in asked}


def stacks_of_work():
    want, got, of = Sums(), Sums(), {}
    for key, (frames, name) in chains().items():
        while name in frames and frames[-1] != name:
            frames.pop()
        of[key] = ";".join(frames if frames[-1:] == [name] else frames + [name])
    if not of:
        return
    for table in WORK:
        for pid, correlation, start, end in rows(
                table, "SELECT globalPid >> 24, correlationId, start, end FROM @"):
            want.add(of.get((pid, correlation), "?"), end - start, 0)
    for line in aflame("flame", "--view", "gpu", TRACE).splitlines():
        stack, ns = line.rsplit(" ", 1)
        frames = stack.split(";")[1:]
        own = [i for i, frame in enumerate(frames) if re.match(r"cuda?[A-Z]\w+$", frame)]
        known = [i for i in own if ";".join(frames[:i + 1]) in want]
        got.add(";".join(frames[:known[0] + 1]) if known else "?", int(ns), 0)
    same("device work by its stacks", want, got)


def waits():
    """Off the CPUs by thread, and by the call of the C library or of CUDA that it was in."""
    want, got, by_call, got_by_call = Sums(), Sums(), Sums(), Sums()
    off, inside = {}, collections.defaultdict(list)
    for thread, start, end, name in rows(
            "OSRT_API", "SELECT globalTid, start, end, value FROM @ JOIN StringIds ON id = nameId"
            " WHERE nestingLevel IS NOT NULL") + rows(
                CALLS, "SELECT globalTid, start, end, value FROM @ JOIN StringIds ON id = nameId"):
        inside[thread].append((start, -end, function(name)))
    for thread, start, on in rows("SCHED_EVENTS", "SELECT globalTid, start, isSchedIn FROM @ ORDER BY start"):
        if on and thread in off:
            began = off.pop(thread)
            want.add(str(thread & 0xffffff), start - began)
            call = max((c for c in inside[thread] if c[0] <= began and start <= -c[1]), default=(0, 0, ""))
            by_call.add(call[2], start - began)
        elif not on:
            off[thread] = start
    for _, _, thread, _, field in events("offcpu"):
        got.add(thread.split("/")[1], int(field["blocked_ns"]))
    same("threads off the CPUs", want, got)
    if not want:
        return
    for line in aflame("flame", "-w", "off-cpu", "--view", "cpu", TRACE).splitlines():
        frames, ns = line.rsplit(" ", 1)
        frame = frames.split(";")[-2]
        got_by_call.add(frame if "" not in by_call or frame in by_call else "", int(ns))
    total = {name: (0, ns) for name, (_, ns) in by_call.items()}
    same("threads off the CPUs by the call they were in", total, {k: (0, v[1]) for k, v in got_by_call.items()})


def memory():
    want, got, live = Sums(), Sums(), {}
    kinds = {1: "PINNED", 2: "DEVICE", 3: "DEVICE", 4: "MANAGED", 5: "DEVICE", 6: "MANAGED"}
    for kind, size, freed, pool in rows(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            "SELECT memKind, bytes, memoryOperationType, localMemoryPoolAddress FROM @"):
        want.add((kinds[kind] if not pool else "POOL", "FREE" if freed else "ALLOC"), size)
    for _, process, _, _, field in events("memory"):
        key = process, field["address"]
        size = live.pop(key) if field["category"] == "FREE" else int(field["bytes"])
        if field["category"] == "ALLOC":
            live[key] = size
        got.add((field["memory"], field["category"]), size)
    same("memory of devices (bytes)", want, got)


device_work()
calls()
ranges()
samples()
stacks_of_work()
waits()
memory()
