/*
 * The loader's entry points for which libaflame.so, preloaded, stands in. They are called once or a
 * few times by a program, and nothing else of Level Zero works before.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "inject/core/inject.h"
#include "inject/core/interpose.h"
#include "inject/ze/ze.h"

#define TRACING "ZE_ENABLE_TRACING_LAYER"

/*
 * The loader may be there for one library only (dlopen with RTLD_LOCAL), which has our entry points
 * all the same: then it is found by its name. It must stay, as we call it at exit.
 */
static void *loader_open(void)
{
	static const char *const names[] = {"libze_loader.so.1", "libze_loader.so"};
	void *library = NULL;

	for (unsigned i = 0; i < 2 && !library; i++)
		library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return library;
}

void *af_ze_loader_function(const char *name)
{
	return af_ze_function(loader_open(), name);
}

/* The loader's own function: of the loader that is there, else of whatever comes after us. */
static void *entry_real(void *library, const char *name, void *ours)
{
	void *real = af_ze_function(library, name);

	if (!real || real == ours)
		real = dlsym(RTLD_NEXT, name);
	return real == ours ? NULL : real;
}

/*
 * Loaders before 1.15.7 trace only if this variable is set before they are initialized. `record`
 * sets it, and a program may have cleared its environment since. The value of a user is kept. True:
 * it was set here, for the time of the call.
 */
static bool tracing_prepare(void *library)
{
	if (getenv(TRACING) || af_ze_function(library, "zelEnableTracingLayer"))
		return false;
	return !setenv(TRACING, "1", 0);
}

INTERPOSE uint32_t zeInit(uint32_t flags)
{
	void *library = loader_open();
	uint32_t (*real)(uint32_t) = entry_real(library, "zeInit", (void *)zeInit);

	if (!real)
		return AF_ZE_UNINITIALIZED;
	if (!library || !af_ze_is_wanted())
		return real(flags);
	bool prepared = tracing_prepare(library);
	uint32_t rc = real(flags);
	if (prepared)
		unsetenv(TRACING);
	if (!rc)
		af_ze_start(library, NULL, 0);
	return rc;
}

INTERPOSE uint32_t zeInitDrivers(uint32_t *nr, void **drivers, const void *desc)
{
	void *library = loader_open();
	uint32_t (*real)(uint32_t *, void **, const void *) =
	    entry_real(library, "zeInitDrivers", (void *)zeInitDrivers);

	if (!real)
		return AF_ZE_UNINITIALIZED;
	if (!library || !af_ze_is_wanted())
		return real(nr, drivers, desc);
	bool prepared = tracing_prepare(library);
	uint32_t rc = real(nr, drivers, desc);
	if (prepared)
		unsetenv(TRACING);
	if (!rc)
		af_ze_start(library, drivers, drivers && nr ? *nr : 0);
	return rc;
}
