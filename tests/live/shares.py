"""Shares of sampled time, and whether they are the truth."""

import math

from recording import bare
from tap import expect, near, note

TWO_POINTS = 0.02

# The timer's few samples come at the kernel's ticks, so they are no independent draws: chance and
# a program in step with the ticks together stay below this many standard errors.
STANDARD_ERRORS = 6


def weight_of(stacks, wanted):
    return sum(weight for frames, weight in stacks if wanted([bare(f) for f in frames]))


def having(*names):
    """Stacks with these frames, in this order from the outside; others may lie between."""

    def wanted(frames):
        rest = iter(frames)
        return all(name in rest for name in names)

    return wanted


def ending(*names):
    """Stacks whose innermost frames are these."""
    return lambda frames: frames[-len(names) :] == list(names)


def tolerance(sampler, share, nr_samples):
    if sampler == "perf":
        return TWO_POINTS
    return max(TWO_POINTS, STANDARD_ERRORS * math.sqrt(share * (1 - share) / max(1, nr_samples)))


def check_shares(recording, sampler, parts, truth=None, bar=None):
    """Each of @parts, {name: wanted}, has its share of the time of all of them."""
    stacks = recording.stacks()
    nr_samples = recording.counts().get("sample", 0)
    weights = {name: weight_of(stacks, wanted) for name, wanted in parts.items()}
    total = sum(weights.values())
    expect(total, "no sample is in any of %s, of %d" % (", ".join(parts), nr_samples))
    note("%d samples" % nr_samples)
    for name, weight in weights.items():
        share = truth[name] if truth else recording.truth["share." + name]
        near(weight / total, share, bar or tolerance(sampler, share, nr_samples), name)


def check_whole(recording):
    """At least 99 % of the sampled time is in stacks that end where a thread begins."""
    stops = {}
    weights = {}
    for stack in recording.events("stack"):
        stops[stack["stream"], stack["fields"]["stack"]] = stack["fields"]["stop"]
    paths = {}
    for path in recording.events("callpath"):
        key = path["stream"], path["fields"]["callpath"]
        paths[key] = stops[path["stream"], path["fields"]["stack"]]
    for sample in recording.events("sample"):
        stop = paths[sample["stream"], sample["fields"]["callpath"]]
        weights[stop] = weights.get(stop, 0) + sample["fields"]["weight_ns"]
    whole = weights.get("COMPLETE", 0) / max(1, sum(weights.values()))
    note("%.2f %% of the sampled time in whole stacks" % (100 * whole))
    expect(whole >= 0.99, "only %.2f %% in whole stacks: %s" % (100 * whole, weights))


def check_rooted(recording, roots=("_start", "clone3", "__clone3", "clone")):
    """The same as the flame graph shows it: 99 % of the width stands on one of @roots."""
    stacks = recording.stacks()
    total = sum(weight for _, weight in stacks)
    rooted = sum(weight for frames, weight in stacks if len(frames) > 1 and frames[1] in roots)
    others = sorted(
        {frames[1] for frames, _ in stacks if len(frames) > 1 and frames[1] not in roots}
    )
    expect(rooted >= 0.99 * total, "%.2f %% stands on %s" % (100 - 100 * rooted / total, others))


def check_accounted(recording, cpu_ms, within=0.1):
    """The samples stand for the CPU time that the program measured."""
    sampled_ms = sum(s["weight_ns"] for s in recording.fields("sample")) / 1e6
    near(sampled_ms / cpu_ms, 1, within, "sampled over measured CPU time")
