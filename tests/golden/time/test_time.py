#!/usr/bin/env python3
"""Time: the slices in report.html add up to its trees, times next to each other to the whole, and a
heat map to the slices. Traces are those of the other golden tests.

    test_time.py MKTRACE AFLAME [WORDS]     UPDATE=1 rewrites the heat maps that are expected"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../live"), HERE]
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from page import Page
from tap import case, equal, expect, note, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-time-")
WORK = _work.name
os.environ.update(XDG_CACHE_HOME=WORK, AFLAME_NVDISASM="none")
PATHS = sorted(
    path
    for kind in ("analyse", "annotate", "timeline", "trace")
    for path in glob.glob(os.path.join(HERE, "..", kind, "*.trace"))
)
# Its trees share work among stacks; a slice has the stack that was recorded, or none.
APPORTIONED = "chosen"
TRACES = {}


def trace(name):
    if name not in TRACES:
        path = next(p for p in PATHS if os.path.basename(p) == name + ".trace")
        TRACES[name] = os.path.join(WORK, name)
        subprocess.run([MKTRACE, path, TRACES[name]], check=True)
    return TRACES[name]


NAMES = [os.path.basename(path)[:-6] for path in PATHS]


def run(*words, status=0):
    done = subprocess.run(
        [AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True
    )
    equal(done.returncode, status, "exit status of %s: %s" % (" ".join(words), done.stderr))
    return done.stdout if not status else done.stderr


def page(name, *options):
    return Page(run("flame", "-o", "-", "--format", "html", *options, trace(name)))


def folded(name, *options):
    """stack → weight; nothing where the trace has nothing of it."""
    done = subprocess.run(
        [AFLAME, "flame", *options, trace(name)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    return {
        line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()
    }


def chart(name, *options):
    """What the chart shows, in its order: (stack, weight); and what is reported of it."""
    done = subprocess.run(
        [AFLAME, "flame", "--flamechart", *options, trace(name)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    return [(stack, int(weight)) for stack, weight in lines], done.stderr


def check_sums(name, *options):
    shown = page(name, *options)
    if not shown.time or shown.time["left_out"]:
        return 0
    checked = 0
    for label in ("cpu", "gpu"):
        if label not in shown.trees:
            continue
        slices = shown.of_view(label)
        what = "%s %s %s" % (name, " ".join(options), label)
        equal(sum(s.weight for s in slices), shown.total(label, "time"), what)
        if label == "cpu":
            equal(sum(s.count for s in slices), shown.total(label, "samples"), what)
        expect(all(s.node > 1 for s in slices), "%s: a slice has no node" % what)
        nodes = [shown.names[name] for name in shown.trees[label][1]]
        # A graph that was timed as a whole is the frame of the graph.
        for one in slices:
            name = nodes[one.node - 1]
            expect(name == shown.names[one.name] or name.startswith("[graph "), what + name)
        checked += len(slices)
    return checked


@case("the slices of a page weigh what its trees do, to the nanosecond")
def _():
    note("%d slices" % sum(check_sums(name) for name in NAMES if name != APPORTIONED))
    expect(check_sums("ranges"), "no slices were looked at")


@case("so they do by device, by stream, by range, and inside of one")
def _():
    for name in ("cuda", "ranges", "insns", "shared", "idle", "host"):
        for options in (["--group", "device"], ["--group", "stream"], ["--group", "rank"]):
            check_sums(name, *options)
    expect(check_sums("ranges", "--ranges"), "no slices")
    expect(check_sums("ranges", "--range", "step"), "no slices")
    expect(check_sums("ranges", "--ranges", "--range", "forward"), "no slices")


@case("each node has by its slices what the tree has there and below")
def _():
    shown = page("idle")
    weights, nodes = shown.trees["cpu"]
    by_node = [0] * len(nodes)
    for one in shown.of_view("cpu"):
        by_node[one.node - 1] += one.weight
    equal(by_node, weights["time"], "self time")


@case("arrows lead from calls to their work")
def _():
    for name, least in (("cuda", 3), ("gpu", 1), ("opencl", 2)):
        shown = page(name)
        calls, works = set(), set()
        for index, track in enumerate(shown.tracks):
            flows = {s.flow for s in shown.slices(index)} if track["slice"] else set()
            if track["slice"] == "call":
                calls |= flows - {None}
            else:
                works |= flows - {None}
        expect(len(calls & works) >= least, "%s: %d arrows" % (name, len(calls & works)))
        expect(works <= calls, "%s: an arrow comes from nowhere" % name)


@case("tracks stand after their parents, and counters have points in order")
def _():
    for name in NAMES:
        shown = page(name)
        for index, track in enumerate(shown.tracks):
            expect(-1 <= track["parent"] < index, "%s: track %d" % (name, index))
            if track["kind"] == "counter":
                times = [time for time, _ in shown.points(index)]
                equal(times, sorted(times), "times")


@case("a page is the same bytes each time")
def _():
    for name in ("cuda", "ranges", "host"):
        equal(page(name).text, page(name).text, "page")


def pieces(ends):
    """Options for the time up to each of @ends, in ns, and for what comes after."""
    before = None
    for end in ends + [None]:
        options = ["--from", "%dns" % before] if before else []
        yield options + (["--to", "%dns" % end] if end else [])
        before = end


@case("times next to each other add up to the whole")
def _():
    for name, ends in (
        ("idle", [600, 1300, 3000]),
        ("cuda", [1000, 1250, 1350, 2500]),
        ("ranges", [1100, 1175, 1900, 4000]),
        ("host", [200, 250, 333]),
        ("insns", [1000, 40000000]),
        ("kernel", [20, 41]),
        ("waits", [10, 25, 33]),
    ):
        for view in ("cpu", "gpu", "all"):
            for weight in ("time", "samples", "count", "bytes", "off-cpu"):
                options = ["--view", view, "-w", weight]
                # A launch of "cuda" has no times: it is in no piece.
                all_of_it = ["--to", "1h"] if (name, weight) == ("cuda", "count") else []
                whole, parts = folded(name, *options, *all_of_it), {}
                for piece in pieces(ends):
                    for stack, value in folded(name, *options, *piece).items():
                        parts[stack] = parts.get(stack, 0) + value
                if view != "cpu" and name in ("insns", "host"):
                    # Below kernels time is split by the samples of each piece, and samples are
                    # split over what ran: where depends on the windows that there are.
                    whole, parts = sum(whole.values()), sum(parts.values())
                    # Three are of a window whose time the trace does not have.
                    parts += 3 if (name, weight) == ("insns", "samples") else 0
                equal(parts, whole, "%s %s %s" % (name, view, weight))


SUMS = {
    "kernels": (("kernel", "device"), ("time_ns", "calls")),
    "copies": (("operation", "device"), ("time_ns", "calls", "bytes")),
    "devices": (("device",), ("work_ns", "works")),
    "calls": (("function",), ("time_ns", "calls", "failed")),
    "blocked": (("path", "state"), ("time_ns", "waits")),
    "calls_seen": (("function",), ("calls",)),
}


def sums(name, *options):
    """(table, row, column) → value, of what adds up in a report."""
    found = {}
    text = run("report", "--json", "--limit", "0", *options, trace(name))
    for table in json.loads(text)["tables"]:
        keys, columns = SUMS.get(table["name"], ((), ()))
        for row in table["rows"] if keys else []:
            key = tuple(row[k] for k in keys)
            for column in set(columns) & set(row):
                at = (table["name"], key, column)
                found[at] = found.get(at, 0) + (row[column] or 0)
    return {at: value for at, value in found.items() if value}


@case("so do launches, calls and waits of tables, wherever the times cut them")
def _():
    seen = set()
    for name, spans in (("cuda", 4000), ("idle", 3300), ("mixed", 3000), ("waits", 60),
                        ("family", 5000), ("gpu", 4000)):
        whole = sums(name, "--to", "1h")
        for parts in (2, 3, 7):
            together = {}
            for piece in pieces([spans * k // parts for k in range(1, parts)]):
                for at, value in sums(name, *piece).items():
                    together[at] = together.get(at, 0) + value
            equal(together, whole, "%s in %d" % (name, parts))
        seen |= {(table, column) for table, _, column in whole}
    note(", ".join(sorted("%s: %s" % at for at in seen)))
    expect({("kernels", "calls"), ("calls", "calls"), ("blocked", "waits")} <= seen, seen)


def by_instruction(name, *options):
    """What each instruction has for each reason, whoever launched it."""
    found = {}
    for stack, samples in folded(name, "--view", "gpu", "--depth", "stall", "-w", "samples",
                                 *options).items():
        key = ";".join(f for f in stack.split(";") if f[-4:] in ("_[G]", "_[g]") and f[:7] != "[graph ")
        found[key] = found.get(key, 0) + samples
    return found


@case("so do samples of instructions, one by one, wherever windows are cut")
def _():
    for name, ends in (
        ("insns", [1100, 1250, 1520, 20011500, 20012700, 50000150, 80000050]),
        ("insns", [1333, 50000070, 50000999]),
        ("code", [1700, 2300, 3100]),
        ("code", [2000]),
        ("host", [200, 250, 333]),
    ):
        whole, together = by_instruction(name, "--to", "1h"), {}
        for piece in pieces(ends):
            for at, value in by_instruction(name, *piece).items():
                together[at] = together.get(at, 0) + value
        equal(together, whole, "%s at %s" % (name, ends))
        note("%s: %d samples of %d instructions" % (name, sum(whole.values()), len(whole)))


def outputs(*words):
    done = subprocess.run([AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return done.stdout, done.stderr


@case("of a time is reported how much of its samples are apportioned, and which kernels have none")
def _():
    time = ["--from", "1250ns", "--to", "20012us"]
    text, reported = outputs("flame", "--view", "gpu", "--depth", "insn", "-w", "samples", *time,
                      trace("insns"))
    total = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
    expect("%d samples of instructions: " % total in reported, reported)
    expect(") of windows that reach out of that time, apportioned by when" in reported, reported)
    expect("have none" in outputs("flame", "--view", "gpu", "--from", "20001us", "--to",
                             "20002us", trace("insns"))[1], "a kernel without samples")
    _, whole = outputs("flame", "--view", "gpu", trace("insns"))
    expect("reach out" not in whole and "have none" not in whole, whole)
    time = ["--from", "1700ns", "--to", "3100ns"]
    text, reported = outputs("annotate", "--json", *time, trace("code"))
    equal(text, run("report", "annotate", "--json", *time, trace("code")), "report annotate")
    tables = {t["name"]: t for t in json.loads(text)["tables"]}
    shown, kernel = tables["insns"], {row["key"]: row["value"] for row in tables["kernel"]["rows"]}["kernel"]
    equal(
        sum(row["samples"] for row in shown["rows"]),
        sum(
            samples
            for at, samples in by_instruction("code", *time).items()
            if at.startswith(kernel + "_[G];") and at.count("_[G]") == 1
        ),
        "samples of the kernel in annotate, and in the flame graph",
    )
    reported = outputs("annotate", "--from", "1h", trace("code"))[1]
    expect("no samples of a device's instructions in that time" in reported, reported)


@case("a page of a time has the slices and the trees of that time")
def _():
    for name, options in (
        ("idle", ["--from", "600ns", "--to", "1300ns"]),
        ("cuda", ["--from", "1250ns"]),
        ("ranges", ["--to", "1900ns"]),
    ):
        expect(check_sums(name, *options), "%s: no slices" % name)
        shown = page(name, *options)
        for view in ("cpu", "gpu"):
            if view in shown.trees:
                flame = folded(name, "--view", view, *options)
                equal(shown.total(view, "time"), sum(flame.values()), "%s %s" % (name, view))


@case("reports of a time have what its flame graph has")
def _():
    time = ["--from", "600ns", "--to", "3000ns"]
    text = run("report", "--json", "--limit", "0", *time, trace("idle"))
    tables = {table["name"]: table for table in json.loads(text)["tables"]}
    run_rows = {row["key"]: row["value"] for row in tables["run"]["rows"]}
    equal(run_rows["shown"], "from 0.600 us to 3.000 us", "the time that is reported")
    views = {"gpu": (("kernels", "time_ns"), ("copies", "time_ns")), "cpu": (("cpu_top", "self"),)}
    for view, shown in views.items():
        total = 0
        for table, column in shown:
            total += sum(row[column] for row in tables[table]["rows"])
        equal(total, sum(folded("idle", "--view", view, *time).values()), view)


def scope(name, *options):
    text = run("flamescope", "--json", *options, trace(name))
    return {table["name"]: table["rows"] for table in json.loads(text)["tables"]}


def cells_of(shown, view, each):
    """Samples by the moments of slices with one each, or ns, by cell: as the page does it."""
    cells = {}
    for one in shown.of_view(view):
        if view == "cpu":
            equal(one.count, 1, "samples of a slice")
            cell = max(0, one.start + one.length - 1) // each
            cells[cell] = cells.get(cell, 0) + 1
            continue
        at, end = one.start, one.start + one.length
        while at < end:
            cell = at // each
            part = min(end, (cell + 1) * each) - at
            cells[cell] = cells.get(cell, 0) + part
            at += part
    return cells


@case("a heat map has what the slices have")
def _():
    for name, view in (("idle", "gpu"), ("cuda", "gpu"), ("ranges", "cpu"), ("reuse", "cpu")):
        shown = page(name)
        for period in (1000, 10000):
            tables = scope(name, "--view", view, "--period", "%dns" % period)
            each = period // 50
            column = "count" if view == "cpu" else "time_ns"
            got = {r["column"] * 50 + r["row"]: r[column] for r in tables["heat"] if r[column]}
            equal(got, cells_of(shown, view, each), "%s in %d ns" % (name, period))
            expect(all(r["start_ns"] == (r["column"] * 50 + r["row"]) * each for r in tables["heat"]), "starts")


@case("of a thread or a device there is what it did, and nothing where it is none")
def _():
    whole = folded("ranges", "--view", "cpu")
    parts = {}
    for thread in ("101", "102"):
        text = run("flamescope", "--from", "1ns", "--thread", thread, trace("ranges"))
        for line in text.splitlines():
            stack, value = line.rsplit(" ", 1)
            parts[stack] = parts.get(stack, 0) + int(value)
    equal(parts, whole, "both threads")
    equal(
        scope("idle", "--device", "1")["heat"],
        scope("idle", "--view", "gpu")["heat"],
        "the only device",
    )
    reported = run("flamescope", "--thread", "7", trace("ranges"), status=1)
    expect("has no data for --view cpu of what is asked for" in reported, reported)


@case("intervals are a series, as lines and as files")
def _():
    rows = scope("family", "--interval", "1s")["intervals"]
    expect(rows[0]["from_ns"] == 0 and all(a["to_ns"] == b["from_ns"] for a, b in zip(rows, rows[1:])), rows)
    equal(sum(r["count"] for r in rows), page("family").total("cpu", "samples"), "samples")
    out = os.path.join(WORK, "part.folded")
    files = run("flamescope", "--interval", "1s", "-o", out, trace("family")).splitlines()
    equal(sorted(files), files, "the names of files, in order of time")
    total = 0
    for path in files:
        with open(path, encoding="utf-8") as f:
            total += sum(int(line.rsplit(" ", 1)[1]) for line in f)
    equal(total, page("family").total("cpu", "time"), "time in all files")


def kernels_of(path, *options):
    """For each interval: how many samples, the kernel with most of them, and its share in percent"""
    tables = json.loads(run("flamescope", "--view", "gpu", "--json", *options, path))["tables"]
    rows = next(t["rows"] for t in tables if t["name"] == "intervals")
    return [(r["count"], r["function"], r["share"]) for r in rows]


@case("samples of addresses are spread over their windows, with the kernels that attribution found")
def _():
    with open(os.path.join(HERE, "addresses.trace"), encoding="utf-8") as f:
        text = f.read()
    path = os.path.join(WORK, "addresses")
    subprocess.run([MKTRACE, os.path.join(HERE, "addresses.trace"), path], check=True)
    first = [(200, "alpha", 75)] * 4 + [(200, "beta", 100)] * 5 + [(300, "alpha", 40)] + [(400, "alpha", 60)] * 2
    both = [(400, "gamma", 50)] * 4 + [(400, "beta", 50)] * 4 + first[8:]
    equal(kernels_of(path, "--interval", "1ms", "--device", "1"), first, "of the recorder's first device")
    equal(kernels_of(path, "--interval", "1ms", "--device", "2"), [(200, "gamma", 100)] * 8, "of its second")
    equal(kernels_of(path, "--interval", "1ms"), both, "of both")
    parts = [kernels_of(path, "--interval", "1ms", *edges) for edges in
             (("--to", "2ms"), ("--from", "2ms", "--to", "6ms"), ("--from", "6ms"))]
    equal(sum(parts, []), both, "of time ranges, whose edges cut windows")
    maps = [run("flamescope", "--view", "gpu", "--json", *edges, path) for edges in
            (("--to", "2ms"), ("--from", "2ms", "--to", "6ms"), ("--from", "6ms"), ())]
    counts = [sum(r["count"] for t in json.loads(m)["tables"] if t["name"] == "heat" for r in t["rows"]) for m in maps]
    equal(counts, [800, 1600, 2100, 4500], "samples in maps of these")
    # alpha has 600 + 120 of 4,500 - 800 samples up to 10 ms, beta 200 + 1,100, gamma 1,600
    rows = kernels_of(path, "--interval", "10ms")
    equal([(n, name) for n, name, _ in rows], [(3700, "gamma"), (800, "alpha")], "of 10 ms")
    folder = os.path.join(WORK, "ranks")
    os.mkdir(folder)
    for rank in "01":
        lines = ["   0.000000000 s30 p0  100/100       note         key=\"%s\" value=\"%s\"\n" % note
                 for note in (("rank", rank), ("pid", "10" + rank), ("host", "n, Linux"), ("aflame", "1.0"))]
        with open(folder + ".trace", "w", encoding="utf-8") as f:
            f.write(text + "".join(lines))
        subprocess.run([MKTRACE, folder + ".trace", folder + "/rank-000" + rank], check=True)
        os.rename(folder + "/rank-000" + rank + "/s30", folder + "/rank-000" + rank + "/recorder")
    equal(kernels_of(folder, "--interval", "1ms"), [(2 * n, name, share) for n, name, share in both], "of a set")


def expected(name, text):
    path = os.path.join(HERE, name)
    if os.environ.get("UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with open(path, encoding="utf-8") as f:
        equal(text, f.read(), name)


@case("the heat map as text and as SVG")
def _():
    os.environ["COLUMNS"] = "100"
    expected("ranges.txt", run("flamescope", trace("ranges")))
    expected("idle.txt", run("flamescope", "--view", "gpu", "--period", "1us", trace("idle")))
    out = os.path.join(WORK, "idle.svg")
    run("flamescope", "--view", "gpu", "--period", "1us", "--title", "<&>", "-o", out, trace("idle"))
    with open(out, encoding="utf-8") as f:
        svg = f.read()
    xml.dom.minidom.parseString(svg)
    expected("idle.svg", svg)


@case("what cannot be asked is refused in words")
def _():
    for words, text in (
        (["flame", "--from", "2s", "--to", "1s"], "--to is not after --from"),
        (["flame", "--folded", "-", "--from", "1s"], "folded text has no times"),
        (["flamescope", "--from", "2s", "--to", "1s"], "--to is not after --from"),
        (["flamescope", "-o", "map.html"], "a heat map goes to .svg"),
        (["flamescope", "--to", "1s", "-o", "x.gif"], "a flame graph goes to .svg"),
        (["flamescope", "--view", "cpu", "--device", "1"], "--device is for --view gpu"),
        (["flamescope", "--period", "7ns"], "--period takes"),
    ):
        reported = run(*words, *([] if "--folded" in words else [trace("idle")]), status=2)
        expect(text in reported, reported)
    reported = run("flame", "--view", "gpu", "--from", "1h", trace("idle"), status=1)
    expect("has no data for --view gpu in that time" in reported, reported)



@case("a flame chart has the stacks and the sums of the flame graph, of any part of the run")
def _():
    charts, untimed = 0, set()
    for name in NAMES:
        for view in ("cpu", "gpu", "all"):
            for part in ((), ("--from", "1us"), ("--to", "300us")):
                if (name, view) == ("host", "all") or name == APPORTIONED:
                    continue  # kernels are samples of the CPU too
                options = ("--view", view, "--depth", "kernel", *part)
                sums = {}
                shown, reported = chart(name, *options)
                for stack, weight in shown:
                    sums[stack] = sums.get(stack, 0) + weight
                want = {s: w for s, w in folded(name, *options).items() if w}
                got = {s: w for s, w in sums.items() if w}
                if "in order of time" in reported or "data with times" in reported:
                    untimed.add(name)  # no clock of the device: no times of its work
                    expect(all(w <= want[s] for s, w in got.items()), (got, want))
                elif 2**64 - 1 not in want.values():
                    equal(got, want, (name, *options))
                charts += bool(want)
    note("%d charts; works without times in %s" % (charts, ", ".join(sorted(untimed))))
    expect(charts > 50, "only %d charts" % charts)


@case("a flame chart has each stretch at its place, and no thread goes on in another")
def _():
    path = os.path.join(WORK, "stretches")
    subprocess.run([MKTRACE, os.path.join(HERE, "stretches.trace"), path], check=True)
    shown = run("flame", "--flamechart", "--view", "cpu", path).splitlines()
    want = [("main;f", 10), ("main", 20), ("main;g", 40), ("main;f", 480), ("main;f", 80)]
    equal(shown, ["app;%s %d" % line for line in want], "stretches")
    svg = run("flame", "--flamechart", "--view", "cpu", "--format", "svg", path)
    boxes = re.findall(r"<title>(\w+) \((\d+) ns", svg)
    equal(boxes, [("all", "630"), ("app", "630"), ("main", "550"), ("f", "10"), ("g", "40"),
                  ("f", "480"), ("main", "80"), ("f", "80")], "boxes")


@case("a flame chart of what has no order is refused")
def _():
    for name, words, *options in (
        ("gpu", "--view cpu, gpu or all", "--view", "idle"),
        ("gpu", "time or samples, not bytes", "--view", "gpu", "-w", "bytes"),
        ("host", "has no time order", "--view", "all"),
    ):
        done = subprocess.run([AFLAME, "flame", "--flamechart", *options, trace(name)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect(done.returncode and words in done.stderr.decode(), done.stderr)



@case("idle time before, between and after work of a device fills the time that is asked for")
def _():
    for start, end in ((0, 800), (800, 1200), (1000, 1500), (1200, 3500)):
        words = ["--from", "%dns" % start] if start else []
        tables = json.loads(run("report", "gaps", "--json", *words, "--to", "%dns" % end,
                                trace("idle")))["tables"]
        idle = next(table for table in tables if table["name"] == "idle")
        for row in idle["rows"]:
            sums = [row[title] for title in ("before_ns", "span_ns", "after_ns")]
            begun = 30 if not start else 0  # the process is not there before
            equal(sum(sums), end - start - begun, "%s of %d to %d" % (sums, start, end))


run_cases()
