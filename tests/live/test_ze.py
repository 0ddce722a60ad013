#!/usr/bin/env python3
"""Level Zero: Intel's own driver in its mode without hardware, which compiles and launches but
completes no event; and a mock of a driver under the real loader, whose work takes exactly as long as
is asked for."""

import os
import subprocess

from cuda_work import machine_with
from intel_driver import NO_HARDWARE, clean, compiled, spirv, vendors
from machine import BUILD, SCRIPTS, need, program
from recording import aflame, bare, new_path, record
from shares import having, weight_of
from tap import Skip, case, equal, expect, note, run_cases

MOCK = os.path.join(BUILD, "tests/mock_ze/libmock_ze.so")
HZ, TICK_NS = 12500000, 80

# --- the mock


def module(*names):
    path = new_path("module")
    with open(path, "w", encoding="utf-8") as file:
        file.write(" ".join(names))
    return path


class Mocked:
    """A recording of ze_works on the mock, and the mock's own account of its work."""

    def __init__(self, mode, knobs=None, modules=None, **how):
        if not os.path.exists(MOCK):
            raise Skip("mock_ze was not built here: libze-dev is missing")
        self.log = new_path("log")
        env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK, MOCK_ZE_LOG=self.log, **(knobs or {}))
        modules = modules or (module("heavy"), module("light", "never", "refused"))
        self.run = record(program("ze_works"), mode, *modules, env=env, **how)
        plain = subprocess.run(
            [program("ze_works"), mode, *modules],
            env=dict(env, MOCK_ZE_LOG="/dev/null"),
            stdout=subprocess.PIPE,
            check=False,
        )
        if mode != "many":
            equal(self.run.stdout, plain.stdout, "the output of the program, recorded")

    def did(self):
        """[(name, start, end)] in ns of the device's clock, as the mock did it."""
        with open(self.log, encoding="utf-8") as file:
            rows = [line.split() for line in file]
        return [(n, int(s) * TICK_NS, int(e) * TICK_NS) for n, s, e in rows]

    def works(self):
        """[(name, start, end)] of the trace; those without times have None."""
        return [(w["name"], w["start"], w["end"]) for w in works(self.run)]


def works(run):
    """Pieces of device work with their kernel, descriptor and launch, in the order of the launches."""
    kernels = {(e["process"], e["fields"]["kernel"]): e["fields"] for e in run.events("kernel")}
    descriptors = {
        (e["stream"], e["fields"]["descriptor"]): e["fields"] for e in run.events("descriptor")
    }
    names = {"COPY": "[copy]", "READ": "[copy]", "WRITE": "[copy]", "HOST": "[copy]", "FILL": "[fill]"}
    found = []
    for event in run.events("gpu_work") + run.events("gpu_work_long"):
        fields = event["fields"]
        d = descriptors[event["stream"], fields["descriptor"]]
        kernel = kernels.get((event["process"], d["kernel"]))
        start = fields["start_ns"] or None
        end = fields.get("end_ns") or (start + fields["busy_ns"] if start else None)
        found.append(
            dict(
                name=kernel["name"] if kernel else names.get(d["op"], d["op"]),
                start=start,
                end=end,
                descriptor=d,
                node=fields["node"],
                correlation=fields["correlation"],
                process=event["process"],
            )
        )
    return sorted(found, key=lambda w: (w["process"], w["correlation"], w["node"]))


def calls(run, name):
    functions = {
        (e["process"], e["fields"]["function"]): e["fields"]["name"] for e in run.events("function")
    }
    return [
        e
        for e in run.events("call") + run.events("call_long")
        if functions[e["process"], e["fields"]["function"]] == name
    ]


def lost(run):
    return {f["reason"]: f["count"] for f in run.fields("lost")}


def same_times(mocked, message="times"):
    equal(sorted(mocked.works()), sorted(mocked.did()), message)
    equal(lost(mocked.run), {}, "losses")


PATHS = {
    ("hot_path", "launch", "zeCommandListAppendLaunchKernel"): (3, 3 * 8000),
    ("cold_path", "launch", "zeCommandListAppendLaunchKernel"): (1, 80000),
    ("run_list", "zeCommandQueueExecuteCommandLists"): (8, 6 * 16000 + 2 * 4000),
    # What the list was made of lies on what executed it.
    ("run_list", "zeCommandQueueExecuteCommandLists", "fill_list", "launch"): (
        8,
        6 * 16000 + 2 * 4000,
    ),
}


