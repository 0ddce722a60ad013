#!/usr/bin/env python3
"""processes.py MKTRACE TRACE NUMBER: a trace of very many processes, each with one sample."""

import os
import struct
import subprocess
import sys

RECORDER = """   0.000000000 s0   p0  100/100       note         key="cmd" value="made by hand"
"""
# The pid is four letters in the trace, to be found and replaced there.
PROCESS = """   0.000000010 s1   p1  101/101       thread       tid=101 name="one"
   0.000000011 s1   p1  101/101       process      pid=2054847098 ppid=100 parent=0 exe="/bin/one" cmdline="one"
   0.000000012 s1   p1  101/101       stack        stack=1 stop=COMPLETE epoch=1 pcs=[0x9000]
   0.000000013 s1   p1  101/101       callpath     callpath=1 stack=1 py_stack=0
"""
SAMPLE = """   0.000005000 s1   p1  101/101       sample       callpath=1 flags=0 weight_ns=2000
"""
PID = b"zzzz"


def copies(stream, number):
    """The stream of one process as those of others: trace/packet.h has the places."""
    for i in range(2, number + 1):
        packet = bytearray(stream.replace(PID, struct.pack("<I", 1000 + i)))
        struct.pack_into("<Q", packet, 8, 1000 + i)
        struct.pack_into("<III", packet, 64, i, 1000 + i, 1000 + i)
        yield i, packet


def make(mktrace, trace, number):
    with open(trace + ".text", "w", encoding="utf-8") as f:
        f.write(RECORDER + PROCESS + SAMPLE)
    subprocess.run([mktrace, trace + ".text", trace], check=True)
    with open(os.path.join(trace, "s1"), "rb") as f:
        one = f.read()
    for i, packet in copies(one, number):
        with open(os.path.join(trace, "s%d" % i), "wb") as f:
            f.write(packet)


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2], int(sys.argv[3]))
