#!/usr/bin/env python3
"""CPU samples of programs whose shares are known by construction, with both samplers."""

import json
import re

from machine import SAMPLERS, need, program
from recording import bare, must, new_path, record, used_by_tree_ns
from shares import (
    check_accounted,
    check_rooted,
    check_shares,
    check_whole,
    ending,
    having,
    tolerance,
    weight_of,
)
from tap import case, equal, expect, near, note, run_cases

ABC = {"a": ending("run", "a"), "b": ending("run", "b"), "c": ending("run", "c")}
MAIN = ("_start", "main")

# How long programs run: a timer gives few samples a second.
SCALE = {"perf": "1", "timer": "3"}


def sampled(sampler, name, *words):
    need(sampler)
    return record(program(name), *words, sampler=sampler)


def for_samplers(sentence):
    """A case for each sampler, whose function takes the sampler."""

    def add(function):
        for sampler in SAMPLERS:
            case("%s: %s" % (sampler, sentence), tries=3)(lambda s=sampler: function(s))
        return function

    return add


def for_builds(builds):
    for build, words in builds.items():
        for sampler in SAMPLERS:
            case("%s: shares of a program %s are right" % (sampler, words), tries=3)(
                lambda s=sampler, b=build: check_abc(s, b)
            )


def check_abc(sampler, build):
    run = sampled(sampler, build, "0.5" if sampler == "perf" else "1")
    under_run = {name: having(*MAIN, "run", name) for name in ABC}
    check_shares(run, sampler, under_run)
    check_whole(run)
    check_rooted(run)
    check_accounted(run, run.truth["cpu_ms"])


for_builds(
    {
        "shares": "without frame pointers",
        "shares_fp": "with frame pointers",
        "shares_O0": "that is not optimised",
        "shares_nopie": "at a fixed address",
    }
)


@for_samplers("shares of a stripped program are right, by where functions start")
def _(sampler):
    run = sampled(sampler, "shares_stripped", "0.5" if sampler == "perf" else "1")
    check_whole(run)
    callee_of = (
        {}
    )  # by the three functions around it: _start, main and run, in the terms of the file
    for frames, weight in run.stacks():
        own = [f for f in map(bare, frames) if re.fullmatch("shares_stripped!fn_[0-9a-f]+", f)]
        if len(own) == 4:
            around = callee_of.setdefault(tuple(own[:3]), {})
            around[own[3]] = around.get(own[3], 0) + weight
    expect(callee_of, "no stack of four functions of the program")
    callees = max(callee_of.values(), key=lambda c: sum(c.values()))
    expect(
        sum(callees.values()) >= 0.97 * sum(w for _, w in run.stacks()), "time outside of the three"
    )
    equal(len(callees), 3, "functions that run calls")
    nr = len(run.fields("sample"))
    for got, name in zip(sorted(callees.values(), reverse=True), "abc"):
        want = run.truth["share." + name]
        near(got / sum(callees.values()), want, tolerance(sampler, want, nr), name)


@for_samplers("time in inlined functions is theirs")
def _(sampler):
    run = sampled(sampler, "inlined", SCALE[sampler])
    inside = having(*MAIN, "outer")
    check_shares(
        run,
        sampler,
        {
            "outer": lambda f: inside(f) and "middle" not in f,
            "middle": lambda f: having(*MAIN, "outer", "middle")(f) and "inner" not in f,
            "inner": having(*MAIN, "outer", "middle", "inner"),
        },
    )
    check_whole(run)
    inlined = {f for frames, _ in run.stacks() for f in frames if f.startswith(("inner", "middle"))}
    equal(inlined, {"inner_[i]", "middle_[i]"}, "the inlined frames")


