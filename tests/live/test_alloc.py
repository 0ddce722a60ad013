#!/usr/bin/env python3
"""Allocations by stack (record --alloc): held to the byte against programs of known sizes, against valgrind, and
against a library that counts what reaches malloc behind aflame's."""

import json
import os
import re
import signal
import subprocess
import sys

from machine import BUILD, any_sampler, need_tool, program
from recording import aflame, bare, must, new_path, record
from tap import Skip, case, equal, expect, note, run_cases

ALLOC = ["--alloc"]

# aflame's own allocations in a program are not the program's; the library behind counts them.
OWN_ALLOCATIONS, OWN_BYTES = 4, 256


def function_sums(recording, weight):
    """{function: bytes of the stacks that have it}"""
    sums = {}
    for frames, value in recording.stacks(view="all", weight=weight):
        for name in {bare(frame) for frame in frames}:
            sums[name] = sums.get(name, 0) + int(value)
    return sums


def process_sums(recording):
    """{pid: [allocations, bytes, frees, freed bytes]}, as the events add up."""
    sums = {}
    for event in recording.events("allocated"):
        fields = event["fields"]
        row = sums.setdefault(event["pid"], [0, 0, 0, 0])
        for i, key in enumerate(("allocations", "bytes", "frees", "freed_bytes")):
            row[i] += fields[key]
    return sums


def truth_of(output):
    rows = (line.split() for line in output.decode().splitlines())
    return {row[0]: tuple(map(int, row[1:])) for row in rows}


def check_truth(recording, truth):
    figures = [function_sums(recording, weight) for weight in ("alloc", "live", "allocs")]
    expect(len(truth) >= 6, "the program tells too little: %s" % truth)
    for name, want in truth.items():
        equal(tuple(sums.get(name, 0) for sums in figures), want, name)


def losses(recording):
    return [row for row in recording.fields("lost") if row["reason"] == "TABLE_FULL"]


def findings(recording):
    table = json.loads(must("report", "findings", "-n", "0", "--json", recording.path))["tables"][0]
    return {row["kind"]: row for row in table["rows"]}


@case("four threads, frees by others, realloc, aligned ones: total, live and number to the byte")
def _():
    recording = record(program("allocates"), options=ALLOC)
    check_truth(recording, truth_of(recording.stdout))
    equal(losses(recording), [], "blocks that were not followed")
    rows = json.loads(must("report", "top", "-w", "live", "--json", recording.path))["tables"][0]["rows"]
    own = {row["function"]: row["self"] for row in rows}
    equal(own.get("leaks"), 400600, "self of leaks in report top -w live")
    equal(own.get("frees_its_own", 0), 0, "self of frees_its_own")


@case("under each sampler the figures are the same")
def _():
    for sampler in ("perf", "timer"):
        recording = record(program("allocates"), sampler=sampler, options=ALLOC)
        check_truth(recording, truth_of(recording.stdout))


@case("a forked child begins with nothing, and what it frees of its parent's changes no counter")
def _():
    recording = record(program("allocates"), "fork", options=ALLOC)
    sums = process_sums(recording)
    equal(len(sums), 2, "processes that allocated")
    child = sorted(sums.values())[0]
    equal(child, [2, 11 + 15, 1, 15], "of the child")
    truth = truth_of(recording.stdout)
    figures = function_sums(recording, "live")
    equal(figures["leaks"], truth["leaks"][1] + 11, "bytes in use")
    equal(figures["others_free"], truth["others_free"][1], "bytes in use")


@case("killed by SIGKILL, nearly all is in the trace")
def _():
    recording = record(program("allocates"), "killed", options=ALLOC, status=-signal.SIGKILL)
    truth = truth_of(recording.stdout)
    figures = [function_sums(recording, weight) for weight in ("alloc", "live", "allocs")]
    for name in ("leaks", "others_free", "grows"):
        equal(tuple(sums.get(name, 0) for sums in figures), truth[name], name)
    calls = figures[2]["frees_its_own"] - truth["frees_its_own"][2]
    note("%d of 1000 calls before the end" % calls)
    expect(300 <= calls <= 1000, "%d of 1000 calls before the end" % calls)


