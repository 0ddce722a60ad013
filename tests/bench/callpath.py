"""The Python side of tests/bench/callpath: six functions deep, then into C."""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])
take = lib.callpath_take
take.argtypes = [ctypes.c_ulong]
lib.callpath_report.argtypes = [ctypes.c_char_p, ctypes.c_double]


def five(path):
    return take(path)


def four(path):
    return five(path)


def three(path):
    return four(path)


def two(path):
    return three(path)


def one(n, paths):
    for i in range(n):
        two(i % paths)


def ghz():
    """Ticks of the time stamp counter in a nanosecond, from what the kernel says."""
    for line in open("/proc/cpuinfo"):
        if line.startswith("cpu MHz"):
            return float(line.split(":")[1]) / 1000
    return 1.0


if True:
    name = "python %d.%d" % sys.version_info[:2]
    clock = ghz()
    for walk, what in ((0, "replayed"), (1, "walked, warm rules")):
        for paths in (1, 8):
            lib.callpath_walk(walk)
            one(2000, paths)
            lib.callpath_walk(walk)
            one(4000, paths)
            label = "%s, %s, %d stack%s" % (name, what, paths, "s in turn" if paths > 1 else "")
            if lib.callpath_report(label.encode(), clock):
                sys.exit("not recorded: run tests/bench/callpath")

