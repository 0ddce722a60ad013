#!/usr/bin/env python3
"""Batch buffers that Intel's own drivers write: the walker finds every kernel in them. The drivers
run without a GPU and write AUB files (tests/aub); where kernels lie is what the drivers say."""

import os
import random
import re
import struct
import subprocess

from machine import BUILD, WORKPLACE, need, need_tool, program
from recording import new_path
from tap import Skip, case, equal, expect, note, run_cases

NR_KERNELS = 27
# GRAPHICS_VER; sizes of those devices that have no default.
VERSIONS = {"pvc": 12, "dg2": 12, "tgllp": 12, "rkl": 12, "icllp": 11, "skl": 9}
SIZES = {"pvc": "1x2x8", "dg2": "1x2x8"}


def source():
    """Kernels of different sizes; some have barriers and local memory, three no local ids."""
    text = ""
    for i in range(NR_KERNELS):
        at = "get_group_id(0)" if i % 9 == 8 else "get_global_id(0)"
        text += "kernel void k%02d(global int *out, int n)\n{\n\tint x = (int)%s + n;\n" % (i, at)
        for k in range(i % 5 + 1):
            text += "\tx = x * %d + %d;\n" % (i + 3 + k, k)
        if i % 3 == 0:
            text += "\tlocal int l[64];\n\tl[get_local_id(0) & 63] = x;\n"
            text += "\tbarrier(CLK_LOCAL_MEM_FENCE);\n\tx += l[(get_local_id(0) + 1) & 63];\n"
        text += "\tout[%s] = x;\n}\n" % at
    path = os.path.join(WORKPLACE, "kernels.cl")
    with open(path, "w") as file:
        file.write(text)
    return path


def spirv():
    folder = os.path.join(WORKPLACE, "spirv")
    ocloc = need_tool("ocloc")
    if not os.path.isdir(folder):
        words = ["-file", source(), "-device", "skl", "-spv_only", "-output", "k", "-out_dir", folder]
        subprocess.run([ocloc, "compile", *words], stdout=subprocess.DEVNULL, check=True, timeout=120)
    return os.path.join(folder, os.listdir(folder)[0])


def need_program(name, package):
    path = program(name)
    if not os.path.exists(path):
        raise Skip("%s was not built: %s is not installed" % (name, package))
    return path


def launch_all(platform, words):
    """Runs a program that launches all kernels: ({name: address}, its AUB file)."""
    aub = new_path("aub")
    env = dict(
        os.environ,
        NEOReadDebugKeys="1",
        SetCommandStreamReceiver="1",
        ProductFamilyOverride=platform,
        AUBDumpCaptureFileName=aub,
    )
    if platform in SIZES:
        env["HardwareInfoOverride"] = SIZES[platform]
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode == 3 or "0x78000001" in done.stderr:
        raise Skip("Intel's driver is not installed (intel-opencl-icd)")
    equal((done.returncode, done.stderr), (0, ""), "the program")
    kernels = dict(line.split() for line in done.stdout.splitlines())
    equal(len(kernels), NR_KERNELS, "kernels launched")
    return {name: int(address, 16) for name, address in kernels.items()}, aub


def walk(aub, platform):
    """Entries of kernels that the walker finds, in order; all batches were read to their ends."""
    words = [os.path.join(BUILD, "tests/aub/walk_aub"), aub, str(VERSIONS[platform])]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    os.remove(aub)
    batches = re.findall(r"^batch (\S+) (\d+) (\d+) \S+ \S+ (.*)$", done.stdout, re.M)
    expect(batches, "no batch in the file")
    equal({(undescribed, stop) for _, _, undescribed, stop in batches}, {("0", "end")}, "batches")
    expect("offset" not in done.stdout, "a kernel without a base")
    note("%s: %d batches of %s commands" % (platform, len(batches), sum(int(b[1]) for b in batches)))
    return [int(address, 16) for address in re.findall(r"^kernel (\S+) compute", done.stdout, re.M)]


def skips(native):
    """{name: what an entry skips}: .ze_info is YAML, found by its words (zebin/spec of IGC)."""
    with open(native, "rb") as file:
        text = file.read().decode("latin-1")
    text = text[text.index("kernels:") :]
    found = {}
    for part in re.split(r"^ *- name: +", text, flags=re.M)[1:]:
        name = re.match(r"k\d\d\b", part)
        skip = re.search(r"offset_to_skip_per_thread_data_load: (\d+)", part)
        if name:
            found.setdefault(name.group(), int(skip.group(1)) if skip else 0)
    return found


def check_level_zero(platform):
    native = new_path("native")
    words = [need_program("ze_all_kernels", "libze-dev"), spirv(), native]
    kernels, aub = launch_all(platform, words)
    skip = skips(native)
    equal(sorted(skip), sorted(kernels), "kernels of .ze_info")
    note("%s: entries skip %s bytes" % (platform, sorted(set(skip.values()))))
    want = sorted(address + skip[name] for name, address in kernels.items())
    equal(sorted(walk(aub, platform)), want, "entries of kernels, each once")


def check_opencl(platform):
    native = new_path("native")
    words = [need_program("cl_all_kernels", "ocl-icd-opencl-dev"), source(), native]
    kernels, aub = launch_all(platform, words)
    # An entry lies in the kernel: its binary is older than .ze_info here, and kernels fill pages.
    found = sorted(walk(aub, platform))
    equal([address & ~0xFFF for address in found], sorted(kernels.values()), "kernels, each once")
    expect(all(address & 0xFFF < 0x200 for address in found), "entries behind the begin of a kernel")