@case("valgrind counts the same allocations and bytes")
def _():
    valgrind = need_tool("valgrind")
    recording = record(program("allocates"), "plain", options=ALLOC)
    done = subprocess.run([valgrind, "--leak-check=no", program("allocates"), "plain"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=True)
    found = re.search(r"total heap usage: ([\d,]+) allocs, [\d,]+ frees, ([\d,]+) bytes", done.stderr)
    expect(found, done.stderr)
    want = [int(number.replace(",", "")) for number in found.groups()]
    (sums,) = process_sums(recording).values()
    equal(sums[:2], want, "allocations and bytes")


def second_witness(words, needs=True, **environment):
    """Records @words with the library behind; compares, and expects the output that it has without aflame."""
    library = os.path.join(BUILD, "tests/live/programs/libcounts_allocations.so")
    counts = new_path("counts")
    plain = {**os.environ, **environment}
    bare_run = subprocess.run(words, env=plain, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
    recording = record(*words, options=ALLOC, status=bare_run.returncode,
                       env={**plain, "LD_PRELOAD": library, "COUNTS_ALLOCATIONS": counts})
    equal(recording.stdout, bare_run.stdout, "output")
    with open(counts, encoding="ascii") as file:
        witness = {int(pid): (int(nr), int(size)) for pid, nr, size in map(str.split, file)}
    sums = process_sums(recording)
    (pid,) = sums.keys() & witness.keys()
    nr, size = witness[pid]
    note("%d allocations, %d bytes; the witness: %d, %d" % (*sums[pid][:2], nr, size))
    expect(nr > 50, "%d allocations" % nr)
    expect(0 <= nr - sums[pid][0] <= OWN_ALLOCATIONS, "allocations: %d, not %d" % (sums[pid][0], nr))
    expect(0 <= size - sums[pid][1] <= OWN_BYTES, "bytes: %d, not %d" % (sums[pid][1], size))
    equal(losses(recording), [], "blocks that were not followed")
    return recording


SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c where x<20000) "
       "insert into t select x, hex(x) from c; select count(*), sum(a), max(b) from t;")
PROGRAMS = {
    "sqlite3": [":memory:", SQL],
    "jq": ["-n", "[range(20000) | {a: ., b: tostring}] | length"],
    "git": ["--version"],
    "perl": ["-e", "my %h; $h{$_} = [1 .. 9] for 1 .. 5000; print scalar(keys %h), qq(\\n)"],
    "awk": ["BEGIN { for (i = 0; i < 20000; i++) a[i] = i \"x\"; print length(a) }"],
    "sort": ["/etc/services", "/etc/passwd"],
}


def for_program(name):
    @case("%s: as many bytes as the library behind counts, and its output is the same" % name)
    def _():
        tool = need_tool(name)
        recording = second_witness([os.path.realpath(tool), *PROGRAMS[name]])
        stacks = recording.stacks(view="all", weight="alloc")
        whole = sum(weight for _, weight in stacks)
        named = sum(weight for frames, weight in stacks if len(frames) > 4)
        expect(named >= 0.9 * whole, "%d of %d bytes have a stack" % (named, whole))


for each in PROGRAMS:
    for_program(each)


