#!/usr/bin/env python3
"""Stacks and names where code is moved, made at run time, called very deep, or has no symbols."""

import json
import os
import re
import subprocess

from machine import SAMPLERS, any_sampler, need_tool, program, pythons
from recording import bare, must, new_path, record
from shares import having, weight_of
from tap import Skip, case, equal, expect, near, note, run_cases

RATE = {"perf": 997, "timer": 997}
MAIN = ("_start", "main")


def for_samplers(sentence):
    """A case for each sampler, whose function takes the sampler."""

    def add(function):
        for sampler in SAMPLERS:
            case("%s: %s" % (sampler, sentence), tries=3)(lambda s=sampler: function(s))
        return function

    return add


def run_text(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True, check=False)
    return done.stdout


def findings(recording):
    """{kind: row} of the trace's findings, rows by the keys of their columns."""
    table = json.loads(must("report", "findings", "-n", "0", "--json", recording.path))["tables"][0]
    return {row["kind"]: row for row in table["rows"]}


@for_samplers("code that is mapped a second time, or was moved, keeps its names and callers")
def _(sampler):
    recording = record(program("moved_code"), sampler=sampler, rate=RATE[sampler])
    whole = sum(recording.truth.values())
    stacks = recording.stacks()
    total = sum(weight for _, weight in stacks)
    for name in ("spin_again", "spin_moved"):
        part = weight_of(stacks, having(*MAIN, "run_for", name)) / total
        near(part, recording.truth[name] / whole, 0.05, name)
    unknown = weight_of(stacks, lambda f: any(x.startswith("[unknown") for x in f))
    equal(unknown, 0, "time in addresses of no mapping")


@for_samplers("code that is made at run time is called that, and the finding counts it")
def _(sampler):
    recording = record(program("moved_code"), sampler=sampler, rate=RATE[sampler])
    stacks = recording.stacks()
    made = weight_of(stacks, lambda f: f[-1] == "[jit: no map]")
    part = recording.truth["made"] / sum(recording.truth.values())
    near(made / sum(weight for _, weight in stacks), part, 0.05, "what was made at run time")
    row = findings(recording).get("jit-nameless")
    expect(row, "no finding of code without a map")
    equal(row["time_ns"], made, "its time")
    expect("moved_code" in row["finding"], row["finding"])


@case("node: no address is without a mapping, with its map of names and without", tries=2)
def _():
    node = need_tool("node")
    script = new_path("sorts") + ".js"
    with open(script, "w", encoding="utf-8") as file:
        file.write(
            "const end = Date.now() + 700; let s = 0;\n"
            "while (Date.now() < end) { const a = [];\n"
            "  for (let i = 0; i < 20000; i++) a.push((i * 7919) % 10007);\n"
            "  a.sort(); s += a.map(String).join().length; }\n"
        )
    for options in ([], ["--perf-basic-prof"]):
        recording = record(node, *options, script, sampler=any_sampler(), rate=997, quiet=False)
        stacks = recording.stacks()
        total = sum(weight for _, weight in stacks)
        unknown = weight_of(stacks, lambda f: any(x.startswith("[unknown") for x in f))
        builtin = weight_of(stacks, lambda f: any(x.startswith("Builtin") for x in f))
        note("%s: %.3f in builtins" % (options, builtin / total))
        expect(unknown <= 0.01 * total, "%.3f in no mapping" % (unknown / total))
        expect(builtin > 0.2 * total, "only %.3f is below builtins" % (builtin / total))


