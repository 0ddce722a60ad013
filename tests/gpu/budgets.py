"""The budgets: what recording costs, against the same program unprofiled and under bare CUPTI.

Processes on a machine differ from each other by more than what is measured here. So a set is one
process of each kind, started together; they take turns, in an order drawn anew for each round,
while the others wait; only what was measured in one round is compared; there are several sets.
"""

import concurrent.futures
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading

from machine import PYTHON, Missing

NS_P50, NS_P99 = 300, 1000
SMALL_PERCENT, LARGE_PERCENT = 10, 1
BYTES_LAUNCH_AND_KERNEL = 24 + 48
MANY = 200000
LARGE_SETS = 8  # of GPU-bound steps, which differ less
SECONDS, QUICK_SECONDS = 420, 150  # no further set of training steps is begun after so many
START_SECONDS, ANSWER_SECONDS, END_SECONDS = 90, 60, 90
PROFILER = {"cuda": "CUDA", "cpu+cuda": "CPU+CUDA", "stack": "CPU+CUDA, with_stack"}


class Worker:
    """A process that answers lines of orders by lines of JSON."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.reported = []
        # Read as it comes, so that nobody waits for a full pipe.
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stderr:
            self.reported.append(line)

    def _line(self, seconds):
        watch = threading.Timer(seconds, self.process.kill)
        watch.start()
        try:
            while True:
                line = self.process.stdout.readline()
                if not line:
                    raise RuntimeError("a worker ended: %s" % "".join(self.reported)[-400:].strip())
                if line.startswith("{") or line.strip() == "ready":
                    return line.strip()
        finally:
            watch.cancel()

    def wait_ready(self):
        self._line(START_SECONDS)

    def ask(self, order):
        before = self.recorder_ms()
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = json.loads(self._line(ANSWER_SECONDS))
        answer["outside"] = self.recorder_ms() - before
        return answer

    def recorder_ms(self):
        """CPU time of the process that was started, which for aflame is the recorder."""
        with open("/proc/%d/stat" % self.process.pid) as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(END_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def kinds_of(machine, command):
    """{kind: Worker's arguments}, the unprofiled one first."""
    aflame = machine.record_command(machine.new_trace(), command)
    kinds = {"unprofiled": (command, None), "aflame": (aflame, None)}
    if "bare.so" in machine.built:
        kinds["bare CUPTI"] = (command, {"CUDA_INJECTION64_PATH": machine.built["bare.so"]})
    return kinds


def nsys_of(machine, command):
    nsys = shutil.which("nsys")
    if not nsys:
        return {}
    out = ["-o", machine.new_trace() + ".nsys-rep", "--force-overwrite=true"]
    return {"nsys": ([nsys, "profile", "--trace=cuda", "--sample=none", *out, *command], None)}


def start(kinds):
    """{kind: Worker}, all ready."""
    workers = {kind: Worker(*how) for kind, how in kinds.items()}
    ready = {}
    for kind, worker in workers.items():
        try:
            worker.wait_ready()
            ready[kind] = worker
        except RuntimeError as error:
            print("      %s does not start: %s" % (kind, error))
            worker.end()
    return ready


def end(workers):
    with concurrent.futures.ThreadPoolExecutor(max(len(workers), 1)) as pool:
        list(pool.map(Worker.end, workers.values()))


def take_turns(orders, workers, rounds):
    """[{kind: answer}], one of each round. @orders: {kind: (worker's name, order)}"""
    found = []
    for _ in range(rounds):
        turn = {}
        for kind in random.sample(sorted(orders), len(orders)):
            worker, order = orders[kind]
            if worker in workers:
                turn[kind] = workers[worker].ask(order)
        found.append(turn)
    return found


def spread(values):
    if len(values) < 2:
        return ""
    quarters = statistics.quantiles(values, n=4)
    return "(%.4g to %.4g, n=%d)" % (quarters[0], quarters[2], len(values))


def lower_quarter(values):
    """Processes come in two kinds, a third apart, whoever watches them: of this many the quick ones."""
    return statistics.quantiles(values, n=4)[0]


def column(turns, kind, key):
    return [t[kind][key] for t in turns if kind in t]


def differences(turns, kind, other, key):
    return [t[kind][key] - t[other][key] for t in turns if kind in t and other in t]


def percents(turns, kind, key="ms"):
    """How much more than the unprofiled one of the same round."""
    both = [t for t in turns if kind in t and "unprofiled" in t]
    return [100 * (t[kind][key] / t["unprofiled"][key] - 1) for t in both]


def above_bare(turns):
    """What aflame takes above bare CUPTI, in per cent of the unprofiled step of the same round."""
    all_three = [t for t in turns if {"aflame", "bare CUPTI", "unprofiled"} <= set(t)]
    return [
        100 * (t["aflame"]["ms"] - t["bare CUPTI"]["ms"]) / t["unprofiled"]["ms"]
        for t in all_three
    ]


def row(table, what, values, unit, limit=None):
    if values:
        table.budget(what, statistics.median(values), unit, limit, spread(values))
    else:
        table.note("%s: not measured" % what)


def mean_row(table, what, values, unit):
    """Of what is read from a clock that ticks too slowly for a median."""
    if values:
        table.budget(what, statistics.fmean(values), unit, None, "(mean, n=%d)" % len(values))


# ---- a launch


def run_launches(table, machine, quick):
    try:
        command = [machine.program("launches")]
    except Missing as reason:
        table.note(str(reason))
        return
    turns = []
    for _ in range(4 if quick else 14):
        kinds = kinds_of(machine, command)
        workers = start(kinds)
        turns += take_turns({k: (k, "20000") for k in kinds}, workers, 3)
        end(workers)
    for kind in ("unprofiled", "bare CUPTI", "aflame"):
        for key in ("p50", "p99", "mean"):
            row(table, "launch, %s: %s" % (kind, key), column(turns, kind, key), "ns")
        cpu = [t[kind]["user"] + t[kind]["system"] for t in turns if kind in t]
        row(table, "launch, %s: CPU time of the process" % kind, cpu, "ns")
    outside = [t["aflame"]["outside"] * 1e6 / 20000 for t in turns if "aflame" in t]
    mean_row(table, "launch, aflame: CPU time of the recorder", outside, "ns")
    for key, limit in (("p50", NS_P50), ("p99", NS_P99), ("mean", None)):
        both = [column(turns, kind, key) for kind in ("aflame", "bare CUPTI")]
        if min(map(len, both)) < 2:
            table.note("launch, aflame above bare CUPTI: not measured")
            return
        above = lower_quarter(both[0]) - lower_quarter(both[1])
        spread_of_turns = spread(differences(turns, "aflame", "bare CUPTI", key))
        table.budget("launch, aflame above bare CUPTI: " + key, above, "ns", limit, spread_of_turns)


# ---- a training step


def step_kinds(machine, quick, peers):
    command = [sys.executable, os.path.join(PYTHON, "step.py"), "small"]
    if not quick:
        command.append("large")
    kinds = kinds_of(machine, command)
    if peers:
        kinds["profiler"] = (command, None)
        kinds.update(nsys_of(machine, command))
    return kinds


def measure_steps(table, machine, quick, sets):
    """{"small": turns, "large": turns}; fewer sets where time is running out."""
    turns = {"small": [], "large": []}
    sizes = {"small": (10, 12)} if quick else {"small": (10, 12), "large": (4, 4)}
    for i in range(sets):
        if i and table.seconds() > (QUICK_SECONDS if quick else SECONDS):
            table.note("%d of %d sets: no time for more" % (i, sets))
            break
        workers = start(step_kinds(machine, quick or i >= LARGE_SETS, not quick and i < 2))
        for what, (n, rounds) in sizes.items():
            if what == "large" and i >= LARGE_SETS:
                continue
            order = "%s %d" % (what, n)
            orders = {kind: (kind, order) for kind in workers if kind != "profiler"}
            turns[what] += take_turns(orders, workers, rounds)
        if "profiler" in workers:
            # Last, as it makes the others wait long.
            orders = {name: ("profiler", "small 10 " + how) for how, name in PROFILER.items()}
            orders["unprofiled"] = ("unprofiled", "small 10")
            turns["small"] += take_turns(orders, workers, 2)
        end(workers)
    return turns


def step_rows(table, name, turns, limit):
    row(table, name + ", unprofiled", column(turns, "unprofiled", "ms"), "ms")
    row(table, name + ", bare CUPTI", percents(turns, "bare CUPTI"), "% more")
    row(table, name + ", aflame", percents(turns, "aflame"), "% more", limit)
    row(table, name + ", aflame above bare CUPTI", above_bare(turns), "points")
    for peer in [*PROFILER.values(), "nsys"]:
        if any(peer in t for t in turns):
            row(table, "%s, %s" % (name, peer), percents(turns, peer), "% more")
    for kind in ("unprofiled", "bare CUPTI", "aflame"):
        cpu = [t[kind]["user"] + t[kind]["system"] for t in turns if kind in t]
        row(table, "%s, %s: CPU time of the process" % (name, kind), cpu, "ms")


def run_steps(table, machine, quick):
    turns = measure_steps(table, machine, quick, sets=3 if quick else 12)
    step_rows(table, "launch-bound step", turns["small"], SMALL_PERCENT)
    outside = [t["aflame"]["outside"] / 10 for t in turns["small"] if "aflame" in t]
    mean_row(table, "launch-bound step, aflame: CPU time of the recorder", outside, "ms")
    if not quick:
        step_rows(table, "GPU-bound step", turns["large"], LARGE_PERCENT)
        if not shutil.which("nsys"):
            table.note("no nsys on PATH")


# ---- bytes


def size_of(trace):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(trace) for f in files)


