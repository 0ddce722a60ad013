#!/usr/bin/env python3
"""What libaflame is not in, or cannot sample, is sampled by the recorder from outside, without
privileges too."""

import json
import os
import shutil
import subprocess

from machine import WORKPLACE, need, need_root, need_tool, program
from recording import as_stranger, must, record, witnessed
from shares import weight_of
from stranger import Stranger, need_public_build
from tap import Skip, case, equal, expect, note, run_cases

SPIN_GO = """
package main
import "fmt"
//go:noinline
func work(n int) uint64 {
	var x uint64 = 1
	for i := 0; i < n; i++ { x = x*6364136223846793005 + 1442695040888963407 }
	return x
}
func main() {
	done := make(chan uint64)
	go func() { done <- work(600000000) }()
	fmt.Println(work(600000000), <-done)
}
"""


def check_used(trace, truth, names, least):
    """Stacks that end in one of @names stand for that part of the user time."""
    used_ns = truth["user_us"] * 1000
    share = weight_of(trace.stacks(), lambda frames: frames[-1] in names) / used_ns
    note("%.1f %% of %.0f ms" % (100 * share, used_ns / 1e6))
    expect(least <= share <= 1.1, "%.1f %% of the user time was sampled" % (100 * share))


def for_samplers(sentence):
    def add(function):
        for sampler in ("perf", "timer"):
            case("%s: %s" % (sampler, sentence), tries=3)(lambda s=sampler: function(s))
        return function

    return add


@for_samplers("a static program is sampled, from its first instruction")
def _(sampler):
    need(sampler)
    # By the program's own thread clock: getrusage(2) splits user from system time by ticks, and beside a
    # busy loop on one CPU it gives user mode up to 15 % more.
    run = record(program("static_states"), "3", sampler=sampler, rate=499)
    check_used(run, run.truth, ("user_spin", "read", "clock_gettime"), 0.9)


@for_samplers("threads of a static program have the names that they gave themselves, ended ones too")
def _(sampler):
    need(sampler)
    run = record(program("static_names"), "0.25", sampler=sampler, rate=997)
    check_used(run, run.truth, ("work",), 0.7)
    names = [e["fields"]["name"] for e in run.events("thread") if e["process"]]
    note(sorted(set(names)))
    short = {name for name in names if name.startswith("short-")}
    expect(len(short) >= 16, "%d of 20 threads were sampled by their name" % len(short))
    equal(set(names) - short - {"static_names"}, set(), "other names")


@for_samplers("children of a static program are sampled, and once")
def _(sampler):
    run = witnessed(program("static_heirs"), "children", "40", "30", sampler=sampler, rate=997)
    check_used(run, run.truth, ("work",), 0.8)
    document = json.loads(must("report", "coverage", "--limit", "0", "--json", run.path))
    rows = next(t["rows"] for t in document["tables"] if t["name"] == "coverage")
    used, sampled_here = (sum(row[what + "_user_ns"] + row[what + "_system_ns"] for row in rows) for what in ("used", "sampled"))
    own = run.truth["user_us"] + run.truth["system_us"]
    note("by aflame %.0f of %.0f ms" % (sampled_here / 1e6, used / 1e6))
    expect(abs(used / 1e3 / own - 1) < 0.1, "aflame says that %.0f of %.0f us were used" % (used / 1e3, own))


@for_samplers("a static program that leaves its parent goes on being sampled")
def _(sampler):
    run = witnessed(program("static_heirs"), "daemon", "700", sampler=sampler, rate=997)
    check_used(run, run.truth, ("work",), 0.8)


@for_samplers("a child that is sampled from outside when it runs a program is not sampled twice then")
def _(sampler):
    run = witnessed(program("late_exec"), sampler=sampler, rate=997)
    check_used(run, run.truth, ("work",), 0.85)


@for_samplers("a thread that blocks signals by the bare system call is found")
def _(sampler):
    need(sampler)
    run = record(program("masks"), "1", "only-raw", sampler=sampler, rate=499)
    check_used(run, run.truth, ("by_raw_syscall",), 0.7)


