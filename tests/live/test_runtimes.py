#!/usr/bin/env python3
"""Real runtimes: findings name the option that gives their code names and callers, and with it those are there."""

import json
import os
import subprocess

from machine import any_sampler, need_tool, pythons
from recording import must, new_path, record
from shares import having, weight_of
from tap import Skip, case, expect, note, run_cases

RATE = 499
NODE = """
function plantedSort(a) { a.sort((x, y) => x - y); return a[5]; }
const end = Date.now() + 1500; let s = 0;
while (Date.now() < end) { const a = [];
  for (let i = 0; i < 20000; i++) a.push((i * 7919) % 10007);
  s += plantedSort(a); }
"""
JAVA = """
import java.util.*;
public class Sorts {
  static int inner(Integer[] a) { Arrays.sort(a, Comparator.reverseOrder()); return a[5]; }
  public static void main(String[] x) {
    long end = System.nanoTime() + 2000000000L, s = 0;
    while (System.nanoTime() < end) {
      Integer[] a = new Integer[100000];
      for (int i = 0; i < a.length; i++) a[i] = (i * 7919) % 100003;
      s += inner(a); } } }
"""
LUA = """
local end_, s = os.clock() + 1.5, 0
local function inner(n) local q = {} for i = 1, n do q[i] = (i * 7919) % 100003 end return q[7] end
while os.clock() < end_ do s = s + inner(100000) end
"""
# Programs that repeat one call of C functions of the interpreter.
PYTHON = {
    "parses": "import ast, argparse, inspect\nsource = inspect.getsource(argparse)\nwork = lambda: ast.parse(source)",
    "compiles": "import argparse, inspect\nsource = inspect.getsource(argparse)\nwork = lambda: compile(source, 'x', 'exec')",
    "sorts": "import random\nvalues = [random.random() for _ in range(200000)]\nwork = lambda: sorted(values)",
    "hashes": "keys = [(i, str(i)) for i in range(50000)]\nwork = lambda: set(keys)",
    "loads": "import json\ntext = json.dumps([{'a': i, 'b': [i] * 5, 'c': 'x' * 20} for i in range(20000)])\nwork = lambda: json.loads(text)",
}


def written(name, text):
    path = os.path.join(new_path("work"), name)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def recorded(*command):
    recording = record(*command, sampler=any_sampler(), rate=RATE, quiet=False)
    rows = json.loads(must("report", "findings", "-n", "0", "--json", recording.path))["tables"][0]["rows"]
    return recording, rows


def remedies(rows, *kinds):
    return [row["helps"] for row in rows if row["kind"] in kinds]


def has_name(recording, name):
    """The share of the time in stacks with a function that has @name in its name."""
    stacks = recording.stacks()
    return weight_of(stacks, lambda f: any(name in x for x in f)) / sum(weight for _, weight in stacks)


@case("node: the finding's options name JavaScript's functions, and the finding is gone with them", tries=2)
def _():
    node, script = need_tool("node"), written("sorts.js", NODE)
    recording, rows = recorded(node, script)
    helps = remedies(rows, "jit-nameless", "callers-nameless")
    expect(helps and helps[0].startswith("node --perf-basic-prof"), "without options: %s" % rows)
    expect(has_name(recording, "plantedSort") == 0, "names without options")
    recording, rows = recorded(node, "--perf-basic-prof", "--interpreted-frames-native-stack", script)
    expect(not remedies(rows, "jit-nameless", "callers-nameless"), "with both: %s" % rows)
    expect(has_name(recording, "plantedSort") > 0.5, "plantedSort() has %.2f" % has_name(recording, "plantedSort"))


@case("java: stacks end in the JVM's code without its option; with both they are whole and have names", tries=2)
def _():
    java, javac = need_tool("java"), need_tool("javac")
    folder = os.path.dirname(written("Sorts.java", JAVA))
    subprocess.run([javac, "-d", folder, os.path.join(folder, "Sorts.java")], check=True)
    _, rows = recorded(java, "-cp", folder, "Sorts")
    expect(remedies(rows, "cut-stacks") == ["java -XX:+PreserveFramePointer"], "no option: %s" % rows)
    expect("perf" in remedies(rows, "jit-nameless")[0], "no option: %s" % rows)
    _, rows = recorded(java, "-XX:+PreserveFramePointer", "-cp", folder, "Sorts")
    expect(not any("PreserveFramePointer" in helps for helps in remedies(rows, "cut-stacks")), "frame pointers: %s" % rows)
    if "DumpPerfMapAtExit" not in remedies(rows, "jit-nameless")[0]:
        raise Skip("this JDK cannot write a map: %s" % remedies(rows, "jit-nameless"))
    options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
    recording, rows = recorded(java, *options, "-cp", folder, "Sorts")
    expect(not remedies(rows, "jit-nameless", "callers-nameless"), "with a map: %s" % rows)
    expect(has_name(recording, "TimSort") > 0.3, "TimSort has %.2f" % has_name(recording, "TimSort"))


