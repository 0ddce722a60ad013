"""Python programs: PyTorch, torch.compile, CUDA graphs, Triton, JAX, CuPy, several processes. Each
process is recorded once and does several things; its time tells to which of them a launch belongs."""

import bisect
import concurrent.futures
import os
import subprocess
import sys

from cuda_facts import guarded
from facts import check_device_time, check_kernels, check_launches, check_python, check_trace
from facts import has_stack, percent, runs_python
from machine import PYTHON, truth_of
from trace import Trace

# file, what it imports, arguments, seconds
RUNS = [
    ("torch_all.py", "torch", 180),
    ("processes.py", "torch", 120),
    ("jax_steps.py", "jax", 120),
    ("cupy_steps.py", "cupy", 120),
]

# The same, each with graphs timed by nodes and as a whole.
UPDATES = [
    ("torch_updates.py", "torch", 120),
    ("jax_updates.py", "jax", 120),
    ("cupy_updates.py", "cupy", 120),
]
REGIONS = ("torch_regions.py", "torch", 120)
# Programs with a profiler of their own.
PROFILES = [("torch_profiles.py", "torch", 120), ("jax_profiles.py", "jax", 120)]


def has_module(name):
    code = "import importlib.util, sys; sys.exit(not importlib.util.find_spec(%r))" % name
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def by_section(sections, launches):
    """[launches of each section]"""
    starts = [s["start"] for s in sections]
    found = [[] for _ in sections]
    for call in launches:
        at = bisect.bisect_right(starts, call.begin()) - 1
        if at >= 0 and call.end <= sections[at]["end"]:
            found[at].append(call)
    return found


def check_section(table, trace, section, launches):
    name = section["name"]
    theirs = set(map(id, launches))
    kernels = [w for w in trace.kernels() if w.call and id(w.call) in theirs]
    check_launches(table, name, launches)
    if section.get("own_threads") and not any(runs_python(trace, c) for c in launches):
        table.skip(name + ": Python frames", "threads without Python make all launches")
    else:
        check_python(table, name, trace, launches)
    table.fact(name + ": kernels", kernels, "some", len(kernels))
    if "graph" in section:
        check_graph(table, trace, name, section["graph"], kernels)
    elif not any(c.category == "GRAPH_LAUNCH" for c in launches):
        # (Where JAX makes graphs on its own, launches that it captures have no kernel.)
        of_host = "cuLaunchHostFunc"
        good = [c for c in launches if not c.status and not c.function.startswith(of_host)]
        empty = [c for c in good if not c.works]
        seen = "%d of %d have none" % (len(empty), len(launches))
        table.fact(name + ": every launch has its kernel", not empty, "all", seen)
    for kernel, want in section.get("kernels", {}).items():
        found = [w for w in kernels if w.descriptor["name"].startswith(kernel)]
        table.equal("%s: launches of %s" % (name, kernel), len(found), want)


def check_graph(table, trace, name, function, kernels):
    """Kernels of graphs have the Python frames of who captured them."""
    of_graphs = [w for w in kernels if w.node]
    paths = [trace.captured(w) for w in of_graphs]
    with_python = sum(bool(p and p.python and p.python.pcs) for p in paths)
    table.fact(
        name + ": kernels of graphs have the Python stack that captured them",
        of_graphs and with_python >= 0.99 * len(of_graphs),
        "99 % of them at least",
        percent(with_python, len(of_graphs)),
    )
    if function:
        found = sum(function in trace.names(p) for p in paths)
        table.fact(
            "%s: captured by %s" % (name, function),
            of_graphs and found == len(of_graphs),
            "all, and at least one",
            percent(found, len(of_graphs)),
        )


def check_processes(table, trace, pids):
    """The forked one ends by _exit, so its last kernels may be lost."""
    ordinals = {}
    for ordinal, pid in trace.processes.items():
        ordinals.setdefault(pid, set()).add(ordinal)
    for what, pid in pids.items():
        calls = [c for c in trace.launches() if c.process in ordinals.get(pid, ())]
        kernels = [w for w in trace.kernels() if w.process in ordinals.get(pid, ())]
        good = sum(has_stack(c) and "compute" in trace.names(c.path) for c in calls)
        table.fact(
            "processes: launches of %s are under its function" % what,
            (kernels or what == "forked") and good >= 40,
            "40 launches at least, and kernels",
            "%d of %d, %d kernels" % (good, len(calls), len(kernels)),
        )


def check_program(table, machine, file, recorded):
    path, done = recorded
    truth = truth_of(done)
    if not table.fact(
        file + ": ends well",
        done.returncode == 0 and truth,
        "status 0",
        "status %d %s" % (done.returncode, done.stderr.strip()[-600:] if done.returncode else ""),
    ):
        return
    for name, reason in truth["skipped"].items():
        table.skip(name, reason)
    for name, error in truth["broken"].items():
        table.fact(name + ": runs", False, "no error", error)
    trace = Trace(machine, path)
    table.note(
        "%s: %d calls, %d kernels, %d processes"
        % (file, len(trace.calls), len(trace.kernels()), len(trace.processes))
    )
    check_kernels(table, file, trace.kernels())
    check_trace(table, file, trace)
    folded = check_device_time(table, machine, file, trace)
    missing = [f for f in truth.get("functions", []) if f + " (" not in folded]
    table.fact(file + ": its functions are in the flame graph", not missing, "all", missing or True)
    sections = truth["sections"]
    for section, launches in zip(sections, by_section(sections, trace.launches())):
        check_section(table, trace, section, launches)
    if "pids" in truth:
        check_processes(table, trace, truth["pids"])


