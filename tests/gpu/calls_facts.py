"""Calls of CUDA with their arguments: programs of every way to CUDA are recorded with all calls, and
what the trace says of calls is held against the device work that it has by other means."""

import collections
import json
import os
import subprocess
import sys

import budgets
from cuda_facts import guarded
from machine import PYTHON
from python_facts import has_module

# The name of the row, what it runs, and the module that it needs.
PROGRAMS = [
    ("static cudart", ["paths"], None),
    ("shared cudart", ["paths_shared"], None),
    ("the driver alone, -lcuda", ["driver", "kernels.fatbin"], None),
    ("graphs", ["graphs"], None),
    ("copies", ["copies"], None),
    ("PyTorch", [sys.executable, os.path.join(PYTHON, "train.py"), "20"], "torch"),
    ("Triton, torch.compile", [sys.executable, os.path.join(PYTHON, "torch_all.py")], "triton"),
    ("JAX", [sys.executable, os.path.join(PYTHON, "jax_steps.py")], "jax"),
    ("CuPy", [sys.executable, os.path.join(PYTHON, "cupy_steps.py")], "cupy"),
]
STEPS = 200


def is_launch(name):
    return name.startswith(("cuLaunchKernel", "cuLaunchCooperativeKernel"))


def calls_of(machine, trace):
    """All calls of the trace, one after the other."""
    command = [machine.aflame, "print", "--json", "--calls", trace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as printing:
        for line in printing.stdout:
            yield json.loads(line)
        reported = printing.stderr.read().decode("utf-8", "replace").strip()
    if printing.returncode:
        raise RuntimeError("aflame print: status %d: %s" % (printing.returncode, reported))


class Calls:
    """What is counted of the calls of a trace."""

    def __init__(self, machine, trace):
        self.names, self.apis = collections.Counter(), collections.Counter()
        self.launches, self.failed, self.orphans, self.nested = {}, 0, 0, 0
        runtime = {}
        for call in calls_of(machine, trace):
            fields, name = call["fields"], call["kind"]
            self.names[name] += 1
            self.apis[fields["api"]] += 1
            if fields["api"] == "cudart":
                runtime[fields["correlation"]] = name
            elif fields["depth"] and fields["correlation"] in runtime:
                self.nested += 1
            if is_launch(name) or name.startswith("cuGraphLaunch"):
                self.launches[fields["correlation"]] = fields["args"]


def check_grids(table, name, machine, trace, calls):
    """The grids that were passed are those of the device's own records."""
    kernels, grids = {}, {}
    for event in machine.json_lines(trace, ["descriptor", "gpu_work"]):
        fields = event["fields"]
        if event["kind"] == "descriptor":
            kernels[event["stream"], fields["descriptor"]] = fields
        elif not fields["node"]:
            what = kernels.get((event["stream"], fields["descriptor"]))
            if what and what["op"] == "KERNEL":
                blocks = [what["global_" + c] // max(what["local_" + c], 1) for c in "xyz"]
                grids[fields["correlation"]] = blocks
    compared, wrong = 0, []
    for correlation, blocks in grids.items():
        passed = calls.launches.get(correlation)
        if not passed or "gridDimX" not in passed:
            continue
        compared += 1
        if [passed["gridDim" + c] for c in "XYZ"] != blocks:
            wrong.append((passed, blocks))
    missing = sum(c not in calls.launches for c in grids)
    table.fact(name + ": kernels whose launch is among the calls", not missing, len(grids), len(grids) - missing)
    if compared:
        table.fact(name + ": grids as passed and as run", not wrong, "%d equal" % compared, wrong[:2])


def run_one(table, machine, name, command):
    program = command if command[0] == sys.executable else [machine.program(p) for p in command]
    trace, done = machine.record(program, ["--api", "cuda:full"], 240)
    table.fact(name + ": ends well", not done.returncode, 0, (done.returncode, done.stderr[-400:]))
    counts = json.loads(machine.output("print", "--count", "--json", trace))
    calls = Calls(machine, trace)
    table.fact(name + ": calls with arguments", calls.names, "some", sum(calls.names.values()))
    table.fact(name + ": no CALL besides them", not counts.get("call"), 0, counts.get("call", 0))
    if calls.apis["cudart"]:
        table.fact(name + ": driver calls inside of runtime calls", True, "some", calls.nested)
    check_grids(table, name, machine, trace, calls)
    table.note("%s: calls by API: %s" % (name, dict(calls.apis)))
    if name == "PyTorch":
        show(table, machine, trace)


def show(table, machine, trace):
    """What a user sees of a training."""
    table.note(machine.output("tally", "--limit", "12", trace))
    lines = machine.output("print", "--calls", trace).splitlines()
    table.note("\n".join(line[:240] for line in lines[len(lines) // 2 :][:24]))


def run_calls(table, machine, quick):
    for name, command, module in PROGRAMS:
        if module and not has_module(module):
            table.skip(name, "no %s here" % module)
            continue
        guarded(table, name, run_one, table, machine, name, command)


def run_call_steps(table, machine, quick):
    command = [sys.executable, os.path.join(PYTHON, "step.py"), "small"]
    kinds = {"unprofiled": (command, None)}
    for level in ("minimal", "default", "full"):
        record = machine.record_command(machine.new_trace(), command, ["--api", "cuda:" + level])
        kinds[level] = (record, None)
    kinds["profiler"] = (command, None)
    kinds.update(budgets.nsys_of(machine, command))
    orders = {kind: (kind, "small 60") for kind in kinds}
    orders["profiler"] = ("profiler", "small 20 cuda")
    workers = budgets.start(kinds)
    turns = budgets.take_turns(orders, workers, 4 if quick else 10)
    budgets.end(workers)
    budgets.row(table, "step, unprofiled", budgets.column(turns, "unprofiled", "ms"), "ms")
    for kind in kinds:
        if kind != "unprofiled":
            budgets.row(table, "step, %s: above unprofiled" % kind, budgets.percents(turns, kind), "%")
