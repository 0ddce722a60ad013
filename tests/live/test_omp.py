#!/usr/bin/env python3
"""OpenMP by OMPT: programs of known numbers, compiled by clang-19. Target regions run on devices
that are the host; with --api omp:full parallel regions, tasks and waits are recorded, too."""

import collections
import functools
import glob
import json
import os
import re
import subprocess

from machine import SCRIPTS, WORKPLACE, Skip, need_own_tool
from recording import aflame, must, parse_folded, record
from tap import case, equal, expect, run_cases

FLAGS = ("-O2", "-g", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu")


@functools.lru_cache(maxsize=None)
def built(program="omp_target"):
    """A program, compiled here: (its path, the environment that finds LLVM's runtime)."""
    clang = need_own_tool("clang-19")
    library = glob.glob("/usr/lib/llvm-19/lib/libomptarget.so*")
    if not library or not os.path.exists("/usr/lib/llvm-19/bin/clang-offload-packager"):
        raise Skip("libomp-19-dev or clang-tools-19 is not installed")
    path = os.path.join(WORKPLACE, program)
    source = os.path.join(SCRIPTS, program + ".c")
    done = subprocess.run([clang, *FLAGS, source, "-o", path], stderr=subprocess.PIPE, check=False)
    expect(not done.returncode, done.stderr.decode("utf-8", "replace"))
    return path, dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library[0]))


def recorded(*words, options=(), **more):
    path, env = built()
    run = record(path, *words, options=options, env=dict(env, **more))
    # Of values and of what add() counts; the program prints it, twice where it forks.
    equal(run.truth["sum"], 4096 * 1024 + 4096 * 10, "the program's result")
    expect(run.truth["devices"] > 0, "the program found no device")
    return run


def calls_of(run):
    return collections.Counter(e["kind"] for e in run.events("api_call"))


def notes_of(run):
    return [f["value"] for f in run.fields("note") if f["key"] == "omp"]


@case("every region, transfer and allocation is a call, as many as the program made")
def _():
    run = recorded()
    calls, regions = calls_of(run), run.truth["regions"]
    equal(calls["ompt_target"], 2 * regions, "target regions")
    equal(calls["ompt_target_submit"], 2 * regions, "launches")
    # The arrays that regions use: values twice (data, enter data), more once a region.
    equal(calls["ompt_target_data_alloc"], 2 + regions, "allocations")
    equal(calls["ompt_target_data_delete"], calls["ompt_target_data_alloc"], "frees")
    equal(calls["ompt_target_data_transfer_to_device"], 3 + regions, "transfers to the device")
    equal(calls["ompt_target_data_transfer_from_device"], 2 + regions, "transfers back")
    equal(notes_of(run), ["target regions are recorded"], "notes")


@case("work on the device has its launch, its bytes and the stack of its region")
def _():
    run = recorded()
    regions = int(run.truth["regions"])
    what = {f["descriptor"]: f for f in run.fields("descriptor")}
    works = collections.Counter(what[f["descriptor"]]["op"] for f in run.fields("work_long"))
    equal(sum(works.values()), 2 * regions + 5 + 2 * regions, "pieces of work %s" % works)
    launches = {f["correlation"] for f in run.fields("launch")}
    equal({f["correlation"] for f in run.fields("work_long")}, launches, "launches")
    copies = {d["bytes"] for d in what.values() if not d["kernel"]}
    equal(copies, {run.truth["bytes"]}, "bytes of the copies")
    found = collections.Counter()
    for frames, count in parse_folded(must("flame", "--view", "gpu", "-w", "count", run.path)):
        for name in ("scale", "add"):
            if any(f.startswith(name) for f in frames) and "target region" in frames[-1]:
                found[name] += count
    equal(found, {"scale": regions, "add": regions}, "regions by the function that has them")


@case("tally has the calls and the work")
def _():
    run = recorded()
    text = must("tally", run.path)
    for name in ("ompt_target_submit", "ompt_target_data_transfer_to_device", "target region"):
        expect(name in text, "%s is not in %s" % (name, text))
    expect("[enqueue]" not in text, "work is counted as calls once more: %s" % text)


