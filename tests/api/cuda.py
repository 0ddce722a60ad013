"""CUDA: every callback of the driver's and the runtime's API, from NVIDIA's headers.

CUPTI hands over a struct of arguments with each callback, which NVIDIA's headers declare
(generated_*_meta.h): these are filled with known values and reported by the mock of CUPTI.
"""

import collections
import os
import re

import compare
import vendor

FOLDERS = ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include", "/usr/include")
Api = collections.namedtuple("Api", "name domain prefix headers opengl egl result")
APIS = {
    "cuda": Api(
        "cuda",
        1,
        "CUPTI_DRIVER_TRACE_CBID_",
        ("cuda.h", "cudaProfiler.h", "generated_cuda_meta.h", "cupti_driver_cbid.h"),
        ("cudaGL.h", "generated_cudaGL_meta.h"),
        ("cudaEGL.h",),
        "CUresult",
    ),
    "cudart": Api(
        "cudart",
        2,
        "CUPTI_RUNTIME_TRACE_CBID_",
        (
            "cuda_runtime_api.h",
            "cuda_profiler_api.h",
            "generated_cuda_runtime_api_meta.h",
            "cupti_runtime_cbid.h",
        ),
        ("cuda_gl_interop.h", "generated_cuda_gl_interop_meta.h"),
        ("cuda_egl_interop.h",),
        "cudaError_t",
    ),
}
ANSWERS = {"cudaGetErrorName": "const char *", "cudaGetErrorString": "const char *"}
ANSWERS["cudaCreateChannelDesc"] = "struct cudaChannelFormatDesc"


def includes(api):
    """With those for OpenGL and EGL, where their own are there."""
    more = {"/usr/include/GL/gl.h": api.opengl, "/usr/include/EGL/egl.h": api.egl}
    found = [h for needs, headers in more.items() if os.path.exists(needs) for h in headers]
    lines = ['#include "%s"' % h for h in (*api.headers, *found)]
    return "\n".join(["#define __CUDA_API_VERSION_INTERNAL 1"] + lines) + "\n"


def read(api, folder):
    return vendor.Headers(includes(api), ["-I" + folder])


def bare(name):
    """Without the version that the runtime's callbacks have behind their names."""
    return re.sub(r"_v\d{4,5}$", "", name)


def functions(api, headers):
    """Those whose arguments NVIDIA declares, by the names of their callbacks."""
    found = []
    for name in headers.enums():
        if not name.startswith(api.prefix):
            continue
        name = name[len(api.prefix) :]
        record = "struct %s_params_st" % name
        fields = []
        if record in headers.records:
            fields = headers.members(record)
        elif not any(r in headers.records for r in ("struct %s_st" % name,)):
            if not plain(headers, bare(name)):
                continue
        found.append(vendor.Function(name, ANSWERS.get(bare(name), api.result), fields))
    return found


def plain(headers, name):
    """Is it a declared function without parameters?"""
    return any(f.name == name and not f.params for f in headers.functions(re.escape(name)))


COUNTS = re.compile(r"(p?(num|nb)[A-Z]\w*|n?[cC]ount|\w*Count)$")


def is_count(p):
    return bool(COUNTS.match(p.name))


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
        return "note_elements(%d, sizeof *p.%s)" % (index, p.name)
    if p.pointee == "integer":
        return "note_count(sizeof *p.%s)" % p.name
    if p.pointee:
        return "note_room()"
    if is_count(p):
        return str(2 + index % 3)
    if "size_t" in p.type:
        return str(16 + index)
    if p.canon == "unsigned long long":
        return "0x0102030405060700u + %d" % index
    if p.canon.startswith(("struct ", "union ")) or p.canon in ("dim3",):
        return None
    return str(100 + index)


def is_written(p):
    return p.pointee in ("handles", "integer", "real", "struct", "void", "char") and not p.is_const


def callee(f):
    out = ["static void callee_%s(void *arg)\n{\n\t%s_params *p = arg;\n\t(void)p;" % (f.name, f.name)]
    for i, p in enumerate(f.params):
        if p.pointee == "char" and not p.is_const:
            out.append('\tstrcpy(p->%s, "an answer");' % p.name)
        elif is_written(p):
            size = "4" if p.pointee == "void" else "sizeof *p->%s" % p.name
            out.append(
                "\tput((void *)p->%s, %d, %s, %d);" % (p.name, i, size, p.pointee == "integer")
            )
    return "\n".join(out) + "\n}\n"


