/* Between enqueue.c and the generated hooks of calls that put work on a queue. */
#ifndef AF_INJECT_OPENCL_ENQUEUE_H
#define AF_INJECT_OPENCL_ENQUEUE_H

#include "inject/opencl/entries.h"

/* The functions below the hooks, by number; and the hooks, up to one without a name. */
extern void *af_opencl_enqueue_below[];
extern const struct af_api_entry af_opencl_enqueues[];

/*
 * Fill in the kernel and its sizes. @dims 0: a task, of one work item. What the driver will refuse
 * is left out.
 */
void af_opencl_kernel_work(struct af_ev_descriptor *d, cl_kernel kernel, cl_uint dims,
                           const size_t *global, const size_t *local);

/* Bytes of a pixel of @image, and of the @nr memory objects at @memories, by the driver. */
uint64_t af_opencl_pixel(cl_mem image);
uint64_t af_opencl_memory(struct af_api_hook *c, const cl_mem *memories, uint64_t nr);

#endif
