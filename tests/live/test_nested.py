#!/usr/bin/env python3
"""A recording inside another: the program runs as it does under one, the inner trace has all that a single
recording has, and the outer one has no call, range or device work twice."""

from machine import AFLAME, need, program
from recording import Trace, must, new_path, record
from tap import case, equal, expect, run_cases

# Kinds of events that depend on chance, or on the processes that there were: PoCL's compiler is one, the first time.
BY_CHANCE = {
    "total", "note", "clock", "usage", "cost", "sample", "stack", "string", "symbol", "function_source", "mapping",
    "callpath", "thread", "process", "process_end", "lost", "build_id", "function", "mapping_gone",
}  # fmt: skip


def nested(*command, options=()):
    """(single, inner, outer) traces of @command, whose output is the same in all."""
    single, inner = record(*command, options=options), new_path("inner")
    outer = record(AFLAME, "record", "-q", "-o", inner, "--sample", "none", *options, "--", *command,
                   options=options)  # fmt: skip
    equal(words_of(outer), words_of(single), "what the program printed")
    inner = Trace(inner)
    inner.check()
    notes = {f["key"]: f["value"] for f in inner.fields("note")}
    expect("another recording" in notes.get("outer", ""), notes)
    expect("recorded inside" in must("report", "summary", inner.path), "the summary has no word of it")
    return single, inner, outer


def words_of(run):
    """Lines without their numbers, some of which are times."""
    return [line.rsplit(b" ", 1)[0] for line in run.stdout.splitlines()]


def facts(trace):
    return {kind: n for kind, n in trace.counts().items() if kind not in BY_CHANCE}


def check(*command, options=(), least):
    single, inner, outer = nested(*command, options=options)
    equal(facts(inner), facts(single), "events of the inner recording, and of one alone")
    expect(sum(facts(inner).values()) >= least, facts(inner))
    return inner, outer


@case("OpenCL: every call with its arguments and every kernel, once")
def _():
    inner, outer = check(program("cl_loop"), "1000", options=("--api", "opencl:full"), least=2000)
    equal(len(inner.events("clEnqueueNDRangeKernel")), 1100, "launches")
    expect(not {"clEnqueueNDRangeKernel", "work"} & set(outer.counts()), outer.counts())


@case("ranges of Kokkos and of ITT")
def _():
    check(program("kokkos_work"), "all", least=10)
    check(program("itt_work"), "all", least=10)


@case("the outer recording samples the program, where it samples from outside")
def _():
    need("bpf")
    outer = record(AFLAME, "record", "-q", "-o", new_path("inner"), "--", program("shares"), "0.5",
                   sampler="bpf", rate=499)  # fmt: skip
    stacks = [(frames, w) for frames, w in outer.stacks() if "shares" in " ".join(frames[:2])]
    expect(stacks and sum(w for _, w in stacks) > 0, "no samples of the program")


@case("a recorder inside that is killed leaves the outer recording whole")
def _():
    inner = new_path("inner")
    script = "%s record -q -o %s -- sleep 3 & sleep 1; kill -9 $!; wait $!; [ $? = 137 ]" % (AFLAME, inner)
    outer = record("sh", "-c", script, quiet=False)
    equal(outer.status, 0, "status")
    must("report", "summary", outer.path)


if __name__ == "__main__":
    run_cases()
