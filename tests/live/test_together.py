#!/usr/bin/env python3
"""Processes that mpirun starts read a set together: what they print is, byte by byte, what one
process prints; a rank that cannot be read is named; a job that runs is followed until it ends."""

import functools
import json
import os
import shutil
import subprocess
import time

from machine import AFLAME, need_tool
from recording import new_path
from tap import Skip, case, equal, expect, run_cases

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ENVIRONMENT = {
    **os.environ,
    "NO_COLOR": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
RANKS, STEPS = 8, 20


def output(words, status=0, env=None):
    """(standard output, standard error)"""
    done = subprocess.run(
        words, env={**ENVIRONMENT, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=120, check=False,
    )
    equal(done.returncode, status, "status of %s; %s %s" % (words, done.stdout[-500:], done.stderr[-500:]))
    return done.stdout, done.stderr


@functools.lru_cache(maxsize=None)
def ring(mpi):
    """The program, for that MPI."""
    to = new_path("ring-" + mpi)
    compiler = need_tool("mpicc." + mpi)
    done = subprocess.run(
        [compiler, "-O1", "-g", os.path.join(SOURCES, "mpi_ring.c"), "-o", to],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
    if done.returncode:
        raise Skip("%s does not compile: %s" % (compiler, done.stdout[:300]))
    return to


@functools.lru_cache(maxsize=None)
def recorded(mpi):
    """The set of a job of 8 ranks."""
    out = new_path("set-" + mpi)
    output([need_tool("mpirun." + mpi), "-n", str(RANKS), AFLAME, "record", "-q", "--api", "mpi", "-o", out, "--",
            ring(mpi), str(STEPS), "1"])
    return out


def together(mpi):
    folder = recorded(mpi)
    for words in (
        ["tally"], ["tally", "--json", "--group", "rank"], ["report", "--json"], ["flame"],
        ["report", "ranks", "--json"], ["compare-scale", "--json", os.path.join(folder, "rank-0003"), folder],
    ):
        alone, _ = output([AFLAME, *words, folder], env={"AFLAME_JOBS": "1"})
        equal(output([AFLAME, *words, folder], env={"AFLAME_JOBS": "5"})[0], alone, "five threads: %s" % words)
        # A launcher may write to a terminal of its own making, which ends lines with a return.
        many = output([need_tool("mpirun." + mpi), "-n", "3", AFLAME, *words, folder])[0].replace("\r\n", "\n")
        equal(many, alone, "three processes: %s" % words)
    document = json.loads(output([AFLAME, "tally", "--json", folder])[0])
    calls = {row["function"]: row["calls"] for t in document["tables"] if t["name"] == "api_mpi" for row in t["rows"]}
    equal(calls.get("MPI_Sendrecv"), RANKS * STEPS, "calls of MPI_Sendrecv")
    one, _ = output([need_tool("mpirun." + mpi), "-n", "2", AFLAME, "tally", os.path.join(folder, "rank-0000")])
    equal(one.count("MPI_Sendrecv"), 2, "one trace is answered by one process: a table of calls and one of bytes")


@case("Open MPI: three processes print what one does")
def _():
    together("openmpi")


@case("MPICH: three processes print what one does")
def _():
    together("mpich")


@case("a rank that cannot be read is named, by whichever process")
def _():
    folder = new_path("part")
    shutil.copytree(recorded("mpich"), folder)
    os.unlink(os.path.join(folder, "rank-0006", "metadata"))
    document = json.loads(output([need_tool("mpirun.mpich"), "-n", "2", AFLAME, "tally", "--json", folder])[0])
    tables = {t["name"]: t["rows"] for t in document["tables"]}
    equal([row["member"] for row in tables["missing"]], ["rank 6"], "missing")
    equal(tables["tally"][0]["processes"], RANKS - 1, "processes")


@case("processes that no MPI joins leave the answer to the first")
def _():
    folder = recorded("mpich")
    alone, _ = output([AFLAME, "tally", folder])
    many, errors = output([need_tool("mpirun.mpich"), "-n", "2", AFLAME, "tally", folder], env={"AFLAME_MPI": "/none.so"})
    equal(many.replace("\r\n", "\n"), alone, "output")
    equal(errors.count("one process reads all"), 1, "one message: %s" % errors)


@case("tally --follow shows a job while it runs, and ends with it")
def _():
    folder = new_path("followed")
    job = subprocess.Popen(
        [need_tool("mpirun.mpich"), "-n", "2", AFLAME, "record", "-q", "--api", "mpi", "-o", folder, "--",
         ring("mpich"), "150", "40"],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            if os.path.exists(os.path.join(folder, "rank-0001", "metadata")):
                break
            time.sleep(0.05)
        lines = output([AFLAME, "tally", "--follow", "--interval", "300ms", "--json", folder])[0].splitlines()
    finally:
        equal(job.wait(60), 0, "status of the job")
    counts = []
    for line in lines:
        tables = {t["name"]: t["rows"] for t in json.loads(line)["tables"]}
        rows = {row["function"]: row["calls"] for row in tables.get("api_mpi", [])}
        counts.append(rows.get("MPI_Sendrecv", 0))
    expect(any(0 < n < 300 for n in counts), "calls while it ran: %s" % counts)
    expect(counts == sorted(counts), "calls only grow: %s" % counts)
    equal(counts[-1], 300, "calls in the end")


run_cases()
