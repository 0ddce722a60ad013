#!/usr/bin/env python3
"""libaflame-prof: programs that sample themselves, with the shared library and with the static one."""

import glob
import json
import os
import re
import signal
import subprocess

from machine import AFLAME, SCRIPTS, SOURCE, WORKPLACE, need_own_tool, need_tool, probes, program
from recording import bare, must, new_path, parse_folded, parse_truth
from tap import Skip, case, equal, expect, near, note, run_cases

PERIOD_NS = 1000000


def parse(path):
    with open(path, encoding="utf-8") as file:
        return parse_folded(file.read())


class Run:
    """A program that ran in a folder of its own, in which it has left nothing but its output."""

    def __init__(self, what, *words, name="prof_library", status=0, wrapper=(), **env):
        self.folder = new_path("self")
        os.mkdir(self.folder)
        self.file = self.folder + ".folded"
        argv = [*wrapper, program(name), *([what] if what else []), self.file, *words]
        done = subprocess.run(
            argv,
            env={**os.environ, "TMPDIR": self.folder, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
        self.stderr, self.stdout = done.stderr.decode("utf-8", "replace"), done.stdout.decode("utf-8", "replace")
        equal(done.returncode, status, "status; %s %s" % (self.stdout, self.stderr))
        equal(os.listdir(self.folder), [], "files that are left behind")
        self.truth = parse_truth(done.stdout)
        self.stacks = parse(self.file) if os.path.exists(self.file) else []

    @property
    def total(self):
        return sum(weight for _, weight in self.stacks)

    def of(self, function, stacks=None):
        """Samples in the function."""
        return sum(w for frames, w in (stacks or self.stacks) if function in [bare(f) for f in frames])


def need_perf():
    if probes()["perf"]:
        raise Skip("perf: " + probes()["perf"])


def enough(samples):
    """So many of a millisecond each; where timers sample, they tick every 4 ms at most."""
    return samples / 4 if probes()["perf"] else samples


def check_shares(run, tolerance=0.02):
    for name, wanted in (("sixty", 0.6), ("thirty", 0.3), ("ten", 0.1)):
        near(run.of(name) / run.total, wanted, tolerance, name)
    for frames, weight in run.stacks:
        expect("main" in frames or weight < run.total / 50, "a stack without main: %s %d" % (frames, weight))


@case("three functions have their shares, and samples stand for the CPU time that was used", tries=3)
def _():
    need_perf()
    run = Run("shares")
    check_shares(run)
    equal(run.truth["samples"], run.total, "samples, counted and written")
    near(run.total * PERIOD_NS / 1e3 / run.truth["user_us"], 1, 0.05, "samples by the period, of getrusage's time")
    equal([run.truth[key] for key in ("dropped", "missed", "timer")], [0, 0, 0], "dropped, missed, timer")
    near(run.truth["rate"] * run.truth["cpu_us"] / 1e6, run.truth["samples"], run.truth["samples"] / 100, "the rate")


@case("the same with the static library", tries=3)
def _():
    need_perf()
    check_shares(Run("shares", name="prof_library_static"))


@case("a period of 250 us is kept to", tries=3)
def _():
    need_perf()
    run = Run("fine")
    check_shares(run)
    near(run.total * 250 / run.truth["user_us"], 1, 0.05, "samples by the period, of getrusage's time")


@case("it stops, and starts again; a collection has what was sampled until then", tries=3)
def _():
    run = Run("again")
    part = parse(run.file + ".part")
    equal(run.of("unseen"), 0, "samples while it was stopped")
    equal(run.of("ten", part), 0, "samples after the collection")
    expect(run.of("thirty", part) > enough(100), "collected: %s" % part)
    used = {name: run.truth[name + "_us"] for name in ("thirty", "sixty", "ten")}
    for name, us in used.items():
        near(run.of(name) / run.total, us / sum(used.values()), 0.05, name)


@case("threads that were there before the start are sampled, and those that come later", tries=3)
def _():
    need_perf()
    run = Run("threads")
    for name, root in (("older", "older_run"), ("newer", "newer_run"), ("sixty", "main")):
        expect(run.of(name) > enough(100), "%s has %d samples" % (name, run.of(name)))
        frames = [f for f, _ in run.stacks if name in [bare(x) for x in f]]
        expect(all(root in [bare(x) for x in f] for f in frames), "stacks of %s: %s" % (name, frames))
    near(run.of("newer") / run.of("sixty"), 1, 0.1, "two threads that burn alike")
    equal({f for frames, _ in run.stacks for f in frames if "prof" in f and "prof_library" not in f}, set(), "frames of the library's")


@case("one thread alone is sampled; samples behind the cap are counted as dropped", tries=2)
def _():
    run = Run("one")
    equal(run.total, 50, "samples")
    expect(run.of("older") > 45, "samples of its function, which a loop calls: %d" % run.of("older"))
    expect(run.truth["dropped"] > enough(50), "dropped: %d" % run.truth["dropped"])


@case("the program's own SIGTRAP and SIGPROF reach its handlers, blocked or not, and it is sampled", tries=2)
def _():
    need_perf()
    run = Run("signals")
    equal([run.truth[key] for key in ("traps_blocked", "pending")], [1, 1], "SIGTRAP: handled before it was blocked; pending then")
    equal([run.truth[key] for key in ("traps", "profs")], [2, 1], "signals in all")
    for name in ("sixty", "blocking", "thirty"):
        expect(run.of(name) > enough(120), "%s has %d samples" % (name, run.of(name)))
    equal((run.of("unseen"), run.truth["missed"]), (0, 1), "samples of the thread that blocked the signal before; threads missed")


@case("where perf events are not permitted timers sample, also the threads that were there")
def _():
    need_tool("python3")
    run = Run("threads", wrapper=["python3", os.path.join(SCRIPTS, "without_perf.py")])
    check = {name: run.of(name) for name in ("older", "newer", "sixty")}
    expect(all(n > 20 for n in check.values()), "samples: %s" % check)
    equal(run.truth["timer"], 1, "the timer")


@case("errors have a number and a sentence")
def _():
    run = Run("errors")
    says = dict(re.findall(r"^says (\w+) (.*)$", run.stdout, re.M))
    wanted = {
        "rate": (-22, "the period is 49 us: it may be 50 to 10000000 us"),
        "depth": (-22, "the depth is 7 frames"),
        "tid": (-3, "no thread 1073741824"),
        "size": (-22, "options.size is 0"),
        "second": (-16, "close it first"),
        "stop": (-114, "not started"),
        "empty": (-61, "nothing was sampled"),
        "start": (-114, "started already"),
        "sink": (-28, "No space left on device"),
        "format": (-34, "the format other has failed"),
        "save": (-17, "cannot make the trace /dev"),
        "symbol": (-22, "a name"),
    }
    equal(set(says), set(wanted), "what was tried")
    for key, (rc, words) in wanted.items():
        equal(run.truth[key], rc, key)
        expect(words in says[key], "%s: %s" % (key, says[key]))


@case("a program that aflame records already gets an error when it opens a profile")
def _():
    folder = new_path("busy")
    done = subprocess.run(
        [AFLAME, "record", "-o", folder, "--", program("prof_library"), "shares"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=120,
        check=False,
    )
    expect("failed open -16 `aflame record` samples this process already" in done.stdout, done.stdout + done.stderr)


@case("one profile after the other has its own time, and leaves no descriptor open", tries=2)
def _():
    run = Run("many")
    equal(run.of("thirty"), 0, "samples of profiles before")
    expect(run.of("sixty") > enough(200) and run.of("older") > enough(100), "samples: %s" % run.stacks)
    equal(run.truth["descriptors"], 0, "descriptors more than before")


@case("a forked child is not sampled, and may have a profile of its own", tries=2)
def _():
    run = Run("forks")
    equal((run.truth["status"], run.truth["environment"], run.truth["parents"]), (0, 0, -10), "status, environment, the parent's profile")
    equal((run.of("unseen"), run.of("thirty")), (0, 0), "samples of the child")
    expect(run.of("sixty") > enough(120), "samples: %s" % run.stacks)
    child = parse(run.file + ".child")
    equal(run.of("unseen", child), 0, "samples before the child's own profile")
    expect(run.of("thirty", child) > enough(120), "samples of the child: %s" % child)


@case("a program that ends while it is sampled leaves nothing behind")
def _():
    Run("exits", status=3)


@case("valgrind finds no error in it, and no memory lost")
def _():
    # Stacks of memory that was never written to are read on purpose: of undefined values it says nothing.
    need_own_tool("valgrind")
    run = Run("errors", wrapper=["valgrind", "-q", "--error-exitcode=9", "--undef-value-errors=no", "--leak-check=full", "--errors-for-leak-kinds=definite"])
    expect("says rate" in run.stdout, run.stdout)


def of_flat(text):
    """{function: percent of its own} of a flat report."""
    return {m[1]: float(m[0]) for m in re.findall(r"^ *([\d.]+) % +[\d.]+ % +[\d,]+  (\S+) \(", text, re.M)}


@case("each format has the shares: folded stacks, the flat report, pprof, and the trace", tries=2)
def _():
    need_perf()
    run = Run("formats")
    check_shares(run)
    with open(run.file + ".flat", encoding="utf-8") as file:
        flat = file.read()
    own = of_flat(flat)
    line = next(i + 1 for i, text in enumerate(open(os.path.join(SCRIPTS, "prof_library.c"), encoding="utf-8")) if "(sixty," in text)
    expect("sixty (prof_library.c:%d)" % line in flat, "the line of sixty, %d: %s" % (line, flat))
    for name in ("sixty", "thirty", "ten"):
        near(own[name] / 100, run.of(name) / run.total, 0.001, name + " in the flat report")
    printed = must("flame", "--weight", "samples", run.file + ".trace")
    equal(sorted(parse_folded(printed)), sorted(run.stacks), "stacks of the trace, by aflame flame")
    report = json.loads(must("report", "flat", "--json", run.file + ".trace"))
    (head,) = [t for t in report["tables"] if t["name"] == "sampling"]
    equal(head["rows"][0]["samples"], run.total, "samples of the trace, by aflame report")
    near(head["rows"][0]["used_ns"] / 1e3 / run.truth["cpu_us"], 1, 0.05, "the CPU time that the trace knows of")


@case("go tool pprof reads the profile, with the samples of each function", tries=2)
def _():
    need_tool("go")
    run = Run("formats")
    printed = subprocess.run(
        ["go", "tool", "pprof", "-top", "-sample_index=samples", run.file + ".pprof"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env={**os.environ, "HOME": WORKPLACE},
        check=True,
    ).stdout
    flat = {m[1]: float(m[0]) for m in re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% +(\S+)$", printed, re.M)}
    for name in ("sixty", "thirty", "ten"):
        equal(flat.get(name), sum(w for frames, w in run.stacks if bare(frames[-1]) == name), name)


@case("regions of the program are in its profile and in its trace", tries=2)
def _():
    run = Run("regions")
    wanted = {"sixty": ["large"], "ten": ["large", "small"], "thirty": [], "newer": ["other"]}
    for name, regions in wanted.items():
        stacks = [[bare(f) for f in frames] for frames, _ in run.stacks if name in [bare(f) for f in frames]]
        expect(run.of(name) > enough(100), "%s has %d samples" % (name, run.of(name)))
        for frames in stacks:
            equal([f for f in frames if f in ("large", "small", "other")], regions, "regions of %s in %s" % (name, frames))
    inside = parse_folded(must("flame", "--weight", "samples", "--range", "small", run.file + ".trace"))
    equal(sum(w for frames, w in inside if "ten" in [bare(f) for f in frames]), run.of("ten"), "samples in the region, by aflame flame")
    equal(sum(w for _, w in inside), run.of("ten"), "all samples in the region")
    expect("over" in must("print", run.file + ".trace"), "the mark in the trace")


@case("code that a program makes has the names that it gives, each for its time", tries=2)
def _():
    need_perf()
    run = Run(None, name="prof_library_jit")
    for name, share in (("asked (script.js:12)", 0.3), ("first", 0.4), ("second", 0.2)):
        near(run.of(name) / run.total, share, 0.03, name)
    expect(run.truth["known"] >= 1 and run.truth["asked"] > run.truth["known"], "the symbolizer was asked: %s" % run.truth)
    text = must("report", "flat", run.file + ".trace")
    expect("asked (script.js:12)" in text, text)


run_cases()
