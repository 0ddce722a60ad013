#!/usr/bin/env python3
"""Processes of a job are known by their ranks, whoever started them."""

import collections
import json
import os
import re
import signal
import socket
import subprocess
import time

from machine import AFLAME, any_sampler, need, need_tool, program
from rank_work import RECORD, bare_environment, new_folder
from recording import Trace, aflame, must, parse_folded, record, refused, used_by_tree_ns
from tap import Skip, case, equal, expect, run_cases


def table(run, name, *words):
    """[{column: cell}] of a report's table."""
    document = json.loads(must("report", *words, "--json", "-n", "0", run.path))
    found = next(t for t in document["tables"] if t["name"] == name)
    return found["rows"]


def ranks(run):
    """{rank: sampled ns of its processes}, "" for those that have none."""
    sums = collections.Counter()
    for row in table(run, "processes"):
        sums[row["rank"]] += row["sampled_ns"]
    return {rank: ns for rank, ns in sums.items() if ns or rank}


def tells_the_same(run):
    """The table of processes, the one by rank and stacks by rank are one."""
    sums = ranks(run)
    rows = table(run, "rank_top", "top", "--by", "rank")
    wanted = {"rank " + rank if rank else "[no rank]": ns for rank, ns in sums.items() if ns}
    equal({row["track"]: row["total"] for row in rows}, wanted, "time by rank")
    stacks = collections.Counter()
    for frames, ns in parse_folded(must("flame", "--view", "cpu", "--group", "rank", run.path)):
        stacks[next((f[6:-1] for f in frames if f.startswith("[rank ")), "")] += ns
    equal(dict(stacks), {rank: ns for rank, ns in sums.items() if ns}, "stacks by rank")
    named = [row["track"] for row in table(run, "process_top", "top", "--by", "process")]
    equal(len(set(named)), len(named), "names of processes")
    return sums


# Four ranks in a script of Slurm's; one has a child.
JOB = """
export SLURM_PROCID=0
for rank in 0 1 2 3; do
    OMPI_COMM_WORLD_RANK=$rank "$0" 0.4 &
done
env OMPI_COMM_WORLD_RANK=1 sh -c '"$0" 0.4; :' "$0" &
wait
"""


@case("each rank has the samples of its processes, one of them of two")
def _():
    run = record(need_tool("sh"), "-c", JOB, program("nofp"), sampler=any_sampler())
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
    script = 'unset LD_PRELOAD; for rank in 5 6; do PMI_RANK=$rank "$0" 0.8 & done; wait'
    run = record(need_tool("sh"), "-c", script, program("nofp"), sampler="bpf", rate=499)
    sums = tells_the_same(run)
    expect(sums.get("5") and sums.get("6"), "ranks: %s" % sums)


@case("RANK is one only beside a second variable of torchrun's")
def _():
    run = record(
        need_tool("sh"),
        "-c",
        'RANK=first "$0" 0.2; RANK=7 "$0" 0.2; RANK=8 WORLD_SIZE=16 PMI_RANK=1 "$0" 0.2',
        program("nofp"),
        sampler=any_sampler(),
    )
    equal(set(ranks(run)) - {""}, {"8"}, "ranks")


@case("mpirun's processes have their ranks")
def _():
    options = ["--allow-run-as-root", "--oversubscribe", "-np", "4"]
    run = record(
        need_tool("mpirun"), *options, program("nofp"), "0.4", sampler=any_sampler(), quiet=False
    )
    sums = tells_the_same(run)
    equal(set(sums) - {""}, {"0", "1", "2", "3"}, "ranks")


# --- a recorder in each rank

LAUNCHERS = {
    "mpirun.openmpi": (["--oversubscribe"], "OMPI_COMM_WORLD_RANK"),
    "mpirun.mpich": ([], "PMI_RANK"),
}


def launch(launcher, nr, folder, *command, record_words=(), status=0, options=()):
    """Runs @nr recorders in @folder; the lines that their programs printed."""
    words = [need_tool(launcher), *LAUNCHERS[launcher][0], *options, "-n", str(nr)]
    done = subprocess.run(
        [*words, *RECORD, *record_words, "--", *command],
        cwd=folder,
        env=bare_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        check=False,
        timeout=200,
    )
    expect(done.returncode == status, "%s: status %d\n%s" % (launcher, done.returncode, done.stderr))
    return sorted(done.stdout.split("\n")[:-1]), done.stderr


