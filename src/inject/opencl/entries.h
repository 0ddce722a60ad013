/* Generated wrappers of OpenCL's functions, and their places: for calls.c and enqueue.c. */
#ifndef AF_INJECT_OPENCL_ENTRIES_H
#define AF_INJECT_OPENCL_ENTRIES_H

#include <stddef.h>

#include "inject/api/api.h"
#include "inject/opencl/opencl.h"

/* The place of a function in the loader's table; and in @d that of @e, which has one. */
#define AF_API_SLOT(name) offsetof(struct _cl_icd_dispatch, name)

static inline void **af_opencl_slot(struct _cl_icd_dispatch *d, const struct af_api_entry *e)
{
	return (void **)((char *)d + e->slot);
}

/*
 * The wrapper of @e with @real below it, by @below; @real itself where another function is there
 * already: two drivers may give two functions for one name.
 */
static inline void *af_opencl_put_below(void **below, const struct af_api_entry *e, void *real)
{
	void *none = NULL;
	bool ours = __atomic_compare_exchange_n(&below[e->number], &none, real, false,
	                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

	return ours || none == real ? e->wrapper : real;
}

#endif
