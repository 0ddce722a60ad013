#!/usr/bin/env python3
"""Names and callers that code made at run time lacks: the remedy is that of the runtime whose code it is.

    test_runtimes.py MKTRACE AFLAME [WORDS]"""

import json
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../live"))
MKTRACE, AFLAME = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1]

from tap import case, equal, expect, run_cases

_work = tempfile.TemporaryDirectory(prefix="aflame-runtimes-")
WORK = _work.name
JIT, MAPPED = "[jit]", "/tmp/perf-101.map"
ENTRY = "Builtins_InterpreterEntryTrampoline"


class Program:
    """A program of one thread: stacks of (function, file), root first, each with its samples of 10 ms."""

    def __init__(self, exe):
        self.exe, self.strings, self.symbols, self.lines, self.paths = exe, [], {}, [], {}
        self.samples = []

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text) + 1

    def address(self, function, file):
        if (function, file) not in self.symbols:
            self.symbols[function, file] = 0x1000 * (len(self.symbols) + 1)
        return self.symbols[function, file]

    def stack(self, samples, *frames, stop="COMPLETE"):
        number = len(self.lines) + 1
        pcs = ",".join("0x%x" % self.address(*frame) for frame in reversed(frames))
        self.lines.append('   0.000000041 s1   p1   101/101      stack        stack=%d stop=%s epoch=1 pcs=[%s]\n'
                          '   0.000000041 s1   p1   101/101      callpath     callpath=%d stack=%d py_stack=0\n'
                          % (number, stop, pcs, number, number))  # fmt: skip
        self.samples += [number] * samples
        return self

    def findings(self, name):
        text = ['   0.000000000 s0   p0   100/100      note         key="cmd" value="x"\n'
                '   0.000000001 s0   p0   100/100      note         key="collector.cpu" value="perf: as asked"\n'
                '   0.000000010 s1   p1   101/101      thread       tid=101 name="main"\n'
                '   0.000000011 s1   p1   101/101      process      pid=101 ppid=100 parent=0 exe="%s" cmdline="%s"\n'
                % (self.exe, self.exe)]  # fmt: skip
        text += self.lines
        for i, number in enumerate(self.samples):
            text.append("%4d.%09d s1   p1   101/101      sample       callpath=%d flags=0 weight_ns=10000000\n"
                        % (*divmod((i + 1) * 10**7, 10**9), number))  # fmt: skip
        symbols = [(address, self.string(file), self.string(function), file) for (function, file), address in self.symbols.items()]
        for i, string in enumerate(self.strings):
            text.append('  90.000000010 s0   p0   100/100      string       string=%d text="%s"\n' % (i + 1, string))
        for address, file, function, module in symbols:
            source = {JIT: "NO_MAP", MAPPED: "JIT"}.get(module, "SYMTAB")
            text.append("  90.000000020 s0   p0   100/100      symbol       process=1 address=0x%x epoch=0 module=%d offset=0x%x "
                        "source=%s frames=[%s]\n" % (address, file, address, source, "" if module == JIT else "%d,0,0" % function))
        path = os.path.join(WORK, name)
        with open(path + ".trace", "w", encoding="utf-8") as file:
            file.writelines(text)
        subprocess.run([MKTRACE, path + ".trace", path], check=True)
        return {row["kind"]: row for row in rows_of("report", "findings", "-n", "0", path)}


def document(*words):
    done = subprocess.run([AFLAME, *words, "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def rows_of(*words):
    return document(*words)["tables"][0]["rows"]


START = ("_start", "/usr/bin/x")


@case("code without names has the option of its runtime, by its library, its process and its version")
def _():
    jvm = "/usr/lib/jvm/%s/lib/server/libjvm.so"
    for exe, library, helps in (
        ("/usr/bin/node", "/usr/bin/node", "node --perf-basic-prof"),
        ("/opt/app", "/usr/lib/libnode.so.108", "node --perf-basic-prof"),
        ("/usr/bin/java", jvm % "java-17-openjdk-amd64", "-XX:+DumpPerfMapAtExit"),
        ("/opt/server", jvm % "java-21-openjdk", "-XX:+DumpPerfMapAtExit"),
        ("/opt/server", jvm % "jdk-11.0.2", "with perf-map-agent"),
        ("/opt/server", jvm % "java-1.8.0-openjdk", "with perf-map-agent"),
        ("/opt/service", "/usr/share/dotnet/libcoreclr.so", "DOTNET_PerfMapEnabled=1"),
        ("/usr/bin/luajit", "/usr/bin/luajit", "luajit -jp"),
        ("/usr/bin/wasmtime", "/usr/bin/wasmtime", "wasmtime run --profile=perfmap"),
        ("/usr/bin/python3.11", "/usr/bin/python3.11", "NUMBA_ENABLE_PROFILING=1"),
        ("/opt/own", "/opt/own", "docs/symbols.md"),
    ):
        found = Program(exe).stack(60, START, ("run", library), ("", JIT)).findings("names")
        expect(helps in found["jit-nameless"]["helps"], "%s: %s" % (exe, found["jit-nameless"]["helps"]))
        expect("callers-nameless" not in found, "one remedy is reported once")


@case("stacks that end in code of the JVM, of LuaJIT, or of a file without unwind tables have each their remedy")
def _():
    jvm = "/usr/lib/jvm/java-17-openjdk/lib/server/libjvm.so"

    def cut(exe, *frame, library=jvm):
        made = Program(exe).stack(60, frame, ("helper", "/lib/libhelper.so"), stop="NO_RULE").stack(60, START, ("call", library))
        return made.findings("cut")["cut-stacks"]["helps"]

    equal(cut("/usr/bin/java", "", JIT), "java -XX:+PreserveFramePointer", "in the JVM's code")
    equal(cut("/opt/server", "Loop.fib", MAPPED), "java -XX:+PreserveFramePointer", "in the JVM's code, which has names")
    plain = "building it with unwind tables or -fno-omit-frame-pointer"
    equal(cut("/opt/server", "asm_routine", "/lib/libasm.so"), plain, "in a library, where libjvm.so is loaded, too")
    expect("-joff" in cut("/usr/bin/luajit", "", JIT, library="/usr/bin/luajit"), "in LuaJIT's code")
    equal(cut("/usr/bin/node", "", JIT, library="/usr/bin/node"), "", "of node nothing helps")


@case("functions whose callers have no names are counted as the check does, unless the nearest caller has one")
def _():
    entry, built = (ENTRY, "/usr/bin/node"), ("Builtins_ArraySort", "/usr/bin/node")
    found = Program("/usr/bin/node").stack(60, START, entry, built).stack(60, START, ("", JIT), built).stack(60, START).findings("callers")
    row = found["callers-nameless"]
    equal((row["time_ns"], row["helps"]), (1200 * 10**6, "node --perf-basic-prof --interpreted-frames-native-stack"), "both")
    expect("1.200 s (66.7 ± 3.5 %" in row["finding"] and row["finding"].endswith("in node"), row["finding"])
    equal(document(*shlex.split(row["check"])[1:])["total"], row["time_ns"], "the check")
    named = Program("/usr/bin/node").stack(90, START, entry, ("JS:*sorter", MAPPED), built).findings("named")
    expect("callers-nameless" not in named, "the nearest caller has a name: %s" % named)


run_cases()
