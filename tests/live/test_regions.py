#!/usr/bin/env python3
"""Regions and marks of programs in C, C++ and Python: in the trace with the times of the program's own clock, all of
them, whatever the program does with them; and the program the same without aflame."""

import json
import os
import re
import subprocess

from machine import BUILD, SCRIPTS, SOURCE, any_sampler, need_tool, program, pythons
from recording import Trace, aflame, bare, must, new_path, parse_folded, record
from tap import Skip, case, equal, expect, near, note, run_cases

PACKAGE = os.path.join(BUILD, "src/bindings")
EXTENSION = os.path.join(PACKAGE, "aflame/_regions.abi3.so")


def plain(*command, **variables):
    """Standard output of a program without aflame."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, env={**os.environ, **variables})
    return done.stdout


def without_times(output):
    return re.sub(rb"(?m)^(at \S+ \S+) \d+ \d+$", rb"\1", output)


def edges(run):
    return [(f["edge"], f["name"]) for f in run.fields("range")]


def check_times(run, what):
    """Each call was recorded, in order, at a time between those that the program read before and after it."""
    calls = [line.split()[1:] for line in run.stdout.decode().splitlines() if line.startswith("at ")]
    events = run.events("range")[: len(calls)]
    expect(len(calls) >= 29, "%s: %d calls" % (what, len(calls)))
    wanted = [(edge, name.replace("-", "")) for edge, name, _, _ in calls]
    equal([(e["fields"]["edge"], e["fields"]["name"]) for e in events], wanted, what)
    for event, (edge, name, before, after) in zip(events, calls):
        expect(int(before) <= event["time_ns"] <= int(after),
               "%s: %s %s at %d, not in %s to %s" % (what, edge, name, event["time_ns"], before, after))
    ids = [e["fields"]["range"] for e in events if e["fields"]["edge"] in ("START", "END")]
    expect(len(set(ids)) == 2 and ids[:2] == ids[2:] and 0 not in ids, "ids: %s" % ids)
    equal({e["fields"]["domain"] for e in events}, {"aflame"}, "domains")


@case("C: regions and marks have the times of the program's own clock, however it is linked")
def _():
    for name in ("regions", "regions_nopie"):
        run = record(program(name), "times", options=["--api", "none"])
        check_times(run, name)
        equal(without_times(run.stdout), without_times(plain(program(name), "times")), "output without aflame")


@case("C: 10,000 regions are 10,000 in the trace, and 1,000,000 names do no harm")
def _():
    run = record(program("regions"), "many", "10000")
    events = run.fields("range")
    count = {edge: sum(e["edge"] == edge for e in events) for edge in ("PUSH", "POP", "MARK")}
    equal(count, {"PUSH": 20000, "POP": 20000, "MARK": 10000}, "edges")
    equal([e["name"] for e in events if e["name"].startswith("step")], ["step %d" % i for i in range(10000)], "steps")
    equal(run.fields("lost"), [], "what was lost")
    run = record(program("regions"), "names", "1000000", check=False)
    rows = json.loads(must("report", "lost", "--json", run.path))["tables"][0]["rows"]
    lost = sum(row["count"] for row in rows)
    if not lost:
        equal(run.counts()["range"], 2000000, "ranges")
    else:
        # A recorder that is behind counts what it loses, and no range is left open by it.
        note("%d events were lost" % lost)
        expect(2000000 - 2 * lost <= run.counts()["range"] < 2000000, "%d and %d" % (run.counts()["range"], lost))
        depth = 0
        for line in must("print", "--json", "-k", "range", run.path).splitlines():
            depth += 1 if '"PUSH"' in line else -1
            expect(depth in (0, 1), "depth %d" % depth)
        equal(depth, 0, "depth at the end")
    must("report", run.path)
    run.remove()


@case("a static program has regions, too, which do nothing")
def _():
    static = program("static_regions")
    if not os.path.exists(static):
        raise Skip("no static C library: static_regions was not built here")
    equal(plain(static, "hostile"), b"done\n", "output")
    run = record(static, "hostile", quiet=False)
    equal((run.stdout, run.counts().get("range", 0)), (b"done\n", 0), "output and ranges")


@case("hostile names, ends without begins, depth, threads, forks and handlers")
def _():
    equal(plain(program("regions"), "hostile"), b"done\n", "output without aflame")
    run = record(program("regions"), "hostile")
    equal(run.stdout, b"done\n", "output")
    events = run.events("range")
    first = [e for e in events if e["process"] == events[0]["process"]]
    main = [(e["fields"]["edge"], e["fields"]["name"]) for e in first if e["tid"] == first[0]["tid"]]
    wanted = [("PUSH", ""), ("POP", ""), ("MARK", "")]
    equal(main[:3], wanted, "no name")
    expect(re.fullmatch("not .+ UTF-8", main[3][1]), main[3])
    equal(main[4:6], [("MARK", "x" * 1021 + "\u2026"), ("MARK", "xx" + "\u00fc" * 509 + "\u2026")], "long names")
    equal(main[6:518], [("PUSH", "deep")] * 256 + [("POP", "")] * 256, "depth")
    equal(main[518:], [("PUSH", "parent"), ("POP", ""), ("PUSH", "interrupted"), ("PUSH", "handler"), ("POP", ""),
                       ("POP", "")], "fork and handler")
    lost = sum(f["count"] for f in run.fields("lost") if f["reason"] == "REGIONS")
    equal(lost, 44, "regions that were too deep")
    threads = [(e["fields"]["edge"], e["fields"]["name"]) for e in first if e["tid"] != first[0]["tid"]]
    equal(threads, [("PUSH", "left"), ("PUSH", "left inside"), ("POP", ""), ("POP", ""), ("PUSH", "next"), ("POP", "")],
          "threads")
    child = [(e["fields"]["edge"], e["fields"]["name"]) for e in events if e["process"] != first[0]["process"]]
    equal(child, [("PUSH", "child"), ("POP", "")], "child")


@case("regions of handlers that interrupt the writing of another are counted, and no other is left open")
def _():
    run = record(program("regions"), "handlers", check=False)
    events, lost = run.fields("range"), {}
    for f in run.fields("lost"):
        lost[f["reason"]] = lost.get(f["reason"], 0) + f["count"]
    seen = sum(e["name"] == "handler" for e in events)
    depth = sum({"PUSH": 1, "POP": -1}.get(e["edge"], 0) for e in events)
    equal(depth, 0, "depth at the end")
    note("%d of %d in the trace, lost: %s" % (seen, run.truth["handled"], lost))
    expect(seen > 0, "none is in the trace")
    rows = json.loads(must("report", "lost", "--json", run.path))["tables"][0]["rows"]
    if not any(row["key"] == "RING_FULL" for row in rows):
        equal(seen + lost.get("REGIONS", 0), run.truth["handled"], "those seen and those counted")


@case("samples inside a region have it, and --range leaves out the others", tries=3)
def _():
    run = record(program("regions"), "shares", sampler=any_sampler(), rate=997)
    stacks = [([bare(f) for f in frames], w) for frames, w in parse_folded(must("flame", "--view", "cpu", "--ranges", run.path))]
    total = sum(w for _, w in stacks)
    part = {name: sum(w for f, w in stacks if f[1:3] == [name, "_start"] and "work" in f) for name in "ab"}
    near(part["a"] / total, 0.25, 0.03, "time in a")
    near(part["b"] / total, 0.75, 0.03, "time in b")
    only = [w for _, w in parse_folded(must("flame", "--view", "cpu", "--range", "b", run.path))]
    near(sum(only) / total, 0.75, 0.03, "time with --range b")


@case("--steps counts regions, and records those alone")
def _():
    run = record(program("regions"), "many", "20", options=["--steps", "10:14@step"])
    equal([n for e, n in edges(run) if n.startswith("step")], ["step %d" % n for n in range(9, 14)], "steps")


@case("aflame prof records the regions of the sources that it compiles")
def _():
    trace = Trace(new_path("prof"))
    source = os.path.join(SCRIPTS, "regions.c")
    done = aflame("prof", "-I", os.path.join(SOURCE, "include"), "--no-flat", "--no-folded", "--trace", trace.path,
                  source, "--", "many", "1000")
    equal((done.stdout, done.returncode), ("done\n", 0), done.stderr)
    equal(trace.counts().get("range"), 5000, "ranges and marks")


@case("diff --step counts regions")
def _():
    runs = [record(program("regions"), "shares", sampler=any_sampler(), rate=99) for _ in range(2)]
    reported = must("diff", runs[0].path, runs[1].path, "--step", "a")
    expect('20 and 20 steps "a"' in reported, reported)


def slices_of(run):
    """{track name: [(slice name, length in us)]} of the timeline's slices and marks."""
    events = json.loads(must("timeline", "--show", "ranges", "-o", "-", run.path))["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    tracks = {}
    for e in events:
        if e["ph"] in "Xi":
            tracks.setdefault(names[e["pid"], e["tid"]], []).append((e["name"], e.get("dur", 0)))
    return tracks


@case("the timeline has regions on tracks of that name")
def _():
    run = record(program("regions"), "times")
    tracks = slices_of(run)
    # One within the other, and those that overlap, stand on tracks side by side.
    expect(all(re.match("regions", track) for track in tracks), "tracks: %s" % list(tracks))
    found = [name for slices in tracks.values() for name, _ in slices]
    count = {name: found.count(name) for name in set(found)}
    equal(count, {"outer": 5, "inner": 5, "mark": 5, "first": 1, "second": 1}, "slices")
    calls = [line.split()[1:] for line in run.stdout.decode().splitlines() if line.startswith("at ")]
    begin, end = int(calls[0][2]), int(calls[4][3])
    length = next(us for slices in tracks.values() for name, us in slices if name == "outer")
    expect(0 < length * 1000 <= end - begin, "outer has %s us, the program %s ns" % (length, end - begin))


CPP = """
#include <aflame/region.hpp>
#include <cstdio>
#include <stdexcept>
static void throws()
{
    aflame::region r("throws");
    throw std::runtime_error("passes through");
}
int main()
{
    for (int i = 0; i < 3; i++) {
        aflame::region step("step " + std::to_string(i));
        aflame::mark("half");
    }
    try { throws(); } catch (const std::exception &e) { std::puts(e.what()); }
    aflame::span first("first");
    { aflame::span second(std::move(first)), third(std::string("third")); third = std::move(second); }
    std::puts("done");
    return 0;
}
"""


@case("C++: regions end by scope and by exceptions, spans move")
def _():
    path = new_path("regions-cpp")
    for compiler in ("g++", "clang++"):
        with open(path + ".cpp", "w", encoding="utf-8") as file:
            file.write(CPP)
        subprocess.run([need_tool(compiler), "-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic",
                        "-I" + os.path.join(SOURCE, "include"), path + ".cpp", "-o", path], check=True)
        run = record(path)
        equal((run.stdout, plain(path)), (b"passes through\ndone\n",) * 2, "output with aflame and without")
        wanted = []
        for i in range(3):
            wanted += [("PUSH", "step %d" % i), ("MARK", "half"), ("POP", "")]
        wanted += [("PUSH", "throws"), ("POP", ""), ("START", "first"), ("START", "third"), ("END", ""), ("END", "")]
        equal(edges(run), wanted, compiler)
        first, third, *ends = [f["range"] for f in run.fields("range") if f["edge"] in ("START", "END")]
        equal(ends, [third, first], "the one that was assigned to ends first")


def some_pythons():
    if not os.path.exists(EXTENSION):
        raise Skip("no Python.h (python3-dev): the extension was not built here")
    return need_pythons()


def need_pythons():
    found = pythons()
    if not found:
        raise Skip("no Python whose frames can be read")
    return found


# What follows the calls with times.
FUNCTIONS = (
    [("PUSH", "plain"), ("POP", ""), ("PUSH", "Model.forward"), ("POP", "")]
    # next, send, next, throw, and it is left; three of a list; one of yield from; next and close
    + [("PUSH", "generator"), ("POP", "")] * (5 + 3 + 1 + 2)
)


def check_python(version, interpreter, module):
    script = os.path.join(SCRIPTS, "py_regions.py")
    what = "%s of %s" % (module, version)
    without = plain(interpreter, script, module, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")
    run = record(interpreter, script, module,
                 env={**os.environ, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"})
    check_times(run, what)
    equal(without_times(run.stdout), without_times(without), "output without aflame, " + what)
    rest = edges(run)[29:]
    equal(rest[: len(FUNCTIONS)], FUNCTIONS, "functions, " + what)
    rest = rest[len(FUNCTIONS) :]
    tasks = sorted(n for e, n in rest if e == "START")
    equal(tasks, ["coroutine"] * 2 + ["stream"] * 3 + ["waits"] * 2, "of asyncio, " + what)
    equal(sum(e == "END" for e, _ in rest), len(tasks), "their ends, " + what)
    rest = [r for r in rest if r[0] not in ("START", "END")]
    wanted = [("PUSH", "raises"), ("POP", ""), ("PUSH", "on a stack"), ("PUSH", "by hand"), ("POP", ""), ("POP", "")] + [("PUSH", "thread"), ("PUSH", "inside"), ("POP", ""), ("POP", "")] * 3
    wanted += [("PUSH", "a\\udc80b"), ("PUSH", "\u00fc\U0001f525"), ("PUSH", "n" * 1021 + "\u2026")] + [("POP", "")] * 3
    equal(rest, wanted, "the rest, " + what)


@case("Python: with, decorators, generators, asyncio, threads, exceptions; the same without aflame")
def _():
    for version, interpreter in some_pythons():
        check_python(version, interpreter, "aflame")
        loaded = plain(interpreter, "-c", "import aflame; print(type(aflame.region).__name__)", PYTHONPATH=PACKAGE)
        equal(loaded, b"builtin_function_or_method\n", "the extension in " + version)
        note(version)


@case("Python: the same by ctypes, where the extension cannot be loaded")
def _():
    for version, interpreter in (need_pythons()[0], need_pythons()[-1]):
        check_python(version, interpreter, "aflame._pure")


@case("Python: the report knows the steps of a training loop, and samples have their region", tries=2)
def _():
    version, interpreter = some_pythons()[-1]
    script = os.path.join(SCRIPTS, "py_training.py")
    environment = {**os.environ, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"}
    run = record(interpreter, script, "40", sampler=any_sampler(), rate=997, env=environment)
    equal(run.stdout, b"trained\n", "output")
    report = must("report", run.path)
    expect('steps are the program\'s own ranges "step"' in report, report[:3000])
    expect(re.search(r"(?m)^  steady +.* 40 +\S+ ms", report), report[:3000])
    stacks = parse_folded(must("flame", "--view", "cpu", "--ranges", run.path))
    total = sum(w for f, w in stacks if f[1:2] == ["step"])
    forward = sum(w for f, w in stacks if f[1:3] == ["step", "forward"] and any(x.startswith("burn (") for x in f))
    near(forward / total, 2 / 3, 0.05, "time in forward, of that in step (%s)" % version)


run_cases()
