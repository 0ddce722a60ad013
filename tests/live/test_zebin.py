#!/usr/bin/env python3
"""Intel's device code, compiled here by Intel's compiler for four architectures: source lines and inlined calls of
every instruction against llvm-dwarfdump and readelf, texts against iga64, and the objects of Intel's own driver, which
have the addresses at which it put them."""

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from machine import need_tool
from tap import Skip, case, equal, expect, note, run_cases

HERE = os.path.dirname(os.path.abspath(__file__))
INSNS = os.path.join(sys.argv[1] if len(sys.argv) > 1 else "build", "tests", "unit", "code_insns")
WORK = tempfile.mkdtemp(prefix="aflame-zebin-")
DEVICES = {  # ocloc's name: aflame's, iga64's
    "pvc": ("xe-hpc", "xehpc"),
    "dg2-g10": ("xe-hpg", "xehpg"),
    "tgllp": ("gen12lp", "xelp"),
    "skl": ("gen9", "skl"),
}
KERNELS = ("chains", "reduce", "branches", "multiply")
BASE = 0x400000


def output_of(*words, **how):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **how)
    if done.returncode:
        raise AssertionError("%s: status %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def source_of(kernel):
    folder = os.path.join(HERE, "..", "unit", "code") if kernel == "chains" else os.path.join(HERE, "kernels")
    return os.path.join(folder, kernel + ".cl")


def compiled(kernel, device):
    """The zebin, once for each."""
    need_tool("ocloc")
    folder = os.path.join(WORK, "%s-%s" % (kernel, device))
    if not os.path.isdir(folder):
        words = ["ocloc", "compile", "-q", "-file", source_of(kernel), "-device", device, "-options", "-g"]
        output_of(*words, "-internal_options", "-cl-intel-allow-zebin", "-output", "made", "-out_dir", folder)
    (name,) = [n for n in os.listdir(folder) if n.endswith(".bin")]
    return os.path.join(folder, name)


class Elf:
    """Sections of an object, and a copy that tools for x86-64 read."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        self.path = path
        (self.table,) = struct.unpack_from("<Q", self.bytes, 40)
        number, names = struct.unpack_from("<HH", self.bytes, 60)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, self.table + 64 * i) for i in range(number)]
        self.names = self.sections[names]

    def name(self, section):
        at = self.names[4] + section[0]
        return self.bytes[at : self.bytes.index(b"\0", at)].decode()

    def texts(self):
        return [s for s in self.sections if s[1] == 1 and s[2] & 4]

    def text(self):
        (section,) = self.texts()
        return bytes(self.bytes[section[4] : section[4] + section[5]])

    def readable(self):
        """A copy with the relocations of debug sections applied, for those who know none of this machine."""
        copy = bytearray(self.bytes)
        (text,) = self.texts()
        for s in self.sections:
            if s[1] != 4 or not self.name(s).startswith(".rela.debug"):
                continue
            for at in range(s[4], s[4] + s[5], 24):
                place, info, addend = struct.unpack_from("<QQq", copy, at)
                place += self.sections[s[7]][4]
                if info & 0xFFFFFFFF == 1:
                    struct.pack_into("<Q", copy, place, BASE + addend)
                else:
                    struct.pack_into("<I", copy, place, addend)
        struct.pack_into("<HH", copy, 16, 2, 62)
        struct.pack_into("<Q", copy, self.table + 64 * self.sections.index(text) + 16, BASE)
        path = self.path + ".readable"
        with open(path, "wb") as file:
            file.write(copy)
        return path


class Die:
    """An entry of .debug_info."""

    def __init__(self, tag, parent):
        self.tag, self.parent, self.children = tag, parent, []
        self.name, self.line, self.ranges = "", 0, []
        if parent:
            parent.children.append(self)


def dies_of(path):
    """The root of all entries, from llvm-dwarfdump's text."""
    root = die = Die("", None)
    depths = {-1: root}
    low = None
    for line in output_of("llvm-dwarfdump", "--debug-info", path).split("\n"):
        entry = re.match(r"0x[0-9a-f]+:( +)DW_TAG_(\w+)", line)
        if entry:
            depth = len(entry.group(1)) // 2
            die = Die(entry.group(2), depths[max(d for d in depths if d < depth)])
            depths = {d: x for d, x in depths.items() if d < depth}
            depths[depth] = die
            low = None
            continue
        attribute = re.match(r" +DW_AT_(\w+)\t\((.*)", line)
        if attribute:
            key, value = attribute.groups()
            if key in ("name", "abstract_origin") and not die.name:
                named = re.search('"(.*)"', value)
                die.name = named.group(1) if named else ""
            elif key == "call_line":
                die.line = int(value.rstrip(")"), 0)
            elif key == "low_pc":
                low = int(value.rstrip(")"), 16)
            elif key == "high_pc" and low is not None:
                die.ranges.append((low, int(value.rstrip(")"), 16)))
        part = re.search(r"\[0x([0-9a-f]+), 0x([0-9a-f]+)\)", line)
        if part and "DW_AT_location" not in line and die.tag in ("inlined_subroutine", "lexical_block"):
            die.ranges.append((int(part.group(1), 16), int(part.group(2), 16)))
    return root


def has(die, address):
    return any(a <= address < b for a, b in die.ranges)


def calls_at(die, address):
    """Functions that are inlined into each other at the address: [(name, line of the call)], outermost first."""
    for child in die.children:
        if child.tag == "inlined_subroutine" and has(child, address):
            return [(child.name, child.line)] + calls_at(child, address)
        if child.tag in ("lexical_block", "compile_unit", "subprogram"):
            if child.tag == "subprogram" and not has(child, address):
                continue
            found = calls_at(child, address)
            if child.tag == "subprogram":
                return [(child.name, 0)] + found
            if found:
                return found
    return []


def rows_of(path):
    """[(address, line)] of the line table as readelf decodes it; line None ends a sequence."""
    rows = []
    for line in output_of("readelf", "--debug-dump=decodedline", path).split("\n"):
        row = re.match(r"\S+ +(\d+|-) +(0x[0-9a-f]+|0)\b(.*)", line)
        if row:
            rows.append((int(row.group(2), 16), None if row.group(1) == "-" else int(row.group(1))))
    return rows


def line_at(rows, address):
    """The line of the last row at or before the address."""
    before = [i for i, (at, _) in enumerate(rows) if at <= address]
    return rows[max(before, key=lambda i: (rows[i][0], i))][1] if before else None


def insns_of(path, **environment):
    """aflame's: (architecture, {function: [(offset, size, [(function, line)], text)]}, where texts are from)."""
    arch, *lines = output_of(INSNS, path, env=dict(os.environ, **environment)).split("\n")
    functions, source = {}, ""
    for line in lines:
        if line.startswith("function "):
            insns = functions.setdefault(line.split()[1], [])
        elif line.startswith("# "):
            source = line[2:]
        elif line:
            where, frames, text = line.split("\t")
            offset, size = where.split()
            chain = [(f.split(":")[0], int(f.split(":")[2])) for f in frames.split()]
            insns.append((int(offset, 16), int(size), chain, text))
    return arch, functions, source


def disassembled(text, platform):
    """iga64's: {offset: text}, words apart by one blank and targets of jumps as offsets."""
    path = os.path.join(WORK, "text")
    with open(path, "wb") as file:
        file.write(text)
    lines = output_of("iga64", "-d", "-Xprint-pc", "-p=" + platform, path)
    found = re.findall(r"^/\* \[([0-9A-F]+)\] *\*/ (.*)$", lines, re.M)
    label = re.compile(r"(?<= )L(\d+)(?= |$)")
    return {int(pc, 16): label.sub(lambda m: hex(int(m.group(1))), " ".join(t.split())) for pc, t in found}


def expected_at(root, rows, address):
    """[(function, line)] of the address, innermost first."""
    calls = calls_at(root, address)
    lines = [line_at(rows, address)] + [line for _, line in reversed(calls[1:])]
    return list(zip([name for name, _ in reversed(calls)], lines))


def compare_lines(path, functions):
    """Every instruction of the only kernel; returns how many there were, and how many had inlined calls."""
    need_tool("llvm-dwarfdump")
    need_tool("readelf")
    copy = Elf(path).readable()
    root, rows = dies_of(copy), rows_of(copy)
    ((name, insns),) = functions.items()
    inlined = 0
    for offset, _, chain, _ in insns:
        wanted = expected_at(root, rows, BASE + offset)
        equal(chain, wanted, "frames of %s at 0x%x" % (name, offset))
        inlined += len(chain) > 1
    expect(rows and len(insns) > 20, "there are lines and instructions")
    return len(insns), inlined


for device_name, (arch_name, platform_name) in DEVICES.items():

    @case("%s: lines and inlined calls are those of llvm-dwarfdump and readelf" % arch_name)
    def _(device=device_name, arch=arch_name):
        for kernel in KERNELS:
            path = compiled(kernel, device)
            is_arch, functions, _ = insns_of(path, AFLAME_IGA64="none")
            equal(is_arch, arch, "architecture")
            nr, inlined = compare_lines(path, functions)
            expect(inlined, "%s has inlined calls" % kernel)
            note("%s: %d instructions, %d of them inlined" % (kernel, nr, inlined))

    @case("%s: instructions by libiga64 are those of iga64, and of their sizes" % arch_name)
    def _(device=device_name, platform=platform_name):
        need_tool("iga64")
        for kernel in KERNELS:
            path = compiled(kernel, device)
            _, functions, source = insns_of(path)
            if not source.startswith("iga64"):
                raise Skip("libiga64: " + source)
            ((_, insns),) = functions.items()
            theirs = disassembled(Elf(path).text(), platform)
            end = insns[-1][0] + insns[-1][1]
            ours = {at: text for at, _, _, text in insns}
            for at in sorted(set(ours) | {a for a in theirs if a < end}):
                equal(ours.get(at), theirs.get(at), "%s at 0x%x" % (kernel, at))
            starts = [at for at, _, _, _ in insns]
            equal([size for _, size, _, _ in insns], [b - a for a, b in zip(starts, starts[1:] + [end])], "sizes")
            expect({8, 16} >= {size for _, size, _, _ in insns}, "sizes are 8 and 16")


@case("libiga64 and iga64 are the same to aflame, and without them there are offsets and lines")
def _():
    path = compiled("reduce", "pvc")
    by_library = insns_of(path)
    by_program = insns_of(path, AFLAME_IGA64=need_tool("iga64"))
    neither = insns_of(path, AFLAME_IGA64="none")
    equal(by_library, by_program, "instructions")
    equal({text for _, _, _, text in neither[1]["reduce"]}, {""}, "texts")
    equal([i[:3] for i in neither[1]["reduce"]], [i[:3] for i in by_library[1]["reduce"]], "lines")
    expect("iga64" in neither[2], "the reason is given: " + neither[2])


@case("code that breaks the disassembler does not break aflame")
def _():
    path = compiled("reduce", "pvc")
    elf = Elf(path)
    (text,) = elf.texts()
    for seed in range(8):
        broken = bytearray(elf.bytes)
        for at in range(text[4], text[4] + text[5]):
            if (at * 2654435761 + seed * 40503 >> 7) % 5 == 0:
                broken[at] = (broken[at] * 31 + seed * 17 + at) & 0xFF
        with open(path + ".broken", "wb") as file:
            file.write(broken)
        _, functions, _ = insns_of(path + ".broken")
        expect(functions["reduce"], "instructions")


DRIVERS = {"pvc": "1x2x8", "dg2": "2x4x16", "tgllp": "", "skl": ""}


def driver_environment(family):
    """Intel's driver without a device: it writes what it would have done into a file."""
    hardware = {"HardwareInfoOverride": DRIVERS[family]} if DRIVERS[family] else {}
    return dict(
        os.environ,
        NEOReadDebugKeys="1",
        SetCommandStreamReceiver="1",
        ProductFamilyOverride=family,
        AUBDumpCaptureFileName="/dev/null",
        **hardware
    )


def driver_objects(spirv, out):
    """In a process of its own: build the module and write the driver's ELF with its debug data to @out."""
    ze = ctypes.CDLL("libze_loader.so.1")
    handle = ctypes.c_void_p

    class Module(ctypes.Structure):
        _fields_ = [("stype", ctypes.c_int), ("next", handle), ("format", ctypes.c_int), ("size", ctypes.c_size_t)]
        _fields_ += [("input", ctypes.c_char_p), ("flags", ctypes.c_char_p), ("constants", handle)]

    class Context(ctypes.Structure):
        _fields_ = [("stype", ctypes.c_int), ("next", handle), ("flags", ctypes.c_uint32)]

    def must(status):
        if status:
            sys.exit("0x%x" % (status & 0xFFFFFFFF))

    driver, device, context, module, one = handle(), handle(), handle(), handle(), ctypes.c_uint32(1)
    must(ze.zeInit(0))
    must(ze.zeDriverGet(ctypes.byref(one), ctypes.byref(driver)))
    must(ze.zeDeviceGet(driver, ctypes.byref(one), ctypes.byref(device)))
    must(ze.zeContextCreate(driver, ctypes.byref(Context(0xD)), ctypes.byref(context)))
    with open(spirv, "rb") as file:
        code = file.read()
    wanted = Module(0x1B, None, 0, len(code), code, b"-g -ze-intel-allow-zebin", None)
    must(ze.zeModuleCreate(context, device, ctypes.byref(wanted), ctypes.byref(module), None))
    size = ctypes.c_size_t()
    must(ze.zetModuleGetDebugInfo(module, 0, ctypes.byref(size), None))
    elf = ctypes.create_string_buffer(size.value)
    must(ze.zetModuleGetDebugInfo(module, 0, ctypes.byref(size), elf))
    with open(out, "wb") as file:
        file.write(elf.raw)
    os._exit(0)


def without_relocations(path):
    """A copy whose debug sections have addresses of the device, and no word of how they got them."""
    elf = Elf(path)
    (text,) = elf.texts()
    for i, s in enumerate(elf.sections):
        if s[1] != 4:
            continue
        for at in range(s[4], s[4] + s[5], 24):
            place, info, addend = struct.unpack_from("<QQq", elf.bytes, at)
            if elf.name(s).startswith(".rela.debug") and info & 0xFFFFFFFF == 1:
                struct.pack_into("<Q", elf.bytes, place + elf.sections[s[7]][4], text[3] + addend)
        struct.pack_into("<I", elf.bytes, elf.table + 64 * i + 4, 1)
    with open(path + ".plain", "wb") as file:
        file.write(elf.bytes)
    return path + ".plain"


for family_name in DRIVERS:

    @case("%s: the driver's object has addresses, and the same lines" % family_name)
    def _(family=family_name):
        device = {"dg2": "dg2-g10"}.get(family, family)
        for kernel in KERNELS:
            path = compiled(kernel, device)
            folder, out = os.path.dirname(path), path + ".driver"
            (spirv,) = [n for n in os.listdir(folder) if n.endswith(".spv")]
            words = [sys.executable, os.path.abspath(__file__), "--driver", os.path.join(folder, spirv), out]
            done = subprocess.run(words, env=driver_environment(family), stderr=subprocess.PIPE, timeout=120)
            if done.returncode:
                raise Skip("Intel's Level Zero driver: " + done.stderr.decode().strip()[-100:])
            (text,) = Elf(out).texts()
            expect(text[3] > 0xFFFFFFFF, "the section has an address: 0x%x" % text[3])
            _, functions, _ = insns_of(out, AFLAME_IGA64="none")
            nr, inlined = compare_lines(out, functions)
            expect(inlined, "%s has inlined calls" % kernel)
            note("%s at 0x%x: %d instructions, %d of them inlined" % (kernel, text[3], nr, inlined))
            equal(insns_of(without_relocations(out), AFLAME_IGA64="none")[1], functions, "without relocations")


@case("a module of the format before, of patch tokens, is named and left")
def _():
    need_tool("ocloc")
    folder = os.path.join(WORK, "legacy")
    words = ["ocloc", "compile", "-q", "-file", source_of("reduce"), "-device", "tgllp"]
    output_of(*words, "-output", "made", "-out_dir", folder)
    (name,) = [n for n in os.listdir(folder) if n.endswith(".bin")]
    done = subprocess.run([INSNS, os.path.join(folder, name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, 1, "status")
    expect(b"patch tokens" in done.stderr, done.stderr.decode())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--driver"]:
        driver_objects(*sys.argv[2:])
    try:
        run_cases()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
