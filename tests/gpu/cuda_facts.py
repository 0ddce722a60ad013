"""The CUDA programs of known truth: each is recorded, its trace read, its truth compared."""

import concurrent.futures

from facts import check_captured, check_device_time, check_kernels, check_launches
from facts import check_trace, percent
from machine import Missing, truth_of
from trace import Trace

TIME_TOLERANCE = 0.02
EXITS = {
    "normal": 9,
    "nosync": 9,
    "SIGINT": -2,
    "SIGTERM": -15,
    "_exit": 9,
    "abort": -6,
    "segv": -11,
    "SIGKILL": -9,
}
NOTHING_LOST = ("normal", "SIGINT", "SIGTERM")


def launches_by_path(trace, paths):
    """{path function: {kernel: how many ran}}"""
    found = {}
    for work in trace.kernels():
        names = trace.names(work.call.path) if work.call else ()
        for path in paths:
            if path in names:
                kernels = found.setdefault(path, {})
                kernels[work.descriptor["name"]] = kernels.get(work.descriptor["name"], 0) + 1
    return found


def check_truth(table, name, trace, truth):
    if truth["launches"]:
        got = launches_by_path(trace, truth["launches"])
        table.equal(name + ": kernels by who launched them", got, truth["launches"])


def check_shares(table, name, trace, truth):
    """Device time of path and kernel, here by hand and as the flame graph has it."""
    spent = dict.fromkeys(truth["shares"], 0)
    for work in trace.kernels():
        names = trace.names(work.call.path) if work.call else ()
        for key in spent:
            path, kernel = key.split()
            if kernel == work.descriptor["name"] and path in names:
                spent[key] += work.busy
    compare_shares(table, name + ": device time by path and kernel", spent, truth)


def compare_shares(table, sentence, spent, truth):
    total = sum(spent.values()) or 1
    got = {key: ns / total for key, ns in spent.items()}
    off = max(abs(got[key] - want) for key, want in truth["shares"].items())
    seen = " ".join("%s %.3f" % pair for pair in got.items())
    table.fact(
        sentence,
        off <= TIME_TOLERANCE,
        "%s within %g" % (truth["shares"], TIME_TOLERANCE),
        seen,
    )


def check_flame(table, machine, name, trace, truth):
    """The same of `aflame flame`: this is what a user sees."""
    spent = dict.fromkeys(truth["shares"], 0)
    for line in machine.output("flame", "--view", "gpu", trace.path).splitlines():
        frames, weight = line.rsplit(" ", 1)
        bare = [f.rsplit("_[", 1)[0] for f in frames.split(";")]
        for key in spent:
            path, kernel = key.split()
            if path in bare and kernel in bare[bare.index(path) :]:
                # The launching stub of a kernel has the kernel's name: the last frame counts.
                if bare[-1] == kernel:
                    spent[key] += float(weight)
    compare_shares(table, name + ": device time in the flame graph", spent, truth)


def check_paths(table, machine, name, trace, truth):
    check_shares(table, name, trace, truth)
    check_flame(table, machine, name, trace, truth)
    top = machine.output("report", "top", "--view", "gpu", "--json", trace.path)
    table.fact(
        name + ": k1 and k2 in `report top --json`", '"k1' in top and '"k2' in top, "both", True
    )


def check_streams(table, machine, name, trace, truth):
    queues, threads = {}, set()
    for work in trace.kernels():
        queues[work.descriptor["queue"]] = queues.get(work.descriptor["queue"], 0) + 1
        threads.add(work.call.tid if work.call else None)
    want = [truth["each_queue"]] * truth["queues"]
    table.equal(name + ": kernels on each queue", sorted(queues.values()), want)
    table.equal(name + ": threads that launched", len(threads), truth["threads"])


def check_contexts(table, machine, name, trace, truth):
    contexts = {trace.queue_of(w).get("context") for w in trace.kernels()}
    table.equal(name + ": contexts with kernels", len(contexts), truth["contexts"])


