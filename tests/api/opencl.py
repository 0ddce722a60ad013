"""OpenCL: a driver and a caller of every function, in C, from the vendor's headers."""

import compare
import vendor

NAME = "opencl"
HEADERS = ("CL/cl.h", "CL/cl_ext.h", "CL/cl_gl.h", "CL/cl_egl.h", "CL/cl_icd.h")
FOLDERS = ("/usr/include", "/usr/local/include")
INCLUDES = "#define CL_TARGET_OPENCL_VERSION 300\n#define _GNU_SOURCE\n#include <dlfcn.h>\n" + "".join(
    "#include <%s>\n" % h for h in HEADERS
)

# As a driver must answer them, or the loader would not take it.
PLAIN = {
    "clGetPlatformIDs": "return mock_platforms(a0, a1, a2);",
    "clIcdGetPlatformIDsKHR": "return mock_platforms(a0, a1, a2);",
    "clGetPlatformInfo": "return mock_platform_info(a1, a2, a3, a4);",
    "clGetExtensionFunctionAddress": "return mock_named(a0);",
    "clGetExtensionFunctionAddressForPlatform": "return mock_named(a1);",
    "clGetDeviceInfo": "return mock_device_info(a1, a2, a3, a4);",
}

# Of the integers that are written, those that are several.
ARRAYS = ("binary_status", "gl_formats", "formats")

# Lists that the loader reads: it must find the platform in them.
PLATFORM_LIST = "note_platform_list(platform, a%d, sizeof *a%d);"
WITH_PLATFORM = ("clCreateContext", "clCreateContextFromType", "clGetGLContextInfoKHR")


def read(folders):
    return vendor.Headers(INCLUDES, ["-I" + f for f in folders])


def functions(headers):
    return headers.functions(r"cl[A-Z]\w*")


def bare(name):
    return name


def is_count(param):
    return param.name.startswith("num_") or param.name in ("count", "work_dim")


def value(function, index, p):
    """The C expression of what is passed."""
    if p.pointee == "function":
        return "(void *)callback"
    if p.pointee == "void":
        return "note_bytes(%d)" % index
    if p.pointee == "char":
        return 'note_string("%s")' % p.name if p.is_const else "note_room()"
    if p.pointee == "strings":
        return 'note_strings("%s")' % p.name
    if p.pointee == "handle":
        return "object(%d)" % (index + 1)
    if p.pointee == "handles":
        return "note_objects(%d)" % index if p.is_const else "note_room()"
    if p.pointee == "pointers":
        return 'note_strings("%s")' % p.name
    if p.pointee and p.is_const:
        small = p.type.startswith("const size_t")
        return ("note_sizes(%d)" if small else "note_elements(%d, sizeof *a%d)") % (
            (index,) if small else (index, index)
        )
    if p.pointee:
        return "note_room()"
    if is_count(p):
        return str(2 + index % 3)
    if p.type == "cl_bool":
        return "1"
    if p.type == "size_t":
        return str(16 + index)
    if p.canon == "unsigned long":
        return "0x0102030405060700u + %d" % index
    return str(100 + index)


def signature(function, convention="CL_API_CALL "):
    params = ", ".join("__typeof__(%s) a%d" % (p.type, i) for i, p in enumerate(function.params))
    return "(%s)" % (params or "void")


def answers(headers, function):
    """What the driver writes to where parameters point."""
    for i, p in enumerate(function.params):
        if not p.pointee or p.is_const or p.pointee in ("function", "handle", "strings", "pointers"):
            continue
        if p.pointee == "handles":
            yield "mock_put_objects((void *)a%d, %d, armed);" % (i, i)
        elif p.pointee == "integer":
            yield "mock_put_integers(a%d, %d, sizeof *a%d, %d, armed && %d);" % (
                (i, i, i, p.name == "errcode_ret", p.name in ARRAYS)
            )
        else:
            size = "16" if p.pointee in ("void", "char") else "sizeof *a%d" % i
            yield "mock_put_bytes(a%d, %d, %s, armed);" % (i, i, size)


def driver(headers):
    """The C source of the mock driver."""
    out = [INCLUDES, '#include "mock_icd.h"\n', "static void *mock_named(const char *name);\n"]
    found = functions(headers)
    for f in found:
        out.append("static %s CL_API_CALL mock_%s%s\n{" % (f.result, f.name, signature(f)))
        out.append('\tint armed = mock_begin("%s");\n' % f.name)
        if f.name in PLAIN:
            out.append("\tif (!armed) {\n\t\t%s\n\t}" % PLAIN[f.name])
        out += ["\t" + line for line in answers(headers, f)]
        result = headers.canon(f.result)
        if result == "int":
            out.append("\treturn mock_error;")
        elif result != "void":
            out.append("\treturn mock_error ? NULL : mock_object(60);")
        out.append("}\n")
    out.append("static const struct { const char *name; void *function; } mock_functions[] = {")
    out += ['\t{"%s", (void *)mock_%s},' % (f.name, f.name) for f in found]
    out.append(
        "};\nstatic void *mock_named(const char *name)\n{\n"
        "\tfor (unsigned i = 0; i < sizeof mock_functions / sizeof *mock_functions; i++)\n"
        "\t\tif (!strcmp(mock_functions[i].name, name))\n"
        "\t\t\treturn mock_functions[i].function;\n\treturn NULL;\n}\n"
        "MOCK_EXPORT void *clGetExtensionFunctionAddress(const char *name)\n{\n"
        "\treturn mock_named(name);\n}\n"
        "MOCK_EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint nr, cl_platform_id *to, cl_uint *n)\n"
        "{\n\treturn mock_clIcdGetPlatformIDsKHR(nr, to, n);\n}\n"
        "__attribute__((constructor)) static void mock_start(void)\n{\n"
        "\tfor (unsigned i = 0; i < MOCK_OBJECTS; i++) {\n"
        "\t\tmock_objects[i].dispatch = &mock_dispatch;\n\t\tmock_objects[i].number = i;\n\t}"
    )
    declared = {f.name for f in found}
    for member in headers.members("struct _cl_icd_dispatch"):
        if member.name in declared:
            out.append("\tmock_dispatch.%s = (void *)mock_%s;" % (member.name, member.name))
    out.append("}\n")
    return "\n".join(out)


