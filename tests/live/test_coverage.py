"""What was used, held against getrusage(2) of a witness, and against what was sampled.

The witness (programs/witness.c) is the program that is recorded: it runs a command, waits for all that
this started, and writes what the kernel says that it used itself and that they did.
"""

import json
import os
import sys

from machine import WORKPLACE, need, need_tool, program
from recording import Trace, aflame, must, new_path, read_numbers, used_by_tree_ns
from tap import case, equal, expect, note, run_cases

TICK_NS = 10_000_000

# Some tenths of a second of CPU time, in a process without threads.
BURN = "import time\nwhile time.process_time() < %s: pass"


def burn(seconds):
    return "%s -S -c '%s'" % (sys.executable, BURN % seconds)


def rows(path, name="coverage", report="coverage"):
    document = json.loads(must("report", report, "--json", "-n", "0", path))
    for table in document["tables"]:
        if table["name"] == name:
            return table["rows"]
    return []


def used_ns(row):
    return (row["used_user_ns"] or 0) + (row["used_system_ns"] or 0)


def sampled_ns(row):
    return row["sampled_user_ns"] + row["sampled_system_ns"]


def findings(path):
    document = json.loads(must("report", "findings", "--json", path))
    table = document["tables"][0]
    return table["rows"]


def recorded(sampler, *words, statuses=(0,)):
    path = new_path()
    done = aflame("record", "-q", "--sample", sampler, "-o", path, "--", *words)
    expect(done.returncode in statuses, done.stderr)
    return path


def witnessed(sampler, *words):
    """The trace, and what the witness used and what it says that its children did, in ns."""
    need(sampler)
    used = new_path("used")
    path = recorded(sampler, program("witness"), used, *words, statuses=range(256))
    reported = read_numbers(used)
    return path, reported["own_us"] * 1000, (reported["user_us"] + reported["system_us"]) * 1000


def check_sum(path, own, children):
    """Processes added up are the program and its children, each once."""
    found = rows(path)
    tree = used_by_tree_ns(Trace(path))
    total = sum(used_ns(r) for r in found)
    slack = TICK_NS * (len(found) + 2)
    note("%d rows, %.0f ms; wait4 %.0f ms" % (len(found), total / 1e6, tree / 1e6))
    # The witness goes on after it has looked: until its end, which wait4 knows.
    expect(own + children <= tree + 1e6, "the witness used more than wait4 says")
    expect(abs(total - tree) <= slack, "%.1f ms, not %.1f" % (total / 1e6, tree / 1e6))
    return found


def for_modes(sentence):
    return for_samplers(sentence, ("perf", "timer"))


def for_samplers(sentence, samplers=("perf", "timer", "bpf")):
    def register(function):
        for sampler in samplers:
            case("%s: %s" % (sampler, sentence), tries=3)(lambda s=sampler: function(s))
        return function

    return register


@for_samplers("a program and its child are each counted once (tar and gzip)")
def _(sampler):
    blob = os.path.join(WORKPLACE, "blob")
    with open(blob, "wb") as f:
        f.write(os.urandom(12_000_000))
    path, own, children = witnessed(
        sampler, need_tool("tar"), "czf", new_path("out"), "-C", WORKPLACE, "blob"
    )
    found = {r["name"]: r for r in check_sum(path, own, children)}
    expect(used_ns(found["gzip"]) > children * 0.7, "gzip used %d" % used_ns(found["gzip"]))
    expect(used_ns(found["tar"]) < children * 0.3, "tar used %d" % used_ns(found["tar"]))


@for_samplers("processes that a shell runs beside each other")
def _(sampler):
    path, own, children = witnessed(
        sampler, "sh", "-c", "%s & %s & wait" % (burn(0.2), burn(0.4))
    )
    found = check_sum(path, own, children)
    long = sorted((used_ns(r) for r in found), reverse=True)[:2]
    expect(0.38e9 < long[0] < 0.6e9 and 0.18e9 < long[1] < 0.4e9, long)


@for_samplers("commands that find runs")
def _(sampler):
    path, own, children = witnessed(
        sampler, need_tool("find"), "/etc", "-maxdepth", "1", "-name", "h*", "-exec",
        sys.executable, "-S", "-c", BURN % 0.06, ";",
    )  # fmt: skip
    check_sum(path, own, children)


@for_samplers("workers of a pool, which end by _exit() or a signal, used what they did")
def _(sampler):
    script = os.path.join(WORKPLACE, "pool.py")
    with open(script, "w", encoding="ascii") as f:
        f.write(
            "import multiprocessing as m, time\n"
            "def w(_):\n    t = time.process_time() + 0.15\n"
            "    while time.process_time() < t: pass\n"
            "if __name__ == '__main__':\n"
            "    with m.get_context('fork').Pool(3) as p: p.map(w, range(6), 1)\n"
        )
    path, own, children = witnessed(sampler, sys.executable, script)
    found = check_sum(path, own, children)
    pool = [r for r in found if used_ns(r) > 0.1e9]
    expect(sum(used_ns(r) for r in pool) > 0.85e9, [used_ns(r) for r in found])


