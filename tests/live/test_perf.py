#!/usr/bin/env python3
"""What perf recorded, imported: against what perf script says of the same file."""

import collections
import functools
import json
import os
import re
import struct
import subprocess

from machine import WORKPLACE, need_tool, program
from recording import must, new_path, parse_folded
from tap import Skip, case, equal, expect, note, run_cases

SCRIPT = "comm,pid,tid,time,period,event,ip,sym,dso"
HEADER_ATTR = 64  # of perf's event types: PERF_RECORD_HEADER_ATTR
HEAD = re.compile(r"\s*(.+?)\s+(-?\d+)/(-?\d+)\s+[\d.]+:\s+(\d+)\s+(\S+):\s*(.*)$")


def perf(*words, **how):
    # perf keeps copies of what it recorded in $HOME/.debug.
    environment = dict(os.environ, HOME=WORKPLACE)
    return subprocess.run(
        [need_tool("perf"), *map(str, words)],
        stdout=how.get("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env=environment,
        cwd=WORKPLACE,
        check=False,
        timeout=240,
    )


def aborted(done):
    """Debian's perf 6.1 now and then ends by its own assertion or smashes its stack, in util/build-id.c."""
    return done.returncode < 0 or b"assertion failed" in done.stderr


def perf_that_ends(*words, **how):
    """The same; where this perf aborts three times, the case is left out."""
    for _ in range(3):
        done = perf(*words, **how)
        if not aborted(done):
            return done
    raise Skip("this perf aborts: %.200s" % b" ".join(done.stderr.split()).decode("utf-8", "replace"))


@functools.lru_cache(maxsize=None)
def recorded(name, *options, scale="0.3"):
    """A perf.data of a program of known behaviour."""
    path = new_path(name) + ".data"
    done = perf_that_ends("record", "-N", "-q", "-e", "cpu-clock", "-F", 2000, "-g", *options, "-o", path, "--", program(name), scale)
    if done.returncode or not os.path.exists(path):
        raise Skip("perf cannot record here: %.200s" % done.stderr.decode().strip().replace("\n", " "))
    return path


@functools.lru_cache(maxsize=None)
def reported(path):
    """[(comm, pid, period, [(function, file), …] root first)] of perf script."""
    text = perf_that_ends("script", "--no-inline", "-F", SCRIPT, "-i", path).stdout.decode("utf-8", "replace")
    samples, frames = [], None
    for line in text.splitlines():
        if not line.strip():
            frames = None
        elif frames is None:
            head = HEAD.match(line)
            expect(head, "perf script: %r" % line)
            frames = []
            samples.append((head[1], int(head[2]), int(head[4]), frames))
            if head[6]:
                frames.append(head[6])
                frames = None
        else:
            frames.append(line)
    out = []
    for comm, pid, period, lines in samples:
        parsed = [re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line) for line in reversed(lines)]
        out.append((comm, pid, period, [(m[1], m[2]) for m in parsed]))
    return out


def imported(path, *words):
    to = new_path("imported")
    must("import", "-q", "-o", to, *words, path, env=dict(os.environ, HOME=WORKPLACE))
    return to


def own_names(samples, name):
    """The program's functions as perf names them; a perf that names none cannot judge."""
    names = {f for s in samples for f, file in s[3] if file.endswith("/" + name) and f != "[unknown]"}
    # The symbol before the procedure linkage table, by which perf names the table's stubs.
    names.discard("_init")
    if not names:
        raise Skip("this perf names no function of %s" % name)
    return names


def only(frames, names):
    return tuple(f for f in (re.sub(r"_\[k\]$", "", f) for f in frames) if f in names)


