#!/usr/bin/env python3
"""Threads that block signals are sampled like all others, and find the masks that they set."""

import os

from machine import WORKPLACE, need, need_tool, program
from recording import bare, record, witnessed
from shares import check_shares, ending, weight_of
from tap import Skip, case, expect, note, run_cases

WAITS = ("by_sigsuspend", "by_ppoll", "by_pselect", "by_epoll_pwait")
WAYS = WAITS + (
    "by_pthread_sigmask",
    "by_sigprocmask",
    "by_syscall",
    "by_inheritance",
    "by_attribute",
    "by_handler",
    "by_fork",
    "by_exec",
    "by_spawn",
)

def check_used(run, wanted, part=1, least=0.95):
    """Samples of stacks that are @wanted stand for that @part of the user time."""
    used_ns = run.truth["user_us"] * 1000 * part
    share = weight_of(run.stacks(), wanted) / used_ns
    note("%.1f %% of %.0f ms" % (100 * share, used_ns / 1e6))
    expect(least <= share <= 2 - least, "%.1f %% of the user time was sampled" % (100 * share))


def any_of(names):
    return lambda frames: frames[-1] in names


def check_ways(sampler, ways, *words):
    need(sampler)
    run = record(program("masks"), "2", *words, sampler=sampler, rate=999)
    parts = {name: ending(name) for name in ways}
    check_shares(run, sampler, parts, {n: 1 / len(ways) for n in ways}, bar=0.03)
    check_used(run, any_of(ways), part=len(ways) / (len(WAYS) + bool(words)))


@case("perf: every way to block signals is sampled", tries=3)
def _():
    check_ways("perf", WAYS)


@case("timer: every way but handlers in the middle of waits is sampled", tries=3)
def _():
    check_ways("timer", tuple(set(WAYS) - set(WAITS)))


@case("bpf: every way is sampled, that by the bare system call too", tries=3)
def _():
    release = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])
    if release < (6, 10):
        raise Skip("a program of Linux before 6.10 cannot keep a signal back")
    check_ways("bpf", WAYS + ("by_raw_syscall",), "raw")


def check_all_blocked(sampler):
    need(sampler)
    run = record(program("blocks_signals"), "2", sampler=sampler, rate=999)
    works = ("main_work", "thread_work")
    check_shares(run, sampler, {name: ending(name) for name in works}, bar=0.06)


def check_xz(sampler):
    need(sampler)
    xz = need_tool("xz")
    data = os.path.join(WORKPLACE, "blob")
    with open(data, "wb") as out:
        out.write(os.urandom(3 << 20))
    run = witnessed(xz, "-T2", "-3", "-k", "-f", data, sampler=sampler, rate=999)
    own = [e["process"] for e in run.events("process") if e["fields"]["exe"].endswith("/xz")]
    expect(own, "xz is no process of the trace")
    ns = sum(e["fields"]["weight_ns"] for e in run.events("sample") if e["process"] in own)
    share = ns / 1e3 / run.truth["user_us"]
    note("%.1f %% of %.0f ms" % (100 * share, run.truth["user_us"] / 1e3))
    expect(share >= 0.95, "%.1f %% of xz's user time was sampled" % (100 * share))
    expect(any("liblzma" in bare(f) or "lzma" in f for s, _ in run.stacks() for f in s), "no liblzma")


for name in ("perf", "timer", "bpf"):
    case("%s: threads that block all signals are seen" % name, tries=3)(
        lambda s=name: check_all_blocked(s)
    )
    case("%s: xz, whose threads block signals, is seen" % name, tries=2)(lambda s=name: check_xz(s))

run_cases()
