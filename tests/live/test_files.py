#!/usr/bin/env python3
"""Files of other tools: what each is, that nothing is taken for what it is not, and how much memory
it may take."""

import collections
import cProfile
import gzip
import json
import os
import re
import struct
import subprocess

from machine import AFLAME, SOURCE, WORKPLACE, need_tool, program
from recording import Trace, aflame, must, new_path, parse_folded
from tap import Skip, case, equal, expect, note, run_cases


def file_with(content, name="file"):
    path = new_path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def folded(*words):
    """{stack: weight} of flame's folded text, marks of kinds left in."""
    out = collections.Counter()
    for line in must("flame", *words).splitlines():
        stack, weight = line.rsplit(" ", 1)
        out[stack] += int(weight)
    return out


def imported(path, *words):
    to = new_path("trace")
    must("import", "-q", "-o", to, *words, path)
    return to


def refused(path, pattern):
    """`import` says why it does not read it, in one line that matches, and leaves no trace."""
    to = new_path("trace")
    done = aflame("import", "-o", to, path)
    equal(done.returncode, 1, "status of import (%s)" % done.stderr.strip())
    expect(re.search(pattern, done.stderr), "%r does not say %r" % (done.stderr, pattern))
    expect(not os.path.exists(to), "a trace is left")


# --- perf script's text

HEADER = """# ========
# captured on    : Sun Nov 22 14:44:06 2026
# hostname : machine
# cmdline : /usr/bin/perf record -g ./busy
# event : name = cpu-clock, , id = { 42, 43 }, type = 1
# missing features: %s
# ========
#
""" % (" ".join("FEATURE_%d" % i for i in range(400)))

FRAMES = "\t            115b inner+0x12 (/tmp/busy)\n\t            11f5 main+0x1a (/tmp/busy)\n\n"


def script(comms, frames=FRAMES):
    return "".join(
        "%s  %d/%d   %d.%06d:    1003009 cpu-clock: \n%s" % (comm, pid, tid, 500 + i, i, frames)
        for i, (comm, pid, tid) in enumerate(comms)
    )


@case("perf script --header: the lines of # before the first sample are passed over")
def _():
    text = script([("busy", 12, 12)] * 3)
    want = folded(imported(file_with(text)))
    equal(sum(want.values()), 3 * 1003009, "weight")
    equal(folded(imported(file_with(HEADER + text))), want, "stacks")


@case("perf script without any of its columns reads like stackcollapse-perf.pl, or better")
def _():
    for head, root in (
        ("busy  1713 [001]   582.809920:    1003009 cpu-clock: ", "busy"),
        ("busy  1713   582.809920: cpu-clock: ", "busy"),
        ("my busy  1713 cpu-clock: ", "my_busy"),
        ("my busy 7  1713  582.809920: cpu-clock: ", "my_busy_7"),
        ("busy  1713/1714 cpu-clock: ", "busy"),
        ("busy  1713 ", "busy"),
        ("busy  1713/1714 [001] ", "busy"),
        ("busy ", "busy"),
        ("busy   582.809920: cpu-clock: ", "busy"),
        ("  1713/1714   582.809920:    1003009 cpu-clock: ", "[no_comm]"),
        ("  1713   582.809920: ", "[no_comm]"),
        ("cpu-clock: ", None),
        ("", "[no_comm]"),
    ):
        path = file_with(2 * ((head + "\n") + FRAMES))
        got = folded("--perf-script", path, "--perf-frames", "plain")
        equal(len(got), 1, "stacks of %r" % head)
        (stack,) = got
        expect(stack.endswith(";main;inner"), "%r gives %r" % (head, stack))
        if root:
            equal(stack.split(";")[0], root, "root of %r" % head)
        trace = Trace(imported(path))
        equal(len(trace.events("ksample") + trace.events("counted")), 2, "samples of %r" % head)


