#!/usr/bin/env python3
"""Plug-ins (docs/plugins.md): what those of examples/plugins give is what aflame's own reports have of the same trace,
and one that crashes, loops, fills the memory or writes where it should not is reported, and leaves nothing half done."""

import json
import os
import re
import shutil
import subprocess
import time

from machine import AFLAME, BUILD, SOURCE, WORKPLACE
from plugin_work import BODIES, compiled, document, example, plugin, refused, report, sanitized, tables, trace
from recording import FAILED, USAGE, aflame, must, new_path, record
from tap import Skip, case, equal, expect, note, run_cases


@case("kernels by grid: their calls and times add up to those of `report kernels`")
def _():
    for name in "cuda", "mixed":
        ours, own = {}, {}
        for row in tables("--plugin", example("kernels_by_grid"), trace(name))["kernels_by_grid"]:
            sums = ours.setdefault(row["kernel"], [0, 0])
            sums[0] += row["calls"]
            sums[1] += row["time_ns"]
        for row in tables("kernels", trace(name))["kernels"]:
            sums = own.setdefault(row["kernel"], [0, 0])
            sums[0] += row["calls"]
            sums[1] += row["time_ns"]
        equal(ours, own, "calls and times of kernels of " + name)
        expect(len(own) > 1, "kernels of %s: %s" % (name, own))


@case("arguments stand between the options and the trace")
def _():
    rows = tables("--plugin", example("kernels_by_grid"), "gemm", trace("cuda"))["kernels_by_grid"]
    equal([row["kernel"] for row in rows], ["gemm_128x128"], "kernels")
    expect(must("report", "--plugin", example("kernels_by_grid"), "no such kernel", trace("cuda")).endswith("grid\n  nothing\n"), "an empty table")
    refused(example("launch_gaps"), 'least gap in microseconds, not "gemm"', "gemm")


