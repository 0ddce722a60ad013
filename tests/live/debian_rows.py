"""Rows of the table that tests/live/debian prints and test_debian.py judges: one program under one sampler."""

import math
import os
import re
import shutil

from debian_programs import PATH, find
from machine import probes
from tap import Skip
from perf_shares import INTERRUPTS_ON, Beside, bare_symbol, key_of, perf_alone
from witnessed import Place, record, run

SAMPLED, AT_MOST, NAMED, POINTS = 0.95, 1.05, 0.90, 0.03
# Where the kernel splits a process's time into user and kernel time by its ticks, the split is itself
# a sample: so many ticks a second at least, and so many standard errors of it.
TICKS, STANDARD_ERRORS = 250, 3
# Two that sample one program at random differ by chance alone: so many standard errors are added.
CHANCE = 2
# Below this the hottest function is one of many, and which one is chance.
WORTH_COMPARING = 0.10

# Findings that say why leaves have no names, though nothing went wrong, and what of it must be in them.
NAMELESS_FINDINGS = {"jit-nameless": "", "nameless": "not even an unwind table"}


def left_out(entry, user):
    """Why @entry cannot be run here, or None."""
    for tool in [entry.tool(), *(entry.load(0)[:1] if entry.load else [])]:
        if "{work}" not in tool and not find(tool):
            return "%s is not installed" % tool
    if (user or os.geteuid()) and entry.root_only:
        return entry.root_only
    return None


def same_as(done, plain, entry):
    """What differs between a recorded run and a plain one."""
    if done.status != plain.status:
        return ["status %d, plain %d" % (done.status, plain.status)]
    if entry.same and done.out != plain.out:
        return ["output differs"]
    return []


def plain_key(leaf):
    found = re.match(r"(.*)!fn_([0-9a-f]+)$", leaf)
    return key_of(found.group(1), int(found.group(2), 16)) if found else bare_symbol(leaf)


def own_weight(name, sampled, shares, expected):
    """(what aflame calls function @name, its weight). Functions have several names: where aflame has none of this one, it is
    that, of the functions whose names perf does not know either, whose weight is the nearest to the @expected one."""
    inside = sum(w for leaf, w in sampled.leaves.items() if plain_key(leaf) == name)
    others = [(leaf, w) for leaf, w in sampled.leaves.items() if plain_key(leaf) not in shares.of and leaf[:1] != "["]
    return (name, inside) if inside else min(others, key=lambda other: abs(other[1] - expected), default=("?", 0))


def hot_ones(shares, sampled, with_kernel):
    """The hottest function as perf has it, and as aflame has it if perf knows it."""
    known = {plain_key(leaf): w for leaf, w in sampled.leaves.items() if plain_key(leaf) in shares.of}
    own = max((name for name in known if not INTERRUPTS_ON.match(name)), key=known.get, default=None)
    return [n for n in dict.fromkeys((shares.hottest(with_kernel), own)) if n]


def compare_one(name, shares, sampled, counts, with_kernel):
    """(aflame's share of a function beside perf's in words, by how much they differ, how much chance explains, the greater)

    Each share is between two bounds: what was not seen may be all that function, or none of it. aflame says with a mark
    what it has not seen ([ended before a sample]); of perf it is what its samples are short of the witness's time."""
    at = 0 if with_kernel else 1
    share = shares.share(name, with_kernel)
    total = max(1e-9, sampled.program_s - sampled.kernel_s * (not with_kernel))
    leaf, inside = own_weight(name, sampled, shares, share * total)
    own = inside / total, (inside + sampled.unplaced[at]) / total
    perf = share * shares.covered, share * shares.covered + 1 - shares.covered
    nr = [shares.nr[at], counts.program_s - counts.kernel_s * (not with_kernel)]
    spread = max(s * (1 - s) for s in (share, own[0]))
    chance = CHANCE * math.sqrt(spread * sum(1 / max(1, n) for n in nr))
    words = "%s %s / %s" % (name[:22] if leaf == name else "%s, %s" % (leaf[:11], name[:10]), bounds(*own), bounds(*perf))
    return words, max(0, perf[0] - own[1], own[0] - perf[1]), chance, max(share, own[0])


def compare_hottest(entry, shares, sampled, counts, with_kernel):
    """(what the table says, what falls short)"""
    if isinstance(shares, str) or entry.jit:
        return "compiled in memory" if entry.jit else shares[-38:], []
    words = "none is hot"
    for name in hot_ones(shares, sampled, with_kernel):
        found, gap, chance, size = compare_one(name, shares, sampled, counts, with_kernel)
        if size < WORTH_COMPARING:
            continue
        if gap > POINTS + chance:
            return found, ["hottest by %.1f points" % (100 * gap)]
        words = found if words == "none is hot" else words
    return words, []


