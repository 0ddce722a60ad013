#include "api/headers/clang.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "base/err.h"

enum { VERSION_FIRST = 11, VERSION_LAST = 30 };

static void *clang_find(void)
{
	static const char *const names[] = {"libclang-%d.so.1",
	                                    "/usr/lib/llvm-%d/lib/libclang.so.1", "libclang.so.%d"};
	char name[64];
	void *found;

	for (int version = VERSION_LAST; version >= VERSION_FIRST; version--)
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
			snprintf(name, sizeof name, names[i], version);
			found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
			if (found)
				return found;
		}
	found = dlopen("libclang.so.1", RTLD_NOW | RTLD_LOCAL);
	return found ? found : dlopen("libclang.so", RTLD_NOW | RTLD_LOCAL);
}

int af_clang_open(struct af_clang *c, struct af_err *err)
{
	void *lib = clang_find();

	if (!lib)
		return af_fail_plain(err, -ENOENT,
		                     "no libclang: install it (Debian: libclang1-14 and "
		                     "libclang-common-14-dev)");
#define FIND(name)                                                                                 \
	c->name = (__typeof__(c->name))dlsym(lib, "clang_" #name);                                 \
	if (!c->name)                                                                              \
		return af_fail_plain(err, -ENOSYS, "libclang has no function clang_" #name);
	AF_CLANG_FUNCTIONS(FIND)
#undef FIND
	return 0;
}
