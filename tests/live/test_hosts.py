#!/usr/bin/env python3
"""A set of two hosts that share a folder over a network file system: recorded, gathered and finished."""

import glob
import json
import os
import signal
import time

from hosts import two_hosts
from machine import AFLAME, program
from rank_work import bare_environment
from tap import case, equal, expect, run_cases

RANKS = 4


def record(folder, *options, seconds="0.4", **more):
    """The command line of a rank's recorder, and its environment but for the number."""
    words = [AFLAME, "record", "-q", "--sample", "timer", "-o", folder + "/run", *options, "--", program("nofp"), seconds]
    return words, {**bare_environment(), "PMI_SIZE": str(RANKS), "FLUX_JOB_ID": "7", **more}


def start(host, rank, words, env):
    return host.start(*words, env={**env, "PMI_RANK": str(rank), "FLUX_TASK_RANK": str(rank)})


def recorded(folder, hosts, *options):
    """Ranks 0 and 1 on the first host, 2 and 3 on the second, all at once."""
    words, env = record(folder, *options)
    ranks = [start(hosts[rank // 2], rank, words, env) for rank in range(RANKS)]
    for rank, recorder in enumerate(ranks):
        err = recorder.communicate(timeout=100)[1]
        equal((recorder.returncode, err), (0, ""), "rank %d" % rank)


def states(host, folder, command, *words):
    """{trace: state} of `aflame finish` or `aflame gather` on a host."""
    done = host.run(AFLAME, command, "--json", *words, folder + "/run")
    expect(done.stdout, "%s on %s: %s" % (command, host.name, done.stderr))
    table = json.loads(done.stdout)["tables"][0]
    return {os.path.basename(row["trace"]): row["state"] for row in table["rows"]}


def ranks_of(host, folder):
    """{rank: (host, state)} of `aflame report ranks` on a host."""
    done = host.run(AFLAME, "report", "ranks", "--json", "-n", "0", folder + "/run")
    equal(done.returncode, 0, done.stderr)
    rows = next(t["rows"] for t in json.loads(done.stdout)["tables"] if t["name"] == "ranks")
    return {row["rank"]: (row["host"], row["state"]) for row in rows}


WHOLE = {rank: ("nodea" if rank < 2 else "nodeb", "complete") for rank in range(RANKS)}


@case("four ranks on two hosts make one set, which reads the same on both; both finish it, each trace once")
def _():
    with two_hosts() as (folder, hosts):
        recorded(folder, hosts, "--no-symbols")
        equal(os.listdir(folder[:-6]), ["run"], "folders")
        started = [h.start(AFLAME, "finish", "--json", folder + "/run", env=os.environ) for h in hosts]
        named = {}
        for one in started:
            out, err = one.communicate(timeout=100)
            equal((one.returncode, err), (0, ""), "finish")
            for row in json.loads(out)["tables"][0]["rows"]:
                named.setdefault(row["trace"], []).append(row["state"])
        for trace, found in named.items():
            expect(found.count("named") == 1, "%s: %s" % (trace, found))
        for host in hosts:
            equal(ranks_of(host, folder), WHOLE, "ranks as %s sees them" % host.name)


@case("only the host that recorded a trace gathers and finishes what a killed recorder left there")
def _():
    with two_hosts() as (folder, hosts):
        words, env = record(folder, seconds="60")
        staged = record(folder, "--stage", hosts[1].local, seconds="60")[0]
        killed = [start(hosts[1], rank, words if rank == 2 else staged, env) for rank in (2, 3)]
        for _ in range(200):
            if len(glob.glob(folder[:-6] + "/run/rank-*/.s*")) > 1:
                break
            time.sleep(0.05)
        time.sleep(1)
        hosts[1].run("sh", "-c", "kill -KILL $(pgrep aflame) $(pgrep shares)")
        for one in killed:
            one.wait(20)
        here, there = hosts
        equal(states(here, folder, "gather"), {"rank-0002": "here", "rank-0003": "on another host"}, "gather, elsewhere")
        # Only its own host knows at once that a recorder is dead; to others it lives until it was silent for long.
        equal(states(here, folder, "finish"), {"rank-0002": "still being recorded", "rank-0003": "staged"}, "at first")
        session = folder[:-6] + "/run/rank-0002/.session"
        os.utime(session, (time.time() - 600,) * 2)
        time.sleep(1.5)  # for so long a file system may show the old time
        equal(states(here, folder, "finish"), {"rank-0002": "not finished", "rank-0003": "staged"}, "finish, elsewhere")
        equal(states(there, folder, "gather"), {"rank-0002": "here", "rank-0003": "moved"}, "gather")
        equal(states(there, folder, "finish"), {"rank-0002": "named", "rank-0003": "named"}, "finish")
        equal(ranks_of(there, folder), {2: ("nodeb", "recovered"), 3: ("nodeb", "recovered")}, "ranks")


run_cases()
