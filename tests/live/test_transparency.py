#!/usr/bin/env python3
"""The recorded program must not notice: the same output, exit status, signals, descriptors,
threads and environment as without aflame."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

from machine import AFLAME, SAMPLERS, WORKPLACE, any_sampler, need, need_tool, program, samplers
from recording import Trace, new_path, record
from tap import Skip, case, equal, expect, note, run_cases

ADDED_VARIABLES = {
    "LD_PRELOAD",
    "OPENCL_LAYERS",
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
    "KOKKOS_TOOLS_LIBS",
    "INTEL_LIBITTNOTIFY64",
    "AFLAME_SESSION",
    "ZE_ENABLE_TRACING_LAYER",
}


def unrecorded(*command, **how):
    """(status, or the signal below zero, standard output, standard error) without aflame."""
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("cwd", WORKPLACE)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120, **how
    )
    return done.returncode, done.stdout, done.stderr


def both(sampler, *command, **how):
    """Without and with aflame: the two (status, stdout, stderr), and the recording."""
    need(sampler)
    before = unrecorded(*command, **how)
    run = record(*command, sampler=sampler, status=None, quiet=False, **how)
    return before, (run.status, run.stdout, run.stderr), run


def same(sampler, *command, **how):
    before, after, run = both(sampler, *command, **how)
    equal(after, before, "(status, stdout, stderr)")
    return run


def without_truth(output):
    """What measures itself prints other numbers each time."""
    return [line for line in output.splitlines() if not line.startswith(b"truth ")]


def same_but_numbers(sampler, *command, status=0):
    before, after, run = both(sampler, *command)
    if before[0] == 77:
        raise Skip(before[1].decode().strip().splitlines()[-1])
    equal(before[0], status, "status without aflame")
    equal(after[0], status, "status")
    equal(without_truth(after[1]), without_truth(before[1]), "standard output")
    equal(after[2], before[2], "standard error")
    return run


EXACT = {
    "256 byte values on standard output, a line on standard error, status 42": ["prints"],
    "a program that is over at once": ["short"],
    "_exit in the middle of a thread's work": ["exit_group", "0.3"],
    "death by abort": ["crash", "abort", "0.1"],
    "death by a bad address": ["crash", "segv", "0.1"],
    "death by SIGKILL": ["crash", "kill", "0.1"],
    "every descriptor closed": ["closes_fds", "0.3"],
    "every signal blocked": ["blocks_signals", "0.3"],
}

MEASURED = {
    "300 programs started by vfork": (["vfork_exec", "0.5"], 0),
    "two programs by exec in one process": (["exec_chain", "0.2"], 0),
    "SIGTRAP in use by the program": (["own_sigtrap", "0.5"], 0),
    "SIGPROF in use by the program": (["own_sigprof", "0.5"], 0),
    "namespaces that want one thread": (["setns_unshare", "0.3"], 0),
}


def add_programs():
    for sampler in SAMPLERS:
        for words, command in EXACT.items():
            case("%s: nothing changes: %s" % (sampler, words))(
                lambda s=sampler, c=command: same(s, program(c[0]), *c[1:])
            )
        for words, (command, status) in MEASURED.items():
            case(
                "%s: nothing changes: %s" % (sampler, words),
                tries=2 if "sigprof" in command[0] else 1,
            )(
                lambda s=sampler, c=command, st=status: same_but_numbers(
                    s, program(c[0]), *c[1:], status=st
                )
            )


add_programs()


@case("the work before a crash is in the trace")
def _():
    for how, number in (
        ("abort", signal.SIGABRT),
        ("segv", signal.SIGSEGV),
        ("kill", signal.SIGKILL),
    ):
        run = record(
            program("crash"), how, "0.3", sampler=any_sampler(), status=-number, quiet=False
        )
        frames = [frames for frames, _ in run.stacks() if frames[-1] == "before_crash"]
        expect(frames, "no sample in before_crash (%s)" % how)
        notes = {n["key"]: n["value"] for n in run.fields("note")}
        expect(
            "signal %d" % number in notes["end.status"],
            "the end is reported as %s" % notes["end.status"],
        )


@case("a static program runs as ever, and a message says why nothing was recorded")
def _():
    for name in ("static_hello", "static_pie_hello"):
        done = record_raw(program(name))
        equal(done.stdout, b"hello\n", "its output")
        equal(done.returncode, 0, "its status")
        expect(b"statically linked" in done.stderr, done.stderr.decode())


def record_raw(*command, sampler="none", **how):
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [AFLAME, "record", "-q", "-o", new_path(), "--sample", sampler, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
        **how,
    )


# --- pipes and input


@case("a program reads its standard input")
def _():
    data = bytes(range(256)) * 400
    path = os.path.join(WORKPLACE, "input")
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "rb") as file:
        run = record("cat", sampler=any_sampler(), stdin=file)
    expect(run.stdout == data, "cat gave %d bytes of %d" % (len(run.stdout), len(data)))


@case("a recorded program is one part of a shell's pipeline")
def _():
    line = "printf 'b\\na\\n' | '%s' record -q -o '%s' --sample none -- sort | tr a-z A-Z" % (
        AFLAME,
        new_path(),
    )
    equal(unrecorded("sh", "-c", line), (0, b"A\nB\n", b""), "(status, stdout, stderr)")


@case("a recorded shell runs a pipeline of its own")
def _():
    run = same(
        any_sampler(), "sh", "-c", "printf 'b\\na\\na\\n' | sort | uniq -c | tr -d ' '; exit 5"
    )
    programs = {os.path.basename(p["exe"]) for p in run.fields("process")}
    expect({"sort", "uniq", "tr"} <= programs, "processes: %s" % sorted(programs))


# --- what the program sees of itself


@case("the environment has eight more variables and is otherwise the same")
def _():
    env = need_tool("env")
    environment = dict(os.environ, WITH_BLANK="a b\nc", LD_LIBRARY_PATH="/nowhere")
    before, after, _ = both(any_sampler(), env, "-0", env=environment)
    old, new = (
        {v.split(b"=", 1)[0].decode(): v for v in o[1].split(b"\0") if v} for o in (before, after)
    )
    equal(set(new) - set(old), ADDED_VARIABLES - set(old), "added variables")
    equal({k for k in old if old[k] != new.get(k)}, set(), "changed variables")


@case("a library that the user preloads stays loaded, behind ours")
def _():
    env = need_tool("env")
    own = os.path.join(os.path.dirname(program("shares")), "libpycalls.so")
    _, after, _ = both(any_sampler(), env, env=dict(os.environ, LD_PRELOAD=own))
    lines = [l for l in after[1].decode().splitlines() if l.startswith("LD_PRELOAD=")]
    expect(
        len(lines) == 1 and lines[0].endswith(own) and "libaflame.so" in lines[0],
        "LD_PRELOAD: %s" % lines,
    )


@case("no descriptor is added")
def _():
    ls = need_tool("ls")
    for sampler in samplers():
        same(sampler, ls, "/proc/self/fd")
        same(sampler, sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))")


@case("threads, signal masks, umask, limits and processors are as they were")
def _():
    def odd():  # an unusual start, to be handed on as it is
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGHUP, signal.SIGINT])
        os.umask(0o27)

    grep = need_tool("grep")
    for sampler in samplers():
        same(
            sampler,
            grep,
            "-E",
            "^(Threads|SigBlk|SigIgn|Umask|Uid|Gid|NoNewPrivs|Cpus_allowed):",
            "/proc/self/status",
            preexec_fn=odd,
        )
        same(sampler, "cat", "/proc/self/limits", preexec_fn=odd)


@case("the program stays in the recorder's process group and directory")
def _():
    code = "import os; print(os.getpgrp(), os.getsid(0), os.getcwd())"
    equal(
        record(sys.executable, "-c", code, sampler=any_sampler()).stdout,
        unrecorded(sys.executable, "-c", code)[1],
        "them",
    )


@case("signal handlers that the program asks for are those it set")
def _():
    code = (
        "import signal as s\n"
        "for n in (s.SIGTRAP, s.SIGPROF, s.SIGSEGV, s.SIGBUS, s.SIGINT): print(n, s.getsignal(n))\n"
        "s.signal(s.SIGPROF, s.SIG_IGN); print(s.getsignal(s.SIGPROF))\n"
        "s.signal(s.SIGTRAP, s.SIG_DFL); print(s.getsignal(s.SIGTRAP))\n"
    )
    for sampler in samplers():
        same(sampler, sys.executable, "-c", code)


@case("a child of a recorded program can be waited for, and only it")
def _():
    code = (
        "import os, subprocess\n"
        "print(subprocess.run(['true']).returncode, subprocess.run(['false']).returncode)\n"
        "try: print(os.waitpid(-1, 0))\n"
        "except ChildProcessError: print('no more children')\n"
    )
    for sampler in samplers():
        same(sampler, sys.executable, "-c", code)


# --- lives of their own


@case("a process that outlives the program goes on, and is reported")
def _():
    path = new_path("late")
    line = "(sleep 2; echo late >'%s') </dev/null >/dev/null 2>&1 & sleep 0.7; exit 3" % path
    run = record("sh", "-c", line, sampler=any_sampler(), status=3, quiet=False)
    expect(re.search(rb"^aflame: [12] process(es)? of the program still run", run.stderr), run.stderr)
    end = time.monotonic() + 20
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.05)
    expect(os.path.exists(path), "it did not live to write its file")


@case("a recorder is recorded like any program, and records")
def _():
    inner = Trace(new_path())
    outer = record(
        *(AFLAME, "record", "-q", "-o", inner.path, "-F", "997", "--sample", any_sampler(), "--"),
        *(program("shares"), "0.2"),
        sampler=any_sampler(),
    )
    inner.check()
    expect("aflame" in {os.path.basename(p["exe"]) for p in outer.fields("process")}, "no aflame")
    expect(len(inner.events("sample")) > 50, "%d samples inside" % len(inner.events("sample")))


# --- signals


COUNTER = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *a: seen.append(a[0]))
print("ready", flush=True)
end = time.monotonic() + 20
while not seen and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)
print("interrupted", len(seen), flush=True)
sys.exit(7)
"""


