#!/usr/bin/env python3
"""ITT: what a program says by it is in the trace, as often as the program did it and as another collector counts in
another run; that collector is called also when aflame records; so are real static parts, TBB's and LLVM's OpenMP's."""

import collections
import json
import os
import subprocess

from machine import AFLAME, PROGRAMS, SCRIPTS, WORKPLACE, need_own_tool, probes, program
from recording import must, new_path, record
from tap import case, equal, expect, run_cases

COUNTS = os.path.join(PROGRAMS, "libitt_counts.so")
OLD_COUNTS = os.path.join(PROGRAMS, "libitt_counts_old.so")
VARIABLES = ("INTEL_LIBITTNOTIFY64", "AFLAME_ITT_NEXT", "ITT_COUNTS", "ITT_COUNTS_MAKES", "ITT_SAY_BUILD")
# What only the program counts: the other collector has no function for it.
NOT_WITNESSED = ("task itt_work_runs", "metadata sizes", "event tick")


def environment(**variables):
    clean = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    return {**clean, **variables}


def counts_of(text):
    return {name: int(number) for name, number in (line.rsplit(" ", 1) for line in text.splitlines() if line != "done")}


def file_of(path):
    with open(path, encoding="utf-8") as lines:
        return counts_of(lines.read())


def witness(how, collector=COUNTS, **more):
    """What the collector of the tests' own counts, without aflame."""
    path = new_path()
    subprocess.run([program("itt_work"), how], check=True, stdout=subprocess.DEVNULL, timeout=60,
                   env=environment(INTEL_LIBITTNOTIFY64=collector, ITT_COUNTS=path, **more))
    return file_of(path)


def work(how="all", options=(), **variables):
    return record(program("itt_work"), how, options=options, env=environment(**variables))


def ranges(run, edge=None, domain="ITT: app"):
    return [r for r in run.fields("range") if r["domain"] == domain and (not edge or r["edge"] == edge)]


def readings(run, process=None):
    """{counter: [(span, value)]}, in order."""
    found = collections.defaultdict(list)
    names = {(e["process"], e["fields"]["counter"]): e["fields"] for e in run.events("counter")}
    for e in run.events("reading"):
        if process and e["process"] != process:
            continue
        pairs = e["fields"]["values"]
        for number, value in zip(pairs[::2], pairs[1::2]):
            counter = names[e["process"], number]
            found[counter["name"]].append((e["fields"]["span_ns"], value / counter["per"]))
    return found


def counted(run):
    """What itt_work prints, from a trace."""
    found = collections.Counter()
    for r in run.fields("range"):
        expect(r["domain"].startswith("ITT"), "domain: %s" % r)
        if r["edge"] == "PUSH":
            found["task " + r["name"]] += 1
        elif r["edge"] == "START":
            kind = {"left": "overlapped", "right": "overlapped", "phase": "region", "tick": "event"}
            found["%s %s" % (kind.get(r["name"], r["name"]), r["name"] if r["name"] in kind else "app")] += 1
        elif r["edge"] == "MARK" and r["domain"] != "ITT":
            key = r["name"].split(" = ")
            found["%s %s" % ("metadata" if len(key) > 1 else "marker", key[0])] += 1
    found["submit app"] = len(readings(run)["app: frame"])
    for e in run.events("comm"):
        if e["fields"]["name"].startswith("itt-"):
            found["thread " + e["fields"]["name"]] += 1
    return dict(found)


def balance(run):
    """Beginnings less ends of what nests, by process, thread and domain; no end comes before its beginning."""
    depth = collections.Counter()
    for e in run.events("range"):
        key = (e["process"], e["tid"], e["fields"]["domain"])
        depth[key] += {"PUSH": 1, "POP": -1}.get(e["fields"]["edge"], 0)
        expect(depth[key] >= 0, "an end without its beginning: %s" % e)
    return sorted((domain, n) for (_, _, domain), n in depth.items() if n)


