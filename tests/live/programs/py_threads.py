"""py_threads.py [SCALE]: Python threads with different work.

Truth: threads named live-x, live-y and live-z run x_work, y_work and z_work, each through its own
run function, with 50, 30 and 20 % of the CPU time (about 1.2 s together; they share the interpreter
lock, so one at a time). main only waits.
Exit status: 0, or 1 when the measured shares are not these.
"""

import sys
import threading
import time

import py_burn

SPENT = {}


def x_work(n):
    py_burn.spin(5 * n)


def y_work(n):
    py_burn.spin(3 * n)


def z_work(n):
    py_burn.spin(2 * n)


def run_thread(name, work, rounds, n):
    start = time.thread_time_ns()
    for _ in range(rounds):
        work(n)
    SPENT[name] = time.thread_time_ns() - start


def main():
    rounds = int(120 * py_burn.scale())
    n = py_burn.spins_per_ms()
    threads = [
        threading.Thread(target=run_thread, args=(work.__name__, work, rounds, n), name=name)
        for name, work in (("live-x", x_work), ("live-y", y_work), ("live-z", z_work))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return py_burn.report(SPENT, {"x_work": 0.5, "y_work": 0.3, "z_work": 0.2})


if __name__ == "__main__":
    sys.exit(main())
