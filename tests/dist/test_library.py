#!/usr/bin/env python3
"""libaflame-trace and libaflame-prof as their users have them: installed, found by pkg-config, with
the programs of docs/library.md and docs/prof.md.

    test_library.py BUILD SOURCE [WORDS]"""

import atexit
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../live"))

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
del sys.argv[2]

from tap import Skip, case, equal, expect, note, run_cases

AFLAME = os.path.join(BUILD, "src/cmd/aflame")
MKTRACE = os.path.join(BUILD, "tests/golden/trace/mktrace")
PORTABLE = os.path.join(BUILD, "packaging/libaflame-trace-portable.so")
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")

WORKPLACE = tempfile.mkdtemp(prefix="aflame-library-")
atexit.register(shutil.rmtree, WORKPLACE, ignore_errors=True)


def run(*argv, **how):
    how.setdefault("check", True)
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=120, **how
    )


_installed = []


def installed():
    """(prefix, folder of the library) of an installation outside of the tree."""
    if not _installed:
        there = os.path.join(WORKPLACE, "installed")
        log = os.path.join(BUILD, "meson-logs/install-log.txt")
        kept = None
        if os.path.exists(log):
            with open(log, encoding="utf-8") as f:
                kept = f.read()
        try:
            run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", there)
        finally:
            if kept is not None:
                with open(log, "w", encoding="utf-8") as f:
                    f.write(kept)
        (pc,) = glob.glob(there + "/**/pkgconfig/aflame-trace.pc", recursive=True)
        with open(pc, encoding="utf-8") as f:
            prefix = re.search(r"^prefix=(.*)$", f.read(), re.M).group(1)
        _installed.append((there + prefix, os.path.dirname(os.path.dirname(pc))))
    return _installed[0]


def flags(*words, library="aflame-trace"):
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    prefix, libdir = installed()
    env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(libdir, "pkgconfig")}
    return run("pkg-config", "--define-variable=prefix=" + prefix, *words, library, env=env).stdout.split()


def block(language, holds, page="library.md"):
    """The block of the page in this language that holds these words."""
    with open(os.path.join(SOURCE, "docs", page), encoding="utf-8") as f:
        blocks = re.findall(r"^```%s\n(.*?)^```" % language, f.read(), re.M | re.S)
    (found,) = [b for b in blocks if holds in b]
    return found


