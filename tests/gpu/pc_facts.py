"""Samples of instructions: kernels that are bound by one known thing, the same question asked
continuously and exactly, code that comes and goes, and what it costs."""

import collections
import json
import os
import re
import shutil
import sys
import time

import budgets
from machine import PROGRAMS, PYTHON, Missing, run, truth_of

RATE = 100000
POINTS = 0.02
HOTTEST = 10
EXACT = ["--gpu-samples=exact"]
WHOLE = {"AFLAME_GPU_EXACT": "whole"}
CHURN_SECONDS = float(os.environ.get("CHURN_SECONDS", "60"))
PREFIX, NOT_ISSUED = "_issue_stalled_", "_not_issued"
HOT = re.compile(r"// hot: (\w+) (\S+)")
AT_LINE = re.compile(r"\(stalls\.cu:(\d+)\)")


class Samples:
    """What a trace says of samples, by hand."""

    def __init__(self, machine, path):
        self.windows, self.codes, self.stalls, self.crcs = {}, {}, {}, set()
        self.counts = collections.Counter()  # (process, code, offset, reason) → samples
        self.launches, self.notes, self.unknown = set(), [], 0
        kinds = ["stall", "code", "program_crc", "gpu_window", "gpu_sample", "note"]
        late = []
        for event in machine.json_lines(path, kinds):
            f, process = event["fields"], event["process"]
            if event["kind"] == "stall":
                self.stalls[process, f["stall"]] = f["name"].split(PREFIX)[-1]
            elif event["kind"] == "code":
                self.codes[process, f["code"]] = f
            elif event["kind"] == "program_crc":
                self.crcs.add((process, f["crc"]))
            elif event["kind"] == "gpu_window":
                self.windows[process, f["window"]] = f
            elif event["kind"] == "gpu_sample":
                late.append((process, f))
            elif f["key"] == "cuda.samples":
                self.notes.append(f["value"])
        for process, f in late:
            self._add(process, f)

    def _add(self, process, f):
        for stall, n in zip(f["counts"][::2], f["counts"][1::2]):
            reason = self.stalls[process, stall]
            if not reason.endswith(NOT_ISSUED):
                self.counts[process, f["code"], f["offset"], reason] += n
        code = self.codes[process, f["code"]]
        self.unknown += (process, code["crc"]) not in self.crcs
        if f["correlation"]:
            self.launches.add((process, f["correlation"]))

    def total(self, field):
        return sum(f[field] for f in self.windows.values())

    def full(self):
        """The windows in which samples were lost."""
        return [f for f in self.windows.values() if "FULL" in f["flags"]]

    def by(self, what):
        """{key: samples}; @what(name, offset, reason) is the key, None to leave out."""
        found = collections.Counter()
        for (process, code, offset, reason), n in self.counts.items():
            key = what(self.codes[process, code]["name"], offset, reason)
            if key is not None:
                found[key] += n
        return found


def check_samples(table, name, samples, exact=False):
    """True of every trace. Exact ones may have windows of more instructions than CUPTI keeps."""
    counted = sum(samples.counts.values())
    reported = samples.total("samples") - samples.total("other") - samples.total("dropped")
    true = counted and counted == reported
    table.fact(name + ": all samples of the windows are there", true, reported, counted)
    seen = "%d full, %d dropped" % (len(samples.full()), samples.total("dropped"))
    if exact:
        table.note("%s: %s" % (name, seen))
    else:
        text = "0 full, 0 dropped"
        table.fact(name + ": no window is full, none dropped", seen == text, text, seen)
    table.equal(name + ": samples of code that is not in the trace", samples.unknown, 0)
    order = sorted((f["start_ns"], f["end_ns"]) for f in samples.windows.values())
    gaps = [b[0] - a[1] for a, b in zip(order, order[1:]) if b[0] > a[1]]
    seen = len(order), counted, samples.total("other"), len(gaps), "; ".join(samples.notes)
    table.note(name + ": %d windows, %d samples, %d in the driver's code, %d gaps; %s" % seen)


def hot_lines():
    """{kernel: (line, reasons)}"""
    with open(os.path.join(PROGRAMS, "stalls.cu"), encoding="utf-8") as file:
        found = ((n, HOT.search(text)) for n, text in enumerate(file, 1))
        return {m.group(1): (n, m.group(2).split("|")) for n, m in found if m}


