#!/usr/bin/env python3
"""Of the ranks of a job the odd one is named, with its call path; of equal ones none is."""

import json
import os
import re
import subprocess
from xml.etree import ElementTree

import ranks_job
from machine import AFLAME, BUILD, any_sampler, program
from recording import must, new_path, refused
from tap import Skip, case, equal, expect, run_cases

RANKS, ODD, STEPS = 8, 5, 20


def recorded(odd, kind="cpu"):
    """A set of RANKS ranks."""
    program("ranks_step")
    out = new_path("set")
    status = ranks_job.run_job(BUILD, out, RANKS, odd, kind, STEPS, ["--sample", any_sampler()])
    equal(status, [0] * RANKS, "statuses")
    return out


@case("a rank with more work is the first odd one, with the function; the map and the tables agree")
def _():
    out = recorded(ODD)
    tables = ranks_job.report(BUILD, out, "-n", "0")
    odd = tables["odd_ranks"][0]
    equal((odd["number"], odd["kind"]), (ODD, "more CPU"), "the odd rank")
    expect("extra_work" in odd["full_path"].split(" > "), "its path: %s" % odd["full_path"])
    expect(odd["has_ns"] - odd["typical_ns"] >= odd["delay_ns"] > 0, "more, and later: %s" % odd)
    equal(odd["explains_ns"], odd["delay_ns"] * (RANKS - 1), "others wait")
    findings = json.loads(must("report", "findings", "--json", out))["tables"][0]["rows"]
    found = [row for row in findings if row["kind"] == "odd-rank"][0]
    equal((found["time_ns"], found["function"]), (odd["explains_ns"], odd["function"]), "the finding's figures")
    expect("rank %d," % ODD in found["finding"] and found["check"].startswith("aflame report ranks"), "finding: %s" % found)
    rows = tables["ranks"]
    equal([row["rank"] for row in rows], list(range(RANKS)), "ranks")
    equal([row["odd"] for row in rows].index("odd 1"), ODD, "the odd one among the ranks")
    equal(sum(row["nr_ranks"] for row in tables["rank_groups"]), RANKS, "ranks of groups")
    expect(tables["rank_groups"][0]["nr_ranks"] > RANKS / 2, "most are alike")
    functions = tables["odd_1_functions"]
    expect(any(row["function"] in ("burn", "extra_work") for row in functions), "functions: %s" % functions)
    heat = ranks_job.report(BUILD, out, "--heat", "-n", "0")["heat"]
    busy = {}
    for row in heat:
        busy[row["rank"]] = busy.get(row["rank"], 0) + row["cpu"]
    equal(max(busy, key=busy.get), "rank %d" % ODD, "the busiest row of the map")
    text = must("report", "ranks", "--heat", out)
    expect(re.search(r"^rank %d \* " % ODD, text, re.M), "the odd rank is marked: %s" % text)
    svg = new_path("map") + ".svg"
    must("report", "ranks", "--heat=" + svg, out)
    with open(svg, encoding="utf-8") as f:
        equal(len(re.findall("<g><title>", f.read())), RANKS, "rows of the picture")


@case("a rank with a slow disk is named without --off-cpu, too")
def _():
    out = new_path("set")
    try:
        options = ["--sample", any_sampler()]
        status = ranks_job.run_job(BUILD, out, RANKS, ODD, "disk", STEPS, options, off_cpu=False)
    except ranks_job.NoLimit as reason:
        raise Skip(str(reason)) from reason
    equal(status, [0] * RANKS, "statuses")
    first = ranks_job.report(BUILD, out)["odd_ranks"][0]
    equal((first["number"], first["kind"], first["path"]), (ODD, "more disk or lock", "[uninterruptible wait]"), "first")


@case("of equal ranks none is odd; a trace that cannot be read is named, and the others compared")
def _():
    out = recorded(None)
    tables = ranks_job.report(BUILD, out)
    equal((tables.get("odd_ranks", []), len(tables["rank_groups"])), ([], 1), "odd ranks and groups")
    with open(os.path.join(out, "rank-0003", "metadata"), "w", encoding="ascii") as f:
        f.write("not CTF")
    os.truncate(os.path.join(out, "rank-0003", "recorder"), 40)
    done = subprocess.run([AFLAME, "report", "ranks", out], capture_output=True, text=True, check=True)
    expect("rank 3" in done.stderr and "7 of 8 ranks of" in done.stderr, done.stderr)
    equal(len(re.findall(r"(?m)^ +\d+ .* rank-000\d", done.stdout)), RANKS, "rows: %s" % done.stdout)
    refused(2, "without --rank", "report", "ranks", "--rank", "3", out)
    refused(2, "goes to .svg", "report", "ranks", "--heat=x.png", out)