def compare(path, name):
    """Stacks of the program's own functions weigh the same, to the nanosecond."""
    samples = reported(path)
    names = own_names(samples, name)
    expect(len(names) > 2, "perf knows few functions of %s: %r" % (name, names))
    want, got = collections.Counter(), collections.Counter()
    for _comm, _pid, period, frames in samples:
        want[only([f for f, _ in frames], names)] += period
    for stack, ns in parse_folded(must("flame", imported(path))):
        got[only([f for f in stack if not f.endswith("_[i]")], names)] += ns
    equal(got, want, "stacks")
    note("%d samples, %d stacks of %d functions" % (len(samples), len(want), len(names)))


for _how, _options in (("a file", ()), ("compressed", ("-z",)), ("with other clock", ("-k", "CLOCK_MONOTONIC"))):

    @case("stacks are perf script's, to the nanosecond: " + _how)
    def _(options=_options):
        compare(recorded("shares_fp", *options), "shares_fp")


def as_piped(path):
    """The file as perf writes it into a pipe, after perf.data-file-format.txt: no table of sections; each
    attribute is an event of its own, before the data, which are the same bytes. What it says of the
    machine is left out, and with it the names of the kernel's functions."""
    with open(path, "rb") as file:
        data = file.read()
    magic, _, attr_size, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<8s6Q", data)
    equal(magic, b"PERFILE2", "magic")
    out = [struct.pack("<8sQ", magic, 16)]
    for at in range(attrs_at, attrs_at + attrs_size, attr_size):
        ids_at, ids_size = struct.unpack_from("<2Q", data, at + attr_size - 16)
        body = data[at : at + attr_size - 16] + data[ids_at : ids_at + ids_size]
        out.append(struct.pack("<IHH", HEADER_ATTR, 0, 8 + len(body)) + body)
    piped = new_path("as_piped") + ".data"
    with open(piped, "wb") as file:
        file.write(b"".join(out) + data[data_at : data_at + data_size])
    return piped


def user_stacks(path):
    found = collections.Counter()
    for stack, ns in parse_folded(must("flame", imported(path))):
        found[tuple(f for f in stack if not f.endswith("_[k]"))] += ns
    return found


@case("what came through a pipe has the stacks of the same events in a file")
def _():
    path = recorded("shares_fp")
    want = user_stacks(path)
    expect(sum(want.values()) > 10**8, "%d ns" % sum(want.values()))
    equal(user_stacks(as_piped(path)), want, "stacks")


@case("stacks are perf script's, to the nanosecond: through a pipe")
def _():
    path = new_path("pipe") + ".data"
    for _ in range(3):
        with open(path, "wb") as out:
            done = perf(
                "record", "-N", "-q", "-e", "cpu-clock", "-F", 2000, "-g", "-o", "-", "--", program("shares_fp"), "0.3", stdout=out
            )
        if not aborted(done):
            break
    if done.returncode:
        reported_by_perf = b" ".join(done.stderr.split()).decode("utf-8", "replace")
        raise Skip("this perf %s: %.200s" % ("aborts" if aborted(done) else "cannot record", reported_by_perf))
    compare(path, "shares_fp")


@case("stacks are perf script's, to the nanosecond: a directory of perf record --threads")
def _():
    path = recorded("shares_fp", "--threads")
    expect(os.path.exists(path + "/data.0"), "%s has no data.0: %s" % (path, os.listdir(path)))
    compare(path, "shares_fp")


@case("processes are forked and executed as perf tells: samples and weights of each pid")
def _():
    for name in ("forks", "exec_chain", "vfork_exec"):
        path = recorded(name)
        want, got = collections.Counter(), collections.Counter()
        for _comm, pid, period, _frames in reported(path):
            want[pid] += period
        for line in must("print", "-k", "ksample", imported(path)).splitlines():
            got[int(line.split()[3].split("/")[0])] += int(re.search(r"weight_ns=(\d+)", line)[1])
        equal(got, want, "%s: time by pid" % name)
        note("%s: %d processes" % (name, len(want)))


