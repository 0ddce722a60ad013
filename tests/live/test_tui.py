#!/usr/bin/env python3
"""The terminal's view of a trace, driven as by a user: all that it shows is what reports say."""

import functools
import json
import os
import re
import signal
import subprocess
import time

from cuda_work import machine_with
from machine import AFLAME, BUILD, SOURCE, any_sampler, program
from recording import aflame, must, new_path
from tap import case, equal, expect, note, run_cases
from terminal import Terminal

STACKS = """\
prog;main;run;alpha 600
prog;main;run;beta 300
prog;main;run;beta;run;alpha 50
prog;main;dr\u00fcben_[k] 40
prog;main;\u4e2d\u6587 7
prog;main;x\x1b[2Jy\x07 3
"""
TOTAL = 1000


@functools.lru_cache(maxsize=None)
def trace():
    folded = new_path("stacks") + ".folded"
    with open(folded, "w", encoding="utf-8", newline="") as file:
        file.write(STACKS)
    path = new_path("trace")
    must("import", folded, "-o", path)
    return path


def report(*words):
    document = json.loads(must("report", *words, "--json", "-n", "0", trace()))
    tables = {}
    for table in document["tables"]:
        tables[table["name"]] = table["rows"]
    return document, tables


def tui(*options, **how):
    terminal = Terminal([AFLAME, "tui", *options, trace()], **how)
    terminal.wait_for("quit")
    return terminal


def number(text):
    return int(text.replace(",", ""))


def quit_well(terminal):
    terminal.press("q")
    terminal.pump()
    equal(terminal.status, 0, "status after q")


@case("Top has the rows, the numbers and the order of `report top`, by self and by total")
def _():
    terminal = tui("--view", "cpu")
    for order, column, name in (("self", 0, "samples_top"), ("total", 2, "samples_top")):
        rows = report("top", "--view", "cpu", "--sort", order)[1][name]
        shown = []
        for line in terminal.lines()[3:22]:
            found = re.match(r" *([\d,]+) +([\d.]+) % +([\d,]+) +([\d.]+) % (.*)$", line)
            if found:
                shown.append((number(found[1]), number(found[3]), found[5]))
        want = [(r["self"], r["total"], r["function"]) for r in rows]
        equal([row[:2] for row in shown], [row[:2] for row in want], "numbers by " + order)
        equal(
            [row[2] for row in shown if "\\x" not in row[2]],
            [row[2] for row in want if "\x1b" not in row[2]],
            "names by " + order,
        )
        terminal.press("s")
    expect("x\\x1b[2Jy\\x07" in terminal.text(), "a name commanded the terminal")
    quit_well(terminal)


@case("what is missing of what was used stands above the rows, as `report top` has it")
def _():
    path = new_path("short")
    golden = os.path.join(os.path.dirname(__file__), "../golden/findings/unsampled.trace")
    subprocess.run([os.path.join(BUILD, "tests/golden/trace/mktrace"), golden, path], check=True)
    warning = must("report", "top", path).splitlines()[1].replace("  ! ", "", 1)
    expect("CPU time was sampled" in warning, warning)
    terminal = Terminal([AFLAME, "tui", "--view", "cpu", path], columns=140)
    terminal.wait_for("quit")
    equal(terminal.lines()[2].strip(), warning, "the line above the rows")
    expect("parse" in terminal.lines()[4], terminal.text())
    terminal.press("2")
    equal(terminal.lines()[2].strip(), warning, "the line above the tree")
    quit_well(terminal)