def starts_and_ends(run):
    """Names of what may overlap that is open in the end; every end has its beginning."""
    names = {}
    for e in run.events("range"):
        f = e["fields"]
        if f["edge"] == "START":
            names[f["range"]] = f["name"]
        elif f["edge"] == "END":
            expect(f["range"] in names, "an end without its beginning: %s" % e)
            del names[f["range"]]
    return sorted(names.values())


def notes_of(run, key):
    return [f["value"] for f in run.fields("note") if f["key"] == key]


@case("tasks, frames, markers, metadata, events and names are as many as the program counts")
def _():
    run = work()
    expect(run.stdout.endswith(b"done\n"), "output: %s" % run.stdout)
    truth = counts_of(run.stdout.decode())
    equal(counted(run), truth, "what the program did")
    equal((truth["task step"], truth["task solve"]), (5, 10), "what the program is to do")
    equal((balance(run), starts_and_ends(run)), ([], []), "open ranges")
    equal([r["name"] for r in ranges(run, "MARK") if " = " in r["name"]],
          ["sizes = 1 22 333", "file = data.bin"], "metadata")


@case("tasks of two domains end apart, and a task that overlaps ends in another thread")
def _():
    run = work()
    order = [(r["domain"][-3:], r["edge"], r["name"]) for r in run.fields("range")][:8]
    equal(order, [("app", "PUSH", "step"), ("app", "PUSH", "solve"), ("app", "POP", ""), ("app", "PUSH", "solve"),
                  ("app", "POP", ""), (" io", "PUSH", "write"), ("app", "POP", ""), (" io", "POP", "")], "a step")
    started = {e["fields"]["name"]: e for e in run.events("range") if e["fields"]["edge"] == "START"}
    ended = {e["fields"]["range"]: e for e in run.events("range") if e["fields"]["edge"] == "END"}
    left, right, phase = ((started[n], ended[started[n]["fields"]["range"]]) for n in ("left", "right", "phase"))
    expect(left[1]["tid"] == left[0]["tid"] and right[1]["tid"] != right[0]["tid"], "threads: %s %s" % (left, right))
    times = [e["time_ns"] for e in (left[0], right[0], phase[0], left[1], right[1], phase[1])]
    equal(times, sorted(times), "the order of edges")


@case("frames that are reported when they are over are readings of their length")
def _():
    for more in ({}, {"INTEL_LIBITTNOTIFY64": COUNTS, "ITT_COUNTS_MAKES": "1"}):
        run = work(**more)
        frames = readings(run)["app: frame"]
        equal(len(frames), 4, "frames")
        for span, value in frames:
            expect(span == value and value >= 2e6, "a frame of 2 ms or more: %s, with %s" % (frames, more))
        begun = [e["time_ns"] for e in run.events("range") if e["fields"]["name"] == "frame"]
        most = run.events("reading")[-1]["time_ns"] - begun[-1]
        expect(sum(v for _, v in frames) <= most, "frames are longer than the time there was: %s, with %s" % (frames, more))


@case("what a program does while it has paused ITT is left out, and that is reported")
def _():
    run = work()
    names = [r["name"] for r in run.fields("range")]
    expect("hidden" not in names and "hidden mark" not in names and "seen" in names, "names: %s" % names)
    equal([r["name"] for r in ranges(run, "MARK", "ITT")], ["pause", "resume"] * 2, "marks")
    equal(len(notes_of(run, "itt.paused")), 1, "notes of the pause")
    expect("__itt_pause" in must("report", run.path), "the report does not mention the pause")


@case("a thread has the name that the program gave it, and the process keeps its own")
def _():
    run = work()
    named = [(e["fields"]["name"], e["fields"]["tid"]) for e in run.events("comm")]
    (tid,) = {e["tid"] for e in run.events("range") if e["fields"]["name"] == "work"}
    equal([n for n in named if n[0].startswith("itt-")], [("itt-worker", tid)], "names")
    path = new_path() + ".json"
    must("timeline", "-o", path, run.path)
    with open(path, encoding="utf-8") as text:
        shown = text.read()
    for name in ("itt-worker", "ITT: app", "ITT: io", "step", "left"):
        expect(name in shown, "%s is not in the timeline" % name)
    expect("NVTX" not in shown and "itt-main" not in shown, "a track of NVTX, or the main thread's name")


