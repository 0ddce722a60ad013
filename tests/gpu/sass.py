#!/usr/bin/env python3
"""The decoder of instructions (src/sym/device/sass.c) against NVIDIA's disassembler, where there is one.

    tests/gpu/sass.py [--seconds N] [--only opcodes,registers,cubins] [FILE ...]

opcodes    all 4096 of each architecture that nvdisasm knows, with operands made up: what is a
           name there and not here, or another one
cubins     instructions of the cubins in FILE (libraries, programs, cubins; without any: PyTorch's
           and CUDA's own libraries, and tests/gpu/programs compiled for every architecture)
registers  of the cubins compiled here: what each instruction reads and writes

It needs python3, cc and nvdisasm; cuobjdump and nvcc where they are. It prints tables; what it has
no room for is in the file that it names at the end.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/unit/sass"))
import truth  # noqa: E402
NOP = struct.pack("<QQ", 0x7918, 0x000FC00000000000)
ROWS = 150
CUBIN_MAX = 3 << 20  # larger ones take nvdisasm minutes

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "sym/device/sass.c"

static void set(char kind, const struct af_sass_set *s)
{
	printf(" %c", kind);
	for (int i = 0; i < 256; i++)
		if (s->r[i / 64] >> i % 64 & 1)
			printf(",R%d", i);
	for (int i = 0; i < 256; i++)
		if (s->u[i / 64] >> i % 64 & 1)
			printf(",UR%d", i);
	for (int i = 0; i < 8; i++)
		if (s->p >> i & 1)
			printf(",P%d", i);
	for (int i = 0; i < 8; i++)
		if (s->up >> i & 1)
			printf(",UP%d", i);
}

int main(int argc, char **argv)
{
	unsigned char bytes[16];
	char text[AF_SASS_TEXT_MAX];
	struct af_sass s;

	while (fread(bytes, 1, 16, stdin) == 16) {
		af_sass_decode((unsigned)atoi(argv[1]), bytes, &s);
		printf("%s", af_sass_text(&s, text));
		if (argc > 2) {
			printf("\t");
			set('r', &s.reads);
			set('w', &s.writes);
		}
		printf("\n");
	}
	return 0;
}
"""


def tool(name):
    """A tool of CUDA: in PATH, CUDA_HOME, /usr/local, Triton's folder."""
    given = os.environ.get("AFLAME_" + name.upper())
    places = [given] if given else []
    places += [shutil.which(name) or ""]
    places += [os.path.join(os.environ.get(v, ""), "bin", name) for v in ("CUDA_HOME", "CUDA_PATH")]
    places += sorted(glob.glob("/usr/local/cuda*/bin/" + name), reverse=True)
    for folder in sys.path:
        places += [os.path.join(folder, "triton/backends/nvidia/bin", name)]
        places += glob.glob(os.path.join(folder, "nvidia/*/bin", name))
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def run(argv, **how):
    return subprocess.run(argv, capture_output=True, timeout=600, check=False, **how)


