#!/usr/bin/env python3
"""Every view of a set answers for all of its ranks, and names those that it cannot read."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess

from machine import AFLAME, BUILD
from recording import must, new_path
from tap import case, equal, expect, run_cases
from terminal import Terminal

RANKS = 4


def generate(out, *options):
    """A set of generated ranks, and the truth about it."""
    command = [os.path.join(BUILD, "tests/bench/gen_set"), out, "--ranks", str(RANKS), "--hosts", "2"]
    done = subprocess.run([*command, "--bytes", "1000000", *options], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def made():
    out = new_path("set")
    return out, generate(out, "--straggler", "2")


def tables(*words):
    return {t["name"]: t["rows"] for t in json.loads(must(*words, "--json"))["tables"]}


def first_row(terminal):
    """Self and function of the first row of Top."""
    found = re.match(r" *([\d.]+ \w+) +[\d.]+ % .* % \w+ +(\S+)", terminal.lines()[3])
    expect(found, "no row:\n" + terminal.text())
    return found[1], found[2]


@case("tui shows all ranks together, or the one that is chosen, as the reports do")
def _():
    out, _ = made()
    terminal = Terminal([AFLAME, "tui", "--view", "cpu", out], columns=110)
    terminal.wait_for(r"%d ranks  cpu by CPU time" % RANKS)
    heads = []
    for words, keys, head in (([], [], "4 ranks"), (["--rank", "2"], ["R", "2", "enter"], "rank 2  cpu"),
                              (["--rank", "3"], [">"], "rank 3  cpu"), ([], ["R", "enter"], "4 ranks")):
        terminal.press(*keys).wait_for(head)
        row = tables("report", "top", "--view", "cpu", *words, out)["time_top"][0]
        shown, function = first_row(terminal)
        equal(function, row["function"], "the first function of %s" % head)
        equal("%.3f ms" % (row["self"] / 1e6), shown, "its time in %s" % head)
        heads.append(shown)
    equal(heads[0], heads[3], "all ranks, before and after")
    terminal.press("R", "9", "9", "enter").wait_for("no rank 99")
    terminal.press("q")


def folded_total(*words):
    return sum(int(line.rsplit(" ", 1)[1]) for line in must(*words).splitlines())


def files_of(folder):
    total = 0
    for name in must("flamescope", "--interval", "500ms", "-o", folder + ".folded", made()[0]).split():
        with open(name, encoding="utf-8") as file:
            total += sum(int(line.rsplit(" ", 1)[1]) for line in file)
    return total


@case("flamescope's map of a set has what those of its ranks have, and parts of its time add up to it")
def _():
    out, truth = made()
    for view, key in (("cpu", "count"), ("gpu", "time_ns")):
        whole = tables("flamescope", "--view", view, out)
        single = [tables("flamescope", "--view", view, "--rank", str(i), out) for i in range(RANKS)]
        equal(sum(row[key] for row in whole["heat"]), sum(row[key] for one in single for row in one["heat"]), view)
    # All begin at one time, on clocks that are far apart.
    longest = max(one["heat_about"][0]["to_ns"] for one in single)
    expect(abs(truth["clocks"][1]["offset_begin_ns"]) > 10e6, truth["clocks"])
    expect(abs(whole["heat_about"][0]["to_ns"] - longest) < 5e6, (whole["heat_about"], longest))
    equal(files_of(new_path("part")), folded_total("flame", "--view", "cpu", out), "time of all parts")


def printed(*words):
    return [json.loads(line) for line in must("print", "--json", *words).splitlines()]


@case("print merges the events of all ranks by the set's time, and a broken rank costs only its own")
def _():
    out, truth = made()
    events = printed(out, "-k", "MPI_Send,MPI_Recv")
    times = [event["time_ns"] for event in events]
    equal(times, sorted(times), "order")
    equal(len(events), truth["calls"]["MPI_Send"]["count"] + truth["calls"]["MPI_Recv"]["count"], "calls")
    for rank in range(RANKS):
        single = printed("--rank", str(rank), out, "-k", "MPI_Send,MPI_Recv")
        mine = [dict(event) for event in events if event["rank"] == rank]
        away = {event["time_ns"] - one["time_ns"] for event, one in zip(mine, single)}
        begin, end = (truth["clocks"][rank * 2 // RANKS]["offset_%s_ns" % at] for at in ("begin", "end"))
        low, high = min(begin, end) - 1000000, max(begin, end) + 1000000
        expect(low <= min(away) and max(away) <= high, "rank %d is moved by %s: %s" % (rank, away, truth["clocks"]))
    # Time is cut where the set has it, not where each trace began.
    part = printed(out, "-k", "MPI_Send,MPI_Recv", "--from", "500ms", "--to", "700ms")
    start = times[0] - printed(out, "-n", "1")[0]["time_ns"]
    equal(len(part), sum(500e6 <= t - times[0] + start <= 700e6 for t in times), "events of 200 ms")

    broken = new_path("broken")
    generate(broken, "--dead", "1", "--truncated", "3", "--duplicate", "0")
    with open(os.path.join(broken, "rank-0002", "metadata"), "w", encoding="ascii") as file:
        file.write("not CTF")
    done = subprocess.run([AFLAME, "print", "-k", "MPI_Send", broken], capture_output=True, text=True, check=True)
    seen = {line.split()[1] for line in done.stdout.splitlines()}
    equal(seen, {"rank-0000", "rank-0000b", "r1", "r3"}, "ranks with events")
    expect(re.search("rank 2 is left out: .*metadata", done.stderr) and "rank-0003 is damaged" in done.stderr,
           done.stderr)


def sampled_set():
    """Three ranks with samples of a kernel, whose code differs in the third; and the object of that."""
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/annotate")
    out = new_path("sampled")
    with open(os.path.join(golden, "walk.cubin"), "rb") as file:
        code = file.read()
    with open(os.path.join(golden, "walk.trace"), encoding="utf-8") as file:
        text = file.read()
    first = hashlib.sha256(code).hexdigest()
    for rank in range(3):
        mine = code + b"\0" * 4 if rank == 2 else code
        name = hashlib.sha256(mine).hexdigest()
        trace = os.path.join(out, "rank-%04d" % rank)
        source = new_path("walk") + ".trace"
        os.makedirs(out, exist_ok=True)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text.replace(first, name))
        subprocess.run([os.path.join(BUILD, "tests/golden/trace/mktrace"), source, trace], check=True)
        with open(source, "w", encoding="utf-8") as file:
            for note in ("rank=%d" % rank, "host=node0, Linux", "aflame=1.0"):
                line = '   0.000000000 s30  p0  100/100       note         key="%s" value="%s"\n'
                file.write(line % tuple(note.split("=")))
        subprocess.run([os.path.join(BUILD, "tests/golden/trace/mktrace"), source, source + ".notes"], check=True)
        os.rename(source + ".notes/s30", os.path.join(trace, "recorder"))
        os.makedirs(os.path.join(trace, "objects"), exist_ok=True)
        with open(os.path.join(trace, "objects", name), "wb") as file:
            file.write(mine)
    return out, name


@case("annotate adds up the samples of all ranks by instruction, and tells other code of a kernel apart")
def _():
    out, other = sampled_set()
    one = tables("annotate", "walk", os.path.join(out, "rank-0000"))
    for name, ranks, several in (("walk", 2, True), ("walk@" + other[:8], 1, False)):
        for words in (["annotate", name, out], ["report", "annotate", name, out]):
            got = tables(*words)
            for table in ("insns", "lines", "reasons"):
                equal([row["samples"] for row in got[table]], [ranks * row["samples"] for row in one[table]], table)
            equal([row["text"] for row in got["insns"]], [row["text"] for row in one["insns"]], "instructions")
            equal("more with other code" in json.dumps(got["kernel"]), several, "other code of %s" % name)
    # The processes of a launcher send what they added up.
    if shutil.which("mpirun"):
        command = ["mpirun", "-n", "2", AFLAME, "annotate", "--json", "walk", out]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        equal(json.loads(done.stdout), json.loads(must("annotate", "--json", "walk", out)), "two processes")


run_cases()