def top(counts, n=3):
    total = sum(counts.values()) or 1
    return ", ".join("%s %.0f %%" % (k, 100 * v / total) for k, v in counts.most_common(n))


def folded(machine, path, depth):
    text = machine.output("flame", "--view", "gpu", "-w", "samples", "--depth", depth, path)
    for line in text.splitlines():
        stack, n = line.rsplit(" ", 1)
        yield [re.sub(r"_\[\w\]$", "", f) for f in stack.split(";")], float(n)


def check_reasons(table, machine, path, samples, kernels):
    hot = hot_lines()
    lines = {kernel: collections.Counter() for kernel in kernels}
    chain = False
    for frames, n in folded(machine, path, "line"):
        kernel = next((k for k in kernels if k in frames), None)
        at = [f for f in frames if AT_LINE.search(f)]
        if kernel and at:
            lines[kernel][int(AT_LINE.search(at[-1]).group(1))] += n
        names = [f.split(" (")[0].split("::")[-1] for f in at]
        chain |= kernel == "inlined" and names[-2:] == ["middle", "innermost"]
    for kernel in kernels:
        line, want = hot[kernel]
        reasons = samples.by(lambda name, _, r, k=kernel: r if name == k else None)
        waits = collections.Counter({r: n for r, n in reasons.items() if r != "selected"})
        best = waits.most_common(1)[0][0] if waits else ""
        true = want == ["*"] or best in want
        table.fact("stalls: %s: top reason" % kernel, true, want, top(waits))
        first = lines[kernel].most_common(1)
        true = first and first[0][0] == line
        table.fact("stalls: %s: top line" % kernel, true, "line %d" % line, top(lines[kernel]))
    wanted = "middle, innermost"
    table.fact("stalls: inlined: both inlined functions are in the stack", chain, wanted, chain)


def check_paths_of(table, machine, path):
    found = collections.Counter()
    for frames, n in folded(machine, path, "kernel"):
        for name in ("path_of_three", "path_of_one"):
            found[name] += n if name in frames and "latency" in frames else 0
    share = found["path_of_three"] / (sum(found.values()) or 1)
    true = abs(share - 0.75) <= POINTS
    table.fact("stalls: latency under path_of_three", true, "75 %", "%.1f %%" % (100 * share))


def compare(table, what, one, other, limit=POINTS):
    """Shares of the same keys, continuously and exactly, that are half a per cent at least."""
    sums = [sum(c.values()) or 1 for c in (one, other)]
    shares = {k: (one[k] / sums[0], other[k] / sums[1]) for k in set(one) | set(other)}
    shares = {k: v for k, v in shares.items() if max(v) > 0.005}
    worst = max(shares, key=lambda k: abs(shares[k][0] - shares[k][1])) if shares else None
    off = abs(shares[worst][0] - shares[worst][1]) if worst else 1
    seen = "%d keys, %.2f points at most" % (len(shares), 100 * off)
    if worst and off > limit:
        seen += ": … %s" % worst[-120:]
    table.fact("continuous against exact: %s" % what, off <= limit, "2 points", seen)


def hottest_shares(samples, hottest):
    """{(function, offset): share of its function}"""
    functions = samples.by(lambda name, _offset, _reason: name)
    cells = samples.by(lambda name, offset, _reason: (name, offset))
    return {k: cells[k] / (functions[k[0]] or 1) for k in hottest}


def compare_instructions(table, what, one, other):
    cells = one.by(lambda name, offset, _reason: (name, offset))
    hottest = [k for k, _ in cells.most_common(HOTTEST)]
    ours, theirs = hottest_shares(one, hottest), hottest_shares(other, hottest)
    off = {k: abs(ours[k] - theirs[k]) for k in hottest}
    worst = max(off, key=off.get) if off else None
    seen = "%d, %.2f points at most" % (len(off), 100 * off[worst] if worst else 0)
    if worst and off[worst] > POINTS:
        seen += ": %s+0x%x" % (worst[0][:60], worst[1])
    true = worst and off[worst] <= POINTS
    what = "continuous against exact: %s: the ten hottest instructions" % what
    table.fact(what, true, "2 points", seen)


