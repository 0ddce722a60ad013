#!/usr/bin/env python3
"""What the kernel adds: its stacks, programs that cannot be preloaded, time off the CPU."""

import glob
import os
import re
import shutil
import subprocess
import time

from machine import AFLAME, need, need_tool, program
from recording import Trace, aflame, bare, must, new_path, parse_truth, record, used_by_tree_ns
from shares import TWO_POINTS, having, weight_of
from stranger import Stranger
from tap import Skip, case, equal, expect, near, note, run_cases
from witnessed import Sampled

RATE = 4999


def kernel_record(name, *words, options=(), rate=RATE, counted=(), **how):
    need("bpf")
    run = record(program(name), *words, sampler="bpf", rate=rate, options=options, **how)
    return no_losses(run, counted)


def losses(trace):
    lost = {}
    for fields in trace.fields("lost"):
        lost[fields["reason"]] = lost.get(fields["reason"], 0) + fields["count"]
    return lost


def no_losses(trace, counted=()):
    lost = losses(trace)
    expect(not set(lost) - {"PAUSED", "THROTTLED", *counted}, "lost: %s" % lost)
    return trace


def record_waiting(words, options=()):
    """A shell that runs already does @words once it is recorded by -p: (trace, its output)."""
    need("bpf")
    path = new_path()
    shell = subprocess.Popen(
        ["sh", "-c", "read go; " + words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "-F", str(RATE), *options, "-p", str(shell.pid)]
    )
    time.sleep(1)
    output = shell.communicate("go\n", timeout=60)[0]
    equal(recorder.wait(timeout=60), 0, "status of the recorder")
    trace = Trace(path)
    trace.check()
    return no_losses(trace), output


def cpu_ns(trace):
    return sum(weight for _, weight in trace.stacks())


def check_cpu(trace, truth_ms):
    """Nothing is counted twice and nothing is missing but what the trace says is."""
    lost = losses(trace)
    ms = cpu_ns(trace) / 1e6 + (lost.get("THROTTLED", 0) + lost.get("BUSY", 0)) * 1e3 / RATE
    near(ms / truth_ms, 1, TWO_POINTS, "CPU time in samples over rusage")


def check_states(trace, truth):
    """Sleeping, computing, in the kernel: as much of each as there was, and where."""
    truth_us = {"sleep": truth["slept_us"], "user": truth["user_us"], "kernel": truth["kernel_us"]}
    whole = sum(truth_us.values())
    on, off = trace.stacks(), trace.stacks(weight="off-cpu")
    got = {
        "sleep": weight_of(off, having("main", "sleep_part", "do_nanosleep")),
        "user": weight_of(on, having("main", "user_part")),
        "kernel": weight_of(on, having("main", "kernel_part")),
    }
    for name, weight in got.items():
        near(weight / 1000 / whole, truth_us[name] / whole, TWO_POINTS, name)


@case("a program that sleeps, computes and reads is reported so", tries=3)
def _():
    run = kernel_record("states", "2", options=["--off-cpu"])
    check_states(run, run.truth)


@case("so is a static one", tries=3)
def _():
    run = kernel_record("static_states", "2", options=["--off-cpu"])
    check_states(run, run.truth)
    check_cpu(run, run.truth["cpu_ms"])


@case("so is one that runs already", tries=3)
def _():
    need("bpf")
    trace, output = record_waiting("exec %s 2" % program("states"), options=["--off-cpu"])
    check_states(trace, parse_truth(output.encode()))


@case("the kernel's share of a program is what its CPU clock says", tries=3)
def _():
    run = kernel_record("syscall_bound")
    stacks = run.stacks()
    kernel = sum(w for frames, w in stacks if frames[-1].endswith("_[k]"))
    # getrusage splits by the scheduler's ticks: of a second, itself within three points.
    note("share of system time by getrusage: %.4f" % run.truth["share.rusage_system"])
    near(kernel / cpu_ns(run), run.truth["share.kernel_work"], TWO_POINTS, "in the kernel")
    check_cpu(run, run.truth["cpu_ms"])


@case("no moment of a process that carries libaflame is counted twice or lost", tries=3)
def _():
    run = kernel_record("shares", "1")
    check_cpu(run, run.truth["cpu_ms"])
    samples = run.counts().get("sample", 0)
    expect(samples > 0.9 * RATE * run.truth["cpu_ms"] / 1000, "%d samples inside" % samples)