def counts_of(machine, trace):
    rows = (line.split() for line in machine.output("print", "--count", trace).splitlines())
    return {words[0]: int(words[-1]) for words in rows if words}


def run_bytes(table, machine, quick):
    """What grows with launches alone: the trace of many less that of few."""
    sizes = {}
    for n in (256, MANY):
        try:
            trace, done = machine.record(
                [machine.program("launches"), str(n)], ["--sample", "none"]
            )
        except Missing as reason:
            table.note(str(reason))
            return
        sizes[n] = size_of(trace)
        counts = counts_of(machine, trace)
    calls = counts.get("call", 0) + counts.get("call_long", 0)
    works = counts.get("gpu_work", 0) + counts.get("gpu_work_long", 0)
    table.fact("%d launches: calls" % MANY, calls >= MANY, "%d at least" % MANY, calls)
    if not table.equal("%d launches: kernels" % MANY, works, MANY):
        return
    each = (sizes[MANY] - sizes[256]) / (MANY - 256)
    table.budget("a launch and its kernel on disk", each, "bytes", BYTES_LAUNCH_AND_KERNEL)
    long_ones = "call_long %d, gpu_work_long %d" % (
        counts.get("call_long", 0),
        counts.get("gpu_work_long", 0),
    )
    table.note("of %.1f MB: %s" % (sizes[MANY] / 1e6, long_ones))
