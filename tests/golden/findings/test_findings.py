#!/usr/bin/env python3
"""Findings: each has the number that another report has, which it names itself, and of each kind there
is one. Traces are those of the other golden tests and two of their own.

    test_findings.py MKTRACE AFLAME [WORDS]"""

import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from parted import parted
from tap import case, equal, expect, note, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-findings-")
WORK = _work.name
os.environ.update(XDG_CACHE_HOME=WORK, AFLAME_NVDISASM="none")
PATHS = sorted(
    path
    for kind in ("analyse", "annotate", "findings", "timeline")
    for path in glob.glob(os.path.join(HERE, "..", kind, "*.trace"))
)

# What reasons of idle time are called.
IDLE = {
    "launching": "[launching]",
    "copying": "[copying]",
    "waiting": "[waiting for the device]",
    "allocating": "[allocating]",
    "loading-code": "[loading code]",
    "calling": "[other calls]",
    "input": "[loading data]",
    "host": "[on a CPU]",
    "no-cpu": "[waiting for a CPU]",
    "blocked": "[off the CPU]",
    "on-the-way": "[launched, not started yet]",
    "queued": "[launched before]",
    "launch-unknown": "[launch not known]",
    "start": "[before the first work]",
    "end": "[after the last work]",
}
STACKS = {"imports", "python-gc", "spinning", "cut-stacks", "no-stack", "frame-pointers"}
KINDS = {"function", "below", "system", "python", "kernel", "gap", "copies", "uneven", "off-cpu"}
KINDS |= {"no-cpu-free", "not-recorded", "nameless", "jit-nameless", "no-kernel", "not-sampled", "counted-twice", "lost"}
KINDS |= {"team-waiting", "not-joined", "not-timed"} | set(IDLE) | STACKS
SEEN = set()


def run(*words):
    done = subprocess.run(
        [AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True
    )
    equal(done.returncode, 0, "exit status of %s: %s" % (" ".join(words), done.stderr))
    return done.stdout


class Trace:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-6]
        self.dir = os.path.join(WORK, self.name)
        subprocess.run([MKTRACE, parted(path, WORK), self.dir], check=True)
        self.summary = json.loads(run("report", "--json", "-n", "0", self.dir))
        self.findings = self.table("findings", self.report("findings", "-n", "0"))

    def report(self, *words):
        return json.loads(run("report", *words, "--json", self.dir))

    def table(self, name, document=None):
        """Rows by the keys of their columns."""
        for table in (document or self.summary)["tables"]:
            if table["name"] == name:
                return table["rows"]
        return []

    def sum(self, name, column, **where):
        return sum(
            row[column] or 0
            for row in self.table(name)
            if all(row[key] == value for key, value in where.items())
        )

    def checked(self, finding):
        """The document of the report that the finding names."""
        words = shlex.split(finding["check"])
        equal(words[:2] + words[-1:], ["aflame", "report", self.dir], "the command")
        return json.loads(run(*words[1:], "--json"))


