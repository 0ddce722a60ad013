/*
 * Device kernels by name: the id of a kernel in the trace, for every API.
 */
#ifndef AF_INJECT_CORE_KERNELS_H
#define AF_INJECT_CORE_KERNELS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/core/handles.h"

struct af_thread_context;

/* The kernels of one API. */
struct af_kernels {
	struct af_handles ids; /* hash of program and name → id */
};

#define AF_KERNELS_INIT                                                                            \
	{                                                                                          \
		.ids = AF_HANDLES_INIT                                                             \
	}

/*
 * The id of the kernel @name (@len bytes) of @program (0: not known). A new one is defined on @t,
 * which the caller has entered; with NULL the function enters the thread for that. Any thread.
 */
uint32_t af_kernel_id(struct af_kernels *k, struct af_thread_context *t, uint32_t program,
                      const char *name, size_t len);

/*
 * A fact about a device that is defined, in the calling thread's stream: a DEVICE_NOTE, whose keys
 * aflame/event.h names.
 */
void af_device_note(uint32_t device, const char *key, const char *value);

#endif
