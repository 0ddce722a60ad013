#!/usr/bin/env python3
"""Calls of MPI, of both families of MPIs, for C and Fortran: what is recorded is what was done, a tool
of the program's own counts the same, and neither the program nor its tool notices."""

import collections
import json
import os
import re
import shutil
import subprocess
import time

from machine import AFLAME, BUILD, need_tool
from recording import new_path
from tap import Skip, case, equal, expect, near, note, run_cases

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
MPIS = ("openmpi", "mpich")
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}

_compiled = {}


def compiled(mpi, name, *words, language="c"):
    """Path of a program, compiled for that MPI."""
    key = (mpi, name, words)
    if key not in _compiled:
        compiler = need_tool(("mpicc." if language == "c" else "mpifort.") + mpi)
        to = new_path(name + "-" + mpi)
        done = subprocess.run(
            [compiler, "-O1", "-g", os.path.join(SOURCES, name) if "." in name else name, *words, "-o", to],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        if done.returncode:
            raise Skip("%s does not compile: %s" % (compiler, done.stdout[:300]))
        _compiled[key] = to
    return _compiled[key]


def run(mpi, path, *options, words=(), status=55, env=None):
    """Two ranks, each with a recorder; the folder of their traces."""
    launcher = need_tool("mpirun." + mpi)
    out = new_path("mpi")
    done = subprocess.run(
        [launcher, "-n", "2", AFLAME, "record", "-q", "-o", out, *options, "--", path, *words],
        env={**ENVIRONMENT, **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=120, check=False,
    )
    equal(done.returncode, status, "status; %s %s" % (done.stdout[-500:], done.stderr[-500:]))
    return out


CALL = re.compile(r" mpi:(MPI_\w+): \{ .*?\}, \{ (callpath = .*) \}$")


def calls(folder, rank=None):
    """[(function, {field: text})] of a trace, as babeltrace2 reads it."""
    path = folder if rank is None else os.path.join(folder, "rank-%04d" % rank)
    text = subprocess.run(
        [need_tool("babeltrace2"), path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True
    ).stdout
    found = []
    for line in text.splitlines():
        call = CALL.search(line)
        if not call:
            continue
        named = re.sub(r'\( "(\w+)" : container = -?\d+ \)', r"\1", call.group(2))
        named = re.sub(r"\( <unknown> : container = (-?\d+) \)", r"\1", named)
        found.append((call.group(1), dict(field.split(" = ", 1) for field in parts(named))))
    return found


def parts(text):
    """What stands between the commas that are in no brackets and no quotes."""
    depth, quoted, begin, found = 0, False, 0, []
    for i, c in enumerate(text):
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "[{(") - (c in "]})")
        if c == "," and not depth and not quoted:
            found.append(text[begin:i].strip())
            begin = i + 1
    return found + [text[begin:].strip()]


def counted(seen, names):
    """{function: (calls, bytes)}"""
    sums = collections.OrderedDict((name, [0, 0]) for name in names)
    for name, fields in seen:
        if name in sums:
            sums[name][0] += 1
            sums[name][1] += int(fields.get("bytes", 0))
    return {name: tuple(sums[name]) for name in names}


def tool_counts(tool, rank):
    """The same as the tool tells it."""
    with open("%s.%d" % (tool, rank), encoding="utf-8") as f:
        return {words[0]: (int(words[1]), int(words[2])) for words in map(str.split, f)}


def as_tool_counts(mpi):
    library = compiled(mpi, "mpi_tool.c", "-shared", "-fPIC")
    path = compiled(mpi, "mpi_talks.c", library, "-Wl,-rpath," + os.path.dirname(library))
    tool = new_path("tool")
    folder = run(mpi, path, "--api", "mpi:full", env={"MPI_TOOL": tool})
    for rank in 0, 1:
        seen = calls(folder, rank)
        theirs = tool_counts(tool, rank)
        expect(theirs["MPI_Isend"] == (5, 5 * 4 * 52), "the tool counts: %s" % theirs)
        equal(counted(seen, theirs), theirs, "calls and bytes of rank %d" % rank)
        peers(seen, rank)
    return folder


def peers(seen, rank):
    for name, fields in seen:
        if name == "MPI_Send" and fields["tag"] == "7":
            equal((fields["dest"], fields["datatype"], fields["comm"]), ("1", "MPI_DOUBLE", "MPI_COMM_WORLD"), "a send")
        if name == "MPI_Recv":
            equal((fields["source"], fields["tag"]), ("MPI_ANY_SOURCE", "MPI_ANY_TAG"), "a receive as it was asked for")
            expect("source = 0, tag = 7" in fields["status_val"] and "bytes = 800" in fields["status_val"], fields["status_val"])
    failed = [f for n, f in seen if f["flags"] not in ("0x0", "0")]
    equal([f["result"] for f in failed], ["MPI_ERR_RANK"], "calls that failed")
    equal(failed[0]["dest"], "99", "the peer of the one that failed")
    nobody = [f for n, f in seen if n == "MPI_Send" and f["dest"] == "MPI_PROC_NULL"]
    equal([f["bytes"] for f in nobody], ["4"], "bytes to nobody")
    one = dict(seen)
    equal(one["MPI_Comm_set_name"]["comm_name_str"], '"halves"', "a text")
    equal(one["MPI_Comm_free"]["comm_val"], "MPI_COMM_NULL", "a handle that is gone")
    expect(one["MPI_Comm_free"]["comm_in"] == one["MPI_Comm_split"]["newcomm_val"], "it was the one that was made")
    equal(one["MPI_Gather"]["bytes"], "28", "bytes of a gather")
    equal(one["MPI_Scatter"]["bytes"], "36", "bytes of a scatter")
    equal(one["MPI_Allgather"]["bytes"], "0", "bytes in place")
    equal(one["MPI_Pcontrol"]["level"], "2", "a call with more arguments")
    equal(one["MPI_Comm_rank"]["rank_val"], str(rank), "a rank")


def requests_are_tied(seen):
    posted = [f["request_val"] for n, f in seen if n in ("MPI_Isend", "MPI_Irecv")]
    waited = [r for n, f in seen if n == "MPI_Waitall" for r in re.findall(r"\] = (\w+)", f["array_of_requests_in"])]
    expect(posted and posted == waited, "posted %s, waited for %s" % (posted, waited))


for _mpi in MPIS:

    @case("%s: calls, bytes, peers and tags are those that a tool of the program counts" % _mpi)
    def _(mpi=_mpi):
        folder = as_tool_counts(mpi)
        requests_are_tied(calls(folder, 0))

    @case("%s: without an option, calls in which time is spent are recorded" % _mpi)
    def _(mpi=_mpi):
        folder = run(mpi, compiled(mpi, "mpi_talks.c"))
        names = collections.Counter(name for name, _ in calls(folder, 0))
        equal((names["MPI_Send"], names["MPI_Waitall"], names["MPI_Barrier"]), (12, 5, 1), "calls")
        expect(not names["MPI_Comm_rank"] and not names["MPI_Comm_set_name"], "queries: %s" % names)

    @case("%s: a tool that is part of the program still works" % _mpi)
    def _(mpi=_mpi):
        path = compiled(mpi, "mpi_talks.c", os.path.join(SOURCES, "mpi_tool.c"))
        tool = new_path("tool")
        run(mpi, path, "--api", "mpi:full", env={"MPI_TOOL": tool})
        equal(tool_counts(tool, 0)["MPI_Send"], (12, 8004), "what the tool counts")

    for _module in "mpi", "mpi_f08":

        @case("%s: each call of Fortran's module %s is recorded once" % (_mpi, _module))
        def _(mpi=_mpi, module=_module):
            fortran(mpi, module)

    @case("%s: calls of a library that the program keeps to itself are recorded" % _mpi)
    def _(mpi=_mpi):
        library = compiled(mpi, "mpi_talks.c", "-shared", "-fPIC")
        loader = new_path("mpi_loads")
        subprocess.run([need_tool("cc"), os.path.join(SOURCES, "mpi_loads.c"), "-ldl", "-o", loader], check=True)
        folder = run(mpi, loader, words=[library])
        equal(sum(n == "MPI_Send" for n, _ in calls(folder, 0)), 12, "sends")

    @case("%s: one recorder around the launcher sees both ranks" % _mpi)
    def _(mpi=_mpi):
        out = new_path("mpi")
        done = subprocess.run(
            [AFLAME, "record", "-q", "-o", out, "--", need_tool("mpirun." + mpi), "-n", "2", compiled(mpi, "mpi_talks.c")],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
        )
        equal(done.returncode, 55, "status")
        names = collections.Counter(name for name, _ in calls(out))
        equal((names["MPI_Send"], names["MPI_Recv"], names["MPI_Init"]), (14, 10, 2), "calls of both")

    @case("%s: a call that never returns is seen" % _mpi)
    def _(mpi=_mpi):
        never_returns(mpi)


def fortran(mpi, module):
    text = open(os.path.join(SOURCES, "mpi_talks.f90"), encoding="utf-8").read()
    if module == "mpi_f08":
        text = text.replace("use mpi\n", "use mpi_f08\n").replace("status(MPI_TAG)", "status%MPI_TAG")
        text = text.replace(
            "integer :: requests(2), status(MPI_STATUS_SIZE), halves",
            "type(MPI_Request) :: requests(2)\n type(MPI_Status) :: status\n type(MPI_Comm) :: halves",
        )
    source = new_path("talks") + ".f90"
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    folder = run(mpi, compiled(mpi, source, language="fortran"), "--api", "mpi:full")
    for rank in 0, 1:
        seen = calls(folder, rank)
        names = [name for name, _ in seen]
        pair = ["MPI_Recv" if rank else "MPI_Send"] * 2
        equal(
            names,
            ["MPI_Init", "MPI_Comm_rank", *pair, "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Allgather"]
            + ["MPI_Comm_split", "MPI_Comm_set_name", "MPI_Comm_get_name", "MPI_Barrier", "MPI_Finalize"],
            "calls of rank %d" % rank,
        )
        equal([f["bytes"] for _, f in seen[2:4]], ["800", "40"], "bytes")
        equal([f["datatype"] for _, f in seen[2:4]], ["MPI_DOUBLE_PRECISION", "MPI_REAL"], "datatypes")
        one = dict(seen)
        equal((one["MPI_Comm_set_name"]["comm_name_str"], one["MPI_Comm_get_name"]["comm_name_str"]), ('"halves"',) * 2, "texts")
        equal((one["MPI_Allreduce"]["bytes"], one["MPI_Allgather"]["bytes"]), ("32", "0"), "bytes of collectives")
        requests_are_tied(seen)


def never_returns(mpi):
    out = new_path("mpi")
    with subprocess.Popen(
        [need_tool("mpirun." + mpi), "-n", "2", AFLAME, "record", "-q", "-o", out, "--", compiled(mpi, "mpi_talks.c"), "wait"],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as launcher:
        line = launcher.stdout.readline().split()
        equal(line[:1], ["waiting"], "what it says")
        time.sleep(1)
        os.kill(int(line[1]), 9)
        launcher.wait(timeout=60)
    trace = os.path.join(out, "rank-0001")
    printed = subprocess.run([AFLAME, "print", "--kind", "call_open", trace], stdout=subprocess.PIPE, text=True, check=True).stdout
    expect("MPI_Recv" in printed or re.search(r"function=(8435|0x20f3)", printed), "calls under way: %s" % printed)


def tables(folder, rank):
    """{name: rows} of a rank's report."""
    done = subprocess.run(
        [AFLAME, "report", "--json", "--limit", "0", "--rank", str(rank), folder], stdout=subprocess.PIPE, text=True, check=True
    )
    return {t["name"]: t["rows"] for t in json.loads(done.stdout)["tables"]}


def reported(folder, rank, report):
    """{name of a table: its rows} of a report on one rank."""
    done = subprocess.run(
        [AFLAME, "report", report, "-n", "0", "--json", os.path.join(folder, "rank-%04d" % rank)],
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def waits_for_the_other(mpi):
    """Rank 0 works for 0.2 s before each of three messages: rank 1 waits, and its receives are open."""
    folder = run(mpi, compiled(mpi, "mpi_waits.c"), status=0)
    busy, bound = tables(folder, 0), tables(folder, 1)
    expect(busy["mpi"][0]["share"] < 20, "the one that works: %s" % busy["mpi"])
    equal([r["key"] for r in busy.get("verdict", [])], [], "its verdict")
    near(bound["mpi"][0]["time_ns"] / 1e9, 0.6, 0.1, "seconds that the other one was in MPI")
    equal([r["key"] for r in bound["verdict"]], ["MPI-bound"], "its verdict")
    posted = {(r["function"], r["peer"]): r for r in bound["mpi_requests"]}
    own = posted["MPI_Irecv", 0]
    equal((own["requests"], own["bytes"], own["open"], own["unseen"]), (2, 2 * 4 * 7, 0, 0), "requests")
    near(own["mean_ns"] / 1e9, 0.2, 0.05, "seconds from the post to the completion")
    near(own["waited_ns"] / 1e9, 0.4, 0.1, "of these, all were waited")
    again = posted["MPI_Recv_init", 0]
    equal((again["requests"], again["bytes"], again["open"]), (1, 4 * 3, 0), "a request that is started")
    equal(posted["MPI_Irecv", None]["open"], 1, "one that nobody completes")


for _mpi in MPIS:

    @case("%s: a rank that waits for another is MPI-bound, and its requests are tied to their ends" % _mpi, tries=2)
    def _(mpi=_mpi):
        waits_for_the_other(mpi)


def misused(mpi):
    """Tiny messages, a wait and a loop of queries: rows of the table of uses."""
    truth = new_path("truth")
    folder = run(mpi, compiled(mpi, "mpi_misuses.c"), "--api", "mpi:full", "--api-stacks",
                 status=0, env={"MPI_TRUTH": truth})  # fmt: skip
    with open(truth, encoding="utf-8") as file:
        asked = int(file.read())
    sender, receiver = (
        {(r["kind"], r["function"], r["caller"]): r for r in reported(folder, rank, "usage")["usage"]}
        for rank in (0, 1)
    )
    tiny = sender["tiny-messages", "MPI_Send", "send_tiny"]
    equal((tiny["calls"], tiny["of_calls"], tiny["bytes"], tiny["peers"]), (1000, 1011, 8000, 1), "messages")
    wait = receiver["mpi-waits", "MPI_Barrier", "wait_for_other"]
    equal(wait["calls"], 1, "barriers")
    near(wait["time_ns"] / 1e9, 0.3, 0.05, "seconds at the barrier")
    polls = receiver["polling", "MPI_Test", "poll"]
    equal((polls["calls"], polls["loops"]), (asked, 1), "queries")
    near(polls["lasted_ns"] / 1e9, 0.2, 0.05, "seconds of them")
    kinds = {r["kind"] for r in reported(folder, 1, "findings")["findings"]}
    expect({"mpi-waits", "polling"} <= kinds, "findings: %s" % kinds)


for _mpi in MPIS:

    @case("%s: tiny messages, waits and queries in a loop are found as often as they were" % _mpi, tries=2)
    def _(mpi=_mpi):
        misused(mpi)


@case("programs that have nothing to do with MPI are not touched")
def _():
    shown = {}
    for options in (), ("--api", "mpi"), ("--api", "none"):
        done = subprocess.run(
            [AFLAME, "record", "-q", "-o", new_path("env"), *options, "--", "env"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=True,
            env={k: v for k, v in os.environ.items() if not re.match("OMPI|PMI|SLURM|RANK", k)},
        )
        shown[options] = "libaflame-mpi.so" in re.search("^LD_PRELOAD=(.*)", done.stdout, re.M).group(1)
    equal(list(shown.values()), [False, True, False], "preloaded by default, with --api mpi, --api none")


COST = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv)
{
	enum { N = 200000 };
	double least = 1e9;
	int x = 0;
	MPI_Init(&argc, &argv);
	for (int k = 0; k < 20; k++) {
		double begin = now();
		for (int i = 0; i < N; i++)
			MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
		double ns = (now() - begin) / N;
		least = ns < least ? ns : least;
	}
	printf("%.1f\\n", least);
	MPI_Finalize();
	return 0;
}
"""


@case("a call costs 150 ns at most above that of a wrapper that records nothing", tries=3)
def _():
    source = new_path("cost") + ".c"
    with open(source, "w", encoding="utf-8") as f:
        f.write(COST)
    path = compiled("mpich", source, "-O2")
    cost = {}
    preload = os.path.join(BUILD, "src/inject/libaflame-mpi.so")
    empty = subprocess.run([path], stdout=subprocess.PIPE, env={**ENVIRONMENT, "LD_PRELOAD": preload}, text=True, check=True)
    recorded = subprocess.run(
        [AFLAME, "record", "-q", "--sample", "none", "-o", new_path("cost"), "--api", "mpi", "--", path],
        stdout=subprocess.PIPE, env=ENVIRONMENT, text=True, check=True,
    )
    cost = float(recorded.stdout) - float(empty.stdout)
    note("%.1f ns above %.1f ns" % (cost, float(empty.stdout)))
    expect(cost <= 150, "%.1f ns" % cost)


if not shutil.which("mpirun.openmpi") and not shutil.which("mpirun.mpich"):
    note("no MPI")
run_cases()
