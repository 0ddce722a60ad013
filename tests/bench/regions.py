"""regions.py [NR]: the cost of regions of Python, beside `pass` in the same loop: ns of CPU time, the least of 25
rounds of NR, as lines "NS STATEMENT". `with nothing` has the region made before, and shows what is CPython's own."""

import contextlib
import sys
import threading
import time

import aflame

ROUNDS = 25
STATEMENTS = (
    "with lock: pass",
    "with nothing: pass",
    "with region('step'): pass",
    "with aflame.region('step'): pass",
    "aflame.mark('mark')",
    "function()",
    "decorated()",
    "with nullcontext(): pass",
)


def function():
    pass


NAMES = {
    "aflame": aflame,
    "region": aflame.region,
    "nothing": aflame.region("step"),
    "lock": threading.Lock(),
    "nullcontext": contextlib.nullcontext,
    "function": function,
    "decorated": aflame.region("decorated")(function),
}


def loop(statement):
    """A function of the number of times, in which all names are local."""
    space = {}
    exec("def run(nr, %s):\n    for _ in range(nr):\n        %s\n" % (", ".join(NAMES), statement), space)
    return lambda nr: space["run"](nr, **NAMES)


def main():
    nr = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    loops = [loop(statement) for statement in ("pass", *STATEMENTS)]
    least = [float("inf")] * len(loops)
    for _ in range(ROUNDS):
        for i, run in enumerate(loops):
            begin = time.thread_time_ns()
            run(nr)
            least[i] = min(least[i], (time.thread_time_ns() - begin) / nr)
        time.sleep(0.02)
    for statement, ns in zip(STATEMENTS, least[1:]):
        print("%.1f %s" % (ns - least[0], statement))


main()
