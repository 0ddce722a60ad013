"""Writes what the interpreter knows of the lines of code objects, for py_lines and for the golden
file of tests/unit/test_pyline.c.

usage: python3 lines_dump.py stdlib [most code objects]     every module of the standard library
       python3 lines_dump.py golden                         a few, as C initialisers

A line a code object: version, first line, table in hex, then start-end=line for each range of
bytes; line is -1 where there is none.
"""
import dis
import os
import sys
import sysconfig

VERSION = sys.hexversion >> 16


def ranges(code):
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            if start < end:
                yield start, end, -1 if line is None else line
        return
    starts = list(dis.findlinestarts(code))
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    for (start, line), end in zip(starts, ends):
        if start < end:
            yield start, end, line


def table(code):
    return code.co_linetable if VERSION >= 0x30A else code.co_lnotab


def nested(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from nested(const)


def stdlib():
    root = sysconfig.get_paths()["stdlib"]
    for folder, folders, files in sorted(os.walk(root)):
        folders[:] = [f for f in folders if f not in ("site-packages", "dist-packages", "lib2to3")]
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as f:
                    module = compile(f.read(), path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, OSError):
                continue  # some tests of the standard library are wrong on purpose
            yield from nested(module)


SAMPLE = '''
def plain(a):
    b = a
    return b

def backwards(a):
    return max(
        a,
        min(a, 1), key=lambda
            x: x)

def far(a):
    a += 1
%s
    return a

def branches(n):
    for i in range(n):
        if i %% 2:
            continue
        try:
            yield i
        except (ValueError,
                KeyError) as e:
            raise RuntimeError from e
        finally:
            n -= 1
    with open("x") as f, \\
            open("y") as g:
        pass

async def waits(a): return [await x async for x in a]

class Body:
    attribute = [
        y for y in
        (1, 2)
    ]
''' % ("\n" * 700)


def text(code):
    parts = ["%d-%d=%d" % r for r in ranges(code)]
    return "%x %d %s %s" % (VERSION, code.co_firstlineno, table(code).hex() or "-", " ".join(parts))


def golden():
    for code in nested(compile(SAMPLE, "sample.py", "exec")):
        print('    "%s",' % text(code))


def main():
    if sys.argv[1] == "golden":
        golden()
        return
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    for i, code in enumerate(stdlib()):
        if i == most:
            break
        print(text(code))


main()
