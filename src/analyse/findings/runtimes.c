/*
 * Runtimes that make code while a program runs: how each of them tells profilers the names of that
 * code, and how stacks go on through it. All are options of the runtimes themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/private.h"
#include "analyse/frames/marks.h"

/* A runtime, known by its library or by the name of its process. */
static const struct runtime {
	const char *module, *process;
	const char *names;   /* of the code that it makes */
	const char *callers; /* of what it interprets, too; NULL: as @names */
	const char *stacks;  /* that go on through that code; NULL: they do, or nothing helps */
} runtimes[] = {
    {"libjvm.so", "java",
     "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (JDK 17 "
     "or later), or jcmd PID Compiler.perfmap while it runs",
     NULL, "java -XX:+PreserveFramePointer"},
    {"libnode.so", "node", "node --perf-basic-prof",
     "node --perf-basic-prof --interpreted-frames-native-stack", NULL},
    {NULL, "deno", "deno run --v8-flags=--perf-basic-prof",
     "deno run --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack", NULL},
    {"libcoreclr.so", "dotnet", "DOTNET_PerfMapEnabled=1", NULL, NULL},
    {"libruby", "ruby", "ruby --yjit-perf (3.3 or later)", NULL, NULL},
    {"opcache.so", "php", "php -d opcache.jit_debug=16", NULL, NULL},
    {"libjulia", "julia", "ENABLE_JITPROFILING=1", NULL, NULL},
    /* Its traces have neither frame pointers nor unwind tables, and only Lua knows its callers. */
    {"libluajit", "luajit",
     "luajit -jp=vl (LuaJIT's own profiler: by Lua function and line), or a LuaJIT that was built "
     "with LUAJIT_USE_PERFTOOLS",
     NULL, "luajit -joff (interpreted: stacks go on), or luajit -jp for Lua's own callers"},
    {NULL, "beam.smp", "erl +JPperf true", NULL, NULL},
    {NULL, "wasmtime", "wasmtime run --profile=perfmap (or =jitdump)", NULL, NULL},
    {NULL, "qemu-", "qemu -perfmap", NULL, NULL},
    {"libpypy", "pypy", NULL, NULL, NULL},
    /* Python's own functions have names without any option. */
    {"libpython", "python", "numba: NUMBA_ENABLE_PROFILING=1; CPython's own compiler: -X perf_jit",
     NULL, NULL},
};

/* Before JDK 17 the virtual machine cannot write a map. */
enum { JDK_MAPS = 17 };
static const char java_agent[] = "java -XX:+PreserveFramePointer with perf-map-agent (JDK 17 and "
				 "later write the map themselves)";

bool findings_is_jit(const char *text, size_t len)
{
	static const char no_map[] = AF_MARK_JIT_NO_MAP, no_symbol[] = AF_MARK_JIT_NO_SYMBOL;

	return (len == sizeof no_map - 1 && !memcmp(text, no_map, len)) ||
	       (len == sizeof no_symbol - 1 && !memcmp(text, no_symbol, len));
}

uint32_t findings_process(const struct af_tree *t, uint32_t node)
{
	while (t->nodes[node].parent)
		node = t->nodes[node].parent;
	return node;
}

uint32_t findings_heaviest_process(const struct af_tree *t, const uint64_t *mine)
{
	uint32_t best = 0;

	for (uint32_t n = 1; n < t->nr; n++)
		if (mine[n] && mine[n] > mine[best])
			best = n;
	return best;
}

static bool begins_with(const char *text, size_t len, const char *with)
{
	return with && len >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* The base name of the file of @node, or "". */
static const char *file_of(const struct af_tree *t, uint32_t node)
{
	const char *module = af_tree_module(t, t->nodes[node].name);
	const char *slash = module ? strrchr(module, '/') : NULL;

	return slash ? slash + 1 : "";
}

/* The runtime of a process: by its own name, or else by a library in its stacks. */
static const struct runtime *runtime_of(const struct af_tree *t, uint32_t process)
{
	const size_t nr = sizeof runtimes / sizeof *runtimes;
	size_t len;
	const char *text = af_tree_text(t, t->nodes[process].name, &len);

	for (size_t i = 0; i < nr; i++)
		if (begins_with(text, len, runtimes[i].process))
			return &runtimes[i];
	for (uint32_t n = 1; n < t->nr; n++) {
		const char *file = file_of(t, n);
		for (size_t i = 0; *file && i < nr; i++)
			if (begins_with(file, strlen(file), runtimes[i].module) &&
			    findings_process(t, n) == process)
				return &runtimes[i];
	}
	return NULL;
}

/* The version in "/usr/lib/jvm/java-11-openjdk/lib/server/libjvm.so", "…/jdk1.8.0_292/…"; or 0. */
static unsigned long version_in(const char *path)
{
	static const char *const before[] = {"/java-1.", "/jdk1.", "/java-", "/jdk-"};

	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		const char *at = strstr(path, before[i]);
		unsigned long version = at ? strtoul(at + strlen(before[i]), NULL, 10) : 0;
		if (version)
			return version;
	}
	return 0;
}

/* The version of the JDK of a process by the directory that it is in; 0: not known. */
static unsigned long jdk_version(const struct af_tree *t, uint32_t process)
{
	for (uint32_t n = 1; n < t->nr; n++) {
		const char *module = af_tree_module(t, t->nodes[n].name);
		if (module && !strcmp(file_of(t, n), "libjvm.so") &&
		    findings_process(t, n) == process)
			return version_in(module);
	}
	return 0;
}

const char *findings_names_help(const struct af_tree *t, uint32_t process)
{
	const struct runtime *r = runtime_of(t, process);

	if (!r)
		return "a perf map or jitdump of the runtime that made it (docs/symbols.md)";
	if (r->module && !strcmp(r->module, "libjvm.so")) {
		unsigned long version = jdk_version(t, process);
		if (version && version < JDK_MAPS)
			return java_agent;
	}
	return r->names;
}

const char *findings_callers_help(const struct af_tree *t, uint32_t process)
{
	const struct runtime *r = runtime_of(t, process);

	return r && r->callers ? r->callers : findings_names_help(t, process);
}

const char *findings_stacks_help(const struct af_tree *t, uint32_t process)
{
	const struct runtime *r = runtime_of(t, process);

	return r ? r->stacks : NULL;
}
