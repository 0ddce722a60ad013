#!/usr/bin/env python3
"""Perfetto's trace processor and Perfetto's schema on what aflame writes.
    test_perfetto.py BUILD [WORDS [TRACE…]]

Both are those of release 55.3, which `fetch` gets; without it these cases are skipped. With traces
(folders) those are tried."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../live")]

import readers  # noqa: E402
from readers import message, one  # noqa: E402
from schema import ROOT, descriptors, schema  # noqa: E402
from tap import Skip, case, equal, expect, run_cases  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
AFLAME = os.path.join(BUILD, "src/cmd/aflame")
MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")
ENGINE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                      "aflame-tests/trace_processor-55.3")
_work = tempfile.TemporaryDirectory(prefix="aflame-perfetto-")
WORK = _work.name
os.environ.update(XDG_CACHE_HOME=WORK + "/cache", AFLAME_NVDISASM="none", HOME=WORK)

TRACES = ["analyse/" + n for n in ("mixed", "reuse", "kernel", "waits", "family", "cuda", "insns",
                                   "code", "host", "ranges", "twice", "seen", "shared")]
TRACES += ["timeline/gpu", "timeline/opencl", "counters/counters", "hostile"]
TRACES = [os.path.abspath(t) for t in sys.argv[3:]] or TRACES

# What is of later releases: of 58 samples of stacks, and of what kind a frame is.
NEWER = {"packet.135", "packet.trace_packet_defaults.100",
         "packet.interned_data.frames.7", "packet.interned_data.frames.8"}
NEW = {"StackSample", "StackSampleDefaults", "Frame.Kind", "TracePacket.135", "TracePacketDefaults.100",
       "Frame.7", "Frame.8"}


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, timeout=280, **more)
    expect(done.returncode == 0, "%s: %s" % (command[:3], done.stderr.decode(errors="replace")[-2000:]))
    return done.stdout


def engine():
    if not os.path.exists(os.path.join(ENGINE, "trace_processor.wasm")):
        raise Skip("no trace processor of Perfetto's here: tests/golden/export/fetch gets it")
    return ENGINE


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Skip("no %s here" % name)
    return path


def trace(name):
    path = os.path.join(WORK, os.path.basename(name))
    if os.path.isabs(name):
        return name
    if not os.path.isdir(path):
        text = os.path.join(HERE, "..", name + ".trace")
        if name == "hostile":
            text = path + ".trace"
            with open(os.path.join(HERE, "../analyse/mixed.trace"), encoding="utf-8") as f:
                text_is = readers.hostile(f.read())
            with open(text, "w", encoding="utf-8") as f:
                f.write(text_is)
        run(MKTRACE, text, path)
    return path


def written(name, command, fmt, *options):
    """What `aflame COMMAND` makes of a trace, in a format."""
    path = os.path.join(WORK, "%s.%s.%s" % (os.path.basename(name), command, fmt))
    if not os.path.exists(path):
        run(AFLAME, command, "--format", fmt, "-o", path, *options, trace(name))
    return path


# The schema.

def published():
    """The file of the published schema's descriptors."""
    path = os.path.join(WORK, "published")
    if not os.path.exists(path):
        with open(os.path.join(engine(), "trace_processor.wasm"), "rb") as f:
            text = schema(f.read())
        with open(path, "wb") as f:
            f.write(text)
    return path


def unknown(text):
    """Where protoc's text has numbers in place of names: {path of fields}"""
    found, path = set(), []
    for line in text.split(b"\n"):
        field = re.match(rb" *(\w+)(: | \{$)", line)
        if field:
            here = path + [field[1].decode()]
            if field[1].isdigit() and not any(p.isdigit() for p in path):
                found.add(".".join(here))
            if field[2] == b" {":
                path = here
        elif line.strip() == b"}":
            path.pop()
    return found


@case("Perfetto's published schema has every field that is written, but those of later releases")
def _():
    protoc, found = tool("protoc"), set()
    for name in TRACES:
        for command in ("export", "timeline"):
            with open(written(name, command, "perfetto"), "rb") as f:
                text = run(protoc, "--descriptor_set_in=" + published(),
                           "--decode=perfetto.protos.Trace", ROOT, input=f.read())
            expect(b"trace_packet_defaults" in text, name)
            found |= unknown(text)
    expect(found == NEWER or found < NEWER and sys.argv[3:], "it does not have %s" % found)