class Machine:
    """The tools of this machine, and the decoder built on it."""

    def __init__(self, folder):
        self.folder = folder
        self.nvdisasm, self.cuobjdump, self.nvcc = map(tool, ("nvdisasm", "cuobjdump", "nvcc"))
        if not self.nvdisasm:
            sys.exit("no nvdisasm")
        source = os.path.join(folder, "driver.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write(DRIVER)
        self.driver = os.path.join(folder, "driver")
        subprocess.run(["cc", "-std=gnu17", "-O2", "-I" + os.path.join(ROOT, "src"), "-o",
                        self.driver, source], check=True)

    def ours(self, sm, words, registers=False):
        argv = [self.driver, str(sm)] + (["registers"] if registers else [])
        return run(argv, input=b"".join(words)).stdout.decode().split("\n")[:-1]

    def archs(self):
        """{number: what nvdisasm -b calls it}; the variant with the most instructions."""
        helped = run([self.nvdisasm, "--help"]).stdout.decode()
        known = set(re.findall(r"'SM(\d+)([af]?)'", helped))
        names = {}
        for number, suffix in sorted(known):
            if int(number) >= 70 and (suffix == "a" or int(number) not in names):
                names[int(number)] = "SM" + number + suffix
        return names

    def raw(self, name, words, tag):
        """What nvdisasm makes of the words, None for what it does not know."""
        words = list(words)
        bad = set()
        path = os.path.join(self.folder, "raw." + tag)
        for _ in range(8):
            with open(path, "wb") as f:
                f.write(b"".join(words))
            r = run([self.nvdisasm, "-b", name, path])
            wrong = {int(x, 16) // 16 for x in re.findall(rb"address (0x[0-9a-f]+)", r.stderr)}
            wrong = {w for w in wrong if w < len(words)} - bad
            if not wrong:
                break
            bad |= wrong
            for w in wrong:
                words[w] = NOP
        texts = [None] * len(words)
        for m in re.finditer(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", r.stdout.decode("latin-1"), re.S):
            at = int(m.group(1), 16) // 16
            if at < len(words) and at not in bad:
                texts[at] = " ".join(m.group(2).strip("{} \t\n").split())
        return texts


def short(text):
    """'@!P0 LDG.E R2, [R4]' → '@!P0 LDG'"""
    words = text.split()
    guard = words.pop(0) + " " if words and words[0][0] == "@" else ""
    return guard + words[0].split(".")[0] if words else text


# ---- opcodes ----

def made_up(opcode, pool):
    chance = random.random()
    if pool and chance < 0.35:
        low, high = random.choice(pool)
        low = low & ~0xFFFF | opcode | 0x7000
    else:
        def register():
            if random.random() < 0.75:
                return random.choice([0, 2, 4, 8, 12, 16, 32, 60, 63])
            return random.choice([255, random.getrandbits(8)])
        low = opcode | 0x7000 | register() << 16 | register() << 24 | register() << 32
        high = register()
        if random.random() < 0.2:
            low |= random.getrandbits(24) << 40
        for at in (4, 8, 13, 17, 20, 23):
            if random.random() < 0.6:
                high |= 7 << at
        for _ in range(random.choice([0, 0, 1, 1, 2, 3, 6])):
            high |= 1 << random.randrange(8, 28)
        high |= 0xFE400 << 32
    return struct.pack("<QQ", low & (1 << 64) - 1, high & (1 << 64) - 1)


def fields(machine, name, word, tag):
    """Which fields hold registers, by giving them numbers of their own: 'd a Ub p81 x87'."""
    value = int.from_bytes(word, "little")
    v = value
    for at, n in {16: 20, 24: 40, 32: 60, 64: 44}.items():
        v = v & ~(0xFF << at) | n << at
    tries = [v]
    predicates = {81: 1, 84: 2, 87: 3, 77: 4, 68: 5, 24: 6}
    for at, n in predicates.items():
        v = value
        for other in predicates:
            v |= 7 << other
        tries.append(v & ~(7 << at) | n << at)
    texts = machine.raw(name, [v.to_bytes(16, "little") for v in tries], tag)
    found = []
    if texts[0]:
        for kind, n in re.findall(r"\b(UR|R)(20|40|60|44)\b", texts[0]):
            found.append(kind[:-1] + {"20": "d", "40": "a", "60": "b", "44": "c"}[n])
    for (at, n), text in zip(predicates.items(), texts[1:]):
        m = re.search(r"\b(U?)P%d\b" % n, text or "")
        if m:
            found.append(m.group(1) + "p%d" % at)
    return " ".join(found), texts[0]


def opcodes_of(args):
    machine, sm, name, pool, seconds, seed = args
    until = time.time() + seconds
    random.seed(seed)
    theirs = collections.defaultdict(collections.Counter)
    words = {}
    rounds = 0
    while time.time() < until and rounds < 60:
        rounds += 1
        batch = [made_up(o, pool) for o in range(4096)]
        for o, text in enumerate(machine.raw(name, batch, "%s.%d" % (name, seed))):
            if text:
                theirs[o][short(text)] += 1
                words.setdefault((o, short(text)), batch[o])
    return sm, name, theirs, words, rounds


def opcodes(machine, pools, seconds, log):
    archs = machine.archs()
    jobs = [(machine, sm, name, pools.get(sm, []) + pools.get(0, []), seconds, sm)
            for sm, name in archs.items()]
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    new = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for sm, name, theirs, words, rounds in pool.map(opcodes_of, jobs):
            keys = sorted(words)
            ours = dict(zip(keys, machine.ours(sm, [words[k] for k in keys])))
            differ = [k for k in keys if ours[k] != k[1]]
            print("opcodes  sm_%-4d %4d opcodes with a name, %d rounds, %d differ"
                  % (sm, len(theirs), rounds, len(differ)))
            for o, text in keys:
                log.write("opcode sm_%d %03x %s (%s) x%d\n"
                          % (sm, o, text, ours[o, text], theirs[o][text]))
            for o, text in differ:
                rows[o & 0x1FF, text, ours[o, text]][sm].append(o >> 9)
                new.setdefault((o & 0x1FF, text, ours[o, text]), (name, words[o, text]))
    print("\nopcodes that differ: low 9 bits, nvdisasm's, ours, {arch: forms}, fields, an example")
    for key in sorted(rows)[:2 * ROWS]:
        where = " ".join("%d:%s" % (sm, "".join(map(str, sorted(set(forms)))))
                         for sm, forms in sorted(rows[key].items()))
        print("%03x %-14s %-12s {%s} [%s] %s"
              % (key + (where,) + tuple(x or "" for x in fields(machine, *new[key], "fields"))))


# ---- cubins ----

def hexed(machine, path, options=()):
    """(offset, text, word) of each instruction of a cubin."""
    r = run([machine.nvdisasm, "-c", "-hex", *options, path])
    out = r.stdout.decode("latin-1")
    pattern = (r"/\*([0-9a-f]{4,})\*/\s+([^;]*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/[^\n]*\n"
               r"[^\n]*?/\* 0x([0-9a-f]{16}) \*/")
    for m in re.finditer(pattern, out):
        word = struct.pack("<QQ", int(m.group(3), 16), int(m.group(4), 16))
        yield int(m.group(1), 16), " ".join(m.group(2).strip("{} \t").split()), word


def arch_of(path):
    with open(path, "rb") as f:
        header = f.read(64)
    if header[:4] != b"\x7fELF" or struct.unpack_from("<H", header, 18)[0] != 190:
        return 0
    flags = struct.unpack_from("<I", header, 48)[0]
    return flags >> 8 & 0xFF if header[8] >= 8 else flags & 0xFF


def compare(args):
    machine, path, until = args
    sm = arch_of(path)
    late = time.time() > until or os.path.getsize(path) > CUBIN_MAX
    known = list(hexed(machine, path)) if sm >= 70 and not late else []
    ours = machine.ours(sm, [w for _, _, w in known])
    rows = collections.Counter()
    example = {}
    for (_, text, word), mine in zip(known, ours):
        if mine != short(text):
            key = (struct.unpack_from("<H", word)[0] & 0xFFF, short(text).split()[-1],
                   mine.split()[-1])
            rows[key] += 1
            example[key] = text
    seen = collections.Counter(struct.unpack_from("<H", w)[0] & 0xFFF for _, _, w in known)
    words = {(w, t) for _, t, w in random.sample(known, min(len(known), 300))}
    return sm, len(known), rows, example, seen, words


def libraries():
    found = []
    for folder in sys.path + ["/usr/local/cuda/lib64", "/usr/local/cuda/lib"]:
        for pattern in ("torch/lib/libtorch_cuda.so", "nvidia/*/lib/lib*.so*", "lib*.so*"):
            found += glob.glob(os.path.join(folder, pattern)) if folder else []
    wanted = re.compile(r"lib(torch_cuda|cublasLt|cublas|cufft|cusparse|curand|cudnn|nccl|cusolver)")
    real = {os.path.realpath(p): p for p in found if wanted.match(os.path.basename(p))}
    return sorted(real)


def extract(machine, files, seconds, per_arch=6):
    """Cubins of libraries: some of each architecture, in an order that is the same every time."""
    cubins = [f for f in files if arch_of(f)]
    random.seed(1)
    until = time.time() + seconds
    for library in [f for f in files if f not in cubins]:
        if time.time() > until or not machine.cuobjdump:
            break
        listed = run([machine.cuobjdump, "-lelf", library]).stdout.decode()
        names = collections.defaultdict(list)
        for name in re.findall(r"(\S+\.cubin)", listed):
            arch = re.search(r"sm_(\d+)", name)
            names[arch.group(1) if arch else "?"].append(name)
        folder = tempfile.mkdtemp(dir=machine.folder)
        picked = [n for some in names.values() for n in random.sample(some, min(per_arch, len(some)))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda n: time.time() < until and run(
                [machine.cuobjdump, "-xelf", n, library], cwd=folder), picked))
        got = glob.glob(os.path.join(folder, "*.cubin"))
        print("%s: %s; %d taken" % (os.path.basename(library), ", ".join(
            "sm_%s %d" % (a, len(n)) for a, n in sorted(names.items())), len(got)), flush=True)
        cubins += got
    return cubins


def compile_all(machine):
    """tests/gpu/programs and tests/unit/sass for every architecture that nvcc knows."""
    if not machine.nvcc:
        return []
    archs = re.findall(r"sm_(\d+)", run([machine.nvcc, "--list-gpu-code"]).stdout.decode())
    archs = [a + "a" if int(a) >= 90 else a for a in archs]
    sources = glob.glob(os.path.join(ROOT, "tests/gpu/programs/*.cu"))
    sources += glob.glob(os.path.join(ROOT, "tests/unit/sass/*.cu"))

    def compile_one(source, arch):
        out = os.path.join(machine.folder, "%s.%s.cubin" % (os.path.basename(source), arch))
        run([machine.nvcc, "-w", "-arch=sm_" + arch, "-cubin", "-o", out,
             "-I" + os.path.join(ROOT, "tests/gpu/programs"), source])
        return out

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compile_one, s, a) for s in sources for a in archs]
        return [j.result() for j in jobs if os.path.exists(j.result())]


