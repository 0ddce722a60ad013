"""Compares the frames that af_python_frames() reads with those the interpreter reports.

usage: python3 walk.py LIBRARY [seconds under load]

Runs on Python 3.8 and later; every check raises on the first difference.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import sys
import threading
import time

PYDLL = ctypes.PyDLL(sys.argv[1])  # calls keep the GIL
CDLL = ctypes.CDLL(sys.argv[1])  # calls release it
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0

CALLBACK = ctypes.CFUNCTYPE(None)
BUFFER = ctypes.create_string_buffer(4 << 20)
PYDLL.aft_status.restype = ctypes.c_char_p
PYDLL.aft_lost.restype = ctypes.c_uint64
EACH_FRAME_IS_A_CALL = sys.version_info < (3, 11)

checks = 0


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def expected(frame):
    """(name, file, line) leaf first."""
    found = []
    while frame is not None:
        code = frame.f_code
        found.append((name_of(code), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def walked(dll):
    """(frames, number of borders, number of native eval calls)"""
    entries = dll.aft_walk(BUFFER, len(BUFFER))
    assert entries >= 0, "walk says %d" % entries
    lines = BUFFER.value.decode("utf-8").split("\n")[:-1]
    assert len(lines) == entries
    frames = []
    borders = 0
    for line in lines:
        if line == "--":
            borders += 1
        else:
            name, file, number = line.rsplit("\t", 2)
            frames.append((name, file, int(number)))
    # Both leave out the frames of the helper itself, which is the leaf of the walk.
    assert frames[0][0] == "walked", frames[0]
    return frames[1:], borders, dll.aft_natives()


def compare(got, want):
    global checks
    frames, borders, natives = got
    if frames != want:
        for i, (a, b) in enumerate(zip(frames + [None] * 9, want + [None] * 9)):
            if a != b:
                raise AssertionError("frame %d: read %r, is %r" % (i, a, b))
    if EACH_FRAME_IS_A_CALL:
        assert borders == len(frames) + 1, (borders, len(frames))
    assert borders == natives, "%d borders, %d native calls of eval" % (borders, natives)
    checks += 1


def check():
    for dll in (PYDLL, CDLL):
        # On one line, so that the line of this frame is the same for both.
        compare(walked(dll), expected(sys._getframe()))
    return True


# Where a stack can be.


def recursion(depth):
    return recursion(depth - 1) if depth else check()


def generator():
    for _ in range(3):
        yield check()


def delegating():
    yield from generator()


class Meta(type):
    def __new__(mcs, name, bases, namespace):
        check()
        return super().__new__(mcs, name, bases, namespace)


class Overloads:
    def __init__(self):
        check()

    def __getattr__(self, name):
        return check()

    def __add__(self, other):
        return check()

    def __lt__(self, other):
        return check()

    def __iter__(self):
        return generator()

    def __del__(self):
        check()

    @property
    def prop(self):
        return check()

    @classmethod
    def klass(cls):
        return check()

    @staticmethod
    def static():
        return check()

    def __call__(self, *args, **kwargs):
        return check()

    def __enter__(self):
        check()

    def __exit__(self, *args):
        check()


def long_lines(
    a=1,
):
    values = [
        1,
        2,
        check(
        ),
    ]
    try:
        raise ValueError(
            "x"
        )
    except ValueError:
        check()
    finally:
        check()
    return values


def closure():
    seen = 0

    def inner():
        nonlocal seen
        seen += 1
        return check()

    return (lambda: inner() and
            check())()


def native_callbacks():
    sorted([3, 1, 2], key=lambda x: check() and x)
    list(map(lambda x: check(), [1, 2]))
    max([1, 2], key=lambda x: check() and x)
    functools.reduce(lambda a, b: check(), [1, 2, 3])
    functools.partial(check)()
    [check() for _ in range(2)]
    {check(): check() for _ in range(2)}
    list(check() for _ in range(2))
    sum(1 for _ in generator())
    sorted([Overloads(), Overloads()])
    eval("check()")
    exec("check()\n\n\ncheck()")
    exec(compile("def f():\n" + "\n" * 300 + "    check()\nf()", "<far>", "exec"))


def overloads():
    o = Overloads()
    o.missing
    o + 1
    o.prop
    o.klass()
    o.static()
    o(1, a=2)
    list(o)
    with o:
        check()
    del o
    gc.collect()


def class_bodies():
    class Body(metaclass=Meta):
        check()

        class Inner:
            check()

    return Body


def foreign():
    callback = CALLBACK(lambda: check() and None)
    PYDLL.aft_call(callback)
    CDLL.aft_call(callback)
    nested = CALLBACK(lambda: CDLL.aft_call(callback))
    CDLL.aft_call(nested)


def run_threads():
    errors = []

    def guarded():
        try:
            recursion(20)
        except BaseException as e:  # noqa: BLE001 - to the main thread
            errors.append(e)

    # One at a time: they share the buffer.
    for _ in range(4):
        t = threading.Thread(target=guarded)
        t.start()
        t.join()
    CDLL.aft_thread(CALLBACK(guarded))
    if errors:
        raise errors[0]
    assert CDLL.aft_bare_thread() == 0


async def coroutine(depth):
    await asyncio.sleep(0)
    if depth:
        return await coroutine(depth - 1)
    return check()


async def agen():
    yield check()
    yield check()


async def tasks():
    await asyncio.gather(coroutine(3), coroutine(0))
    async for _ in agen():
        check()


@contextlib.contextmanager
def manager():
    check()
    yield
    check()


def text_kinds():
    """Names and files of every string kind the interpreter has."""
    for name in ("plain", "caf\u00e9", "\u540d\u524d", "\U00020000\u4e00", "\u0416" * 100):
        for file in ("<x>", "/tmp/\u00e9.py", "/tmp/\u540d.py", "/\U00020000.py"):
            scope = {"check": check}
            exec(compile("def %s():\n  check()\n%s()\n" % (name, name), file, "exec"), scope)


def reused_addresses():
    """Code objects that die at once and whose addresses the next ones get."""
    for i in range(400):
        source = "def f%d():\n%s  check()\nf%d()\n" % (i % 3, "\n" * (i % 50), i % 3)
        exec(compile(source, "<reused>", "exec"), {"check": check})


def too_deep():
    stop = ctypes.c_uint()
    nr = PYDLL.aft_walk_at_most(3, ctypes.byref(stop))
    assert nr <= 3 and stop.value == 4, (nr, stop.value)


def deep():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(4000)
    recursion(1500)
    sys.setrecursionlimit(limit)
    recursion_at = functools.partial(recursion, 3)
    recursion_at()


def subinterpreter():
    """Nothing is promised of the frames inside; it must not end the process."""
    try:
        import _xxsubinterpreters as sub
    except ImportError:
        try:
            import _interpreters as sub
        except ImportError:
            return
    i = sub.create()
    run = getattr(sub, "run_string", None) or sub.exec
    PYDLL.aft_sample_start(500)
    run(i, "def f(n):\n  return f(n - 1) if n else sum(range(200))\n"
           "for _ in range(2000): f(10)")
    PYDLL.aft_sample_stop((ctypes.c_uint64 * 6)())
    sub.destroy(i)
    check()


# Samples under load.


def burn_calls(depth):
    return burn_calls(depth - 1) + 1 if depth else 0


def burn_generators():
    return sum(x * x for x in (y + 1 for y in range(200)))


def burn_sort():
    return sorted(range(100), key=lambda x: -x)


def burn_classes():
    class A:
        def method(self):
            return self

    return A().method()


def burn_exceptions():
    try:
        burn_missing
    except NameError as e:
        return str(e)


def burn_exec():
    scope = {}
    exec("def f(n):\n return f(n-1) if n else 0\nf(5)", scope)
    return scope


def burn(until):
    while time.monotonic() < until:
        burn_calls(30)
        burn_generators()
        burn_sort()
        burn_classes()
        burn_exceptions()
        burn_exec()
        asyncio.run(coroutine_free()) if hasattr(asyncio, "run") else None


async def coroutine_free():
    await asyncio.sleep(0)


def under_load():
    PYDLL.aft_sample_start(200)
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=burn, args=(until,)) for _ in range(3)]
    for t in threads:
        t.start()
    burn(until)
    for t in threads:
        t.join()
    counts = (ctypes.c_uint64 * 6)()
    PYDLL.aft_sample_stop(counts)
    samples, none, incomplete, implausible, strange, frames = counts
    print("# %d samples, %d frames, %d without Python, %d cut short, %d implausible frames, "
          "%d strange roots, %d codes"
          % (samples, frames, none, incomplete, implausible, strange, PYDLL.aft_codes()))
    assert samples >= 50 * SECONDS, samples
    assert frames > samples, (frames, samples)
    assert incomplete <= samples * 0.01, (incomplete, samples)
    assert implausible <= frames * 0.0001, (implausible, frames)
    assert strange <= samples * 0.01, (strange, samples)


def main():
    assert PYDLL.aft_start(), PYDLL.aft_status()
    status = PYDLL.aft_status().decode()
    version = "%d.%d.%d" % sys.version_info[:3]
    assert version == status or version.rsplit(".", 1)[0] == status, (version, status)
    check()
    recursion(50)
    list(generator())
    list(delegating())
    long_lines()
    closure()
    native_callbacks()
    overloads()
    class_bodies()
    foreign()
    run_threads()
    asyncio.new_event_loop().run_until_complete(tasks())
    with manager():
        check()
    text_kinds()
    reused_addresses()
    too_deep()
    deep()
    assert PYDLL.aft_forget()
    check()
    subinterpreter()
    print("# Python %s: %d stacks are as the interpreter says" % (version, checks))
    under_load()
    assert PYDLL.aft_lost() == 0


main()