@case("perf script of what perf records here, with every choice of columns, has the same stacks")
def _():
    perf = need_tool("perf")
    data = new_path("columns") + ".data"
    environment = dict(os.environ, HOME=WORKPLACE)
    done = subprocess.run(
        [perf, "record", "-q", "-N", "-g", "-e", "cpu-clock", "-F", "997", "-o", data, "--", program("shares_fp"), "0.3"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, check=False)
    if done.returncode or not os.path.exists(data):
        raise Skip("perf cannot record here: %.100s" % done.stderr.decode())

    def text(fields):
        done = subprocess.run([perf, "script", "--header", "-i", data, "-F", fields], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=environment, check=False)
        return file_with(done.stdout)

    def stacks(path):
        return collections.Counter({
            ";".join(s.split(";")[1:]): 1 for s in folded("--perf-script", path, "--perf-frames", "plain")})

    want = stacks(text("comm,tid,time,period,event,ip,sym,dso"))
    expect(len(want) > 1, "stacks: %d" % len(want))
    for fields in ("comm,ip,sym,dso", "comm,tid,ip,sym,dso", "comm,pid,tid,event,ip,sym,dso", "event,ip,sym,dso",
                   "pid,tid,time,event,ip,sym,dso", "comm,tid,period,event,ip,sym,dso", "ip,sym,dso"):
        equal(stacks(text(fields)), want, "stacks of -F " + fields)
    note("%d stacks, 7 choices" % len(want))


@case("a process that runs another program is that from there on, as is a thread that is renamed")
def _():
    samples = [("sh", 5, 5), ("sh", 5, 5), ("xz", 5, 5), ("xz", 5, 6), ("worker", 5, 6), ("sh", 7, 7)]
    got = folded(imported(file_with(script(samples))))
    roots = collections.Counter()
    for stack, weight in got.items():
        roots[stack.split(";")[0]] += weight // 1003009
    equal(dict(roots), {"sh": 3, "xz": 3}, "samples by program")
    threads = Trace(imported(file_with(script(samples)))).events("thread")
    equal({t["fields"]["name"] for t in threads if t["tid"] == 6}, {"worker"}, "name of the thread")


KERNELS = [
    "[kernel.kallsyms]", "[nf_tables]", "/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64",
    "/usr/lib/debug/lib/modules/6.1.0/vmlinux", "/boot/vmlinux-6.1.0", "/lib/modules/6.1.0/nvme.ko",
    "/lib/modules/6.1.0/nvme.ko.xz", "/lib/modules/6.8.0/nvme.ko.zst", "/lib/modules/6.1.0/nvme.ko.gz",
    "/usr/lib/debug/lib/modules/6.1.0/nvme.ko.debug", "/root/.debug/[kernel.kallsyms]/0a1b/kallsyms",
    "/proc/kcore", "bpf_prog_6deef7357e7b4530_sd_egress",
]
USERS = ["/usr/lib/libc.so.6", "[vdso]", "[stack]", "/home/vmlinuxer/a.out", "/tmp/x.kong", "/opt/a.ko.d/prog"]


@case("frames of a kernel's own files are the kernel's, others are not")
def _():
    for module in KERNELS + USERS:
        text = script([("a", 1, 1)], "\tffffffff8100115b inner+0x12 (%s)\n\t            11f5 main+0x1a (/a)\n\n" % module)
        want = "a;main;inner" + ("_[k]" if module in KERNELS else "")
        equal(list(folded("--perf-script", file_with(text))), [want], "frames of " + module)
        equal(list(folded(imported(file_with(text)))), [want], "imported frames of " + module)


# --- what is no file of ours


CUPTI = "".join(
    'CONCURRENT_KERNEL [ %d, %d ] duration 2560, "axpy", correlationId %d\n'
    'RUNTIME [ %d, %d ] "cudaLaunchKernel", correlationId %d\n' % (i * 9000 + 50, i * 9000 + 2610, i, i * 9000, i * 9000 + 20, i)
    for i in range(1, 40)
)

HEAP = "heap profile: 3: 640 [ 9: 1280] @ heap/1048576\n" + "".join(
    "%d: %d [%d: %d] @ 0x4a1b%02x 0x4a2c%02x 0x4000\n#\t0x4a1b%02x\tmain.f+0x1f\t/x.go:12\n\n" % (i, 64 * i, i, 64 * i, i, i, i)
    for i in range(1, 20)
)


@case("text of other tools is refused by its name, with what converts it")
def _():
    for text, name in (
        ("# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\ncmd: ./a\npositions: line\nevents: Ir\n\nfn=(1) main\n"
         + "16 3\n" * 50, "callgrind"),
        ("version: 1\ncreator: x\npositions: line\nevents: Ir\nfl=a.c\nfn=main\n" + "+1 3\n" * 50, "callgrind"),
        ("desc: I1 cache:  32768 B\ncmd: ./a\nevents: Ir I1mr\nfl=a.c\nfn=main\n" + "12 3 4\n" * 50, "cachegrind"),
        ("desc: (none)\ncmd: ./a\ntime_unit: i\n#---\nsnapshot=0\n#---\ntime=0\nmem_heap_B=0\nheap_tree=empty\n", "massif"),
        (HEAP, "pprof's legacy text.*go tool pprof -proto"),
        ("goroutine profile: total 2\n1 @ 0x43 0x44\n#\t0x43\tmain.f+0x1\t/x.go:3\n", "pprof's legacy text"),
        ("--- contention:\ncycles/second=2100000000\n31 2 @ 0x4a 0x4b\n", "pprof's legacy text"),
        ("# To display the perf.data header info\n#\n# Samples: 4  of event 'cycles'\n# Overhead  Command\n    99.1%  a  a  [.] f\n",
         "perf script"),
        ("@[\n    f+0\n    main+12\n]: 12\n@[\n    g+0\n]: 3\n", "stackcollapse-bpftrace"),
        (b"gmon\1\0\0\0" + bytes(99), "gprof"),
        (b"\xfd7zXZ\0" + bytes(99), "xz -dc"),
        (b"\x28\xb5\x2f\xfd" + bytes(99), "zstd -dc"),
        ("a;b 1\n".encode("utf-16"), "iconv"),
        ('{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":1,"endTime":2}', "cpuprofile"),
        ('{"meta":{"interval":1,"startTime":2},"libs":[],"threads":[]}', "Firefox"),
        ("2026-11-22 12:00:00 started 12\n2026-11-22 12:00:01 took 15\n", "no format that aflame knows"),
        ("16 3\n17 5\n20 1\n", "no format that aflame knows"),
    ):
        refused(file_with(text), name)


@case("CUPTI's text is never folded text")
def _():
    to = new_path("trace")
    done = aflame("import", "-o", to, file_with(CUPTI))
    expect("sums of stacks" not in done.stderr, done.stderr)
    expect(done.returncode or "39 pieces of device work" in done.stderr, done.stderr)


@case("what valgrind's tools and Python's profiler write here is refused by name")
def _():
    valgrind, found = need_tool("valgrind"), []
    for tool, name in (("callgrind", "callgrind"), ("cachegrind", "cachegrind"), ("massif", "massif")):
        out = new_path(tool)
        subprocess.run([valgrind, "--tool=" + tool, "--%s-out-file=%s" % (tool, out), "/bin/true"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if os.path.exists(out):
            refused(out, name)
            done = aflame("flame", "--folded", out)
            expect(done.returncode and name in done.stderr, "flame --folded: " + done.stderr)
            found.append(tool)
    profile, out = cProfile.Profile(), new_path("cprofile")
    profile.runcall(sum, range(10))
    profile.dump_stats(out)
    refused(out, "cProfile")
    note(", ".join(found))


@case("text of which most lines do not parse is refused, with how many; else they are counted")
def _():
    good, bad = "main;f 3\n", "this is no stack\n"
    refused(file_with(good * 4 + bad * 6), "no format that aflame knows")
    # The beginning is fine, the rest is not.
    refused(file_with(good * 20000 + bad * 20001), r"20001 of 40001 lines")
    trace = imported(file_with(good * 6 + bad * 4))
    equal(dict(folded(trace)), {"main;f": 18}, "stacks")
    for words in (("--folded",), ("--perf-script",)):
        done = aflame("flame", *words, file_with(good * 4 + bad * 6))
        expect(done.returncode in (1, 2), "status of flame %s: %d" % (words[0], done.returncode))


@case("a mark of UTF-8 at the front of text changes nothing")
def _():
    chrome = json.dumps({"traceEvents": [{"ph": "X", "name": "f", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]})
    speedscope = json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "name": "a", "unit": "bytes", "startValue": 0, "endValue": 3,
                      "samples": [[0]], "weights": [3]}]})
    for name, text in (("folded", "main;f 3\nmain;g 4\n"), ("perf script", script([("a", 1, 1)])),
                       ("gpuperf", "1234567890 comm 12 12 0 main;f\n"), ("Chrome", chrome), ("speedscope", speedscope)):
        plain, marked = text.encode(), b"\xef\xbb\xbf" + text.encode()
        want = folded(imported(file_with(plain)))
        expect(want, "no stacks of " + name)
        equal(folded(imported(file_with(marked))), want, "imported %s" % name)
        equal(folded(imported(file_with(gzip.compress(marked)))), want, "imported %s, gzipped" % name)
    for words, text in ((("--folded",), "main;f 3\n"), (("--perf-script",), script([("a", 1, 1)]))):
        want = folded(*words, file_with(text))
        equal(folded(*words, file_with(b"\xef\xbb\xbf" + text.encode())), want, "flame " + words[0])


