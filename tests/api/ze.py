"""Level Zero: a driver and a caller of every function, in C, from the vendor's headers; and a loader for
headers that are newer than the system's loader."""

import os
import re

import compare
import vendor

HEADERS = ("level_zero/ze_api.h", "level_zero/zet_api.h", "level_zero/zes_api.h")
TABLES = ("level_zero/ze_ddi.h", "level_zero/zet_ddi.h", "level_zero/zes_ddi.h")
# Debian 12 has 1.4 of the specification; aflame knows 1.12 (debian_headers).
SYSTEM = ("/usr/include", "/usr/local/include")
FOLDERS = tuple(filter(None, (os.environ.get("AFLAME_ZE_INCLUDE"),))) + SYSTEM
LIBRARY = "libze_loader.so.1"
INCLUDES = "#define _GNU_SOURCE\n#include <dlfcn.h>\n" + "".join(
    "#include <%s>\n" % h for h in HEADERS + TABLES
)

LATEST = "ZE_API_VERSION_1_12"  # of the model

# As a driver must answer them, or the loader and a program would not get on.
PLAIN = {
    "zeDriverGet": "return mock_list(a0, (void **)a1, 1);",
    "zeDeviceGet": "return mock_list(a1, (void **)a2, 2);",
    "zeDeviceGetSubDevices": "return mock_list(a1, (void **)a2, -1);",
    "zeDriverGetApiVersion": "*a1 = ZE_API_VERSION_CURRENT;\n\t\treturn 0;",
    "zeDriverGetExtensionFunctionAddress": "return mock_address(a1, a2);",
}

# Descriptors that lead to what the collector reads as well.
DESCRIPTORS = {
    ("zeModuleCreate", "desc"): "note_module_desc((void *)a%d);",
    ("zeKernelCreate", "desc"): "note_kernel_desc((void *)a%d);",
}


def read(folders):
    return vendor.Headers(INCLUDES, ["-I" + f for f in folders])


def functions(headers):
    """Those of the tables of drivers have other names; theirs are read by driver()."""
    found = headers.functions(r"ze[st]?[A-Z]\w*")
    return [f for f in found if not f.name.endswith("ProcAddrTable")]


def bare(name):
    return name


def known(headers, fact):
    """Does the header have all that a fact of the model names? It may be older than the model, and then also
    its newest version is another."""
    names = set(re.findall(r"\b(ZE[ST]?_\w+|ze[st]?_\w+_t)\b", fact))
    has = set(headers.enums()) | set(headers.typedefs)
    return names <= has and (LATEST in has or "ZE_API_VERSION_CURRENT" not in fact)


def is_count(param):
    return not param.pointee and re.fullmatch(r"num[A-Z]\w*|count|(metric|parameter)\w*Count|\w*[sS]ize", param.name)


def is_record(headers, p):
    return p.pointee is None and (p.canon.startswith(("struct ", "union ")) or p.canon in headers.complete)


def value(function, index, p):
    """The C expression of what is passed."""
    if p.pointee == "function":
        return "(void *)callback"
    if p.pointee == "void":
        return "note_bytes(%d)" % index
    if p.pointee == "char":
        return 'note_string("%s")' % p.name if p.is_const else "note_room()"
    if p.pointee == "handle":
        return "object(%d)" % (index + 1)
    if p.pointee == "handles":
        return "note_objects(%d)" % index if is_list(function, index) else "note_room()"
    if p.pointee in ("pointers", "strings"):
        return 'note_strings("%s")' % p.name if p.is_const or p.name == "pRanges" else "note_room()"
    if p.pointee == "integer" and p.is_const and p.canon.startswith("const unsigned long"):
        return "note_sizes(%d)" % index
    if p.pointee and p.is_const:
        return "note_elements(%d, sizeof *a%d)" % (index, index)
    if p.pointee:
        return "note_room()"
    if is_count(p):
        return str(2 + index % 3)
    if p.canon == "unsigned long":
        return "0x0102030405060700u + %d" % index
    return str(100 + index)


# Lists that a call reads have no const; they are called after their count.
READ = ("phWaitEvents", "phEvents", "phCommandLists", "phKernels", "phModules", "phMetricGroups")


def is_list(function, index):
    """Are these handles read, rather than written?"""
    p = function.params[index]
    counts = [q.name for q in function.params if not q.pointee]
    if p.name == "phDevices":
        return "numDevices" in counts or "count" in counts
    if p.name in ("phMetricGroups", "phMetrics"):
        return any(n == "count" or n.startswith("metric") for n in counts)
    return p.name in READ