def check_paths(run, timed):
    for weight in ("count", "time") if timed else ("count",):
        stacks = [
            ([bare(f) for f in frames], w) for frames, w in run.stacks(view="gpu", weight=weight)
        ]
        for path, (count, ns) in PATHS.items():
            got = weight_of(stacks, having("main", "mode_paths", *path, "heavy"))
            equal(got, count if weight == "count" else ns, "%s of %s" % (weight, ";".join(path)))
        for frames, _ in stacks:
            expect(not [f for f in frames if "libze_" in f or "aflame" in f], frames)
        total = sum(w for _, w in stacks)
        equal(total, 12 if weight == "count" else 3 * 8000 + 80000 + 104000, "all " + weight)


@case("mock: device time is under the call paths that asked for it, to the nanosecond")
def _():
    mocked = Mocked("paths")
    same_times(mocked)
    check_paths(mocked.run, timed=True)
    for work in works(mocked.run):
        d = work["descriptor"]
        equal((d["op"], d["local_x"], d["local_y"], d["local_z"]), ("KERNEL", 64, 2, 1), "local size")
        equal((d["global_x"], d["global_y"], d["global_z"]), (1024, 6, 1), "global size")


@case("mock: stamps of few bits that come round are the right times")
def _():
    # 22 bits of 80 ns come round every 0.3 s.
    mocked = Mocked("spread", knobs={"MOCK_ZE_BITS": 22, "MOCK_ZE_FIRST": (1 << 22) - 20000})
    same_times(mocked)
    ends = [end // TICK_NS >> 22 for _, _, end in mocked.did()]
    expect(len(set(ends)) > 1, "the timer did not come round: %s" % ends)


@case("mock: the device's own time comes round, and the trace's goes on")
def _():
    mocked = Mocked("spread", knobs={"MOCK_ZE_FIRST": (1 << 36) - 2000000})
    same_times(mocked)
    expect({end // TICK_NS >> 36 for _, _, end in mocked.did()} >= {1}, mocked.did())
    pairs = [f["foreign"] for f in mocked.run.fields("clock") if f["clock"] == "DEVICE"]
    expect(len(pairs) > 1 and pairs == sorted(pairs), "pairs: %s" % pairs)


@case("mock: devices with their PCI address, UUID and clock")
def _():
    run = Mocked("paths").run
    notes = {}
    for fields in run.fields("device_note"):
        notes.setdefault(fields["device"], {})[fields["key"]] = fields["value"]
    devices = {f["device"]: f for f in run.fields("device")}
    equal([d["name"] for d in devices.values()], ["mock GPU 0", "mock GPU 1"], "devices")
    equal({d["api"] for d in devices.values()}, {"LEVEL_ZERO"}, "API")
    equal([n["pci"] for n in notes.values()], ["0000:03:00.0", "0000:04:00.0"], "PCI")
    equal(notes[1]["uuid"], "10101010-1010-1010-1010-101010101010", "UUID")
    used = {f["device"] for f in run.fields("queue")}
    pairs = [f for f in run.fields("clock") if f["clock"] == "DEVICE"]
    equal({f["device"] for f in pairs}, used, "devices with a clock: those in use")
    expect(len(pairs) >= 2, pairs)
    for a, b in zip(pairs, pairs[1:]):
        apart = (b["foreign"] - a["foreign"]) - (b["mono_ns"] - a["mono_ns"])
        wide = a["uncertainty_ns"] + b["uncertainty_ns"] + 2 * TICK_NS
        expect(abs(apart) <= wide, "pairs are %d ns apart, within %d" % (apart, wide))


@case("mock: copies and fills with their bytes and directions; the program's data are its own")
def _():
    mocked = Mocked("copies")
    equal(mocked.run.truth["sum"], 128 * 7 + 128 * 1, "the bytes that came back")
    same_times(mocked)
    ops = [(w["descriptor"]["op"], w["descriptor"]["bytes"]) for w in works(mocked.run)]
    equal(ops, [("WRITE", 256), ("BARRIER", 0), ("FILL", 128), ("READ", 256)], "work")
    write, barrier, fill, _ = works(mocked.run)
    expect(write["end"] <= barrier["start"] <= barrier["end"] <= fill["start"], (write, barrier, fill))
    for name in ("Barrier", "WaitOnEvents", "SignalEvent"):
        expect(calls(mocked.run, "zeCommandListAppend" + name), "no call of " + name)
    memory = [(f["category"], f["memory"], f["bytes"]) for f in mocked.run.fields("memory")]
    equal(memory, [("ALLOC", "DEVICE", 256), ("FREE", "DEVICE", 0)], "memory")


@case("mock: the program's own events give the times, however it resets them")
def _():
    mocked = Mocked("events")
    same_times(mocked)
    equal(len(mocked.did()), 5, "pieces of work")


@case("mock: a list that runs again before it has completed: the last run has its times")
def _():
    mocked = Mocked("pipelined")
    did, got = mocked.did(), mocked.works()
    equal(len(got), len(did), "pieces of work")
    equal(sorted(w for w in got if w[1]), sorted(did[4:]), "times of the last run, and of one after")
    equal([w for w in got if not w[1]], [("heavy", None, None)] * 4, "the others")
    equal(sum(f["count"] for f in mocked.run.fields("lost")), 4, "losses")


@case("mock: a module is unloaded, and another one's code comes to its address")
def _():
    run = Mocked("reload").run
    expect(run.truth["heavy"] == run.truth["light"] != 0, run.truth)
    codes = {f["code"]: f["name"] for f in run.fields("code")}
    placed = [
        (codes[f["code"]], int(f["address"], 16), f["size"]) for f in run.fields("code_placed")
    ]
    at = int(run.truth["heavy"])
    equal(placed, [("heavy", at, 320), ("heavy", at, 0), ("light", at, 320), ("light", at, 0)], "code")
    check_objects(run)


def check_objects(run):
    """Every program's binary is in objects/, an ELF file with the symbol that CODE names."""
    programs = {f["program"]: f for f in run.fields("program")}
    expect(programs, "no programs")
    for code in run.fields("code"):
        object_ = programs[code["program"]]
        path = os.path.join(run.path, "objects", object_["object"])
        equal(os.path.getsize(path), object_["size"], "size of the object")
        done = subprocess.run(
            ["readelf", "-sW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        rows = [line.split() for line in done.stdout.decode().splitlines()]
        names = {row[0]: row[-1] for row in rows if len(row) >= 8}
        equal(names.get("%d:" % code["symbol"]), code["name"], "symbol %d" % code["symbol"])


@case("mock: threads with lists of their own")
def _():
    mocked = Mocked("threads")
    same_times(mocked)
    equal(len(mocked.did()), 200, "pieces of work")
    equal(len({e["tid"] for e in calls(mocked.run, "zeCommandListAppendLaunchKernel")}), 4, "threads")


@case("mock: threads that make and destroy everything over and over lose nothing")
def _():
    mocked = Mocked("churn")
    same_times(mocked)
    equal(len(mocked.did()), 4 * 50 * (11 + 4), "pieces of work")
    placed = [f["size"] for f in mocked.run.fields("code_placed")]
    equal((len(placed), placed.count(0)), (400, 200), "code placed and removed")


@case("mock: a child of the program writes nothing of its parent's, and its parent goes on")
def _():
    mocked = Mocked("fork")
    equal(mocked.run.truth["child"], 3, "status of the child")
    same_times(mocked)
    equal(len(mocked.did()), 2, "pieces of work")


@case("mock: another program takes the process over")
def _():
    mocked = Mocked("exec")
    done = works(mocked.run)
    equal({p: len([w for w in done if w["process"] == p]) for p in (1, 2)}, {1: 2, 2: 12}, "works")


@case("mock: zeInit twice, two contexts, one of them destroyed")
def _():
    mocked = Mocked("contexts")
    same_times(mocked)
    equal(len({f["context"] for f in mocked.run.fields("queue")}), 2, "contexts")
    equal(len(mocked.run.fields("queue")), 2, "queues")


@case("mock: work that does not end is counted, and the program ends")
def _():
    mocked = Mocked("never")
    equal(mocked.works(), [("never", None, None)] * 5, "works")
    equal(sum(f["count"] for f in mocked.run.fields("lost")), 5, "losses")
    equal({f["reason"] for f in mocked.run.fields("lost")}, {"UNFINISHED"}, "reason")
    equal(len(calls(mocked.run, "zeCommandListAppendLaunchKernel")), 5, "launches")


@case("mock: a launch that the driver refuses has its error, and no work")
def _():
    mocked = Mocked("refused")
    (call,) = calls(mocked.run, "zeCommandListAppendLaunchKernel")
    equal(call["fields"]["status"], int(mocked.run.truth["status"]), "status")
    equal(mocked.works(), [], "works")


@case("mock: a device without a clock has launches and no times")
def _():
    mocked = Mocked("contexts", knobs={"MOCK_ZE_NO_CLOCK": 1})
    equal(mocked.works(), [("heavy", None, None)] * 2, "works")
    equal(sum(f["count"] for f in mocked.run.fields("lost")), 2, "NO_STAMPS")


@case("mock: a tracer of the program's own sees what it would see")
def _():
    mocked = Mocked("tracer", knobs={"ZE_ENABLE_TRACING_LAYER": 1})
    equal(mocked.run.truth["traced"], 2, "launches that it saw")
    same_times(mocked)


@case("mock: a program that ends or is replaced at once: complete work has its times, the rest is counted")
def _():
    for mode, status in (("_exit", 3), ("quick_exit", 3), ("handler", 4), ("exec_unread", 0)):
        mocked = Mocked(mode, status=status)
        unread = mocked.works()
        equal(unread[:2], mocked.did()[:2], "times of complete work, " + mode)
        equal(unread[2:], [("heavy", None, None)], "the rest, " + mode)
        equal(lost(mocked.run), {"UNFINISHED": 1}, "losses, " + mode)


@case("mocks: devices of CUDA and of Level Zero in one process have ids of their own")
def _():
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    for first in ("cuda", "ze"):
        env = machine_with("driver", "cupti13", ZE_ENABLE_ALT_DRIVERS=MOCK)
        run = record(program("cuda_ze"), first, module("heavy"), env=env)
        names = {f["device"]: (f["api"], f["name"]) for f in run.fields("device")}
        equal(len(names), len(run.fields("device")), "ids")
        equal({api for api, _ in names.values()}, {"CUDA", "LEVEL_ZERO"}, "APIs")
        notes = {}
        for fields in run.fields("device_note"):
            notes.setdefault((fields["device"], fields["key"]), set()).add(fields["value"])
        expect(notes and {len(values) for values in notes.values()} == {1}, notes)
        queues = {(e["process"], e["fields"]["queue"]): e["fields"]["device"] for e in run.events("queue")}
        on = {w["name"]: names[queues[w["process"], w["descriptor"]["queue"]]][0] for w in works(run)}
        equal(on.pop("heavy"), "LEVEL_ZERO", "API of the device that ran it")
        equal(set(on.values()), {"CUDA"}, "API of the device of the others")
        clocks = {names[f["device"]][0] for f in run.fields("clock") if f["clock"] == "DEVICE"}
        equal(clocks, {"CUDA", "LEVEL_ZERO"}, "APIs whose devices have clocks")


# --- counters over single launches

METRICS = {
    # name: unit, flags, per
    "GpuTime": ("ns", "AMOUNT", 1),
    "Commands": ("events", "AMOUNT", 1),
    "EuActive": ("%", "0", 1000000),
    "IsAlone": ("", "0", 1),
    "Broken": ("%", "0", 1000000),
}


def measured(group, mode="measured", knobs=None):
    return Mocked(mode, knobs=knobs, options=("--launch-metrics", group))


def readings(run):
    """[({metric: value}, (call, node))] in the order of the calls."""
    names = {(e["process"], e["fields"]["counter"]): e["fields"]["name"] for e in run.events("counter")}
    found = []
    for event in run.events("work_reading"):
        values = event["fields"]["values"]
        pairs = zip(values[::2], values[1::2])
        which = (event["fields"]["call"], event["fields"]["node"])
        found.append(({names[event["process"], c]: v for c, v in pairs}, which))
    return sorted(found, key=lambda r: r[1])


def notes_of(run, key):
    return [f["value"] for f in run.fields("note") if f["key"] == key]


def check_readings(run, expected):
    """@expected: ns of the kernels that were measured. Each reading is its kernel's, and only its."""
    got = readings(run)
    wanted = [{"GpuTime": ns, "Commands": 1, "EuActive": ns, "IsAlone": 1} for ns in expected]
    equal([values for values, _ in got], wanted, "values")
    times = {(w["correlation"], w["node"]): w["end"] - w["start"] for w in works(run) if w["name"] == "heavy"}
    equal([times[call] for _, call in got], expected, "times of the works with the calls' numbers")


@case("mock: a metric group is read over each launch, and over nothing else")
def _():
    mocked = measured("LaunchBasic")
    check_readings(mocked.run, [8000, 16000, 24000, 32000] + 4 * [40000])
    same_times(mocked)
    counters = mocked.run.fields("counter")
    equal({c["name"]: (c["unit"], str(c["flags"]), c["per"]) for c in counters}, METRICS, "counters")
    equal(len(counters), len(METRICS), "each is defined once")
    equal({c["group"] for c in counters}, {"LaunchBasic"}, "group")
    equal({c["device"] for c in counters}, {1}, "device")
    equal(notes_of(mocked.run, "ze.metrics"), [], "failures")
    (text,) = notes_of(mocked.run, "ze.metrics.left_out")
    expect(text.startswith("8 values"), text)
    for name in ("Barrier", "SignalEvent"):
        equal(len(calls(mocked.run, "zeCommandListAppend" + name)), name == "SignalEvent", name)


@case("mock: one launch in three is measured, threads and contexts that come and go are, too")
def _():
    check_readings(measured("LaunchBasic@1/3").run, [8000, 32000, 40000])
    mocked = measured("LaunchBasic@1/2", mode="threads")
    equal(len(readings(mocked.run)), 100, "readings of 200 launches")
    equal({values["IsAlone"] for values, _ in readings(mocked.run)}, {1}, "commands in a query")
    same_times(mocked)
    mocked = measured("LaunchBasic", mode="churn")
    same_times(mocked)
    equal(len(readings(mocked.run)), 4 * 50 * (11 + 4), "launches")


@case("mock: a query that does not end is counted, and the program ends")
def _():
    mocked = measured("LaunchBasic", mode="never")
    equal(readings(mocked.run), [], "readings")
    equal(lost(mocked.run).keys(), {"UNFINISHED"}, "reason")
    equal(sum(f["count"] for f in mocked.run.fields("lost")), 10, "works and readings")


@case("mock: a launch that the driver refuses has no reading")
def _():
    mocked = measured("LaunchBasic", mode="refused")
    equal((readings(mocked.run), mocked.works()), ([], []), "readings, works")


def unmeasured(mocked, *words):
    """Its launches are recorded as ever; the NOTE, and the command's own words."""
    equal(readings(mocked.run), [], "readings")
    same_times(mocked)
    (text,) = notes_of(mocked.run, "ze.metrics")
    for word in words:
        expect(word in text, text)
    return text


@case("mock: what cannot be measured is noted once, and the program runs as ever")
def _():
    for call, words in (
        ("zetContextActivateMetricGroups=0x70010001", ("0x70010001", "Another program")),
        ("zetMetricQueryPoolCreate=0x78000003", ("zetMetricQueryPoolCreate", "0x78000003")),
        ("zetCommandListAppendMetricQueryBegin=0x78000003", ("QueryBegin",)),
        ("zetCommandListAppendMetricQueryEnd=0x78000003", ("QueryEnd",)),
    ):
        unmeasured(measured("LaunchBasic", knobs={"MOCK_ZE_FAIL": call}), *words)
    for call in ("zetMetricQueryGetData=0x7ffffffe", "zetMetricGroupCalculateMetricValues=0x7ffffffe"):
        mocked = measured("LaunchBasic", knobs={"MOCK_ZE_FAIL": call})
        equal(sorted(mocked.works()), sorted(mocked.did()), "times")
        equal((readings(mocked.run), lost(mocked.run).keys()), ([], {"DROPPED"}), call)
        equal(len(notes_of(mocked.run, "ze.metrics")), 1, "notes")


@case("mock: a group that is not there, or libraries that lack, keep the driver as it is")
def _():
    for group in ("TimeBasic", "None"):
        unmeasured(measured(group), "no device has an event-based metric group " + group)
    unmeasured(measured("LaunchBasic", knobs={"MOCK_ZE_NO_METRICS": 1}), "zeInit", "metrics")
    for words in (("GROUP@2/3",), ("@1/2",), ("LaunchBasic@1/0",), ("LaunchBasic@1/2x",)):
        done = aflame("record", "--launch-metrics", *words, "--", "true")
        expect(done.returncode and "--launch-metrics takes" in done.stderr, done.stderr)


@case("mock: memory does not grow with launches")
def _():
    run = Mocked("many", options=("--max-size", "1G")).run
    note("200,000 launches: %d KiB more after the first tenth" % run.truth["grown_kib"])
    expect(run.truth["grown_kib"] < 8192, run.truth)
    equal(len(run.events("gpu_work")), 200000, "works")


@case("a program that looks the loader's functions up by dlsym is recorded, and finds what it would")
def _():
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here: libze-dev is missing")
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK)
    for words in ((), ("loader",)):
        command = (program("ze_dlsym"), *words)
        run = record(*command, env=env)
        plain = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=False)
        equal(run.stdout, plain.stdout, "the output of the program, recorded")
        equal(run.truth, {"own_strdup": 1, "found": 0, "unknown": 0}, "what it found")
        equal(len(run.events("gpu_work")), len(words), "works")
    stacks = [[bare(f) for f in frames] for frames, _ in run.stacks(view="gpu", weight="count")]
    expect(stacks[0][-4:] == ["main", "launch", "zeCommandListAppendLaunchKernel", "heavy"], stacks)


@case("a tracing layer that the user turned off stays off, and the trace says so")
def _():
    mocked = Mocked("contexts", knobs={"ZE_ENABLE_TRACING_LAYER": 0})
    equal(mocked.works(), [], "works")
    notes = [f["value"] for f in mocked.run.fields("note") if f["key"] == "ze"]
    expect(notes and "ZE_ENABLE_TRACING_LAYER=0" in notes[0] and "unset it" in notes[0], notes)


@case("doctor finds the loader, the driver and the tracing layer, or names the fix")
def _():
    if not os.path.exists(MOCK):
        raise Skip("mock_ze was not built here")
    done = aflame("doctor", env=clean(ZE_ENABLE_ALT_DRIVERS=MOCK))
    expect("2 devices (mock GPU 0); traced by the loader's layer" in done.stdout, done.stdout)
    done = aflame("doctor", env=clean(ZE_ENABLE_ALT_DRIVERS=MOCK, ZE_ENABLE_TRACING_LAYER=0))
    text = " ".join(done.stdout.split())
    expect("ZE_ENABLE_TRACING_LAYER keeps the loader's tracing layer off: unset it" in text, text)
    done = aflame("doctor", env=clean(ZE_ENABLE_ALT_DRIVERS="/nonexistent.so"))
    text = " ".join(done.stdout.split())
    expect("Level Zero finds no device" in text or "no Level Zero loader" in text, text)


@case("--api cuda leaves Level Zero alone")
def _():
    run = Mocked("contexts", options=("--api", "cuda")).run
    equal(run.counts().get("gpu_work", 0), 0, "works")


# --- Intel's driver without hardware


def intel(mode, *modules, **how):
    """A recording of ze_works with Intel's driver; the program's output is checked against a bare run."""
    env = clean(**NO_HARDWARE, **how.pop("knobs", {}))
    words = (program("ze_works"), mode, *modules)
    plain = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False, timeout=120)
    if plain.returncode:
        raise Skip("Intel's Level Zero driver does not run without hardware here: %s" % plain.stdout)
    run = record(*words, env=env, **how)
    equal(run.stdout, plain.stdout, "the output of the program, recorded")
    return run


@case("Intel's driver: kernels with names and addresses, launches with their exact stacks")
def _():
    run = intel("paths", spirv("heavy"))
    check_paths(run, timed=False)
    (device,) = run.fields("device")
    expect("Intel" in device["name"] and device["vendor"] == "Intel", device)
    (kernel,) = run.fields("kernel")
    equal(kernel["name"], "heavy", "kernel")
    check_objects(run)
    (program_,) = run.fields("program")
    equal(program_["form"], "NATIVE", "form")
    made, gone = run.fields("code_placed")
    expect(int(made["address"], 16) and made["size"] and not gone["size"], (made, gone))
    equal((made["address"], made["code"]), (gone["address"], gone["code"]), "what was removed")
    reasons = set(lost(run))
    expect(reasons <= {"NO_STAMPS", "UNFINISHED"} and reasons, "losses: %s" % reasons)


@case("Intel's driver: a stack is the C stack, frame by frame")
def _():
    run = intel("paths", spirv("heavy"))
    stacks = run.stacks(view="gpu", weight="count")
    exact = [[bare(f) for f in frames] for frames, _ in stacks]
    from_main = [frames[frames.index("main") :] for frames in exact]
    top = ["main", "mode_paths"]
    append = ["launch", "zeCommandListAppendLaunchKernel"]
    execute = ["run_list", "zeCommandQueueExecuteCommandLists"]
    expect(top + ["hot_path"] + append + ["heavy"] in from_main, from_main)
    expect(top + ["cold_path"] + append + ["heavy"] in from_main, from_main)
    graphs = [f for f in from_main if f[2:4] == execute]
    equal(len(graphs), 2, "lists: before and after it was reset")
    for frames in graphs:
        expect(frames[4].startswith("[graph ") and frames[5:] == ["fill_list", "launch", "heavy"], frames)


@case("Intel's driver: a module is unloaded, and another one's code comes to its address")
def _():
    run = intel("reload", spirv("heavy"), spirv("light"))
    codes = {f["code"]: f["name"] for f in run.fields("code")}
    placed = [(codes[f["code"]], int(f["address"], 16), bool(f["size"])) for f in run.fields("code_placed")]
    heavy, light = int(run.truth["heavy"]), int(run.truth["light"])
    equal(placed, [("heavy", heavy, True), ("heavy", heavy, False), ("light", light, True), ("light", light, False)], "code")
    equal(heavy, light, "addresses: the driver used the place again")
    check_objects(run)


@case("Intel's driver: code of the older form has its place, too")
def _():
    run = intel("paths", spirv("heavy"), knobs={"ZE_SETUP_FLAGS": "-g"})
    check_paths(run, timed=False)
    (program_,) = run.fields("program")
    path = os.path.join(run.path, "objects", program_["object"])
    with open(path, "rb") as file:
        data = file.read()
    at = data.rfind(b"CTNI")  # the other one is debug information
    if at < 0:
        raise Skip("this driver makes zebins by itself")
    at += 28 + int.from_bytes(data[at + 24 : at + 28], "little")
    equal(data[at + 40 : at + 46], b"heavy\0", "the kernel's name in the object")
    made, gone = run.fields("code_placed")
    equal((made["size"], gone["size"]), (int.from_bytes(data[at + 20 : at + 24], "little"), 0), "bytes of code")
    expect(int(made["address"], 16) and made["address"] == gone["address"], (made, gone))


@case("Intel's driver: metrics that lack, or crash it, keep the program as it is")
def _():
    run = intel("paths", spirv("heavy"), options=("--launch-metrics", "ComputeBasic"))
    check_paths(run, timed=False)
    (text,) = notes_of(run, "ze.metrics")
    expect("no device has an event-based metric group ComputeBasic" in text, text)
    equal(run.counts().get("work_reading", 0), 0, "readings")
    note(text)


@case("Intel's driver: threads, a fork, two contexts, its own tracer")
def _():
    path = spirv("heavy")
    for mode, launches in (("threads", 200), ("contexts", 6), ("fork", 2), ("tracer", 2)):
        run = intel(mode, path, knobs={"ZE_ENABLE_TRACING_LAYER": "1"} if mode == "tracer" else {})
        equal(len(calls(run, "zeCommandListAppendLaunchKernel")), launches, "launches of " + mode)


# --- OpenCL


def opencl_intel(*binary):
    """A recording of cl_intel with Intel's driver; Tiger Lake, as OpenCL does not finish on pvc."""
    library = "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"
    if not os.path.exists(library):
        raise Skip("no Intel driver for OpenCL (intel-opencl-icd)")
    env = clean(**dict(NO_HARDWARE, ProductFamilyOverride="tgllp", OCL_ICD_VENDORS=vendors(library)))
    env.pop("HardwareInfoOverride")
    words = (program("cl_intel"), *binary)
    plain = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False, timeout=120)
    if plain.returncode:
        raise Skip("Intel's OpenCL driver does not run without hardware here: %s" % plain.stdout)
    run = record(*words, env=env)
    equal(run.truth["size"], float(plain.stdout.split()[5]), "size, recorded and not")
    return run


def code_until_release(run):
    """The CODE_PLACED of the only code, which is gone when the last reference to its program goes."""
    placed, gone = run.events("code_placed")
    equal(gone["fields"]["size"], 0, "size of code that is gone")
    for name in ("code", "address"):
        equal(gone["fields"][name], placed["fields"][name], name + " of code that is gone")
    expect(gone["time_ns"] >= run.truth["last_ns"], "it is gone too early")
    return placed["fields"]


@case("Intel's OpenCL: a kernel's code lies where the driver has it, with its zebin")
def _():
    source = os.path.join(SCRIPTS, "ze_kernels.cl")
    options = ("-options", "-g -DTINY", "-internal_options", "-cl-intel-allow-zebin")
    run = opencl_intel(compiled("tgllp", ".bin", "-file", source, *options))
    placed, (code,) = code_until_release(run), run.fields("code")
    equal(int(placed["address"], 16), int(run.truth["address"]), "address")
    expect(placed["address"] != "0x0", placed)
    equal((placed["code"], code["name"]), (code["code"], "tiny"), "code")
    native = [f for f in run.fields("program") if f["form"] == "NATIVE"]
    equal([f["program"] for f in native], [code["program"]], "programs with native code")
    path = os.path.join(run.path, "objects", native[0]["object"])
    done = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=False)
    (text,) = [line.split("]")[1].split() for line in done.stdout.decode().splitlines() if ".text.tiny" in line]
    equal(int(text[4], 16), placed["size"], "bytes of the code, by the object")
    expect(b".debug_line" in done.stdout, "no lines in the object")
    equal(len(run.events("launch")), 3, "launches")
    equal(len(run.events("call")), 0, "calls of Level Zero")