@case("JSON that has speedscope's words and not its structure is what it is")
def _():
    event = {"ph": "X", "name": 'load "profiles" of speedscope', "ts": 1, "dur": 2000, "pid": 1, "tid": 1,
             "args": {"profiles": [], "shared": {}, "activeProfileIndex": 0}}
    for text in (json.dumps({"profiles": 2, "shared": [], "traceEvents": [event]}), json.dumps([event]),
                 json.dumps({"exporter": "speedscope", "traceEvents": [event]})):
        got = folded(imported(file_with(text)))
        equal(list(got.values()), [2000000], "time of %.60s" % text)


# --- units


CYCLES = "".join(
    "busy  1713   582.8%05d:    %d cycles:u: \n\t            115b %s+0x12 (/tmp/busy)\n\t            11f5 main+0x1a (/tmp/busy)\n\n"
    % (i, 1000000 * weight, name) for i, (weight, name) in enumerate([(5, "inner"), (7, "outer"), (1, "inner")])
)
WANT = {"busy;main;inner": 6000000, "busy;main;outer": 7000000}


def has_no_time(path, unit, functions):
    """Nothing of the trace is time, and the unit stands beside its numbers. @functions: by weight."""
    heaviest, weight = max(functions.items(), key=lambda f: f[1])
    top = json.loads(must("report", "top", "--json", path))
    equal((top["weight"], top["unit"]), ("count", unit), "weight and unit of report top")
    table = top["tables"][0]
    equal({r["function"]: r["self"] for r in table["rows"] if r["self"]}, functions, "report top")
    expect(unit in table["title"], table["title"])
    whole = json.loads(must("report", "--json", path))
    tables = {t["name"]: t for t in whole["tables"]}
    expect("cpu_top" not in tables, "a table of CPU time")
    equal(tables["processes"]["rows"][0]["sampled_ns"], None, "CPU time of the process")
    what = [row["finding"] for row in tables["findings"]["rows"]]
    expect(any(heaviest in w and "%d %s" % (weight, unit) in w for w in what), "findings: %r" % what)
    expect(not any("CPU time" in w for w in what), "findings: %r" % what)
    svg, page, text = new_path("x") + ".svg", new_path("x") + ".html", new_path("x") + ".txt"
    for out in (svg, page, text):
        must("flame", "-o", out, path)
    with open(svg, encoding="utf-8") as file:
        expect(re.search(r"%s \([0-9,]+ %s," % (heaviest, unit), file.read()), "no %s in the SVG" % unit)
    with open(page, encoding="utf-8") as file:
        content = file.read()
    expect('"picture":{"weight":"count"' in content, "the page shows another weight")
    expect('"unit":"%s"' % unit in content, "no unit in the page")
    callgrind = must("export", "--format", "callgrind", path)
    expect(re.search(r"^events: .*\b%s\b" % unit, callgrind, re.M), callgrind[:300])
    expect(not re.search(r"^events: .*\b(time|cpu)\b", callgrind, re.M), callgrind[:300])
    out = new_path("x") + ".speedscope.json"
    must("export", "--format", "speedscope", "-o", out, path)
    with open(out, encoding="utf-8") as file:
        profiles = json.load(file)["profiles"]
    by = {p["name"].rsplit(" ", 1)[-1]: p for p in profiles}
    equal(by[unit]["unit"], "none", "unit of speedscope's")
    equal(sum(by[unit]["weights"]), sum(functions.values()), "weights of speedscope's")
    out = new_path("x") + ".pb.gz"
    must("export", "--format", "pprof", "-o", out, path)
    with gzip.open(out) as file:
        expect(unit.encode() in file.read(), "no %s in the profile of pprof's" % unit)
    again = imported(out)
    equal(sum(folded("-w", "count", again).values()), sum(functions.values()), "pprof's, imported again")


