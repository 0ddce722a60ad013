"""Programs that are each slow for one known reason: is it the first finding, and do the checks of
findings show their numbers?"""

import json
import os
import re

from machine import PYTHON, run, truth_of
from python_facts import has_module

# Reason, verdict, kinds of the first finding, a pattern in it or in what helps, options.
PLANTED = [
    ("input", "host-bound", ("host",), r"below read_batch\b.* \(planted\.py"),
    ("launches", "launch-bound", ("host", "launching"), r"CUDA graphs"),
    ("copies", "copy-bound", ("copying", "copies"), r"pinned"),
    ("synchronisation", "sync-bound", ("waiting",), r"calls that wait"),
    ("faults", "host-bound", ("host",), r"in page faults\b.*memory that is used again"),
    ("lock", "blocked", ("blocked",), r"waits for a lock", "--off-cpu"),
    ("gil", "blocked", ("blocked",), r"waiting for Python's GIL", "--off-cpu"),
    ("churn", "host-bound", ("host",), r"in page faults.*memory that is"),
    ("kernel", "GPU-bound", ("kernel",), r"the kernel one_thread .* it can use 1, as its grid"),
    ("nothing", "GPU-bound", ("busy",), r"^nothing stands out"),
]
# Done once, at the start: the first finding of the whole run.
AT_START = [("compile", "host-bound", ("host", "blocked"), r"of it compiling")]
CHECKED = 3


def numbers_in(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_in(inner)
    elif isinstance(value, (int, float)):
        yield value


def check_command(table, machine, name, row):
    """As it is printed, and its number for programs."""
    command = row["check"]
    env = {"PATH": os.path.dirname(machine.aflame) + ":" + os.environ["PATH"]}
    plain = run(["sh", "-c", command], 60, env)
    exact = run(["sh", "-c", command + " --json"], 60, env)
    shown = not exact.returncode and row["time_ns"] in set(numbers_in(json.loads(exact.stdout)))
    table.fact(
        "%s: its check shows its number: %s" % (name, row["kind"]),
        not plain.returncode and plain.stdout and shown,
        "%s in %s" % (row["time_ns"], command),
        True if shown else "status %d %s" % (plain.returncode, plain.stderr[-300:]),
    )


def check_reason(table, machine, planted, steady):
    reason, verdict, kinds, pattern, *options = planted
    command = ["python3", os.path.join(PYTHON, "planted.py"), reason]
    path, done = machine.record(command, options, timeout=240)
    truth = truth_of(done)
    if not table.fact(reason + ": ends well", not done.returncode and truth, "0", done.stderr[-600:] or True):
        return
    document = json.loads(machine.output("report", "-n", "0", "--json", path))
    tables = {t["name"]: t["rows"] for t in document["tables"]}
    rows = tables.get("steady_findings", tables["findings"]) if steady else tables["findings"]
    table.note("%s: %d steps of %.1f ms%s" % (reason, truth["steps"], truth["step_ms"],
               "" if "steady_findings" in tables else "; no steady part was found"))
    verdicts = tables.get("steady_verdict" if steady else "verdict") or [{"key": ""}]
    table.equal(reason + ": the verdict", [row["key"] for row in verdicts], [verdict])
    for row in rows[:CHECKED]:
        table.note("  %s: %s [%s]" % (row["kind"], row["finding"], row["helps"]))
    first = rows[0] if rows else {"kind": "none", "finding": "", "helps": ""}
    text = first["finding"] + " " + (first["helps"] or "")
    table.fact(
        reason + ": is the first finding" + (" of the steady part" if steady else " of the run"),
        first["kind"] in kinds and re.search(pattern, text),
        "%s with %s" % (" or ".join(kinds), pattern),
        first["kind"] if first["kind"] not in kinds else True if re.search(pattern, text) else text,
    )
    for row in rows[:CHECKED]:
        if row["check"]:
            check_command(table, machine, reason, row)


def run_planted(table, machine, quick):
    if not has_module("torchvision"):
        table.skip("planted.py", "no torchvision")
        return
    wanted = os.environ.get("PLANTED", "").split()
    for planted in PLANTED + AT_START:
        if not wanted or planted[0] in wanted:
            check_reason(table, machine, planted, planted in PLANTED)
