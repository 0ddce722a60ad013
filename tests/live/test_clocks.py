#!/usr/bin/env python3
"""Clocks of two hosts: two network namespaces, whose processes have clocks a day apart. Messages of a
real MPI between them tell the offset, and the truth lies inside of the printed error."""

import collections
import contextlib
import json
import os
import subprocess

from machine import AFLAME, SAMPLERS, need, need_tool, program
from recording import aflame, must, new_path
from tap import Skip, case, equal, expect, note, run_cases

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "mpi_meets.c")
DAY_S = 86400
ROUNDS = 50
NAME = "af%d" % (os.getpid() % 100000)  # names of network devices have 15 characters at most

# The launcher calls it as it would ssh: HOST COMMAND…
AGENT = """#!/bin/bash
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
case $host in *.2) name=%(name)sa apart=0 ;; *) name=%(name)sb apart=%(day)d ;; esac
exec ip netns exec $name unshare --uts --time --monotonic $apart --fork -- \\
    sh -c "hostname $name; exec sh -c \\"\\$0\\"" "$*"
"""

# By launcher: options before the program.
OPTIONS = {
    "openmpi": "--allow-run-as-root --mca plm_rsh_agent %(agent)s --mca btl self,tcp"
    " --mca btl_tcp_if_include %(net)s.0/24 --mca oob_tcp_if_include %(net)s.0/24"
    " -H %(net)s.2:1,%(net)s.3:1 -n 2",
    "mpich": "-launcher ssh -launcher-exec %(agent)s -iface %(name)s -hosts %(net)s.2,%(net)s.3"
    " -genv FI_PROVIDER tcp -n 2",
}


