"""Rows of the table that tests/live/debian prints and test_debian.py judges: one program under one sampler."""

import math
import os
import re

from debian_programs import find
from machine import probes
from tap import Skip
from perf_shares import key_of, perf_shares
from witnessed import Place, record, run

SAMPLED, AT_MOST, NAMED, POINTS = 0.95, 1.05, 0.90, 0.03
# Where the kernel splits a process's time into user and kernel time by its ticks, the split is itself
# a sample: so many ticks a second at least, and so many standard errors of it.
TICKS, STANDARD_ERRORS = 250, 3
# Two runs of one program sampled at random differ by chance alone: so many standard errors are added.
CHANCE = 2
# Below this the hottest function is one of many, and which one is chance.
WORTH_COMPARING = 0.10

# Findings that say why leaves have no names, though nothing went wrong, and what of it must be in them.
NAMELESS_FINDINGS = {"jit-nameless": "", "nameless": "not even an unwind table"}


def left_out(entry, user):
    """Why @entry cannot be run here, or None."""
    tool = entry.tool()
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


def own_share(name, sampled, total):
    """Of function @name, as perf_shares names it; None where no sample of ours ends in one of that name."""
    leaves = [w for leaf, w in sampled.leaves.items() if leaf == name or plain_key(leaf) == name]
    return sum(leaves) / total if leaves else None


def plain_key(leaf):
    found = re.match(r"(.*)!fn_([0-9a-f]+)$", leaf)
    return key_of(found.group(1), int(found.group(2), 16)) if found else leaf


def compare_hottest(entry, shares, sampled, with_kernel):
    """(what the table says, what falls short)"""
    if isinstance(shares, str) or entry.jit:
        return "compiled in memory" if entry.jit else shares[-38:], []
    name, share = shares.hottest(with_kernel)
    total = sampled.program_s if with_kernel else sampled.program_s - sampled.kernel_s
    if not name or share < WORTH_COMPARING or not total:
        return "none is hot", []
    own = own_share(name, sampled, total)
    if own is None:
        other = max(sampled.leaves, key=sampled.leaves.get)
        return "%s ? / %.1f; %s %.1f" % (name[:14], 100 * share, other[:14], 100 * sampled.leaves[other] / total), []
    words = "%s %.1f / %.1f" % (name[:26], 100 * own, 100 * share)
    chance = CHANCE * math.sqrt(2 * share * (1 - share) / max(1, shares.nr_samples))
    return words, ["hottest by %.1f points" % (100 * abs(own - share))] if abs(own - share) > POINTS + chance else []


def judge_share(share, done, with_kernel):
    """What falls short of the bars of sampled time."""
    used = done.user_s + done.system_s
    slack = 0.0
    if not with_kernel and done.user_s:
        of = done.user_s / used
        slack = STANDARD_ERRORS * math.sqrt(of * (1 - of) / (TICKS * used)) / of
    return ["sampled"] * (share < SAMPLED - slack) + ["more than used"] * (share > AT_MOST + slack)


def nameless_limit(sampled, findings):
    """What aflame itself reports of leaves without a name, with what helps; None where it does not, or
    where what it reports is not all that keeps the row from the bar."""
    told = [f for f in findings if f["Kind"] in NAMELESS_FINDINGS and NAMELESS_FINDINGS[f["Kind"]] in f["Finding"]]
    told_s = sum(f["At most"] for f in told) / 1e9
    if sampled.named_s + sampled.bounds_s + told_s < NAMED * sampled.program_s:
        return None
    return "; ".join("%s %.1f %%, wants: %s" % (f["Kind"], f["Share"] / 100, f["What usually helps"]) for f in told)


def row_of(entry, place, sampler, rate, plain, shares):
    done, sampled, chosen, findings = record(entry, place, sampler, rate)
    with_kernel = chosen == "bpf"
    used = done.user_s + done.system_s * with_kernel
    seen = sampled.program_s if with_kernel else sampled.program_s - sampled.kernel_s
    of = max(1e-9, sampled.program_s)
    words, short = compare_hottest(entry, shares, sampled, with_kernel)
    row = {"program": entry.name, "sampler": sampler + (":" + chosen if sampler == "auto" else ""), "user_s": done.user_s, "system_s": done.system_s,
           "sampled_s": seen, "all_sampled_s": sampled.all_s, "coverage": seen / max(1e-9, used),
           "named": (sampled.named_s + sampled.bounds_s) / of, "by_bounds": sampled.bounds_s / of,
           "cut": sampled.cut_s / of, "unnamed": sampled.unnamed, "hottest": words,
           "recorder_s": done.recorder_s,
           "plain_user_s": plain.user_s, "plain_system_s": plain.system_s, "said": done.err.decode(errors="replace")[-400:]}
    row["limit"] = nameless_limit(sampled, findings) if row["named"] < NAMED else None
    row["short"] = (judge_share(row["coverage"], done, with_kernel) + ["named"] * (row["named"] < NAMED and not row["limit"])
                    + short + same_as(done, plain, entry))
    return row


def rows_of(entry, place, samplers, rate, with_perf):
    """The rows of one program: under each of @samplers that works here."""
    place.prepare(entry)
    plain = run(entry, place)
    if not plain.witnessed or plain.user_s + plain.system_s < 0.05 or (plain.status > 1 and not entry.load):
        said = plain.err.decode(errors="replace").strip()[-120:]
        yield {"program": entry.name, "sampler": "", "why": "alone: status %d, %.2f s; %s" % (plain.status, plain.user_s, said)}
        return
    shares = perf_shares(entry, place, rate) if with_perf else "-"
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
