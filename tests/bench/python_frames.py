"""What af_python_frames() costs: usage: python3 python_frames.py LIBRARY (of tests/live)"""
import ctypes
import sys

LIB = ctypes.PyDLL(sys.argv[1])
LIB.aft_bench.restype = LIB.aft_bench_once.restype = ctypes.c_double
ENTRIES = ctypes.c_uint()
CHAIN = 100


def hot(depth):
    return hot(depth - 1) if depth else LIB.aft_bench(20000, ctypes.byref(ENTRIES))


def distinct(leaf):
    """A call through CHAIN functions that no one has seen."""
    scope = {"f%d" % CHAIN: leaf}
    for i in range(CHAIN):
        exec("def f%d(): return f%d()" % (i, i + 1), scope)
    return scope["f0"]


def once(evict):
    return lambda: LIB.aft_bench_once(evict, ctypes.byref(ENTRIES)) / CHAIN


def main():
    assert LIB.aft_start()
    LIB.aft_bench_once(1, ctypes.byref(ENTRIES))
    row = []
    for depth in (3, 13, 57):
        ns = hot(depth)
        frames = depth + 3
        row.append("%d frames %.0f ns (%.1f each)" % (frames, ns, ns / frames))
    new = sorted(distinct(once(0))() for _ in range(21))[10]
    path = distinct(once(1))
    path()
    cold = sorted(path() for _ in range(21))[10]
    print("%-8s hot: %s; out of the caches %.0f ns each; first seen %.0f ns each"
          % (sys.version.split()[0], ", ".join(row), cold, new))


main()
