/* Between calls.c and the generated wrappers of OpenCL's functions. */
#ifndef AF_INJECT_OPENCL_CALLS_H
#define AF_INJECT_OPENCL_CALLS_H

#include <stddef.h>

#include "inject/api/api.h"
#include "inject/opencl/opencl.h"

/* The place of a function in the loader's table. */
/* The real functions are all known when the wrappers are. */
#define AF_API_NEXT(slot, name)

#define AF_API_SLOT(name) offsetof(struct _cl_icd_dispatch, name)

/* The real functions by number; and the wrappers, up to one without a name. */
extern void *af_api_opencl_next[];
extern const struct af_api_entry af_api_opencl_entries[];

#endif