def cubins(machine, paths, seconds, log):
    until = time.time() + seconds
    count = collections.Counter()
    rows = collections.defaultdict(collections.Counter)
    examples, opcodes_seen = {}, collections.defaultdict(collections.Counter)
    pools = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for sm, nr, differ, example, seen, words in pool.map(compare, [(machine, p, until) for p in paths]):
            count[sm] += nr
            opcodes_seen[sm] += seen
            for key, n in differ.items():
                rows[key][sm] += n
                examples[key] = example[key]
            pools[sm] |= {struct.unpack("<QQ", w) for w, _ in words}
    for sm in sorted(count):
        wrong = sum(r[sm] for r in rows.values())
        print("cubins   sm_%-4d %9d instructions, %3d opcodes, %d differ"
              % (sm, count[sm], len(opcodes_seen[sm]), wrong))
        for o, n in sorted(opcodes_seen[sm].items()):
            log.write("cubins sm_%d %03x x%d\n" % (sm, o, n))
    if rows:
        print("\ninstructions that differ: opcode, nvdisasm's, ours, {arch: how many}, an example")
    for key in sorted(rows, key=lambda k: -sum(rows[k].values()))[:ROWS]:
        print("%03x %-14s %-12s {%s} %s" % (key + (" ".join(
            "%d:%d" % x for x in sorted(rows[key].items())), examples[key])))
    return {sm: sorted(words) for sm, words in pools.items()}


