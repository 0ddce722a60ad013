#!/usr/bin/env python3
"""The text of a trace of many short processes, as of a build: the first one starts all others.

    many_processes.py NUMBER FILE	three samples of 0.1 ms each, in one of 50 functions"""

import sys

FUNCTIONS, NAMES, MS = 50, 7, 10**6


def at(ns):
    return "%4d.%09d" % divmod(ns, 10**9)


def lines(number):
    yield '   0.000000000 s0   p0   100/100      note         key="cmd" value="make -j"\n'
    yield '   0.000000001 s0   p0   100/100      note         key="collector.cpu" value="bpf: as asked"\n'
    for i in range(1, number + 1):
        pid, begin = 1000 + i, i * MS
        who = " s%d   p%d   %d/%d      " % (1 + i % 60, i, pid, pid)
        yield at(begin) + who + 'thread       tid=%d name="cc%d"\n' % (pid, i % NAMES)
        yield at(begin + 1) + who + 'process      pid=%d ppid=%d parent=%d exe="/usr/bin/cc%d" cmdline="cc%d -c f%d.c"\n' % (
            pid, 1001 if i > 1 else 1000, i > 1, i % NAMES, i % NAMES, i)  # fmt: skip
        yield at(begin + 2) + who + "stack        stack=%d stop=COMPLETE epoch=1 pcs=[0x%x000,0x1000]\n" % (i, 2 + i % FUNCTIONS)
        yield at(begin + 3) + who + "callpath     callpath=%d stack=%d py_stack=0\n" % (i, i)
        for k in range(3):
            yield at(begin + (k + 1) * MS // 10) + who + "sample       callpath=%d flags=0 weight_ns=100000\n" % i
        yield at(begin + MS // 2) + (
            " s0   p0   100/100      process_end  process=%d status=0 user_ns=300000 kernel_ns=0 max_rss_bytes=4096 source=SELF\n" % i)
    end = at(number * MS + 2 * MS) + " s0   p0   100/100      "
    yield end + 'string       string=1 text="/usr/bin/cc"\n' + end + 'string       string=2 text="main"\n'
    for k in range(FUNCTIONS):
        yield end + 'string       string=%d text="f%d"\n' % (3 + k, k)
    for i in range(1, number + 1):
        for address, name in ((0x1000, 2), ((2 + i % FUNCTIONS) * 0x1000, 3 + i % FUNCTIONS)):
            yield end + "symbol       process=%d address=0x%x epoch=0 module=1 offset=0x%x source=SYMTAB frames=[%d,0,0]\n" % (
                i, address, address, name)  # fmt: skip


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.writelines(lines(int(sys.argv[1])))
