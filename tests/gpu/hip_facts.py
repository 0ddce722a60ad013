"""A HIP source that nvcc compiles for this NVIDIA GPU: the pipeline from its lines to its kernels, nothing of AMD."""

import os
import re
import shutil
import subprocess

import cuda_facts
from machine import PROGRAMS

FLAGS = ["-std=c++17", "-O2", "-arch=native", "-x", "cu", "-D__HIP_PLATFORM_NVIDIA__", "-D__HIP_PLATFORM_NVCC__",
         "-Xcompiler", "-fno-optimize-sibling-calls,-pthread"]  # fmt: skip
PLACES = (os.environ.get("HIP_INCLUDE", ""), os.path.join(os.path.dirname(PROGRAMS), "hip-include"), "/opt/rocm/include",
          "/usr/include")  # fmt: skip
ERROR = re.compile(r"^(\S+?/nvidia_detail/\w+\.h)\((\d+)\): error", re.M)


def without(path, wrong):
    """Leaves out the functions of a header in which the lines `wrong` are: how many."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    spans = set()
    for number in wrong:
        begin = end = number - 1
        if re.match(r"\s*(case |return cuda\w+;)", lines[begin]):
            spans.add((begin, end))  # of an error that CUDA has no more
            continue
        while begin and lines[begin - 1].strip() and lines[begin - 1] != "}" and not lines[begin - 1].startswith("#"):
            begin -= 1
        # A function may have empty lines.
        while begin and not re.match(r"(inline|static|template|__HIP_DEPRECATED|enum|typedef)", lines[begin]):
            begin -= 1
        while end < len(lines) - 1 and not lines[end].startswith("}"):
            end += 1
        spans.add((begin, end))
    gone = {line for begin, end in spans for line in range(begin, end + 1)}
    lines = [line for at, line in enumerate(lines) if at not in gone]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return len(spans)


def built(machine, place):
    """(the program, functions of AMD's header that this CUDA does not have)"""
    headers, out, left_out = os.path.join(machine.work, "hip"), os.path.join(machine.work, "hip_source"), 0
    shutil.copytree(os.path.join(place, "hip"), os.path.join(headers, "hip"))
    command = [machine.nvcc, *FLAGS, "-I", headers, "-o", out, os.path.join(PROGRAMS, "hip_source.hip"), "-lcuda"]
    for _ in range(12):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not done.returncode:
            return out, left_out
        wrong = {}
        for path, line in ERROR.findall(done.stdout):
            wrong.setdefault(path, set()).add(int(line))
        if not wrong:
            break
        left_out += sum(without(path, lines) for path, lines in wrong.items())
    raise RuntimeError(done.stdout[-1500:])


def run_hip(table, machine, quick):
    place = next((p for p in PLACES if p and os.path.isdir(os.path.join(p, "hip", "nvidia_detail"))), None)
    if not place or not machine.nvcc:
        table.skip("hip", "no nvcc" if place else "HIP's headers are not here (HIP_INCLUDE names their folder)")
        return
    try:
        program, left_out = built(machine, place)
    except RuntimeError as error:
        table.fact("hip: a HIP source is compiled", False, "no error", str(error))
        return
    table.note("hip: compiled without %d functions of AMD's header that this CUDA has no more" % left_out)
    recorded = machine.record([program], ["--api", "cuda"], timeout=60)
    check = lambda *a: (cuda_facts.check_copies(*a), cuda_facts.check_shares(a[0], *a[2:]))  # noqa: E731
    cuda_facts.guarded(table, "hip", cuda_facts.check_run, table, machine, "hip", check, recorded, "hip_source")