def fields(files):
    """{message: {number: (name, label, type)}} of descriptors, and {enum: {number: name}}"""
    found = {}

    def add(m, scope):
        name = scope + one(m, 1).decode()
        found[name] = {one(f, 3): (one(f, 1), one(f, 4), one(f, 5)) for f in map(message, m[2])}
        for nested in map(message, m[3]):
            add(nested, name + ".")
        for enum in map(message, m[4]):
            found[name + "." + one(enum, 1).decode()] = {one(v, 2): one(v, 1)
                                                        for v in map(message, enum[2])}

    for proto in files:
        for m in map(message, message(proto)[4]):
            add(m, "")
    return found


@case("the small schema that other tests read by says of each field what the published one says")
def _():
    path = os.path.join(WORK, "ours")
    run(tool("protoc"), "-I", HERE + "/../timeline", "--descriptor_set_out=" + path, "perfetto.proto")
    with open(published(), "rb") as f:
        theirs = fields(message(f.read())[1])
    with open(path, "rb") as f:
        ours = fields(message(f.read())[1])
    for name, own in ours.items():
        for number, field in own.items():
            if not NEW & {name, name.split(".")[0], "%s.%s" % (name, number)}:
                equal(field, theirs[name].get(number), "%s.%s" % (name, number))


# The trace processor.

QUERIES = {
    "complaints": "select name, severity, value from stats where value > 0 and severity != 'info'",
    "slices": """select s.id, s.ts, s.dur, s.category, s.name, coalesce(p.pid, tp.pid), t.tid
        from slice s join track on track.id = s.track_id
        left join process p on p.upid = extract_arg(track.dimension_arg_set_id, 'upid')
        left join thread t on t.utid = extract_arg(track.dimension_arg_set_id, 'utid')
        left join process tp on tp.upid = t.upid where track.type != 'gpu_render_stage'""",
    "left out": "select name from metadata where name glob 'cr-*-left out*'",
    "threads": "select tid, name from thread where tid != 0",
    "processes": "select pid, name from process where pid != 0",
    "arrows": "select slice_out, slice_in from flow",
    "points": """select t.name, c.ts, c.value from counter c join counter_track t
        on t.id = c.track_id""",
    "units": "select name, unit from counter_track",
    "stages": """select s.name, s.ts, s.dur, p.pid, t.name, g.name from gpu_slice s
        join process p using(upid) join track t on t.id = s.track_id
        left join gpu g on g.gpu = extract_arg(t.dimension_arg_set_id, 'gpu')""",
    "frames": """select c.id, c.parent_id, f.name from stack_profile_callsite c
        join stack_profile_frame f on f.id = c.frame_id order by c.id""",
    "stacks": """select s.category, e.callsite_id, sum(s.dur) from slice s
        join __intrinsic_track_event_callstacks e on s.id = e.slice_id group by 1, 2""",
}

_answers = {}


def answers(name):
    """{query: rows} of an exported trace. All are asked at once: to start takes a second."""
    if not _answers:
        node, folder = tool("node"), engine()
        files = [written(n, "export", "perfetto") for n in TRACES]
        reported = run(node, os.path.join(HERE, "trace_processor.mjs"), folder, *files,
                   input=json.dumps(list(QUERIES.values())).encode())
        for n, rows in zip(TRACES, json.loads(reported)):
            _answers[n] = dict(zip(QUERIES, rows))
    return _answers[name]


@case("the trace processor has nothing to complain of")
def _():
    for name in TRACES:
        equal(answers(name)["complaints"], [], name)


def chrome_file(name):
    """What was written, and the time that is 0 in it."""
    with open(written(name, "export", "chrome"), encoding="utf-8") as f:
        found = readers.fractions(f.read())
    return found, int(found["otherData"]["start, CLOCK_MONOTONIC, ns"])


def chrome(name):
    """Its events, with their absolute times."""
    found, start = chrome_file(name)
    for e in found["traceEvents"]:
        e["start"] = start + int(e["ts"] * 1000) if "ts" in e else None
    return found["traceEvents"]


def letters(text):
    """A name without what each format writes in its own way: other than printable ASCII."""
    return re.sub(r"[^ -~]+|\\x..", "?", text)