def check_sizes(table, machine, name, trace, truth):
    for path, want in truth["sizes"].items():
        got = {
            tuple(
                w.descriptor[k]
                for k in ("global_x", "global_y", "global_z", "local_x", "local_y", "local_z")
            )
            for w in trace.kernels()
            if w.call and path in trace.names(w.call.path)
        }
        table.equal(name + ": work items and block of " + path, got, {tuple(want)})
    check_copies(table, machine, name, trace, truth)
    called = {c.function for c in trace.launches()}
    want = {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"}
    table.fact(name + ": functions that launch", want <= called, want, sorted(called))


def check_clusters(table, machine, name, trace, truth):
    for kernel, want in truth.get("clusters", {}).items():
        configs = [w.descriptor.get("config", {}) for w in trace.kernels() if w.descriptor["name"] == kernel]
        got = {tuple(c.get("cluster_" + d) for d in "xyz") for c in configs}
        table.equal(name + ": cluster of " + kernel, got, {tuple(want)})
    if "clusters" not in truth:
        table.skip(name + ": clusters", "compute capability below 9.0")


def check_graphs(table, machine, name, trace, truth):
    counts = {}
    for work in trace.kernels():
        if work.node:
            replay = trace.names(work.call.path) if work.call else ()
            capture = trace.names(trace.captured(work))
            for i, r in enumerate(truth["graph"]):
                if (
                    r["replay"] in replay
                    and r["capture"] in capture
                    and r["kernel"] == work.descriptor["name"]
                ):
                    counts[i] = counts.get(i, 0) + 1
    for i, r in enumerate(truth["graph"]):
        sentence = "%s: %s of %s, replayed by %s" % (name, r["kernel"], r["capture"], r["replay"])
        table.equal(sentence, counts.get(i, 0), r["count"])
    check_captured(table, name, trace, trace.kernels())


def check_conditional(table, machine, name, trace, truth):
    """The driver says no call and a node that nobody was reported, of kernels in a body (CUDA 13.0)."""
    if any(w.correlation for w in trace.kernels()):
        check_graphs(table, machine, name, trace, truth)
        return
    run = sum(w.descriptor["name"] == "k2" for w in trace.kernels())
    want = truth["graph"][0]["count"]
    table.equal(name + ": kernels of the body, which the driver ties to no call", run, want)


def check_dynpar(table, machine, name, trace, truth):
    children = sum(w.descriptor["name"] == "child" for w in trace.works)
    table.note("%s: %d of %d child kernels are reported" % (name, children, truth["children"]))


def check_copies(table, machine, name, trace, truth):
    got = {}
    for work in trace.works:
        names = trace.names(work.call.path) if work.call else ()
        for path in truth["copies"]:
            if path in names and work.descriptor["op"] != "KERNEL":
                op, count, size = got.get(path, (work.descriptor["op"], 0, 0))
                op = op if op == work.descriptor["op"] else "several"
                got[path] = (op, count + 1, size + work.descriptor["bytes"])
    for path, want in truth["copies"].items():
        op, count, size = got.get(path, ("none", 0, 0))
        table.fact(
            "%s: op and bytes of %s" % (name, path),
            size == want["bytes"] and (op == want["op"] or want["op"] == "any"),
            "%s, %d" % (want["op"], want["bytes"]),
            "%s, %d in %d" % (op, size, count),
        )
    if truth.get("peers") == 0:
        table.skip(name + ": copies to a peer", "one GPU")
    for memory, want in truth.get("allocations", {}).items():
        size = truth["allocated_bytes"]
        found = [m for m in trace.memory if m["memory"] == memory and m["category"] == "ALLOC"]
        seen = sum(m["bytes"] == size for m in found)
        table.fact("%s: allocations of %s memory" % (name, memory), seen == want, want, seen)
        freed = {m["address"] for m in trace.memory if m["category"] == "FREE"}
        missing = sum(m["bytes"] == size and m["address"] not in freed for m in found)
        table.fact(
            "%s: %s memory is freed" % (name, memory), not missing, "all", "%d not" % missing
        )


def check_errors(table, machine, name, trace, truth):
    never = sum(w.descriptor["name"] == "never" for w in trace.works)
    table.equal(name + ": kernels that were refused and yet ran", never, 0)
    failed = [c for c in trace.launches() if c.status]
    table.note("%s: %d calls of the driver with an error" % (name, len(failed)))
    table.equal(name + ": work of calls that failed", sum(c.works for c in failed), 0)


def check_whole(table, machine, name, trace, truth):
    """A graph's launch is one piece of work."""
    graphs = [w for w in trace.works if w.descriptor["op"] == "GRAPH"]
    under = sum("replays" in trace.names(w.call.path) for w in graphs if w.call)
    want = truth["graph"][0]["count"]
    table.equal(name + ": launches of a graph under who replays it", under, want)
    table.equal(name + ": pieces of work", len(trace.works), want)


# name, program, arguments (@NAME: a thing that was built), what more to check, options of record
RUNS = [
    ("paths", "paths", [], check_paths, []),
    ("paths, shared cudart", "paths_shared", [], check_paths, []),
    ("streams", "streams", [], check_streams, []),
    ("contexts", "contexts", [], check_contexts, []),
    ("driver", "driver", ["@kernels.fatbin"], check_sizes, []),
    ("exc", "exc", [], check_clusters, []),
    ("graphs", "graphs", ["plain"], check_graphs, []),
    ("graphs, cloned", "graphs", ["clone"], check_graphs, []),
    ("graphs, updated", "graphs", ["update"], check_graphs, []),
    ("graphs, two threads", "graphs", ["threads"], check_graphs, []),
    ("graphs as a whole", "graphs", ["plain"], check_whole, ["--cuda-graphs=whole"]),
    ("graphs, conditional", "graphs", ["conditional"], check_conditional, []),
    ("dynpar", "dynpar", [], check_dynpar, []),
    ("copies", "copies", [], check_copies, []),
    ("errors", "errors", ["config"], check_errors, []),
    ("errors, sticky", "errors", ["sticky"], check_errors, []),
]
ALONE = 2  # the first of them measure time


def command_of(machine, program, arguments):
    words = [machine.program(a[1:]) if a.startswith("@") else a for a in arguments]
    return [machine.program(program), *words]


def record_all(machine, commands, at_a_time):
    """What came of each (command, options), None of None: a list of (trace, done)."""

    def record(one):
        return machine.record(*one, timeout=60) if one else None

    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(record, commands))