@case("print --json names the API; --api omp alone records OpenMP, and --api ze nothing of it")
def _():
    run = recorded(options=["--api", "omp"])
    equal({f["api"] for f in run.fields("api_call")}, {"openmp"}, "APIs of calls")
    equal(calls_of(run)["ompt_target"], 2 * run.truth["regions"], "target regions")
    run = recorded(options=["--api", "ze"])
    equal((run.counts().get("api_call", 0), notes_of(run)), (0, []), "calls and notes")


@case("a region is named by its function and line, also where the program is not position-independent")
def _():
    path, env = built()
    with open(os.path.join(SCRIPTS, "omp_target.c"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    fixed = path + "_fixed"
    subprocess.run([need_own_tool("clang-19"), *FLAGS, "-no-pie", os.path.join(SCRIPTS, "omp_target.c"), "-o", fixed],
                   check=True)
    for program in path, fixed:
        text = must("tally", record(program, env=env).path)
        for name in "scale", "add":
            found = re.search(r"\b%s:(\d+) target region" % name, text)
            expect(found, "%s has no region in %s" % (name, text))
            near = "\n".join(lines[int(found.group(1)) - 2:int(found.group(1)) + 1])
            expect("pragma omp target" in near, "line %s of %s is no target construct" % (found.group(1), name))


@case("launches lie in their regions, and regions in the run")
def _():
    run = recorded()
    notes = [e["time_ns"] for e in run.events("note")]
    calls = [e for e in run.events("api_call") if e["kind"] in ("ompt_target", "ompt_target_submit")]
    equal(len(calls), 4 * run.truth["regions"], "target regions and launches")
    for region, launch in zip(calls[::2], calls[1::2]):
        equal((region["kind"], launch["kind"]), ("ompt_target", "ompt_target_submit"), "calls in order")
        times = [min(notes), region["fields"]["begin_ns"], launch["fields"]["begin_ns"], launch["time_ns"],
                 region["time_ns"], max(notes)]
        equal(times, sorted(times), "a launch in its region")


@case("a forked child describes its devices and functions itself")
def _():
    run = recorded("fork")
    equal(calls_of(run)["ompt_target"], 4 * run.truth["regions"], "target regions of both")


@functools.lru_cache(maxsize=None)
def tool(*flags, source="omp_counts", program="omp_target"):
    """A counting tool, compiled here, and its numbers of a run without aflame."""
    path, env = built(program)
    library = os.path.join(WORKPLACE, "%s%s.so" % (source, "".join(flags)))
    headers = glob.glob("/usr/lib/llvm-19/lib/clang/*/include/omp-tools.h")
    if not headers:
        raise Skip("omp-tools.h of libomp-19-dev is not installed")
    command = [need_own_tool("clang-19"), "-O2", "-shared", "-fPIC", "-I" + os.path.dirname(headers[0]), *flags,
               os.path.join(SCRIPTS, source + ".c"), "-o", library]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    expect(not done.returncode, done.stderr.decode("utf-8", "replace"))
    alone = subprocess.run([path], env=dict(env, OMP_TOOL_LIBRARIES=library), stdout=subprocess.PIPE, check=True)
    return library, tool_facts(dict(line.split()[1:] for line in alone.stdout.decode().splitlines()))


def tool_facts(facts):
    # LLVM's own answer to ompt_get_callback and its numbers of plain callbacks are not our subject.
    return {k: int(v) for k, v in facts.items() if k.startswith("tool_") and k != "tool_strange"}


@case("a tool that counts in a run without aflame has the numbers that were recorded")
def _():
    seen = tool()[1]
    run = recorded()
    calls = calls_of(run)
    expect(seen["tool_begun"] > 0 and seen["tool_bytes"] > 0, "the tool saw nothing: %s" % seen)
    equal(calls["ompt_target"], seen["tool_begun"], "target regions")
    equal(calls["ompt_target_submit"], seen["tool_submits"], "launches")
    equal(calls["ompt_target_data_alloc"], seen["tool_allocs"], "allocations")
    what = {f["descriptor"]: f for f in run.fields("descriptor")}
    copies = [d["bytes"] for d in (what[f["descriptor"]] for f in run.fields("work_long")) if not d["kernel"]]
    equal((len(copies), sum(copies)), (seen["tool_copies"], seen["tool_bytes"]), "copies and their bytes")


@case("another tool and aflame both get all callbacks: by OMP_TOOL_LIBRARIES, by a library, with and without EMI")
def _():
    alone = calls_of(recorded())
    for flags in (), ("-DPLAIN",):
        library, seen = tool(*flags)
        for name, value in ("OMP_TOOL_LIBRARIES", "/nowhere/none.so:" + library), ("LD_PRELOAD", library):
            run = recorded(**{name: value})
            equal(tool_facts(run.truth), seen, "what the tool %s counts as %s" % (flags, name))
            equal(run.truth["tool_strange"], 0, "what surprised the tool")
            equal(calls_of(run), alone, "calls beside the tool")
            equal(sorted(notes_of(run)), ["another OMPT tool gets all callbacks too", "target regions are recorded"],
                  "notes")


@case("a tool in the executable comes first: the trace says so and what to do, whether or not OpenMP is used")
def _():
    path, env = built()
    headers = tool()[0] and glob.glob("/usr/lib/llvm-19/lib/clang/*/include/omp-tools.h")
    inside = path + "_inside"
    sources = [os.path.join(SCRIPTS, name + ".c") for name in ("omp_target", "omp_counts")]
    subprocess.run([need_own_tool("clang-19"), *FLAGS, "-I" + os.path.dirname(headers[0]), *sources, "-o", inside],
                   check=True)
    run = record(inside, env=env)
    equal(tool_facts(run.truth), tool()[1], "what the program's tool counts")
    equal(run.counts().get("api_call", 0), 0, "calls of OpenMP")
    notes = notes_of(run)
    equal(len(notes), 1, "notes: %s" % notes)
    expect("not recorded: the executable has an OMPT tool" in notes[0] and "OMP_TOOL_LIBRARIES" in notes[0], notes[0])
    equal(notes_of(record(inside, options=["--api", "none"], env=env)), [], "notes with --api none")


@case("--api none records nothing of OpenMP and leaves the runtime to another tool; OMP_TOOL=disabled is respected")
def _():
    library, seen = tool()
    run = recorded(options=["--api", "none"], OMP_TOOL_LIBRARIES=library)
    equal((run.counts().get("api_call", 0), notes_of(run)), (0, []), "calls and notes")
    equal(tool_facts(run.truth), seen, "what the tool counts")
    run = recorded(OMP_TOOL_LIBRARIES="/nowhere/libtool.so")
    expect(calls_of(run)["ompt_target"] > 0, "no calls beside a tool that is not there")
    run = recorded(OMP_TOOL="disabled")
    equal(run.counts().get("api_call", 0), 0, "calls with OMP_TOOL=disabled")


@case("memory that is mapped 32 times is a finding with its copies and bytes, and 31 times it is none")
def _():
    path, env = built("omp_maps")
    for times, expected in (31, []), (32, [32, 32]), (100, [100, 100]):
        run = record(path, str(times), env=env)
        equal((run.truth["first"], run.truth["times"]), (times, times), "the program's result")
        done = aflame("report", "--json", "usage", run.path)
        # A trace without any row has no table.
        rows = json.loads(done.stdout)["tables"][0]["rows"] if expected or not done.returncode else []
        rows = [r for r in rows if r["kind"] == "repeated-mappings"]
        equal([r["calls"] for r in rows], expected, "copies of %d regions: %s" % (times, rows))
        for row in rows:
            equal((row["bytes"], row["caller"]), (times * run.truth["bytes"], "add"), "bytes and caller")
            expect(row["time_ns"] > 0, "no time: %s" % row)
        equal(len({r["function"] for r in rows}), len(rows), "directions")


@case("regions from threads of nested parallel regions, also nowait, are each recorded once, on the thread that ran them")
def _():
    path, env = built("omp_nested")
    run = record(path, env=env)
    equal((run.truth["sum"], run.truth["threads"]), (run.truth["expected"], 4), "the program's result and threads")
    calls, regions = calls_of(run), run.truth["regions"]
    equal((calls["ompt_target"], calls["ompt_target_submit"]), (regions, regions), "target regions and launches")
    equal(run.counts()["work_long"], 3 * regions, "pieces of work: a kernel and two copies each")
    threads = collections.defaultdict(collections.Counter)
    for e in run.events("api_call"):
        threads[e["tid"]][e["kind"], e["fields"]["depth"]] += 1
    expect(len(threads) >= 4, "calls are of %d threads" % len(threads))
    for tid, seen in threads.items():
        equal(seen["ompt_target", 0], seen["ompt_target_submit", 1], "launches inside of the regions of %d" % tid)


FULL = ["--api", "omp:full"]


def recorded_host(*words, options=FULL, **more):
    path, env = built("omp_host")
    run = record(path, *words, options=options, env=dict(env, **more))
    equal(run.truth["sum"], run.truth["expected"], "the program's result")
    return run


def args_of(run, kind):
    return [e["fields"]["args"] for e in run.events(kind)]


@case("--api omp:full: constructs of the host are calls, as many as another tool counts in a run without aflame")
def _():
    seen = {k[len("tool_"):]: n for k, n in tool(source="omp_host_counts", program="omp_host")[1].items()}
    run = recorded_host()
    counts = {k: n for k, n in run.counts().items() if k.startswith("ompt_")}
    equal(counts, seen, "calls of the host")
    equal([f["value"] for f in run.fields("note") if f["key"] == "omp.host"],
          ["parallel regions, tasks and waits are recorded"], "notes")
    threads, regions = run.truth["threads"], run.truth["regions"] + 2
    equal((counts["ompt_parallel"], counts["ompt_implicit_task"]), (regions, threads * regions), "regions and threads")
    equal(counts["ompt_task_create"], run.truth["tasks"], "tasks")
    numbers = collections.Counter(a["region"] for a in args_of(run, "ompt_implicit_task"))
    equal(numbers, {a["region"]: threads for a in args_of(run, "ompt_parallel")}, "threads of each region")
    tasks = {a["new_task"] for a in args_of(run, "ompt_task_create")}
    expect({a["next_task"] for a in args_of(run, "ompt_task_schedule")} >= tasks, "tasks that were never scheduled")
    kinds = collections.Counter(a["work_type"] for a in args_of(run, "ompt_work"))
    equal((kinds["ompt_work_loop_static"], kinds["ompt_work_single_executor"]), (threads * run.truth["regions"], 1), "work")


@case("without :full nothing of the host is recorded")
def _():
    for options in [], ["--api", "omp"], ["--api", "omp:default"], ["--api", "none"]:
        run = recorded_host(options=options)
        equal([k for k in run.counts() if k.startswith("ompt_")], [], "calls with %s" % options)


@case("threads wait at a region's end for as long as the program measured, though workers leave the barrier later")
def _():
    run = recorded_host("20")
    place = collections.Counter(a["codeptr_ra"] for a in args_of(run, "ompt_parallel")).most_common(1)[0][0]
    waits = [a for a in args_of(run, "ompt_barrier_implicit") if a["region_codeptr_ra"] == place and
             a["kind"] == "ompt_sync_region_barrier_implicit_parallel"]
    equal(len(waits), run.truth["threads"] * run.truth["regions"], "waits at the ends of regions")
    total = sum(a["in_region_ns"] for a in waits)
    expect(total <= run.truth["most_ns"], "waits of %d ns, and %d at most" % (total, run.truth["most_ns"]))
    expect(total >= run.truth["waited_ns"] / 2, "waits of %d ns, and %d measured" % (total, run.truth["waited_ns"]))
    ends = {e["fields"]["args"]["region"]: e["time_ns"] for e in run.events("ompt_parallel")}
    for e in run.events("ompt_implicit_task"):
        args, begin = e["fields"]["args"], e["fields"]["begin_ns"]
        expect(begin + args["in_region_ns"] <= ends[args["region"]], "a task goes on after its region: %s" % e)


@case("waits at the barriers of a region are a finding: its function and line, its threads' time, the sums of its calls")
def _():
    with open(os.path.join(SCRIPTS, "omp_host.c"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    run = recorded_host("20")
    done = aflame("report", "--json", "usage", run.path)
    rows = [r for r in json.loads(done.stdout)["tables"][0]["rows"] if r["caller"] == "uneven"]
    equal([r["kind"] for r in rows], ["barrier-waits"], "uses of the function")
    row = rows[0]
    line = re.fullmatch(r"uneven:(\d+) parallel region", row["function"])
    expect(line and "pragma omp parallel" in lines[int(line.group(1)) - 1], "the region is %s" % row["function"])
    place = collections.Counter(a["codeptr_ra"] for a in args_of(run, "ompt_parallel")).most_common(1)[0][0]
    sums = [sum(a["in_region_ns"] for a in args_of(run, kind) if a["region_codeptr_ra"] == place)
            for kind in ("ompt_barrier_implicit", "ompt_implicit_task")]
    equal([row["time_ns"], row["span_ns"]], sums, "waits, and the threads' time")
    equal((row["calls"], row["threads"]), (2 * run.truth["threads"] * run.truth["regions"], run.truth["threads"]),
          "waits, of the loop and of the region's end, and threads")
    # Three of four threads wait for the fourth.
    expect(0.5 < row["time_ns"] / row["span_ns"] < 0.8, "a share of %s" % row)
    expect("waits at implicit barriers in %s took" % row["function"] in must("report", "findings", run.path), "no finding")


@case("target regions with nowait that are each waited for alone are a finding; those waited for together are none")
def _():
    path, env = built("omp_waits")
    for words, expected in ((), 1), (("all",), 0):
        run = record(path, *words, options=FULL, env=env)
        equal(run.truth["sum"], run.truth["expected"], "the program's result")
        text = must("report", "findings", "-n", "0", run.path)
        done = aflame("report", "--json", "usage", run.path)
        tables = json.loads(done.stdout)["tables"] if not done.returncode else []
        rows = [r for r in tables[0]["rows"] if r["function"] == "ompt_taskwait"] if tables else []
        equal(len(rows), expected, "rows: %s" % rows)
        expect(not [r for t in tables for r in t["rows"] if "libomp" in r["function"]], "a region of the runtime")
        if expected:
            times = run.truth["times"]
            equal([rows[0][k] for k in ("kind", "calls", "of_calls", "caller")], ["waits-each", times, times, "each"], "waits")
            expect("all %d calls of ompt_taskwait, each after a single piece of work" % times in text, text)
            expect("depend clauses" in text, text)


@case("beside another tool of the host both count the same, and the tool's room is not touched: regions are not known")
def _():
    library, seen = tool(source="omp_host_counts", program="omp_host")
    run = recorded_host(OMP_TOOL_LIBRARIES=library)
    equal(tool_facts(run.truth), seen, "what the tool counts")
    equal(run.truth["open_parallels"], 0, "regions whose end the tool did not see with its own number")
    equal({"tool_" + k: n for k, n in run.counts().items() if k.startswith("ompt_")}, seen, "calls of the host")
    equal({a["region"] for a in args_of(run, "ompt_implicit_task")}, {0}, "numbers of regions")


def host_program():
    """The nested program without target, compiled by gcc for its own runtime."""
    path = os.path.join(WORKPLACE, "omp_host")
    source = os.path.join(SCRIPTS, "omp_nested.c")
    subprocess.run([need_own_tool("gcc"), "-O2", "-DHOST", "-fopenmp", source, "-o", path], check=True)
    return path


def recorded_on(library, *options):
    run = record(host_program(), options=options, env=dict(os.environ, LD_PRELOAD=library))
    equal((run.truth["sum"], run.truth["threads"]), (run.truth["expected"], 4), "the program's result and threads")
    equal(run.counts().get("api_call", 0), 0, "calls of a program without target")
    # Those of two threads, and two more in each.
    equal(run.counts().get("ompt_parallel", 0), 3 if options and library else 0, "parallel regions")
    return notes_of(run)


@case("a program of gcc has LLVM's runtime preloaded: it is seen, and nothing is disturbed")
def _():
    library = glob.glob("/usr/lib/llvm-19/lib/libomp.so*")
    if not library:
        raise Skip("libomp-19-dev is not installed")
    equal(recorded_on(library[0]), ["target regions are recorded"], "notes")
    equal(recorded_on(library[0], *FULL), ["target regions are recorded"], "notes of a full recording")
    equal(recorded_on(""), [], "notes of GCC's own runtime, which has no OMPT")


@case("a runtime without target callbacks (LLVM 14): the trace says so")
def _():
    library = os.environ.get("AFLAME_LIBOMP_OLD") or "".join(glob.glob("/usr/lib/llvm-14/lib/libomp.so.5"))
    if not library:
        raise Skip("libomp5-14 is not there; it conflicts with libomp5-19: unpack it, and name its libomp.so.5 in "
                   "AFLAME_LIBOMP_OLD")
    equal(len(recorded_on(library, *FULL)), 1, "notes of a full recording")
    notes = recorded_on(library)
    expect(len(notes) == 1 and notes[0].startswith("not recorded: this OpenMP runtime tells nothing of target regions"),
           "notes: %s" % notes)


run_cases()
