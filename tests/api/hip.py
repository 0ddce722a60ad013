"""HIP: a mock of libamdhip64.so with all functions that its header declares, and a caller that is
linked with it, both in C, from the header of whichever HIP is installed."""

import os
import re

import compare
import vendor

# The model is of HIP 6.4, with what only 5.2 has; Debian 12 has 5.2's header.
FOLDERS = tuple(filter(None, (os.environ.get("AFLAME_HIP_INCLUDE"),))) + ("/opt/rocm/include", "/usr/include")
HEADER = "hip/hip_runtime_api.h"
INCLUDES = "#define _GNU_SOURCE\n#define __HIP_PLATFORM_AMD__ 1\n#include <stddef.h>\n#include <%s>\n" % HEADER
LACKED = re.compile(r"_spt$|^hipCreateChannelDesc$")
ERROR = 1  # hipErrorInvalidValue

COUNTS = re.compile(r"(p?num(?!Blocks)[A-Z]\w*|count|len|num_attributes|cuMaskSize)$")
ANSWERS_ONLY = re.compile(
    r"hip(EventQuery|StreamQuery|GetLastError|PeekAtLastError|ExtGetLastError|GetErrorName|GetErrorString|"
    r"KernelNameRef|KernelNameRefByPtr|ApiName|GetStreamDeviceId)"
)
# An array is an incomplete struct of 6.4, and 5.2 shows what is in it; others of its structs are shorter.
CHANGED = re.compile(
    r"hipArray\b|hipArray_|hipPointerAttribute|textureReference|KernelNodeAttr|hipExternal\w+(Desc|Params)|HIP_MEMCPY3D"
)
# Of 5.2 alone, and a bit-field, whose offset C cannot tell.
NO_FACTS = re.compile("hipGLDeviceList|hasGlobalInt32Atomics")


def bare(name):
    return name


def read(folder):
    return vendor.Headers(INCLUDES, ["-I" + folder])


def major(headers):
    """Of the header's version: 6 has functions that 5 lacks."""
    return 6 if any(f.name == "hipGetDevicePropertiesR0600" for f in headers.functions("hip.*R0600")) else 5


def functions(headers):
    """Without those for streams of a thread, and one that makes a struct, which the model lacks."""
    return [f for f in headers.functions(r"hip[A-Z]\w*") if not LACKED.search(f.name)]


def is_compared(headers, f):
    """Have both versions the same types here?"""
    return major(headers) == 6 or not any(CHANGED.search(p.type + " " + p.canon) for p in f.params)


def is_count(p):
    return bool(COUNTS.match(p.name)) and not p.pointee


def value(index, p):
    """The C expression of what is passed; None: bytes of a struct."""
    if p.pointee == "function":
        return "(void *)callback"
    if p.pointee == "void":
        return "note_bytes(%d)" % index
    if p.pointee == "char":
        return 'note_string("%s")' % p.name
    if p.pointee in ("strings", "pointers"):
        return 'note_strings("%s")' % p.name
    if p.pointee == "handle":
        return "object(%d)" % (index + 1)
    if p.pointee == "handles":
        return "note_objects(%d)" % index if p.is_const else "note_room()"
    if p.pointee and p.is_const:
        return "note_elements(%d, sizeof *a%d)" % (index, index)
    if p.pointee == "integer":
        return "note_count(sizeof *a%d)" % index
    if p.pointee:
        return "note_room()"
    if p.canon.startswith(("struct ", "union ")) or p.canon in ("dim3", "hipExtent", "hipMemLocation"):
        return None
    if is_count(p):
        return str(2 + index % 3)
    if "size_t" in p.type:
        return str(16 + index)
    if p.canon in ("float", "double"):
        return "1.5"
    return str(100 + index)


def signature(f):
    return "(%s)" % (", ".join("__typeof__(%s) a%d" % (p.type, i) for i, p in enumerate(f.params)) or "void")


def answers(f):
    for i, p in enumerate(f.params):
        if not p.pointee or p.is_const or p.pointee in ("function", "handle", "strings", "pointers"):
            continue
        if p.pointee == "char":
            yield 'strcpy(a%d, "an answer");' % i
        else:
            size = "4" if p.pointee == "void" else "sizeof *a%d" % i
            yield "mock_put((void *)a%d, %d, %s, %d);" % (i, i, size, p.pointee == "integer")


def library(headers):
    """The C source of the mock."""
    out = [INCLUDES, '#include "mock_hip.h"\n']
    for f in functions(headers):
        canon = headers.canon(f.result)
        text = canon.endswith("*")
        out.append("%s %s%s\n{" % (f.result, f.name, signature(f)))
        out.append('\tif (mock_begin("%s", %d)) {' % (f.name, ERROR))
        out += ["\t\t" + line for line in answers(f)]
        out.append("\t}\n\treturn (%s)%s;\n}\n" % (f.result, '"a text"' if text else "mock_error"))
    return "\n".join(out)


def call(f):
    out = ["static void call_%s(enum note_way way, FILE *to)\n{" % f.name]
    for i, p in enumerate(f.params):
        out.append("\t__typeof__(%s) a%d;\n\tmemset((void *)&a%d, 0, sizeof a%d);" % (re.sub(r"^const (?=\w+$)", "", p.type), i, i, i))
        known = value(i, p)
        known = "a%d = (__typeof__(a%d))%s" % (i, i, known) if known else "note_pattern(&a%d, %d, 0, sizeof a%d)" % (i, i, i)
        out.append("\tif (way != NOTE_ZEROS)\n\t\t%s;" % known)
    out.append('\tnote_begin("%s", way);' % f.name)
    for i, p in enumerate(f.params):
        ours = p.pointee and p.pointee not in ("function", "handle")
        is_void = p.pointee in ("void", "char")
        element = "1" if is_void else "sizeof *a%d" % i
        out.append(
            '\tnote_arg("%s", &a%d, sizeof a%d, %s, %s, %d);'
            % (p.name, i, i, "(void *)a%d" % i if ours else "NULL", element if ours else "0", is_void)
        )
    out.append('\tif (mock_arm)\n\t\tmock_arm("%s", way != NOTE_WORKS);' % f.name)
    out.append("\t%s result = %s(%s);" % (f.result, f.name, ", ".join("a%d" % i for i in range(len(f.params)))))
    out.append("\tnote_end(to, &result, sizeof result, 0);\n}\n")
    return "\n".join(out)


def caller(headers, found):
    out = [INCLUDES, '#include "caller_hip.h"\n'] + [call(f) for f in found]
    out.append("const struct callee callees[] = {")
    out += ['\t{"%s", call_%s},' % (f.name, f.name) for f in found]
    out.append("\t{NULL, NULL},\n};\n")
    return "\n".join(out)


def failed(f, note):
    return bool(compare.number(note["result"])) and not ANSWERS_ONLY.fullmatch(f.name)


def adjust(_function, note, _recorded):
    """Values are stored as they are passed."""
    for arg in note["args"]:
        arg["native"] = False


def length(f, index, sizes):
    """By the names of the neighbours; None: not known."""
    p = f.params[index]
    counts = [q.name for q in f.params if q.name == "numDependencies"]
    return sizes[counts[0]] if counts and p.name in ("pDependencies", "dependencies") and p.is_const else None
