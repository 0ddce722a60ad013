"""py_calls_c_calls_py.py LIBRARY [SCALE]: stacks that go from Python to C and back.

LIBRARY is libpycalls.so. Truth, by leaf and stack (outermost first, Python frames in capitals here):
    py_work     MAIN DRIVE PY_WORK SPIN                             about 30 % of the CPU time
    c_work      MAIN DRIVE CALL_C ctypes... c_work                  about 40 %
    c_itself    MAIN DRIVE CALL_BACK ctypes... c_calls_back         about 10 %
    py_callback MAIN DRIVE CALL_BACK ctypes... c_calls_back ctypes... PY_CALLBACK SPIN   about 20 %
About 1.5 s of CPU in one thread; the exact shares are printed.
Exit status: 0, or 1 when the measured shares are far from these.
"""

import ctypes
import sys
import time

import py_burn

SPINS_PER_MS = py_burn.spins_per_ms()
CALLBACK = ctypes.CFUNCTYPE(None)


def load(path):
    lib = ctypes.CDLL(path)
    lib.c_work.argtypes = [ctypes.c_ulong]
    lib.c_work.restype = None
    lib.c_calls_back.argtypes = [CALLBACK, ctypes.c_ulong]
    lib.c_calls_back.restype = ctypes.c_int64
    return lib


def py_work():
    py_burn.spin(3 * SPINS_PER_MS)


@CALLBACK
def py_callback():
    py_burn.spin(2 * SPINS_PER_MS)


def call_c(lib):
    lib.c_work(4000)


def call_back(lib):
    return lib.c_calls_back(py_callback, 1000)


def drive(lib, rounds):
    spent = {"py_work": 0, "c_work": 0, "c_itself": 0, "py_callback": 0}
    for _ in range(rounds):
        start = time.thread_time_ns()
        py_work()
        worked = time.thread_time_ns()
        call_c(lib)
        called = time.thread_time_ns()
        back_ns = call_back(lib)
        end = time.thread_time_ns()
        spent["py_work"] += worked - start
        spent["c_work"] += called - worked
        spent["c_itself"] += end - called - back_ns
        spent["py_callback"] += back_ns
    return spent


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    spent = drive(load(sys.argv[1]), int(150 * py_burn.scale(2)))
    # The Python part is calibrated, not counted: only its sum with the right order is promised.
    wrong = py_burn.report(spent)
    return 1 if wrong or min(spent.values()) * 25 < sum(spent.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