@case("launch gaps: tree, slices and counter have the same gaps, in every format")
def _():
    gaps, out = example("launch_gaps"), new_path("gaps")
    events = None
    for suffix in ".json", ".svg", ".html", ".folded", ".perfetto-trace":
        equal(must("report", "--plugin", gaps, "-o", out + suffix, trace("cuda")), "", "standard output")
        expect(os.path.getsize(out + suffix) > 500, suffix)
    with open(out + ".json", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    points = [e for e in events if e["ph"] == "C"]
    with open(out + ".folded", encoding="utf-8") as f:
        folded = [line.rsplit(" ", 1) for line in f.read().splitlines()]
    total = sum(int(n) for _, n in folded)
    equal(round(sum(e["dur"] for e in slices) * 1000), total, "ns of all slices, and of the tree")
    expect(len(slices) > 5 and total, "%d slices" % len(slices))
    equal(max(e["args"]["count"] for e in points), len(points), "the counter's last value")
    rows = tables("--plugin", gaps, trace("cuda"))["launch_gaps"]
    equal(sum(row["self"] for row in rows), total, "ns of the tree in JSON")
    rows = tables("-w", "count", "--plugin", gaps, trace("cuda"))["launch_gaps"]
    equal(sum(row["self"] for row in rows), len(slices), "gaps that the tree counts")
    done = report("-w", "nonsense", "--plugin", gaps, trace("cuda"))
    expect(done.returncode and not done.stdout and "the weights are time, count" in done.stderr, done.stderr)
    expect(any("train;main;cuda_graph;" in f or "cudaGraphLaunch" in f for f, _ in folded), "stacks: %s" % folded)
    with open(out + ".svg", encoding="utf-8") as f:
        expect("cudaGraphLaunch" in f.read(), "no such frame in the picture")


@case("in C++: events by kind are those of `print --count`, and samples have the CPU time of the tree")
def _():
    path = compiled(os.path.join(SOURCE, "examples/plugins/cpu_by_thread.cc"), "cpu_by_thread", "-std=c++17", "-Wall", "-Wextra",
                    "-pedantic")
    for name in "mixed", "kernel", "cuda":
        got = tables("--plugin", path, trace(name))
        counted = dict(re.findall(r"^(\w+) +(\d+)$", must("print", "--count", trace(name)), re.M))
        counted.pop("total")
        equal({row["kind"]: row["events"] for row in got["events_by_kind"]}, {k: int(n) for k, n in counted.items()},
              "events of " + name)
        sums = [sum(row[key] for row in got["cpu_by_thread"]) for key in ("time_ns", "samples")]
        if name != "cuda":
            own = [document("tree", "--view", "cpu", "-w", w, trace(name))["total"] for w in ("time", "samples")]
            equal(sums, own, "CPU time and samples of " + name)
            expect(sums[0], "no CPU time in " + name)


@case("the header is C11 without a warning")
def _():
    for name in "kernels_by_grid", "launch_gaps":
        compiled(os.path.join(SOURCE, "examples/plugins/%s.c" % name), name + "-c11", "-std=c11", "-Wall", "-Wextra", "-pedantic",
                 "-Wconversion")


@case("events come in order of time, and samples too, with fields by name, of a recorded program with threads")
def _():
    path = plugin("order", head="""static uint64_t last, lasts, events, samples, named;
static const struct af_pass_column columns[] = {{"events", "", 1, 0, 0, 0, {0, 0}}, {"samples", "", 1, 0, 0, 0, {0, 0}}, {"named", "", 1, 0, 0, 0, {0, 0}}};
""", event="""struct af_pass_field f = {.size = sizeof f};
	if (ev->time_ns < last) h->fail(h, "time went back");
	last = ev->time_ns; events++;
	if (!strcmp(h->kind_name(h, ev->kind), "thread") && !h->field(h, ev, "tid", &f) && f.type == AF_PASS_NUMBER && f.number)
		named++;
	if (!h->field(h, ev, "no such field", &f)) h->fail(h, "it has one");""",
                  sample="""if (s->time_ns < lasts) h->fail(h, "time of samples went back");
	struct af_pass_frame frame = {.size = sizeof frame};
	lasts = s->time_ns; samples++;
	int depth = 0;
	for (uint32_t at = s->stack; at && !h->frame(h, at, &frame); at = frame.caller, depth++)
		if (!*frame.text || depth > 4000) h->fail(h, "an empty frame");
	if (frame.kind != AF_PASS_FRAME_PROCESS) h->fail(h, "a stack begins with %u", frame.kind);""",
                  finish="""const struct af_pass_cell cells[] = {{0, events, 0, 0}, {0, samples, 0, 0}, {0, named, 0, 0}};
	return h->row(h, h->table(h, "seen", "Seen", columns, 3), cells, 3);""")
    for dir in [trace(n) for n in ("cuda", "mixed", "family")] + [record("sh", "-c", "for i in 1 2 3; do seq 30000 | sort >/dev/null & done; wait").path]:
        (row,) = tables("--plugin", path, dir)["seen"]
        total = int(re.search(r"^total +(\d+)", must("print", "--count", dir), re.M)[1])
        equal(row["events"], total, "events")
        note("%d events, %d samples, %d threads" % (row["events"], row["samples"], row["named"]))
        expect(row["named"], "no field tid")


@case("definitions, calls, devices and processes are what the trace has")
def _():
    path = plugin("asks", event="""struct af_pass_event d = {.size = sizeof d};
	struct af_pass_field f = {.size = sizeof f};
	static int seen;
	struct af_pass_device device = {.size = sizeof device};
	if (seen || strcmp(h->kind_name(h, ev->kind), "gpu_work")) return;
	seen = 1;
	if (h->definition(h, ev, h->kind_find(h, "descriptor"), h->number(h, ev, "descriptor"), &d)) h->fail(h, "no descriptor");
	if (h->field(h, &d, "op", &f) || !f.value_name) h->fail(h, "no name of a value");
	if (h->device(h, ev->process, 1, &device)) h->fail(h, "no device");
	if (h->kind_find(h, "nonsense") != -1 || h->definition(h, ev, 1, 77777, &d) != -1) h->fail(h, "nonsense is there");
	struct af_pass_process p = {.size = 12};
	p.name = "untouched";
	if (h->process(h, ev->process, &p) || !p.pid || p.size != 12 || strcmp(p.name, "untouched")) h->fail(h, "a shorter struct");
	printf("op %s device %s %s\\n", f.value_name, device.name, device.api);""",
                  work="""if (w->start_ns && w->end_ns < w->start_ns) h->fail(h, "turned round");
	if (!*w->name || strcmp(w->api, "cuda") || (!*w->op && strcmp(w->name, "[unknown work]"))) h->fail(h, "op, name, api");""")
    done = report("--json", "--plugin", path, trace("cuda"))
    equal(done.returncode, 0, "status (%s)" % done.stderr)
    expect(re.search(r"^op KERNEL device NVIDIA H200 cuda$", done.stderr, re.M), done.stderr)
    equal(json.loads(done.stdout)["tables"][0]["rows"], [{"n": 42}], "rows")


@case("a plug-in that crashes is named with the callback and the signal, whichever callback it is")
def _():
    for callback in BODIES:
        path = plugin("crash_" + callback, **{callback: "*null = 1;" + BODIES[callback]})
        refused(path, r"crashed in %s\(\): Segmentation fault" % callback)
    refused(plugin("aborts", event="abort();"), r"crashed in event\(\): Aborted")
    refused(plugin("divides", head="static volatile int zero;", finish="raise(SIGFPE); return zero;"), r"crashed in finish\(\): Floating")
    refused(plugin("deep", head="static int deep(volatile int n) { char b[4096]; b[n & 1023] = 1; return n < 0 ? 0 : deep(n + 1) + b[1]; }",
                   finish="return deep(0);"), r"crashed in finish\(\): Segmentation fault")
    refused(plugin("at_load", head="__attribute__((constructor)) static void at_load(void) { *null = 1; }"), "crashed while it was loaded")


@case("an exception of C++ that nobody catches is reported as a crash")
def _():
    source = os.path.join(WORKPLACE, "throws.cc")
    with open(source, "w", encoding="utf-8") as f:
        f.write("""#include <aflame/pass.h>
#include <stdexcept>
static int finish(const af_pass_host *, void *) { throw std::runtime_error("nobody catches it"); }
AF_PASS_DESCRIPTOR = {sizeof(af_pass_descriptor), AF_PASS_MAJOR, AF_PASS_MINOR, "throws", "", nullptr, nullptr, nullptr, nullptr, finish};
""")
    refused(compiled(source, "throws"), r"crashed in finish\(\): Aborted")


@case("one that loops, or waits, ends after --plugin-time")
def _():
    for name, body in ("loops", "for (volatile int i = 0;; i++) ;"), ("waits", "for (;;) pause();"):
        start = time.monotonic()
        refused(plugin(name, event=body), r"in event\(\) for longer than the 0\.5 s that --plugin-time allows \(callback \d+\)",
                "--plugin-time", "500ms")
        note("%s: %.1f s" % (name, time.monotonic() - start))
    refused(plugin("closes_and_waits", event="for (int i = 0; i < 1000; i++) close(i); for (;;) pause();"), "--plugin-time", "--plugin-time", "500ms")
    refused(plugin("loops_loading", head="__attribute__((constructor)) static void at_load(void) { for (;;) pause(); }"),
            "while it was loaded for longer", "--plugin-time", "500ms")


@case("one that allocates without end fails at --plugin-memory, whether it looks at what malloc() gives or not")
def _():
    if sanitized():
        raise Skip("sanitizers have an allocator of their own")
    words = ("--plugin-memory", "200M")
    touched = refused(plugin("fills", event="for (;;) memset(malloc(1 << 20), 1, 1 << 20);"), r"crashed in event\(\)", *words)
    expect("more than half of the 200 MB that --plugin-memory allows" in touched.stderr, touched.stderr)
    refused(plugin("grows", event="for (size_t n = 4096;; n *= 2) ((char *)malloc(n))[0] = 1;"), r"crashed in event\(\)", *words)
    refused(plugin("checks", event='for (;;) if (!malloc(1 << 20)) { h->fail(h, "out of memory"); return; }'), ": out of memory", *words)
    refused(plugin("slices", finish='int t = h->track(h, "g", "t"); for (uint64_t i = 0;; i++) h->slice(h, t, i, i + 1, "x");'),
            r"out of memory in finish\(\): --plugin-memory allows 200 MB", *words)
    expect(tables(*words, "--plugin", example("kernels_by_grid"), trace("cuda")), "a good one has enough")


@case("results of more than 256 MB are refused")
def _():
    refused(plugin("much", finish="""static const struct af_pass_column text = {"t", "T", 0, 0, 0, 0, {0, 0}};
	char *long_ = malloc(1 << 20); memset(long_, 'x', (1 << 20) - 1); long_[(1 << 20) - 1] = 0;
	struct af_pass_cell cell = {long_, 0, 0, 0};
	int table = h->table(h, "t", 0, &text, 1);
	for (int i = 0; i < 300; i++) h->row(h, table, &cell, 1);
	return 0;"""), "its results are more than 256 MB")


@case("a signal that ends aflame ends the plug-in too, and leaves no file")
def _():
    out, pid_file = new_path("ended") + ".svg", new_path("pid")
    path = plugin("endless", event='static int once; if (!once++) { FILE *f = fopen("%s.new", "w"); fprintf(f, "%%d", getpid()); fclose(f); rename("%s.new", "%s"); } for (;;) pause();'
                  % (pid_file, pid_file, pid_file))
    running = subprocess.Popen([AFLAME, "report", "--plugin", path, "-o", out, trace("mixed")], stderr=subprocess.DEVNULL)
    for _ in range(600):
        if os.path.exists(pid_file):
            break
        time.sleep(0.05)
    with open(pid_file, encoding="utf-8") as f:
        pid = int(f.read())
    expect(alive(pid) and pid != running.pid, "it does not run in a process of its own")
    running.terminate()
    running.wait(60)
    for _ in range(100):
        if not alive(pid):
            break
        time.sleep(0.1)
    expect(not alive(pid), "it runs on")
    expect(not os.path.exists(out), "there is a file")


@case("plug-ins that were built for another aflame, or are none, are refused with the reason")
def _():
    size = "sizeof(struct af_pass_descriptor)"
    refused(plugin("older", descriptor=size + ", AF_PASS_MAJOR - 1, 7"), r"was built for version 0\.7 .* and this is 1\.\d")
    refused(plugin("newer", descriptor=size + ", AF_PASS_MAJOR, AF_PASS_MINOR + 1"), r"needs version 1\.2 of aflame/pass\.h")
    refused(plugin("short", descriptor="16, AF_PASS_MAJOR, AF_PASS_MINOR"), "its descriptor has 16 bytes")
    expect(tables("--plugin", plugin("longer", descriptor=size + " + 64, AF_PASS_MAJOR, AF_PASS_MINOR"), trace("mixed")), "a longer one")
    source = os.path.join(WORKPLACE, "empty.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write("int nothing;\n")
    refused(compiled(source, "empty"), "no symbol af_pass_plugin, so it is no plug-in of aflame")
    refused(os.path.abspath(__file__), "cannot be loaded: .*ELF")
    refused("/nowhere/x.so", "cannot be loaded: .*No such file")


@case("a bare name is not looked for in the current directory")
def _():
    path = plugin("bare")
    done = report("--plugin", "bare.so", trace("mixed"), cwd=os.path.dirname(path))
    equal((done.returncode, done.stdout), (FAILED, ""), "status and output")
    expect("does not look for plug-ins in the current directory: --plugin ./bare.so" in done.stderr, done.stderr)
    done = report("--plugin", "./bare.so", trace("mixed"), cwd=os.path.dirname(path))
    equal(done.returncode, 0, "status (%s)" % done.stderr)


@case("one that writes to descriptors that are not its own spoils no result")
def _():
    every = 'for (int i = 3; i < 100; i++) if (write(i, "garbage", 7)) {}'
    refused(plugin("garbage", event=every), "results are damaged: something else wrote to their pipe")
    refused(plugin("liar", finish='for (int i = 3; i < 100; i++) if (write(i, "aflame pass results 1\\n\\x00\\x00\\xff\\xff\\xff", 27)) {} return 0;'),
            "results are damaged")
    refused(plugin("closes", event="for (int i = 0; i < 1000; i++) close(i);"), "could not be written|ended its process")


@case("what it prints goes to standard error, and standard output stays a document")
def _():
    path = plugin("prints", event='printf("hello from printf\\n"); if (write(1, "hello from write\\n", 17)) {}')
    done = report("--json", "--plugin", path, trace("mixed"))
    equal(done.returncode, 0, "status")
    equal(json.loads(done.stdout)["tables"][0]["rows"], [{"n": 42}], "rows")
    expect("hello from printf" in done.stderr and "hello from write" in done.stderr, done.stderr)


@case("one that ends the process is reported, with its status")
def _():
    refused(plugin("exits", event="exit(0);"), r"ended its process in event\(\), with status 0")
    refused(plugin("exits_too", finish="_exit(3);"), r"ended its process in finish\(\), with status 3")
    refused(plugin("kills", sample="kill(getpid(), SIGKILL);"), r"crashed in sample\(\): Killed")


@case("one that forks: neither a child that waits nor one that goes on in aflame's code is left, or gives results")
def _():
    note_file = new_path("pids")
    path = plugin("forks", event="""static int once; if (once++) return;
	for (int i = 0; i < 2; i++) { pid_t pid = fork(); if (!pid) { if (i) for (;;) pause(); return; }
	FILE *f = fopen("%s", "a"); fprintf(f, "%%d\\n", pid); fclose(f); }""" % note_file)
    start = time.monotonic()
    equal(tables("--plugin", path, trace("mixed"))["answers"], [{"n": 42}], "rows")
    expect(time.monotonic() - start < 60, "it took long")
    with open(note_file, encoding="utf-8") as f:
        pids = [int(p) for p in f.read().split()]
    equal(len(pids), 2, "children")
    for _ in range(100):
        left = [p for p in pids if alive(p)]
        if not left:
            break
        time.sleep(0.1)
    equal(left, [], "children that are left")


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@case("misuse of the host fails with the function and what was wrong")
def _():
    for name, body, pattern in (
            ("cells", 'h->row(h, h->table(h, "t", 0, &column, 1), 0, 3); return 0;', r"in finish\(\): row\(\): 3 cells for the 1 columns of t"),
            ("no_table", "struct af_pass_cell c = {0, 0, 0, 0}; h->row(h, 5, &c, 1); return 0;", r"row\(\): there is no table 5"),
            ("bad_name", 'h->table(h, "A table", 0, &column, 1); return 0;', r'the name "A table" is not made of'),
            ("twice", 'h->table(h, "t", 0, &column, 1); h->table(h, "t", 0, &column, 1); return 0;', "there is a table or tree called t already"),
            ("same_keys", 'struct af_pass_column c[] = {column, column}; h->table(h, "t", 0, c, 2); return 0;', "two columns have the key n"),
            ("bad_of", 'struct af_pass_column c = column; c.of = "m"; h->table(h, "t", 0, &c, 1); return 0;', "the column n is of m per -"),
            ("bad_unit", 'struct af_pass_column c = column; c.unit = 77; h->table(h, "t", 0, &c, 1); return 0;', "unit 77"),
            ("no_node", 'struct af_pass_weight w = {"time", "ns"}; h->tree_add(h, h->tree(h, "t", 0, &w, 1), 99, 0, 1); return 0;', "no node 99"),
            ("no_weight", 'struct af_pass_weight w = {"time", "ns"}; h->tree_add(h, h->tree(h, "t", 0, &w, 1), 0, 1, 1); return 0;', "no weight 1"),
            ("turned", 'h->slice(h, h->track(h, 0, "t"), 5, 4, "x"); return 0;', "ends before it starts"),
            ("no_size", "struct af_pass_trace t = {0}; h->trace(h, &t); return 0;", "size of a struct that the host is to fill is not set"),
            ("late", 'h->want(h, "sample"); return 0;', r"want\(\) is for begin\(\) alone"),
            ("returns", "return 7;", r"in finish\(\): it returned 7"),
            ("says", 'return h->fail(h, "no %s\\033[31m", "luck");', r": no luck\?"),
    ):
        refused(plugin(name, finish=body), pattern)
    refused(plugin("unknown_kind", begin='return h->want(h, "nonsense");'), 'no kind of event, and no traced function, is called "nonsense"')


@case("a file is replaced only by whole results")
def _():
    out = new_path("kept") + ".svg"
    with open(out, "w", encoding="utf-8") as f:
        f.write("as it was")
    refused(plugin("late_crash", finish="*null = 1; return 0;"), "crashed", "-o", out)
    refused_too = report("--plugin", example("kernels_by_grid"), "-o", out, trace("cuda"))
    expect(refused_too.returncode == FAILED and "would have one tree" in refused_too.stderr, refused_too.stderr)
    with open(out, encoding="utf-8") as f:
        equal(f.read(), "as it was", "the file")
    equal([n for n in os.listdir(WORKPLACE) if n.startswith(os.path.basename(out)) and n != os.path.basename(out)], [], "files beside it")


@case("several plug-ins give one document, unless two results have one name")
def _():
    both = ("--plugin", example("kernels_by_grid"), "--plugin", example("launch_gaps"), trace("cuda"))
    equal([t["name"] for t in document(*both)["tables"]], ["kernels_by_grid", "launch_gaps"], "tables")
    out = new_path("both") + ".perfetto-trace"
    must("report", "--plugin", example("launch_gaps"), "--plugin", plugin("slices_too", finish='return h->slice(h, h->track(h, "mine", "a track of mine"), 5, 9, "a slice of mine");'),
         "-o", out, trace("cuda"))
    with open(out, "rb") as f:
        written = f.read()
    expect(b"a slice of mine" in written and b"a track of mine" in written and b"gaps so far" in written, "%d bytes" % len(written))
    text = must("report", *both)
    expect("Kernels by the size" in text and "100.00%" in text, text)
    one = plugin("one")
    done = report("--plugin", one, "--plugin", one, trace("mixed"))
    expect(done.returncode in (FAILED, USAGE) and "both give a result called answers" in done.stderr, done.stderr)


@case("timeline --plugin: the trace's own slices as without it, and behind them those of the plug-ins, each group a process")
def _():
    out, own = new_path("joined") + ".pftrace", new_path("own") + ".pftrace"
    mine = plugin("mine", finish='return h->slice(h, h->track(h, "mine", "a track of mine"), 5, 9, "a slice of mine");')
    must("timeline", "-o", own, trace("cuda"))
    must("timeline", "--plugin", example("launch_gaps"), "--plugin", mine, "-o", out, trace("cuda"))
    with open(own, "rb") as f, open(out, "rb") as g:
        own, joined = f.read(), g.read()
    expect(joined.startswith(own), "the trace's own slices are not as without a plug-in")
    more = joined[len(own):]
    for text in b"gaps so far", b"process 101 queue 1", b"a track of mine", b"a slice of mine":
        expect(text in more, "no %s" % text)
    if shutil.which("protoc"):
        proto = os.path.join(SOURCE, "tests/golden/timeline")
        text = subprocess.run(["protoc", "--decode=perfetto.protos.Trace", "-I", proto, os.path.join(proto, "perfetto.proto")],
                              input=more, capture_output=True, check=True).stdout.decode("utf-8", "replace")
        pids = re.findall(r"process \{\s+pid: (\d+)", text)
        equal((len(pids), len(set(pids))), (2, 2), "processes of two plug-ins (%s)" % pids)
        equal(len(re.findall("type: TYPE_SLICE_BEGIN", text)), len(re.findall("type: TYPE_SLICE_END", text)), "begins and ends")
    for words, pattern in ((("-o", "x.json"), "need Perfetto's format"), (("-o", "x.pftrace", "--limit", "3"), "--limit does not go with --plugin"),
                           (("-o", "x.pftrace", "--plugin", example("kernels_by_grid")), None)):
        done = aflame("timeline", "--plugin", mine, *words, trace("cuda"))
        expect(not done.returncode if pattern is None else done.returncode and pattern in done.stderr, "%s: %s" % (words, done.stderr))
    done = aflame("timeline", "--plugin", example("kernels_by_grid"), "-o", "x.pftrace", trace("cuda"))
    expect(done.returncode == FAILED and "no plug-in gave slices" in done.stderr, done.stderr)


@case("in a folder of ranks the tables are merged by keys, trees add up, and each rank is named to the plug-in")
def _():
    out = new_path("set")
    made = subprocess.run([os.path.join(BUILD, "tests/bench/gen_set"), out, "--ranks", "3", "--hosts", "1", "--bytes", "200000"],
                          capture_output=True, text=True, check=False)
    equal(made.returncode, 0, "gen_set (%s)" % made.stderr)
    path = plugin("ranks", head="""static uint64_t samples, ns;
static const struct af_pass_column columns[] = {{"what", "What", 0, AF_PASS_MERGE_KEY, 0, 0, {0, 0}}, {"samples", "Samples", 1, AF_PASS_MERGE_SUM, 0, 0, {0, 0}}, {"time_ns", "Time", 2, 0, 0, 0, {0, 0}}};
""", sample="samples++; ns += s->weight_ns;", finish="""struct af_pass_trace t = {.size = sizeof t};
	struct af_pass_weight w = {"time", "ns"};
	const struct af_pass_cell cells[] = {{"samples", 0, 0, 0}, {0, samples, 0, 0}, {0, ns, 0, 0}};
	int tree = h->tree(h, "own", 0, &w, 1);
	h->trace(h, &t);
	h->tree_add(h, tree, h->tree_child(h, tree, 0, *t.member ? t.member : "alone", AF_PASS_FRAME_MARK), 0, ns);
	return h->row(h, h->table(h, "sums", "Sums", columns, 3), cells, 3);""")
    got = tables("--plugin", path, out)
    alone = [tables("--plugin", path, "--rank", n, out)["sums"][0] for n in range(3)]
    (all_,) = got["sums"]
    for key in "samples", "time_ns":
        equal(all_[key], sum(row[key] for row in alone), key)
    expect(all_["samples"], "no samples")
    equal({row["frame"]: row["self"] for row in got["own"]}, {"rank %d" % n: alone[n]["time_ns"] for n in range(3)}, "the tree")
    done = report("--plugin", example("launch_gaps"), "-o", out + ".json", out)
    expect(done.returncode != 0 and "--rank" in done.stderr and not os.path.exists(out + ".json"), done.stderr)
    broken = report("--plugin", plugin("broken", finish='struct af_pass_trace t = {.size = sizeof t}; h->trace(h, &t); if (strchr(t.member, \'1\')) *null = 1; return ok(h);'), out)
    equal((broken.returncode, broken.stdout), (FAILED, ""), "status and output")
    expect("rank 1: the plug-in" in broken.stderr and "crashed in finish()" in broken.stderr, broken.stderr)


@case("options that go with nothing are refused, and say what they are for")
def _():
    for words, pattern in ((("-o", "x.svg", trace("mixed")), "--plugin"), (("--plugin-time", "1", trace("mixed")), "--plugin"),
                           (("--plugin", example("launch_gaps"), "--view", "gpu", trace("mixed")), "--view is not for plug-ins"),
                           (("--plugin", example("launch_gaps"), "-o", "x.nonsense", trace("mixed")), "no format for x.nonsense"),
                           (("--plugin", example("launch_gaps"), "/nowhere/at/all"), "is no folder, so it is for the plug-in")):
        done = report(*words)
        expect(done.returncode in (FAILED, USAGE) and not done.stdout and pattern in done.stderr, "%s: %s" % (words, done.stderr))


run_cases()
