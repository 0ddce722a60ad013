"""Interfaces for tools, whose functions a program or its runtime calls by itself: which of those that the
vendor's header declares aflame takes. libaflame.so gets what a program or a runtime gives it, so a function
counts only if it was taken.

Each way returns (version of the header, names declared, names taken), or raises Missing."""

import os
import re
import subprocess

import vendor


HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """This machine lacks a header; the text says which."""


def folder_of(header, folders):
    found = vendor.include_folder(header, folders)
    if not found:
        raise Missing("no %s" % header)
    return found


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
        return file.read()


def macro(path, name):
    """The value of a macro of a header; an empty text where the header lacks it."""
    text = text_of(path) if os.path.exists(path) else ""
    found = re.search(r"#\s*define\s+%s\s+\"?([\w.]+)" % name, text)
    return found.group(1) if found else ""


def row(*cells):
    print("| %s |" % " | ".join("{:,}".format(c) if isinstance(c, int) else c for c in cells))


def printed(build, folder, name, source, flags, api):
    """The words that the program prints under aflame."""
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["cc", "-w", "-o", path, path + ".c", *flags, "-ldl"], check=True)
    words = [os.path.join(build, "src/cmd/aflame"), "record", "-q", "-f", "-o", path + ".trace", "--sample", "none"]
    done = subprocess.run([*words, "--api", api, "--", path], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split()


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True)
    return {line.split()[-1] for line in done.stdout.decode().splitlines()}


# Members of struct Kokkos_Profiling_EventSet whose functions have other names in a tool's library.
KOKKOS = {
    "init": "init_library",
    "finalize": "finalize_library",
    "push_region": "push_profile_region",
    "pop_region": "pop_profile_region",
    "sync_dual_view": "dual_view_sync",
    "modify_dual_view": "dual_view_modify",
    "request_output_values": "request_values",
}


def kokkos(build, _folder):
    """Kokkos looks its functions up in the library of the tool."""
    header = "impl/Kokkos_Profiling_C_Interface.h"
    text = text_of(folder_of(header, ("/usr/include/trilinos", "/usr/include", "/usr/include/kokkos")), header)
    events = re.search(r"struct Kokkos_Profiling_EventSet \{(.*?)\n\};", text, re.S).group(1)
    members = re.findall(r"Function\s+(\w+);", events)
    names = ["kokkosp_" + KOKKOS.get(m, m) for m in members]
    version = re.search(r"KOKKOSP_INTERFACE_VERSION (\d+)", text).group(1)
    return version, names, exported(os.path.join(build, "src/inject/libaflame.so")) & set(names)


NVTX = """#include <stdio.h>
#include <nvtx3/nvToolsExt.h>
int main(void)
{
	nvtxInitialize(NULL);
%s	return 0;
}
"""


def nvtx(build, folder):
    """NVTX's own part in the program keeps which functions its tool has filled in."""
    header = "nvtx3/nvToolsExt.h"
    include = folder_of(header, ("/usr/local/cuda/include", "/usr/include"))
    found = vendor.Headers("#include <%s>\n" % header, ["-I" + include]).functions(r"nvtx[A-Z]\w*")
    globals_of = text_of(include, "nvtx3/nvtxDetail/nvtxImpl.h")
    names = [f.name for f in found if "%s_impl_fnptr;" % f.name in globals_of]
    tests = ['\tif (NVTX_VERSIONED_IDENTIFIER(nvtxGlobals).%s_impl_fnptr)\n\t\tputs("%s");\n' % (n, n) for n in names]
    taken = printed(build, folder, "nvtx", NVTX % "".join(tests), ["-I", include], "cuda")
    version = re.search(r"define NVTX_VERSION (\d+)", text_of(include, header)).group(1)
    return version, names, set(taken)


OMPT = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "omp-tools.h"