def figure(trace, finding):
    """What another report says that the finding weighs."""
    kind, function = finding["kind"], finding["function"]
    if kind in IDLE or finding["view"] == "idle":
        document = trace.checked(finding)
        expect(IDLE.get(kind, "[not sampled]").strip("[]") in finding["check"], finding["check"])
        return document["total"]
    if kind in STACKS:
        return trace.checked(finding)["total"]
    if kind in ("nameless", "jit-nameless"):
        return trace.checked(finding)["self"]
    if kind == "function":
        return trace.checked(finding)["self"]
    if kind == "below":
        return trace.checked(finding)["total"]
    if kind == "kernel":
        return trace.sum("kernels", "time_ns", kernel=function)
    if kind == "system":
        equal(trace.checked(finding)["total"], trace.sum("processes", "sampled_kernel_ns"), "the kernel's time")
        return trace.checked(finding)["total"]
    if kind == "python":
        own = sum(row["self"] for row in trace.table("cpu_top") if row["kind"] == "python")
        equal(trace.checked(finding)["self"], own, "what the command says of it")
        return own
    if kind == "gap":
        device = [row for row in trace.table("gaps") if row["device"] in finding["finding"]]
        return max(row["length_ns"] for row in device)
    if kind == "copies":
        return max(row["copies_ns"] for row in trace.table("idle")
                   if row["device"] in finding["finding"])
    if kind == "uneven":
        busy = [row["busy_ns"] for row in trace.table("devices")]
        return max(busy) - min(busy)
    if kind == "off-cpu":
        return trace.table("threads")[0]["blocked_ns"]
    if kind == "not-sampled":
        return sum(
            (row["used_user_ns"] or 0) + (row["used_system_ns"] or 0)
            - row["sampled_user_ns"] - row["sampled_system_ns"]
            for row in trace.table("coverage") if finding["finding"].startswith(row["label"])
        )  # fmt: skip
    if kind == "counted-twice":
        rows = [row for row in trace.table("coverage", trace.checked(finding)) if row["is_over"] == "yes"]
        return sum(row["sampled_user_ns"] - row["used_user_ns"] for row in rows)
    if kind == "no-cpu-free":
        return max(row["runnable_ns"] for row in trace.table("threads"))
    if kind == "not-recorded":
        return finding["time_ns"]  # of the run, which has no row: below
    if kind == "lost":
        text, most = finding["finding"].split(", most: ")
        count = trace.sum("lost", "count", what=most)
        expect(count and text.startswith("%d events were lost" % count), finding["finding"])
        return None
    if kind == "not-joined":
        rows = trace.table("coverage_devices", trace.checked(finding))
        calls = sum(row["launches"] for row in rows)
        joined = sum(row["joined"] for row in rows)
        equal(finding["share"], (calls - joined) * 10000 // calls / 100, finding["finding"])
        return None
    if kind == "not-timed":
        rows = trace.table("coverage_devices", trace.checked(finding))
        (row,) = [row for row in rows if row["device"] and row["device"] in finding["finding"]]
        equal(finding["share"], row["without_times"] * 10000 // row["works"] / 100, finding["finding"])
        return None
    if kind == "no-kernel":
        rows = trace.table("samples")
        none = sum(row["samples"] * row["no_kernel_percent"] / 100 for row in rows)
        share = none / trace.sum("samples", "samples") * 100
        expect(abs(finding["share"] - share) <= 0.01, "%s is %.2f" % (finding["finding"], share))
        return None
    raise AssertionError("a kind that is not known here: " + kind)


def check(trace):
    rows = trace.findings
    equal(trace.table("findings"), rows, "the findings of the summary")
    equal([row["rank"] for row in rows], list(range(1, len(rows) + 1)), "ranks")
    for row in rows:
        SEEN.add(row["kind"])
        equal(row["time_ns"], figure(trace, row), "%s: %s" % (row["kind"], row["finding"]))
        expect(row["share"] >= 1, "%s is less than 1 %%" % row["finding"])
        expect(row["hash"].startswith("#"), "the address %s" % row["hash"])
        expect(bool(row["function"]) == bool(row["id"]), "an id for what has a name")
        expect("\n" not in row["finding"] and row["finding"], "one sentence")


def traced(name, parts, module="/usr/bin/app", function="build"):
    """A program that is @parts samples of 10 ms in memcpy of libc, called by build, and once in other."""
    path = os.path.join(WORK, name + ".trace")
    lines = [
        '   0.000000000 s0   p0   100/100      note         key="cmd" value="app"',
        '   0.000000001 s0   p0   100/100      note         key="collector.cpu" value="perf: as asked"',
        '   0.000000010 s1   p1   101/101      thread       tid=101 name="app"',
        '   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="/usr/bin/app" cmdline="app"',
        '   0.000000041 s1   p1   101/101      stack        stack=1 stop=COMPLETE epoch=1 pcs=[0x9000,0x2000,0x1000]',
        '   0.000000041 s1   p1   101/101      callpath     callpath=1 stack=1 py_stack=0',
        '   0.000000042 s1   p1   101/101      stack        stack=2 stop=COMPLETE epoch=1 pcs=[0x3000,0x1000]',
        '   0.000000042 s1   p1   101/101      callpath     callpath=2 stack=2 py_stack=0',
    ]
    for i in range(parts + 1):
        lines.append('   %d.%09d s1   p1   101/101      sample       callpath=%d flags=0 weight_ns=9999936'
                     % ((i + 1) // 100, (i + 1) % 100 * 10**7, 2 if i == parts else 1))
    for i, text in enumerate(["/usr/bin/app", "main", function, "other", "/lib/x86_64-linux-gnu/libc.so.6", "memcpy", module]):
        lines.append('  90.000000010 s0   p0   100/100      string       string=%d text="%s"' % (i + 1, text))
    for address, of, name in ((0x1000, 1, 2), (0x2000, 7, 3), (0x3000, 1, 4), (0x9000, 5, 6)):
        lines.append('  90.000000020 s0   p0   100/100      symbol       process=1 address=0x%x epoch=0 module=%d '
                     'offset=0x%x source=SYMTAB frames=[%d,0,0]' % (address, of, address, name))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    made = path[:-6]
    subprocess.run([MKTRACE, path, made], check=True)
    return made


def found(made, *words):
    return json.loads(run("report", "findings", "--json", *words, made))["tables"][0]


for path in PATHS:

    @case("%s: each finding weighs what the report that it names says" % os.path.basename(path)[:-6])
    def _(path=path):
        check(Trace(path))


@case("threads of OpenMP that wait for each other are one finding, not a function")
def _():
    made = traced("team", 80, "/usr/lib/libgomp.so.1", "gomp_team_barrier_wait_end")
    rows = {row["kind"]: row for row in found(made)["rows"]}
    SEEN.add("team-waiting")
    row = rows["team-waiting"]
    equal((row["samples"], row["time_ns"]), (80, 80 * 9999936), "its samples and time")
    expect("OMP_WAIT_POLICY=passive" in row["helps"], row["helps"])
    document = json.loads(run(*shlex.split(row["check"])[1:], "--json"))
    equal(document["total"], row["time_ns"], "what its check says")


@case("the traces have findings of every kind")
def _():
    if len(sys.argv) == 2:
        equal(sorted(SEEN ^ KINDS), [], "kinds of one side only")


@case("what no sample is of comes first, with its cause, and functions are withheld")
def _():
    trace = Trace(os.path.join(HERE, "unsampled.trace"))
    first = trace.findings[0]
    equal(first["kind"], "not-sampled", "the first")
    equal(first["time_ns"], 2400000000, "what is missing of it")
    expect("[not recorded, started by make [101]]" in first["finding"], first["finding"])
    expect("it is statically linked" in first["finding"], first["finding"])
    expect("withheld for that: function parse" in first["finding"], first["finding"])
    expect("function" not in [f["kind"] for f in trace.findings], "a share of a part")
    used = trace.sum("coverage", "used_user_ns") + trace.sum("coverage", "used_system_ns")
    equal(used, 3510000000, "all of them together: what wait4 says")


@case("of two processes of one name the one that is short of samples is reported, and its shares withheld")
def _():
    trace = Trace(os.path.join(HERE, "sharedname.trace"))
    (first,) = [f for f in trace.findings if f["kind"] == "not-sampled"]
    equal(first["rank"], 1, "its place")
    expect(first["finding"].startswith("python [103] used 5.000 s"), first["finding"])
    expect(first["finding"].endswith("withheld for that: function parse"), first["finding"])
    found = [f["function"] for f in trace.findings if f["kind"] == "function"]
    equal(found, ["wait_for", "learn"], "the functions of those that are not short")


OVER = "more was sampled than used: counted twice"


@case("what was sampled twice comes first, though kernel time that was not sampled hides it")
def _():
    trace = Trace(os.path.join(HERE, "doubled.trace"))
    first = trace.findings[0]
    equal((first["kind"], first["time_ns"]), ("counted-twice", 1840000000), "the first")
    expect(first["finding"].startswith("java [101] used 1.860 s of CPU time in user mode, and samples stand for "
                                       "3.700 s (198.9 %): " + OVER), first["finding"])
    expect("withheld for that: function parse" in first["finding"], first["finding"])
    expect("function" not in [f["kind"] for f in trace.findings], "a share of what was counted twice")
    equal({row["name"]: (row["cause"], row["is_over"], row["is_short"]) for row in trace.table("coverage")},
          {"java": (OVER, "yes", "no"), "cc": ("", "no", "no")}, "by process")
    expect("2.860 s of CPU time in user mode was used, and samples stand for 4.700 s: %s (aflame report coverage)" % OVER in run("report", "top", trace.dir), "the top")
    expect(OVER in run("report", "coverage", trace.dir), "coverage")


@case("among much that is right only the shares of what was sampled twice are withheld")
def _():
    trace = Trace(os.path.join(HERE, "onedoubled.trace"))
    first = trace.findings[0]
    equal(first["kind"], "counted-twice", "the first")
    expect(first["finding"].endswith("withheld for that: function parse"), first["finding"])
    equal([f["function"] for f in trace.findings if f["kind"] == "function"], ["compile"], "the functions")
    expect(OVER not in run("report", "top", trace.dir), "the top")


def changed(name, old, new, trace="doubled"):
    """The trace @trace, with something else in it."""
    with open(os.path.join(HERE, trace + ".trace"), encoding="utf-8") as file:
        text = file.read()
    equal(text.count(old), 1, old)
    path = os.path.join(WORK, name + ".trace")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))
    return Trace(path)


@case("what the machine's host took is not taken for what was sampled twice, nor a tenth, nor a killed process's")
def _():
    sampled, note_at = "weight_ns=3700000000", "   0.000000010 s1 "
    stolen = '   0.000000003 s0   p0   100/100      note         key="stolen.permille" value="100"\n'
    twice = changed("more", sampled, "weight_ns=2200000000")  # 118 %
    equal(twice.findings[0]["kind"], "counted-twice", "118 %")
    for name, old, new in (("tenth", sampled, "weight_ns=2040000000"),
                           ("killed", "max_rss_bytes=1 source=SELF\n   4.000000001", "max_rss_bytes=1 source=LAST_SEEN\n   4.000000001")):
        found = [f["kind"] for f in changed(name, old, new).findings]
        expect("counted-twice" not in found, "%s: %s" % (name, found))
    for weight, want in ((2200000000, False), (3700000000, True)):
        path = os.path.join(WORK, "stolen.trace")
        with open(os.path.join(HERE, "doubled.trace"), encoding="utf-8") as file:
            text = file.read().replace(sampled, "weight_ns=%d" % weight).replace(note_at, stolen + note_at)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        trace = Trace(path)
        equal("counted-twice" in [f["kind"] for f in trace.findings], want, "of %d ns, a tenth taken by the host" % weight)
        subprocess.run(["rm", "-r", trace.dir], check=True)


@case("launches without work, and work without times, are reported by device")
def _():
    trace = Trace(os.path.join(HERE, "notjoined.trace"))
    timed, joined = trace.findings[:2]
    equal([timed["kind"], joined["kind"]], ["not-timed", "not-joined"], "the first two")
    expect("10 of 10 pieces of work of two [101] on NVIDIA H200 #2" in timed["finding"], timed["finding"])
    expect("5 of 10 launches of two [101] have no device work" in joined["finding"], joined["finding"])
    expect("with work: 4 on NVIDIA H200 #1, 1 on NVIDIA H200 #2" in joined["finding"], joined["finding"])
    expect("dropped: 5 records; withheld for that: " in joined["finding"], joined["finding"])
    rows = trace.table("coverage_devices")
    equal([(row["device"], row["launches"], row["joined"], row["works"], row["without_times"]) for row in rows],
          [("", 5, 0, 0, 0), ("NVIDIA H200 #1", 4, 4, 4, 0), ("NVIDIA H200 #2", 1, 1, 10, 10)], "by device")


def reported(*words):
    """(standard output, standard error)"""
    done = subprocess.run([AFLAME, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.stdout, done.stderr


CPU_WARNING = ("28.5 % of 3.510 s CPU time was sampled: it is statically linked: no library can be loaded into it "
               "(aflame report coverage)")
DEVICE_WARNING = ("5 of 10 launches have no device work in the trace; 10 of 14 pieces of device work have no times "
                  "(aflame report coverage)")  # fmt: skip


@case("whatever shows shares says first what they are shares of, in one sentence")
def _():
    for name, view, warning in (("unsampled", "cpu", CPU_WARNING), ("notjoined", "gpu", DEVICE_WARNING)):
        trace = Trace(os.path.join(HERE, name + ".trace"))
        for words in (["top"], ["top", "--view", view], ["top", "--view", view, "--sort", "total"],
                      ["top", "--view", view, "--by", "process"]):
            lines = reported("report", *words, trace.dir)[0].splitlines()
            equal(lines[1], "  ! " + warning, "above the table of %s" % words)
            equal(trace.report(*words)["tables"][0]["warning"], warning, "JSON of %s" % words)
        for words in (["report", "tree"], ["report", "tree", "--json"], ["flame", "--view", view]):
            expect(warning in reported(*words, trace.dir)[1], "standard error of %s" % words)
        summary = reported("report", trace.dir)[0]
        expect("  ! " + warning in summary, summary)


@case("of views and weights that do not hang on what is missing nothing is reported")
def _():
    unsampled = Trace(os.path.join(HERE, "unsampled.trace")).dir
    joined = Trace(os.path.join(HERE, "notjoined.trace")).dir
    python = Trace(os.path.join(HERE, "python.trace")).dir
    for words in (["report", "top", python], ["report", "tree", python], ["flame", python],
                  ["report", "tree", "--view", "idle", unsampled], ["report", "tree", "--view", "cpu", joined],
                  ["flame", "--view", "cpu", "-w", "off-cpu", python]):
        for text in reported(*words):
            expect("report coverage" not in text, "%s: %s" % (words, text))


@case("where nothing was sampled, that is why there is nothing to show")
def _():
    path = os.path.join(WORK, "nothing.trace")
    with open(os.path.join(HERE, "unsampled.trace"), encoding="utf-8") as whole:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line for line in whole if " sample  " not in line)
    subprocess.run([MKTRACE, path, path + ".data"], check=True)
    text = reported("report", "top", path + ".data")[1]
    expect("0.0 % of 3.510 s CPU time was sampled" in text, text)


@case("the python trace: what was written into it is found, the most time first")
def _():
    trace = Trace(os.path.join(HERE, "python.trace"))
    ms = [(row["kind"], row["time_ns"] and row["time_ns"] / 1e6) for row in trace.findings]
    equal(
        ms,
        [
            ("below", 600),
            ("function", 280),
            ("off-cpu", 200),
            ("function", 160),
            ("imports", 150),
            ("python", 150),
            ("system", 110),
            ("spinning", 80),
            ("python-gc", 60),
            ("no-cpu-free", 40),
            ("nameless", 160),
            ("cut-stacks", 70),
            ("lost", None),
        ],
        "kinds with their milliseconds",
    )


@case("stalls of a kernel whose name several objects have are not those of all of them")
def _():
    walk = os.path.join(HERE, "../annotate/walk.trace")
    with open(walk, encoding="utf-8") as file:
        text = file.read()
    for name, was, now, sentence in (
        ("apart", "", "", "of its samples: math pipe"),
        ("alike", 'symbol=0 crc=0xbeef name="_Z5plainIdEvPT_"', 'symbol=7 crc=0xbeef name="_Z5plainIfEvPT_"',
         "of the samples of that with most time of 2 kernels of this name: math pipe"),
    ):
        path = os.path.join(WORK, "plain_%s.trace" % name)
        changed_text = text.replace(was, now) if was else text
        if was:
            changed_text = changed_text.replace('kernel=3 program=0 name="_Z5plainIdEvPT_"', 'kernel=3 program=0 name="_Z5plainIfEvPT_"')
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed_text)
        rows = [row["finding"] for row in Trace(path).findings if row["kind"] == "kernel" and "plain" in row["finding"]]
        expect(rows and sentence in rows[0], rows)


@case("events that are lost for any reason are a finding; time, bytes and what was asked for are none")
def _():
    for reason, lost in (("TOO_LARGE", True), ("DEBUGGER", True), ("FORBIDDEN", True), ("MAPPINGS", True),
                         ("PAUSED", False), ("OLDEST", False), ("DAMAGED", False)):
        trace = changed("lost_" + reason, "reason=RING_FULL count=7", "reason=%s count=7" % reason, "python")
        rows = [row for row in trace.findings if row["kind"] == "lost"]
        equal(bool(rows), lost, reason)
        if rows:
            figure(trace, rows[0])


@case("names and callers that are missing are counted, with the option that gives them")
def _():
    trace = Trace(os.path.join(HERE, "names.trace"))
    found = {row["kind"]: row for row in trace.findings}
    equal(
        {kind: found[kind]["time_ns"] / 1e6 for kind in ("jit-nameless", "nameless", "frame-pointers")},
        {"jit-nameless": 300, "nameless": 200, "frame-pointers": 500},
        "milliseconds",
    )
    expect("in node" in found["jit-nameless"]["finding"], found["jit-nameless"]["finding"])
    equal(found["jit-nameless"]["helps"], "node --perf-basic-prof", "what helps")


@case("fewer than 50 samples are no finding, and the note says how many were left out")
def _():
    few = found(traced("few", 49))
    equal((few["rows"], few["note"].split(",")[0]), ([], "nothing stands out; 2 more are left out"), "of 49")
    many = found(traced("many", 50))
    equal([row["samples"] for row in many["rows"]], [50, 50], "of 50")
    equal(many["note"], None, "nothing is left out")


@case("a share has the standard error of its samples")
def _():
    row = found(traced("error", 99))["rows"][0]
    equal(row["samples"], 99, "samples")
    expect("(99.0 ± 1.0 % of" in row["finding"], row["finding"])  # sqrt(99 (1 - 0.99)) of 100


@case("a function of the C library comes with its caller in the program; aflame's own code is not the program's")
def _():
    rows = {row["kind"]: row for row in found(traced("libc", 80))["rows"]}
    equal((rows["function"]["function"], rows["below"]["function"]), ("memcpy", "build"), "whom they are about")
    expect(rows["function"]["finding"].endswith("; 799.995 ms of that below build"), rows["function"]["finding"])
    rows = {row["kind"]: row for row in found(traced("ours", 80, "/opt/lib/aflame/libaflame.so", "af_thread_callpath"))["rows"]}
    expect(rows["function"]["finding"].endswith("below main") or "below" not in rows["function"]["finding"], rows["function"]["finding"])
    expect("below" not in rows, "%s is not the program's" % rows.get("below"))


@case("a check can be typed as it is printed, in one line, with the trace's name as a word of a shell")
def _():
    made = traced("it's a trace", 80)
    lines = [line.strip() for line in run("report", "findings", made).splitlines()]
    checks = [line[len("check: "):] for line in lines if line.startswith("check: ")]
    equal(len(checks), 2, "checks")
    env = dict(os.environ, PATH=os.path.dirname(AFLAME) + ":" + os.environ["PATH"])
    for check, row in zip(checks, found(made)["rows"]):
        done = subprocess.run(["sh", "-c", check], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, universal_newlines=True)
        equal((done.returncode, done.stderr), (0, ""), check)
        number = re.search(r"took ([\d.]+ m?s)", row["finding"])[1]
        expect(number in done.stdout.splitlines()[0], "%s in %s" % (number, done.stdout.splitlines()[0]))
    here = os.path.join(WORK, "here")
    os.mkdir(here)
    os.rename(made, os.path.join(here, "aflame.data"))
    done = subprocess.run([AFLAME, "report", "findings"], cwd=here, stdout=subprocess.PIPE, universal_newlines=True)
    expect("aflame.data" not in done.stdout and "check: aflame report callers memcpy" in done.stdout.replace("'", ""), done.stdout)


@case("two devices: the idle time of each is its own")
def _():
    trace = Trace(os.path.join(HERE, "devices.trace"))
    equal(
        {
            row["kind"]: (row["time_ns"] / 1e6, row["finding"].split(" was idle")[0])
            for row in trace.findings
            if row["kind"] in ("loading-code", "calling", "allocating", "copying")
        },
        {
            "allocating": (28, "NVIDIA H200 #1"),
            "calling": (25, "NVIDIA H200 #1"),
            "copying": (20, "NVIDIA H200 #1"),
            "loading-code": (20, "NVIDIA H200 #2"),
        },
        "by reason",
    )


@case("a kernel and the function of its name are two")
def _():
    trace = Trace(os.path.join(HERE, "samename.trace"))
    (row,) = [row for row in trace.findings if row["kind"] == "kernel"]
    equal(shlex.split(row["check"])[-2], "gpu:matmul", "whom the check is of")
    equal(trace.checked(row)["total"], 200000000, "what the kernel took")
    equal(trace.report("callers", "host:matmul", "--view", "all")["self"], 22000000, "the function itself")
    equal(trace.report("callers", "matmul", "--view", "all")["total"], 200000000, "the heavier")
    done = subprocess.run([AFLAME, "report", "callers", "matmul", "--view", "all", trace.dir],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    equal(done.stderr, "aflame report: matmul is taken as gpu:matmul, not host:matmul\n", "which, reported")


# What modules.trace has, in milliseconds: samples by the file of machine code of the innermost frame.
HELPERS = {"liba.so!helper": 500, "libb.so!helper": 400}


@case("functions of one name in two libraries are two, everywhere")
def _():
    trace = Trace(os.path.join(HERE, "modules.trace"))
    found = {row["function"]: row for row in trace.findings if row["kind"] == "function"}
    equal({name: row["time_ns"] / 1e6 for name, row in found.items() if "helper" in name}, HELPERS, "findings")
    for name, row in found.items():
        equal(trace.checked(row)["self"], row["time_ns"], "what the command of %s says" % name)
    rows = trace.table("cpu_top", trace.report("top", "-n", "0"))
    sums = {}
    for row in rows:
        sums[row["function"]] = sums.get(row["function"], 0) + row["self"] / 1e6
    equal(sums, dict(HELPERS, **{"tool!main": 100, "work": 70}), "the table of functions")
    equal(len({row["id"] for row in rows}), len(rows), "as many ids")
    for row in rows:
        equal(trace.report("callers", row["id"])["self"], row["self"], "what the id of %s means" % row["function"])
    for words, self_ms in {
        **HELPERS, "liba.so.9!helper": 500, "/opt/x/libb.so.7!helper": 400, "host:libb.so!helper": 400,
        "inlined:liba.so!helper": 300, "helper": 500, "^helper$": 900, "app!main": 0, "tool!main": 100,
        "!work": 70, "work": 70,
    }.items():
        equal(trace.report("callers", words)["self"] / 1e6, self_ms, "what %s means" % words)
    equal([row["function"] for row in trace.table("callers", trace.report("callers", "libb.so!helper"))],
          ["b_run"], "who calls that of libb")
    done = subprocess.run([AFLAME, "report", "callers", "helper", trace.dir],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    equal(done.stderr, "aflame report: helper is taken as liba.so!helper, not libb.so!helper\n", "which, reported")
    equal(sorted(run("flame", trace.dir).splitlines()), [
        "app;main;a_run;helper 200000000", "app;main;a_run;helper_[i] 300000000",
        "app;main;b_run;helper 400000000", "app;work_[j] 30000000", "tool;main 100000000",
        "tool;work_[j] 40000000"], "folded text has names")
    expect("libb.so!helper" in run("report", "tree", trace.dir), "the tree as text")


@case("a function is one in two runs, whatever its library's version, and a renamed program's too")
def _():
    with open(os.path.join(HERE, "modules.trace")) as file:
        text = file.read()
    after = os.path.join(WORK, "later.trace")
    with open(after, "w") as file:
        file.write(text.replace("/opt/x/liba.so.1.2", "/usr/lib/liba.so.2").replace('"/usr/bin/app"', '"/tmp/app-v2"')
                   .replace("weight_ns=400000000", "weight_ns=250000000"))
    before, later = Trace(os.path.join(HERE, "modules.trace")), Trace(after)
    document = json.loads(run("diff", "--json", "--all", before.dir, later.dir))
    rows = before.table("functions", document)
    changed = {}
    for row in rows:
        was, now = changed.get(row["function"], (0, 0))
        changed[row["function"]] = (was + row["self_before"] / 1e6, now + row["self_after"] / 1e6)
    equal({name: both for name, both in changed.items() if any(both)},
          {"liba.so!helper": (500, 500), "libb.so!helper": (400, 250), "tool!main": (100, 100), "work": (70, 70)},
          "before and after")
    main = [row for row in rows if row["function"].endswith("main")]
    equal(sorted(row["function"] for row in main), ["app-v2!main", "tool!main"], "mains")
    equal([(row["total_before"] / 1e6, row["total_after"] / 1e6) for row in main if "app" in row["function"]],
          [(900, 750)], "the program's main, though it is called otherwise")


@case("devices that no name tells apart are reported together")
def _():
    trace = Trace(os.path.join(HERE, "namesakes.trace"))
    rows = [row for row in trace.findings if row["view"] == "idle"]
    equal(len(rows), 7, "findings of idle time")
    expect({"start", "end"} <= {row["kind"] for row in rows}, "the time before the first work and after the last")
    for row in rows:
        expect(row["finding"].startswith("2 devices called NVIDIA H200 of two [101] "), row["finding"])
        expect(row["share"] <= 100, row["finding"])


@case("a part of the run has findings of its own, and shares of its length")
def _():
    trace = Trace(os.path.join(HERE, "python.trace"))
    part = trace.report("findings", "--from", "150ms", "--to", "400ms")
    rows = trace.table("findings", part)
    equal([(row["kind"], row["time_ns"], row["share"]) for row in rows[:2]],
          [(kind, 250000000, 100) for kind in ("below", "function")], "the first of the part")
    expect(" --from 150000000ns --to 400000000ns " in rows[0]["check"], rows[0]["check"])
    equal(trace.checked(rows[0])["total"], rows[0]["time_ns"], "what the command of the part says")


@case("text for people is numbered, and says how many are left out")
def _():
    trace = Trace(os.path.join(HERE, "python.trace"))
    text = run("report", "findings", "-n", "2", trace.dir).splitlines()
    equal(text[0], "Findings: what stands out", "title")
    equal([line[:5] for line in text if line[3:5].strip(" .0123456789") == "" and "." in line[:6]],
          ["   1.", "   2."], "numbers")
    equal(text[-1], "  … and 11 more of 13; --limit 0 shows all", "the last line")


run_cases()