@for_samplers("a thread that blocks signals for a while by the bare system call is counted once")
def _(sampler):
    need(sampler)
    run = record(program("masks"), "0.5", "raw-first", sampler=sampler, rate=499)
    half = {**run.truth, "user_us": run.truth["user_us"] / 2}
    check_used(run, half, ("by_raw_syscall",), 0.7)
    check_used(run, half, ("by_syscall",), 0.85)


@for_samplers("a static program that a shell starts is sampled")
def _(sampler):
    need(sampler)
    run = record("bash", "-c", "true; %s 3; true" % program("static_states"), sampler=sampler, rate=499)
    check_used(run, run.truth, ("user_spin", "read", "clock_gettime"), 0.8)


def narrow_program(*options):
    """foreign.c as a 32-bit program, built with @options."""
    path = os.path.join(WORKPLACE, "narrow" + "".join(options))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "foreign.c")
    made = subprocess.run((need_tool("gcc"), "-m32", "-O1", *options, "-o", path, source), stderr=subprocess.PIPE, check=False)
    if made.returncode:
        raise Skip("no 32-bit C library (gcc-multilib)")
    return path


def function_start(path, name):
    """Where @name starts, by nm."""
    done = subprocess.run((need_tool("nm"), path), stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return next(int(line.split()[0], 16) for line in done.stdout.splitlines() if line.split()[-1] == name)


@for_samplers("a 32-bit program has its names")
def _(sampler):
    for options in ((), ("-no-pie",), ("-g", "-Wl,-z,separate-code,-Ttext-segment=0x30000")):
        run = record(narrow_program(*options), "700", sampler=sampler, rate=499, status=7)
        share = weight_of(run.stacks(), lambda frames: frames[-1] == "work")
        expect(share > 0.8 * sum(w for _, w in run.stacks()), "%s: work is not there: %s" % (options, run.stacks()[:3]))


@case("a stripped 32-bit program has its functions told apart", tries=3)
def _():
    need("perf")
    path = narrow_program()
    start = function_start(path, "work")
    shutil.copy(path, path + "-stripped")
    subprocess.run((need_tool("strip"), path + "-stripped"), check=True)
    run = record(path + "-stripped", "700", sampler="perf", rate=499, status=7)
    share = weight_of(run.stacks(), lambda frames: frames[-1] == "narrow-stripped!fn_%x" % start)
    expect(share > 0.8 * sum(w for _, w in run.stacks()), "the function at %x is not there: %s" % (start, run.stacks()[:3]))


@case("a program that becomes another user is sampled", tries=3)
def _():
    need_root()
    need_public_build()
    setpriv = need_tool("setpriv")
    place = shutil.copy(program("shares"), WORKPLACE)
    run = witnessed(setpriv, "--reuid=65534", "--clear-groups", place, "2", sampler="perf", rate=499)
    check_used(run, run.truth, ("a", "b", "c"), 0.9)


@case("a program of su, which takes libaflame away, is sampled", tries=3)
def _():
    need_root()
    need_public_build()
    place = shutil.copy(program("shares"), WORKPLACE)
    run = witnessed(need_tool("su"), "nobody", "-s", "/bin/sh", "-c", "exec %s 2" % place, sampler="perf", rate=499)
    check_used(run, run.truth, ("a", "b", "c"), 0.9)


@case("a plain user sees a static program of a shell", tries=3)
def _():
    with Stranger() as other:
        script = "true; %s 3; true" % other.program("static_states")
        trace, truth = as_stranger(other, "bash", "-c", script)
        check_used(trace, truth, ("user_spin", "read", "clock_gettime"), 0.8)


@case("a plain user sees a program of Go", tries=2)
def _():
    go = need_tool("go")
    source, place = (os.path.join(WORKPLACE, name) for name in ("spin.go", "spin_go"))
    with open(source, "w", encoding="utf-8") as out:
        out.write(SPIN_GO)
    subprocess.run(
        (go, "build", "-o", place, source),
        check=True,
        timeout=300,
        env={**os.environ, "GOCACHE": os.path.join(WORKPLACE, "gocache"), "GO111MODULE": "off"},
    )
    with Stranger() as other:
        trace, truth = as_stranger(other, shutil.copy(place, other.home))
        check_used(trace, truth, ("main.work",), 0.9)


run_cases()
