#include "sym/device/disassembler.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/system/program.h"
#include "base/system/tool.h"
#include "base/write.h"
#include "sym/device/code_object.h"
#include "sym/device/iga.h"

enum {
	DISASSEMBLER_SECONDS = 60,
	DISASSEMBLER_OUTPUT = 256 << 20,
};

/* The files found so far, each once even if it has several names. */
struct found {
	struct af_disassembler *d;
	unsigned nth, nr;
	struct stat seen[16];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True when this is the requested one. */
static bool found_one(struct found *f, const char *path, const char *from)
{
	struct stat st;

	f->d->library = f->d->kind == AF_DISASSEMBLER_IGA64 && strstr(base_name(path), ".so");
	if (strlen(path) >= sizeof f->d->path || access(path, f->d->library ? R_OK : X_OK) ||
	    stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	for (unsigned i = 0; i < f->nr; i++)
		if (f->seen[i].st_dev == st.st_dev && f->seen[i].st_ino == st.st_ino)
			return false;
	if (f->nr == sizeof f->seen / sizeof *f->seen)
		return false;
	f->seen[f->nr] = st;
	strcpy(f->d->path, path);
	snprintf(f->d->from, sizeof f->d->from, "%s", from);
	return f->nr++ == f->nth;
}

static int version_order(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* All that match, the newest version first. */
static bool found_pattern(struct found *f, const char *pattern, const char *from)
{
	bool yes = false;
	glob_t g;

	if (!glob(pattern, 0, NULL, &g)) {
		AF_SORT(g.gl_pathv, g.gl_pathc, version_order);
		for (size_t i = 0; i < g.gl_pathc && !yes; i++)
			yes = found_one(f, g.gl_pathv[i], from);
	}
	globfree(&g);
	return yes;
}

static bool found_below(struct found *f, const char *variable, const char *rest)
{
	const char *dir = getenv(variable);
	char path[PATH_MAX], from[64];

	if (!dir || *dir != '/' || strpbrk(dir, "*?[\\") ||
	    snprintf(path, sizeof path, "%s/%s", dir, rest) >= (int)sizeof path)
		return false;
	snprintf(from, sizeof from, "$%s", variable);
	return found_pattern(f, path, from);
}

/* The Python packages in the folder @site that contain one. */
static const char *const packages[] = {
    "triton/backends/nvidia/bin/nvdisasm",
    "nvidia/*/bin/nvdisasm",
};

static bool found_packages(struct found *f, const char *top)
{
	static const char *const sites[] = {"lib/python3*/site-packages",
	                                    "lib/python3*/dist-packages",
	                                    "lib/python3/dist-packages"};
	char path[PATH_MAX];

	if (strpbrk(top, "*?[\\"))
		return false;
	for (unsigned s = 0; s < sizeof sites / sizeof *sites; s++)
		for (unsigned p = 0; p < sizeof packages / sizeof *packages; p++)
			if (snprintf(path, sizeof path, "%s/%s/%s", top, sites[s], packages[p]) <
			        (int)sizeof path &&
			    found_pattern(f, path, "a package of Python"))
				return true;
	return false;
}

/* The packages of the Python that would be run, and of active environments. */
static bool found_python(struct found *f)
{
	static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
	char path[PATH_MAX], real[PATH_MAX];

	for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *top = getenv(variables[i]);

		if (top && *top == '/' && found_packages(f, top))
			return true;
	}
	for (int i = 0; i < 2; i++) {
		if (!af_program_find(i ? "python" : "python3", path) || !realpath(path, real))
			continue;
		char *bin = strstr(real, "/bin/");
		if (!bin)
			continue;
		*bin = 0;
		if (found_packages(f, *real ? real : "/"))
			return true;
	}
	return found_packages(f, "/usr/local") || found_packages(f, "/usr");
}

static const char *const names[] = {
    [AF_DISASSEMBLER_NVDISASM] = "nvdisasm",
    [AF_DISASSEMBLER_OBJDUMP] = "objdump",
    [AF_DISASSEMBLER_IGA64] = "iga64",
};

enum af_disassembler_kind af_disassembler_kind(const struct af_code *code)
{
	return af_code_sm(code)                  ? AF_DISASSEMBLER_NVDISASM
	       : code->elf.machine == EM_INTELGT ? AF_DISASSEMBLER_IGA64
	                                         : AF_DISASSEMBLER_OBJDUMP;
}

const char *af_disassembler_name(enum af_disassembler_kind kind)
{
	return names[kind];
}

bool af_disassembler_find(struct af_disassembler *d, enum af_disassembler_kind kind, unsigned nth)
{
	static const char *const variables[] = {
	    [AF_DISASSEMBLER_NVDISASM] = "AFLAME_NVDISASM",
	    [AF_DISASSEMBLER_OBJDUMP] = "AFLAME_OBJDUMP",
	    [AF_DISASSEMBLER_IGA64] = "AFLAME_IGA64",
	};
	const char *variable = variables[kind], *given = getenv(variable);
	struct found f = {.d = d, .nth = nth};
	char path[PATH_MAX], from[64];

	d->kind = kind;
	if (given) {
		snprintf(from, sizeof from, "$%s", variable);
		return found_one(&f, given, from);
	}
	for (unsigned i = 0; kind == AF_DISASSEMBLER_IGA64 && af_iga_find(path, i); i++)
		if (found_one(&f, path, "the loader's libraries"))
			return true;
	if (af_program_find(names[kind], path) && found_one(&f, path, "$PATH"))
		return true;
	if (kind != AF_DISASSEMBLER_NVDISASM)
		return false;
	return found_below(&f, "CUDA_HOME", "bin/nvdisasm") ||
	       found_below(&f, "CUDA_PATH", "bin/nvdisasm") ||
	       found_pattern(&f, "/usr/local/cuda*/bin/nvdisasm", "/usr/local") || found_python(&f);
}

void af_disassembler_identity(const struct af_disassembler *d, char *text, size_t size)
{
	struct stat st = {.st_size = 0};

	stat(d->path, &st);
	snprintf(text, size, "%s %lld %lld.%09ld", d->path, (long long)st.st_size,
	         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* A file with the @size bytes at @bytes, which no other program can open by a name. */
static int disassembler_input(const uint8_t *bytes, size_t size, struct af_err *err)
{
	scope_close int fd = memfd_create("aflame code", MFD_CLOEXEC);

	if (fd < 0)
		return af_fail(err, -errno, "cannot make a file in memory");
	int rc = af_write_all(fd, bytes, size);
	if (rc)
		return af_fail(err, rc, "cannot write a file in memory");
	return give_fd(fd);
}

/* The architecture as iga64 calls it: "xehpc". */
static const char *disassembler_platform(const struct af_code *code)
{
	static const char *const platforms[][2] = {
	    {"gen8", "bdw"},   {"gen9", "skl"},     {"gen11", "icl"},    {"gen12lp", "xelp"},
	    {"xe-hp", "xehp"}, {"xe-hpg", "xehpg"}, {"xe-hpc", "xehpc"},
	};

	for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++)
		if (!strcmp(af_code_arch(code), platforms[i][0]))
			return platforms[i][1];
	return af_code_arch(code);
}

/* Adds the arguments for the kind of object and the part that is wanted; returns their number. */
static int disassembler_arguments(const struct af_disassembler *d, const struct af_code *code,
                                  const struct af_code_function *fn, const char **argv,
                                  char text[2][40])
{
	int n = 0;

	if (d->kind == AF_DISASSEMBLER_IGA64) {
		argv[n++] = "-d";
		argv[n++] = "-Xprint-pc";
		snprintf(text[0], sizeof text[0], "-p=%s", disassembler_platform(code));
		argv[n++] = text[0];
	} else if (d->kind == AF_DISASSEMBLER_OBJDUMP) {
		argv[n++] = "-d";
		argv[n++] = "--no-show-raw-insn";
		if (!fn)
			return n;
		snprintf(text[0], sizeof text[0], "--start-address=%#" PRIx64, fn->start);
		snprintf(text[1], sizeof text[1], "--stop-address=%#" PRIx64, fn->start + fn->size);
		argv[n++] = text[0];
		argv[n++] = text[1];
	} else {
		argv[n++] = "-c";
		if (!fn)
			return n;
		snprintf(text[0], sizeof text[0], "%u", fn->symbol);
		argv[n++] = "-fun";
		argv[n++] = text[0];
	}
	return n;
}

int af_disassembler_run(const struct af_disassembler *d, struct af_code *code, int index,
                        struct af_buf *out, struct af_err *err)
{
	const struct af_code_function *fn =
	    index < 0 ? NULL : af_code_function(code, (uint32_t)index);
	const char *argv[8] = {d->path};
	bool raw = d->kind == AF_DISASSEMBLER_IGA64;
	char text[2][40];

	if ((raw || d->library) && !fn)
		return af_fail_plain(err, -EINVAL, "iga64 reads one function at a time");
	if (d->library)
		return af_iga_run(d->path, disassembler_platform(code), fn->bytes, fn->size,
		                  DISASSEMBLER_SECONDS, out, err);
	scope_close int input = raw ? disassembler_input(fn->bytes, fn->size, err)
	                            : disassembler_input(code->elf.data, code->elf.size, err);
	if (input < 0)
		return input;
	argv[1 + disassembler_arguments(d, code, fn, argv + 1, text)] = AF_TOOL_INPUT;
	return af_tool_run(&(struct af_tool){.path = d->path,
	                                     .argv = argv,
	                                     .input = input,
	                                     .seconds = DISASSEMBLER_SECONDS,
	                                     .most = DISASSEMBLER_OUTPUT},
	                   out, err);
}
