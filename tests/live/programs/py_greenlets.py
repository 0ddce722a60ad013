"""Two greenlets take turns in one thread: first has 60 % of the CPU time, second 40 %, each in burn.
Prints "done"."""

import sys
import time

import greenlet


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))


def turns(seconds, other):
    for _ in range(60):
        burn(seconds)
        other().switch()


def first():
    turns(0.006, lambda: two)


def second():
    turns(0.004, lambda: one)


one, two = greenlet.greenlet(first), greenlet.greenlet(second)
one.switch()
print("done")
sys.exit(3)
