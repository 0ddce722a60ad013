#!/usr/bin/env python3
"""What aflame exports for other tools, read back and by those tools.    test_export.py BUILD [WORDS]

The truth is folded text, which tests of its own hold against what was recorded."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../live")]

import readers  # noqa: E402
from tap import Skip, case, equal, expect, run_cases  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
AFLAME = os.path.join(BUILD, "src/cmd/aflame")
MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")
_work = tempfile.TemporaryDirectory(prefix="aflame-export-")
WORK = _work.name
os.environ.update(XDG_CACHE_HOME=WORK + "/cache", AFLAME_NVDISASM="none", HOME=WORK)

TRACES = ["analyse/" + n for n in ("mixed", "reuse", "kernel", "waits", "family", "cuda", "insns",
                                   "code", "host", "ranges", "twice", "seen", "shared")]
TRACES += ["timeline/gpu", "timeline/opencl", "counters/counters"]
FORMATS = ("pprof", "speedscope", "firefox", "callgrind", "folded", "perfetto", "chrome")

# Everything that a name can do to a format; a folded line cannot have `;` and newlines in a name.
HOSTILE = [b'"<a&b>\'', b"]]></script>", b"<!--", b"cr\rx", b"nul\x00in", b"bad\xff\xfe\xc3", b"ends 12",
           b"ends 1.5", b"\xe2\x82\xac", b"(1) x", b"fn=(2) y", b"\\n\\", b"tab\tx", b"#x", b" blank ",
           b"a_[k]", b"calls=1 2", b"\x1b[31m", b"%s%n", b"operator()(int)<T>"]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, timeout=120, **more)
    expect(done.returncode == 0, "%s: %s" % (command, done.stderr.decode(errors="replace")))
    return done


def aflame(*args, **more):
    return run(AFLAME, *args, **more)


def trace(name):
    path = os.path.join(WORK, os.path.basename(name))
    if not os.path.isdir(path):
        run(MKTRACE, os.path.join(HERE, "..", name + ".trace"), path)
    return path


def hostile_trace():
    path = os.path.join(WORK, "hostile")
    if not os.path.isdir(path):
        with open(os.path.join(HERE, "../analyse/mixed.trace"), encoding="utf-8") as f:
            text = readers.hostile(f.read())
        with open(path + ".trace", "w", encoding="utf-8") as f:
            f.write(text)
        run(MKTRACE, path + ".trace", path)
    return path


def hostile_folded():
    path = os.path.join(WORK, "hostile.folded")
    lines = [b";".join([b"root", name, HOSTILE[i - 1]]) + b" %d" % (i + 1)
             for i, name in enumerate(HOSTILE)]
    lines += [b";".join([name, b"recursion", name, b"recursion"]) + b" 3" for name in HOSTILE]
    with open(path, "wb") as f:
        f.write(b"\n".join(lines + [b";;empty;; 9", b"big 9007199254740993"]) + b"\n")
    return path


def export(fmt, source, *options):
    path = os.path.join(WORK, "out." + fmt)
    reported = aflame("export", "--format", fmt, "-o", path, *options, source).stderr.decode()
    return path, reported


def flame(path, view, weight, *time):
    done = subprocess.run([AFLAME, "flame", "--view", view, "-w", weight, *time, path],
                          capture_output=True, timeout=120)
    if done.returncode and b"has no" in done.stderr:
        return {}
    expect(done.returncode == 0, done.stderr.decode())
    return readers.folded(done.stdout)


COLUMNS = {"cpu": ("cpu", "time"), "samples": ("cpu", "samples"), "off-cpu": ("cpu", "off-cpu"),
           "gpu": ("gpu", "time"), "launches": ("gpu", "count"), "bytes": ("gpu", "bytes"),
           "gpu-samples": ("gpu", "samples")}


def truth(path, *time):
    """{column: total} of those that the trace has"""
    sums = {c: sum(flame(path, *of, *time).values()) for c, of in COLUMNS.items()}
    return {c: total for c, total in sums.items() if total}


def totals(stacks):
    return {c: sum(s.values()) for c, s in stacks.items() if sum(s.values())}


def check_totals(path, *time):
    want = truth(path, *time)
    pprof, _ = export("pprof", path, *time)
    equal(totals(readers.Pprof(pprof).stacks()), want, "pprof's totals")
    equal(totals(readers.speedscope(export("speedscope", path, *time)[0])), want,
          "speedscope's totals")
    total, own, _ = readers.callgrind(export("callgrind", path, *time)[0])
    equal(total, want, "callgrind's summary")
    equal(totals(own), want, "callgrind's own costs")
    firefox, reported = export("firefox", path, *time)
    left_out = "left out" in reported
    for name, got in (("firefox", readers.firefox(firefox)),
                      ("perfetto", readers.perfetto(export("perfetto", path, *time)[0])),
                      ("chrome", readers.chrome(export("chrome", path, *time)[0]))):
        for column in ("cpu", "gpu"):
            if column in got and not (column == "gpu" and left_out):
                equal(sum(got[column].values()), want.get(column, 0),
                      "%s's %s %s" % (name, column, time))


@case("all formats of a trace have the totals of its folded text")
def _():
    for name in TRACES:
        check_totals(trace(name))


@case("so they have of a time, and folded text is what flame writes of it")
def _():
    for name, ends in (("timeline/gpu", (900, 1700, 2600)), ("analyse/cuda", (1100, 1250, 1900)),
                       ("analyse/ranges", (1150, 1900)), ("analyse/waits", (30, 45)),
                       ("analyse/idle", (600, 1300, 3000))):
        path, whole, before = trace(name), truth(trace(name)), 0
        for end in ends + (0,):
            time = (["--from", "%dns" % before] if before else []) + (
                ["--to", "%dns" % end] if end else [])
            before = end
            check_totals(path, *time)
            for column, total in truth(path, *time).items():
                whole[column] -= total
            done, same = (subprocess.run([AFLAME, *words, *time, path], capture_output=True, timeout=120)
                          for words in (("flame",), ("export", "--format", "folded")))  # fmt: skip
            equal((same.returncode, same.stdout), (done.returncode, done.stdout), "folded text")
            equal(same.stderr.replace(b"aflame export", b"aflame flame"), done.stderr, "messages")
        # Some work, with its bytes, has no times, and is in none.
        equal({c: left for c, left in whole.items() if left and c not in ("launches", "bytes")},
              {}, name)


@case("no slice of chrome's begins before 0, where readers drop it, and all end where they do")
def _():
    begun = 0
    for name in ("family", "host", "kernel", "mixed", "waits"):
        path = export("chrome", trace("analyse/" + name))[0]
        with open(path) as file:
            events = [e for e in json.load(file)["traceEvents"] if "ts" in e]
        expect(all(e["ts"] >= 0 and e.get("dur", 0) >= 0 for e in events), name)
        begun += sum(e["ts"] == 0 and e.get("dur", 0) > 0 for e in events)
    expect(begun, "no slice begins where the trace does")


@case("everything in a timeline of a time is in that time")
def _():
    seen = set()
    for name, begin, end in (("ranges", 1155, 1900), ("idle", 600, 1300), ("waits", 20, 45)):
        path, _ = export("chrome", trace("analyse/" + name), "--from", "%dns" % begin,
                         "--to", "%dns" % end)
        for event in json.load(open(path))["traceEvents"]:
            if event["ph"] == "X":
                at = round(event["ts"] * 1000)
                expect(begin <= at and at + round(event["dur"] * 1000) <= end, event)
                seen.add(event["cat"])
    equal(seen, {"call", "range", "run", "wait", "work"}, "kinds of slices")


@case("other text formats of a time have its samples and its work")
def _():
    path = trace("analyse/mixed")
    times = ([], ["--to", "61ns"], ["--from", "61ns", "--to", "63ns"], ["--from", "63ns"])
    lines = [open(export("gpuperf-cpu", path, *time)[0]).read().splitlines() for time in times]
    expect(lines[0] and all(lines[1:]), lines)
    equal(sum(lines[1:], []), lines[0], "lines of samples, in three times")
    for time, text in zip(times, lines):
        equal(len(text), truth(path, *time)["samples"], "samples")
    ns, times = [], ([], ["--to", "1100ns"], ["--from", "1100ns", "--to", "1250ns"],
                     ["--from", "1250ns"])
    for time in times:
        events = json.load(open(export("gpuperf-gpu", trace("analyse/cuda"), *time)[0]))
        works = [e for e in events["traceEvents"] if e["cat"] in ("GPU_Kernel", "MemCopy")]
        ns.append(sum(round(e["dur"] * 1000) for e in works))
    expect(ns[0], ns)
    equal(sum(ns[1:]), ns[0], "ns of kernels and copies, in three times")


def cuda_on(name, devices, queues):
    """analyse/cuda with other devices, a list of (id, API), and the devices of its two queues"""
    path, own = os.path.join(WORK, name), re.compile(r" p1 .* (device|clock) .*device=1 ")
    clocks = [(number, "") for number in sorted(set(queues))]
    with open(os.path.join(HERE, "../analyse/cuda.trace"), encoding="utf-8") as f:
        lines = f.readlines()
    with open(path + ".trace", "w", encoding="utf-8") as f:
        for line in lines:
            queue = re.search(r" queue +queue=([12]) device=1 ", line)
            if queue:
                line = line.replace("device=1", "device=%d" % queues[int(queue[1]) - 1])
            of = own.search(line)
            if not of:
                f.write(line)
                continue
            for number, api in devices if of[1] == "device" else clocks:
                f.write(line.replace("device=1", "device=%d" % number).replace("api=CUDA", "api=" + api))
    run(MKTRACE, path + ".trace", path)
    return path


@case("gpuperf's JSON numbers devices as their API does, whatever other APIs have in the process")
def _():
    for name, devices, queues, want in (
            ("alone", [(1, "CUDA"), (2, "CUDA")], (1, 2), (0, 1)),
            ("behind", [(1, "OPENCL"), (2, "LEVEL_ZERO"), (3, "CUDA"), (4, "CUDA")], (3, 4), (0, 1)),
            ("around", [(3, "CUDA"), (2, "OPENCL"), (1, "CUDA")], (1, 3), (0, 1)),
            ("part", [(3, "CUDA")], (3, 3), (2, 2)),
            ("unknown", [], (1, 2), (0, 1))):
        events = json.load(open(export("gpuperf-gpu", cuda_on("cuda-" + name, devices, queues))[0]))
        seen = {}
        for e in events["traceEvents"]:
            if e["cat"] == "GPU_Kernel":
                number = e["args"]["deviceId"]
                equal((e["pid"], e["tid"].split("_")[0]), ("Device_%d" % number, "GPU%d" % number), name)
                seen.setdefault(e["name"].split("gemm")[0] == "Kernel: ", set()).add(number)
        # add_kernel is of the first queue, gemm of the second
        equal(seen, {False: {want[0]}, True: {want[1]}}, name)


@case("a time of what has none, or that ends before it begins, is refused")
def _():
    for words, text in ((["--from", "2s", "--to", "1s", trace("analyse/mixed")], "--to is not after"),
                        (["--from", "1s", hostile_folded()], "folded text has no times")):
        done = subprocess.run([AFLAME, "export", "--format", "pprof", "-o", WORK + "/no", *words],
                              capture_output=True, text=True)
        equal(done.returncode, 2, "status")
        expect(text in done.stderr, done.stderr)
    reported = export("pprof", trace("analyse/mixed"), "--from", "1h")[1]
    expect("has no such data in that time" in reported, reported)


@case("so they have with hostile names")
def _():
    check_totals(hostile_trace())


def shown(name):
    """A name as folded text has it (folded.c), whatever bytes of it were not UTF-8."""
    name = name.replace(";", ":").replace("\n", "\\n").replace("\t", "\\t")
    return "".join("\\x%02x" % ord(c) if ord(c) < 32 or ord(c) == 127 else c for c in name)


def plain(stack):
    """A stack of folded text as text, without the suffixes of kinds."""
    names = [re.sub(r"_\[[kijGg]\]$", "", n.decode(errors="replace")) for n in stack]
    return tuple(re.sub(r"^\\x23", "#", n) for n in names)


def same_stacks(got, want, what):
    """Invalid UTF-8 and numbers at the end are not the same letters everywhere."""
    def key(stack):
        return tuple(re.sub(r"[^ -~]|[ _](?=[0-9.]+$)", "?", shown(n)).replace("??", "?")
                     .replace("??", "?") for n in stack)
    fold = lambda stacks: sorted((key(s), n) for s, n in stacks.items())  # noqa: E731
    equal(fold(got), fold(want), what)


@case("folded text goes into each format, stack by stack, whatever its names")
def _():
    source = hostile_folded()
    folded = readers.folded(aflame("export", "--format", "folded", source).stdout)
    want = {}
    for stack, weight in folded.items():
        want[plain(stack)] = want.get(plain(stack), 0) + weight
    same_stacks(readers.Pprof(export("pprof", source)[0]).stacks()["samples"], want, "pprof")
    same_stacks(readers.speedscope(export("speedscope", source)[0])["samples"], want, "speedscope")
    same_stacks(readers.firefox(export("firefox", source)[0])["samples"], want, "firefox")
    total, own, _ = readers.callgrind(export("callgrind", source)[0])
    equal(total["samples"], sum(want.values()), "callgrind's summary")
    equal(sum(own["samples"].values()), sum(want.values()), "callgrind's own costs")


@case("fractions stay exact")
def _():
    path = os.path.join(WORK, "fractions.folded")
    with open(path, "w", encoding="ascii") as f:
        f.write("a;b 0.000001\na;c 1.25\n")
    want = readers.Fraction(1250001, 10**6)
    for name, read in (("pprof", lambda p: readers.Pprof(p).stacks()),
                       ("speedscope", readers.speedscope), ("firefox", readers.firefox)):
        equal(sum(read(export(name, path)[0])["samples"].values()), want, name)


@case("callgrind's functions with what they call are each stack once, with recursion too")
def _():
    path = os.path.join(WORK, "recursion.folded")
    with open(path, "w", encoding="ascii") as f:
        f.write("m;f;g;f;g 5\nm;f 2\nm;g;f;f 4\nm;g 1\n")
    _, own, whole = readers.callgrind(export("callgrind", path)[0])
    equal(dict(own["samples"]), {"m": 0, "f": 6, "g": 6} if "m" in own["samples"]
          else {"f": 6, "g": 6}, "own")
    equal(dict(whole["samples"]), {"m": 12, "f": 11, "g": 10}, "with calls")


@case("bytes are the same in every run and locale")
def _():
    for fmt in FORMATS:
        first = aflame("export", "--format", fmt, trace("timeline/gpu")).stdout
        expect(first, fmt)
        for locale in ("C", "tr_TR.UTF-8", "C.UTF-8"):
            again = aflame("export", "--format", fmt, trace("timeline/gpu"),
                           env=dict(os.environ, LC_ALL=locale, TZ="Asia/Tokyo")).stdout
            equal(again == first, True, "%s in %s" % (fmt, locale))


@case("pprof has threads, devices, streams, stall reasons, lines and what was inlined")
def _():
    p = readers.Pprof(export("pprof", trace("analyse/mixed"))[0])
    stack, _, labels = next(s for s in p.samples if s[1][p.columns.index("cpu")] == 800)
    equal(labels, {"process": "app", "pid": 101, "thread": "app", "tid": 101}, "labels")
    equal(stack[-1], [("block_forward", 12, ""), ("enqueue", 7, "")], "an address")
    equal(stack[-2], [("Model.step", 11, "/home/me/train.py")], "a line of Python")
    p = readers.Pprof(export("pprof", trace("analyse/insns"))[0])
    labels = [s[2] for s in p.samples if "stall" in s[2] and "stream" in s[2]]
    expect({"gpu", "stream", "stall", "instruction"} <= set(labels[0]), labels[0])
    with_id = [m for m in p.mappings.values() if m[6]]
    expect(all(re.fullmatch("[0-9a-f]+", p.strings[m[6][0]]) for m in with_id), "build-ids")


@case("what cannot be is reported")
def _():
    for words, *args in (("name the format", "export", trace("analyse/mixed")),
                         ("needs a trace", "export", "--format", "perfetto", hostile_folded()),
                         ("takes one of", "export", "--format", "x", trace("analyse/mixed")),
                         ("No space left", "export", "--format", "pprof", "-o", "/dev/full",
                          trace("analyse/mixed"))):
        done = subprocess.run([AFLAME, *args], capture_output=True, timeout=60)
        expect(done.returncode and words in done.stderr.decode(), (words, done.stderr))


# The judges: tools of others. What is not installed here is skipped.

def judge(tool):
    path = shutil.which(tool)
    if not path:
        raise Skip("no %s here" % tool)
    return path


def pprof_tool(*args):
    go = judge("go")
    if subprocess.run([go, "tool", "-n", "pprof"], capture_output=True).returncode:
        raise Skip("this go has no pprof")
    return run(go, "tool", "pprof", *args).stdout.decode()


def report_top(path, view, weight="time"):
    """{function: self}: Python's and devices' functions without their lines, as pprof has them"""
    found = {}
    report = json.loads(aflame("report", "top", "--json", "-n", "0", "--view", view, "-w",
                               weight, path).stdout)
    table = next(t for t in report["tables"] if t["columns"][0]["key"] == "function")
    for row in table["rows"]:
        name = row["function"]
        if row["kind"] in ("python", "gpu"):
            name = re.sub(r" \([^ ]+\)$", "", name)
        found[name] = found.get(name, 0) + row["self"]
    return {name: own for name, own in found.items() if own}


@case("go tool pprof -top says what aflame report top says")
def _():
    for name, column in (("mixed", "cpu"), ("mixed", "gpu"), ("kernel", "cpu"), ("cuda", "gpu"),
                         ("reuse", "cpu"), ("code", "gpu"), ("mixed", "samples"),
                         ("waits", "off-cpu"), ("cuda", "launches"), ("cuda", "bytes"),
                         ("code", "gpu-samples")):
        path, _ = export("pprof", trace("analyse/" + name))
        unit = "ns" if column in ("cpu", "gpu", "off-cpu") else "B" if column == "bytes" else "count"
        text = pprof_tool("-top", "-sample_index=" + column, "-unit=" + unit, "-nodefraction=0",
                          "-nodecount=10000", path)
        got = {}
        for line in text.split("flat%")[-1].splitlines()[1:]:
            flat, _, _, _, _, function = line.split(None, 5)
            if flat != "0":
                function = re.sub(r" \((partial-)?inline\)$", "", function)
                got[function] = got.get(function, 0) + int(re.match(r"\d+", flat)[0])
        want = report_top(trace("analyse/" + name), *COLUMNS[column])
        if column == "off-cpu":  # that table is of who waited, and not of what for
            want = {}
            for stack, weight in flame(trace("analyse/" + name), *COLUMNS[column]).items():
                want[plain(stack)[-1]] = want.get(plain(stack)[-1], 0) + weight
        equal(got, want, "%s's %s" % (name, column))


@case("go tool pprof reads every trace, and text of hostile names")
def _():
    sources = [trace(name) for name in TRACES] + [hostile_trace(), hostile_folded()]
    for source in sources:
        path, _ = export("pprof", source)
        raw = pprof_tool("-raw", path)
        located = raw[raw.index("\nLocations"):raw.index("\nMappings")]
        equal(len(re.findall(r"^ *\d+: 0x", located, re.M)), len(readers.Pprof(path).locations),
              "locations of " + source)


PPROF_SCHEMA = "/usr/share/gocode/src/github.com/google/pprof/proto"


@case("protoc reads pprof's profiles by the schema that pprof publishes, every field")
def _():
    protoc = judge("protoc")
    if not os.path.exists(PPROF_SCHEMA):
        raise Skip("no golang-github-google-pprof-dev here")
    for source in [trace(name) for name in TRACES] + [hostile_trace(), hostile_folded()]:
        with open(export("pprof", source)[0], "rb") as f:
            data = readers.gzip.decompress(f.read())
        text = run(protoc, "-I", PPROF_SCHEMA, "--decode=perftools.profiles.Profile", "profile.proto",
                   input=data).stdout
        expect(b"sample_type" in text, source)
        equal(re.findall(rb"^ *\d+[: ].*$", text, re.M), [], "fields that the schema does not have")


@case("callgrind_annotate says what aflame report top says")
def _():
    annotate = judge("callgrind_annotate")
    for name, event in (("mixed", "cpu"), ("cuda", "gpu"), ("kernel", "cpu")):
        path, _ = export("callgrind", trace("analyse/" + name))
        text = run(annotate, "--threshold=100", "--show=" + event, "--sort=" + event,
                   path).stdout.decode()
        got = {}
        for line in text.splitlines():
            row = re.match(r" *([\d,]+) \([ \d.]+%\)  (.*?):([^/]*?)(?: \[[^\]]*\])?$", line)
            if row:
                got[row[3]] = got.get(row[3], 0) + int(row[1].replace(",", ""))
        equal(got, report_top(trace("analyse/" + name), event), "%s's %s" % (name, event))
        total = re.search(r"([\d,]+) \(100.0%\)  PROGRAM TOTALS", text)
        equal(int(total[1].replace(",", "")), truth(trace("analyse/" + name))[event], "in all")


run_cases()