def check_updates(table, machine, file, how, recorded):
    """Each launch of a graph that the program knows of is there: as a whole, or by its kernels."""
    name = "%s, graphs by %s" % (file, how)
    path, truth = ended(table, name, recorded)
    if not truth:
        return
    trace = Trace(machine, path)
    check_trace(table, name, trace)
    for section, launches in zip(
        truth["sections"], by_section(truth["sections"], trace.launches())
    ):
        replays = [c for c in launches if c.category == "GRAPH_LAUNCH" and not c.status]
        ours = set(map(id, replays))
        works = [w for w in trace.works if w.call and id(w.call) in ours]
        wanted, each = section["updates"], section.get("in_each")
        if each:
            table.equal(name + ": launches of graphs", len(replays), wanted)
        else:  # XLA makes graphs of its own as well
            table.fact(
                name + ": launches of graphs",
                len(replays) >= wanted,
                "%d at least" % wanted,
                len(replays),
            )
        if how == "whole":
            graphs = sum(w.descriptor["op"] == "GRAPH" for w in works)
            table.equal(name + ": graphs that ran", graphs, len(replays))
        elif each:
            kernels = sum(w.descriptor["op"] == "KERNEL" for w in works)
            table.equal(name + ": kernels of graphs", kernels, each * wanted)
        else:
            empty = sum(not c.works for c in replays)
            table.equal(name + ": launches of graphs without a kernel", empty, 0)


def ended(table, name, recorded):
    """(trace, truth), the truth None where the program did not end well."""
    path, done = recorded
    truth = truth_of(done)
    good = done.returncode == 0 and truth and not truth["broken"]
    reported = truth["broken"] if truth else done.stderr.strip()[-600:]
    seen = "status 0" if good else "status %d %s" % (done.returncode, reported)
    table.fact(name + ": ends well", good, "status 0", seen)
    return path, truth if good else None


def check_profiles(table, machine, file, recorded):
    """The program's own profiler saw what it sees alone, and so did we."""
    path, truth = ended(table, file, recorded)
    if not truth:
        return
    for i, profile in enumerate(truth["profiles"]):
        name = "%s: kernels that its profiler saw (%d)" % (file, i + 1)
        table.equal(name, profile["kernels"], truth["profiles_want"])
    trace = Trace(machine, path)
    check_kernels(table, file, trace.kernels())
    sections = truth["sections"]
    for section, launches in zip(sections, by_section(sections, trace.launches())):
        theirs = set(map(id, launches))
        kernels = [w for w in trace.kernels() if w.call and id(w.call) in theirs]
        want = section.get("count", truth["profiles_want"])
        table.equal("%s: %s: kernels in the trace" % (file, section["name"]), len(kernels), want)


def launches_of(machine, trace, region):
    """Launches of kernels inside regions of this name, by the flame graph."""
    words = ("flame", "--view", "gpu", "--weight", "count", "--range", region, trace.path)
    folded = machine.output(*words)
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())


def check_regions(table, machine, file, recorded):
    """The program's regions have its own times, and the kernels that it launched in them."""
    path, truth = ended(table, file, recorded)
    if not truth:
        return
    trace = Trace(machine, path)
    opened, steps = [], []
    for event in machine.json_lines(path, ["range"]):
        if event["fields"]["edge"] == "PUSH":
            opened.append((event["fields"]["name"], event["time_ns"]))
        elif opened:
            name, begin = opened.pop()
            if name == "step":
                steps.append((begin, event["time_ns"]))
    table.equal(file + ": regions of steps", len(steps), len(truth["steps"]))
    inside = sum(b <= begin <= end <= e for (begin, end), (b, e) in zip(steps, truth["steps"]))
    table.equal(file + ": steps within the program's own times", inside, len(truth["steps"]))
    own = sum(e - b for b, e in truth["steps"])
    ours = sum(end - begin for begin, end in steps)
    table.fact(file + ": time of all steps", ours >= 0.98 * own, "98 % of its own", percent(ours, own))
    for region in ("products", "sums"):
        name = "%s: kernels launched in %s" % (file, region)
        table.equal(name, launches_of(machine, trace, region), truth[region])
    found = 'ranges "step"' in machine.output("report", path)
    table.fact(file + ": the report knows its steps", found, "the region", found)


def run_python(table, machine, quick):
    """All at the same time: they take seconds to start, and none is timed."""
    jobs = [(file, module, seconds, "", check_program) for file, module, seconds in RUNS]
    for how in ("nodes", "whole"):
        jobs += [(*row, how, check_updates) for row in UPDATES]
    jobs += [(*row, "", check_profiles) for row in PROFILES]
    jobs.append((*REGIONS, "", check_regions))
    chosen = []
    for job in jobs:
        if has_module(job[1]):
            chosen.append(job)
        else:
            table.skip(job[0], "no %s here" % job[1])

    def record(job):
        file, _, seconds, how, _ = job
        words = ["quick"] if quick else []
        options = ["--cuda-graphs", how] if how else []
        command = [sys.executable, os.path.join(PYTHON, file), *words]
        env = {
            "TORCHINDUCTOR_CACHE_DIR": machine.work,
            "TRITON_CACHE_DIR": machine.work + "/t",
            "PYTHONPATH": machine.bindings,
        }
        return machine.record(command, options, timeout=seconds, env=env)

    with concurrent.futures.ThreadPoolExecutor(len(RUNS)) as pool:
        recorded = list(pool.map(record, chosen))
    for (file, _, _, how, check), one in zip(chosen, recorded):
        what = [file, how] if how else [file]
        guarded(table, file, check, table, machine, *what, one)