def write(name, text):
    path = os.path.join(WORKPLACE, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


_programs = {}


def program(standard):
    """The program of docs/library.md, compiled as this standard."""
    if standard not in _programs:
        plus = "++" in standard
        compiler = os.environ.get("CXX", "c++") if plus else os.environ.get("CC", "cc")
        if not shutil.which(compiler):
            raise Skip("no %s" % compiler)
        source = write("kernels" + (".cc" if plus else ".c"), block("c", "int main"))
        to = os.path.join(WORKPLACE, "kernels-" + standard)
        done = run(
            compiler, "-std=" + standard, *WARNINGS, source, "-o", to, *flags("--cflags", "--libs"), check=False, cwd=WORKPLACE
        )
        equal((done.returncode, done.stderr), (0, ""), "what the compiler says")
        _programs[standard] = to
    return _programs[standard]


def kernels(path, *args):
    return run(path, *args, check=False, env={**os.environ, "LD_LIBRARY_PATH": installed()[1]})


def trace(name):
    to = os.path.join(WORKPLACE, name)
    if not os.path.exists(to):
        run(MKTRACE, os.path.join(SOURCE, "tests/golden/analyse/%s.trace" % name), to)
    return to


def agrees(standard, name):
    printed = kernels(program(standard), trace(name))
    equal((printed.returncode, printed.stderr), (0, ""), "status and words")
    mine = [line.split("\t") for line in printed.stdout.splitlines()]
    document = json.loads(run(AFLAME, "report", "--json", "--limit", "0", trace(name)).stdout)
    (table,) = [t for t in document["tables"] if t["name"] == "kernels"]
    names = run("c++filt", *[row[2] for row in mine]).stdout.splitlines() if shutil.which("c++filt") else []
    ours = {}
    for row in table["rows"]:
        one = ours.setdefault(row["kernel"], [0, 0])
        one[0] += row["time_ns"]
        one[1] += row["calls"]
    equal(sorted((int(ns), int(calls)) for ns, calls, _ in mine), sorted(map(tuple, ours.values())), "times and calls")
    for (ns, calls, mangled), full in zip(mine, names):
        found = [k for k in ours if full == k or (full != mangled and k.split("<")[0] in full)]
        equal([ours[k] for k in found], [[int(ns), int(calls)]], "the kernel " + full)
    expect(len(mine) > 1, "only %d kernels" % len(mine))
    note("%s: %d kernels" % (name, len(mine)))


@case("the program of docs/library.md, in C11 outside of the tree, agrees with aflame report")
def _():
    agrees("c11", "cuda")
    agrees("c11", "mixed")


@case("the same in C++17")
def _():
    agrees("c++17", "cuda")


@case("in C++17 each kind has a struct and a function that reads it")
def _():
    with open(os.path.join(installed()[0], "include/aflame/event.h"), encoding="utf-8") as f:
        names = re.findall(r"^\tK\(\d+, \w+, (\w+),", f.read(), re.M)
    expect(len(names) > 50, "kinds: %s" % names)
    uses = "".join("\taf_event_%s e_%s = {}; n += af_event_as_%s(&ev, &e_%s);\n" % (n, n, n, n) for n in names)
    text = "#include <aflame/trace.h>\nint main()\n{\n\taf_event ev = {}; int n = 0;\n%s\treturn n;\n}\n" % uses
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        raise Skip("no %s" % compiler)
    to = os.path.join(WORKPLACE, "kinds")
    run(compiler, "-std=c++17", *WARNINGS, "-Wno-missing-field-initializers", write("kinds.cc", text), "-o", to, *flags("--cflags", "--libs"))
    equal(kernels(to).returncode, 0, "structs that an event of no kind filled")


def stacks():
    """A program around the lines of docs/library.md that print a sample's stack."""
    body = block("c", "af_event_as_sample")
    text = "#include <aflame/trace.h>\n#include <stdio.h>\nint main(int argc, char **argv)\n{\n\t(void)argc;\n"
    text += "\tstruct af_trace *trace;\n\tstruct af_event ev;\n\tstruct af_err err;\n"
    text += "\tif (af_trace_open(&trace, argv[1], 0, &err))\n\t\treturn 1;\n"
    text += "\twhile (af_trace_next(trace, &ev)) {\n%s\t}\n\taf_trace_close(trace);\n\treturn 0;\n}\n" % body
    to = os.path.join(WORKPLACE, "stacks")
    run(os.environ.get("CC", "cc"), "-std=c11", *WARNINGS, write("stacks.c", text), "-o", to, *flags("--cflags", "--libs"))
    return to


@case("the stack of a sample, as docs/library.md has it, compiles, and prints names")
def _():
    printed = kernels(stacks(), trace("mixed"))
    equal(printed.returncode, 0, "status")
    names = set(printed.stdout.split("\n")) - {""}
    with open(os.path.join(SOURCE, "tests/golden/analyse/mixed.cpu"), encoding="utf-8") as f:
        folded = f.read()
    expect("main" in names and "block_forward" in names, "names: %s" % names)
    for name in names - {"_PyEval_EvalFrameDefault"}:
        expect(name in folded, "%s is not in the flame graph" % name)


@case("the program for Python prints every event")
def _():
    script = write("events.py", block("python", "ctypes"))
    printed = run(sys.executable, script, trace("cuda"), env={**os.environ, "LD_LIBRARY_PATH": installed()[1]}).stdout
    count = run(AFLAME, "print", "--count", trace("cuda")).stdout
    equal(len(printed.splitlines()), int(re.search(r"total +(\d+)", count).group(1)), "events")
    kinds = {line.split()[3] for line in printed.splitlines()}
    equal(kinds, set(re.findall(r"^(\w+) +\d+$", count, re.M)) - {"total"}, "kinds")


def declared(header="trace.h"):
    """The functions whose prototypes the header has."""
    with open(os.path.join(installed()[0], "include/aflame", header), encoding="utf-8") as f:
        code = re.sub(r"^#(?:.*\\\n)*.*$", "", f.read(), flags=re.M)
    code = re.sub(r"/\*.*?\*/|static inline .*?\n\}", "", code, flags=re.S)
    return set(re.findall(r"\b(af_\w+)\([^;{}]*\);", code))


def exported(library):
    printed = run("nm", "-D", "--defined-only", library).stdout
    return {line.split()[-1].split("@")[0] for line in printed.splitlines()} - {"AFLAME_TRACE_0"}


def plugin(source, compiler, *words):
    """A plug-in, built with nothing but the installed headers, as docs/plugins.md says."""
    compiler = os.environ.get("CXX" if compiler == "c++" else "CC", compiler)
    if not shutil.which(compiler):
        raise Skip("no %s" % compiler)
    to = os.path.join(WORKPLACE, os.path.basename(source).replace(".", "-") + ".so")
    done = run(compiler, *WARNINGS, "-Wno-missing-field-initializers", *words, "-I" + os.path.join(installed()[0], "include"), "-shared",
               "-fPIC", source, "-o", to, check=False, cwd=WORKPLACE)
    equal((done.returncode, done.stderr), (0, ""), "what the compiler says")
    return to


def table(path, name, of="cuda"):
    document = json.loads(run(AFLAME, "report", "--json", "-n", "0", "--plugin", path, trace(of)).stdout)
    (rows,) = [t["rows"] for t in document["tables"] if t["name"] == name]
    return rows


@case("plug-ins: those of the tree, and that of docs/plugins.md, build outside of it in C and C++, and agree")
def _():
    example = os.path.join(WORKPLACE, "kernels_by_grid.c")
    shutil.copy(os.path.join(SOURCE, "examples/plugins/kernels_by_grid.c"), example)
    inside = table(os.path.join(BUILD, "examples/plugins/kernels_by_grid.so"), "kernels_by_grid")
    equal(table(plugin(example, "cc", "-std=c11"), "kernels_by_grid"), inside, "rows, built outside and inside of the tree")
    expect(len(inside) > 1, "rows: %s" % inside)
    text = block("c", "samples_by_thread", "plugins.md")
    for name, compiler, standard in ("samples.c", "cc", "-std=c11"), ("samples.cc", "c++", "-std=c++17"):
        rows = table(plugin(write(name, text), compiler, standard), "samples_by_thread", "mixed")
        own = json.loads(run(AFLAME, "report", "tree", "--view", "cpu", "-w", "samples", "--json", trace("mixed")).stdout)
        equal(sum(row["samples"] for row in rows), own["total"], "samples, of the program of docs/plugins.md")


@case("it exports what its header declares and nothing else, and needs libc alone")
def _():
    prefix, libdir = installed()
    library = os.path.realpath(os.path.join(libdir, "libaflame-trace.so"))
    equal(exported(library), declared(), "exported functions")
    dynamic = run("objdump", "-p", library).stdout
    expect(set(re.findall(r"NEEDED +(\S+)", dynamic)) <= {"libc.so.6", "ld-linux-x86-64.so.2"}, dynamic)
    soname = re.search(r"SONAME +(\S+)", dynamic).group(1)
    expect(os.path.exists(os.path.join(libdir, soname)), "no %s" % soname)
    with open(os.path.join(prefix, "include/aflame/trace.h"), encoding="utf-8") as f:
        numbers = re.findall(r"#define AF_TRACE_LIBRARY_M\w+ (\d+)", f.read())
    equal(soname, "libaflame-trace.so." + numbers[0], "the soname")
    equal(flags("--modversion")[0].split(".")[:2], numbers, "the version of pkg-config and of the header")


def samples(name, *words, compiler="cc", standard="-std=c11"):
    """The program of docs/prof.md that samples itself, linked with these words."""
    to = os.path.join(WORKPLACE, "samples-" + name)
    compiler = os.environ.get("CXX" if compiler == "c++" else "CC", compiler)
    source = write("samples-%s.%s" % (name, "cc" if "++" in standard else "c"), block("c", "af_prof_open", "prof.md"))
    done = run(compiler, standard, *WARNINGS, "-g", source, "-o", to, *words, check=False)
    equal((done.returncode, done.stderr), (0, ""), "what the compiler says")
    return to


def samples_itself(path, libdir=None):
    printed = run(path, env={**os.environ, "LD_LIBRARY_PATH": libdir or ""})
    own = dict((name, float(share)) for share, name in re.findall(r"^ *([\d.]+) % +[\d.]+ % +[\d,]+  (\w+) \(", printed.stdout, re.M))
    expect(own.get("work", 0) > 90, "the shares of functions, of which work has nearly all: %s%s" % (printed.stdout, printed.stderr))
    note("work has %.1f %% of the samples" % own["work"])


@case("the program of docs/prof.md samples itself, with the shared libaflame-prof, in C and in C++")
def _():
    words = flags("--cflags", "--libs", library="aflame-prof")
    samples_itself(samples("shared", *words), installed()[1])
    if shutil.which(os.environ.get("CXX", "c++")):
        samples_itself(samples("plus", "-Wno-missing-field-initializers", *words, compiler="c++", standard="-std=c++20"), installed()[1])


@case("the same with the static one and the libraries that pkg-config names for it")
def _():
    archive = os.path.join(installed()[1], "libaflame-prof.a")
    if not os.path.exists(archive):
        raise Skip("no ld or objcopy where this was built")
    words = [archive if w == "-laflame-prof" else w for w in flags("--cflags", "--libs", "--static", library="aflame-prof")]
    path = samples("static", *words)
    expect("libaflame-prof" not in run("objdump", "-p", path).stdout, "it needs the shared one")
    samples_itself(path)


@case("libaflame-prof exports what its header declares and functions of libc, shared and static")
def _():
    libdir = installed()[1]
    ours = {name for name in exported(os.path.join(libdir, "libaflame-prof.so")) if name.startswith("af")}
    equal(ours - {"af_prof_flat", "af_prof_folded", "af_prof_pprof"}, declared("prof.h") | {"aflame_recorder_regions"}, "exported functions of ours")
    libc = exported(re.search(r"=> (\S*/libc\.so\.6)", run("ldd", AFLAME).stdout).group(1))
    others = exported(os.path.join(libdir, "libaflame-prof.so")) - ours
    equal(others - libc, set(), "exported names that are neither ours nor libc's")
    expect({"sigaction", "pthread_create", "pthread_sigmask"} <= others, "functions that it stands in for: %s" % others)
    archive = os.path.join(libdir, "libaflame-prof.a")
    if os.path.exists(archive):
        printed = run("nm", "-g", "--defined-only", archive).stdout
        equal(set(re.findall(r" [A-Z] (\S+)$", printed, re.M)), ours | others, "global names of the static one")


@case("the static library has the same functions, and the program linked with it says the same")
def _():
    archive = os.path.join(installed()[1], "libaflame-trace.a")
    if not os.path.exists(archive):
        raise Skip("no ld or objcopy where this was built")
    printed = run("nm", "-g", "--defined-only", archive).stdout
    equal(set(re.findall(r" [A-Z] (\S+)$", printed, re.M)), declared(), "global names")
    to = os.path.join(WORKPLACE, "kernels-static")
    source = write("static.c", block("c", "int main"))
    words = [w for w in flags("--cflags", "--libs", "--static") if w != "-laflame-trace"]
    run(os.environ.get("CC", "cc"), "-std=c11", source, archive, *words, "-o", to)
    expect("libaflame-trace" not in run("objdump", "-p", to).stdout, "it needs the shared one")
    equal(run(to, trace("cuda")).stdout, kernels(program("c11"), trace("cuda")).stdout, "what it says")


@case("the tarball's exports the same, and needs a glibc of 2.17 and nothing else")
def _():
    if not os.path.exists(PORTABLE):
        raise Skip("no archive of each library here: no portable programs were built")
    equal(exported(PORTABLE), declared(), "exported functions")
    dynamic = run("objdump", "-p", PORTABLE).stdout
    expect(set(re.findall(r"NEEDED +(\S+)", dynamic)) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}, dynamic)
    young = [v for v in re.findall(r" GLIBC_([\d.]+)$", dynamic, re.M) if tuple(map(int, v.split("."))) > (2, 17)]
    equal(young, [], "versions of glibc; packaging/old_glibc.c has the functions of newer ones")
    expect(not re.search(r"RPATH|RUNPATH", dynamic), "it has a search path of its own")