@case("java: code of its compiler is told apart, and the finding names java's options", tries=2)
def _():
    java = need_tool("java")
    source = new_path("Busy") + ".java"
    with open(source, "w", encoding="utf-8") as file:
        file.write(
            "public class Busy { public static void main(String[] a) { long end = System.nanoTime()"
            " + 1500000000L; long s = 0; while (System.nanoTime() < end) for (int i = 0; i < 100000;"
            " i++) s = s * 31 + (s >> 7) + i; System.out.println(s); } }\n"
        )
    recording = record(java, source, sampler=any_sampler(), rate=997, quiet=False)
    stacks = recording.stacks()
    total = sum(weight for _, weight in stacks)
    made = weight_of(stacks, lambda f: f[-1] == "[jit: no map]")
    note("%.2f of the time is in code of the compiler" % (made / total))
    expect(made > 0.1 * total, "only %.2f in code made at run time" % (made / total))
    expect(weight_of(stacks, lambda f: f[-1].startswith("[unknown")) < 0.01 * total, "unknown")
    expect("PreserveFramePointer" in findings(recording)["jit-nameless"]["helps"], "")


@case("xz: the finding of functions without a name says which package has the names", tries=2)
def _():
    xz, dpkg = need_tool("xz"), need_tool("dpkg")
    library = os.path.realpath(re.search(r"=> (\S*liblzma\S*) ", run_text("ldd", xz)).group(1))
    owner = re.search(r"^([^:]+):", run_text(dpkg, "-S", library.replace("/usr/lib", "/lib", 1)) or run_text(dpkg, "-S", library))
    if not owner:
        raise Skip("no package has %s" % library)
    blob = new_path("blob")
    with open(blob, "wb") as file:
        file.write(os.urandom(4 << 20))
    recording = record(xz, "-k", "-6", blob, sampler=any_sampler(), rate=997, env=dict(os.environ, DEBUGINFOD_URLS=""))
    row = findings(recording).get("nameless")
    if not row:
        raise Skip("names of %s are installed here" % library)
    stacks = recording.stacks()
    leaves = {f[-1] for f, _ in stacks if f[-1].startswith("liblzma")}
    note("functions without a name: %s" % sorted(leaves))
    expect("apt install %s-dbgsym" % owner.group(1) in row["helps"], row["helps"])


LEFT_OUT = 1 << 62
PYTHON = """
import sys, time
sys.setrecursionlimit(5000)
def leaf():
    end = time.process_time() + 0.4
    while time.process_time() < end: sum(range(2000))
def down(n):
    if n: return %s
    leaf()
def main():
    down(int(sys.argv[1]))
main()
print("truth whole 1")
"""


def numbers(words):
    """Hexadecimal fields as numbers."""
    return [int(str(word), 0) for word in words]


def marked(entries):
    """The number of frames left out of a stack's @entries, None where it is whole."""
    found = [entry & ~LEFT_OUT for entry in entries if entry >> 62 == 1]
    expect(len(found) < 2, "two marks in one stack")
    return found[0] if found else None


def lost(recording):
    table = [t for t in json.loads(must("report", "--json", recording.path))["tables"] if t["name"] == "lost"][0]
    return {row["what"]: row["count"] for row in table["rows"]}


@for_samplers("recursion of 10,000 levels keeps both its ends, and counts what is left out")
def _(sampler):
    recording = record(program("deep"), sampler=sampler, rate=RATE[sampler])
    whole = below = 0
    for frames, weight in recording.stacks():
        kept = [bare(f) for f in frames]
        whole += weight
        marks = [f for f in kept if f.startswith("[truncated: ")]
        if having("_start", "main", "down", *marks, "down", "bottom")(kept) and len(marks) == 1:
            below += weight
    expect(below > 0.95 * whole, "%.2f of the time is main, down, a mark, down" % (below / whole))
    # Whatever is left out is down: kept and left out they are all the levels there were.
    names = {f["string"]: f["text"] for f in recording.fields("string")}
    down = {int(str(f["address"]), 0) for f in recording.fields("symbol") if f["frames"] and names[f["frames"][0]] == "down"}
    levels = set()
    for stack in recording.fields("stack"):
        pcs = numbers(stack["pcs"])
        if marked(pcs) and stack["stop"] == "COMPLETE":
            levels.add(sum(pc in down for pc in pcs) + marked(pcs))
    equal(max(levels), int(recording.truth["levels"]) + 1, "levels kept and left out")
    row = "samples per 10,000 with frames left out of the middle of a deep stack"
    expect(lost(recording).get(row, 0) > 9000, "the table of what was lost: %s" % lost(recording))