def listed(folder, *words):
    """{rank: {column: cell}} as a command lists them."""
    document = json.loads(must("report", "ranks", "--json", "--limit", "0", *words, folder))
    rows = next(table for table in document["tables"] if table["name"] == "ranks")["rows"]
    equal(len({row["rank"] for row in rows}), len(rows), "ranks")
    return {row["rank"]: row for row in rows}


@case("each rank that mpirun starts has a trace of its own, and runs")
def _():
    for launcher, (_, variable) in LAUNCHERS.items():
        folder = new_folder()
        script = 'echo "$%s $$"; exec "$0" 0.05' % variable
        lines, _ = launch(launcher, 16, folder, "sh", "-c", script, program("shares"))
        pids = dict(line.split() for line in lines if re.fullmatch(r"\d+ \d+", line))
        equal(sorted(map(int, pids)), list(range(16)), "ranks that ran under " + launcher)
        equal(os.listdir(folder), ["aflame.data"], "what is there")
        path = folder + "/aflame.data"
        rows = listed(path)
        for rank in range(16):
            row = rows[rank]
            reported = (row["pid"], row["host"], row["exit_status"], row["state"])
            equal(reported, (pids[str(rank)], socket.gethostname(), "0", "complete"), "rank %d" % rank)
            trace = Trace(path + "/rank-%04d" % rank)
            equal(row["cpu_time_ns"], used_by_tree_ns(trace), "CPU time of rank %d" % rank)
        Trace(path + "/rank-0015").check()


# Another host is another name, with process ids of its own, over the same folder.
REMOTE_SHELL = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1; shift
exec unshare --uts --pid --fork --mount-proc --kill-child -- sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


def remote_options(launcher, shell):
    if launcher == "mpirun.mpich":
        return ["-launcher", "ssh", "-launcher-exec", shell, "-hosts", "host-a,host-b"]
    return ["--mca", "plm_rsh_agent", shell, "--host", "host-a:3,host-b:3"]


@case("ranks on several hosts that share a folder are one job")
def _():
    if os.geteuid():
        raise Skip("hosts are made as namespaces, by root")
    for launcher in LAUNCHERS:
        folder = new_folder()
        shell = folder + "/shell"
        with open(shell, "w", encoding="ascii") as f:
            f.write(REMOTE_SHELL)
        os.chmod(shell, 0o755)
        script = 'echo "$%s $(hostname) $$"; exec "$0" 0.05' % LAUNCHERS[launcher][1]
        lines, _ = launch(launcher, 6, folder, "sh", "-c", script, program("shares"), options=remote_options(launcher, shell))
        ran = {int(r): (host, pid) for r, host, pid in (line.split() for line in lines if re.fullmatch(r"\d+ \S+ \d+", line))}
        rows = listed(folder + "/aflame.data")
        equal({r: (row["host"], row["pid"]) for r, row in rows.items()}, ran, "ranks of " + launcher)
        equal(sorted(host for host, _ in ran.values()), 3 * ["host-a"] + 3 * ["host-b"], "hosts")
        equal({row["state"] for row in rows.values()}, {"complete"}, "states")
        # The next job sets this one aside, once, from whichever host it came.
        launch(launcher, 6, folder, "true", options=remote_options(launcher, shell))
        names = sorted(name.split("-")[0] for name in os.listdir(folder) if name != "shell")
        equal(names, ["aflame.data", "aflame.data.old"], "what is there")


@case("launchers that are not here are known by their variables")
def _():
    for rank, key, ranks_of in (("PALS_RANKID", "PALS_APID", "pals"), ("FLUX_TASK_RANK", "FLUX_JOB_ID", "flux")):
        folder = new_folder()
        for job in ("one", "two"):
            for n in ("0", "1"):
                subprocess.run([*RECORD, "--", "true"], cwd=folder, env=bare_environment(**{rank: n, key: job}), check=True)
            equal(sorted(listed(folder + "/aflame.data")), [0, 1], "ranks of " + ranks_of)
        names = sorted(name.split("-")[0] for name in os.listdir(folder))
        equal(names, ["aflame.data", "aflame.data.old"], "folders of two jobs of " + ranks_of)


