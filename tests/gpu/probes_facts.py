"""--uprobe on CUDA's runtime: calls of its library's functions by the kernel's probes, by libaflame's own where the
user is not root, and by CUPTI, which must agree."""

import collections
import glob
import json
import os
import shutil
import sys
import sysconfig

from calls_facts import calls_of
from machine import PYTHON, Missing, first, run
from python_facts import has_module

NOBODY = 65534
WORDS = "cudaLaunchKernel*"


def cudart_of(program):
    """The shared library that @program is linked with, or that PyTorch brings."""
    if program[0] == sys.executable:
        found = first(sorted(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib/libcudart.so.*")))
    else:
        lines = run(["ldd", program[0]], 30).stdout.splitlines()
        found = first(line.split()[2] for line in lines if "libcudart" in line and "/" in line)
    if not found:
        raise Missing("no shared libcudart for it")
    return os.path.realpath(found)


def by_probes(machine, trace):
    tables = json.loads(machine.output("report", "functions_called", "--json", trace))["tables"]
    counts = collections.Counter()
    for row in (row for table in tables for row in table["rows"]):
        counts[row["function"]] += row["calls"]
    return counts


def all_timed(machine, trace):
    tables = json.loads(machine.output("report", "functions_called", "--json", trace))["tables"]
    rows = [row for table in tables for row in table["rows"]]
    return rows and all(row["timed"] == row["calls"] for row in rows)


def by_cupti(machine, trace):
    calls = (call for call in calls_of(machine, trace) if call["fields"]["api"] == "cudart")
    counts = collections.Counter(call["kind"] for call in calls)
    return collections.Counter({name: n for name, n in counts.items() if name.startswith("cudaLaunchKernel")})


def as_nobody(machine, program, options):
    """(trace, the CompletedProcess) of a recording by a user without rights."""
    os.chmod(machine.work, 0o755)
    home = os.path.join(machine.work, "nobody")
    os.makedirs(home, exist_ok=True)
    os.chown(home, NOBODY, NOBODY)
    trace = os.path.join(home, os.path.basename(machine.new_trace()))
    drop = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    env = {"HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": home}
    return trace, run([*drop, *machine.record_command(trace, program, options)], 200, env)


def check_one(table, machine, name, program):
    options = ["--api", "cuda:default", "--uprobe", "%s:%s" % (cudart_of(program), WORDS)]
    timed = [*options[:-1], options[-1] + "+RETURN"]
    ways = {"the kernel": (machine.record, options), "the kernel, with returns": (machine.record, timed)}
    if shutil.which("setpriv") and not os.geteuid():
        ways["libaflame, without root"] = (lambda *w: as_nobody(machine, *w), ["--strict", *options])
        ways["libaflame, with returns"] = (lambda *w: as_nobody(machine, *w), ["--strict", *timed])
    else:
        table.skip(name + ": without root", "no setpriv, or not root")
    counts = {}
    for way, (record, how) in ways.items():
        trace, done = record(program, how)
        if not table.fact("%s: %s: ends well" % (name, way), not done.returncode, 0, (done.returncode, done.stderr[-400:])):
            continue
        counts[way], cupti = by_probes(machine, trace), by_cupti(machine, trace)
        if program[0] == sys.executable:
            # Libraries with a static cudart of their own launch besides.
            fewer = all(n <= cupti[function] for function, n in counts[way].items())
            table.fact("%s: %s: no more calls than CUPTI has" % (name, way), fewer and counts[way], cupti, counts[way])
        else:
            table.equal("%s: %s: as many calls as CUPTI has" % (name, way), +counts[way], +cupti)
        if "returns" in way:
            table.fact("%s: %s: each has its time" % (name, way), all_timed(machine, trace), "timed", "see below")
            table.note("\n".join(machine.output("report", "functions_called", trace).splitlines()[:6]))
    table.fact(name + ": all ways agree", len(set(map(str, map(sorted, map(dict.items, counts.values()))))) == 1,
               "one count", counts)  # fmt: skip


def run_probes(table, machine, quick):
    check_one(table, machine, "shared cudart", [machine.program("paths_shared")])
    if has_module("torch"):
        check_one(table, machine, "PyTorch", [sys.executable, os.path.join(PYTHON, "train.py"), "20"])
    else:
        table.skip("PyTorch", "no torch here")
