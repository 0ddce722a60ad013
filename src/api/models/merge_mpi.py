#!/usr/bin/env python3
"""Make one model of MPI of those of Open MPI and MPICH, and what turns values of the first into those
of the second. Handles become numbers of 8 bytes, a status becomes a struct of our own: without the error, which
no call sets that succeeds.

    merge_mpi.py mpi_mpich.api mpi_openmpi.api OPENMPI/mpi.h mpi.api ../../inject/mpi/openmpi_values.c

Functions keep the numbers that they have in the first model, which has them from the second."""

import re
import sys

HANDLES = "Comm Datatype Op Win Request Info Errhandler Group Message Session".split()
# Numbers of MPICH's header that stand under no comment or cast that `aflame api read` knows.
MORE = {"MPI_Op": [(0x58000001, "MPI_MAX"), (0x58000002, "MPI_MIN")]}
# The other enumerations that differ.
NUMBERS = ["MPI_rank", "MPI_lock_type", "MPI_win_mode", "MPI_error_code"]
STATUS = """type MPI_Status struct 24 8
\t0 source MPI_rank
\t4 tag MPI_tag
\t8 cancelled i32
\t16 bytes u64"""


def model(path):
    """(heads of types with their lines, heads of functions by name with their lines)"""
    types, functions, lines = {}, {}, None
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            words = line.split()
            if line.startswith("\t"):
                lines.append(line)
            elif words[0] == "type":
                lines = types[words[1]] = [line]
            elif words[0] == "fn" and not (words[3] == "void" and words[2].endswith("_errhandler")):
                lines = functions[words[2]] = [line]
            else:
                lines = []
    return types, functions


def values(lines):
    return [(int(line.split()[0]), line.split()[1]) for line in lines[1:]]


def merged(mpich, openmpi):
    types, functions = mpich
    out = ["# merge_mpi.py made it of mpi_mpich.api and mpi_openmpi.api.", "api mpi 0x2000 MPI"]
    out += ["source mpi.h MPICH-4.0.2", "source mpi.h OpenMPI-4.1.4"]
    for name, lines in types.items():
        if name[4:] in HANDLES:
            out.append("type %s enum u64" % name)
            both = MORE.get(name, []) + values(lines)
            out += ["\t%d %s" % (value & 0xFFFFFFFF, label) for value, label in both]
        elif name == "MPI_Status":
            out.append(STATUS)
        elif name in NUMBERS + ["MPI_tag"]:
            out += [re.sub("enum u32", "enum i32", lines[0])] + lines[1:]
        else:
            out += lines
    known = {int(lines[0].split()[1]): lines for lines in functions.values()}
    for name, lines in openmpi[1].items():
        number = int(lines[0].split()[1])
        if name not in functions:
            assert number not in known, name
            known[number] = lines
    for number in sorted(known):
        out += known[number]
    return "\n".join(out) + "\n"


def symbols(header):
    with open(header, encoding="utf-8") as f:
        return re.findall(r"^# *define\s+(MPI_\w+)\s+OMPI_PREDEFINED_GLOBAL\(\s*\w+,\s*(\w+)\)", f.read(), re.M)


def conversions(mpich, openmpi, header):
    types = mpich[0]
    out = ["/* Made by src/api/models/merge_mpi.py. */", '#include "inject/mpi/openmpi.h"', ""]
    numbers = {label: (t, value) for t in types if t[4:] in HANDLES for value, label in values(types[t]) + MORE.get(t, [])}
    out.append("const struct af_openmpi_object af_openmpi_objects[] = {")
    seen = set()
    for label, symbol in symbols(header):
        if label in numbers and symbol not in seen:
            seen.add(symbol)
            out.append('\t{"%s", 0x%xu},' % (symbol, numbers[label][1] & 0xFFFFFFFF))
    out += ["\t{NULL, 0},", "};"]
    for name in NUMBERS:
        theirs = {label: value for value, label in values(openmpi[0][name])}
        pairs = [(theirs[label], value) for value, label in values(types[name]) if label in theirs]
        out += ["", "const struct af_openmpi_number af_openmpi_%s[] = {" % name[4:]]
        out += ["\t{%d, %d}," % pair for pair in sorted(set(pairs))]
        out += ["};", "const unsigned af_openmpi_nr_%s = %d;" % (name[4:], len(set(pairs)))]
    return "\n".join(out) + "\n"


def main():
    mpich, openmpi = model(sys.argv[1]), model(sys.argv[2])
    with open(sys.argv[4], "w", encoding="utf-8") as f:
        f.write(merged(mpich, openmpi))
    with open(sys.argv[5], "w", encoding="utf-8") as f:
        f.write(conversions(mpich, openmpi, sys.argv[3]))


main()