def paths_and_kernels(machine, path):
    """{stack without what an address is called: samples}"""
    found = collections.Counter()
    for frames, n in folded(machine, path, "kernel"):
        found[";".join(re.sub(r"!?0x[0-9a-f]+", "!", f) for f in frames)] += n
    return found


def both_ways(table, machine, what, command, often, timeout=150):
    """(path, Samples) continuously (@often: the option) and exactly, of the same work."""
    found = []
    for how, options, env in (("continuous", [often], None), ("exact", EXACT, WHOLE)):
        begin = time.monotonic()
        # A judge that lost samples is none.
        for attempt in range(3 if how == "exact" else 1):
            path, done = machine.record(command, options, timeout, env)
            if not table.equal("%s, %s: status" % (what, how), done.returncode, 0):
                table.note((done.stdout + done.stderr)[-600:])
                return None
            samples = Samples(machine, path)
            if not samples.full():
                break
            seen = what, how, attempt + 1, len(samples.full())
            table.note("%s, %s, run %d: %d windows were full" % seen)
        table.note("%s, %s: %.1f s" % (what, how, time.monotonic() - begin))
        found.append((path, samples))
        check_samples(table, "%s, %s" % (what, how), found[-1][1], how == "exact")
    shares = [paths_and_kernels(machine, path) for path, _ in found]
    compare(table, what + ": call path and kernel", *shares)
    compare_instructions(table, what, found[0][1], found[1][1])
    table.note("%s, exact: %d launches have samples" % (what, len(found[1][1].launches)))
    return found


def check_stalls(table, machine):
    plain = truth_of(run([machine.program("stalls"), "200"], 60))
    kernels = plain["kernels"]
    counts = ",".join(str(plain[k]) for k in kernels)
    path, done = machine.record([machine.program("stalls"), counts], ["--gpu-samples"], 60)
    truth = truth_of(done)
    if not table.fact("stalls: runs", truth, "truth", (done.stdout + done.stderr)[-300:]):
        return
    samples = Samples(machine, path)
    check_samples(table, "stalls", samples)
    for kernel in kernels:
        each = [t[kernel + "_us"] / t[kernel] for t in (plain, truth)]
        table.note("%-9s %8.1f us, sampled %8.1f us" % (kernel, *each))
    table.note("reasons found: %s" % top(samples.by(lambda _n, _o, reason: reason), 40))
    fp64 = samples.by(lambda name, _o, _r: name)["fp64"]
    rate = fp64 / truth["fp64_us"] * 1e6
    what = "samples a second of a device that is busy as a whole"
    table.budget(what, rate, "", None, "(asked for: %d)" % RATE)
    check_reasons(table, machine, path, samples, kernels)
    check_paths_of(table, machine, path)
    both_ways(table, machine, "stalls", [machine.program("stalls"), counts], "--gpu-samples")


def check_ncu(table, machine):
    """Nsight Compute on the same kernels, a few launches of each."""
    command = [machine.program("stalls"), "1,1,1,1,1,1,1"]
    ways = {"unprofiled": command}
    ways["aflame --gpu-samples"] = machine.record_command(
        machine.new_trace(), command, ["--gpu-samples"]
    )
    if shutil.which("ncu"):
        report = machine.new_trace()
        ways["ncu"] = ["ncu", "--set", "source", "-f", "-o", report, *command]
    for how, words in ways.items():
        begin = time.monotonic()
        done = run(words, 60)
        reported = "%.1f s" % (time.monotonic() - begin)
        if done.returncode:
            reported = "status %d: %s" % (done.returncode, (done.stdout + done.stderr)[-300:])
        table.note("two launches of each kernel, %s: %s" % (how, reported))


def check_contexts(table, machine):
    """A device whose context is made anew, and two at once."""
    path, done = machine.record([machine.program("contexts")], ["--gpu-samples"], 60)
    table.equal("contexts, sampled: status", done.returncode, 0)
    samples = Samples(machine, path)
    counted = sum(samples.counts.values())
    table.note("contexts: %d samples; %s" % (counted, "; ".join(samples.notes)))


