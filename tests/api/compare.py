"""Calls as a program noted them against the calls in a trace."""

import collections
import json

FAILED, TRUNCATED, UNREADABLE = 1, 2, 4
SHOWN = 1024  # bytes of a pointee that are noted and recorded


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def number(text):
    """Of bytes in hexadecimal, as they lie in memory."""
    return int.from_bytes(bytes.fromhex(text)[:8], "little")


class Tally:
    """What was compared, and what was wrong."""

    def __init__(self):
        self.counts = collections.Counter()
        self.wrong = []

    def expect(self, true, where, text):
        if not true:
            self.wrong.append("%s: %s" % (where, text))

    def equal(self, got, want, where):
        self.expect(got == want, where, "recorded %.80s, passed %.80s" % (got, want))


def string_of(memory):
    raw = bytes.fromhex(memory)
    return raw.split(b"\0", 1)[0].hex()


def widened(memory, size, to):
    """Elements of @size bytes as they are where each has @to bytes: handles of MPICH."""
    step, more = 2 * size, "00" * (to - size)
    return "".join(memory[i : i + step] + more for i in range(0, len(memory), step))


def pointee(tally, where, got, noted, want_nr):
    """A recorded target against the memory that it was read from, after the call."""
    memory, read = noted.get("after"), got.get("after", "")
    if memory is None:
        tally.expect(False, where, "recorded what it leads to, which is not to be read")
        return
    tally.counts["pointees"] += 1
    if got["pointee"] == "string":
        tally.equal(read, string_of(memory), where)
        return
    if noted["native"] and noted["element"] < got["element"]:
        memory = widened(memory, noted["element"], got["element"])
    elif not noted["void"]:
        tally.equal(got["element"], noted["element"], where + ", bytes of an element")
    tally.equal(read, memory[: len(read)], where)
    if want_nr is not None:
        most = SHOWN // max(got["element"], 1) or 1
        tally.equal(got["nr"], min(want_nr, most), where + ", elements")
        tally.counts["lengths"] += 1


def empty(tally, where, got):
    """A target that is not there is recorded as nothing, or as zeros."""
    read = got.get("after", "")
    tally.expect(not read.strip("0"), where, "recorded %.80s of nothing" % read)
    tally.counts["pointees"] += 1


def arguments(tally, where, got, noted):
    """Pairs of arguments that are the same parameter; values are compared."""
    tally.equal(len(got["args"]), len(noted["args"]), where + ", arguments")
    for a, b in zip(got["args"], noted["args"]):
        here = "%s(%s)" % (where, b["name"])
        if b.get("named", True):
            tally.equal(a["name"], b["name"], here)
        more = len(a["value"]) - len(b["value"]) if b["native"] else 0
        tally.equal(a["value"], b["value"] + "0" * more, here)
        tally.counts["arguments"] += 1
        yield here, a, b


def call(tally, way, got, noted, params, length, failed):
    """One call. @params: the vendor's; @length(index): elements to expect, or None; @failed: it is."""
    where = "%s: %s" % (way, got["function"])
    if way in ("works", "fails"):
        way = "fails" if failed else "works"
    tally.equal(bool(got["flags"] & FAILED), failed, where + ", has failed")
    read = any(a["pointee"] and (a["inout"] or not a["out"]) for a in got["args"])
    unreadable = UNREADABLE if way == "wild" and read else 0
    tally.equal(got["flags"] & UNREADABLE, unreadable, where + ", unreadable")
    tally.equal(got.get("result", ""), noted["result"], where + ", result")
    tally.expect(not got.get("cut"), where, "the payload is cut short")
    for i, (here, a, b) in enumerate(arguments(tally, where, got, noted)):
        if not a["pointee"]:
            continue
        if a["inout"] and way in ("works", "fails"):
            before = b.get("before", b["after"])
            if b["native"] and b["element"] < a["element"]:
                before = widened(before, b["element"], a["element"])
            if a["pointee"] == "array":  # as many as the call was passed
                before = before[: len(a["before"])]
            tally.equal(a["before"], before[: len(a["before"]) or 2], here + ", before")
            tally.counts["before"] += 1
        is_error = params[i].name == "errcode_ret"
        if way == "works" or (way == "fails" and (params[i].is_const or is_error)):
            pointee(tally, here, a, b, length(i))
        elif way in ("zeros", "wild") or a["out"]:
            empty(tally, here, a)
