#!/usr/bin/env python3
"""What programs say of themselves by AMD's ROCTX, on mocks of its two libraries: ranges and marks are in the trace,
the library still gets every call, and ends in any order do no harm."""

import collections
import os
import subprocess

from machine import PROGRAMS, any_sampler, program
from recording import bare, must, parse_folded, record
from tap import case, equal, expect, run_cases

DEEPEST = 64  # ranges of a thread that are followed
NUMBERS = {
    "early_pop": -1, "first": 101, "second": 102, "outer": 0, "inner": 1, "inner_pop": 1, "lone_pop": -1,
    "outer_pop": 0, "late_pop": -1, "marks": 1, "pushes": 77, "pops": 79, "starts": 2, "stops": 3,
    "bytes": len("first" "second" "outer" "mark") + len("gr\u00fc\u00df".encode()) + 5 * len("step") + 70 * len("deep"),
    "stopped": 101 + 102 + 12345,
}
FIRST = [
    ("START", "first", 101),
    ("START", "second", 102),
    ("PUSH", "outer", 0),
    ("PUSH", "gr\u00fc\u00df", 0),
    ("MARK", "mark", 0),
    ("END", "", 101),
    ("POP", "", 0),
    ("END", "", 102),
    ("POP", "", 0),
    ("END", "", 12345),
]


def words(how):
    library = {"opened": "libroctx_say.so", "opened-sdk": "libroctx_say_sdk.so"}.get(how)
    if not library:
        return [program("roctx_ranges")]
    return [program("roctx_opens"), os.path.join(PROGRAMS, library)]


def numbers(text):
    return {key: int(n) for key, n in (line.split() for line in text.decode().splitlines())}


def check_ranges(run):
    equal(numbers(run.stdout), NUMBERS, "what ROCTX returns, and what reaches the mock")
    ranges = run.fields("range")
    equal({r["domain"] for r in ranges}, {"ROCTX"}, "domains")
    found = [(r["edge"], r["name"], r["range"] & 0xFFFFFF) for r in ranges]
    # The second range ends in another thread, whose events may be elsewhere in the trace.
    equal(collections.Counter(found[: len(FIRST)]), collections.Counter(FIRST), "ranges")
    rest = collections.Counter((edge, name) for edge, name, _ in found[len(FIRST) :])
    # Of 70 that began, the innermost 6 are not followed; of 69 ends 6 are theirs.
    equal(rest, {("PUSH", "step"): 5, ("PUSH", "deep"): DEEPEST, ("POP", ""): 5 + DEEPEST - 1}, "deep ranges")


@case("the mock alone returns what the test says")
def _():
    done = subprocess.run(words("linked"), stdout=subprocess.PIPE, check=True, timeout=60)
    equal(numbers(done.stdout), NUMBERS, "numbers")


for way in ("linked", "opened", "opened-sdk"):

    @case("ranges and marks are recorded, and go on to ROCTX: %s" % way)
    def _(way=way):
        check_ranges(record(*words(way), options=["--api", "hip"]))


@case("a program that is linked with ROCTX is recorded so without an option, by --api none not")
def _():
    check_ranges(record(*words("linked")))
    run = record(*words("linked"), options=["--api", "none"])
    equal(numbers(run.stdout), NUMBERS, "numbers")
    equal(run.counts().get("range", 0), 0, "ranges")


@case("--ranges shows ranges of ROCTX as frames, --range what is in one")
def _():
    run = record(*words("linked"), sampler=any_sampler())
    stacks = [([bare(f) for f in frames], w) for frames, w in parse_folded(must("flame", "--view", "cpu", "--ranges", run.path))]
    inside = sum(w for frames, w in stacks if frames[1:3] == ["outer", "gr\u00fc\u00df"] and "burn" in frames)
    expect(inside > 100e6, "samples in the inner range: %s" % stacks)
    stacks = parse_folded(must("flame", "--view", "cpu", "--range", "outer", run.path))
    equal(sum(w for frames, w in stacks if any(bare(f) == "burn" for f in frames)), inside, "samples in outer")


@case("--steps counts ranges of ROCTX")
def _():
    run = record(*words("linked"), options=["--steps", "2:4@step"])
    names = [r["name"] for r in run.fields("range") if r["edge"] == "PUSH"]
    equal(names, ["step"] * 3, "ranges that are recorded")


run_cases()