def call(api, f):
    """The C function that reports @f in every way, and notes it."""
    out = [callee(f)] if f.params else []
    out.append("static void call_%s(enum note_way way, FILE *to)\n{" % f.name)
    out.append("\tfor (way = NOTE_WORKS; way < NOTE_WAYS; way++) {")
    if f.params:
        out.append("\t\t%s_params p;\n\t\tmemset(&p, 0, sizeof p);" % f.name)
    for i, p in enumerate(f.params):
        known = value(i, p)
        if known:
            known = "p.%s = (__typeof__(p.%s))%s" % (p.name, p.name, known)
        else:
            known = "note_pattern(&p.%s, %d, 0, sizeof p.%s)" % (p.name, i, p.name)
        out.append("\t\tif (way != NOTE_ZEROS)\n\t\t\t%s;" % known)
        if p.pointee and p.pointee not in ("function", "handle"):
            out.append(
                "\t\tif (way == NOTE_WILD)\n\t\t\tp.%s = (__typeof__(p.%s))wild(%d);"
                % (p.name, p.name, i)
            )
    out.append('\t\tnote_begin("%s", way);' % f.name)
    for p in f.params:
        ours = p.pointee and p.pointee not in ("function", "handle")
        element = "1" if p.pointee in ("void", "char") else "sizeof *p.%s" % p.name
        out.append(
            '\t\tnote_arg("%s", &p.%s, sizeof p.%s, %s, %s, %d);'
            % (
                p.name,
                p.name,
                p.name,
                "way == NOTE_WILD ? NULL : (void *)p.%s" % p.name if ours else "NULL",
                element if ours else "0",
                p.pointee == "void",
            )
        )
    out.append("\t\tconst void *result = result_of(way);")
    out.append(
        '\t\tuint32_t correlation = report(%d, %s%s, "%s", %s, result, %s, %s);'
        % (
            api.domain,
            api.prefix,
            f.name,
            f.name,
            "&p" if f.params else "NULL",
            "way == NOTE_WORKS ? callee_%s : nothing" % f.name if f.params else "nothing",
            "&p" if f.params else "NULL",
        )
    )
    out.append("\t\tnote_end(to, result, sizeof(%s), correlation);\n\t}\n}\n" % f.result)
    return "\n".join(out)


def caller(api, headers):
    found = functions(api, headers)
    out = [includes(api), '#include "caller_cuda.h"\n', "static void nothing(void *arg)\n{\n}\n"]
    out += [call(api, f) for f in found]
    out.append("const struct callee callees[] = {")
    out += ['\t{"%s", call_%s},' % (f.name, f.name) for f in found]
    out.append("\t{NULL, NULL},\n};\n")
    return "\n".join(out)


# Their results are answers, not errors.
NEVER_FAIL = re.compile(
    r"cu(da)?(EventQuery|StreamQuery)|cuda(GetLastError|PeekAtLastError|GetErrorName|GetErrorString)"
    r"|cudaCreateChannelDesc"
)


def failed(f, note):
    return bool(compare.number(note["result"][:8])) and not NEVER_FAIL.match(f.name)


def adjust(_function, note, _recorded):
    """Values are stored as they are passed."""
    for arg in note["args"]:
        arg["native"] = False


# Those beside a count that are not counted, and those whose count has another name.
SINGLE = re.compile(r"p?(node|copy|memset|Node|Copy|Memset)Params$|(pMipmappedArrayD|d)esc$|input$")
TENSOR = dict.fromkeys(("globalDim", "boxDim", "elementStrides"), "tensorRank")


def length(f, index, sizes):
    """By the names of the neighbours; None: not known."""
    p = f.params[index]
    if not p.is_const or p.pointee not in ("handles", "struct", "integer"):
        return None
    if SINGLE.match(p.name) and f.name != "cuMemSetAccess":
        return 1
    counts = [q for q in f.params if not q.pointee and is_count(q)]
    if p.name in TENSOR:
        return sizes[TENSOR[p.name]]
    if not counts:
        return 1
    return sizes[min(counts, key=lambda q: abs(f.params.index(q) - index)).name]