def start(rank, folder, *command, stdin=subprocess.DEVNULL, **more):
    variables = {"RANK": str(rank), "WORLD_SIZE": "64", **more}
    return subprocess.Popen(
        [*RECORD, "--", *command],
        cwd=folder,
        env=bare_environment(**variables),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


def traces_in(folder):
    return sorted(name for name in os.listdir(folder) if name != ".job")


@case("ranks that start at the same instant share one folder, and set an older one aside once")
def _():
    folder = new_folder()
    names = ["rank-%04d" % rank for rank in range(24)]
    for number in range(4):
        job = {"TORCHELASTIC_RUN_ID": "run%d" % number}
        ranks = [start(r, folder, "sh", "-c", "echo ran; exit 3", **job) for r in range(24)]
        done = [(r.communicate(timeout=120), r.returncode) for r in ranks]
        equal([d for d in done if d != (("ran\n", ""), 3)], [], "ranks that fared otherwise")
        equal(traces_in(folder + "/aflame.data"), names, "traces of job %d" % number)
        olds = [name for name in os.listdir(folder) if name != "aflame.data"]
        equal(len(olds), min(number, 1), "older folders: %s" % olds)
        if olds:
            equal(traces_in(folder + "/" + olds[0]), names, "traces of the job before")
            notes = Trace(folder + "/" + olds[0] + "/rank-0007").fields("note")
            jobs = [n["value"] for n in notes if n["key"] == "job"]
            equal(jobs, ["torchrun-run%d" % (number - 1)], "the job that was set aside")


@case("ranks that are killed as they start leave nothing that holds up others")
def _():
    folder = new_folder()
    for number in range(3):
        job = {"TORCHELASTIC_RUN_ID": "run%d" % number}
        ranks = [start(r, folder, "echo", "ran", **job) for r in range(16)]
        for at, rank in enumerate(ranks[:8]):
            time.sleep(0.001 * at)
            rank.kill()
        done = [r.communicate(timeout=120) for r in ranks]
        equal(done[8:], [("ran\n", "")] * 8, "ranks that nobody killed")
        rows = listed(folder + "/aflame.data")
        for rank in range(8, 16):
            equal(rows[rank]["state"], "complete", "rank %d" % rank)
    job = {"TORCHELASTIC_RUN_ID": "last"}
    equal(start(0, folder, "echo", "ran", **job).communicate(timeout=60), ("ran\n", ""), "the next")
    equal(traces_in(folder + "/aflame.data"), ["rank-0000"], "its folder")


@case("a folder of a job that goes on is left alone: the other job runs unrecorded")
def _():
    folder = new_folder()
    wait = ["sh", "-c", "echo up; read x; exit 4"]
    first = start(0, folder, *wait, stdin=subprocess.PIPE, TORCHELASTIC_RUN_ID="one")
    first.stdout.readline()
    path = folder + "/aflame.data"
    equal(listed(path)[0]["state"], "still being recorded", "state of rank 0")
    other = start(0, folder, "sh", "-c", "echo ran; exit 5", TORCHELASTIC_RUN_ID="two")
    out, err = other.communicate(timeout=60)
    equal((out, other.returncode), ("ran\n", 5), "(output, status) of the other job")
    expect(re.search(r"unrecorded: another recording in aflame.data goes on: .*-o", err), err)
    equal(err.count("\n"), 1, "lines of " + err)
    plain = aflame("record", "-q", "--", "sh", "-c", "exit 6", cwd=folder, env=bare_environment())
    equal((plain.returncode, "still being recorded" in plain.stderr), (6, True), "a plain one")
    first.kill()
    first.communicate(timeout=60)
    row = listed(path)[0]
    equal((row["state"], row["exit_status"]), ("recovered", ""), "of a killed recorder")


@case("exit statuses are the program's, and are listed")
def _():
    folder = new_folder()
    scripts = ("exit 0", "exit 3", "kill -9 $$")
    job = {"TORCHELASTIC_RUN_ID": "ends"}
    ranks = [start(r, folder, "sh", "-c", scripts[r], **job) for r in range(3)]
    for rank in ranks:
        rank.communicate(timeout=60)
    equal([r.returncode for r in ranks], [0, 3, -signal.SIGKILL], "statuses")
    rows = listed(folder + "/aflame.data")
    equal([rows[r]["exit_status"] for r in range(3)], ["0", "3", "signal 9 (Killed)"], "as listed")


@case("commands list the ranks of a folder, and read the one that is asked for")
def _():
    folder = new_folder()
    launch(
        "mpirun.mpich", 3, folder, program("nofp"), "0.8", record_words=["--sample", any_sampler()]
    )
    path = folder + "/aflame.data"
    one = path + "/rank-0002"
    for words in (["flame"], ["report", "top"], ["report"], ["print"], ["timeline"], ["annotate"],
                  ["export", "--format", "folded"], ["flamescope"], ["tally"]):
        bare = aflame(*words, "--rank", "2", path)
        plain = aflame(*words, one)
        equal((bare.returncode, bare.stdout), (plain.returncode, plain.stdout), words)
        refused(1, r"has no rank 3: the ranks are 0-2$", *words, "--rank", "3", path)
        refused(1, r"has no rank two: the ranks are ", *words, "--rank", "two", path)
        refused(2, r"is not a folder of ranks", *words, "--rank", "2", one)
        done = aflame(*words, path)
        if words == ["tally"]:  # it adds the ranks up, and these call nothing
            equal(done.returncode, 0, "status of tally")
            expect("no calls of a traced API" in done.stderr, done.stderr)
            continue
        if words[0] in ("report", "flame", "export"):  # of all ranks together
            equal(done.returncode, 0, "status of %s" % words)
            expect("3 of 3 ranks" in done.stderr, "%s: %s" % (words, done.stderr))
            continue
        if words[0] in ("print", "flamescope"):
            equal(done.returncode, 0, "status of %s" % words)
            continue
        expect(done.returncode, "status of %s" % words)
        if words == ["annotate"]:  # of all ranks, which have no samples of instructions
            expect("3 of 3 ranks" in done.stderr and "has no samples of" in done.stderr, done.stderr)
            continue
        equal(words, ["timeline"], "commands that need --rank")  # Chrome's format has one process tree alone
        expect("only Perfetto's format has in one file" in done.stderr, done.stderr)
    # A witness: the lines of each rank, added up here.
    lines = {}
    for rank in range(3):
        for line in must("flame", "--rank", str(rank), path).splitlines():
            stack, weight = line.rsplit(" ", 1)
            lines[stack] = lines.get(stack, 0) + int(weight)
    whole = must("flame", path).splitlines()
    equal({line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in whole}, lines, "stacks of all ranks")
    apart = must("flame", "--by", "rank", path)
    expect(all("[rank %d]" % rank in apart for rank in range(3)), apart)
    tables = json.loads(must("report", "--json", "--limit", "0", path))["tables"]
    about = {row["key"]: row["value"] for row in next(t for t in tables if t["name"] == "set")["rows"]}
    equal((about["ranks"], about["hosts"]), ("3 of 3", "1"), "the set")
    top = next(t for t in tables if t["name"] == "cpu_top")["rows"]
    equal(sum(row["self"] for row in top), sum(lines.values()), "CPU time of all functions")
    equal({row["max_rank"] for row in top} - {"rank 0", "rank 1", "rank 2"}, set(), "ranks with most")
    expect(all(row["min_ranks"] <= row["median_ranks"] <= row["max_ranks"] <= row["self"] for row in top), top)
    changed = must("diff", "--rank", "1", path, path, "--json")
    expect('"rows"' in changed, changed)


@case("a pattern names traces by host, rank and process")
def _():
    folder = new_folder()
    lines, _ = launch("mpirun.openmpi", 3, folder, "sh", "-c", "echo $PPID",
                      record_words=["-o", "run/%h-%r-%p%%"])
    names = sorted(os.listdir(folder + "/run"))
    ranks = {name.rsplit("-", 2)[1]: name for name in names}
    equal(sorted(ranks), ["0", "1", "2"], "ranks in %s" % names)
    wanted = sorted("%s-%s-%s" % (socket.gethostname(), r, n.rsplit("-", 1)[1]) for r, n in ranks.items())
    equal(names, wanted, "names")
    equal(sorted(n.rsplit("-", 1)[1] for n in names), sorted(pid + "%" for pid in lines), "recorders")
    equal(sorted(listed(folder + "/run")), [0, 1, 2], "as listed")
    must("print", "--count", "--rank", "1", folder + "/run")
    refused(2, r"may have %h \(host\)", "record", "-o", "x%z", "--", "true", cwd=folder)


@case("a recorder inside of a rank, and a job inside of a recorder")
def _():
    folder = new_folder()
    inner = '"$0" record -q -o inner -- sh -c "exit 0"; "$0" record -q -- sh -c "echo ran"'
    lines, reported = launch("mpirun.mpich", 2, folder, "sh", "-c", inner, AFLAME)
    equal(lines, ["ran", "ran"], "programs inside")
    equal(len(re.findall("unrecorded: .*still being recorded", reported)), 2, "lines of " + reported)
    for name in ("aflame.data", "inner"):
        equal(traces_in(folder + "/" + name), ["rank-0000", "rank-0001"], name)
    words = [need_tool("mpirun.mpich"), "-n", "2", program("shares"), "0.02"]
    done = subprocess.run([*RECORD, "-o", "whole", "--", *words], cwd=folder, check=False,
                          env=bare_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, 0, "status: %s" % done.stderr)
    notes = Trace(folder + "/whole").fields("process_note")
    equal({n["value"] for n in notes if n["key"] == "rank"}, {"0", "1"}, "ranks in one trace")


@case("a batch script of Slurm's is no rank, its steps are")
def _():
    folder = new_folder()
    batch = {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}
    for name, more in (("batch", {}), ("step", {"SLURM_STEP_ID": "3"})):
        subprocess.run([*RECORD, "-o", name, "--", "true"], cwd=folder, check=True,
                       env=bare_environment(**batch, **more))
    expect(os.path.exists(folder + "/batch/metadata"), "the script's is no trace")
    equal(traces_in(folder + "/step"), ["rank-0000"], "of the step")
    with open(folder + "/step/.job", encoding="utf-8") as file:
        equal(file.read(), "aflame job slurm-77.3\n", "the key")


@case("aflame run: a report for each rank; a file that is not aflame's is kept")
def _():
    folder = new_folder()
    for name in ("report.html", "report-rank-0001.html"):
        with open(folder + "/" + name, "w", encoding="utf-8") as file:
            file.write("<!doctype html> my thesis")
    words = [need_tool("mpirun.mpich"), "-n", "2", AFLAME, "run", "--sample", "none", "--", "true"]
    for _ in range(2):
        subprocess.run(words, cwd=folder, check=True, env=bare_environment(), stderr=subprocess.PIPE)
    equal(
        sorted(n for n in os.listdir(folder) if n.endswith(".html")),
        ["report-rank-0000.html", "report-rank-0001-2.html", "report-rank-0001.html", "report.html"],
        "files",
    )
    for _ in range(2):
        done = aflame("run", "-q", "--sample", "none", "--", "sh", "-c", "exit 3", cwd=folder,
                      env=bare_environment())
        equal((done.returncode, "report-2.html" in done.stderr), (3, True), done.stderr)
    for name in ("report.html", "report-rank-0001.html"):
        with open(folder + "/" + name, encoding="utf-8") as file:
            equal(file.read(), "<!doctype html> my thesis", name)
    aflame("run", "-q", "--sample", "none", "--report", "report.html", "--", "true", cwd=folder)
    with open(folder + "/report.html", encoding="utf-8") as file:
        expect('content="aflame' in file.read(1000), "a file that was named is not replaced")
    expect(not os.path.exists(folder + "/report-3.html"), "a report of aflame's is not replaced")


@case("aflame.data that is no trace is kept: the trace takes another name, and a line says so")
def _():
    folder = new_folder()
    os.mkdir(folder + "/aflame.data")
    with open(folder + "/aflame.data/mine", "w", encoding="utf-8") as file:
        file.write("mine")
    done = aflame("record", "-q", "--sample", "none", "--", "true", cwd=folder, env=bare_environment())
    equal(done.returncode, 0, "status")
    expect(re.fullmatch(r"aflame: aflame.data exists and is not .*aflame.data-2\n", done.stderr), done.stderr)
    equal(os.listdir(folder + "/aflame.data"), ["mine"], "the folder")
    Trace(folder + "/aflame.data-2").check()


run_cases()
