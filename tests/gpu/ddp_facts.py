"""Data-parallel training (torchrun, NCCL) on all GPUs of the machine: a trace a rank, one set; what
recording all ranks costs above recording one of them."""

import json
import os
import re
import statistics
import subprocess
import sys

import budgets
from machine import PYTHON, run

STEPS, QUICK_STEPS = 200, 60
ENVIRONMENT = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "OMP_NUM_THREADS": "2"}


def nr_gpus():
    code = "import torch; print(torch.cuda.device_count())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return int(done.stdout or 0) if not done.returncode else 0


def torchrun(nr, command):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(nr)]
    return [*launcher, "--no-python", *command]


def truths_of(done):
    """{rank: truth}"""
    found = [json.loads(line) for line in re.findall(r"^truth (\{.*\})$", done.stdout, re.M)]
    return {truth["rank"]: truth for truth in found}


def step_ms(truths):
    """The slowest rank's median: they wait for one another."""
    return max(statistics.median(truth["ms"]) for truth in truths.values())


def check_set(table, machine, path, truths, nr):
    ranks = json.loads(machine.output("report", "ranks", "--json", path))
    rows = next(t["rows"] for t in ranks["tables"] if t["name"] == "ranks")
    table.equal("ddp: ranks of the set", sorted(r["rank"] for r in rows), list(range(nr)))
    table.equal("ddp: all complete", {r["state"] for r in rows}, {"complete"})
    summary = json.loads(machine.output("report", "--json", "-n", "0", path))
    kernels = next((t["rows"] for t in summary["tables"] if t["name"] == "kernels"), [])
    merged = {}
    for row in kernels:
        merged[row["kernel"]] = merged.get(row["kernel"], 0) + row["calls"]
    alone = {}
    for rank in range(nr):
        one = json.loads(machine.output("report", "--json", "-n", "0", "--rank", str(rank), path))
        for row in next((t["rows"] for t in one["tables"] if t["name"] == "kernels"), []):
            alone[row["kernel"]] = alone.get(row["kernel"], 0) + row["calls"]
    different = {k for k in {*merged, *alone} if merged.get(k) != alone.get(k)}
    table.fact("ddp: kernels of the set are those of its ranks", merged and not different,
               "equal counts", "%d kernels of %d names, different: %s" % (sum(merged.values()), len(merged), sorted(different)[:3]))  # fmt: skip
    nccl = {k: n for k, n in merged.items() if "ncclDevKernel" in k}
    table.fact("ddp: collectives are kernels of it", nccl and all(n % nr == 0 for n in nccl.values()), "some, as many of each rank", nccl)
    page = os.path.join(machine.work, "ddp.html")
    done = run([machine.aflame, "open", "--report", page, path], 120, {"BROWSER": "true"})
    size = os.path.getsize(page) if os.path.exists(page) else 0
    table.fact("ddp: the set opens as one report", not done.returncode and size, "a file", "%d kB %s" % (size // 1000, done.stderr[-200:]))
    for words in (["report", "ranks"], ["report", "findings"], ["tally", "-n", "8"]):
        table.note("aflame " + " ".join(words))
        for line in machine.output(*words, path).splitlines()[:24]:
            table.note("  " + line[:150])


def run_ddp(table, machine, quick):
    nr = nr_gpus()
    if nr < 2:
        table.skip("ddp", "needs two GPUs, there %s" % ("is one" if nr else "is none"))
        return
    steps = QUICK_STEPS if quick else STEPS
    program = [sys.executable, os.path.join(PYTHON, "ddp.py"), str(steps)]
    turns = {"unrecorded": [], "one rank": [], "all ranks": []}
    last = None
    for turn in range(2 if quick else 3):
        for kind in turns if turn % 2 == 0 else reversed(turns):
            path = machine.new_trace()
            options = ["--ranks", "0"] if kind == "one rank" else []
            command = program if kind == "unrecorded" else machine.record_command(path, program, options)
            done = run(torchrun(nr, command), 200, ENVIRONMENT)
            truths = truths_of(done)
            if not table.fact("ddp, %s: ends well" % kind, not done.returncode and len(truths) == nr, "status 0, %d truths" % nr,
                              "status %d %s" % (done.returncode, done.stderr[-600:] if done.returncode else "")):  # fmt: skip
                return
            turns[kind].append(step_ms(truths))
            if kind == "all ranks":
                last = path, truths
    for kind, values in turns.items():
        budgets.row(table, "ddp step on %d GPUs, %s" % (nr, kind), values, "ms")
    above = [100 * (a / o - 1) for a, o in zip(turns["all ranks"], turns["one rank"])]
    budgets.row(table, "ddp step, all ranks: above one rank alone", above, "%", 2)
    check_set(table, machine, *last, nr)
