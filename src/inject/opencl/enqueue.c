/*
 * Calls that put work on a queue: each writes a LAUNCH, and keeps the event of the work. The hooks
 * themselves are generated (src/api/generate/enqueue.c, by op: of src/api/models/opencl.rules).
 */
#include "inject/opencl/enqueue.h"

#include <string.h>

void af_opencl_kernel_work(struct af_ev_descriptor *d, cl_kernel kernel, cl_uint dims,
                           const size_t *global, const size_t *local)
{
	const size_t one[3] = {1, 1, 1};
	bool task = !dims && !global;

	d->kernel = af_opencl_kernel(kernel);
	if (task) {
		global = local = one;
		dims = 3;
	}
	if (dims < 1 || dims > 3)
		return;
	if (global) {
		d->global_x = global[0];
		d->global_y = dims > 1 ? global[1] : 1;
		d->global_z = dims > 2 ? global[2] : 1;
	}
	if (local) {
		d->local_x = (uint32_t)local[0];
		d->local_y = dims > 1 ? (uint32_t)local[1] : 1;
		d->local_z = dims > 2 ? (uint32_t)local[2] : 1;
	}
}

uint64_t af_opencl_pixel(cl_mem image)
{
	size_t pixel = 0;

	if (!image ||
	    af_opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, NULL))
		return 0;
	return pixel;
}

uint64_t af_opencl_memory(struct af_api_hook *c, const cl_mem *memories, uint64_t nr)
{
	uint64_t bytes = 0;

	(void)c;
	for (uint64_t i = 0; memories && i < nr; i++) {
		size_t size = 0;
		if (memories[i])
			af_opencl_next.clGetMemObjectInfo(memories[i], CL_MEM_SIZE, sizeof size,
			                                  &size, NULL);
		bytes += size;
	}
	return bytes;
}

void af_opencl_wrap_enqueues(struct _cl_icd_dispatch *d)
{
	for (const struct af_api_entry *e = af_opencl_enqueues; e->name; e++) {
		if (e->slot < 0)
			continue;
		af_opencl_enqueue_below[e->number] = *af_opencl_slot(&af_opencl_next, e);
		*af_opencl_slot(d, e) = e->wrapper;
	}
}

/*
 * A hook has one function below it: with two platforms that have the same extension, the second
 * one's function is handed out bare.
 */
void *af_opencl_wrap_enqueue(const char *name, void *real)
{
	for (const struct af_api_entry *e = af_opencl_enqueues; e->name; e++) {
		if (e->slot >= 0 || strcmp(e->name, name))
			continue;
		return af_opencl_put_below(af_opencl_enqueue_below, e, real);
	}
	return real;
}
