#!/usr/bin/env python3
"""Kokkos: kernels, copies, regions and sections of a program are in the trace, as often as a tool of the tests' own
counts them in another run; that tool is called also when aflame records; and odd programs come to no harm."""

import collections
import os
import subprocess

from machine import PROGRAMS, program
from recording import must, new_path, record
from tap import case, equal, expect, run_cases

COUNTS = os.path.join(PROGRAMS, "libkokkos_counts.so")
VARIABLES = ("KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY", "KOKKOS_COUNTS")
KERNELS = {"axpy": 5, "dot": 5, "sum": 1, "deep_copy y (Host) = x (Host), bytes = 8000": 3}


def environment(**variables):
    clean = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    return {**clean, **variables}


def counts_of(path):
    with open(path, encoding="utf-8") as lines:
        return {text: int(number) for text, number in (line.rstrip().rsplit(" ", 1) for line in lines)}


def witness(how):
    """What the tool of the tests' own counts, without aflame."""
    path = new_path()
    subprocess.run([program("kokkos_work"), how], check=True, stdout=subprocess.DEVNULL, timeout=60,
                   env=environment(KOKKOS_PROFILE_LIBRARY=COUNTS, KOKKOS_COUNTS=path))
    return counts_of(path)


def counted(run):
    """The same from a trace."""
    kinds = {("Kokkos kernels", "PUSH"): "kernel", ("Kokkos", "PUSH"): "region", ("Kokkos", "MARK"): "event"}
    found = collections.Counter()
    for r in run.fields("range"):
        kind = kinds.get((r["domain"], r["edge"]))
        if kind:
            found["%s %s" % (kind, r["name"])] += 1
        elif r["domain"] == "Kokkos memory" and r["name"].startswith("allocate "):
            found[r["name"]] += 1
    return dict(found)


def balance(run):
    """Beginnings less ends, by domain; no end comes before its beginning."""
    depth = collections.Counter()
    for r in run.fields("range"):
        depth[r["domain"]] += {"PUSH": 1, "POP": -1}.get(r["edge"], 0)
        expect(depth[r["domain"]] >= 0, "an end without its beginning: %s" % r)
    return {d: n for d, n in depth.items() if n}


def notes_of(run, key):
    return [f["value"] for f in run.fields("note") if f["key"] == key]


@case("kernels, copies, regions, events and allocations are as many as another tool counts")
def _():
    seen = witness("all")
    run = record(program("kokkos_work"), "all", env=environment())
    equal(run.stdout, b"done\n", "output")
    del seen["init library"]
    equal(counted(run), seen, "calls")
    equal({k: seen.get("kernel " + k) for k in KERNELS}, KERNELS, "what the program does")
    equal(balance(run), {}, "open ranges")
    expect("Kokkos Version" in " ".join(notes_of(run, "kokkos.metadata")), "metadata: %s" % notes_of(run, "kokkos"))
    sections = [(r["edge"], r["name"]) for r in run.fields("range") if r["edge"] in ("START", "END")]
    equal(sections, [("START", "left"), ("START", "right"), ("END", ""), ("END", "")], "sections")


@case("a tool that others have named is called behind ours, with its own numbers, by either variable")
def _():
    seen = witness("all")
    for variable in ("KOKKOS_PROFILE_LIBRARY", "KOKKOS_TOOLS_LIBS"):
        path = new_path()
        run = record(program("kokkos_work"), "all", env=environment(**{variable: COUNTS, "KOKKOS_COUNTS": path}))
        equal(counts_of(path), seen, "what the other tool counts with " + variable)
        del seen["init library"]
        equal(counted(run), seen, "calls with " + variable)
        expect(notes_of(run, "kokkos")[0].endswith("calls go on to " + COUNTS), "note: %s" % notes_of(run, "kokkos"))
        seen["init library"] = 1


@case("a tool that does not exist is reported, and the program runs on")
def _():
    run = record(program("kokkos_work"), "all", env=environment(KOKKOS_TOOLS_LIBS="/nowhere/tool.so"))
    equal(run.stdout, b"done\n", "output")
    expect("/nowhere/tool.so" in notes_of(run, "kokkos.tool")[0], "note")
    equal(counted(run)["kernel axpy"], 5, "axpy")


@case("--api none and a tool on the program's command line: Kokkos is left alone")
def _():
    run = record(program("kokkos_work"), "all", options=["--api", "none"], env=environment())
    equal(run.fields("range"), [], "ranges with --api none")
    path = new_path()
    run = record(program("kokkos_work"), "all", "--kokkos-tools-library=" + COUNTS, env=environment(KOKKOS_COUNTS=path))
    equal(run.stdout, b"done\n", "output")
    equal(run.fields("range"), [], "ranges beside the program's own tool")
    equal(counts_of(path)["kernel axpy"], 5, "what that tool counts")
    run = record(program("kokkos_work"), "all", options=["--api", "kokkos"], env=environment())
    equal(counted(run)["kernel axpy"], 5, "axpy with --api kokkos")


@case("ends without beginnings, escapes in names and ranges open at the exit do no harm")
def _():
    run = record(program("kokkos_work"), "hostile", env=environment())
    equal(run.stdout, b"done\n", "output")
    equal(balance(run), {"Kokkos": 1}, "open ranges")
    of = [(r["edge"], r["name"]) for r in run.fields("range") if r["domain"] == "Kokkos" and r["edge"] != "MARK"]
    equal([e for e, _ in of], ["PUSH", "POP", "START", "END", "START", "PUSH"], "edges")
    equal([of[2][1], of[4][1], of[5][1]], ["twice", "never", "open"], "names")
    shown = must("print", "-k", "range", run.path)
    expect("red" in shown and "\033" not in shown and "\007" not in shown, "escapes are printed")
    must("timeline", "-o", new_path() + ".json", run.path)


@case("the timeline has tracks of Kokkos, by the names of its domains")
def _():
    run = record(program("kokkos_work"), "all", env=environment())
    path = new_path() + ".json"
    must("timeline", "-o", path, run.path)
    with open(path, encoding="utf-8") as text:
        shown = text.read()
    for name in ("Kokkos kernels", "axpy", "step", "left"):
        expect(name in shown, "%s is not in the timeline" % name)
    expect("NVTX: Kokkos" not in shown, "a track of NVTX")


run_cases()