@case("of 64 made-up ranks on 4 hosts the slow one is named, by CPU, device and disk; broken ones are not")
def _():
    generate = os.path.join(BUILD, "tests/bench/gen_set")
    broken = {7: "--dead", 9: "--truncated", 11: "--version"}
    words = [word for rank, how in broken.items() for word in (how, str(rank))]
    for slow, kind, function in (("cpu", "more CPU", "sort_badly"), ("gpu", "more device", "launch_kernels"),
                                 ("disk", "more disk or lock", "write_checkpoint")):
        out = new_path("made-" + slow)
        size = "2000000" if slow == "gpu" else "100000"
        made = [generate, out, "--ranks", "64", "--hosts", "4", "--bytes", size, "--straggler", "41", "--slow", slow]
        subprocess.run(made + words, stdout=subprocess.DEVNULL, check=True)
        tables = ranks_job.report(BUILD, out, "-n", "0")
        odd = [(row["number"], row["kind"]) for row in tables["odd_ranks"]]
        equal(odd, [(41, kind)], "odd ranks, slow by %s" % slow)
        expect(function in tables["odd_ranks"][0]["full_path"], tables["odd_ranks"][0])
        missing = {row["rank"] for row in tables["ranks"] if row["group"] is None and row["why"]}
        equal(missing, set(broken), "ranks that are not compared")
    steady = json.loads(must("report", "steady_findings", "--json", out))["tables"][0]["rows"]
    found = [row["finding"] for row in steady if row["kind"] == "odd-rank"]
    expect(found and "rank 41," in found[0], "findings of the steady part: %s" % steady)
    whole = json.loads(must("report", "coverage", "--json", out))["tables"]
    hosts = json.loads(must("report", "coverage", "--by", "host", "--json", out))["tables"]
    used = [sum(row["used_user_ns"] or 0 for t in tables if t["name"] == "coverage" for row in t["rows"]) for tables in (whole, hosts)]
    equal(used[1], used[0], "CPU time of all hosts")
    equal({row["by"] for row in hosts[0]["rows"]}, {"node%04d" % host for host in range(4)}, "hosts")
    text = must("report", "findings", "--by", "rank", "-n", "1", out)
    equal(len(re.findall("(?m)^Findings of rank ", text)), 63, "ranks with findings, but for the one that cannot be read")
    refused(2, "whole traces", "report", "findings", "--by", "device", out)


@case("what one rank does alone stops scaling first; the work of all is counted to the nanosecond")
def _():
    sets = []
    for ranks in (1, 2, 4):
        out, options = new_path("run%d" % ranks), ["--sample", any_sampler(), "-F", "499"]
        status = ranks_job.run_job(BUILD, out, ranks, 0, "cpu", STEPS, options)
        equal(status, [0] * ranks, "statuses")
        sets.append(out)
    document = json.loads(must("compare-scale", "--json", "-n", "0", sets[1], sets[0], sets[2]))
    tables = {t["name"]: t for t in document["tables"]}
    equal([row["ranks"] for row in tables["scale"]["rows"]], [1, 2, 4], "sets, the smallest first")
    expect("extra_work" in tables["scale"]["note"], "what stops first: %s" % tables["scale"]["note"])
    first = tables["scale_paths"]["rows"][0]
    expect("extra_work" in first["full_path"], first)
    equal((first["kind"], first["stops_at"]), ("CPU", 2), "where it stops")
    svg = new_path("curve") + ".svg"
    must("compare-scale", "-o", svg, *sets)
    picture = ElementTree.parse(svg)
    names = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    equal([sum(name.startswith(what) for name in names) for what in ("wall time", "efficiency")], [3, 3], "points")
    expect(any("extra_work" in name for name in names), "the path that stops first has a line: %s" % names)
    refused(2, "goes to .svg", "compare-scale", "-o", "x.png", *sets)
    for row, path in zip(tables["scale"]["rows"], sets):
        sums = 0
        for rank in range(row["ranks"]):
            top = json.loads(must("report", "top", "--json", "-n", "0", "--rank", str(rank), path))
            functions = [t for t in top["tables"] if t["name"] == "cpu_top"]
            sums += sum(function["self"] for t in functions for function in t["rows"])
        equal(row["cpu_ns"], sums, "CPU time of %s" % path)
    refused(2, "2 to 16 sets", "compare-scale", sets[0])
    refused(1, "nowhere", "compare-scale", sets[0], sets[0] + "-nowhere")


run_cases()