for _platform in ("pvc", "dg2", "tgllp", "rkl", "icllp", "skl"):

    @case("every kernel that Level Zero launches on %s is found, at its entry" % _platform)
    def _(platform=_platform):
        check_level_zero(platform)


for _platform in ("dg2", "tgllp", "icllp", "skl"):

    @case("every kernel that OpenCL launches on %s is found" % _platform)
    def _(platform=_platform):
        check_opencl(platform)


# ---- the same walker in the kernel ----


def level_zero_aub(platform, times=1):
    words = [need_program("ze_all_kernels", "libze-dev"), spirv(), new_path("native"), str(times)]
    path = launch_all(platform, words)[1]
    os.rename(path, path + ".aub")
    return path + ".aub"


def submit(version, how, *files):
    """Lines of what the library finds, the BPF program finds, and another try finds."""
    need("bpf")
    words = [os.path.join(BUILD, "tests/live/batch/submit"), str(version), how, *files]
    if not os.path.exists(words[0]):
        raise Skip("built without the collector bpf")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode == 3:
        raise Skip("BPF programs with loops (Linux 5.17): %s" % done.stderr.strip())
    equal((done.returncode, done.stderr), (0, ""), "the program")
    lost = [line for line in done.stdout.splitlines() if line.startswith("lost")]
    equal(lost, [], "lost")
    return [re.findall("^%s (.*)$" % who, done.stdout, re.M) for who in ("library", "kernel", "late")]


def kernels_of(lines):
    return [line for line in lines if not line.startswith("stop")]


for _platform in ("pvc", "dg2", "skl"):

    @case("a BPF program finds in batches for %s what the library finds, as they are submitted" % _platform)
    def _(platform=_platform):
        library, kernel, late = submit(VERSIONS[platform], "early", level_zero_aub(platform))
        equal(kernel, library, "lines of the BPF program")
        equal(late, [], "found by another try")
        equal(len([line for line in kernel if " compute " in line]), NR_KERNELS, "kernels")


@case("a batch that is written after its submission is found by another try")
def _():
    library, kernel, late = submit(VERSIONS["pvc"], "late", level_zero_aub("pvc"))
    equal(kernels_of(kernel), [], "found at once")
    equal(late, kernels_of(library), "found by another try")
    equal(len(late), NR_KERNELS, "kernels")


@case("a batch of more commands than the BPF program reads is read to its end from user space")
def _():
    library, kernel, late = submit(VERSIONS["skl"], "long", level_zero_aub("skl", 300))
    at_once = kernels_of(kernel)
    expect(at_once and late, "%d at once, %d later" % (len(at_once), len(late)))
    equal(at_once + late, kernels_of(library), "kernels")
    equal(len([line for line in library if " compute " in line]), 300 * NR_KERNELS, "kernels of the library")


def hostile(seed):
    """A batch of commands that jump, call and start kernels as chance has it."""
    chance = random.Random(seed)
    size = chance.choice((64, 256, 1024))

    def target():
        return 0x10000 + 4 * chance.randrange(size + size // 16)

    def command():
        return chance.choice(
            (
                lambda: (0x18C00101, target(), 0),
                lambda: (0x18800101, target(), 0),
                lambda: (0x18808101, target(), 0),
                lambda: (0x18800001, target(), 0),
                lambda: (0x05000000,),
                lambda: (0x05008000,),
                lambda: (0,) * chance.randrange(1, 40),
                lambda: (0x61020001, chance.getrandbits(32), chance.getrandbits(16)),
                lambda: (0x72080025, *(chance.getrandbits(32) for _ in range(38))),
                lambda: (0x7820000A, *(chance.getrandbits(32) for _ in range(11))),
                lambda: (0x61010014, *(0,) * 5, target() & ~4095 | 1, *(0,) * 3, 0xA0001, 0x8000, *(0,) * 10),
                lambda: (0x70020002, 0, chance.randrange(4096), chance.randrange(4096)),
                lambda: (0x7105000D, chance.randrange(64), *(0,) * 13),
                lambda: (chance.getrandbits(32),),
            )
        )()

    words = []
    while len(words) < size:
        words += command()
    path = os.path.join(WORKPLACE, "hostile-%d" % seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<%dI" % size, *words[:size]))
    return path


def endless():
    """Three levels of 32 calls each: more commands than anybody reads, each legal."""
    words = []
    for level in range(1, 4):
        words += [0x18C00101, 0x10000 + 1024 * level, 0] * 32 + [0x05000000]
        words += [0] * (256 * level - len(words))
    words += [0] * 64 + [0x05000000]
    path = os.path.join(WORKPLACE, "endless")
    with open(path, "wb") as file:
        file.write(struct.pack("<%dI" % len(words), *words))
    return path


@case("a BPF program and the library find the same in hostile batches, and stop at the same command")
def _():
    files = [hostile(seed) for seed in range(300)] + [endless()]
    for version in (9, 12, 20, 35):
        library, kernel, _ = submit(version, "early", *files)
        equal(kernel, library, "lines of the BPF program")
        stops = [line.rsplit(" ", 1)[0] for line in library if line.startswith("stop")]
        equal(len(stops), len(files), "walks that ended")
        equal(stops[-1], "stop too long", "a batch of too many commands")
        expect(len(kernels_of(library)) > 150, "few kernels: %d" % len(kernels_of(library)))
        note("version %d: %s" % (version, {stop: stops.count(stop) for stop in sorted(set(stops))}))


run_cases()