def python_recursion(python, call, levels):
    script = new_path("deep") + ".py"
    with open(script, "w", encoding="utf-8") as file:
        file.write(PYTHON % call)
    recording = record(python, script, str(levels), sampler=any_sampler(), rate=997)
    total = weight = 0
    for frames, part in recording.stacks():
        names = [f.split(" (")[0] for f in frames if ".py:" in f or "left out]" in f]
        if "leaf" not in names:
            continue
        total += part
        python_marks = [i for i, f in enumerate(names) if "Python frame" in f]
        ends = names[:3] == ["<module>", "main", "down"] and names[-2:] == ["down", "leaf"]
        weight += part if ends and len(python_marks) == 1 else 0
    expect(total and weight > 0.95 * total, "%.2f of the time has both ends" % (weight / max(total, 1)))
    code = {f["code"]: f["name"] for f in recording.fields("py_code")}
    found = set()
    for stack in recording.fields("py_stack"):
        frames = [e for e in numbers(stack["frames"]) if e != 2**64 - 1]
        if marked(frames) is None or code.get(frames[-1] >> 32) != "<module>":
            continue
        if any(code.get(e >> 32) == "leaf" for e in frames):
            found.add(sum(code.get(e >> 32) == "down" for e in frames) + marked(frames))
    equal(found, {levels + 1}, "levels kept and left out")


for _version, _python in pythons():

    @case("Python %s: 700 levels keep main and <module>" % _version, tries=2)
    def _(python=_python):
        python_recursion(python, "down(n - 1)", 700)

    @case("Python %s: levels with functions of C between them keep both ends" % _version, tries=2)
    def _(python=_python):
        python_recursion(python, "list(map(down, [n - 1]))", 650)


JAVA = """
public class Deep {
    static int[] a = new int[4096];
    static int inner(int n) { int s = 0; for (int i = 0; i < 4096; i++) { a[i] = a[i] * 31 + n; s ^= a[i]; } return s; }
    static int middle(int n) { int s = 0; for (int i = 0; i < 50; i++) s += inner(n + i); return s; }
    public static void main(String[] x) { int s = 0; for (int i = 0; i < 20000; i++) s += middle(i); System.out.println(s); }
}
"""
JAVA_OPTIONS = ("-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit")


@for_samplers("java with the options that aflame names has whole stacks, through its interpreter")
def _(sampler):
    folder = new_path("java")
    os.mkdir(folder)
    with open(os.path.join(folder, "Deep.java"), "w", encoding="utf-8") as file:
        file.write(JAVA)
    subprocess.run((need_tool("javac"), "-d", folder, os.path.join(folder, "Deep.java")), check=True)
    run = record(need_tool("java"), *JAVA_OPTIONS, "-cp", folder, "Deep", sampler=sampler, rate=RATE[sampler])
    stacks = [([bare(f) for f in frames], w) for frames, w in run.stacks()]
    mine = [(f, w) for f, w in stacks if any("Deep." in one for one in f)]
    total = sum(w for _, w in mine)
    expect(total > 0.5 * sum(w for _, w in stacks), "the program's own functions are not there")
    # main() is interpreted for ever or until it is replaced: what calls it is the JVM's, in C++.
    whole = sum(w for f, w in mine if "start_thread" in f and not any(one.startswith("[truncated") for one in f))
    note("%.2f %% in whole stacks" % (100 * whole / total))
    expect(whole > 0.95 * total, "%.1f %% in whole stacks: %s" % (100 * whole / total, max(mine, key=lambda m: m[1])))
    wrong = [f for f, _ in mine if "int Deep.inner(int)" in f and "int Deep.middle(int)" in f
             and f.index("int Deep.inner(int)") < f.index("int Deep.middle(int)")]
    expect(not wrong, "inner calls middle: %s" % wrong[:1])


run_cases()