def run_samples(table, machine, quick):
    answer = json.loads(run([machine.aflame, "doctor", "--json"], 60).stdout or "{}")
    found = {c["name"]: c for c in answer.get("collectors", [])}.get("cuda-pc", {})
    table.fact("doctor: GPUs can be sampled", found.get("works"), "works", found.get("says"))
    try:
        check_stalls(table, machine)
        check_contexts(table, machine)
        check_ncu(table, machine)
    except Missing as reason:
        table.note(str(reason))
    if not quick:
        train = [sys.executable, os.path.join(PYTHON, "train.py"), "60"]
        # It keeps little of a device busy.
        both_ways(table, machine, "training", train, "--gpu-samples=1M")


def grown(truth):
    """MB from the first tunings to the last: Triton never unloads what it has compiled."""
    first, last = truth["rss_mb"]
    return last - first


def run_churn(table, machine, quick):
    seconds = 20 if quick else CHURN_SECONDS
    command = [sys.executable, os.path.join(PYTHON, "triton_churn.py"), str(seconds)]
    unrecorded = run(command[:-1] + [str(seconds / 4)], seconds + 60)
    plain = [json.loads(line) for line in unrecorded.stdout.splitlines() if line.startswith("{")]
    plain = grown(plain[-1]) / max(plain[-1]["tunings"], 1) if plain else 0
    path, done = machine.record(command, ["--gpu-samples", "--sample", "none"], seconds + 120)
    reported = [line for line in done.stdout.splitlines() if line.startswith("{")]
    seen = "status %d %s" % (done.returncode, done.stderr[-300:])
    if not table.fact("churn: ends well", not done.returncode and reported, "status 0", seen):
        return
    truth = json.loads(reported[-1])
    samples = Samples(machine, path)
    check_samples(table, "churn", samples)
    ours = samples.by(lambda name, _o, _r: name)
    table.note("%s; %s" % (reported[-1], top(ours)))
    gone = ours["comes_and_goes"]
    table.fact("churn: what comes and goes has samples", gone, "some", gone)
    more = grown(truth) - plain * truth["tunings"]
    seen = "%.0f MB; %.0f MB of it as unrecorded" % (grown(truth), grown(truth) - more)
    table.fact("churn: memory grows as it does unrecorded", more <= 64, "64 MB more at most", seen)
    order = sorted((f["start_ns"], f["end_ns"]) for f in samples.windows.values())
    worst = max((b[0] - a[1] for a, b in zip(order, order[1:])), default=0)
    seen = "%.0f ms at most between two" % (worst / 1e6)
    table.fact("churn: no window is lost, but for another period", worst <= 500e6, "0.5 s", seen)


def run_sample_steps(table, machine, quick):
    """The training steps of budgets.py, sampled too, and PyTorch's profiler beside them."""
    command = [sys.executable, os.path.join(PYTHON, "step.py"), "small", "large"]
    kinds = budgets.kinds_of(machine, command)
    words = machine.record_command(machine.new_trace(), command, ["--gpu-samples"])
    kinds = {"unprofiled": kinds["unprofiled"], "aflame": kinds["aflame"], "sampled": (words, None)}
    turns = {"small": [], "large": []}
    for _ in range(1 if quick else 2):
        workers = budgets.start(kinds)
        for what, n in (("small", 20), ("large", 4)):
            orders = {kind: (kind, "%s %d" % (what, n)) for kind in workers}
            turns[what] += budgets.take_turns(orders, workers, 5)
        budgets.end(workers)
    profiler = budgets.start({"unprofiled": kinds["unprofiled"], "profiler": kinds["unprofiled"]})
    for what in turns:
        orders = {
            "unprofiled": ("unprofiled", what + " 4"),
            "profiler": ("profiler", what + " 4 cpu+cuda"),
        }
        turns[what] += budgets.take_turns(orders, profiler, 2)
    budgets.end(profiler)
    for what, name, limit in (("small", "launch-bound step", 15), ("large", "GPU-bound step", 3)):
        unprofiled = budgets.column(turns[what], "unprofiled", "ms")
        budgets.row(table, name + ", unprofiled", unprofiled, "ms")
        for kind, words, bar in (
            ("aflame", "aflame", None),
            ("sampled", "aflame --gpu-samples", limit),
            ("profiler", "PyTorch's profiler", None),
        ):
            more = budgets.percents(turns[what], kind)
            budgets.row(table, "%s, %s" % (name, words), more, "% more", bar)