@case("its slices and points are those of Chrome's format, each of its process")
def _():
    for name in TRACES:
        events = [e for e in chrome(name) if e.get("cat") != "run"]
        want = Counter((e["start"], int(e.get("dur", 0) * 1000), e["cat"], letters(e["name"]),
                        int(e["pid"])) for e in events if e["ph"] in "Xi")
        # Readers of Chrome's drop what begins before 0, so there a slice begins with the trace.
        zero = chrome_file(name)[1]
        got = Counter((max(int(ts), zero), int(dur) - max(0, zero - int(ts)), category,
                       letters(what), int(pid))
                      for _, ts, dur, category, what, pid, _ in answers(name)["slices"]
                      if category != "run")
        equal(got, want, name + "'s slices")
        points = Counter((e["start"], int(v)) for e in events if e["ph"] == "C"
                         for v in e["args"].values())
        equal(Counter((int(ts), int(value)) for _, ts, value in answers(name)["points"]), points,
              name + "'s points")


@case("its counters have their units, and parts of them")
def _():
    if "counters/counters" not in TRACES:
        raise Skip("not of the traces that were asked for")
    units = dict(answers("counters/counters")["units"])
    equal(units, {"GPU busy": "%", "Bytes read": "bytes/s", "Package power": "W", "Package energy": "J/s"}, "units")
    power = [float(value) for what, _, value in answers("counters/counters")["points"] if what == "Package power"]
    equal(power, [20, 30, 25.5], "points of a power")


@case("its threads and processes have the names that they have there")
def _():
    for name in TRACES:
        want = {"process_name": {}, "thread_name": {}}
        for e in chrome(name):
            if e["ph"] == "M" and e["name"] in want:
                want[e["name"]][int(e.get("tid", e["pid"]))] = e["args"]["name"]
        for tid, reported in answers(name)["threads"]:
            equal(reported, want["thread_name"].get(int(tid), reported), "%s's thread %s" % (name, tid))
        want["process_name"].pop(0, None)   # the recorder's own; viewers know 0 as the idle task
        equal({int(pid): reported for pid, reported in answers(name)["processes"]}, want["process_name"],
              name + "'s processes")


@case("its arrows go from calls to what they launched, work after work, and none is lost")
def _():
    for name in TRACES:
        flows = {}
        for e in chrome(name):
            if "bind_id" in e:
                flows.setdefault(e["bind_id"], []).append((e["start"], e["cat"]))
        want = Counter()
        for members in map(sorted, flows.values()):
            want.update((*a, *b) for a, b in zip(members, members[1:]))
        at = {number: (int(ts), of) for number, ts, _, of, *_ in answers(name)["slices"]}
        got = Counter((*at[begins], *at[ends]) for begins, ends in answers(name)["arrows"])
        equal(got, want, name + "'s arrows")


@case("its GPU slices have each work once, on its queue and GPU, with its process")
def _():
    for name in TRACES:
        rows = answers(name)["stages"]
        want = Counter((ts, dur, letters(what), pid) for _, ts, dur, category, what, pid, _ in
                       answers(name)["slices"] if category == "work")
        equal(Counter((ts, dur, letters(what), pid) for what, ts, dur, pid, _, _ in rows), want, name)
        expect(all(re.match("(stream|queue) [1-9]", r[4]) and r[5] for r in rows), rows)


def pprof(name, column, known):
    """{stack: weight}, without the process at its root, which here is that of the track, and up to
    what is `known`: a graph that is one work has its kernels there."""
    found, path = Counter(), written(name, "export", "pprof", "--depth", "kernel")
    for stack, n in readers.Pprof(path).stacks().get(column, {}).items():
        stack = tuple(map(letters, stack[1:]))
        shorter = next((stack[:i] for i in range(len(stack), 0, -1) if stack[:i] in known), stack)
        found[shorter] += int(n)
    return found


@case("its call stacks of works and samples, with their weights, are those of pprof's profile")
def _():
    for name in TRACES:
        stacks, works, runs = {}, Counter(), set()
        for site, caller, frame in answers(name)["frames"]:
            stacks[site] = (*stacks.get(caller, ()), letters(frame))
        for category, site, dur in answers(name)["stacks"]:
            if category == "work":
                works[stacks[site]] += int(dur)
            elif category == "run":
                runs.add(stacks[site])
        want = pprof(name, "gpu", works)
        if sum(works.values()) != sum(want.values()):
            expect(answers(name)["left out"], name)
            want = want & works
        equal(works, want, name + "'s works")
        samples = readers.perfetto(written(name, "export", "perfetto"))["cpu"]
        samples = Counter({tuple(map(letters, stack)): n for stack, n in samples.items()})
        equal(samples, pprof(name, "cpu", samples), name + "'s samples")
        equal(runs, set(samples), name + "'s runs")


run_cases()
