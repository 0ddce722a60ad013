#!/usr/bin/env python3
"""A few programs that Debian ships: what was sampled of them, held against the CPU time that the kernel
says they used. tests/live/debian has all of them, and the table."""

import atexit

from debian_rows import left_out, row_of
from debian_programs import PROGRAMS
from machine import samplers
from tap import Skip, case, expect, note, run_cases
from witnessed import Place, run

SHORT = ("xz", "sort", "perl", "python threads", "python processes", "static", "static stripped", "stripped", "java with its option", "luajit")
RATE = 997

place = Place()
atexit.register(place.remove)


def add(entry):
    @case("%s: sampled is what was used, and leaves have names" % entry.name, tries=2)
    def _():
        why = left_out(entry, None)
        if why:
            raise Skip(why)
        place.prepare(entry)
        plain = run(entry, place)
        expect(not plain.status and plain.witnessed, "alone: status %d, %s" % (plain.status, plain.err))
        for sampler in ["auto"] + samplers():
            row = row_of(entry, place, sampler, RATE, plain, "not asked")
            said = "%s: %.2f s user, %.2f s kernel, %.2f s sampled (%.1f %%), %.0f %% named; %s" % (
                row["sampler"], row["user_s"], row["system_s"], row["sampled_s"], 100 * row["coverage"], 100 * row["named"], row["said"])
            note(said)
            expect(not row["short"], "%s: %s" % (", ".join(row["short"]), said))


for one in PROGRAMS:
    if one.name in SHORT:
        add(one)

run_cases()
