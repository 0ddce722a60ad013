#!/usr/bin/env python3
"""What nvdisasm says of instructions: truth.py NVDISASM CUBIN... > instructions

A line each, of at most three with the same opcode and modifiers for each architecture:
    SM WORD @!P0 NAME reads writes
The word is hexadecimal, the highest byte first. Reads and writes are those that the columns of life
ranges have, "-" for none.
"""
import re
import struct
import subprocess
import sys

KINDS = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}


def architecture(path):
    with open(path, "rb") as f:
        header = f.read(64)
    flags = struct.unpack_from("<I", header, 48)[0]
    return flags >> 8 & 0xFF if header[8] >= 8 else flags & 0xFF


def instructions(tool, path):
    """(word, text, reads, writes): words stand on two lines, life ranges on the second."""
    out = subprocess.run([tool, "-c", "-hex", "-lrm", "narrow", path], capture_output=True, text=True,
                         errors="replace", check=True).stdout
    names, columns, last = [], [], None
    for line in out.split("\n"):
        code, _, ranges = line.partition("// |")
        groups = ranges.split("|")[:-1]
        if any(k in ranges for k in KINDS):
            names = [g.strip() for g in groups]
        elif re.search(r"#\s*0", ranges):
            columns = [g.index("#") + 2 if "#" in g else None for g in groups]
        first = re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/", code)
        second = re.search(r"^\s*/\* 0x([0-9a-f]{16}) \*/", code)
        if first:
            last = first
        elif second and last:
            sets = {"v": [], "^": []}
            for name, column, group in zip(names, columns, groups):
                for at, mark in enumerate(group[column:] if column is not None else ""):
                    for sign in {"v": "v", "^": "^", "x": "v^"}.get(mark, ""):
                        sets[sign].append(KINDS[name] + str(at))
            yield second.group(1) + last.group(2), last.group(1), sets["v"], sets["^"]
            last = None


def main():
    seen = {}
    for path in sys.argv[2:]:
        sm = architecture(path)
        for word, text, reads, writes in instructions(sys.argv[1], path):
            guard, name = re.match(r"(@\S+ )?(\S+)", text).groups()
            key = sm, int(word[-3:], 16), name, len(reads), len(writes)
            seen[key] = seen.get(key, 0) + 1
            # The life ranges of a call are those of what it calls.
            if seen[key] <= 3 and not name.startswith("CALL"):
                print(sm, word, (guard or "") + name.split(".")[0], ",".join(reads) or "-",
                      ",".join(writes) or "-")


if __name__ == "__main__":
    main()
