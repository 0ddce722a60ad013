/* Between calls.c and the generated wrappers of OpenCL's functions. */
#ifndef AF_INJECT_OPENCL_CALLS_H
#define AF_INJECT_OPENCL_CALLS_H

#include "inject/opencl/entries.h"

/* The real functions are all known when the wrappers are. */
#define AF_API_NEXT(slot, name)

/* The real functions by number; and the wrappers, up to one without a name. */
extern void *af_api_opencl_next[];
extern const struct af_api_entry af_api_opencl_entries[];

#endif