@case("counters have the values that the program gave them")
def _():
    for more in ({}, {"INTEL_LIBITTNOTIFY64": COUNTS}):
        run = work("counters", **more)
        found = {name: [value for _, value in values] for name, values in readings(run).items()}
        equal(found, {"app: queue": [1, 2, 3, 4, 5, 2], "app: load": [0.25], "app: early": [7], "app: hits": [1, 2, 3]},
              "values with %s" % more)
        equal(len(notes_of(run, "itt.negative")), 1, "notes of a negative value")
        expect("app: queue" in must("report", "counters", run.path), "the table of counters")


@case("a collector that others have named is called behind ours, and sees what it sees alone")
def _():
    for more in ({}, {"ITT_COUNTS_MAKES": "1"}):
        for how in ("all", "counters"):
            seen, path = witness(how, **more), new_path()
            equal((seen["init "], seen["fini "]), (1, 1), "what it sees alone")
            run = work(how, INTEL_LIBITTNOTIFY64=COUNTS, ITT_COUNTS=path, **more)
            equal(file_of(path), seen, "what it sees with aflame, %s" % more)
            # It did not make the counter that was there before ITT began.
            expect(not [k for k in seen if "strange" in k and k != "value strange early"], "strange calls: %s" % seen)
            expect(notes_of(run, "itt")[0].endswith("calls go on to " + COUNTS), "note: %s" % notes_of(run, "itt"))
            if how == "all":
                truth = counts_of(run.stdout.decode())
                equal(counted(run), truth, "what aflame sees with it")
                of_both = {k: v for k, v in truth.items() if k not in NOT_WITNESSED and k not in ("marker here", "frame app")}
                equal({k: seen.get(k) for k in of_both}, of_both, "what both see")


@case("a collector without __itt_api_init is called as well")
def _():
    seen, path = witness("all", OLD_COUNTS), new_path()
    equal(seen["task step"], 5, "what it sees alone")
    run = work(INTEL_LIBITTNOTIFY64=OLD_COUNTS, ITT_COUNTS=path)
    equal(file_of(path), seen, "what it sees with aflame")
    equal(counted(run)["task step"], 5, "what aflame sees with it")


@case("a collector that does not exist is reported, and the program runs on")
def _():
    run = work(INTEL_LIBITTNOTIFY64="/nowhere/collector.so")
    expect("/nowhere/collector.so" in notes_of(run, "itt.collector")[0], "note: %s" % notes_of(run, "itt.collector"))
    equal(counted(run)["task step"], 5, "steps")