@case("Tree opens and closes frames, with the totals of `report tree`")
def _():
    rows = report("tree", "--view", "cpu")[1]["tree"]
    terminal = tui("--view", "cpu").press("2")
    expect("alpha" not in terminal.text(), "the tree is open at first")
    terminal.press("*")
    frames = {}
    for line in terminal.lines()[3:21]:
        found = re.match(r" *([\d.]+)% +([\d,]+) +([\d,]*) +([-+ ] )(.*)$", line)
        if found:
            frames.setdefault(found[5], (number(found[2]), number(found[3] or "0")))
    for name in ("prog", "main", "run", "alpha"):
        row = [r for r in rows if r["frame"] == name][0]
        equal(frames[name], (row["total"], row["self"]), name)
    terminal.press("left", "left")
    expect("alpha" not in terminal.text(), "run was not closed:\n" + terminal.text())
    terminal.press("right").wait_for("alpha")
    quit_well(terminal)


@case("Callers and callees are those of the reports, and Enter and Backspace walk")
def _():
    terminal = tui("--view", "cpu").press("/", "b", "e", "t", "a", "enter", "n", "enter")
    for _ in range(2):
        found = terminal.wait_for(r"^beta: ([\d,]+) in all, ([\d,]+) itself")
        document, tables = report("callers", "beta")
        equal((number(found[1]), number(found[2])), (document["total"], document["self"]), "beta")
        got = {"<-": {}, "->": {}}
        for line in terminal.lines()[2:22]:
            row = re.match(r" *([\d,]+) +[\d.]+ % (<-|->) (.*)$", line)
            if row:
                got[row[2]][row[3]] = number(row[1])
        callees = report("callees", "beta")[1]["callees"]
        equal(got["<-"], {r["function"]: r["weight"] for r in tables["callers"]}, "callers")
        equal(got["->"], {r["function"]: r["weight"] for r in callees}, "callees")
        terminal.press("up", "enter").wait_for(r"^run: 950 in all")
        terminal.press("back")
    quit_well(terminal)


@case("Flame has widths in proportion, a colour a kind, and zooms into what the arrows choose")
def _():
    terminal = tui("--view", "cpu", columns=100).press("4")
    lines = terminal.lines()
    equal([line.strip() for line in lines[2:5]], ["all", "prog", "main"], "the first rows")
    cells = terminal.cells(5)
    run = "".join(cell[0] for cell in cells).index("run")
    expect(cells[run][2] != "default", "run has no colour")
    expect(abs(run - 4) <= 1 and cells[run + 90][2] == cells[run][2], "run is not 95 of 100 wide")
    kernel, native = cells[0][2], cells[run][2]
    expect(kernel != native, "the kernel's frame has the colour of the program's")
    terminal.press("down", "down")
    terminal.wait_for(r"95\.00% 950, itself 0, native: run$")
    terminal.press("down").wait_for(r"60\.00% 600, itself 600, native: alpha$")
    terminal.press("enter")
    expect(terminal.lines()[6].startswith("alpha"), "not zoomed:\n" + terminal.text())
    equal({cell[2] for cell in terminal.cells(5)}, {native}, "colours of a row of one frame")
    terminal.press("g").wait_for("beta")
    quit_well(terminal)


@case("search counts a stack once, and focus, hide and keep are narrowings that undo takes back")
def _():
    terminal = tui("--view", "cpu")
    for pattern in ("run|alpha", "beta"):
        terminal.press("/", *pattern, "enter")
        share = report("tree", "--search", pattern)[0]["total"] * 100 / TOTAL
        terminal.wait_for(r"/%s/ %.2f%%" % (re.escape(pattern), share))
    terminal.press("k").wait_for(r"samples: 350 of 1,000")
    terminal.press("u", "n", "f").wait_for(r"samples: 350 of 1,000")
    equal(report("top", "--focus", "^beta$")[0]["total"], 350, "the report's focus")
    terminal.press("u", "h").wait_for(r"samples: 1,000 of 1,000")
    terminal.press("1")
    shown = "\n".join(terminal.lines()[2:22])
    expect(" beta" not in shown, "beta is not hidden:\n" + shown)
    terminal.press("U").wait_for(r"samples: 1,000  ")
    terminal.press("u").wait_for("nothing to undo")
    quit_well(terminal)


