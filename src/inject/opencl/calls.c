/* All calls with their arguments: generated wrappers above those of the other files. */
#include "inject/opencl/calls.h"

#include <string.h>

enum { KIND_FIRST = 0x1c00, KIND_LAST = 0x1fff };

static bool opencl_traced;

static void **slot_of(struct _cl_icd_dispatch *d, const struct af_api_entry *e)
{
	return (void **)((char *)d + e->slot);
}

void af_opencl_wrap_calls(struct _cl_icd_dispatch *d)
{
	opencl_traced = af_api_is_traced(KIND_FIRST, KIND_LAST);
	for (const struct af_api_entry *e = af_api_opencl_entries; opencl_traced && e->name; e++) {
		if (e->slot < 0)
			continue;
		void **ours = slot_of(d, e), *loaders = *slot_of(&af_opencl_next, e);
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
		if (strcmp(e->name, name))
			continue;
		void *none = NULL;
		bool ours = __atomic_compare_exchange_n(&af_api_opencl_next[e->number], &none, real,
		                                        false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		return ours || none == real ? e->wrapper : real;
	}
	return real;
}