@case("the kernel's frames have the names that perf script gives them")
def _():
    path = recorded("syscall_bound")
    kernel = [s for s in reported(path) if s[3] and s[3][-1][1] == "[kernel.kallsyms]"]
    if not kernel or any(s[3][-1][0] == "[unknown]" for s in kernel):
        raise Skip("perf has no names of this kernel's functions here")
    want, got = collections.Counter(), collections.Counter()
    for _comm, _pid, period, frames in kernel:
        want[re.sub(r"\.(isra|constprop|part|cold).*", "", frames[-1][0])] += period
    for stack, ns in parse_folded(must("flame", imported(path))):
        if stack[-1].endswith("_[k]"):
            got[stack[-1][:-4]] += ns
    # One address may have several names.
    same = sum((want & got).values()) / sum(want.values())
    note("%.1f %% of %d samples" % (100 * same, len(kernel)))
    expect(same > 0.9, "only %.2f: %r, not %r" % (same, got.most_common(5), want.most_common(5)))


def compare_unwound(path, name):
    """
    What perf unwound is found as well, to the nanosecond; where perf's walk ended early (in the
    vDSO, in the end of a signal handler) it goes on.
    """
    samples = reported(path)
    names = own_names(samples, name)
    names -= {"_init"}  # perf's word for stubs of the PLT
    expect({"main", "_start"} < names, "perf knows few functions of %s: %r" % (name, names))
    want, got = collections.Counter(), collections.Counter()
    for _comm, _pid, period, frames in samples:
        want[only([f for f, _ in frames], names)] += period
    stacks = parse_folded(must("flame", imported(path)))
    for stack, ns in stacks:
        got[only([f for f in stack if not f.endswith("_[i]")], names)] += ns
    equal(sum(got.values()), sum(want.values()), "time")
    for stack, ns in want.items():
        if stack[:2] == ("_start", "main"):
            expect(got[stack] >= ns, "%r: %d ns, perf has %d" % (stack, got[stack], ns))
    whole = sum(ns for stack, ns in got.items() if stack[:2] == ("_start", "main"))
    early = sum(ns for stack, ns in got.items() if stack in ((), ("_start",)))  # in the loader
    note("%d samples, %d stacks, from main() %.1f %%" % (len(samples), len(got), 100 * whole / sum(got.values())))
    # A page of the stack that is not there at that moment ends perf's copy: it is reported, and rare.
    cut = sum(ns for stack, ns in stacks if any("[truncated" in f for f in stack))
    other = {stack: ns for stack, ns in got.items() if stack[:2] != ("_start", "main") and len(stack) > 1}
    expect(cut < 0.01 * sum(got.values()), "%d ns are cut: %r" % (cut, other))
    expect(whole + early + cut > 0.999 * sum(got.values()), "stacks that are not whole: %r" % other)
    return stacks


for _name in ("nofp", "shares", "recursion", "sighandler"):

    @case("stack memory is unwound as perf does, and where it does not: " + _name)
    def _(name=_name):
        compare_unwound(recorded(name, "--call-graph", "dwarf"), name)


@case("so it is through compression, and of processes that fork and execute")
def _():
    compare_unwound(recorded("nofp", "-z", "--call-graph", "dwarf"), "nofp")
    stacks = parse_folded(must("flame", imported(recorded("forks", "--call-graph", "dwarf"))))
    for work in ("grandchild_work", "spawned_work", "executed_work", "vforked_work"):
        expect(
            any(work in s and s[1:3] == ["_start", "__libc_start_main"] for s, _ns in stacks),
            "no whole stack with %s" % work,
        )


@case("a stack that is longer than its copy says so")
def _():
    path = recorded("recursion", "--call-graph", "dwarf,512")
    mark = "[truncated: the stack goes on beyond what was copied of it]"
    stacks = parse_folded(must("flame", imported(path)))
    cut = [s for s, _ns in stacks if mark in s]
    expect(cut, "none of %d stacks is cut" % len(stacks))
    for stack in cut:
        equal(stack[1], mark, "where the mark stands")
        expect("_start" not in stack, "%r" % (stack,))
    # One that is cut in the dynamic linker, before main, may be short.
    expect(max(map(len, cut)) > 3, cut)


