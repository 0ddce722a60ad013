#!/usr/bin/env python3
"""What the commands make of one trace: every format, view and weight tells the same, twice."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree

from machine import AFLAME, BUILD, SOURCE, any_sampler, need, need_tool, program
from recording import aflame, bare, must, new_path, parse_folded, record, sampled
from shares import having, weight_of
from stranger import Stranger
from tap import Skip, case, equal, expect, near, note, run_cases

SVG = "{http://www.w3.org/2000/svg}"


@functools.lru_cache(maxsize=None)
def one_run():
    """One recording of shares for all cases that only read."""
    return sampled("0.4")


@functools.lru_cache(maxsize=None)
def device():
    """One recording of device work and samples."""
    need("opencl")
    return record(program("cl_paths"), "0.3", sampler=any_sampler(), rate=997)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# --- flame


@case("a flame graph is folded text, SVG, HTML or indented text by the name of its file")
def _():
    run = one_run()
    begins = {".folded": b"shares;", ".svg": b"<?xml", ".html": b"<!doctype html>", ".txt": b""}
    for suffix, begin in begins.items():
        path = new_path("out") + suffix
        equal(must("flame", "-o", path, run.path), "", "standard output")
        data = read(path)
        expect(
            data.lower().startswith(begin) and len(data) > 50,
            "%s begins with %r" % (suffix, data[:60]),
        )
        if suffix != ".html":
            for name in (b"main", b"run", b"a"):
                expect(name in data, "%s is not in the %s" % (name, suffix))
    equal(must("flame", run.path), read_folded(run), "folded text on standard output")


def read_folded(run):
    path = new_path("out") + ".folded"
    must("flame", "-o", path, run.path)
    return read(path).decode()


@case("an output replaces an old file whole, and a format may be named for any file")
def _():
    path = new_path("out")
    with open(path, "wb") as file:
        file.write(b"x" * 10000000)
    must("flame", "-o", path, "--format", "svg", one_run().path)
    data = read(path)
    expect(
        data.startswith(b"<?xml") and data.rstrip().endswith(b"</svg>"),
        "the old file shows through",
    )
    equal(
        must("flame", "-o", "-", "--format", "svg", one_run().path).encode(),
        data,
        "SVG on standard output",
    )


@case("the sums of the folded text are those of the samples")
def _():
    run = one_run()
    samples = run.fields("sample")
    equal(sum(w for _, w in run.stacks(weight="time")), sum(s["weight_ns"] for s in samples), "ns")
    equal(sum(w for _, w in run.stacks(weight="samples")), len(samples), "samples")


@case("the SVG shows the shares of the folded text")
def _():
    run = one_run()
    path = new_path("out") + ".svg"
    must("flame", "-o", path, "--minwidth", "0", run.path)
    root = xml.etree.ElementTree.parse(path).getroot()
    titles = [t.text for t in root.iter(SVG + "title")]
    stacks = run.stacks()
    total = sum(w for _, w in stacks)
    for name in "abc":
        want = 100 * weight_of(stacks, having("run", name)) / total
        title = [t for t in titles if re.match(r"%s[ (:]" % name, t)]
        expect(len(title) == 1, "titles of %s: %s" % (name, title))
        got = float(re.search(r"([\d.]+) ?%", title[0]).group(1))
        near(got, want, 0.011, "per cent of " + name)


@case("an SVG of folded text is the SVG of its trace")
def _():
    run = one_run()
    folded = new_path("out") + ".folded"
    must("flame", "-o", folded, run.path)
    # From the leaves, clock_gettime of libc and of the vdso are two in the trace, one in folded text: there, a
    # trace that has names alone is held against it.
    names = new_path("names")
    must("import", "-q", "-o", names, folded)
    for words, trace in ([], run.path), (["--inverted"], run.path), (["--reverse"], names):
        one = must("flame", "--format", "svg", "--show-glue", "--height", "16", *words, trace)
        two = must("flame", "--format", "svg", "--height", "16", *words, "--folded", folded)
        frame = r'<rect x="\d+\.\d\d" y="[\d.]+" width="[\d.]+"'  # not those of the legend
        shapes = [sorted(re.findall(frame, svg)) for svg in (one, two)]
        expect(len(shapes[0]) > 5, "only %d frames" % len(shapes[0]))
        equal(shapes[1], shapes[0], "rectangles %s" % words)


@case("views are of the samples, of the device, and of both")
def _():
    run = device()
    sums = {
        view: sum(w for _, w in run.stacks(view=view, weight="count"))
        for view in ("cpu", "gpu", "all")
    }
    note(sums)
    launches = run.counts()["launch"]
    equal(sums["gpu"], launches, "pieces of work in --view gpu")
    equal(sums["all"], sums["gpu"], "pieces of work in --view all")
    time = {view: sum(w for _, w in run.stacks(view=view)) for view in ("gpu", "all")}
    expect(time["all"] >= time["gpu"] > 0, "times %s" % time)
    for frames, _ in run.stacks(view="gpu"):
        last = frames[-1].endswith(("_[G]", "_[g]"))
        expect(last, "a path that does not end on the device: %s" % frames)


@case("weights are time, count and bytes of the device")
def _():
    need("opencl")
    run = record(program("cl_copies"), "0.3")
    equal(
        sum(w for _, w in run.stacks(view="gpu", weight="bytes")),
        sum(v for k, v in run.truth.items() if k.startswith("bytes.")),
        "bytes",
    )
    equal(
        sum(w for _, w in run.stacks(view="gpu", weight="count")),
        sum(v for k, v in run.truth.items() if k.startswith("calls.")),
        "count",
    )
    spent = sum(busy_ns(f) for f in run.fields("work") + run.fields("work_long"))
    near(
        sum(w for _, w in run.stacks(view="gpu", weight="time")) / spent,
        1,
        0.001,
        "device time over that of the events",
    )


def busy_ns(work):
    return work["busy_ns"] if "busy_ns" in work else (work["end_ns"] or 0) - (work["start_ns"] or 0)


@case("a process goes by what it was called, and by what it called itself last")
def _():
    sampler = any_sampler()
    perl = need_tool("perl")
    link = new_path()
    os.symlink(perl, link)
    spin = "for (1..2e6) { $x += $_ } "
    cat = "open F, '/proc/self/comm'; print <F>"
    for words, what in (
        ([link, "-e", spin + cat], "called by a link"),
        ([perl, "-e", "$0 = 'pool-worker'; " + spin + cat], "renamed itself"),
        ([perl, "-e", "$0 = 'first'; $0 = 'then'; " + spin + cat], "renamed itself twice"),
        (["sh", "-c", "exec perl -e '%s'" % (spin + cat).replace("'", '"')], "after exec"),
    ):
        run = record(*words, sampler=sampler)
        comm = run.stdout.decode().strip()
        names = {stack[0] for stack, _ in run.stacks()}
        expect(any(name.startswith(comm) for name in names), "%s: %s, not %s" % (what, comm, names))


@case("folded text read and written again is the same")
def _():
    text = must("flame", one_run().path)
    again = aflame("flame", "--folded", "-", input=text.encode(), stdin=None)
    equal((again.returncode, again.stdout), (0, text), "(status, text)")


@case("reports have no address of anything outside of themselves")
def _():
    path = new_path("out") + ".html"
    must("flame", "-o", path, device().path)
    text = read(path).decode("utf-8")
    found = [
        u
        for u in re.findall(r"https?://[^\"'\s<>)]+", text)
        if not u.startswith("http://www.w3.org/")
    ]
    equal(found, [], "addresses in report.html")
    equal(
        re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?!data:)[^\"'>]+", text),
        [],
        "what it would load",
    )


# --- report and print


@case("reports as JSON are one document, and say what the flame graph says")
def _():
    run = one_run()
    document = json.loads(must("report", "top", "--json", run.path))
    equal((document["format"], document["report"], document["view"]), (2, "top", "cpu"), "its head")
    tables = document["tables"]
    top = [t for t in tables if t["name"] == "cpu_top"][0]
    for table in tables:
        for row in table["rows"]:
            equal(list(row), [c["key"] for c in table["columns"]], "cells of a row of " + table["name"])
    rows = {row["function"]: row for row in top["rows"]}
    for name in "abc":
        self_ns = weight_of(run.stacks(), lambda f, n=name: f[-1] == n)
        equal(rows[name]["self"], self_ns, "self time of " + name)
    for line in must("report", "summary", "--json", run.path).splitlines():
        json.loads(line)


@case("report's limit is a number of rows")
def _():
    run = one_run()
    for limit in (1, 2):
        tables = json.loads(must("report", "top", "--json", "-n", limit, run.path))["tables"]
        expect(all(len(t["rows"]) <= limit for t in tables), "more than %d rows" % limit)
        for t in tables:
            rest = t.get("truncated", {"shown": limit, "rows": len(t["rows"])})
            equal((rest["shown"], rest["rows"]), (len(t["rows"]), t["nr_rows"]), "what is left out")


def report_of(run, *words):
    document = json.loads(must("report", *words, "--json", run.path))
    tables = {}
    for table in document["tables"]:
        tables[table["name"]] = table["rows"]
    return document, tables


@case("callers and callees add up to the function, which counts once in a stack")
def _():
    run = one_run()
    stacks = run.stacks()
    for name in ("a", "b", "main"):
        inside = weight_of(stacks, lambda f, n=name: n in f)
        for words, own in (("callers", "[no caller]"), ("callees", "[itself]")):
            document, tables = report_of(run, words, name, "-n", "0")
            equal(document["total"], inside, "%s of %s: total" % (words, name))
            equal(
                sum(row["weight"] for row in tables[words]), inside, "%s of %s" % (words, name)
            )
            tree = tables[words + "_tree"]
            equal(
                {r["function"]: r["weight"] for r in tables[words] if r["function"] != own},
                {r["frame"]: r["total"] for r in tree if r["depth"] == 1},
                "the first level of the tree of %s of %s" % (words, name),
            )
            by_id = report_of(run, words, tables["functions"][0]["id"], "-n", "0")[0]
            equal(by_id["total"], inside, "%s of %s by its id" % (words, name))


@case("the tree as JSON is the flame graph, place by place, and its ids are those of another run")
def _():
    ids = []
    for run in (one_run(), sampled("0.2")):
        document, tables = report_of(run, "tree", "-n", "0", "--view", "cpu")
        rows = tables["tree"]
        at = {row["id"]: row for row in rows}
        equal(len(at), len(rows), "ids that differ")
        equal(sum(row["self"] for row in rows), document["all"], "self weights in all")
        stacks = {}
        for row in rows:
            names, up = [], row
            while up:
                # Folded text has no module that tells functions apart: clock_gettime of libc and of the vdso.
                names.append(re.sub(r"^[^!]*!(?!fn_)", "", up["frame"]))
                up = at.get(up["below"])
            stacks[";".join(reversed(names))] = row["self"]
        folded = {";".join(map(bare, frames)): weight for frames, weight in run.stacks()}
        equal({s: w for s, w in stacks.items() if w}, folded, "stacks with their weights")
        expect(all(row["depth"] == 1 or row["below"] in at for row in rows), "a frame in the air")
        ids.append({row["frame"]: row["function"] for row in rows})
    both = set(ids[0]) & set(ids[1])
    expect(both, "the runs have no function in common")
    equal([n for n in both if ids[0][n] != ids[1][n]], [], "functions with two ids")


@case("focus, hide and search leave what they say, and search counts a stack once")
def _():
    run = one_run()
    stacks = run.stacks()
    everything = weight_of(stacks, lambda f: True)
    cpu = ("--view", "cpu", "-n", "0")
    for pattern in ("^[ab]$", "^main$|^a$"):
        inside = weight_of(stacks, lambda f: any(re.search(pattern, n) for n in f))
        for option in ("--search", "--focus"):
            document, tables = report_of(run, "tree", option, pattern, *cpu)
            equal((document["all"], document["total"]), (everything, inside), option)
            if option == "--focus":
                first = [r["frame"] for r in tables["tree"] if r["depth"] == 1]
                equal([n for n in first if not re.search(pattern, n)], [], "roots of --focus")
    document, tables = report_of(run, "top", "--hide", "^a$", *cpu)
    equal(document["total"], everything, "--hide loses weight")
    expect(all(row["function"] != "a" for row in tables["time_top"]), "--hide leaves a")
    text = must("report", "tree", "-n", "1", run.path)
    left_out = r"… and [\d,]+ more frames of [\d,]+, weighing .*--limit 0 shows all"
    expect(re.search(left_out, text), text)
    text = must("report", "tree", "--search", "^[ab]$", run.path)
    expect(re.match(r"What is left: .* of .* of the view all by time \([\d.]+ %\)", text), text)


@case("the summary tells the run: command, end, processes, samples, losses, costs")
def _():
    text = must("report", "summary", one_run().path)
    for pattern in (
        r"command +\S*/shares 0\.4",
        r"ended +with status 0",
        r"processes +1\b",
        r"CPU samples +\w+",
        r"What was lost\n +nothing",
        r"What it cost",
        r"recorder's own CPU time",
    ):
        expect(re.search(pattern, text), "no %r in:\n%s" % (pattern, text))


@case("print --json is one object a line, in order of time, as many as are counted")
def _():
    for run in (one_run(), device()):
        lines = must("print", "--json", run.path).splitlines()
        events = [json.loads(line) for line in lines]
        counts = run.counts()
        equal(len(events), counts["total"], "lines")
        equal(len(must("print", run.path).splitlines()), counts["total"], "lines of text")
        kinds = {}
        for e in events:
            equal(set(e), {"time_ns", "stream", "process", "pid", "tid", "kind", "fields"}, "keys")
            kinds[e["kind"]] = kinds.get(e["kind"], 0) + 1
        del counts["total"]
        equal(kinds, counts, "events by kind")
        times = [e["time_ns"] for e in events]
        equal(times, sorted(times), "times")


@case("print's filters give the events that match, and no others")
def _():
    run = device()
    events = [json.loads(line) for line in must("print", "--json", run.path).splitlines()]
    first = min(e["time_ns"] for e in events)

    def filtered(*words):
        return [json.loads(line) for line in must("print", "--json", *words, run.path).splitlines()]

    launch = next(e for e in events if e["kind"] == "launch")
    equal(
        filtered("-k", "launch,work"), [e for e in events if e["kind"] in ("launch", "work")], "-k"
    )
    equal(filtered("--process", "1"), [e for e in events if e["process"] == 1], "--process")
    equal(
        filtered("--pid", launch["pid"]), [e for e in events if e["pid"] == launch["pid"]], "--pid"
    )
    equal(
        filtered("--tid", launch["tid"]), [e for e in events if e["tid"] == launch["tid"]], "--tid"
    )
    equal(
        filtered("--stream", launch["stream"]),
        [e for e in events if e["stream"] == launch["stream"]],
        "--stream",
    )
    equal(filtered("-n", "7"), events[:7], "-n")
    begin, end = launch["time_ns"] - first, launch["time_ns"] - first + 5000000
    equal(
        filtered("--from", "%dns" % begin, "--to", "%dns" % end),
        [e for e in events if begin <= e["time_ns"] - first <= end],
        "--from --to",
    )


# --- once more


@case("the same trace gives the same bytes, twice and from another place")
def _():
    for run in (one_run(), device()):
        # A page's commands name the trace by its folder's last name, text as it was named.
        elsewhere = os.path.join(new_path("copy"), os.path.basename(run.path))
        shutil.rmtree(elsewhere, ignore_errors=True)
        shutil.copytree(run.path, elsewhere)
        for words in (
            ["flame", "--format", "svg"],
            ["flame", "--format", "html"],
            ["flame"],
            ["flame", "--view", "all"],
            ["report", "summary"],
            ["report", "top", "--json"],
            ["report", "tree"],
            ["report", "tree", "--json"],
            ["report", "callers", "--json", "main"],
            ["print"],
            ["print", "--json"],
        ):
            outputs = [aflame(*words, path, text=False) for path in (run.path, run.path, elsewhere)]
            texts = [o.stdout.replace(elsewhere.encode(), run.path.encode()) for o in outputs]
            hashes = [hashlib.sha256(text).hexdigest() for text in texts]
            expect(
                outputs[0].returncode == 0 and outputs[0].stdout,
                "%s fails: %s" % (words, outputs[0].stderr),
            )
            expect(
                len(set(hashes)) == 1,
                "%s: outputs of %s bytes differ" % (words, [len(o.stdout) for o in outputs]),
            )


@case("a run that sleeps is as long as it was, and the recorder's share is of that time")
def _():
    path = new_path("sleep")
    subprocess.run(["timeout", "-s", "INT", "1", AFLAME, "record", "-q", "-o", path, "--", "sleep", "5"], check=False)
    attached = new_path("attached")
    with subprocess.Popen(["sleep", "9"]) as sleeping:
        time.sleep(0.2)
        aflame("record", "-q", "-o", attached, "-p", str(sleeping.pid), "-d", "1s")
        sleeping.kill()
    for made in (path, attached):
        if made == attached and not os.path.exists(made):
            continue  # others' processes take rights
        (run,) = json.loads(must("report", "run", "--json", made))["tables"]
        (length,) = [row["value"] for row in run["rows"] if row["key"] == "recorded_for"]
        number, unit = length.split()
        near(float(number) / {"s": 1, "ms": 1000}[unit], 1, 0.4, "how long %s was" % made)
        (cost,) = json.loads(must("report", "cost", "--json", made))["tables"]
        share = [float(re.search(r"([\d.]+) % of one core", row["value"])[1]) for row in cost["rows"] if row["key"] == "recorder"]
        expect(all(percent <= 100 for percent in share), "%s of one core" % share)


@case("under sudo, the trace and the report belong to the user who called it, who can read them")
def _():
    if os.geteuid():
        raise Skip("not root")
    folder = new_path("sudo")
    os.mkdir(folder, 0o755)
    done = aflame("run", "-q", "--", "true", cwd=folder, env=dict(os.environ, SUDO_UID="65534", SUDO_GID="65534"))
    equal(done.returncode, 0, done.stderr)
    made = [os.path.join(top, name) for top, folders, files in os.walk(folder) for name in folders + files]
    expect(len(made) > 4, "made: %s" % made)
    equal({os.lstat(path).st_uid for path in made}, {65534}, "owners")
    aflame("record", "-q", "-o", "plain", "--", "true", cwd=folder)
    equal(os.stat(os.path.join(folder, "plain")).st_uid, 0, "without sudo it is root's")


@case("a file that is no program as it was named comes with the command that runs it")
def _():
    folder = new_path("scripts")
    os.mkdir(folder)

    def refused(name):
        done = aflame("record", "-q", "--", name, cwd=folder)
        equal((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        return done.stderr.rstrip("\n").split("aflame record: ")[1]

    for ending, with_ in {".py": "python3", ".sh": "sh", ".js": "node", ".pl": "perl", ".rb": "ruby", ".jl": "julia",
                          ".lua": "lua|luajit", ".jar": "java -jar", ".php": "php"}.items():
        with open(os.path.join(folder, "train me" + ending), "w") as file:
            file.write("print(1)\n")
        for name, why in (("train me", r"no program train me%s in \$PATH"), ("./train me", r"cannot run \./train me%s, which is not executable")):
            expect(re.fullmatch(why % re.escape(ending) + ": run it as `(%s) '%s%s'`" % (with_, re.escape(name), re.escape(ending)),
                                refused(name + ending)), refused(name + ending))
    # Names that no program in $PATH has.
    for name, text, mode in (("our_elf", None, 0o600), ("our_script", b"#!/bin/sh\n", 0o600), ("text", b"hello\n", 0o600), ("our_here", None, 0o700)):
        data = read(AFLAME)[:4096] if text is None else text
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        os.chmod(os.path.join(folder, name), mode)
    for name in ("our_elf", "our_script"):
        equal(refused("./" + name), "cannot run ./%s, which is not executable: `chmod +x ./%s` makes it a program" % (name, name), name)
        equal(refused(name), "no program %s in $PATH: `chmod +x %s` makes it a program, `./%s`" % (name, name, name), name)
    equal(refused("./text"), "cannot run ./text, which is not executable", "no program")
    equal(refused("our_here"), "no program our_here in $PATH: the one here is `./our_here`", "a program")
    equal(refused("nothing.py"), "no program nothing.py in $PATH", "no file")
    equal(refused("."), "cannot run .: it is a directory", "a folder")


def in_terminal(*words, **how):
    """(status, the lines) of aflame with a terminal as its standard output and error."""
    need_tool("script")
    command = " ".join("'%s'" % word for word in (AFLAME, *words))
    done = subprocess.run(["script", "-qec", command, "/dev/null"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, **how)
    return done.returncode, done.stdout.decode("utf-8", "replace").replace("\r", "").split("\n")[:-1]


@case("what is no text is not written to a terminal")
def _():
    path = one_run().path
    for command, name in (("export", "pprof"), ("export", "perfetto"), ("timeline", "perfetto")):
        for output in ([], ["-o", "-"], ["-o", "/dev/stdout"]):
            equal(in_terminal(command, "--format", name, *output, path),
                  (2, ["aflame %s: %s is not text for a terminal: name a file with -o" % (command, name)]), name)
    expect(must("timeline", "--format", "json", path).startswith("{"), "text goes there")


@case("a picture is a PNG where rsvg-convert is, and else the message says how it becomes one")
def _():
    run, folder = one_run(), new_path("png")
    os.mkdir(folder)
    aflame_alone = {"PATH": folder}
    done = aflame("flame", "-o", "x.png", run.path, cwd=folder, env=aflame_alone)
    expect(done.returncode == 2 and "-o x.svg && rsvg-convert -o x.png x.svg" in done.stderr, done.stderr)
    equal(os.listdir(folder), [], "what is left")
    need_tool("rsvg-convert")
    must("flame", "-o", "x.png", run.path, cwd=folder)
    must("flame", "--format", "png", "-o", "y", run.path, cwd=folder)
    data = read(os.path.join(folder, "x.png"))
    expect(data.startswith(b"\x89PNG\r\n") and len(data) > 2000, data[:20])
    equal(data, read(os.path.join(folder, "y")), "by its format")


@case("a terminal gets one line on a file that was written; nothing is on standard output")
def _():
    run, folder = one_run(), new_path("written")
    os.mkdir(folder)
    for words, what in (
        (("flame", "-o", "x.svg"), "--view all by time, of "),
        (("flame", "-o", "x.txt", "--view", "cpu", "-w", "samples"), "--view cpu by samples, of "),
        (("flame", "-o", "x.html"), "a page with all views of "),
        (("export", "--format", "pprof", "-o", "x.pb.gz"), r"\S+ as pprof"),
        (("timeline", "-o", "x.pftrace"), "open it in ui.perfetto.dev"),
    ):
        equal((must(*words, run.path, cwd=folder), aflame(*words, run.path, cwd=folder).stderr), ("", ""), "without a terminal")
        status, lines = in_terminal(*words, run.path, cwd=folder)
        name = words[words.index("-o") + 1]
        expect(status == 0 and len(lines) == 1 and re.match(r"aflame \w+: wrote %s \([\d.]+ (bytes|kB|MB)\): %s" % (re.escape(name), what), lines[0]), lines)


@case("a word that is mistyped, by two letters changed too, comes with the one that was meant")
def _():
    path = one_run().path
    for words, meant in (
        (("reprot",), "`aflame report`"), (("flame", "--veiw", "cpu"), "--view"), (("report", "tpo", path), "top"),
        (("report", "findngs", path), "findings"), (("report", "calers", "main", path), "callers"),
        (("print", "-k", "noet", path), "note"), (("timeline", "--show", "clals", path), "calls"), (("help", "flaem"), "`aflame flame`"),
    ):
        done = aflame(*words)
        expect(done.returncode == 2 and "did you mean %s" % meant in done.stderr, "%s: %s" % (words, done.stderr))
    done = aflame("report", path, "findings")
    equal((done.returncode, done.stderr), (2, "aflame report: the report comes first: aflame report findings %s\n" % path), "the other way round")
    for words, listed in ((("flame", "--view", "cup", path), "cpu|gpu|all"), (("flame", "-w", "tiem", path), "time, samples"),
                          (("flame", "--format", "svgg", path), ".svg, .folded"), (("export", "--format", "chrom", path), "|chrome|")):
        done = aflame(*words)
        expect(done.returncode in (1, 2) and listed in done.stderr, "%s: %s" % (words, done.stderr))


@case("another user's trace and process are refused in one line that says how they are read")
def _():
    run = one_run()
    with Stranger() as other, subprocess.Popen(["sleep", "60"]) as sleeping:
        tool, trace = other.install(), other.path("roots")
        shutil.copytree(run.path, trace)
        os.chmod(trace, 0o700)
        try:
            for words in (("report",), ("flame",), ("print",), ("export", "--format", "folded"), ("timeline",), ("diff", trace)):
                done = other.run((tool, *words, trace))
                expect(done.returncode == 1 and re.fullmatch(
                    rb"aflame \w+: permission denied: the trace \S+ belongs to user 0 \(root\): read it as that user or as root \(sudo\), "
                    rb"or have it given: chown -R %d \S+\n" % other.id, done.stderr), done.stderr)
            done = other.run((tool, "record", "-p", str(sleeping.pid), "-d", "1s"))
            expect(done.returncode == 1 and b"as root" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr)
        finally:
            sleeping.kill()


@case("recording a process says at a terminal what it does and how it ends", tries=2)
def _():
    need("bpf")
    path = new_path("attached")
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        status, lines = in_terminal("record", "-o", path, "-p", str(sleeping.pid), "-d", "300ms")
        sleeping.kill()
    expect(status == 0 and lines[0] == "aflame: recording process %d into %s; it ends after 0.3 s, or with Ctrl-C" % (sleeping.pid, path), lines)


@case("reading a trace changes nothing in it")
def _():
    run = device()

    def state():
        return {
            os.path.join(f, n): (os.stat(os.path.join(f, n)).st_mtime_ns, read(os.path.join(f, n)))
            for f, _, names in os.walk(run.path)
            for n in names
        }

    before = state()
    for words in (["flame"], ["report"], ["print", "--count"]):
        must(*words, run.path)
    expect(state() == before, "files changed")


@case("a trace is read without the programs that it is of")
def _():
    copy = new_path("shares")
    shutil.copy(program("shares"), copy)
    run = record(copy, "0.3", sampler=any_sampler())
    os.remove(copy)
    names = {bare(f) for frames, _ in run.stacks() for f in frames}
    expect({"main", "run", "a", "b", "c"} <= names, "names: %s" % sorted(names))


@case("run records, prints the summary and writes the report")
def _():
    folder = new_path("folder")
    os.mkdir(folder)
    done = aflame("run", "-F", "499", "--", program("shares"), "0.2", cwd=folder)
    equal(done.returncode, 0, "status")
    equal(sorted(os.listdir(folder)), ["aflame.data", "report.html"], "files")
    # On a busy machine the program may seem to repeat itself: then the findings are of that part.
    for words in ("Findings", "what stands out", "ended with status 0", "report.html"):
        expect(words in done.stderr, done.stderr)
    expect(
        done.stdout.startswith("truth share.a"),
        "standard output is the program's alone: %s" % done.stdout[:200],
    )
    text = read(os.path.join(folder, "report.html"))
    expect(
        text.lower().startswith(b"<!doctype html>") and text.rstrip().endswith(b"</html>"),
        "no whole page",
    )


@case("of a run that repeats itself the screen has the steady part first, as its command prints it", tries=3)
def _():
    need("opencl")
    path = new_path("steady")
    done = aflame("record", "-o", path, "--", "python3", os.path.join(SOURCE, "demo/train.py"),
                  "--library", os.path.join(BUILD, "demo/libdemoblock.so"), "--steps", "120")
    equal(done.returncode, 0, "exit status: " + done.stderr)

    def rows(table, *options):
        return json.loads(must("report", table, "--json", *options, path))["tables"][0]["rows"]

    steady = [row for row in rows("phases") if row["phase"] == "steady"]
    equal(len(steady), 1, "steady parts")
    steps = re.search(r"repeats itself from .* on: ([\d,]+) steps of .* alone:", done.stderr)
    expect(steps, done.stderr)
    equal(int(steps.group(1)), steady[0]["steps"], "steps")
    part = ["--from", "%dns" % steady[0]["from_ns"], "--to", "%dns" % steady[0]["to_ns"]]
    shown = " ".join(done.stderr.split())
    first = rows("findings", *part)[0]["finding"]
    expect("1. " + first in shown, "%s in %s" % (first, shown))
    expect("Of the whole run, with its start: " + rows("findings")[0]["finding"] in shown, shown)


def browser(body):
    """A program for $BROWSER, which is given the file to show, and a file that it writes to."""
    shown = new_path("shown")
    path = new_path("browser")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n%s\n" % body.replace("SHOWN", shown))
    os.chmod(path, 0o755)
    return path, shown


@case("open writes the report and gives it to the browser, which Ctrl-C here does not end")
def _():
    run = one_run()
    place = new_path("place")
    os.mkdir(place)
    path, shown = browser('printf "%s %s" "$1" "$(cut -d" " -f6 /proc/$$/stat)" >SHOWN')
    env = {key: value for key, value in os.environ.items() if key != "SUDO_UID"}
    env["BROWSER"] = path
    done = aflame("open", os.path.abspath(run.path), cwd=place, env=env)
    equal(done.returncode, 0, "exit status: " + done.stderr)
    file, session = read(shown).decode().rsplit(" ", 1)
    equal(file, os.path.realpath(os.path.join(place, "report.html")), "what the browser was given")
    expect(int(session) != os.getsid(0), "the browser is in our session")
    expect(read(file).startswith(b"<!doctype html>"), "it is a page")
    os.unlink(shown)
    done = aflame("open", file, env=env)
    equal((done.returncode, done.stderr), (0, ""), "a report that is there is only shown")
    equal(read(shown).decode().rsplit(" ", 1)[0], file, "the same")


@case("open says what to do without a display, without a browser, and where it fails")
def _():
    run = one_run()
    bare_env = {k: v for k, v in os.environ.items() if k not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SUDO_UID")}
    page = new_path("page") + ".html"
    path, _ = browser("exit 3")
    for env, words in (({}, "there is no display here"), ({"BROWSER": "/none/such"}, "cannot start /none/such"),
                       ({"BROWSER": path}, "ended with status 3")):
        done = aflame("open", "--report", page, run.path, env={**bare_env, **env})
        expect(done.returncode != 0 and words in done.stderr, done.stderr)
        expect(os.path.exists(page), "the report is there all the same")
    done = aflame("open", new_path("nowhere"), env={**bare_env, "BROWSER": path})
    expect(done.returncode != 0 and "nowhere" in done.stderr, done.stderr)
    done = aflame("run", "--open", "-q", "-o", new_path("trace"), "--report", page, "--", "true",
                env={**bare_env, "BROWSER": path})
    equal(done.returncode, 0, "the program's own status")
    expect("ended with status 3" in done.stderr, done.stderr)


@case("names with every kind of character come through unharmed")
def _():
    lines = [
        "a<b>&\"c' 1",
        "x;y`$(z) 2",
        "\u00fc\u4e2d\U0001f600;\\n 3",
        "</script><script>alert(1)</script> 4",
    ]
    text = "\n".join(lines) + "\n"
    again = aflame("flame", "--folded", "-", input=text.encode(), stdin=None)
    equal(sorted(parse_folded(again.stdout)), sorted(parse_folded(text)), "folded")
    for form in ("svg", "html"):
        page = aflame("flame", "--folded", "-", "--format", form, input=text.encode(), stdin=None)
        equal((page.returncode, page.stderr), (0, ""), "(status, stderr) of " + form)
        expect("<script>alert(1)" not in page.stdout, "%s has a script of the input" % form)
        if form == "svg":
            titles = [
                t.text
                for t in xml.etree.ElementTree.fromstring(page.stdout.encode()).iter(SVG + "title")
            ]
            for name in (
                "a<b>&\"c'",
                "\u00fc\u4e2d\U0001f600",
                "</script><script>alert(1)</script>",
            ):
                expect(
                    any(t and t.startswith(name) for t in titles),
                    "%s is not a title: %s" % (name, titles),
                )


run_cases()