@case("java: a map that jcmd has written while the program runs names the code", tries=2)
def _():
    java, javac, jcmd = need_tool("java"), need_tool("javac"), need_tool("jcmd")
    folder = os.path.dirname(written("Sorts.java", JAVA.replace("2000000000L", "4000000000L")))
    subprocess.run([javac, "-d", folder, os.path.join(folder, "Sorts.java")], check=True)
    text = """
import subprocess, sys, time
java = subprocess.Popen([sys.argv[1], "-XX:+PreserveFramePointer", "-cp", sys.argv[3], "Sorts"])
time.sleep(1.5)
subprocess.run([sys.argv[2], str(java.pid), "Compiler.perfmap"])
sys.exit(java.wait())
"""
    recording, rows = recorded("/usr/bin/python3", written("asks.py", text), java, jcmd, folder)
    if b"successfully" not in recording.stdout:
        raise Skip("this JDK's jcmd writes no map: %s" % recording.stdout[:200])
    note("lines of the map in the trace: %d events" % len(recording.fields("perf_map")))
    expect(has_name(recording, "TimSort") > 0.1, "TimSort has %.2f; findings: %s" % (has_name(recording, "TimSort"), rows))


@case("CPython -X perf: its trampolines change nothing in the stacks of Python functions", tries=2)
def _():
    text = """
import time
def inner(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) & 0xffffffff
    return s
def outer(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        inner(20000)
outer(0.7)
"""
    newer = [path for version, path in pythons() if tuple(int(n) for n in version.split(".")[:2] if n.isdigit()) >= (3, 12)]
    works = [p for p in newer if subprocess.run([p, "-X", "perf", "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0]
    if not works:
        raise Skip("no CPython 3.12 or later, which has -X perf")
    script = written("hot.py", text)
    for python in works:
        recording, _ = recorded(python, "-X", "perf", script)
        stacks = recording.stacks()
        whole = weight_of(stacks, lambda f: [x.split(" ")[0] for x in f if "(hot.py:" in x] == ["<module>", "outer", "inner"])
        part = whole / sum(weight for _, weight in stacks)
        note("%s: %.3f" % (python, part))
        expect(part > 0.7, "%s: %.3f of the time in <module>, outer, inner: %s" % (python, part, stacks[:2]))


@case("luajit: stacks end in its code, -joff makes them whole, and no remedy is a build of it", tries=2)
def _():
    luajit, script = need_tool("luajit"), written("fills.lua", LUA)
    _, rows = recorded(luajit, script)
    helps = remedies(rows, "cut-stacks")
    expect(helps and "luajit -joff" in helps[0], "compiled: %s" % rows)
    _, rows = recorded(luajit, "-joff", script)
    expect(not remedies(rows, "cut-stacks", "jit-nameless", "callers-nameless"), "interpreted: %s" % rows)


def add(what, text):
    @case("python %s: that is not called the interpreter's loop, and the program's line is named" % what, tries=2)
    def _():
        expect(pythons(), "no Python that aflame reads")
        script = written(what + ".py", "import time\n%s\nend = time.time() + 1.5\nwhile time.time() < end:\n    work()\n" % text)
        recording, rows = recorded(pythons()[-1][1], script)
        note([row["finding"] for row in rows][:2])
        expect("python" not in {row["kind"] for row in rows}, "the loop is blamed: %s" % rows)
        expect(has_name(recording, what + ".py:") > 0.9, "the script's frames have %.2f" % has_name(recording, what + ".py:"))
        first = [row["finding"] for row in rows if row["kind"] in ("below", "function")]
        expect(not first or "(" in first[0] and ".py:" in first[0], "no line of Python in %s" % first)


for item in PYTHON.items():
    add(*item)

run_cases()