@for_samplers("recursion 50 deep is on the stack as deep as it was")
def _(sampler):
    run = sampled(sampler, "recursion", SCALE[sampler])
    check_shares(
        run,
        sampler,
        {
            "descend": having(*MAIN, "run", "descend"),
            "even_and_odd": having(*MAIN, "run", "even"),
        },
    )
    check_whole(run)
    depths = [frames.count("descend") for frames, _ in run.stacks() if frames[-1] == "descend"]
    expect(max(depths) <= 50, "descend is %d deep" % max(depths))
    note("%d different depths" % len(set(depths)))
    if sampler == "perf":
        equal(sorted(set(depths)), list(range(1, 51)), "depths of descend")
    for frames, _ in run.stacks():
        turns = [f for f in frames if f in ("even", "odd")]
        expect(
            all(a != b for a, b in zip(turns, turns[1:])), "even calls odd and odd even: %s" % turns
        )


def check_handler(sampler, mode, interrupted):
    run = sampled(sampler, "sighandler", mode)
    check_shares(
        run,
        sampler,
        {
            "work": lambda f: "work" in f and "handler" not in f,
            "handler": having(*MAIN, *interrupted, "handler"),
        },
    )
    check_whole(run)
    check_rooted(run)


@for_samplers("a signal handler stands on what it interrupted")
def _(sampler):
    check_handler(sampler, "normal", ("work", "raise"))


@for_samplers("a signal handler on a stack of its own stands on what it interrupted")
def _(sampler):
    check_handler(sampler, "alternate", ("work", "raise"))


@case("perf: a handler of the program's own profiling timer stands on what it interrupted", tries=3)
def _():
    check_handler("perf", "alarm", ("work",))


@case("timer: time in a handler of the very signal that samples is accounted for")
def _():
    """The signal is blocked there, so the time goes to what the handler interrupted."""
    run = sampled("timer", "sighandler", "alarm")
    check_accounted(run, run.truth["cpu_ms"])
    check_whole(run)


@for_samplers("callers that ended in a tail call are not invented")
def _(sampler):
    run = sampled(sampler, "tailcall")
    for frames, _ in run.stacks():
        if frames[-1] == "third":
            equal(frames[-3:], ["main", "run", "third"], "the stack of third")
    third = weight_of(run.stacks(), ending("main", "run", "third"))
    expect(third >= 0.97 * sum(w for _, w in run.stacks()), "third has %f" % third)
    check_whole(run)


@for_samplers("a frame pointer register with anything in it does no harm")
def _(sampler):
    run = sampled(sampler, "nofp")
    hot = weight_of(run.stacks(), ending("main", "outer", "middle", "hot"))
    expect(hot >= 0.97 * sum(w for _, w in run.stacks()), "hot has %f" % hot)
    check_whole(run)
    check_rooted(run)


@for_samplers("threads have their shares and their names")
def _(sampler):
    run = sampled(sampler, "threads", SCALE[sampler])
    bodies = ("one", "two", "three", "four")
    check_shares(run, sampler, {n: having("start_thread", n + "_thread", n) for n in bodies})
    check_whole(run)
    check_rooted(run)
    names = {e["tid"]: e["fields"]["name"] for e in run.events("thread")}
    sampled_ns = {}
    for e in run.events("sample"):
        name = names[e["tid"]]
        sampled_ns[name] = sampled_ns.get(name, 0) + e["fields"]["weight_ns"]
    heaviest = sorted(sampled_ns, key=sampled_ns.get, reverse=True)[:3]
    equal(heaviest, ["live-1", "live-2", "live-3"], "the threads with the most time")


FORKED = (
    "parent_work",
    "child_work",
    "grandchild_work",
    "vforked_work",
    "spawned_work",
    "executed_work",
)


