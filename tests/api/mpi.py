"""MPI: a library with all of its functions and a caller, in C, from the headers of Open MPI and of
MPICH. What an event has of a handle is 8 bytes on both, and Open MPI's numbers become MPICH's."""

import collections
import os
import re

import compare
import vendor

Api = collections.namedtuple("Api", "name folders library error is_open")
APIS = {
    "openmpi": Api(
        "openmpi",
        ("/usr/lib/x86_64-linux-gnu/openmpi/include", "/usr/include/openmpi-x86_64"),
        "libmpi.so.40",
        205,
        True,
    ),
    "mpich": Api(
        "mpich",
        ("/usr/include/x86_64-linux-gnu/mpich", "/usr/include/mpich-x86_64", "/usr/include/mpich"),
        "libmpich.so.12",
        1 << 30 | 5,
        False,
    ),
}
INCLUDES = "#define _GNU_SOURCE\n#include <mpi.h>\n"

# Questions that aflame asks after a call, and their answers.
PLAIN = {
    "MPI_Comm_size": "*a1 = MOCK_COUNT;",
    "MPI_Comm_remote_size": "*a1 = MOCK_COUNT;",
    "MPI_Type_size": "*a1 = MOCK_SIZE;",
    "MPI_Type_size_x": "*a1 = MOCK_SIZE;",
    "MPI_Comm_test_inter": "*a1 = 0;",
}
CONSTANTS = {"assert": "MPI_MODE_NOCHECK", "lock_type": "MPI_LOCK_EXCLUSIVE"}
STORED = {"assert": 1024, "lock_type": 234}  # MPICH's numbers of the two
CODES = ("errorcode", "errorclass")
COUNTS = re.compile(r"n|ndims|maxdims|\w*count\w*|length|num_\w+|\w*size|len|buflen|r?[ks]?n")


def bare(name):
    return name


def read(folder):
    return vendor.Headers(INCLUDES, ["-I" + folder])


def functions(headers):
    return headers.functions(r"MPI_[A-Z]\w*")


def is_native(p):
    return bool(re.fullmatch(r"(const )?MPI_(Comm|Datatype|Op|Win|Request|Info|Errhandler|Group|"
                             r"Message|Session)( \*)?", p.type))


def is_count(p):
    return bool(COUNTS.fullmatch(p.name)) and not is_native(p)


def value(api, index, p):
    canon = p.canon.replace("const ", "")
    if p.pointee == "function":
        return "(void *)callback"
    if p.pointee in ("void", "array"):
        return "note_bytes(%d)" % index
    if p.pointee == "char":
        return 'note_string("%s")' % p.name if p.is_const else "note_room()"
    if p.pointee in ("strings", "pointers"):
        return 'note_strings("%s")' % p.name
    if p.pointee == "handle":
        return "object(%d)" % (index + 1)
    if p.pointee == "handles":
        return "note_objects(%d)" % index if p.is_const else "note_room()"
    if p.pointee:
        return "note_elements(%d, sizeof *a%d)" % (index, index) if p.is_const else "note_room()"
    if p.name in CONSTANTS:
        return CONSTANTS[p.name]
    if p.name in CODES:
        return str(api.error)
    if is_native(p):
        return "0x44000000 + %d" % index
    if is_count(p):
        return str(2 + index % 3)
    return "0x01020304050600ll + %d" % index if "long" in canon else str(100 + index)


def signature(f):
    params = ", ".join("__typeof__(%s) a%d" % (p.type, i) for i, p in enumerate(f.params))
    return "(%s%s)" % (params or "void", ", ..." if f.name == "MPI_Pcontrol" else "")


def answers(f):
    for i, p in enumerate(f.params):
        if not p.pointee or p.is_const or p.pointee in ("function", "handle", "strings", "pointers"):
            continue
        if p.pointee == "handles":
            yield "mock_put_objects((void *)a%d, %d);" % (i, i)
        elif p.pointee == "char":
            yield 'strcpy(a%d, "an answer");' % i
        elif p.pointee in ("void", "array"):
            yield "mock_put((void *)a%d, %d, 16, 0, 0);" % (i, i)
        else:
            several = p.name.startswith("array_of") or p.type == "MPI_Status *"
            count = p.pointee == "integer" and not is_native(p)
            yield "mock_put(a%d, %d, sizeof *a%d, %d, %d);" % (i, i, i, count, several)


def result(headers, f):
    canon = headers.canon(f.result)
    if f.name.endswith("_c2f"):
        return "MOCK_CTOF"
    if canon.endswith("*"):
        return "(void *)mock_objects[60]"
    return {"int": "mock_error", "double": "1.5"}.get(canon, "0x1122334455")


