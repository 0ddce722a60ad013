#!/usr/bin/env python3
"""aflame prof: C compiled, linked in memory, run and sampled."""

import glob
import os
import re
import signal
import subprocess
import time

from machine import AFLAME, WORKPLACE, need, need_own_tool, need_tool, probes
from recording import Trace, USAGE, aflame, bare, must, new_path, parse_folded, refused
from tap import Skip, case, equal, expect, note, run_cases

# Those of another machine, where aflame is that machine's (tests/cross/run).
CC, AR = os.environ.get("CC", "cc"), os.environ.get("AR", "ar")

# Prints the CPU and the elapsed time of its parts to standard error: translation and other work change their shares.
PARTS = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile long sink;
static void burn(long n) { unsigned long x = 1; for (long i = 0; i < n; i++) x = x * 6364136223846793005 + i; sink = x; }
__attribute__((noinline)) void sixty(void) { burn(18000000); sink += 1; }
__attribute__((noinline)) void thirty(void) { burn(9000000); sink += 1; }
__attribute__((noinline)) void ten(void) { burn(3000000); sink += 1; }
static double at(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static const struct { const char *name; void (*run)(void); } parts[] = {{"sixty", sixty}, {"thirty", thirty}, {"ten", ten}};
int main(int argc, char **argv)
{
	double used[3] = {0}, passed[3] = {0};
	for (int i = 0; i < 60; i++) {
		double cpu = at(CLOCK_PROCESS_CPUTIME_ID), wall = at(CLOCK_MONOTONIC);
		parts[i % 3].run();
		used[i % 3] += at(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		passed[i % 3] += at(CLOCK_MONOTONIC) - wall;
	}
	for (int k = 0; k < 3; k++) fprintf(stderr, "took %s %.6f %.6f\\n", parts[k].name, used[k], passed[k]);
	printf("%s %d\\n", argc > 1 ? argv[1] : "none", argc);
	return argc > 2 ? atoi(argv[2]) : 0;
}
"""


def source(text, name="program.c"):
    folder = new_path("prof")
    os.mkdir(folder)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def prof(*words, **how):
    """aflame prof in a folder of its own: what it printed, and the stacks in prof.folded."""
    folder = new_path("in")
    os.mkdir(folder)
    done = aflame("prof", *words, cwd=folder, **how)
    done.folder, done.stacks = folder, []
    path = os.path.join(folder, "prof.folded")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            done.stacks = parse_folded(file.read())
    return done


def total(stacks):
    return sum(weight for _, weight in stacks)


def part_of(stacks, name):
    return sum(w for frames, w in stacks if name in [bare(f) for f in frames])


def true_parts(stderr):
    """{function: its share} of the time that PARTS measured itself, and that each_ms() samples."""
    rows = re.findall(r"^took (\w+) ([0-9.]+) ([0-9.]+)$", stderr, re.M)
    equal(len(rows), 3, "functions that had their time: " + stderr)
    seconds = {name: float(wall if each_ms() else cpu) for name, cpu, wall in rows}
    return {name: s / sum(seconds.values()) for name, s in seconds.items()}


def check_parts(stacks, shares):
    all_of = total(stacks)
    for name, wanted in shares.items():
        part = part_of(stacks, name) / all_of
        note("%s: %.1f %%" % (name, part * 100))
        expect(abs(part - wanted) <= near_enough(), "%s has %.1f %% of %d samples, and took %.1f %%" % (name, part * 100, all_of, wanted * 100))


def each_ms():
    """Options for a sample each millisecond: where there are no perf events, CPU time has the kernel's ticks."""
    return ("--wall",) if probes()["perf"] else ()


def near_enough():
    """Of a share: an emulator translates while a program begins, which is no part's time."""
    return 0.04 if each_ms() else 0.02


def left_behind():
    return set(glob.glob("/dev/shm/aflame-prof*") + glob.glob("/tmp/aflame-prof*") + glob.glob("/tmp/perf-*.map"))


def appears(what, seconds=10):
    """The first value of what() that is true, or the last one."""
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


@case("its parts of the time, its output, arguments and status; nothing is left behind", tries=3)
def _():
    before = left_behind()
    done = prof(*each_ms(), source(PARTS), "--", "one", "7")
    equal((done.returncode, done.stdout), (7, "one 3\n"), "status and output")
    check_parts(done.stacks, true_parts(done.stderr))
    expect(all(bare(f[0]) == "program.c" for f, _ in done.stacks), "%s" % done.stacks)
    expect(part_of(done.stacks, "main") >= (0.95 if each_ms() else 0.99) * total(done.stacks), "%s" % done.stacks)
    equal(os.listdir(done.folder), ["prof.folded"], "files in the folder")
    equal(left_behind() - before, set(), "files elsewhere")


@case("functions that call none have their callers, at any instruction", tries=3)
def _():
    text = """
#include <time.h>
static volatile long sink;
__attribute__((noinline)) long leaf(long n) { for (long i = 0; i < 20; i++) n = n * 6364136223846793005 + i; return n; }
__attribute__((noinline)) long one(long n) { return leaf(n) + 1; }
__attribute__((noinline)) long two(long n) { return leaf(n) + 2; }
__attribute__((noinline)) long three(long n) { return leaf(n) + 3; }
static void some(void) { for (long i = 0; i < 100000; i++) sink = one(i) + two(i) + three(i); }
int main(void) { while (clock() < 0.7 * CLOCKS_PER_SEC) some(); return 0; }
"""
    done = prof(*each_ms(), source(text))
    equal(done.returncode, 0, "status")
    leaves = [([bare(f) for f in frames], w) for frames, w in done.stacks if bare(frames[-1]) == "leaf"]
    whole = sum(w for frames, w in leaves if frames[-3] == "some" and frames[-2] in ("one", "two", "three"))
    share = whole / total(leaves)
    note("callers of leaf: in %.2f %%" % (100 * share))
    expect(share >= 0.99 and total(leaves) > (3e8 if each_ms() else 300), "%s" % leaves)
    for name in ("one", "two", "three"):
        part = part_of(leaves, name) / total(leaves)
        expect(0.28 <= part <= 0.39, "%s called %.1f %% of it" % (name, 100 * part))


@case("the first N samples are kept, and those behind them counted", tries=3)
def _():
    trace = new_path()
    done = prof("--cap", "40", "--trace", trace, source(PARTS))
    equal((done.returncode, total(done.stacks)), (0, 40), "status and samples")
    lost = [e["count"] for e in Trace(trace).fields("lost") if e["reason"] == "CAPPED"]
    expect(lost and sum(lost) > 100, "lost: %s" % lost)


@case("--rate is honoured", tries=3)
def _():
    need("perf")
    slow, fast = (total(prof("--rate", rate, source(PARTS)).stacks) for rate in ("2000", "200"))
    note("%d and %d samples" % (slow, fast))
    expect(8 <= fast / slow <= 12, "%d samples at 200 us, %d at 2000" % (fast, slow))


@case("stacks are cut at --depth")
def _():
    text = """
    volatile long sink;
    __attribute__((noinline)) int down(int n) { if (n) return down(n - 1) + 1; for (long i = 0; i < 100000000; i++) sink += i; return 0; }
    int main(void) { return down(100) != 100; }
    """
    done = prof("-O", "0", "--depth", "16", source(text))
    equal(done.returncode, 0, "status")
    deep = [f for f, _ in done.stacks if f.count("down") >= 7]
    expect(deep and all(len(f) <= 18 for f in deep), "%s" % done.stacks[:2])
    expect(any("left out" in frame for frame in deep[0]), "%s" % deep[0])


@case("objects, archives, several files, standard input, definitions and include folders")
def _():
    need_tool(AR)
    main = source('#include "number.h"\nint other(void), third(void);\n'
                  "int main(void) { return NUMBER + MORE + other() + third(); }")
    folder = os.path.dirname(main)
    os.mkdir(os.path.join(folder, "include"))
    with open(os.path.join(folder, "include", "number.h"), "w", encoding="utf-8") as file:
        file.write("#define NUMBER 3\n")
    for name, value in (("other", 4), ("third", 5), ("unused", 6)):
        path = os.path.join(folder, name)
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write("int %s(void) { return %d; }\n" % (name, value))
        subprocess.run([CC, "-c", "-o", path + ".o", path + ".c"], check=True)
    archive = os.path.join(folder, "libboth.a")
    subprocess.run([AR, "rc", archive, path + ".o", os.path.join(folder, "third.o")], check=True)
    words = ("-D", "MORE=10", "-I", os.path.join(folder, "include"), main)
    equal(prof(*words, os.path.join(folder, "other.o"), archive).returncode, 22, "of objects")
    equal(prof(*words, os.path.join(folder, "other.c"), archive).returncode, 22, "of two sources")
    with open(os.path.join(folder, "stdin.c"), "w+", encoding="utf-8") as file:
        file.write("int main(void) { return 9; }\n")
        file.seek(0)
        equal(prof("-", stdin=file).returncode, 9, "of standard input")


@case("a source that does not compile: the compiler's message and status")
def _():
    done = prof(source("int main(void) { return 1 }\n"))
    equal((done.returncode, done.stacks), (1, []), "status and stacks")
    expect("expected" in done.stderr and "program.c" in done.stderr, done.stderr)
    done = prof(source("int main(void) { return 0; }"), env={**os.environ, "CC": "no-such-compiler"})
    expect(done.returncode == 1 and "install one, or name it in $CC" in done.stderr, done.stderr)


@case("undefined symbols are all listed")
def _():
    path = source("int one(void), two(void); int main(void) { return one() + two(); }")
    done = prof(path)
    equal((done.returncode, done.stacks), (127, []), "status and stacks")
    equal(done.stderr, "".join("aflame prof: undefined symbol: %s (%s)\n" % (name, path) for name in ("one", "two")), "messages")


@case("of two definitions the message names the sources, and of no main() that there is none")
def _():
    two = [source("int main(void) { return 0; }\n", "%s.c" % name) for name in ("first", "second")]
    done = prof(*two)
    equal((done.returncode, done.stderr), (127, "aflame prof: main is defined twice: in %s and in %s\n" % tuple(two)), "two")
    done = prof(source("int other(void) { return 0; }\n"))
    equal((done.returncode, done.stderr), (127, "aflame prof: undefined symbol: main\n"), "none")


@case("objects of C++ run with its library, and the message for a source of C++ says so")
def _():
    cxx = need_tool(os.environ.get("CXX", "g++"))
    text = """
#include <map>
#include <stdexcept>
#include <string>
thread_local std::string greeting = "hello";
static std::map<int, std::string> made = {{1, "static"}};
__attribute__((noinline)) static void throws(void)
{
	std::map<std::string, int> m;
	for (int i = 0; i < 1000000; i++) m[std::to_string(i % 100)] += i;
	throw std::runtime_error(greeting + made[1]);
}
int main() { try { throws(); } catch (std::exception &e) { return std::string(e.what()) == "hellostatic" ? 21 : 1; } }
"""
    path = source(text, "program.cc")
    done = prof(path)
    expect(done.returncode == USAGE and "is not C: compile it to an object" in done.stderr, done.stderr)
    subprocess.run([cxx, "-g", "-O1", "-fno-omit-frame-pointer", "-c", "-o", path + ".o", path], check=True)
    done = prof("-l", "stdc++", path + ".o")
    equal(done.returncode, 21, "status")
    expect(part_of(done.stacks, "throws") > 20, "%s" % done.stacks)


@case("a program that crashes is reported, and ends aflame as it ended")
def _():
    text = "volatile long sink; int main(void) { for (long i = 0; i < 200000000; i++) sink += i; return *(volatile int *)sink; }"
    before = left_behind()
    done = prof("-O", "0", source(text.replace("*)sink", "*)8")))
    equal(done.returncode, -signal.SIGSEGV, "status")
    equal(left_behind() - before, set(), "files elsewhere")
    expect(part_of(done.stacks, "main") > 30, "%s" % done.stacks)


@case("a program that overwrites its chain of frames is sampled all the same")
def _():
    text = """
#include <time.h>
volatile long sink;
__attribute__((noinline)) void lost(void)
{
	void *volatile *frame = __builtin_frame_address(0);
	frame[0] = (void *)0x4141414141414140;
	frame[1] = (void *)0x4242424242424242;
	while (clock() < 0.4 * CLOCKS_PER_SEC) for (long i = 0; i < 1000000; i++) sink += i;
	for (;;) *(volatile int *)8 = 0;
}
int main(void) { lost(); return 0; }
"""
    done = prof("-O", "1", source(text))
    expect(done.returncode < 0, "status %d" % done.returncode)
    expect(part_of(done.stacks, "lost") > 20, "%s" % done.stacks)
    expect(any("[truncated" in frame for frames, _ in done.stacks for frame in frames), "%s" % done.stacks)


@case("Ctrl-C ends a program that loops for ever, and there is a report")
def _():
    folder = new_path("in")
    os.mkdir(folder)
    text = 'volatile long sink; __attribute__((noinline)) void loops(void) { for (;;) sink++; } int main(void) { loops(); }'
    p = subprocess.Popen([AFLAME, "prof", source(text)], cwd=folder, start_new_session=True,
                         stderr=subprocess.PIPE)
    time.sleep(1.5)
    os.killpg(p.pid, signal.SIGINT)
    p.communicate(timeout=60)
    equal(p.returncode, -signal.SIGINT, "status")
    with open(os.path.join(folder, "prof.folded"), encoding="utf-8") as file:
        stacks = parse_folded(file.read())
    expect(part_of(stacks, "loops") > 100, "%s" % stacks)


@case("programs that fork, block signals and set handlers are sampled all the same", tries=3)
def _():
    # Each prints its own CPU time: where code is translated the first may take twice that of the last.
    text = """
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long sink;
static void burn(long n) { unsigned long x = 1; for (long i = 0; i < n; i++) x = x * 6364136223846793005 + i; sink = x; }
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void took(const char *name, double from) { printf("%s %.6f\\n", name, cpu() - from); fflush(stdout); }
__attribute__((noinline)) void in_child(void) { burn(150000000); }
__attribute__((noinline)) void under_mask(void) { burn(150000000); }
__attribute__((noinline)) void under_handlers(void) { burn(150000000); }
static void nothing(int signo) { (void)signo; }
int main(void)
{
	sigset_t all, old;
	double from;
	if (!fork()) { from = cpu(); in_child(); took("in_child", from); _exit(0); }
	wait(0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	from = cpu();
	under_mask();
	took("under_mask", from);
	sigprocmask(SIG_SETMASK, &old, 0);
	for (int s = 1; s < 32; s++) signal(s, nothing);
	from = cpu();
	under_handlers();
	took("under_handlers", from);
	return 0;
}
"""
    done = prof(source(text))
    equal(done.returncode, 0, "status")
    took = {name: float(seconds) for name, seconds in (line.split() for line in done.stdout.splitlines())}
    equal(len(took), 3, "functions that had their CPU time")
    all_of = total(done.stacks)
    for name, seconds in took.items():
        part, used = part_of(done.stacks, name) / all_of, seconds / sum(took.values())
        expect(abs(part - used) <= 0.05, "%s has %.1f %% of %d samples, and %.1f %% of the CPU time" % (name, 100 * part, all_of, 100 * used))


@case("--wall: waits have their time", tries=3)
def _():
    text = """
#include <time.h>
#include <unistd.h>
static int wait_ms(long ms) { return nanosleep(&(struct timespec){0, ms * 1000000}, 0); }
__attribute__((noinline)) int sixty(void) { return wait_ms(60) + 0 * getpid(); }
__attribute__((noinline)) int thirty(void) { return wait_ms(30) + 0 * getpid(); }
__attribute__((noinline)) int ten(void) { return wait_ms(10) + 0 * getpid(); }
int main(void) { int bad = 0; for (int i = 0; i < 20; i++) bad |= sixty() | thirty() | ten(); return bad != 0; }
"""
    done = prof("--wall", source(text))
    equal(done.returncode, 0, "waits that a signal ended early")
    check_parts(done.stacks, {"sixty": 0.6, "thirty": 0.3, "ten": 0.1})


@case("--alloc: bytes that were allocated, and those in use at the end, by stack")
def _():
    text = """
#include <stdlib.h>
static void *kept[100];
__attribute__((noinline)) void keeps(int i) { void *volatile p = malloc(1000 + i); kept[i] = p; }
__attribute__((noinline)) void frees(void) { void *volatile p = malloc(500); free(p); }
int main(void) { for (int i = 0; i < 100; i++) { keeps(i); frees(); } return 0; }
"""
    trace = new_path()
    done = prof("--alloc", "--trace", trace, source(text))
    equal(done.returncode, 0, "status")
    sums = {name: part_of(done.stacks, name) for name in ("keeps", "frees", "main")}
    equal(sums, {"keeps": 104950, "frees": 50000, "main": 154950}, "bytes")
    equal(total(done.stacks), 154950, "all bytes: nothing of aflame's own")
    equal(total(Trace(trace).stacks(weight="live")), 104950, "bytes in use")
    expect("allocated  154.95 kB" in done.stderr and "in use at the end  104.95 kB" in done.stderr, done.stderr)


@case("with libraries of --lib, too, all that the program does is seen: allocations, signals, threads")
def _():
    text = """
#include <math.h>
#include <stdlib.h>
__attribute__((noinline)) void keeps(double x) { void *volatile p = malloc(1000 + (int)sqrt(x)); (void)p; }
int main(void) { for (int i = 0; i < 100; i++) keeps(i * i); return 0; }
"""
    done = prof("-l", "m", "--alloc", "-O", "0", source(text))
    equal((done.returncode, part_of(done.stacks, "keeps")), (0, 104950), "bytes")
    text = """
#include <math.h>
#include <signal.h>
volatile double sink;
__attribute__((noinline)) void under_mask(void) { for (long i = 0; i < 20000000; i++) sink += sqrt(i); }
int main(void) { sigset_t all; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, 0); under_mask(); return 0; }
"""
    done = prof("-l", "m", "-O", "0", source(text))
    equal(done.returncode, 0, "status")
    expect(part_of(done.stacks, "under_mask") > 20, "%s" % done.stacks)


@case("a program that the program becomes by exec is sampled, too")
def _():
    perl = need_own_tool("perl")
    text = """
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void before(void) { for (long i = 0; i < 100000000; i++) sink += i; }
int main(void) { before(); execl("%s", "perl", "-e", "for (1..4e6) { $x += $_ } exit 7", (char *)0); return 1; }
"""
    done = prof(source(text % perl))
    equal(done.returncode, 7, "status")
    expect(part_of(done.stacks, "before") > 20, "%s" % done.stacks)
    later = sum(w for frames, w in done.stacks if bare(frames[0]) == "perl")
    expect(later > 20, "%d samples of perl" % later)


@case("what ends aflame before the program does leaves no file behind")
def _():
    folder = new_path("in")
    os.mkdir(folder)
    slow = os.path.join(folder, "slowly")
    with open(slow, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nsleep 2\n")
    os.chmod(slow, 0o700)
    for signo in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        before = left_behind()
        p = subprocess.Popen([AFLAME, "prof", source("int main(void) { return 0; }")], cwd=folder,
                             env={**os.environ, "CC": slow}, stderr=subprocess.DEVNULL)
        made = appears(lambda: left_behind() - before)
        p.send_signal(signo)
        equal(p.wait(timeout=60), -signo, "status")
        expect(made and appears(lambda: not left_behind() & made), "%s: %s" % (signo, left_behind() - before))


@case("the flat report: samples, rate, functions with their lines", tries=3)
def _():
    done = prof("--lines", "--limit", "0", *each_ms(), source(PARTS.replace("static void burn", "__attribute__((noinline)) static void burn")))
    equal(done.returncode, 0, "status")
    late = r"[0-9].*" if each_ms() else "0"
    head = re.search(r"samples  ([0-9,]+), which .*\ndropped  %s\nrate     1,000 a second requested, ([0-9,]+) a" % late, done.stderr)
    expect(head, done.stderr)
    samples, rate = (int(text.replace(",", "")) for text in head.groups())
    if not each_ms():
        equal(samples, total(done.stacks), "samples and folded stacks")
    expect((1 if each_ms() else 900) <= rate <= 1100, "%d samples a second" % rate)
    rows = re.findall(r"^ *([0-9.]+) % +([0-9.]+) % +[0-9,]+  (\w+) \(program\.c:(\d+)\)", done.stderr, re.M)
    by_name = {name: (float(own), float(all_of), int(line)) for own, all_of, name, line in rows}
    lines = {name: 1 + PARTS[: PARTS.index("void " + name)].count("\n") for name in ("burn", "sixty", "thirty", "ten")}
    for name, share in true_parts(done.stderr).items():
        own, all_of, line = by_name[name]
        expect(own < 1 and abs(all_of - 100 * share) <= 100 * near_enough(), "%s: %s, and took %.3f" % (name, by_name[name], share))
        equal(line, lines[name], "line of " + name)
    expect(by_name["burn"][0] > (93 if each_ms() else 97) and by_name["burn"][2] == lines["burn"], "%s" % by_name)
    expect(re.search(r"^Lines\n.*\n *[0-9.]+ +%% .* program\.c:%d " % lines["burn"], done.stderr, re.M), done.stderr)


@case("--limit is the number of rows, as the report says")
def _():
    path = source(PARTS)
    done = prof("--limit", "1", path)
    expect(re.search(r"… and [0-9]+ more of [0-9]+, .*; --limit 0 shows all", done.stderr), done.stderr)
    equal(len(re.findall(r"\(program\.c:[0-9]+\)", done.stderr)), 1, "rows")
    done = prof("--limit", "0", path)
    expect("shows all" not in done.stderr and "_start" in done.stderr, done.stderr)


@case("--trace keeps a trace for every other command")
def _():
    trace = new_path()
    path = source(PARTS)
    equal(prof("--trace", trace, "--no-folded", "--no-flat", path).stacks, [], "folded stacks")
    expect("burn" in must("report", "top", trace), "report top names no function")
    Trace(trace).check()
    must("flame", "-o", os.path.join(WORKPLACE, "prof.html"), trace)


@case("words that make no sense")
def _():
    refused(USAGE, "no file to run", "prof")
    refused(USAGE, "--rate takes", "prof", "--rate", "1", "x.c")
    refused(USAGE, "--depth takes", "prof", "--depth", "2", "x.c")


run_cases()