@case("--api chooses ITT or leaves it and another collector alone, and doctor names that collector")
def _():
    path = new_path()
    run = work(options=["--api", "none"], INTEL_LIBITTNOTIFY64=COUNTS, ITT_COUNTS=path)
    equal((run.fields("range"), file_of(path)["task step"]), ([], 5), "ranges with --api none, and the other's steps")
    run = work(options=["--api", "itt"])
    equal(counted(run)["task step"], 5, "steps with --api itt")
    equal(probes()["itt"], None, "doctor's judgement")
    done = subprocess.run([AFLAME, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          env=environment(INTEL_LIBITTNOTIFY64=COUNTS))
    (line,) = [c for c in json.loads(done.stdout)["collectors"] if c["name"] == "itt"]
    expect(line["says"].endswith("hands calls on to " + COUNTS), "doctor: %s" % line)


@case("ends without beginnings, escapes in names, odd arguments and ranges open at the exit do no harm")
def _():
    run = work("hostile")
    equal(run.stdout, b"done\n", "output")
    # The last is open when ITT ends, the overlapping ones when the program does.
    equal((balance(run), starts_and_ends(run)), ([("ITT: app", 1)], ["never"]), "open ranges")
    equal(len(ranges(run, "PUSH", "ITT: io")), 64, "tasks within one another")
    equal(sum(f["count"] for f in run.fields("lost") if f["reason"] == "TABLE_FULL"), 36, "those too deep")
    equal(len([r for r in ranges(run, "START") if r["name"] == "twice"]), 2, "begun twice")
    shown = must("print", "-k", "range", run.path)
    expect("red" in shown and "\033" not in shown and "\007" not in shown, "escapes are printed")
    for view in (("timeline", "-o", new_path() + ".json"), ("report",)):
        must(*view, run.path)


@case("a forked child ends nothing of its parent's, and has its own ranges and counters")
def _():
    run = work("forks")
    parent, child = sorted({e["process"] for e in run.events("reading")})
    edges = [(e["process"] == child, e["fields"]["edge"], e["fields"]["name"]) for e in run.events("range")]
    equal([e[1:] for e in edges if not e[0]],
          [("PUSH", "parent"), ("START", "both"), ("END", ""), ("POP", "")], "of the parent")
    equal([e[1:] for e in edges if e[0]], [("PUSH", "child"), ("POP", "")], "of the child")
    for process, value in ((parent, 1), (child, 2)):
        equal([v for _, v in readings(run, process)["app: queue"]], [value], "values")


@case("four threads: every task, and every value of their counter, once")
def _():
    run = work("stress")
    counts = collections.Counter(r["edge"] for r in run.fields("range"))
    lost = sum(f["count"] for f in run.fields("lost"))
    values = sorted(int(v) for _, v in readings(run)["app: stress"])
    if not lost:
        equal(dict(counts), {"PUSH": 80000, "POP": 80000, "START": 80000, "END": 80000}, "edges")
        equal(values, list(range(1, 80001)), "values")
    expect(len(values) + lost >= 80000, "values: %d, lost: %d" % (len(values), lost))


@case("a static part of 2010 is left alone, and reported")
def _():
    run = work(ITT_SAY_BUILD="20101001")
    expect(run.stdout.endswith(b"done\n") and not run.fields("range"), "output: %s" % run.stdout)
    expect("not recorded" in notes_of(run, "itt")[0], "note: %s" % notes_of(run, "itt"))


@case("TBB: each run of a node of a flow graph is a task, and each event a mark")
def _():
    run = record(program("tbb_flow"), "50", env=environment())
    equal(run.stdout, b"42925\n", "the program's result")
    flow = collections.Counter((r["edge"], r["name"]) for r in ranges(run, domain="ITT: tbb.flow"))
    equal((flow["PUSH", "body"], flow["MARK", "user_event = FGA::DATAID::added"]), (100, 50), "bodies and events")
    open_ranges = [b for b in balance(run) if b[0] == "ITT: tbb.flow"]
    equal((open_ranges, starts_and_ends(run)), ([], []), "open ranges")


@case("LLVM's OpenMP: each parallel region is a frame with --api itt:full, and left out without")
def _():
    path = os.path.join(WORKPLACE, "omp_frames")
    source = os.path.join(SCRIPTS, "omp_frames.c")
    done = subprocess.run([need_own_tool("clang-19"), "-O1", "-g", "-fopenmp", source, "-o", path],
                          stderr=subprocess.PIPE, check=False)
    expect(not done.returncode, done.stderr.decode("utf-8", "replace"))
    run = record(path, "20", env=environment())
    equal((run.events("reading"), run.events("range")), ([], []), "without")
    expect("--api itt:full" in notes_of(run, "itt.left_out")[0], "note: %s" % notes_of(run, "itt.left_out"))
    run = record(path, "20", options=["--api", "itt:full"], env=environment())
    found = {k: len(v) for k, v in readings(run).items() if "$omp$parallel:2" in k}
    equal(list(found.values()), [20], "frames: %s" % found)


run_cases()