@case("Intel's OpenCL: code of the older form has its place, too")
def _():
    run = opencl_intel()
    placed = code_until_release(run)
    equal((int(placed["address"], 16), placed["size"]), (int(run.truth["address"]), int(run.truth["size"])), "code")


@case("OpenCL by Level Zero: work is counted once, as OpenCL's")
def _():
    need("opencl")
    leo = os.path.join(BUILD, "tests/mock_ze/libmock_leo.so")
    if not os.path.exists(leo) or not os.path.exists(MOCK):
        raise Skip("mock_leo was not built here: libze-dev or opencl-headers are missing")
    log = new_path("log")
    env = clean(ZE_ENABLE_ALT_DRIVERS=MOCK, MOCK_ZE_LOG=log, OCL_ICD_VENDORS=vendors("libpocl.so.2"))
    # The last one is called first.
    layers = "OPENCL_LAYERS=%s:%s" % (leo, os.path.join(BUILD, "src/inject/libaflame.so"))
    run = record("env", layers, program("cl_intel"), env=env)
    with open(log, encoding="utf-8") as file:
        equal([line.split()[0] for line in file], ["tiny"] * 3, "Level Zero's work below OpenCL")
    equal(len(run.events("launch")), 3, "launches of OpenCL")
    equal(len(run.events("work")) + len(run.events("work_long")), 3, "works of OpenCL")
    equal(len(run.events("gpu_work")) + len(run.events("gpu_work_long")), 0, "works of Level Zero")
    equal(calls(run, "zeCommandListAppendLaunchKernel"), [], "launches of Level Zero")
    stacks = run.stacks(view="gpu", weight="count")
    equal(sum(w for _, w in stacks), 3, "launches in all")


run_cases()