@for_samplers("a process that is killed, and one that its parent's parent does not wait for")
def _(sampler):
    need(sampler)
    # Without the witness, who would wait for the orphan.
    path = recorded(
        sampler,
        "sh",
        "-c",
        "%s & sleep 0.4; kill -9 $!; wait; (%s & exec sleep 2) ; :" % (burn(9), burn(0.1)),
    )
    found = rows(path)
    total = sum(used_ns(r) for r in found)
    tree = used_by_tree_ns(Trace(path))
    expect(total >= tree - TICK_NS * (len(found) + 2), "%d of %d" % (total, tree))
    orphans = [r for r in found if 0.09e9 < used_ns(r) < 0.2e9]
    expect(orphans, "the orphan: %s" % [used_ns(r) for r in found])


ENDED = "[ended before a sample]"


def ended_ns(path, caller):
    """Weight of stacks that end in the mark, and of those that have it beneath @caller."""
    all_ns = beneath_ns = 0
    for line in must("flame", "--format", "folded", path).splitlines():
        frames, weight = line.rsplit(" ", 1)
        frames = frames.replace(";[kernel]_[k]", "").split(";")
        if frames[-1] == ENDED:
            all_ns += int(weight)
            beneath_ns += int(weight) * (frames[-2] == caller)
    return all_ns, beneath_ns


@for_modes("threads that end before their first sample have one, beneath what they were made for")
def _(sampler):
    need(sampler)
    path = recorded(sampler, program("short_threads"), "200", "2500")
    row = rows(path)[0]
    all_ns, beneath_ns = ended_ns(path, "short_thread")
    note("used %.0f ms, sampled %.0f ms, ended %.0f ms" % (used_ns(row) / 1e6, sampled_ns(row) / 1e6, all_ns / 1e6))
    expect(used_ns(row) > 0.3e9, row)
    expect(0.9 * used_ns(row) < sampled_ns(row) < 1.05 * used_ns(row), row)
    expect(beneath_ns > 0.8 * used_ns(row), (all_ns, beneath_ns))
    found = [f for f in findings(path) if f["kind"] == "ended-early"]
    expect(found and "where they began" in found[0]["finding"], findings(path))
    expect("deep stack" not in must("report", "lost", path), "their stacks count as cut in the middle")


@for_modes("programs that end before their first sample have one, and none of the time of what they were before")
def _(sampler):
    # The shell burns in a subshell, which then becomes another program.
    words = "for i in 1 2 3; do (j=0; while [ $j -lt 60000 ]; do j=$((j+1)); done; exec true); done; for i in $(seq 60); do /bin/true; done"
    path, own, children = witnessed(sampler, "sh", "-c", words)
    used = sum(used_ns(r) for r in rows(path))
    sampled = sum(sampled_ns(r) for r in rows(path))
    kernel = sum(r["used_system_ns"] or 0 for r in rows(path))
    all_ns, _ = ended_ns(path, "")
    note("used %.0f ms, of it kernel %.0f; sampled %.0f ms, ended %.0f ms" % (used / 1e6, kernel / 1e6, sampled / 1e6, all_ns / 1e6))
    expect(all_ns > 20e6, all_ns)
    expect(0.85 * (used - kernel) < sampled < 1.05 * used + 2 * TICK_NS, "%d of %d" % (sampled, used))


def check_replaced(sampler):
    need(sampler)
    path = recorded(sampler, program("bare_handler"), "1")
    first = findings(path)[0]
    row = rows(path)[0]
    equal(first["kind"], "not-sampled", "the first finding")
    expect("it handles the signal of samples itself" in first["finding"], first["finding"])
    expect(used_ns(row) > 0.5e9 and sampled_ns(row) < 0.1e9, row)


for name in ("perf", "timer"):
    case("%s: a program that takes the signal of samples is the first finding" % name, tries=2)(
        lambda s=name: check_replaced(s)
    )


@case("perf: kernel time that nobody sees is the first finding", tries=3)
def _():
    need("perf")
    path = recorded("perf", program("syscall_bound"))
    first = findings(path)[0]
    equal(first["kind"], "not-sampled", "the first finding")
    expect("samples see user mode only" in first["finding"], first["finding"])
    expect("withheld" not in first["finding"], "shares of user time are right")


