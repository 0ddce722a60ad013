"""py_regions.py MODULE: regions and marks of the package aflame, as MODULE has them.

Prints "at EDGE NAME BEFORE AFTER" around each call (CLOCK_MONOTONIC, ns), then what the functions in regions gave,
which is the same without a recorder, and "done".
"""

import asyncio
import contextlib
import importlib
import sys
import threading
import time

aflame = importlib.import_module(sys.argv[1])


def timed(edge, name, call, *args):
    before = time.monotonic_ns()
    result = call(*args)
    print("at", edge, name, before, time.monotonic_ns())
    return result


def times():
    for _ in range(5):
        outer, inner = aflame.region("outer"), aflame.region("inner")
        timed("PUSH", "outer", outer.__enter__)
        timed("PUSH", "inner", inner.__enter__)
        timed("MARK", "mark", aflame.mark, "mark")
        timed("POP", "-", inner.__exit__, None, None, None)
        timed("POP", "-", outer.__exit__, None, None, None)
    first = timed("START", "first", aflame.start, "first")
    second = timed("START", "second", aflame.start, "second")
    timed("END", "-", aflame.stop, first)
    timed("END", "-", aflame.stop, second)


@aflame.region("plain")
def plain(x, *, y):
    """Its text."""
    return x + y


class Model:
    @aflame.region
    def forward(self, x):
        return x * 2


@aflame.region("generator")
def generator(n):
    try:
        for i in range(n):
            got = yield i
            if got:
                yield "got %s" % got
    except ValueError as error:
        yield "caught %s" % error
    return "returned"


@aflame.region("coroutine")
async def coroutine(x):
    async with aflame.region("waits"):
        await asyncio.sleep(0.001)
    return x


@aflame.region("stream")
async def stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def tasks():
    return await asyncio.gather(coroutine(1), coroutine(2)), [x async for x in stream(2)]


def generators():
    g = generator(3)
    yield [next(g), g.send("x"), next(g), g.throw(ValueError("v"))]
    yield list(generator(2))

    def outer():
        yield (yield from generator(0))

    yield list(outer())
    g = generator(5)
    next(g)
    yield g.close()


def in_thread():
    with aflame.region("thread"):
        with aflame.region("inside"):
            pass


def functions():
    print(plain(1, y=2), plain.__name__, plain.__doc__, Model().forward(4), Model.forward.__qualname__)
    print(list(generators()))
    loop = asyncio.new_event_loop()
    print(loop.run_until_complete(tasks()))
    loop.close()
    try:
        with aflame.region("raises"):
            raise KeyError("passes through")
    except KeyError as error:
        print(error)
    with contextlib.ExitStack() as stack:
        stack.enter_context(aflame.region("on a stack"))
        aflame.region("by hand").__enter__()
        aflame.region("by hand").__exit__(None, None, None)
    for _ in range(3):
        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()
    with aflame.region("a\udc80b"), aflame.region("\u00fc\U0001f525"), aflame.region("n" * 5000):
        pass
    for call in (aflame.region, aflame.mark, aflame.start):
        for name in (None, 7, b"bytes"):
            try:
                call(name)
            except TypeError as error:
                print(error)


times()
functions()
print("done")
