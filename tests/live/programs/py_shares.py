"""py_shares.py [SCALE]: flat shares in pure Python.

Truth: of the CPU time a has 60 %, b 30 % and c 10 %, each called by run, called by main. They do the
same loop in their own frame, interleaved every few milliseconds, one thread, about 1.5 s of CPU.
Exit status: 0, or 1 when the measured shares are not these.
"""

import sys
import time

import py_burn


def a(n):
    x = 1
    for i in range(6 * n):
        x = (x * 69069 + i) & 0xFFFFFFFF
    return x


def b(n):
    x = 2
    for i in range(3 * n):
        x = (x * 69069 + i) & 0xFFFFFFFF
    return x


def c(n):
    x = 3
    for i in range(n):
        x = (x * 69069 + i) & 0xFFFFFFFF
    return x


def run(rounds, n):
    spent = {"a": 0, "b": 0, "c": 0}
    for _ in range(rounds):
        start = time.thread_time_ns()
        a(n)
        after_a = time.thread_time_ns()
        b(n)
        after_b = time.thread_time_ns()
        c(n)
        after_c = time.thread_time_ns()
        spent["a"] += after_a - start
        spent["b"] += after_b - after_a
        spent["c"] += after_c - after_b
    return spent


def main():
    n = max(1, py_burn.spins_per_ms() // 3)
    return py_burn.report(run(int(450 * py_burn.scale()), n), {"a": 0.6, "b": 0.3, "c": 0.1})


if __name__ == "__main__":
    sys.exit(main())