@case("a program into which nothing can be loaded has a row, and a cause", tries=3)
def _():
    need("perf")
    path, own, children = witnessed("perf", "sh", "-c", "%s; :" % program("static_states"))
    found = check_sum(path, own, children)
    user = sum(r["used_user_ns"] for r in found)
    sampled = sum(map(sampled_ns, found))
    expect(sampled >= 0.8 * user, "%.0f of %.0f ms user time sampled" % (sampled / 1e6, user / 1e6))
    expect(all(r["cause_number"] for r in found if r["is_short"] == "yes"), "no cause: %s" % found)


@case("findings of functions are withheld where most of the time is missing", tries=3)
def _():
    need("timer")
    # It takes the signal of samples for itself.
    path = recorded("timer", "sh", "-c", "%s 1; %s" % (program("bare_handler"), burn(0.25)))
    found = findings(path)
    equal(found[0]["kind"], "not-sampled", "the first finding")
    expect("withheld for that: " in found[0]["finding"], found[0]["finding"])
    expect(not [f for f in found if f["kind"] in ("function", "below")], found)


@for_samplers("a program that is sampled has no such finding, and threads add up")
def _(sampler):
    need(sampler)
    path = recorded(sampler, program("threads"), "2")
    # How much making two thousand threads takes in the kernel is a matter of the machine, and perf sees none of it.
    kinds = ("counted-twice",) if sampler == "perf" else ("not-sampled", "counted-twice")
    reported = [f for f in findings(path) if f["kind"] in kinds]
    expect(not reported, reported)
    process = max(rows(path), key=used_ns)
    expect(process["sampled_user_ns"] > 0.9 * process["used_user_ns"], process)
    threads = [r for r in rows(path, "coverage_threads") if r["used_user_ns"] is not None]
    long = [r for r in threads if "live-" in r["label"]]
    expect(len(long) >= 4, "threads with what they used: %d" % len(long))
    for row in long:
        expect(row["sampled_user_ns"] > 0.8 * row["used_user_ns"], row)
    expect(sum(map(used_ns, threads)) <= used_ns(process) + 2 * TICK_NS * len(long), "too much")


@case("of a part of the run nothing is reported")
def _():
    need("perf")
    path = recorded("perf", program("short_threads"), "200", "2500")
    found = must("report", "summary", "--from", "0.2s", path)
    expect("used" not in found.split("Findings")[1].split("Processes")[0], found)


GROW = """
import os, resource, signal, sys
held = b"x" * (int(sys.argv[1]) << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
if sys.argv[2:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""

for _sampler in "timer", "perf", "bpf":

    @case("%s: the peak of memory is what getrusage says, also of who is killed, and not of children" % _sampler)
    def _(sampler=_sampler):
        need(sampler)
        script = new_path("grow")
        with open(script, "w", encoding="ascii") as f:
            f.write(GROW)
        for mb, more in (30, []), (60, ["killed"]):
            path = new_path()
            grow = [sys.executable, "-S", script, str(mb), *more]
            done = aflame("record", "-q", "--sample", sampler, "-o", path, "--", *grow)
            row = rows(path, "processes", "processes")[0]
            witness = int(done.stdout) << 10
            expect(witness <= row["peak_bytes"] <= witness + (2 << 20), "%d: %s" % (witness, row))
            path = new_path()
            done = aflame("record", "-q", "--sample", sampler, "-o", path, "--", "sh", "-c", '"$@"; :', "sh", *grow)
            of = {row["name"]: row["peak_bytes"] for row in rows(path, "processes", "processes")}
            expect(of["sh"] is None or of["sh"] < 10 << 20, "the shell's own: %s" % of)
            python = [peak for name, peak in of.items() if name.startswith("python")][0]
            witness = int(done.stdout) << 10
            expect(python is None if more and sampler != "bpf" else witness <= python <= witness + (2 << 20),
                   "a child of %d: %s" % (witness, of))


SPAWN = """
import subprocess, sys
held = b"x" * (60 << 20)
for command in sys.argv[1:]:
    subprocess.run([command], stdout=subprocess.DEVNULL)
"""

for _sampler in "timer", "perf", "bpf":

    @case("%s: the peak of what a large program starts is not that program's" % _sampler)
    def _(sampler=_sampler):
        need(sampler)
        path = new_path()
        commands = [need_tool("ls"), program("static_hello")]
        must("record", "-q", "--sample", sampler, "-o", path, "--", sys.executable, "-S", "-c", SPAWN, *commands)
        of = {row["name"]: row["peak_bytes"] for row in rows(path, "processes", "processes")}
        expect([peak for name, peak in of.items() if name.startswith("python")][0] > 60 << 20, of)
        expect(1 << 20 < of["ls"] < 10 << 20, "of a program that libaflame is in: %s" % of)
        expect((of.get("static_hello") or 0) < 10 << 20, "of one without: %s" % of)


run_cases()