@case("callers upwards: the tree reversed begins with what had the time")
def _():
    terminal = tui("--view", "cpu").press("2", "r")
    terminal.wait_for(r"65\.00% +650 +.*alpha$")
    quit_well(terminal)


@case("it fits 80 by 24 and any other size, also when that changes")
def _():
    terminal = tui("--view", "cpu")
    for pane in "12345?":
        terminal.press(pane)
        expect(re.search(r"q:quit", terminal.lines()[23]), "no keys in %r" % terminal.lines()[23])
        for rows, columns in ((6, 40), (3, 10), (60, 200), (24, 80)):
            terminal.resize(rows, columns)
            terminal.pump()
            equal(terminal.status, None, "it ended at %d rows" % rows)
            if columns >= 80:
                expect(
                    "samples: 1,000" in terminal.lines()[0],
                    "%d by %d:\n%s" % (columns, rows, terminal.text()),
                )
    quit_well(terminal)


@case("without a terminal, or in one that is not known, it says what to do")
def _():
    done = aflame("tui", trace())
    equal(done.returncode, 1, "status")
    expect("report" in done.stderr, done.stderr)
    terminal = Terminal([AFLAME, "tui", trace()], term="no-such-kind")
    terminal.pump()
    expect(re.search(r"no-such-kind", terminal.text()), terminal.text())


# --- while it is recorded