def bounds(least, most):
    return "%.1f" % (100 * least) if most - least < 0.005 else "%.0f..%.0f" % (100 * least, 100 * most)


def judge_share(share, done, with_kernel):
    """What falls short of the bars of sampled time. While the host has the CPU some samplers' clocks go on, and the
    kernel charges nobody."""
    used = done.user_s + done.system_s
    slack = 0.0
    if not with_kernel and done.user_s:
        of = done.user_s / used
        slack = STANDARD_ERRORS * math.sqrt(of * (1 - of) / (TICKS * used)) / of
    return ["sampled"] * (share < SAMPLED - slack) + ["more than used"] * (share * (1 - done.stolen) > AT_MOST + slack)


def nameless_limit(sampled, findings):
    """What aflame itself reports of leaves without a name, with what helps; None where it does not, or
    where what it reports is not all that keeps the row from the bar."""
    reported = [f for f in findings if f["kind"] in NAMELESS_FINDINGS and NAMELESS_FINDINGS[f["kind"]] in f["finding"]]
    reported_s = sum(f["time_ns"] for f in reported) / 1e9
    if sampled.named_s + sampled.bounds_s + reported_s < NAMED * sampled.program_s:
        return None
    return "; ".join("%s %.1f %%, wants: %s" % (f["kind"], f["share"], f["helps"]) for f in reported)


def row_of(entry, place, sampler, rate, plain, shares):
    """@shares is what perf has of the program, or why it has nothing; Beside: perf is to look at this run."""
    if shares is Beside:
        with Beside(place) as beside:
            done, sampled, chosen, findings, counts = record(entry, place, sampler, rate)
        shares = beside.shares(done)
    else:
        done, sampled, chosen, findings, counts = record(entry, place, sampler, rate)
    with_kernel = chosen == "bpf"
    used = done.user_s + done.system_s * with_kernel
    seen = sampled.program_s if with_kernel else sampled.program_s - sampled.kernel_s
    of = max(1e-9, sampled.program_s)
    words, short = compare_hottest(entry, shares, sampled, counts, with_kernel)
    row = {"program": entry.name, "sampler": sampler + (":" + chosen if sampler == "auto" else ""), "user_s": done.user_s, "system_s": done.system_s,
           "sampled_s": seen, "all_sampled_s": sampled.all_s, "coverage": seen / max(1e-9, used),
           "named": (sampled.named_s + sampled.bounds_s) / of, "by_bounds": sampled.bounds_s / of,
           "cut": sampled.cut_s / of, "unnamed": sampled.unnamed, "hottest": words,
           "recorder_s": done.recorder_s, "stolen": done.stolen,
           "plain_user_s": plain.user_s, "plain_system_s": plain.system_s, "reported": done.err.decode(errors="replace")[-400:]}
    row["limit"] = nameless_limit(sampled, findings) if row["named"] < NAMED else None
    row["short"] = (judge_share(row["coverage"], done, with_kernel) + ["named"] * (row["named"] < NAMED and not row["limit"])
                    + short + same_as(done, plain, entry))
    return row


def what_perf_sees(entry, place, rate):
    if not shutil.which("perf", path=PATH):
        return "no perf here"
    return perf_alone(entry, place, rate) if place.user or os.geteuid() else Beside


def rows_of(entry, place, samplers, rate, with_perf):
    """The rows of one program: under each of @samplers that works here."""
    place.prepare(entry)
    plain = run(entry, place)
    if not plain.witnessed or plain.user_s + plain.system_s < 0.05 or (plain.status > 1 and not entry.load):
        reported = plain.err.decode(errors="replace").strip()[-120:]
        yield {"program": entry.name, "sampler": "", "why": "alone: status %d, %.2f s; %s" % (plain.status, plain.user_s, reported)}
        return
    shares = what_perf_sees(entry, place, rate) if with_perf else "-"
    for sampler in samplers:
        reason = probes().get(sampler) if sampler != "auto" else None
        if reason:
            yield {"program": entry.name, "sampler": sampler, "why": reason}
        else:
            yield row_of(entry, place, sampler, rate, plain, shares)


def measure_all(programs, samplers, user, rate, with_perf):
    place = Place(user)
    try:
        for entry in programs:
            why = left_out(entry, user)
            if why:
                yield {"program": entry.name, "sampler": "", "why": why}
                continue
            try:
                yield from rows_of(entry, place, samplers, rate, with_perf)
            except (RuntimeError, TimeoutError, Skip) as failure:
                yield {"program": entry.name, "sampler": "", "why": str(failure)[:200]}
    finally:
        place.remove()