@case("frames and samples are those of perf's own stackcollapse.py")
def _():
    script = perf("--exec-path").stdout.decode().strip() + "/scripts/python/stackcollapse.py"
    if not os.path.exists(script):
        raise Skip("this perf has no stackcollapse.py")
    for name in ("shares_fp", "forks", "syscall_bound"):
        path = recorded(name)
        done = perf("script", "--no-inline", "-i", path, "-s", script, "--", "--kernel", "--include-pid", "--include-tid")
        if done.returncode or not done.stdout:
            raise Skip("perf runs no Python here: %.200s" % done.stderr.decode().strip())
        want = collections.Counter({tuple(s): n for s, n in parse_folded(done.stdout.decode())})
        text = new_path("script") + ".txt"
        with open(text, "wb") as out:
            perf("script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i", path, stdout=out)
        got = collections.Counter()
        for stack, n in parse_folded(must("flame", "--perf-script", text, "--perf-frames", "tid")):
            # What has no name is [unknown] there, and here its file.
            got[tuple("[unknown]" + f[f.index("]") + 1 :] if f[0] == "[" else f for f in stack)] += n
        equal(got, want, name)
        note("%s: %d stacks" % (name, len(want)))


@case("perf script's text makes the picture that the perf.data makes")
def _():
    path = recorded("shares_fp")
    names = {f for s in reported(path) for f, file in s[3] if file.endswith("/shares_fp")} - {"[unknown]"}
    text = new_path("script") + ".txt"
    with open(text, "wb") as out:
        out.write(perf("script", "--no-inline", "-F", SCRIPT.replace("sym", "sym,symoff"), "-i", path).stdout)
    want, got, trace = collections.Counter(), collections.Counter(), collections.Counter()
    for _comm, _pid, period, frames in reported(path):
        want[only([f for f, _ in frames], names)] += period
    for stack, ns in parse_folded(must("flame", "--perf-script", text)):
        got[only(stack, names)] += ns
    for stack, ns in parse_folded(must("flame", imported(text))):
        trace[only(stack, names)] += ns
    equal(got, want, "flame --perf-script")
    equal(trace, want, "import of the text")


@case("functions of one name in two libraries and the program are three, with the periods of perf's")
def _():
    path = recorded("namesakes")
    want = collections.Counter()
    for _comm, _pid, period, frames in reported(path):
        if frames and frames[-1][0] == "helper":
            want[re.sub(r"\.so\..*", ".so", os.path.basename(frames[-1][1])) + "!helper"] += period
    if len(want) < 3:
        raise Skip("this perf names the helper of %s only" % sorted(want))
    (top,) = [t for t in json.loads(must("report", "top", "--json", "-n", "0", imported(path)))["tables"] if t["name"] == "cpu_top"]
    equal({row["function"]: row["self"] for row in top["rows"] if "helper" in row["function"]}, dict(want), "time of their own")