@case("samples of cycles weigh cycles and no time, wherever they are shown or written")
def _():
    trace = imported(file_with(CYCLES))
    equal(dict(folded(trace)), WANT, "stacks")
    has_no_time(trace, "cycles", {"inner": 6000000, "outer": 7000000})
    out = new_path("x") + ".svg"
    must("flame", "--perf-script", file_with(CYCLES), "-o", out)
    with open(out, encoding="utf-8") as file:
        expect("outer (7,000,000 cycles," in file.read(), "no cycles in the SVG of --perf-script")
    clock = CYCLES.replace("cycles:u", "cpu-clock")
    must("flame", "--perf-script", file_with(clock), "-o", out)
    with open(out, encoding="utf-8") as file:
        expect("outer (7.00 ms," in file.read(), "periods of a clock are no time")
    equal(dict(folded("-w", "time", imported(file_with(clock)))), WANT, "time of a clock")
    must("timeline", "-o", new_path("x") + ".json", trace)
    must("flamescope", "-o", new_path("x") + ".svg", trace)


@case("a perf.data of cycles is as perf script prints it, and one of a clock is time")
def _():
    with open(os.path.join(SOURCE, "tests/golden/perf/file.data"), "rb") as file:
        data = file.read()
    clock = imported(file_with(data))
    # The same of hardware's event 0, in the attribute and where it has a name.
    size = struct.unpack_from("<Q", data, 16)[0]
    at = struct.unpack_from("<Q", data, 24)[0]
    expect(struct.unpack_from("<I", data, at)[0] == 1 and size >= 64, "no attribute of a clock")
    attribute = data[at:at + 8]
    cycles = data.replace(attribute, struct.pack("<I", 0) + attribute[4:])
    cycles = cycles.replace(b"cpu-clock:u\0", b"cycles:u\0\0\0\0")
    trace = imported(file_with(cycles))
    equal(folded(trace), folded(clock), "weights")
    equal(Trace(trace).events("ksample"), [], "samples of CPU time")
    weights = [e["fields"]["count"] for e in Trace(trace).events("counted")]
    equal(sum(weights), sum(folded(clock).values()), "count")
    top = json.loads(must("report", "top", "--json", trace))
    equal((top["weight"], top["unit"]), ("count", "cycles"), "weight and unit")
    equal(must("flame", "-w", "time", trace), "", "stacks by time")