@case("nor of threads", tries=3)
def _():
    # A tick that meets a thread at its very beginning is counted as lost: 2000 begin.
    run = kernel_record("threads", "0.5", counted=("BUSY",))
    expect(losses(run).get("BUSY", 0) < 20, "lost: %s" % losses(run))
    check_cpu(run, used_by_tree_ns(run) / 1e6)


def check_all_sampled(run, bar=TWO_POINTS):
    """By getrusage; not even what the trace says is missing may be."""
    share = cpu_ns(run) / 1e6 / run.truth["cpu_ms"]
    # Beside what loads every CPU, samples of who wakes and waits stood for up to 9 % more.
    near(min(share, max(1, share - 0.08)), 1, bar, "CPU time in samples over rusage")


@case("a thread for each request is sampled as much as it computes", tries=3)
def _():
    for mode in ("requests", "moments"):
        note(mode)
        run = kernel_record("serves", mode, rate=997)
        check_all_sampled(run)
        stacks = run.stacks()
        whole = weight_of(stacks, having("request_thread", "request", "work"))
        near(whole / weight_of(stacks, having("work")), 1, TWO_POINTS, "in whole stacks")


@case("so is a program where such threads and one that stays are side by side", tries=3)
def _():
    check_all_sampled(kernel_record("serves", "mixed", rate=997))


@case("what wakes and waits all the time is sampled, by threads and by processes", tries=3)
def _():
    check_all_sampled(kernel_record("serves", "switches", rate=997))
    # A process is charged from the moment when another CPU wakes it, and no clock finds it by then.
    for mode in ("turns", "far"):
        check_all_sampled(kernel_record("serves", mode, "3", rate=997))


@case("no moment of children by fork, vfork, spawn and exec is counted twice or lost", tries=3)
def _():
    run = kernel_record("forks", "1")
    check_cpu(run, used_by_tree_ns(run) / 1e6)
    stacks = run.stacks()
    for work in ("parent", "child", "grandchild", "vforked", "spawned", "executed"):
        share = weight_of(stacks, having(work + "_work")) / cpu_ns(run)
        near(share, 1 / 6, TWO_POINTS, work)


@case("nor of a program that runs already, with the children it has later", tries=3)
def _():
    trace, _ = record_waiting("%s 0.5; %s 0.5" % (program("forks"), program("static_states")))
    used = sum(e["user_ns"] + e["kernel_ns"] for e in trace.fields("process_end"))
    check_cpu(trace, used / 1e6)
    names = {os.path.basename(p["exe"]) for p in trace.fields("process")}
    expect({"forks", "static_states"} <= names, names)


@case("also while it runs another program, and as it ends, a process has frames of its own")
def _():
    need("bpf")
    path = new_path()
    must("record", "-q", "-o", path, "--sample", "bpf", "-F", str(RATE), "--", "sh", "-c",
         "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done")
    sampled = Sampled(aflame("flame", "--view", "cpu", path).stdout)
    near(sampled.program_s / sampled.all_s, 1, TWO_POINTS, "time with a frame of a program")
    stacks = Trace(path).stacks()
    for call in ("execve", "exit"):
        part = sum(w for frames, w in stacks if any(call in f and f.endswith("_[k]") for f in frames))
        expect(part > 0.005 * sum(w for _, w in stacks), "%s in the kernel has %.1f ms" % (call, part / 1e6))


@case("processes that live for a moment keep their names")
def _():
    true = need_tool("true")
    script = "i=0; while [ $i -lt 100 ]; do %s $i; %s; i=$((i+1)); done" % (
        true,
        program("static_hello"),
    )
    need("bpf")
    run = record(need_tool("sh"), "-c", script, sampler="bpf", rate=99)
    processes = run.fields("process")
    trues = [p for p in processes if p["cmdline"].startswith(true + " ")]
    equal(sorted(int(p["cmdline"].split()[1]) for p in trues), list(range(100)), "of true")
    statics = [p for p in processes if os.path.basename(p["exe"]) == "static_hello"]
    equal(len(statics), 100, "of the static program")
    ends = run.fields("process_end")
    expect(all(e["status"] in (0, -1) for e in ends), "a status")
    ended = {e["process"] for e in ends if e["status"] == 0}
    expect(len(ended) > 200, "processes with a status: %d" % len(ended))