def quiet(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@contextlib.contextmanager
def two_hosts():
    """The first three numbers of their addresses: .2 and .3."""
    if os.geteuid():
        raise Skip("making network namespaces needs root")
    need_tool("ip")
    net = "10.%d.%d" % (os.getpid() >> 8 & 127, os.getpid() & 255)
    commands = ["link add %s type bridge" % NAME, "addr add %s.1/24 dev %s" % (net, NAME), "link set %s up" % NAME]
    for last, host in (2, NAME + "a"), (3, NAME + "b"):
        commands += [
            "netns add " + host,
            "link add %s type veth peer name e0 netns %s" % (host, host),
            "link set %s master %s up" % (host, NAME),
            "-n %s addr add %s.%d/24 dev e0" % (host, net, last),
            "-n %s link set e0 up" % host,
            "-n %s link set lo up" % host,
        ]
    try:
        for command in commands:
            done = quiet("ip", *command.split())
            if done.returncode:
                raise Skip("no network namespaces here: ip %s: %s" % (command, done.stdout.strip()))
        done = quiet("unshare", "--time", "--monotonic", "5", "--fork", "true")
        if done.returncode:
            raise Skip("no time namespaces here: " + done.stdout.strip())
        yield net
    finally:
        quiet("ip", "netns", "del", NAME + "a")
        quiet("ip", "netns", "del", NAME + "b")
        quiet("ip", "link", "del", NAME)


def recorded(mpi):
    """The set of two ranks on two hosts."""
    compiler, launcher = need_tool("mpicc." + mpi), need_tool("mpirun." + mpi)
    need_tool("unshare")
    binary, agent, out = new_path("meets"), new_path("agent"), new_path("hosts")
    done = quiet(compiler, "-O1", SOURCE, "-o", binary)
    if done.returncode:
        raise Skip("%s does not compile: %s" % (compiler, done.stdout[:300]))
    with open(agent, "w", encoding="utf-8") as script:
        script.write(AGENT % {"name": NAME, "day": DAY_S})
    os.chmod(agent, 0o755)
    with two_hosts() as net:
        options = OPTIONS[mpi] % {"agent": agent, "net": net, "name": NAME}
        done = subprocess.run(
            [launcher, *options.split(), AFLAME, "record", "-q", "-o", out, "--", binary, str(ROUNDS)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
        )
    equal(done.returncode, 0, "status: " + done.stdout[-500:])
    return out


def forget_machine(folder):
    """Both are of one machine, and the recorder notes that. Of hosts that are two, it would not."""
    for rank in os.listdir(folder):
        path = os.path.join(folder, rank, "recorder")
        if not os.path.exists(path):
            continue
        with open(path, "rb") as stream:
            data = stream.read()
        with open(path, "wb") as stream:
            stream.write(data.replace(b"boot_id\0", b"boot_ie\0").replace(b"timens\0", b"timent\0"))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message of Protocol Buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = 8
            if key & 7 == 2:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def calls_in(path):
    """
    {(rank, function): [(begin, end)]} of a file in Perfetto's format: each rank has a sequence of packets. Only
    calls: a slice of samples has a function's name, too, and on a loaded machine some are of MPI_Recv itself.
    """
    names, kinds = {}, {}
    begun, found = collections.defaultdict(list), collections.defaultdict(list)
    with open(path, "rb") as trace:
        packets = [value for _, value in fields(trace.read())]
    for packet in packets:
        packet = list(fields(packet))
        rank, time = dict(packet).get(10, 0) - 1, dict(packet).get(8)
        for interned in (value for number, value in packet if number == 12):
            for number, value in fields(interned):
                if number in (1, 2):
                    to = kinds if number == 1 else names
                    to[rank, dict(fields(value))[1]] = dict(fields(value))[2].decode()
        for event in (dict(fields(value)) for number, value in packet if number == 11):
            if event[9] == 1:
                begun[event[11]].append((names[rank, event[10]], time, kinds[rank, event[3]]))
            elif event[9] == 2:
                name, begin, kind = begun[event[11]].pop()
                if kind == "call":
                    found[rank, name].append((begin, time))
    return found


for _mpi in "openmpi", "mpich":

    @case("%s: the offset of two hosts is inside of the printed error" % _mpi)
    def _(mpi=_mpi):
        folder = recorded(mpi)
        (one,) = json.loads(must("report", "clocks", "--json", folder))["tables"][0]["rows"]
        equal(one["members"], 2, "ranks of one machine, which has one clock")
        forget_machine(folder)
        text = must("report", "clocks", "--json", folder)
        reference, other = json.loads(text)["tables"][0]["rows"]
        equal((reference["host"], other["host"]), (NAME + "a", NAME + "b"), "hosts")
        equal(other["known_by"], "messages and collectives", "known by")
        # Four messages each way in a round, and the two at the end.
        equal((other["messages"], other["collectives"]), (8 * ROUNDS + 2, 5), "messages that both have recorded")
        wrong = abs(other["offset_ns"] + DAY_S * 10**9)
        note("%d ns wrong, error %d ns" % (wrong, other["bound_begin_ns"]))
        expect(wrong <= other["bound_begin_ns"], "%d ns wrong, error %d" % (wrong, other["bound_begin_ns"]))
        expect(other["bound_begin_ns"] < 10**9, "an error of a second: %s" % other)
        to = new_path("timeline") + ".perfetto-trace"
        expect("may be off by up to" in aflame("timeline", "-o", to, folder).stderr, "the error of the timeline")
        calls = calls_in(to)
        for sender in 0, 1:
            # The last two have other tags, and the first of them is received last.
            pairs = list(zip(sorted(calls[sender, "MPI_Send"]), sorted(calls[1 - sender, "MPI_Recv"])))[:ROUNDS]
            equal(len(pairs), ROUNDS, "messages in the timeline")
            early = [(sent, got) for (sent, _), (_, got) in pairs if got < sent]
            expect(not early, "messages that were received before they were sent: %s" % early[:3])



for _sampler in SAMPLERS + ("bpf",):
    for _inside in "recorder and program are", "the program alone is":

        @case("%s: %s in a time namespace, and the trace has the recorder's clock" % (_sampler, _inside))
        def _(sampler=_sampler, alone=_inside.startswith("the program")):
            need(sampler)
            apart = ["unshare", "--time", "--monotonic", str(DAY_S), "--boottime", str(DAY_S), "--fork"]
            if os.geteuid() or quiet(*apart, "true").returncode:
                raise Skip("no time namespaces here")
            out = new_path("apart")
            words = [AFLAME, "record", "-q", "--sample", sampler, "-o", out, "--"]
            done = quiet(*(words + apart if alone else apart + words), program("nofp"), "1.2")
            equal(done.returncode, 0, "status: " + done.stdout[-500:])
            tables = {t["name"]: t["rows"] for t in json.loads(must("report", "--json", "-n", "0", out))["tables"]}
            samples = [line.split()[0] for line in must("print", "--kind", "sample,ksample", out).splitlines()]
            expect(samples and float(samples[-1]) < DAY_S / 2, "samples of another day: %s" % samples[-3:])
            shares = [row["share"] for row in tables["coverage"]]
            expect(shares and max(shares) < 130, "samples count twice: %s" % shares)


run_cases()