def check_run(table, machine, name, check, recorded, program):
    path, done = recorded
    reported = done.stderr.strip()[-400:]
    if done.returncode == 77:
        table.skip(name, done.stdout.strip())
        return
    truth = truth_of(done)
    if not table.fact(
        name + ": the program ends as it does unrecorded, and nothing is reported",
        done.returncode == 0 and truth and not reported,
        "status 0 and no words",
        "status %d%s" % (done.returncode, ", " + repr(reported) if reported else ""),
    ):
        if not truth:
            return
    trace = Trace(machine, path)
    if truth["launches"] or truth["graph"]:
        check_launches(table, name, trace.launches())
    kernels = trace.kernels()
    if program == "dynpar":
        kernels = [w for w in kernels if w.descriptor["name"] == "parent"]
    if check is check_conditional:
        kernels = [w for w in kernels if w.correlation]
    if kernels or truth["launches"]:
        check_kernels(table, name, kernels)
    check_truth(table, name, trace, truth)
    if "sticky" not in truth and (kernels or check is not check_conditional):
        check_trace(table, name, trace)
        check_device_time(table, machine, name, trace)
    check(table, machine, name, trace, truth)


def run_programs(table, machine, quick):
    commands = []
    for name, program, arguments, _, options in RUNS:
        try:
            commands.append((command_of(machine, program, arguments), options))
        except Missing as reason:
            table.fact(name, False, "a program", reason)
            commands.append(None)
    recorded = record_all(machine, commands[:ALONE], 1) + record_all(machine, commands[ALONE:], 6)
    for (name, program, _, check, _), one in zip(RUNS, recorded):
        if one:
            guarded(table, name, check_run, table, machine, name, check, one, program)


def guarded(table, name, function, *arguments):
    """A check that breaks is one that fails."""
    try:
        function(*arguments)
    except Exception as error:
        table.fact(name + ": can be checked", False, "no error", repr(error)[:400])


def check_exit(table, machine, how, recorded):
    path, done = recorded
    name = "exit by " + how
    want, truth = EXITS[how], truth_of(done)
    table.fact(
        name + ": status",
        done.returncode in (want, 128 - want if want < 0 else want) and truth,
        "%d and its truth" % want,
        "%d, %s" % (done.returncode, done.stderr.strip()[-200:]),
    )
    trace = Trace(machine, path)
    launched = truth["launches"]["launches"]["k1"]
    check_launches(table, name, trace.launches())
    table.equal(name + ": launches", len(trace.launches()), launched)
    kernels = sum(w.start is not None and w.start > 0 for w in trace.kernels())
    if how in NOTHING_LOST:
        table.equal(name + ": kernels with their times", kernels, launched)
    elif how == "nosync":
        unfinished = sum(n for reason, n in trace.lost if reason in ("UNFINISHED", "NO_STAMPS"))
        table.fact(
            name + ": kernels with their times, and those reported as being without",
            kernels + unfinished == launched,
            launched,
            "%d + %d" % (kernels, unfinished),
        )
    else:
        table.fact(
            name + ": kernels that had ended more than a second before",
            kernels >= truth["settled"],
            "%d at least" % truth["settled"],
            "%s, so %d lost" % (percent(kernels, launched), launched - kernels),
        )


def run_exits(table, machine, quick):
    try:
        commands = [([machine.program("exits"), how], []) for how in EXITS]
    except Missing as reason:
        table.fact("exits", False, "a program", reason)
        return
    recorded = record_all(machine, commands, len(commands))
    for how, one in zip(EXITS, recorded):
        guarded(table, "exit by " + how, check_exit, table, machine, how, one)