@case("a process tells what it used while it was watched", tries=3)
def _():
    need("bpf")
    path = new_path()
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        time.sleep(1)
        began = time.monotonic()
        done = subprocess.run(
            [AFLAME, "record", "-q", "-o", path, "-d", "0.5s", "-p", str(busy.pid)],
            check=False,
            timeout=60,
        )
        took_ms = (time.monotonic() - began) * 1e3
        busy.kill()
    equal(done.returncode, 0, "status of the recorder")
    trace = Trace(path)
    ends = trace.fields("process_end")
    equal(len(ends), 1, "ends")
    used_ms = (ends[0]["user_ns"] + ends[0]["kernel_ns"]) / 1e6
    expect(used_ms <= took_ms + 20, "%.0f ms of CPU in %.0f ms" % (used_ms, took_ms))
    expect(used_ms >= cpu_ns(trace) / 1e6 - 40, "%.0f ms of CPU are too few" % used_ms)


@case("a process in a pid namespace is known by the pid that it sees", tries=3)
def _():
    need("bpf")
    unshare = need_tool("unshare")
    if subprocess.run([unshare, "--pid", "--fork", "true"], check=False).returncode:
        raise Skip("pid namespaces are refused")
    for name in ("shares", "static_states"):
        run = record(
            unshare, "--pid", "--fork", program(name), "0.5", sampler="bpf", rate=RATE
        )
        inside = [p for p in run.fields("process") if os.path.basename(p["exe"]) == name]
        equal([p["pid"] for p in inside], [1], "pids of " + name)
        ours = sum(w for frames, w in run.stacks() if bare(frames[0]) == name)
        near(ours / 1e6 / run.truth["cpu_ms"], 1, 2 * TWO_POINTS, "CPU time of " + name)
        expect("NO_JOIN" not in [e["reason"] for e in run.fields("lost")], "kernel parts left")


@case("another user's process is listed as that user's")
def _():
    if os.geteuid():
        raise Skip("needs root")
    other = "exec setpriv --reuid 65534 --clear-groups %s 0.3" % program("static_states")
    trace, _output = record_waiting(other)
    users = [n["value"] for n in trace.fields("process_note") if n["key"] == "uid"]
    equal(set(users), {"65534"}, "users")


@case("a process in a container is listed with the container")
def _():
    need("bpf")
    digits = "%064x" % (os.getpid() * 0x123456789ABCDEF123)
    trees = ["/sys/fs/cgroup", *glob.glob("/sys/fs/cgroup/*")]
    tree = next((t for t in trees if os.path.exists(t + "/cgroup.procs")), None)
    if not tree:
        raise Skip("no control groups here")
    place = "%s/docker-%s.scope" % (tree, digits)
    try:
        os.mkdir(place)
    except OSError as error:
        raise Skip("no control group can be made: %s" % error) from error
    try:
        words = "echo $$ > %s/cgroup.procs && exec %s 0.1" % (place, program("static_states"))
        run = record(need_tool("sh"), "-c", words, sampler="bpf", rate=99)
    finally:
        os.rmdir(place)
    names = {p["process"]: p for p in run.events("process")}
    notes = [n for n in run.fields("process_note") if n["key"] == "container"]
    equal({n["value"] for n in notes}, {"docker:" + digits[:12]}, "containers")
    inside = {os.path.basename(names[n["process"]]["fields"]["exe"]) for n in notes}
    expect("static_states" in inside, "in there: %s" % inside)


def programs_in_kernel():
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.path.exists(bpftool):
        raise Skip("bpftool is not installed")
    listed = subprocess.run([bpftool, "prog", "list"], stdout=subprocess.PIPE, check=True).stdout
    return len(re.findall(rb"name (cpu_sample|task_sample|on_switch)", listed))


@case("a recorder that is killed leaves nothing in the kernel, and its trace opens", tries=3)
def _():
    need("bpf")
    before = programs_in_kernel()
    path = new_path()
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "-F", "997", "--off-cpu", "--", program("states"), "3"],
        stdout=subprocess.PIPE,
    )
    time.sleep(1)
    expect(programs_in_kernel() > before, "no program was there")
    recorder.kill()
    recorder.communicate(timeout=60)
    for _ in range(50):
        if programs_in_kernel() == before:
            break
        time.sleep(0.1)
    equal(programs_in_kernel(), before, "programs left")
    trace = Trace(path)
    must("print", "--count", path)
    expect(weight_of(trace.stacks(), having("main", "kernel_part")) > 0, "no kernel stacks")


