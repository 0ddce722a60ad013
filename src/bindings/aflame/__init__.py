"""Regions and marks: a program says what it is doing, and the profiler aflame shows its time by that.

    import aflame

    with aflame.region("step"):
        ...
        aflame.mark("loss is not a number")

    @aflame.region("forward")       # or @aflame.region, for the function's own name
    def forward(x): ...

    async with aflame.region("request"):     # may end on another thread, and others may lie across it
        ...

Without `aflame record` nothing is done, at the cost of a `with` of an object that does nothing; decorated functions
stay what they are. start(name) and stop(id) are `async with` in two calls. docs/regions.md has the rest.
"""

import sys

try:
    if sys.version_info < (3, 8):
        raise ImportError  # objects of older ones do not own their types
    from aflame._regions import mark, region, start, stop
except ImportError:  # no CPython, or one without the stable ABI
    from aflame._pure import mark, region, start, stop

__all__ = ["mark", "region", "start", "stop"]