@for_samplers("every way to make a process is followed")
def _(sampler):
    run = sampled(sampler, "forks")
    # The six burn the same number of turns, at the mercy of what else the machine does.
    check_shares(
        run, sampler, {n: having(*MAIN, n) for n in FORKED}, {n: 1 / 6 for n in FORKED}, bar=0.06
    )
    check_whole(run)
    check_rooted(run)
    # A child that became another program has what was left when it did, and no more.
    sampled_ns = {}
    for e in run.events("sample"):
        sampled_ns[e["process"]] = sampled_ns.get(e["process"], 0) + e["fields"]["weight_ns"]
    worked = [ns for ns in sampled_ns.values() if ns > 0.05 * sum(sampled_ns.values())]
    equal(len(worked), 6, "processes that worked")
    used = {}
    for e in run.fields("process_end"):
        if (
            e["source"] == "SELF"
        ):  # not those that ended by _exit: the recorder saw them last before
            used[e["process"]] = e["user_ns"] + e["kernel_ns"]
    expect(len(used) >= 4, "only %d processes reported what they used" % len(used))
    for process, ns in used.items():
        got = sum(e["fields"]["weight_ns"] for e in run.events("sample") if e["process"] == process)
        expect(
            abs(got / ns - 1) < 0.15,
            "process %d: sampled %.1f of %.1f ms" % (process, got / 1e6, ns / 1e6),
        )


@for_samplers("code loaded where other code was has its own name")
def _(sampler):
    run = sampled(sampler, "dlopen_storm", SCALE[sampler])
    expect(run.truth["same_address"] > 100, "the addresses were never the same")
    check_shares(
        run,
        sampler,
        {n: having(*MAIN, "storm", "use", "call", n) for n in ("alpha_work", "beta_work")},
    )
    check_whole(run)


@for_samplers("fibers are walked on their own stacks")
def _(sampler):
    run = sampled(sampler, "fibers", SCALE[sampler])
    check_shares(
        run, sampler, {"fiber_" + x: having("fiber_" + x, x + "_deeper", "hot") for x in "abc"}
    )
    for frames, _ in run.stacks():
        expect(
            len([f for f in frames if f.startswith("fiber_")]) < 2,
            "two fibers in one stack: %s" % frames,
        )
    check_whole(run)


@for_samplers("one process is followed through three programs")
def _(sampler):
    run = sampled(sampler, "exec_chain")
    stages = ("stage_one", "stage_two", "stage_three")
    check_shares(run, sampler, {n: having(*MAIN, n) for n in stages}, bar=0.06)
    check_whole(run)
    check_rooted(run)
    equal({p["pid"] for p in run.fields("process")}, {int(run.truth["pid"])}, "process ids")
    equal(len(run.fields("process")), 3, "process images")


@for_samplers("a program that ends in the middle of its work has lost none of its samples")
def _(sampler):
    need(sampler)
    run = record(program("exit_group"), sampler=sampler, status=23)
    halves = {n: having(n) for n in ("main_burn", "thread_burn")}
    # Both run until the first has had 400 ms; how much the other got is the machine's affair.
    weights = {n: weight_of(run.stacks(), w) for n, w in halves.items()}
    near_ns = used_by_tree_ns(run)
    note("%s of %d ns" % (weights, near_ns))
    expect(all(weights.values()), "a thread without samples")
    expect(abs(sum(weights.values()) / near_ns - 1) < 0.15, "samples are missing")
    check_whole(run)


@case("perf: what the samples cannot see is reported beside them")
def _():
    run = sampled("perf", "syscall_bound")
    summary = must("report", "summary", run.path)
    expect("user mode only" in summary, summary)
    user = weight_of(run.stacks(), having(*MAIN, "user_work"))
    total = sum(w for _, w in run.stacks())
    note("user_work has %.3f of the samples" % (user / total))
    ends = [e for e in run.fields("process_end") if e["source"] == "SELF"]
    kernel = ends[0]["kernel_ns"] / (ends[0]["user_ns"] + ends[0]["kernel_ns"])
    expect(abs(kernel - run.truth["share.rusage_system"]) < 0.02, "kernel share %f" % kernel)


@for_samplers("a thread that takes another name is reported")
def _(sampler):
    run = sampled(sampler, "wakes")
    begun = {t["fields"]["tid"]: t["fields"]["name"] for t in run.events("thread")}
    tid = int(run.truth["tid"])
    equal(begun[tid], "wakes", "its first name")
    equal([c["name"] for c in run.fields("comm") if c["tid"] == tid], ["sleeper"], "its next")