@case("the recorder keeps few privileges, and the program all of its own")
def _():
    need("bpf")

    def effective(pid):
        with open("/proc/%d/status" % pid) as status:
            return int(re.search(r"CapEff:\s*(\w+)", status.read()).group(1), 16)

    path = new_path()
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "--", "sh", "-c", "echo $$; read end"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    program_pid = int(recorder.stdout.readline())
    had = effective(program_pid)
    for _ in range(100):  # the program may be there before the recorder is done with its preparations
        kept = effective(recorder.pid)
        if not kept & (1 << 21 | 1 << 16 | 1 << 12):
            break
        time.sleep(0.02)
    recorder.communicate("\n", timeout=60)
    equal(had, effective(os.getpid()), "capabilities of the program")
    equal(kept & (1 << 21 | 1 << 16 | 1 << 12), 0, "sys_admin, sys_module, net_admin of the recorder")
    expect(kept & had == kept, "more than there was")


@case("all processes of the machine are seen, also those that nobody named", tries=3)
def _():
    need("bpf")
    other = subprocess.Popen([program("static_states"), "1"], stdout=subprocess.DEVNULL)
    path = new_path()
    recorder = subprocess.Popen(
        [AFLAME, "record", "-q", "-o", path, "-F", "997", "-a", "-d", "0.7"]
    )
    equal(recorder.wait(timeout=60), 0, "status")
    other.wait(timeout=60)
    trace = Trace(path)
    trace.check()
    seen = [f for f, _ in trace.stacks() if f[0] == "static_states" and "user_part" in map(bare, f)]
    expect(seen, "the other program is not there")
    pids = {p["pid"] for p in trace.fields("process")}
    expect(recorder.pid not in pids, "the recorder records itself")


@case("a known wait is blocked time of its whole length", tries=3)
def _():
    run = kernel_record("wakes", options=["--off-cpu"], rate=99)
    waits = weight_of(run.stacks(weight="off-cpu"), having("main", "wait_for_it"))
    near(waits / 1000 / run.truth["waited_us"], 1, TWO_POINTS, "blocked over the clock")


@case("a wait is shown with the thread that ended it, and where it did", tries=3)
def _():
    run = kernel_record("wakes", options=["--off-cpu=wakers"], rate=99)
    tid = int(run.truth["tid"])
    wakes = {w["fields"]["wake"]: w for w in run.events("wake")}
    waits = [e["fields"] for e in run.events("offcpu") if e["tid"] == tid]
    long_waits = [w for w in waits if w["blocked_ns"] > 3e6]
    named = [wakes[w["wake"]] for w in long_waits if w["wake"] in wakes]
    expect(len(named) >= 0.95 * run.truth["rounds"], "%d wakes of %s" % (len(named), run.truth))
    names = {t["fields"]["tid"]: t["fields"]["name"] for t in run.events("thread")}
    names.update({c["fields"]["tid"]: c["fields"]["name"] for c in run.events("comm")})
    who = [names.get(w["tid"]) for w in named]
    expect(who.count("waker") >= 0.95 * len(who), "woken by %s" % set(who))


@case("--min-block leaves out what is shorter")
def _():
    run = kernel_record("wakes", options=["--off-cpu", "--min-block", "100ms"], rate=99)
    short = [e for e in run.fields("offcpu") if e["blocked_ns"] + e["queued_ns"] < 100e6]
    equal(short, [], "blocks of less")


@case("without the rights all is as before, and a line says what they would add")
def _():
    need("bpf")
    with Stranger() as other:
        record = [other.install(), "record", "-o", other.path("t")]
        done = other.run(record + ["--off-cpu", "--", "true"])
        equal(done.returncode, 0, "status of --off-cpu: that of the program, which runs anyway")
        expect(b"--off-cpu needs" in done.stderr and b"setcap" in done.stderr, done.stderr)
        done = other.run(record + ["--strict", "--off-cpu", "--", "true"])
        equal(done.returncode, 1, "status of --off-cpu --strict")
        done = other.run(record + ["-q", "--", other.program("shares"), "0.1"])
        equal(done.returncode, 0, "status: %s" % done.stderr)
        expect(Trace(other.path("t")).counts().get("sample"), "no samples")


@case("the programs of a recording are loaded once, and the kernel's types read once")
def _():
    need("bpf")
    strace = need_tool("strace")
    calls, trace = new_path("calls"), new_path()
    done = subprocess.run([strace, "-e", "trace=openat", "-o", calls, AFLAME, "record", "-q", "-o", trace,
                           "--sample", "bpf", "--", "true"], stderr=subprocess.PIPE)
    equal((done.returncode, done.stderr), (0, b""), "the recording")
    with open(calls) as file:
        read = [line for line in file if '"/sys/kernel/btf/vmlinux"' in line]
    equal(len(read), 1, "times that the kernel's types were read")


run_cases()
