#!/usr/bin/env python3
"""A trace as text with each sample as PARTS of its weight, one after the other, which stand for the same
time: a finding needs 50 samples.

    parted.py TRACE FOLDER    writes FOLDER/TRACE"""

import os
import re
import sys

SAMPLE = re.compile(r"^ *(\d+)\.(\d{9})( .* k?sample .*weight_ns=)(\d+)(.*)$")
PARTS = 64


def parted(path, folder):
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file):
            found = SAMPLE.match(line.rstrip("\n"))
            at = re.match(r" *(\d+)\.(\d{9})", line)
            time = int(at[1]) * 10**9 + int(at[2]) if at else -1
            if not found or int(found[4]) % PARTS:
                lines.append((time, number, line))
                continue
            part = int(found[4]) // PARTS
            for i in range(PARTS):
                begun = time - min(part, (time - 1000) // PARTS) * (PARTS - 1 - i)
                text = "%4d.%09d%s%d%s\n" % (begun // 10**9, begun % 10**9, found[3], part, found[5])
                lines.append((begun, number, text))
    made = os.path.join(folder, os.path.basename(path))
    with open(made, "w", encoding="utf-8") as file:
        file.writelines(line for _, _, line in sorted(lines, key=lambda entry: entry[:2]))
    return made


if __name__ == "__main__":
    parted(*sys.argv[1:3])