# ---- registers ----

def registers_of(args):
    machine, path = args
    sm, rows, example, nr = arch_of(path), collections.Counter(), {}, 0
    try:
        known = list(truth.instructions(machine.nvdisasm, path))
    except subprocess.CalledProcessError:
        return sm, nr, rows, example
    words = [bytes.fromhex(word)[::-1] for word, _, _, _ in known]
    for (word, text, reads, writes), line in zip(known, machine.ours(sm, words, True)):
        name, _, sets = line.partition("\t")
        ours = [set(x.split(",")[1:]) for x in sets.split()]
        nr += 1
        if [set(reads), set(writes)] != ours and "CALL" not in name:
            key = int(word[-3:], 16), name.split()[-1]
            rows[key] += 1
            example[key] = (word, text, "theirs", ",".join(reads), ">", ",".join(writes),
                            "ours", ",".join(sorted(ours[0])), ">", ",".join(sorted(ours[1])))
    return sm, nr, rows, example


def registers(machine, paths):
    """Those read and written, as the life ranges have them that nvdisasm prints."""
    count, rows, examples = collections.Counter(), collections.defaultdict(collections.Counter), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for sm, nr, differ, example in pool.map(registers_of, [(machine, p) for p in paths]):
            count[sm] += nr
            for key, n in differ.items():
                rows[key][sm] += n
                examples[key] = example[key]
    for sm in sorted(count):
        print("registers sm_%-4d %8d instructions, %d differ"
              % (sm, count[sm], sum(r[sm] for r in rows.values())))
    for key in sorted(rows, key=lambda k: -sum(rows[k].values()))[:ROWS]:
        print("%03x %-10s {%s} %s" % (key + (" ".join("%d:%d" % x for x in sorted(
            rows[key].items())), " ".join(examples[key])[:400])))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--seconds", type=int, default=100,
                   help="for opcodes, for taking cubins out, for comparing them")
    p.add_argument("--only", default="opcodes,registers,cubins")
    p.add_argument("--log", default=os.path.join(os.environ.get("OUT", "."), "sass.log"))
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory() as folder, open(a.log, "w", encoding="utf-8") as log:
        machine = Machine(folder)
        print(run([machine.nvdisasm, "--version"]).stdout.decode().strip().split("\n")[-1],
              "cuobjdump:", machine.cuobjdump, "nvcc:", machine.nvcc)
        compiled = compile_all(machine)
        print("%d cubins compiled" % len(compiled))
        pools = cubins(machine, compiled, a.seconds, log)
        if "opcodes" in a.only:
            pools[0] = [w for some in pools.values() for w in some][:3000]
            opcodes(machine, pools, a.seconds, log)
        if "registers" in a.only:
            registers(machine, compiled)
        if "cubins" in a.only:
            paths = extract(machine, a.files or libraries(), a.seconds)
            cubins(machine, paths, a.seconds, log)
    print("all of it is in", a.log)


if __name__ == "__main__":
    main()
