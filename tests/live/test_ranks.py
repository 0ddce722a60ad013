#!/usr/bin/env python3
"""Processes of a job are known by their ranks, whoever started them."""

import collections
import json

from machine import any_sampler, need, need_tool, program
from recording import must, parse_folded, record
from tap import case, equal, expect, run_cases


def table(run, name, *words):
    """[{column: cell}] of a report's table."""
    document = json.loads(must("report", *words, "--json", "-n", "0", run.path))
    found = next(t for t in document["tables"] if t["name"] == name)
    titles = [column["title"] for column in found["columns"]]
    return [dict(zip(titles, row)) for row in found["rows"]]


def ranks(run):
    """{rank: sampled ns of its processes}, "" for those that have none."""
    sums = collections.Counter()
    for row in table(run, "processes"):
        sums[row["Rank"]] += row["Sampled"]
    return {rank: ns for rank, ns in sums.items() if ns or rank}


def tells_the_same(run):
    """The table of processes, the one by rank and stacks by rank are one."""
    sums = ranks(run)
    rows = table(run, "rank_top", "top", "--by", "rank")
    wanted = {"rank " + rank if rank else "[no rank]": ns for rank, ns in sums.items() if ns}
    equal({row["Rank"]: row["Total"] for row in rows}, wanted, "time by rank")
    stacks = collections.Counter()
    for frames, ns in parse_folded(must("flame", "--view", "cpu", "--group", "rank", run.path)):
        stacks[next((f[6:-1] for f in frames if f.startswith("[rank ")), "")] += ns
    equal(dict(stacks), {rank: ns for rank, ns in sums.items() if ns}, "stacks by rank")
    named = [row["Process"] for row in table(run, "process_top", "top", "--by", "process")]
    equal(len(set(named)), len(named), "names of processes")
    return sums


# Four ranks in a script of Slurm's; one has a child.
JOB = """
export SLURM_PROCID=0
for rank in 0 1 2 3; do
    OMPI_COMM_WORLD_RANK=$rank "$0" 0.1 &
done
env OMPI_COMM_WORLD_RANK=1 sh -c '"$0" 0.1; :' "$0" &
wait
"""


@case("each rank has the samples of its processes, one of them of two")
def _():
    run = record(need_tool("sh"), "-c", JOB, program("shares"), sampler=any_sampler())
    sums = tells_the_same(run)
    equal(set(sums) - {""}, {"0", "1", "2", "3"}, "ranks")
    expect(sums["1"] > 1.3 * max(sums["0"], sums["2"], sums["3"]), "rank 1 works twice: %s" % sums)
    html = run.path + ".html"
    must("flame", "-o", html, run.path)
    with open(html, encoding="utf-8") as page:
        text = page.read()
    expect('"ranks":true' in text and '"rank":"rank 3"' in text, "the page knows ranks")


@case("processes without libaflame have theirs from the environment that they began with")
def _():
    need("bpf")
    script = 'unset LD_PRELOAD; for rank in 5 6; do PMI_RANK=$rank "$0" 0.2 & done; wait'
    run = record(need_tool("sh"), "-c", script, program("shares"), sampler="bpf", rate=499)
    sums = tells_the_same(run)
    expect(sums.get("5") and sums.get("6"), "ranks: %s" % sums)


@case("RANK is one only beside a second variable of torchrun's")
def _():
    run = record(
        need_tool("sh"),
        "-c",
        'RANK=first "$0" 0.05; RANK=7 "$0" 0.05; RANK=8 WORLD_SIZE=16 PMI_RANK=1 "$0" 0.05',
        program("shares"),
        sampler=any_sampler(),
    )
    equal(set(ranks(run)) - {""}, {"8"}, "ranks")


@case("mpirun's processes have their ranks")
def _():
    options = ["--allow-run-as-root", "--oversubscribe", "-np", "4"]
    run = record(
        need_tool("mpirun"), *options, program("shares"), "0.1", sampler=any_sampler(), quiet=False
    )
    sums = tells_the_same(run)
    equal(set(sums) - {""}, {"0", "1", "2", "3"}, "ranks")


run_cases()