class Background:
    """A recording that goes on; in a session of its own, so that its group can be signalled."""

    def __init__(self, *command, sampler=None):
        sampler = sampler or any_sampler()
        self.trace = Trace(new_path())
        self.process = subprocess.Popen(
            [AFLAME, "record", "-q", "-o", self.trace.path, "--sample", sampler, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        equal(self.process.stdout.readline(), b"ready\n", "its first line")

    def end(self):
        """(status, the rest of the output, standard error), the trace checked."""
        out, err = self.process.communicate(timeout=60)
        self.trace.check()
        return self.process.returncode, out, err


@case("an interrupt of the process group ends program and recording well")
def _():
    for sampler in samplers():
        run = Background(program("sigint_wait"), sampler=sampler)
        os.killpg(run.process.pid, signal.SIGINT)
        equal(run.end(), (7, b"interrupted\n", b""), "(status, stdout, stderr)")


@case("an interrupt of the recorder alone reaches the program, once")
def _():
    run = Background(program("sigint_wait"))
    os.kill(run.process.pid, signal.SIGINT)
    equal(run.end(), (7, b"interrupted\n", b""), "(status, stdout, stderr)")
    run = Background(sys.executable, "-c", COUNTER)
    os.kill(run.process.pid, signal.SIGINT)
    equal(run.end(), (7, b"interrupted 1\n", b""), "(status, stdout, stderr)")


@case("SIGTERM and SIGHUP of the recorder alone end the program as they would")
def _():
    # Under nohup the program would ignore it, as it should.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        run = Background(program("sigint_wait"))
        os.kill(run.process.pid, number)
        equal(run.end(), (-number, b"", b""), "(status, stdout, stderr)")


def read_until(fd, text):
    got = b""
    end = time.monotonic() + 30
    while text not in got:
        expect(
            time.monotonic() < end and select.select([fd], [], [], 30)[0],
            "no %r in %r" % (text, got),
        )
        try:
            part = os.read(fd, 4096)
        except OSError:  # the other end is closed
            part = b""
        expect(part, "no %r in %r" % (text, got))
        got += part
    return got


@case("Ctrl-C at a terminal reaches the program once, and the trace is whole")
def _():
    trace = Trace(new_path())
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            AFLAME, [AFLAME, "record", "-q", "-o", trace.path, "--", sys.executable, "-c", COUNTER]
        )
    try:
        read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        got = read_until(terminal, b"interrupted 1")
        note(got)
        equal(
            os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if hasattr(os, "waitstatus_to_exitcode")
            else os.waitpid(pid, 0)[1] >> 8,
            7,
            "status",
        )
    finally:
        os.close(terminal)
    trace.check()


@case("recording stops after --duration and the program goes on")
def _():
    run = record(program("shares"), "0.6", sampler=any_sampler(), options=["--duration", "300ms"])
    sampled_ms = sum(s["weight_ns"] for s in run.fields("sample")) / 1e6
    note("%.0f ms sampled of %.0f" % (sampled_ms, run.truth["cpu_ms"]))
    expect(0 < sampled_ms < 0.7 * run.truth["cpu_ms"], "%.0f ms were sampled" % sampled_ms)


run_cases()