# Writes the words of its registers as perf numbers them (AArch64: x0 to x30, sp, pc; RISC-V: pc, ra and on) and its
# stack to argv[1]. Without frame pointers, so that its unwind tables alone tell its callers.
OTHER_MACHINE = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))
static volatile long sink;
static const char *to;
KEPT static void innermost(void)
{
	ucontext_t uc;
	uint64_t words[33];
	FILE *f = fopen(to, "w");
	getcontext(&uc);
#ifdef __aarch64__
	for (int i = 0; i < 31; i++)
		words[i] = uc.uc_mcontext.regs[i];
	words[31] = uc.uc_mcontext.sp;
	words[32] = uc.uc_mcontext.pc;
	uint64_t nr = 33, sp = words[31];
#else
	for (int i = 0; i < 32; i++)
		words[i] = uc.uc_mcontext.__gregs[i];
	uint64_t nr = 32, sp = words[2];
#endif
	uint64_t size = ((uint64_t)environ & ~7ul) - sp;
	fwrite(words, 8, nr, f);
	fwrite((void *)sp, 1, size, f);
	fclose(f);
	sink++;
}
KEPT static void middle(long n) { char more[n]; more[n - 1] = 1; innermost(); sink += more[n - 1]; }
KEPT static void outer(void) { middle(sink + 100); sink++; }
int main(int argc, char **argv) { to = argv[1]; outer(); return 0; }
"""


def perf_file(path, machine, words, stack, ip, program_path, segment):
    """A perf.data with one sample of registers and stack: what perf writes, and nothing besides (linux/perf_event.h)."""
    start, size, offset = segment
    pid, when = 4711, 10**9
    types = 1 | 2 | 4 | 256 | 4096 | 8192  # ip, tid, time, period, registers, stack
    mask = (1 << len(words)) - 1
    attr = struct.pack("<IIQQQQQII", 1, 136, 0, 1000, types, 0, 1 << 18, 0, 0)
    attr = (attr + bytes(136))[:80] + struct.pack("<QI", mask, 65528)
    attr += bytes(136 - len(attr))

    def record(kind, misc, body):
        body += bytes(-len(body) % 8)
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    name = program_path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    stack += bytes(-len(stack) % 8)
    data = record(3, 0, struct.pack("<II", pid, pid) + b"other\0\0\0")
    data += record(1, 2, struct.pack("<IIQQQ", pid, pid, start, size, offset) + name)
    sample = struct.pack("<QIIQQQ", ip, pid, pid, when, 1000, 2) + struct.pack("<%dQ" % len(words), *words)
    data += record(9, 2, sample + struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack)))
    text = machine.encode() + b"\0"
    feature = struct.pack("<I", len(text)) + text
    at = 104 + 136 + 16
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 136 + 16, 104, 136 + 16, at, len(data), 0, 0)
    head += struct.pack("<QQQQ", 1 << 6, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(head + attr + struct.pack("<QQ", 0, 0) + data)
        file.write(struct.pack("<QQ", at + len(data) + 16, len(feature)) + feature)


def for_machine(machine, pc):
    @case("%s: stacks of another machine are unwound by the tables of its files" % machine)
    def _():
        cc, qemu = need_tool(machine + "-linux-gnu-gcc"), need_tool("qemu-" + machine)
        path, dump = new_path("other"), new_path("dump")
        subprocess.run([cc, "-O2", "-g", "-static", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-x", "c", "-", "-o", path],
                       input=OTHER_MACHINE.encode(), check=True)
        subprocess.run([qemu, path, dump], check=True)
        with open(dump, "rb") as file:
            words = struct.unpack("<%dQ" % (33 if pc else 32), file.read(8 * (33 if pc else 32)))
            stack = file.read()
        heads = subprocess.run([need_tool("readelf"), "-lW", path], stdout=subprocess.PIPE, check=True, text=True).stdout
        segment = next(m for m in re.findall(r"LOAD +(0x\S+) (0x\S+) 0x\S+ (0x\S+) 0x\S+ R E", heads))
        offset, start, size = (int(text, 16) for text in segment)
        low = start & ~4095
        data = new_path("other") + ".data"
        perf_file(data, machine, words, stack, words[pc], path, (low, start + size - low, offset - (start - low)))
        trace = new_path("imported")
        must("import", "-o", trace, data)
        (frames, _), = parse_folded(must("flame", "--view", "cpu", trace))
        names = [f.split(" (")[0] for f in frames]
        note(";".join(names))
        at = names.index("main")
        equal(names[at:], ["main", "outer", "middle", "innermost"], "callers by unwind tables alone")
        expect(not any("truncated" in name for name in names), frames)


for_machine("aarch64", 32)
for_machine("riscv64", 0)


run_cases()