static int set(ompt_callbacks_t which, ompt_callback_t callback)
{
	switch ((int)which) {
#define NAME(event, type, number) case number: puts(#event); break;
	FOREACH_OMPT_EVENT(NAME)
	}
	return ompt_set_always;
}

static ompt_interface_fn_t lookup(const char *name)
{
	return strcmp(name, "ompt_set_callback") ? NULL : (ompt_interface_fn_t)set;
}

int main(void)
{
	ompt_start_tool_result_t *(*start)(unsigned, const char *) = dlsym(RTLD_DEFAULT, "ompt_start_tool");
	ompt_start_tool_result_t *tool = start ? start(201811, "mock of a runtime") : NULL;

	return tool && tool->initialize(lookup, 0, &tool->tool_data) ? 0 : 1;
}
"""


def ompt(build, folder):
    """A mock of a runtime lets the tool set its callbacks."""
    folders = ["/usr/lib/llvm-%d/lib/clang/%d/include" % (n, n) for n in range(22, 15, -1)]
    include = folder_of("omp-tools.h", folders)
    text = text_of(include, "omp-tools.h")
    names = re.findall(r"macro ?\((ompt_callback_\w+) *,", text)
    taken = printed(build, folder, "ompt", OMPT, ["-idirafter", include], "omp:full")
    return "LLVM %s" % include.split("/")[-2], names, set(taken)


ROCTX = ("rocprofiler-sdk-roctx/roctx.h", "roctracer/roctx.h")


def roctx(build, _folder):
    """A program that is linked with ROCTX calls the functions of the library that stands before it."""
    for header in ROCTX:
        include = vendor.include_folder(header, ("/opt/rocm/include", "/usr/include"))
        if include:
            names = re.findall(r"\b(roctx[A-Z]\w*)\(", text_of(include, header))
            return header.split("/")[0], names, exported(os.path.join(build, "src/inject/libaflame-hip.so")) & set(names)
    raise Missing("no %s" % ROCTX[0])


ITT = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include "inject/itt/abi.h"

static const char *const names[] = {%s};
enum { NR = sizeof names / sizeof *names };

static void nothing(void)
{
}

static void *functions[NR];
static struct itt_api apis[NR + 1];
static struct itt_global global = {.magic = ITT_MAGIC, .build = 20151119, .apis = apis};

int main(void)
{
	void (*init)(struct itt_global *, unsigned) = dlsym(RTLD_DEFAULT, "__itt_api_init");

	for (int i = 0; i < NR; i++)
		apis[i] = (struct itt_api){names[i], &functions[i], (void *)nothing, NULL, ~0u};
	if (!init)
		return 1;
	init(&global, ~0u);
	for (int i = 0; i < NR; i++)
		if (functions[i])
			puts(names[i]);
	return 0;
}
"""


def itt(build, folder):
    """Names from the table of a real static part, LLVM's OpenMP's; the tests' own static part has such a table."""
    where = folder_of("libomp.so", ["/usr/lib/llvm-%d/lib" % n for n in range(22, 12, -1)])
    with open(os.path.join(where, "libomp.so"), "rb") as file:
        found = set(re.findall(rb"\0(__itt_[a-z]\w*)\0", file.read().replace(b"\0", b"\0\0")))
    names = sorted(n.decode() for n in found if not n.startswith(b"__itt_api_"))
    source = ITT % ", ".join('"%s"' % n for n in names)
    taken = printed(build, folder, "itt", source, ["-I", os.path.join(HERE, "../../src")], "itt:full")
    return "in LLVM %s's libomp" % where.split("/")[-2][len("llvm-") :], names, set(taken)


WAYS = {
    "NVTX": (nvtx, "the header's own part in a program"),
    "ROCTX": (roctx, "the library that stands before it"),
    "ITT": (itt, "a mock of a program's static part"),
    "Kokkos": (kokkos, "the library that Kokkos opens"),
    "OpenMP (OMPT)": (ompt, "a mock of a runtime"),
}