@case("in the tarball pkg-config finds it wherever the folder lies")
def _():
    if not os.path.exists(PORTABLE) or not shutil.which("dpkg-query"):
        raise Skip("no tarball can be packed here")
    done = run(os.path.join(SOURCE, "packaging/pack"), BUILD, os.path.join(WORKPLACE, "out"))
    run("tar", "-xf", done.stdout.strip(), "-C", WORKPLACE)
    (unpacked,) = glob.glob(WORKPLACE + "/aflame-*-x86_64")
    folder = os.path.join(WORKPLACE, "elsewhere")
    os.rename(unpacked, folder)
    env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(folder, "lib/pkgconfig")}
    for library in "aflame-prof", "aflame-trace":
        words = run("pkg-config", "--cflags", "--libs", library, env=env).stdout.split()
        expect(all(folder in word for word in words if word[:2] in ("-I", "-L")), "%s" % words)
    to = os.path.join(WORKPLACE, "kernels-tarball")
    run(os.environ.get("CC", "cc"), "-std=c11", write("tarball.c", block("c", "int main")), "-o", to, *words)
    printed = run(to, trace("cuda"), env={**os.environ, "LD_LIBRARY_PATH": os.path.join(folder, "lib")})
    equal(printed.stdout, kernels(program("c11"), trace("cuda")).stdout, "what it says")
    samples_itself(samples("tarball", *run("pkg-config", "--cflags", "--libs", "aflame-prof", env=env).stdout.split()), os.path.join(folder, "lib"))


