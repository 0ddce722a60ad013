/* Whether the machine has an OpenMP runtime with OMPT, loaded in a child. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "collect/probe/ask.h"
#include "collect/probe/collect.h"

struct omp_found {
	char name[64]; /* empty: none */
	bool has_tools;
};

/* LLVM's runtime by its names, and Intel's, which is built of the same sources. */
static void omp_ask(void *answer)
{
	static const char *const names[] = {"libomp.so.5", "libomp.so", "libiomp5.so"};
	struct omp_found *f = answer;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *omp = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (!omp)
			continue;
		snprintf(f->name, sizeof f->name, "%s", names[i]);
		f->has_tools = dlsym(omp, "ompt_start_tool") != NULL;
		return;
	}
}

int af_omp_probe(char *words, size_t size, struct af_err *err)
{
	struct omp_found f = {0};
	int rc = af_ask(omp_ask, &f, sizeof f, "an OpenMP runtime", "ldd of the program", err);

	if (rc)
		return rc;
	f.name[sizeof f.name - 1] = 0;
	if (!*f.name)
		return af_fail_plain(err, -ENOENT,
		                     "no OpenMP runtime of LLVM (libomp.so.5) in the system's "
		                     "paths: apt install libomp-19-dev. Programs that bring "
		                     "their own are recorded all the same");
	if (!f.has_tools)
		return af_fail_plain(err, -ENOTSUP,
		                     "%s was built without OMPT: install LLVM's runtime (apt "
		                     "install libomp-19-dev)",
		                     f.name);
	snprintf(words, size, "%s; target regions are seen from LLVM 17 on", f.name);
	return 0;
}
