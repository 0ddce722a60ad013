/* All calls with their arguments: generated wrappers above those of the other files. */
#include "inject/opencl/calls.h"

#include <string.h>

enum { KIND_FIRST = 0x1c00, KIND_LAST = 0x1fff };

static bool opencl_traced;

void af_opencl_wrap_calls(struct _cl_icd_dispatch *d)
{
	opencl_traced = af_api_is_traced(KIND_FIRST, KIND_LAST);
	for (const struct af_api_entry *e = af_api_opencl_entries; opencl_traced && e->name; e++) {
		if (e->slot < 0)
			continue;
		void **ours = af_opencl_slot(d, e), *loaders = *af_opencl_slot(&af_opencl_next, e);
		if (!*ours && !loaders)
			continue;
		af_api_opencl_next[e->number] = *ours ? *ours : loaders;
		*ours = e->wrapper;
	}
}

/* Two drivers may give two functions for one name: the first one's calls are recorded. */
void *af_opencl_wrap_call(const char *name, void *real)
{
	for (const struct af_api_entry *e = af_api_opencl_entries; opencl_traced && real && e->name;
	     e++) {
		if (!strcmp(e->name, name))
			return af_opencl_put_below(af_api_opencl_next, e, real);
	}
	return real;
}
