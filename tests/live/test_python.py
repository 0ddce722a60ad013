#!/usr/bin/env python3
"""CPU samples of Python programs of known shares, on every Python of this machine."""

import ast
import os
import re

from machine import PROGRAMS, SCRIPTS, need, pythons
from recording import record
from shares import check_shares, check_whole, weight_of
from tap import Skip, case, equal, expect, run_cases


def in_order(*patterns):
    """Stacks with frames that match these, in this order from the outside."""
    matches = [re.compile(p).match for p in patterns]

    def wanted(frames):
        rest = iter(frames)
        return all(any(match(frame) for frame in rest) for match in matches)

    return wanted


def python(name, file):
    """A Python frame of function @name."""
    return r"%s \(%s:\d+\)$" % (re.escape(name), re.escape(file))


def script(sampler, interpreter, name, *words, switches=(), **how):
    need(sampler)
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    path = os.path.join(SCRIPTS, name)
    return record(interpreter, *switches, path, *words, sampler=sampler, env=environment, **how)


def check_flat(sampler, interpreter):
    run = script(sampler, interpreter, "py_shares.py", "0.7" if sampler == "perf" else "1")
    file = "py_shares.py"
    outside = [python(n, file) for n in ("<module>", "main", "run")]
    check_shares(run, sampler, {n: in_order(*outside, python(n, file)) for n in "abc"})
    check_whole(run)
    frames = {f for frames, _ in run.stacks() for f in frames if f.startswith("a (")}
    lines = {int(f[:-1].rsplit(":", 1)[1]) for f in frames}
    expect(
        lines and lines <= lines_of(os.path.join(SCRIPTS, file), "a"),
        "lines of a: %s" % sorted(lines),
    )


def lines_of(path, function):
    """The lines that function has in the file."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return set(range(node.lineno, node.end_lineno + 1))
    raise AssertionError("no function %s in %s" % (function, path))


def check_mixed(sampler, interpreter):
    """Python, C, Python: each at its place on one stack, once."""
    library = os.path.join(PROGRAMS, "libpycalls.so")
    run = script(sampler, interpreter, "py_calls_c_calls_py.py", library, "0.8")
    file = "py_calls_c_calls_py.py"
    drive = [python(n, file) for n in ("<module>", "main", "drive")]
    spin = python("spin", "py_burn.py")
    back = [*drive, python("call_back", file), r"c_calls_back$"]
    calls_back = in_order(*back)
    in_callback = in_order(*back, python("py_callback", file), spin)
    check_shares(
        run,
        sampler,
        {
            "py_work": in_order(*drive, python("py_work", file), spin),
            "c_work": in_order(*drive, python("call_c", file), r"c_work$"),
            "c_itself": lambda f: calls_back(f) and not in_callback(f) and f[-1] == "c_calls_back",
            "py_callback": in_callback,
        },
    )
    check_whole(run)
    for frames, _ in run.stacks():
        for name in ("main", "drive", "py_callback"):
            nr = len([f for f in frames if re.match(python(name, file), f)])
            expect(nr <= 1, "%s is %d times in %s" % (name, nr, ";".join(frames)))


def check_threads(sampler, interpreter):
    # Its threads wait for the GIL, and on a busy machine that may cost one more than another: then it
    # ends with 1. Its samples are held against the shares that it measured, whatever they were.
    run = script(sampler, interpreter, "py_threads.py", "0.8", status=None)
    expect(run.status in (0, 1), "its status is %d" % run.status)
    file = "py_threads.py"
    bodies = {
        n: in_order(r"start_thread|clone", python("run_thread", file), python(n, file))
        for n in ("x_work", "y_work", "z_work")
    }
    check_shares(run, sampler, bodies)
    check_whole(run)


def check_forks(sampler, interpreter):
    # The tracker that multiprocessing starts ends a moment later than the program: a line says so.
    run = script(sampler, interpreter, "py_fork.py", "0.8", quiet=False)
    file = "py_fork.py"
    parts = {
        n: in_order(python(n, file), python("spin", "py_burn.py"))
        for n in ("parent_work", "child_work", "pool_work")
    }
    # The same number of turns each, at the mercy of what else the machine does.
    check_shares(
        run, sampler, parts, {"parent_work": 0.25, "child_work": 0.25, "pool_work": 0.5}, bar=0.1
    )
    check_whole(run)
    working = {e["process"] for e in run.events("sample")}
    expect(len(working) >= 4, "samples of %d processes" % len(working))


def check_trampolines(sampler, interpreter):
    """-X perf: the code that is made for each Python function is no frame beside it."""
    run = script(sampler, interpreter, "py_shares.py", "0.7", switches=["-X", "perf"])
    file = "py_shares.py"
    outside = [python(n, file) for n in ("<module>", "main", "run")]
    check_shares(run, sampler, {n: in_order(*outside, python(n, file)) for n in "abc"})
    check_whole(run)
    made = weight_of(run.stacks(), lambda frames: any(f.startswith("py::") for f in frames))
    total = sum(w for _, w in run.stacks())
    expect(made < 0.03 * total, "%.2f %% has trampolines" % (100 * made / total))


CHECKS = {
    "shares of Python functions are right": check_flat,
    "Python that calls C that calls Python is one stack in that order": check_mixed,
    "Python threads have their shares": check_threads,
    "forked and spawned Pythons are followed": check_forks,
}


def add_cases():
    found = pythons()
    for version, path in found:
        for sentence, check in CHECKS.items():
            case("perf: Python %s: %s" % (version, sentence), tries=3)(
                lambda c=check, p=path: c("perf", p)
            )
        if [int(number) for number in version.split(".")] >= [3, 12]:
            case("perf: Python %s: -X perf adds no frames" % version, tries=3)(
                lambda p=path: check_trampolines("perf", p)
            )
    for version, path in found[-1:]:
        for sentence, check in CHECKS.items():
            case("timer: Python %s: %s" % (version, sentence), tries=3)(
                lambda c=check, p=path: c("timer", p)
            )
    if not found:

        @case("Python frames are right")
        def _():
            raise Skip("no Python from 3.8 to 3.15 here")


@case("--no-python leaves the interpreter's own frames")
def _():
    need("perf")
    found = pythons()
    if not found:
        raise Skip("no Python from 3.8 to 3.15 here")
    run = record(
        found[-1][1],
        os.path.join(SCRIPTS, "py_shares.py"),
        "0.2",
        sampler="perf",
        options=["--no-python"],
    )
    frames = {f for frames, _ in run.stacks() for f in frames}
    equal([f for f in frames if "py_shares.py:" in f], [], "Python frames")
    evals = weight_of(run.stacks(), lambda f: any("_PyEval_EvalFrameDefault" in x for x in f))
    expect(evals > 0.5 * sum(w for _, w in run.stacks()), "the interpreter is not on the stacks")


add_cases()
run_cases()