def call(headers, f):
    """The C function that calls @f once, and notes it."""
    returns = headers.canon(f.result) != "void"
    out = ["static void call_%s(enum note_way way, FILE *to)\n{" % f.name]
    out.append("\t%s (CL_API_CALL *function)%s = named(\"%s\");" % (f.result, signature(f), f.name))
    for i, p in enumerate(f.params):
        zero = "(__typeof__(%s))0" % p.type
        cast = "(__typeof__(%s))%s" % (p.type, value(f, i, p))
        out.append("\t__typeof__(%s) a%d = %s;" % (p.type, i, zero))
        out.append("\tif (way != NOTE_ZEROS)\n\t\ta%d = %s;" % (i, cast))
        if p.name == "properties" and f.name in WITH_PLATFORM:
            out.append("\tif (way != NOTE_ZEROS)\n\t\t" + PLATFORM_LIST % (i, i))
    out.append('\tnote_begin("%s", way);' % f.name)
    for i, p in enumerate(f.params):
        ours = p.pointee and p.pointee not in ("function", "handle")
        whole = p.pointee in ("void", "char")
        element = "1" if whole else "sizeof *a%d" % i
        out.append(
            '\tnote_arg("%s", &a%d, sizeof a%d, %s, %s, %d);'
            % (
                p.name,
                i,
                i,
                "(void *)a%d" % i if ours else "NULL",
                element if ours else "0",
                p.pointee == "void",
            )
        )
    out.append('\tarm("%s", way == NOTE_FAILS);' % f.name)
    args = ", ".join("a%d" % i for i in range(len(f.params)))
    if returns:
        out.append("\t%s result = function(%s);" % (f.result, args))
        out.append("\tnote_end(to, &result, sizeof result, 0);\n}\n")
    else:
        out.append("\tfunction(%s);\n\tnote_end(to, NULL, 0, 0);\n}\n" % args)
    return "\n".join(out)


def caller(headers):
    """The C source of the program that calls."""
    found = functions(headers)
    out = [INCLUDES, '#include "caller_opencl.h"\n']
    out += [call(headers, f) for f in found]
    out.append("const struct callee callees[] = {")
    out += ['\t{"%s", call_%s},' % (f.name, f.name) for f in found]
    out.append("\t{NULL, NULL},\n};\n")
    return "\n".join(out)


def failed(f, note):
    """Does a call say that it failed? By its result, or by the error that it stored."""
    if f.result == "cl_int" and compare.number(note["result"]):
        return True
    return any(
        compare.number(a["after"][:8])
        for a in note["args"]
        if a["name"] == "errcode_ret" and "after" in a
    )


def adjust(_function, note, _recorded):
    """Values are stored as they are passed."""
    for arg in note["args"]:
        arg["native"] = False


# Lengths that no name of a parameter says; from the OpenCL specification.
THREE = ("origin", "region", "buffer_origin", "host_origin", "src_origin", "dst_origin")
SINGLE = ("event", "image_desc", "sync_point", "mutable_handle", "command_buffer")
LISTS = ("sema_props", "properties", "sampler_properties", "configs")


def length(f, index, sizes):
    """How many elements parameter @index leads to, by the names of its neighbours; None: not known.
    @sizes: {parameter: what was passed for it, or what the driver put there}."""
    p = f.params[index]
    if p.pointee == "void":
        known = [sizes[n] for n in (p.name + "_size", p.name + "_size_ret") if n in sizes]
        known = known or [sizes[n] for n in (p.name.replace("value", "size"),) if n in sizes]
        if p.name == "pattern":
            known = [sizes["pattern_size"]]
        return min(known) if known else None
    if p.name.endswith("_ret") or p.name.startswith("num_") or p.name in SINGLE:
        return 1
    if p.name in THREE:
        return 3
    if any(word in p.name for word in LISTS):
        return 2 if f.name in WITH_PLATFORM else 4
    before = [q for q in f.params[:index] if not q.pointee and is_count(q)]
    if not before:
        return 1
    returned = [q.name for q in f.params[index:] if q.name.startswith("num_") and q.pointee]
    of = [sizes[before[-1].name]]
    if returned and not p.is_const:
        of.append(sizes[returned[0]])
    return min(of)