def start_recording(path, *options, command=(), env=None):
    record = [AFLAME, "record", "-q", "--sample", any_sampler(), "-F", "499", *options]
    return subprocess.Popen(
        record + ["-o", path, "--", *command],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def hidden_files(path):
    return sorted(n for n in os.listdir(path) if n.startswith(".") and n != ".origin")


@case("record --live says what is hot in lines, and leaves nothing behind", tries=3)
def _():
    path = new_path("live")
    recorder = start_recording(path, "--live", command=[program("shares"), "2.0"])
    out, reported = recorder.communicate(timeout=120)
    equal(recorder.returncode, 0, "status: " + reported)
    lines = [line for line in reported.splitlines() if line.startswith("aflame: ")]
    note("%d lines; the last: %s" % (len(lines), lines and lines[-1]))
    expect(any(re.search(r"on CPUs .*; a [\d.]+%; b [\d.]+%", line) for line in lines), reported)
    expect("truth share.a" in out and "aflame" not in out, "the program's output: " + out)
    equal(hidden_files(path), [], "hidden files of the trace")


@case("record --live says what devices do, launch by launch")
def _():
    path = new_path("devices")
    script = "for i in 1 2 3 4; do %s >/dev/null; sleep 0.7; done" % program("cuda_paths")
    env = machine_with("driver", "cupti13", "runtime")
    recorder = start_recording(path, "--live", command=["/bin/sh", "-c", script], env=env)
    reported = recorder.communicate(timeout=120)[1]
    equal(recorder.returncode, 0, "status: " + reported)
    line = r"Mock GPU busy .*?, ([\d,]+) kernels \(.* a second\), most time in (\w+)"
    shown = re.findall(line, reported)
    note("%d times: %s" % (len(shown), shown))
    counts = [number(count) for count, _ in shown]
    expect(counts and counts == sorted(counts), "kernels: %s in %s" % (counts, reported))
    kernels = json.loads(must("report", "top", "--json", "-n", "0", path))["tables"][0]
    calls = sum(row["calls"] for row in kernels["rows"])
    expect(counts[-1] <= calls, "%d kernels were reported, and there were %d" % (counts[-1], calls))


@case("record --live in a terminal keeps to the lowest rows, and the program writes above")
def _():
    path = new_path("panel")
    run = program("shares") + " 0.7 >/dev/null"
    script = "for i in 1 2 3; do echo line $i; %s; done; echo end" % run
    command = [AFLAME, "record", "-q", "--live", "--sample", any_sampler(), "-o", path]
    terminal = Terminal(command + ["--", "/bin/sh", "-c", script], rows=30)
    terminal.wait_for(r"% now +[\d.]+% ever  a$", 120)
    lines = terminal.lines()
    expect(re.match(r" aflame: .* s, on CPUs .*tui --live", lines[22]), terminal.text())
    expect(lines[29].startswith("lost: "), terminal.text())
    deadline = time.monotonic() + 120
    while terminal.status is None and time.monotonic() < deadline:
        terminal.pump()
    equal(terminal.status, 0, "status")
    lines = [line for line in terminal.lines() if line]
    equal(lines, ["line 1", "line 2", "line 3", "end"], "what is left on the screen")


@case("tui --live follows a recording that knows nothing of it, to its end")
def _():
    path = new_path("watched")
    recorder = start_recording(path, command=[program("shares"), "4.0"])
    deadline = time.monotonic() + 30
    while not os.path.exists(path + "/.session") and time.monotonic() < deadline:
        time.sleep(0.05)
    terminal = Terminal([AFLAME, "tui", "--live", path])
    terminal.wait_for(r"live: copy \d+", 60)
    first = terminal.wait_for(r"cpu by CPU time, all threads: ([\d.]+ m?s)", 60)[1]
    terminal.wait_for(r"^ *[\d.]+ m?s +[\d.]+ % .* a$", 60)
    recorder.communicate(timeout=120)
    terminal.wait_for(r"recording has ended", 60)
    last = terminal.wait_for(r"cpu by CPU time, all threads: ([\d.]+ m?s)")[1]
    note("from %s to %s" % (first, last))
    expect(first != last, "it never changed")
    total = json.loads(must("report", "top", "--json", path))["total"]
    shown = float(last.split()[0]) * (1e9 if last.endswith(" s") else 1e6)
    expect(abs(shown - total) <= 1e6, "%s, and the report says %d ns" % (last, total))
    equal(hidden_files(path), [], "hidden files of the trace")
    terminal.press("q")
    done = aflame("tui", "--live", path)
    expect(done.returncode != 0, "--live of what is not recorded")


@case("by energy it has what `report top -w energy` has, and without any it ends with the remedy")
def _():
    path = new_path("energy")
    text = os.path.join(SOURCE, "tests/golden/counters/%s.trace")
    subprocess.run([os.path.join(BUILD, "tests/golden/trace/mktrace"), text % "rapl", path], check=True)
    terminal = Terminal([AFLAME, "tui", "-w", "energy", path])
    terminal.wait_for(r"cpu by energy of CPU packages, in mJ: 12,000", 60)
    document = json.loads(must("report", "top", "-w", "energy", "--json", path))
    equal((document["total"], document["unit"]), (12000, "mJ"), "the report's total")
    for row in document["tables"][0]["rows"]:
        terminal.wait_for(r"^ *{:,} .*{}$".format(row["self"], re.escape(row["function"])))
    quit_well(terminal)
    terminal = Terminal([AFLAME, "tui", "-w", "energy", trace()])
    terminal.wait_for(r"--view all: record it with --telemetry nvml, gpu, or rapl", 60)
    deadline = time.monotonic() + 60
    while terminal.status is None and time.monotonic() < deadline:
        terminal.pump()
    equal(os.waitstatus_to_exitcode(terminal.status), 1, "status")


@case("a recorder that is killed leaves copies that the next reader removes")
def _():
    path = new_path("killed")
    recorder = start_recording(path, "--live", command=[program("shares"), "8.0"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if os.path.exists(path) and any(re.match(r"\.live\.\d", n) for n in hidden_files(path)):
            break
        time.sleep(0.02)
    recorder.kill()
    recorder.wait()
    # A child that it has just forked holds the trace until it runs.
    done = aflame("report", "top", path)
    while "still being recorded" in done.stderr and time.monotonic() < deadline:
        time.sleep(0.05)
        done = aflame("report", "top", path)
    equal((done.returncode, hidden_files(path)), (0, []), "status and hidden files of the trace: " + done.stderr)
    os.killpg(recorder.pid, signal.SIGKILL)  # the program, which goes on


run_cases()