@case("Python: its frames have the bytes that its objects take, and the library behind counts the same")
def _():
    script = new_path("keeps") + ".py"
    with open(script, "w", encoding="utf-8") as file:
        file.write("kept = []\n"
                   "def keeps():\n    for i in range(1000):\n        kept.append(bytes(1000))\n"
                   "def drops():\n    for i in range(1000):\n        bytes(3000)\n"
                   "keeps()\ndrops()\nprint(len(kept), flush=True)\n"
                   "import os\nif len(os.sys.argv) > 1: os._exit(3)\n")
    python = os.path.realpath(sys.executable)
    recording = second_witness([python, "-S", script], PYTHONMALLOC="malloc")
    header = sys.getsizeof(b"")
    for weight, name, least in (("alloc", "keeps", 1000 * (1000 + header)), ("alloc", "drops", 1000 * (3000 + header))):
        sums = {}
        for frames, value in recording.stacks(view="all", weight=weight):
            for frame in frames:
                if frame.startswith(name + " ("):
                    sums[name] = sums.get(name, 0) + value
        got = sums.get(name, 0)
        expect(least <= got <= least * 1.1, "%s of %s: %d, not %d" % (weight, name, got, least))
    other = record(python, "-S", script, "exit", options=ALLOC, status=3, env={**os.environ, "PYTHONMALLOC": "malloc"})
    live = sum(value for frames, value in other.stacks(view="all", weight="live")
               if any(frame.startswith("keeps (") for frame in frames))
    expect(1000 * (1000 + header) <= live <= 1100 * (1000 + header), "live of keeps, at _exit: %d" % live)


@case("a program that runs another: both images are there, to the byte")
def _():
    shell = os.path.realpath(need_tool("sh"))
    recording = record(shell, "-c", 'true; exec "$0"', program("allocates"), options=ALLOC)
    check_truth(recording, truth_of(recording.stdout))
    expect(any(frames[0] in ("dash", "sh", "bash") for frames, _ in recording.stacks(view="all", weight="alloc")),
           "the shell allocated nothing")


@case("a malloc of the program's own, and a static program: they run as without, and the report says so")
def _():
    recording = record(program("own_malloc"), options=ALLOC)
    equal(recording.stdout, b"a text of its own\n", "output")
    row = findings(recording).get("allocations-unseen")
    expect(row and "own_malloc calls the malloc of" in row["finding"], "findings: %s" % findings(recording))
    if not os.path.exists(program("static_allocates")):
        raise Skip("no static C library")
    recording = record(program("static_allocates"), sampler=any_sampler(), options=ALLOC)
    equal(truth_of(recording.stdout)["leaks"], (400600, 400600, 400), "what the static program prints")
    row = findings(recording).get("allocations-unseen")
    expect(row and "cannot load libaflame-alloc.so" in row["finding"], "findings: %s" % findings(recording))
    seen = findings(record(program("allocates"), options=ALLOC))
    expect("allocations-unseen" not in seen, "findings: %s" % seen)


@case("without --alloc no program has the library, and nothing is recorded")
def _():
    env = need_tool("env")
    preloads = {}
    for options in ([], ALLOC):
        recording = record(env, options=options)
        preloads[bool(options)] = re.search("^LD_PRELOAD=(.*)", recording.stdout.decode(), re.M).group(1)
        equal(bool(recording.events("allocated")), bool(options), "events")
    expect("libaflame-alloc.so" in preloads[True], preloads[True])
    expect("libaflame-alloc.so" not in preloads[False], preloads[False])
    recording = record(program("allocates"), sampler="timer")
    done = aflame("flame", "-w", "alloc", recording.path)
    expect(done.returncode != 0 and "record it with --alloc" in done.stderr, done.stderr)


@case("--alloc refuses what would make its sums wrong")
def _():
    for options in (["--ring", "4M"], ["--tally-only"]):
        done = aflame("record", "-q", "--strict", "-o", new_path(), "--alloc", *options, "--", "true")
        expect(done.returncode != 0 and "--alloc" in done.stderr, "%s: %s" % (options, done.stderr))
    done = aflame("record", "-q", "-o", new_path(), "--alloc", "-p", os.getpid())
    expect(done.returncode != 0 and "--alloc" in done.stderr, done.stderr)


run_cases()
