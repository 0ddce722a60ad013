#include "sym/device/iga.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/system/tool.h"
#include "base/write.h"

enum {
	IGA_VERSIONS = 9, /* of the library's name, libiga64.so.1 and on */
	IGA_TEXT = 1024,  /* bytes of an instruction's text */
	IGA_PLATFORMS = 256,
	IGA_NAMES = 64, /* of a platform */
	IGA_OUTPUT = 256 << 20,
	/* As iga64 has it: three-operand logic as an expression. */
	IGA_PRINT_BFNEXPRS = 0x80,
};

/* Platforms are an enumeration there, and views of kernels are opaque. */
struct iga {
	void *library;
	int (*platforms_list)(size_t size, int *platforms, size_t *needed);
	int (*platform_names)(int platform, size_t size, const char **names, size_t *needed);
	void *(*create)(int platform, const void *bytes, size_t size, int *status, char *message,
	                size_t room, uint32_t swsb);
	int32_t (*inst_size)(const void *view, int32_t pc);
	size_t (*inst_syntax)(const void *view, int32_t pc, char *text, size_t room,
	                      uint32_t options, const char *(*label)(int32_t, void *), void *env);
};

static void *iga_library(unsigned version)
{
	char name[24];

	snprintf(name, sizeof name, "libiga64.so.%u", version);
	return dlopen(version ? name : "libiga64.so", RTLD_NOW | RTLD_LOCAL);
}

bool af_iga_find(char path[PATH_MAX], unsigned nth)
{
	for (unsigned version = IGA_VERSIONS + 1; version-- > 0;) {
		void *library = iga_library(version);
		struct link_map *map = NULL;
		bool found = library && !dlinfo(library, RTLD_DI_LINKMAP, &map) &&
		             strlen(map->l_name) < PATH_MAX && !nth--;

		if (found)
			strcpy(path, map->l_name);
		if (library)
			dlclose(library);
		if (found)
			return true;
	}
	return false;
}

static int iga_open(struct iga *i, const char *path, struct af_err *err)
{
#define IGA_FIND(member, name) i->member = (__typeof__(i->member))dlsym(i->library, name)
	i->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!i->library) {
		af_fail_plain(err, -ENOENT, "cannot load %s: %s", path, dlerror());
		return -ENOENT;
	}
	IGA_FIND(platforms_list, "iga_platforms_list");
	IGA_FIND(platform_names, "iga_platform_names");
	IGA_FIND(create, "kv_create");
	IGA_FIND(inst_size, "kv_get_inst_size");
	IGA_FIND(inst_syntax, "kv_get_inst_syntax");
#undef IGA_FIND
	if (!i->platforms_list || !i->platform_names || !i->create || !i->inst_size ||
	    !i->inst_syntax) {
		af_fail_plain(err, -ENOTSUP, "%s lacks functions of libiga64", path);
		return -ENOTSUP;
	}
	return 0;
}

/* The library's number of the platform called @name, -1 for none. */
static int iga_platform(const struct iga *i, const char *name)
{
	int platforms[IGA_PLATFORMS];
	const char *names[IGA_NAMES];
	size_t size, nr;

	if (i->platforms_list(sizeof platforms, platforms, &size) || size > sizeof platforms)
		return -1;
	for (size_t k = 0; k < size / sizeof *platforms; k++) {
		if (i->platform_names(platforms[k], sizeof names, names, &nr) || nr > sizeof names)
			continue;
		for (size_t n = 0; n < nr / sizeof *names; n++)
			if (names[n] && !strcmp(names[n], name))
				return platforms[k];
	}
	return -1;
}

struct iga_view {
	const struct iga *iga;
	const void *bytes;
	size_t size;
	int platform;
};

/* In the child: everything that reads the bytes. */
static int iga_write(void *arg)
{
	const struct iga_view *of = arg;
	char text[IGA_TEXT], message[256] = "";
	struct af_buf out = {0};
	int status = -1;
	int32_t step;

	void *view =
	    of->iga->create(of->platform, of->bytes, of->size, &status, message, sizeof message, 0);
	/* Where it cannot decode all, it has a view of what it can. */
	if (!view)
		return 1;
	for (size_t pc = 0; pc < of->size; pc += (size_t)step) {
		step = of->iga->inst_size(view, (int32_t)pc);
		if (step != 8 && step != 16)
			break;
		size_t len = of->iga->inst_syntax(view, (int32_t)pc, text, sizeof text,
		                                  IGA_PRINT_BFNEXPRS, NULL, NULL);
		if (len && len <= sizeof text)
			af_buf_fmt(&out, "/* [%04zX] */ %s\n", pc, text);
	}
	return af_write_all(1, out.data, out.len) ? 1 : 0;
}

int af_iga_run(const char *path, const char *name, const void *bytes, size_t size, unsigned seconds,
               struct af_buf *out, struct af_err *err)
{
	struct iga iga = {0};

	if (size > INT32_MAX)
		return af_fail_plain(err, -EFBIG, "a function of %zu bytes", size);
	int rc = iga_open(&iga, path, err);

	if (!rc) {
		struct iga_view of = {&iga, bytes, size, iga_platform(&iga, name)};
		rc = of.platform < 0
		         ? af_fail_plain(err, -ENOTSUP, "%s does not know %s", path, name)
		         : af_tool_run(&(struct af_tool){.path = path,
		                                         .call = iga_write,
		                                         .arg = &of,
		                                         .input = -1,
		                                         .seconds = seconds,
		                                         .most = IGA_OUTPUT},
		                       out, err);
	}
	if (iga.library)
		dlclose(iga.library);
	return rc;
}
