"""Instructions of a zebin as iga64 has them, with the frames that llvm-symbolizer has of each.

        zebin_insns.py PLATFORM FILE

A line for each section, ".text.KERNEL", then for each instruction of it "OFFSET FUNCTION:LINE…",
innermost first. llvm-symbolizer knows no relocations of this machine: it reads a copy for another
one, in which they have been applied here. That needs to be done of objects with one kernel only.
"""

import re
import struct
import subprocess
import sys

BASE = 0x400000
platform, path = sys.argv[1:]
elf = bytearray(open(path, "rb").read())
(table,) = struct.unpack_from("<Q", elf, 40)
number, names = struct.unpack_from("<HH", elf, 60)
sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * i) for i in range(number)]


def name(section):
    at = sections[names][4] + section[0]
    return elf[at : elf.index(b"\0", at)].decode()


texts = [s for s in sections if s[2] & 4 and s[1] == 1]
for s in (s for s in sections if s[1] == 4 and len(texts) == 1):
    for at in range(s[4], s[4] + s[5], 24):
        place, info, addend = struct.unpack_from("<QQq", elf, at)
        place += sections[s[7]][4]
        if info & 0xFFFFFFFF == 1:
            struct.pack_into("<Q", elf, place, BASE + addend)
        else:
            struct.pack_into("<I", elf, place, addend)
struct.pack_into("<HH", elf, 16, 2, 62)
for i, s in enumerate(sections):
    if s in texts:
        struct.pack_into("<Q", elf, table + 64 * i + 16, BASE)
open("readable", "wb").write(elf)

for s in texts:
    open("text", "wb").write(elf[s[4] : s[4] + s[5]])
    listing = subprocess.run(
        ["iga64", "-d", "-Xprint-pc", "-p=" + platform, "text"], capture_output=True, text=True
    ).stdout
    print(name(s))
    for offset in re.findall(r"^/\* \[([0-9A-F]+)\]", listing, re.M):
        frames = subprocess.run(
            ["llvm-symbolizer", "--obj=readable", "--inlines", hex(BASE + int(offset, 16))],
            capture_output=True,
            text=True,
        ).stdout.split("\n")
        chain = [
            f"{function}:{where.split(':')[-2]}"
            for function, where in zip(frames[0::2], frames[1::2])
            if where and not where.startswith("??")
        ]
        print(" ".join(["%04x" % int(offset, 16), *chain]))