def rows_of(*words):
    """Functions of a report by what they are called, and the document."""
    document = json.loads(must("report", *words, "--json", "-n", "0"))
    found = {}
    for table in document["tables"]:
        for row in table["rows"]:
            found.setdefault(row.get("function") or row.get("frame"), row)
    return found, document


@for_samplers("functions of one name in two libraries and the program have their own shares")
def _(sampler):
    run = sampled(sampler, "namesakes", SCALE[sampler])
    nr_samples = run.counts().get("sample", 0)
    top, _ = rows_of("top", run.path)
    truth = {name[6:]: share for name, share in run.truth.items() if name.startswith("share.")}
    total = sum(top[name]["self"] for name in truth)
    for name, share in truth.items():
        near(top[name]["self"] / total, share, tolerance(sampler, share, nr_samples), name)
        callers, document = rows_of("callers", name, "--view", "cpu", run.path)
        equal(document["self"], top[name]["self"], "report callers " + name)
        by = {"liba": "a_run", "libb": "b_run"}.get(name.replace("namesake_", "")[:4], "main")
        expect(by in callers, "%s is called by %s, not by %s" % (name, by, sorted(callers)))
    equal([row for row in top if row == "helper"], [], "a helper of nobody's")
    # As another profiler's file that has the files of machine code.
    out, again = new_path("namesakes") + ".pb.gz", new_path("again")
    must("export", "--format", "pprof", "-o", out, run.path)
    must("import", "-q", "-o", again, out)
    equal({n: rows_of("top", again)[0][n]["self"] for n in truth}, {n: top[n]["self"] for n in truth}, "by pprof")
    # And in another run.
    document = json.loads(must("diff", "--json", "--all", "-n", "0", run.path, again))
    (functions,) = [table for table in document["tables"] if table["name"] == "functions"]
    rows = functions["rows"]
    equal({r["function"]: (r["self_before"], r["self_after"]) for r in rows if "helper" in r["function"]},
          {n: (top[n]["self"], top[n]["self"]) for n in truth}, "before and after")


@case("timer: time in system calls is under the call that took it", tries=3)
def _():
    run = sampled("timer", "syscall_bound")
    check_shares(
        run,
        "timer",
        {"user_work": having(*MAIN, "user_work"), "kernel_work": having(*MAIN, "kernel_work")},
    )
    kernel = weight_of(run.stacks(), having("kernel_work", "read", "[kernel]"))
    expect(kernel > 0.3 * sum(w for _, w in run.stacks()), "read has %f" % kernel)


def check_modes(way, caller, rate):
    """User and kernel time, of which neither lasts for a tick, against getrusage."""
    need("timer")
    run = record(program("modes"), way, sampler="timer", rate=rate)
    ours = [(frames, w) for frames, w in run.stacks() if caller in map(bare, frames)]
    kernel_s, all_s = weight_of(ours, ending("[kernel]")) / 1e9, sum(w for _, w in ours) / 1e9
    user_s, used_s = run.truth["user_us"] / 1e6, (run.truth["user_us"] + run.truth["system_us"]) / 1e6
    note("user %.3f s, sampled %.3f; all %.3f s, sampled %.3f" % (user_s, all_s - kernel_s, used_s, all_s))
    expect(all_s > 0.9 * used_s, "of %s %.3f s of %.3f" % (caller, all_s, used_s))
    # A tenth, and the samples for which the program counter is believed.
    expect(abs(all_s - kernel_s - user_s) < 0.1 * user_s + 6 / min(rate, 100), "user mode")


for way, caller in {"calls": "call_often", "faults": "fault_often"}.items():
    for rate in (997, 99):
        case("timer: user and kernel time of many short %s, at %d a second" % (way, rate), tries=2)(
            lambda w=way, c=caller, r=rate: check_modes(w, c, r)
        )


run_cases()