def signature(function):
    params = ", ".join("__typeof__(%s) a%d" % (p.type, i) for i, p in enumerate(function.params))
    return "(%s)" % (params or "void")


def answers(function):
    """What the driver writes to where parameters point."""
    for i, p in enumerate(function.params):
        if not p.pointee or p.is_const or p.pointee in ("function", "handle"):
            continue
        if p.pointee == "handles":
            if not is_list(function, i):
                yield "mock_put_objects((void *)a%d, %d, armed);" % (i, i)
        elif p.pointee in ("pointers", "strings"):
            if p.name != "pRanges":
                yield "mock_put_objects((void *)a%d, %d, armed);" % (i, i)
        elif p.pointee == "integer":
            yield "mock_put_integers((void *)a%d, %d, sizeof *a%d, armed, %d);" % (
                i, i, i, bool(re.fullmatch(r"p\w*(Count|Size|DeviceEvents)", p.name)),
            )  # fmt: skip
        else:
            size = "16" if p.pointee in ("void", "char") else "sizeof *a%d" % i
            yield "mock_put_bytes((void *)a%d, %d, %s, armed);" % (i, i, size)


def tables(headers):
    """[(function that fills it, type of the table, [(member, function)])]"""
    found = []
    for f in headers.functions(r"ze[st]?Get\w+ProcAddrTable"):
        kind = f.params[1].type.replace("*", "").strip()
        prefix, what = re.fullmatch(r"(ze[st]?)Get(\w+?)ProcAddrTable", f.name).groups()
        prefix += "" if what == "Global" else what
        if what.endswith("Exp") and what != "TracerExp":  # the members' names end in it
            prefix = prefix[: -len("Exp")]
        record = headers.typedefs[kind]
        members = [m.name for m in headers.members(record)]
        found.append((f.name, kind, [(m, prefix + m[len("pfn") :]) for m in members]))
    return found


def callee(f, begin):
    """The C function of the mock, for a call of @f."""
    out = [begin + signature(f) + "\n{", '\tint armed = mock_begin("%s");\n' % f.name]
    if f.name in PLAIN:
        out.append("\tif (!armed) {\n\t\t%s\n\t}" % PLAIN[f.name])
    out += ["\t" + line for line in answers(f)]
    return "\n".join(out + ["\treturn mock_error;\n}\n"])


def loader(headers):
    """The C source of a mock of the loader, which is its own driver."""
    out = [INCLUDES, '#include "mock_driver_ze.h"\n']
    begin = "MOCK_EXPORT %s ZE_APICALL %s"
    return "\n".join(out + [callee(f, begin % (f.result, f.name)) for f in functions(headers)])


def driver(headers):
    """The C source of the mock driver."""
    out = [INCLUDES, '#include "mock_driver_ze.h"\n']
    found = functions(headers)
    out += [callee(f, "static %s ZE_APICALL mock_%s" % (f.result, f.name)) for f in found]
    declared, placed = {f.name for f in found}, set()
    for name, kind, members in tables(headers):
        out.append("MOCK_EXPORT ze_result_t %s(ze_api_version_t version, %s *t)\n{" % (name, kind))
        for member, function in members:
            if function in declared:
                out.append("\tt->%s = (void *)mock_%s;" % (member, function))
                placed.add(function)
        out.append("\treturn 0;\n}\n")
    missing = sorted(declared - placed)
    assert not missing, "in no table of drivers: %s" % missing
    return "\n".join(out)


