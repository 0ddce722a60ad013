#!/usr/bin/env python3
"""Objects that aflame-guest links in memory: they run as ld would have them run, gdb finds them, and the recorder
names their functions with whole stacks."""

import glob
import os
import re
import subprocess

from machine import BUILD, any_sampler, need_tool
from recording import WORKPLACE, must, new_path, record
from shares import having, weight_of
from tap import Skip, case, equal, expect, near, note, run_cases

GUEST = os.path.join(BUILD, "src/guest/aflame-guest")
UNDEFINED = 127


def compile_text(text, *options, cc="gcc", suffix=".c"):
    """The object that the compiler makes of a C text."""
    source, to = new_path("text") + suffix, new_path("object") + ".o"
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([need_tool(cc), "-g", *options, "-c", source, "-o", to], check=True)
    return to


def command(*inputs, options=(), arguments=()):
    """aflame-guest's command line, with a new file for the image."""
    image = new_path("image")
    os.close(os.open(image, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    return [GUEST, "--image", image, "--name", "prog.c", *options, *inputs, "--", *arguments]


def run(*inputs, env=None, **how):
    done = subprocess.run(command(*inputs, **how), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, **(env or {})), cwd=WORKPLACE, check=False, timeout=60)
    return done


FIRST = r"""
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
int common;
extern int nobody(void) __attribute__((weak));
static __thread int mine = 7;
__thread long zero;
extern __thread int theirs;
int other(int);
extern int (*table[])(int);
extern const double ratio;
extern char **environ;
__attribute__((weak)) int chosen(void) { return 1; }
__attribute__((constructor)) static void last(void) { puts("last"); }
__attribute__((constructor(201))) static void second(void) { puts("second"); }
__attribute__((constructor(101))) static void first(void) { puts("first"); }
__attribute__((destructor)) static void end(void) { puts("destructor"); }
static void leave(void) { puts("atexit"); }
static void *thread(void *arg)
{
	mine++, zero += 2, theirs += 3;
	printf("thread %d %ld %d\n", mine, zero, theirs);
	return NULL;
}
static int jump(int i)
{
	switch (i) {
	case 0: return 3; case 1: return 9; case 2: return 11; case 3: return 20; case 4: return -4; case 5: return 77;
	default: return 0;
	}
}
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv, char **envp)
{
	jmp_buf where;
	struct stat st;
	pthread_t t;
	int sum = 0, some[] = {3, 1, 2}, status;

	atexit(leave);
	printf("%s %d %s %d\n", argv[0], argc, argv[1], envp == environ);
	for (int i = 0; i < 7; i++)
		sum += jump(i) + table[i % 2](i);
	printf("sum %d ratio %g root %g nobody %d stat %d\n", sum, ratio, sqrt(argc + 2), nobody ? 1 : 0, stat("/", &st));
	mine = 100;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("main %d %ld %d\n", mine, zero, theirs);
	qsort(some, 3, sizeof *some, order);
	printf("sorted %d%d%d\n", some[0], some[1], some[2]);
	if (!setjmp(where))
		longjmp(where, 1);
	fflush(stdout);
	if (!fork())
		_exit(5);
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	fputs("errors\n", stderr);
	return other(3) + chosen();
}
"""

SECOND = r"""
int common = 4;
__thread int theirs = 40;
const double ratio = 3.25;
static int triple(int i) { return i * 3; }
static int less(int i) { return i - 1; }
int (*table[])(int) = {triple, less};
int chosen(void) { return 2; }
int other(int x) { return x + ++common; }
"""

PRINTED = """first
second
last
prog.c 2 word 1
sum 158 ratio 3.25 root 2 nobody 0 stat 0
thread 8 2 43
main 100 0 40
sorted 123
child 5
atexit
destructor
"""


@case("COMMON, weak, constructors by priority, thread-local variables, threads, fork, atexit: as ld has them")
def _():
    ways = [("gcc", o) for o in ("-O0", "-O2", "-O2 -fPIC", "-O2 -ftls-model=global-dynamic -fPIC", "-O2 -fPIC -ftls-model=local-dynamic",
                                 "-O1 -mcmodel=large")]
    ways += [("clang", o) for o in ("-O0", "-O2")]
    tried = []
    for cc, options in ways:
        try:
            options = options.split()
            objects = [compile_text(text, "-fcommon", *options, cc=cc) for text in (FIRST, SECOND)]
        except Skip as reason:
            note("%s: %s" % (cc, reason))
            continue
        done = run(*objects, options=("--lib", "m"), arguments=("word",))
        equal(done.stdout, PRINTED, "output of %s %s" % (cc, options))
        equal(done.stderr, "errors\n", "standard error")
        equal(done.returncode, 3 + 5 + 2, "status")
        tried.append((cc, options))
    expect(len(tried) >= 2, "only %r was tried" % tried)


@case("an archive's members are linked where they are needed, and only those")
def _():
    archive = new_path("members") + ".a"
    used = compile_text("int other(int x); int used(int x) { return other(x) + 1; }")
    further = compile_text("int other(int x) { return x * 2; }")
    unused = compile_text("int missing(void); int main2(void) { return missing(); }")
    subprocess.run([need_tool("ar"), "rcs", archive, used, further, unused], check=True)
    main = compile_text("int used(int); int main(void) { return used(20); }")
    equal(run(main, archive).returncode, 41, "status")
    thin = new_path("thin") + ".a"
    subprocess.run([need_tool("ar"), "rcsT", thin, used], check=True)
    done = run(main, thin)
    equal(done.returncode, UNDEFINED, "status of a thin archive")
    expect("thin archive" in done.stderr, done.stderr)


@case("all undefined symbols are listed, and symbols that are defined twice are named with both objects")
def _():
    main = compile_text("int a1(void), a2(void), a3(void); int main(void) { return a1() + a2() + a3(); }")
    done = run(main)
    equal(done.returncode, UNDEFINED, "status")
    listed = sorted(re.findall(r"^aflame prof: undefined symbol: (\w+) \((.*)\)$", done.stderr, re.M))
    equal(listed, [(name, main) for name in ("a1", "a2", "a3")], "symbols")
    twice = [compile_text("int main(void) { return 0; }") for _ in range(2)]
    done = run(*twice)
    equal(done.stderr, "aflame prof: main is defined twice: in %s and in %s\n" % tuple(twice), "message")
    done = run(compile_text("int not_main;"))
    equal(done.stderr, "aflame prof: undefined symbol: main\n", "message")
    done = run(compile_text("__thread char big[1 << 20]; int main(void) { return big[5]; }"))
    equal(done.returncode, UNDEFINED, "status of too many thread-local variables")
    expect("thread-local variables of 1048576 bytes" in done.stderr, done.stderr)
    done = run(compile_text("int x;"), options=("--lib", "no_such_library"))
    expect(done.returncode == UNDEFINED and "--lib no_such_library" in done.stderr, done.stderr)


@case("exceptions of C++ are caught, with --lib stdc++")
def _():
    source = """
    #include <stdexcept>
    #include <string>
    #include <iostream>
    static std::string kept("kept");
    static __attribute__((noinline)) void thrower(int i) { if (i) throw std::runtime_error("thrown"); }
    int main(int argc, char **argv)
    {
        try { thrower(argc); } catch (const std::exception &e) { std::cout << e.what() << " " << kept << std::endl; return 4; }
        return 0;
    }
    """
    done = run(compile_text(source, "-O1", cc="g++", suffix=".cc"), options=("--lib", "stdc++"))
    equal((done.stdout, done.returncode), ("thrown kept\n", 4), "output and status")


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
FOREIGN = ("src/base/*.c", "src/base/system/fs_open.c", "src/base/system/rights.c", "src/unwind/*.c", "src/link/*.c", "src/guest/*.c")


def for_machine(machine):
    """A case: aflame-guest for another machine, compiled here, links that machine's objects under qemu-user."""

    @case("%s: the same programs run under qemu-user, with each model of thread-local variables" % machine)
    def _():
        cc, qemu, system = "%s-linux-gnu-gcc" % machine, need_tool("qemu-" + machine), "/usr/%s-linux-gnu" % machine
        if not os.path.exists(system + "/lib/libc.so.6"):
            raise Skip("the C library for %s is not installed" % machine)
        guest = new_path(machine)
        sources = [path for pattern in FOREIGN for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]
        subprocess.run([need_tool(cc), "-std=gnu17", "-O1", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-fPIC", "-pthread",
                        "-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include"), *sources, "-o", guest, "-ldl"], check=True)
        for options in (["-O0"], ["-O2"], ["-O2", "-fPIC"], ["-O2", "-fPIC", "-ftls-model=global-dynamic"], ["-O2", "-ftls-model=initial-exec"]):
            objects = [compile_text(text, "-fcommon", *options, cc=cc) for text in (FIRST, SECOND)]
            words = command(*objects, options=("--lib", "m"), arguments=("word",))[1:]
            done = subprocess.run([qemu, "-L", system, guest, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                                  check=False, timeout=120)
            equal(done.stdout, PRINTED, "output with %s (%s)" % (options, done.stderr))
            equal(done.returncode, 3 + 5 + 2, "status")


for_machine("aarch64")
for_machine("riscv64")


SPINS = r"""
volatile unsigned long sink;
static __attribute__((noinline)) void spin(long n)
{
	unsigned long s = 1;
	for (long i = 0; i < n; i++)
		s = s * 6364136223846793005ul + i;
	sink += s;
}
__attribute__((noinline)) void six(void) { spin(6000000); __asm__(""); }
__attribute__((noinline)) void three(void) { spin(3000000); __asm__(""); }
__attribute__((noinline)) void one(void) { spin(1000000); __asm__(""); }
int main(void)
{
	for (int i = 0; i < 60; i++)
		six(), three(), one();
	return 3;
}
"""


@case("the recorder names the functions, with whole stacks and true shares", tries=2)
def _():
    for options in (("-O0",), ("-O2", "-fomit-frame-pointer")):
        recording = record(*command(compile_text(SPINS, *options)), sampler=any_sampler(), rate=997, status=3)
        stacks = recording.stacks()
        total = weight_of(stacks, having("main", "spin"))
        expect(total > 0.9 * sum(weight for _, weight in stacks), "only %.3f in main" % (total / sum(w for _, w in stacks)))
        for name, truth in (("six", 0.6), ("three", 0.3), ("one", 0.1)):
            near(weight_of(stacks, having("_start", "main", name, "spin")) / total, truth, 0.05, name)
        # The linked main() has the callers of any program's, and no other main() is above it.
        equal(weight_of(stacks, lambda frames: frames.count("main") > 1), 0, "time below two main()")
        equal(weight_of(stacks, lambda frames: any("truncated" in f or "unknown" in f for f in frames)), 0, "time in cut stacks")
        expect("spin" in must("report", "top", recording.path), "report top")


@case("gdb finds the functions by its JIT interface, with their lines")
def _():
    gdb = need_tool("gdb")
    words = command(compile_text(SPINS, "-O0"))
    done = subprocess.run([gdb, "-batch", "-nx", "-ex", "set breakpoint pending on", "-ex", "break three", "-ex", "run", "-ex", "backtrace",
                           "-ex", "delete", "-ex", "continue", "--args", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False, timeout=120)
    if "ptrace: Operation not permitted" in done.stdout:
        raise Skip("ptrace is not allowed here")
    expect(re.search(r"^#0 .*three \(\) at .*\.c:\d+", done.stdout, re.M), done.stdout)
    expect(re.search(r"^#1 .*main \(\) at .*\.c:\d+", done.stdout, re.M), done.stdout)


@case("the image is a file of three segments, and no memory is writable and executable")
def _():
    done = run(compile_text(r"""
    #include <stdio.h>
    int main(void)
    {
        char line[4096];
        FILE *f = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, f))
            fputs(line, stdout);
        return 0;
    }"""))
    lines = [line.split() for line in done.stdout.splitlines()]
    mapped = [words[1] for words in lines if len(words) > 5 and "/image-" in words[5]]
    # The last is the copy that gdb reads.
    equal(sorted(mapped), sorted(["r--p", "r-xp", "rw-p", "r--p"]), "mappings of the image")
    equal([words for words in lines if "w" in words[1] and "x" in words[1]], [], "memory that is writable and executable")


@case("the map for perf names the functions while the program runs, and is gone afterwards")
def _():
    done = run(compile_text(r"""
    #include <stdio.h>
    #include <unistd.h>
    int main(void)
    {
        char name[64], line[256];
        snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
        FILE *f = fopen(name, "r");
        printf("%s\n%p\n", name, (void *)main);
        while (f && fgets(line, sizeof line, f))
            fputs(line, stdout);
        return 0;
    }"""))
    name, main, *lines = done.stdout.splitlines()
    expect(any(re.match(main[2:] + r" [0-9a-f]+ main$", line) for line in lines), done.stdout)
    expect(not os.path.exists(name), "%s was left" % name)


@case("the phases of linking are printed, of a program of thirty lines")
def _():
    done = run(compile_text(SPINS, "-O2"), env={"AFLAME_GUEST_TIMES": "1"})
    phases = re.findall(r"^aflame prof: (\w+): ([\d.]+) ms$", done.stderr, re.M)
    equal([name for name, _ in phases], ["inputs", "layout", "image", "registration"], "phases")
    note("linked in %.2f ms: %s" % (sum(float(ms) for _, ms in phases), phases))


run_cases()
