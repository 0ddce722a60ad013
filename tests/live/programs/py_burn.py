"""What the Python programs of known behaviour share.

Like burn.h: each program prints its truth as lines "truth KEY VALUE", shares being of the CPU time
that it measured itself. Works with Python 3.8 and later.
"""

import sys
import time


def spin(n):
    """Costs CPU in pure Python; a leaf frame of its own, so that its callers have no self time."""
    x = 1
    for i in range(n):
        x = (x * 69069 + i) & 0xFFFFFFFF
    return x


def spins_per_ms():
    best = 0
    for _ in range(5):
        start = time.thread_time_ns()
        spin(5000)
        best = max(best, 5000 * 1000000 // max(1, time.thread_time_ns() - start))
    return best


def scale(index=1):
    """The command line's argument of that index as a factor on the duration."""
    return float(sys.argv[index]) if len(sys.argv) > index else 1.0


def report(shares, want=None):
    """Prints the CPU times as shares; returns an exit status, 1 when one is not as wanted."""
    total = sum(shares.values())
    wrong = 0
    for name, ns in shares.items():
        print("truth share.%s %.4f" % (name, ns / total))
        if want and abs(ns / total - want[name]) > 0.06:
            wrong = 1
    print("truth cpu_ms %d" % (total // 1000000), flush=True)
    return wrong