def call(headers, f):
    """The C function that calls @f once, and notes it."""
    out = ["static void call_%s(enum note_way way, FILE *to)\n{" % f.name]
    out.append("\t%s (ZE_APICALL *function)%s = named(\"%s\");" % (f.result, signature(f), f.name))
    for i, p in enumerate(f.params):
        out.append("\t__typeof__(%s) a%d;\n\tmemset(&a%d, 0, sizeof a%d);" % (p.type, i, i, i))
        if is_record(headers, p):
            cast = "*(__typeof__(a%d) *)note_elements(%d, sizeof a%d)" % (i, i, i)
        else:
            cast = "(__typeof__(%s))%s" % (p.type, value(f, i, p))
        out.append("\tif (way != NOTE_ZEROS)\n\t\ta%d = %s;" % (i, cast))
        if (f.name, p.name) in DESCRIPTORS:
            out.append("\tif (way != NOTE_ZEROS)\n\t\t" + DESCRIPTORS[f.name, p.name] % i)
    out.append('\tnote_begin("%s", way);' % f.name)
    for i, p in enumerate(f.params):
        ours = p.pointee and p.pointee not in ("function", "handle")
        element = "1" if p.pointee in ("void", "char") else "sizeof *a%d" % i
        out.append(
            '\tnote_arg("%s", &a%d, sizeof a%d, %s, %s, %d);'
            % (p.name, i, i, "(void *)a%d" % i if ours else "NULL", element if ours else "0",
               p.pointee == "void")
        )  # fmt: skip
    out.append('\tarm("%s", way == NOTE_FAILS);' % f.name)
    args = ", ".join("a%d" % i for i in range(len(f.params)))
    out.append("\t%s result = function(%s);" % (f.result, args))
    out.append('\tif (arm_reached() != 1)\n\t\texit(4);' )
    out.append("\tnote_end(to, &result, sizeof result, 0);\n}\n")
    return "\n".join(out)


def caller(headers):
    """The C source of the program that calls."""
    found = functions(headers)
    out = [INCLUDES, '#include "caller_ze.h"\n']
    out += [call(headers, f) for f in found]
    out.append("const struct callee callees[] = {")
    out += ['\t{"%s", call_%s},' % (f.name, f.name) for f in found]
    out.append("\t{NULL, NULL},\n};\n")
    return "\n".join(out)


# Their result says what they found, not that they failed.
QUERIES = ("zeEventQueryStatus", "zeFenceQueryStatus")


def failed(f, note):
    return f.name not in QUERIES and compare.number(note["result"]) != 0


def adjust(_function, note, _recorded):
    """Values are stored as they are passed."""
    for arg in note["args"]:
        arg["native"] = False


# Lists whose count has another name than theirs; from the specification.
COUNTS = {
    "pOffsets": "numEvents",
    "pattern": "pattern_size",
    "pArgValue": "argSize",
    "pMetricCounts": "pSetCount",
    "pMetricEntriesCountPerSet": "pSetCount",
    "pMetricEntries": "pMetricEntriesCount",
    "pMetricGroupsCountPerConcurrentGroup": "pConcurrentGroupCount",
    "pParameterInfo": "pParameterCount",
    "pParameterValues": "parameterCount",
    "pThroughput": "numPorts",
    "pValueInfo": "pValueInfoCount",
    "phMetricGroup": "pMetricGroupCount",
    "phMetricGroups": "metricGroupCount",
    "phMetricHandles": "pMetricHandleCount",
    "signalParams": "numSemaphores",
    "waitParams": "numSemaphores",
}
COUNTS_OF = {
    ("zeCommandListUpdateMutableCommandKernelsExp", "pCommandId"): "numKernels",
    ("zetDeviceCreateMetricGroupsFromMetricsExp", "phMetrics"): "metricCount",
    ("zetMetricTracerDecodeExp", "phMetrics"): "metricsCount",
}
# A count beside them is of something else.
SINGLE = (("zeInitDrivers", "desc"), ("zeEventQueryKernelTimestampsExt", "pResults"))


def length(f, index, sizes):
    """How many elements parameter @index leads to, by the names of its neighbours; None: not known.
    @sizes: {parameter: what was passed for it, or what the driver put there}."""
    p = f.params[index]
    names = [q.name for q in f.params]
    if (f.name, p.name) in SINGLE:
        return 1
    if (f.name, p.name) in COUNTS_OF:
        return sizes[COUNTS_OF[f.name, p.name]]
    if p.name in COUNTS and COUNTS[p.name] in sizes:
        return sizes[COUNTS[p.name]]
    if p.pointee == "void":
        return None
    if p.name == "pMetricValues":
        return sizes[next(n for n in ("pTotalMetricValueCount", "pMetricValueCount") if n in names)]
    if "pCount" in names and index > names.index("pCount"):
        return sizes["pCount"]
    if "count" in names and index > names.index("count") and not p.name.startswith("pNum"):
        return sizes["count"]
    for q in reversed(f.params[:index]):
        stem = q.name[len("num") :].rstrip("s")
        if q.name.startswith("num") and stem in p.name:
            return sizes[q.name]
    return 1