@case("of a truncated trace it gives what can be kept, and says what is wrong")
def _():
    whole = kernels(program("c11"), trace("cuda")).stdout
    cut = os.path.join(WORKPLACE, "cut")
    shutil.copytree(trace("cuda"), cut)
    (stream,) = [path for path in glob.glob(cut + "/*") if b"cuda-buffers" in open(path, "rb").read()]
    os.truncate(stream, os.path.getsize(stream) * 2 // 3)
    printed = kernels(program("c11"), cut)
    equal(printed.returncode, 0, "status")
    expect("the trace is damaged: " in printed.stderr and os.path.basename(stream) in printed.stderr, printed.stderr)
    print_says = run(AFLAME, "print", "--count", cut).stderr
    equal(printed.stderr.split(": ", 1)[1], print_says.split(": ", 2)[2], "the damage, here and in aflame print")
    expect(printed.stdout and printed.stdout != whole, "what is kept: %s" % printed.stdout)


@case("of a trace with bytes that somebody changed it gives what can be kept, and does not crash")
def _():
    dice = random.Random(1)
    damaged, stack_program = 0, stacks()
    for nr in range(60):
        bad = os.path.join(WORKPLACE, "bad-%d" % nr)
        shutil.copytree(trace("mixed"), bad)
        for path in glob.glob(bad + "/*"):
            with open(path, "r+b") as f:
                for _ in range(dice.choice((0, 1, 4)) if path.endswith("metadata") else 8):
                    f.seek(dice.randrange(os.path.getsize(path)))
                    f.write(bytes([dice.randrange(256)]))
        for path in program("c11"), stack_program:
            printed = kernels(path, bad)
            expect(printed.returncode in (0, 1), "%s: %d %s" % (path, printed.returncode, printed.stderr))
            damaged += "damaged" in printed.stderr
        shutil.rmtree(bad)
    expect(damaged > 10, "only %d were seen to be damaged" % damaged)
    note("%d of 60 were reported as damaged" % damaged)


@case("what is no trace is an error with a message")
def _():
    for words, where in (("no trace in", "/nowhere/at/all"), ("is not a trace", WORKPLACE), ("is a file", __file__)):
        printed = kernels(program("c11"), where)
        equal((printed.returncode, printed.stdout), (1, ""), "status and output")
        expect(words in printed.stderr, printed.stderr)


run_cases()