@case("values of a unit of their own are counted in it, and two units of two files are events")
def _():
    profile = json.dumps({"shared": {"frames": [{"name": "f"}, {"name": "g"}]}, "profiles": [
        {"type": "sampled", "name": "a", "unit": "requests", "startValue": 0, "endValue": 9,
         "samples": [[0], [0, 1]], "weights": [4, 5]}]})
    trace = imported(file_with(profile))
    top = json.loads(must("report", "top", "--json", trace))
    equal((top["weight"], top["unit"], top["total"]), ("count", "requests", 9), "weight, unit, total")
    both = new_path("trace")
    must("import", "-q", "-o", both, file_with(CYCLES), file_with(CYCLES.replace("cycles:u", "instructions")))
    equal(json.loads(must("report", "top", "--json", both))["unit"], "events", "unit of two")


# --- bombs


def memory_of(*words):
    """Status and the most memory that aflame had, as the kernel counts it."""
    with open(os.devnull, "w", encoding="utf-8") as null:
        child = subprocess.Popen([AFLAME, *words], stdout=null, stderr=null, cwd=WORKPLACE)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10


@case("a packed file that unpacks to very much more is read up to a multiple of its size")
def _():
    piece = gzip.compress(bytes(16 << 20), 9)
    frames = gzip.compress(b'{"name":"f"},' * (1 << 20), 9)
    for name, first, rest in (
        ("SQLite", b"SQLite format 3\0" + bytes(84), piece),
        ("pprof", b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01a", piece),
        ("speedscope", b'{"shared":{"frames":[', frames),
    ):
        path = file_with(gzip.compress(first) + rest * 64, name + ".gz")
        status, most = memory_of("import", "-o", new_path("trace"), path)
        expect(status in (0, 1), "%s: status %d" % (name, status))
        note("%s: %.1f MB of file, %.0f MB of memory" % (name, os.path.getsize(path) / 1e6, most / 1e6))
        expect(most < 700 << 20, "%s takes %d MB" % (name, most >> 20))


run_cases()
