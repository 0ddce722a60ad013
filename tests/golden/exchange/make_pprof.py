#!/usr/bin/env python3
"""odd.pb: a profile of what Go's do not have: labels of processes and threads, the kernel's mapping,
code without names, values below zero, references to nothing, samples without time but a period.
	make_pprof.py >odd.pb
"""
import sys

strings = [""]


def s(text):
    if text not in strings:
        strings.append(text)
    return strings.index(text)


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def data(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def packed(field, values):
    return data(field, b"".join(varint(v) for v in values))


def label(key, text=None, num=0):
    return data(3, number(1, s(key)) + (number(2, s(text)) if text else number(3, num)))


def sample(stack, values, *labels):
    return data(2, packed(1, stack) + packed(2, values) + b"".join(labels))


def loose(stack, value):
    return data(2, b"".join(number(1, i) for i in stack) + number(2, value))


out = data(1, number(1, s("samples")) + number(2, s("count")))
out += data(11, number(1, s("cpu")) + number(2, s("milliseconds"))) + number(12, 10)
out += number(9, 1700000000 * 10**9) + number(10, 2 * 10**9)
out += data(3, number(1, 1) + number(5, s("/usr/bin/server")))
out += data(3, number(1, 2) + number(5, s("[kernel.kallsyms]")))
out += data(3, number(1, 3) + number(5, s("/usr/lib/libgone.so.1")))
for i, (name, file) in enumerate([("main", "main.c"), ("work", "main.c"), ("inner", "in.h"), ("do_read", "")]):
    out += data(5, number(1, i + 1) + number(2, s(name)) + number(4, s(file)))
out += data(4, number(1, 1) + number(2, 1) + data(4, number(1, 1) + number(2, 12)))
out += data(4, number(1, 2) + number(2, 1) + data(4, number(1, 3) + number(2, 3)) + data(4, number(1, 2) + number(2, 40)))
out += data(4, number(1, 3) + number(2, 2) + data(4, number(1, 4)))
out += data(4, number(1, 4) + number(2, 3) + number(3, 0x1234))
out += data(4, number(1, 5) + number(3, 0x5678))
one = (label("pid", num=10), label("tid", num=11), label("thread", "worker"), label("comm", "server"))
out += sample([2, 1], [5], *one)
out += sample([3, 2, 1], [7], *one, label("colour", "red"))
out += sample([4, 1], [2], label("pid", "10"), label("thread_id", "12"))
out += sample([5], [1], label("thread", "nameless"))
out += loose([1], 4)
out += sample([9, 1], [3]) + sample([1], [-3]) + sample([], [6])
out += b"".join(data(6, text.encode()) for text in strings)
sys.stdout.buffer.write(out)