def library(api, headers):
    """The C source of the mock."""
    out = [INCLUDES, '#include "mock_mpi.h"\n']
    if api.is_open:
        out.append('__asm__(".globl ompi_mpi_comm_world\\n.comm ompi_mpi_comm_world, 512, 16");')
    for f in functions(headers):
        out.append("%s (%s)%s\n{" % (f.result, f.name, signature(f)))
        out.append('\tif (mock_begin("%s", %d)) {' % (f.name, api.error))
        out += ["\t\t" + line for line in answers(f)]
        out.append("\t} else if (!mock_error) {\n\t\t%s\n\t}" % PLAIN.get(f.name, ""))
        out.append("\treturn (%s)%s;\n}" % (f.result, result(headers, f)))
        out.append(
            'extern __typeof__(%s) P%s __attribute__((alias("%s")));\n' % (f.name, f.name, f.name)
        )
    return "\n".join(out)


def call(api, f):
    out = ["static void call_%s(enum note_way way, FILE *to)\n{" % f.name]
    out.append('\t%s (*function)%s = named("%s");' % (f.result, signature(f), f.name))
    for i, p in enumerate(f.params):
        bare_type = re.sub(r"^const (?=\w+$)", "", p.type)
        out.append("\t__typeof__(%s) a%d = 0;" % (bare_type, i))
        out.append("\tif (way != NOTE_ZEROS)\n\t\ta%d = (__typeof__(a%d))(%s);" % (i, i, value(api, i, p)))
    out.append('\tnote_begin("%s", way);' % f.name)
    for i, p in enumerate(f.params):
        ours = p.pointee and p.pointee not in ("function", "handle")
        is_void = p.pointee in ("void", "array", "char")
        element = "1" if is_void else "sizeof *a%d" % i
        out.append(
            '\tnote_arg("%s", &a%d, sizeof a%d, %s, %s, %d);'
            % (p.name, i, i, "(void *)a%d" % i if ours else "NULL", element if ours else "0", is_void)
        )
    out.append('\tmock_arm("%s", way != NOTE_WORKS);' % f.name)
    args = ", ".join("a%d" % i for i in range(len(f.params)))
    out.append("\t%s result = function(%s);" % (f.result, args))
    out.append("\tnote_end(to, &result, sizeof result, 0);\n}\n")
    return "\n".join(out)


def caller(api, headers):
    found = functions(headers)
    out = [INCLUDES, '#include "caller_mpi.h"\n'] + [call(api, f) for f in found]
    out.append("const struct callee callees[] = {")
    out += ['\t{"%s", call_%s},' % (f.name, f.name) for f in found]
    out.append("\t{NULL, NULL},\n};\n")
    return "\n".join(out)


def failed(f, note):
    answers_only = f.name.endswith(("_c2f", "_f2c")) or f.result != "int"
    return not answers_only and bool(compare.number(note["result"]))


def length(f, index, sizes):
    p = f.params[index]
    if not p.name.startswith("array_of") or not p.is_const:
        return None
    counts = [q.name for q in f.params if q.name in ("count", "incount")]
    return sizes[counts[0]] if counts and f.name != "MPI_Comm_spawn_multiple" else None


class Statuses:
    """Where the vendor's MPI_Status has what."""

    def __init__(self, headers):
        record = headers.canon("MPI_Status")
        names = [m.name for m in headers.members(record)]
        self.source, self.tag = 4 * names.index("MPI_SOURCE"), 4 * names.index("MPI_TAG")

    def stored(self, memory, nr, size):
        """As an event has as many: what the two members are, and nothing of the others."""
        for i in range(nr):
            at = 2 * size * i
            yield [memory[at + 2 * o : at + 2 * o + 8] for o in (self.source, self.tag)]


class Module:
    """What tests/api/coverage asks of an API, of one of the two."""

    def __init__(self, api, headers, tally):
        self.api, self.statuses, self.tally = api, Statuses(headers), tally
        self.length, self.failed, self.bare = length, failed, bare

    def adjust(self, f, note, recorded):
        """The program's values as events store them."""
        for p, arg, got in zip(f.params, note["args"], recorded["args"]):
            arg["native"] = is_native(p)
            arg["named"] = not self.api.is_open  # the names of parameters are MPICH's
            if self.api.is_open and p.name in STORED and note["way"] != "zeros":
                arg["value"] = STORED[p.name].to_bytes(4, "little").hex()
            if p.type in ("MPI_Status *", "const MPI_Status *") and "after" in arg:
                self._status(f, note, arg, got)

    def _status(self, f, note, arg, got):
        where, size, read = "%s: %s, status" % (note["way"], f.name), arg["element"], got.get("after", "")
        nr = len(read) // 48
        if read.strip("0"):
            want = list(self.statuses.stored(arg["after"], nr, size))
            have = [[read[48 * i : 48 * i + 8], read[48 * i + 8 : 48 * i + 16]] for i in range(nr)]
            if not self.api.is_open:
                self.tally.equal(have, want, where)
            else:  # ranks below 0 have other numbers
                self.tally.equal([h[1] for h in have], [w[1] for w in want], where)
        got.update(pointee="")


def found_in(api):
    return next((f for f in api.folders if os.path.exists(os.path.join(f, "mpi.h"))), None)
