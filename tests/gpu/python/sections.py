"""The truth of a Python program: sections, each with its begin and end on the clock of the trace,
CLOCK_MONOTONIC. They do not overlap, and end when the device has done its work."""

import contextlib
import json
import time

FOUND = {"sections": [], "skipped": {}, "broken": {}}


@contextlib.contextmanager
def section(name, settle, **truth):
    """@settle waits for the device. @truth: kernels={name: count}, graph=who captures it or '';
    own_threads=True where threads without Python may do all launches."""
    settle()
    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    try:
        yield
        settle()
    except Exception as error:  # the others still count
        FOUND["broken"][name] = repr(error)[:300]
        return
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    FOUND["sections"].append({"name": name, "start": start, "end": end, **truth})


def skipped(name, reason):
    FOUND["skipped"][name] = reason


def print_truth(**more):
    print("truth " + json.dumps({**FOUND, **more}), flush=True)
