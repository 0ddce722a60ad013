/*
 * Wrappers of the calls that put work on a queue. Each writes a launch and keeps the event of the
 * work.
 */
#include "inject/opencl/opencl.h"

static cl_int CL_API_CALL enqueue_nd_range(cl_command_queue queue, cl_kernel kernel,
                                           cl_uint work_dim, const size_t *offset,
                                           const size_t *global, const size_t *local,
                                           cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_KERNEL);
	if (call.queue) {
		call.descriptor.kernel = af_opencl_kernel(kernel);
		if (global && work_dim >= 1 && work_dim <= 3) {
			call.descriptor.global_x = global[0];
			call.descriptor.global_y = work_dim > 1 ? global[1] : 1;
			call.descriptor.global_z = work_dim > 2 ? global[2] : 1;
		}
		if (local && work_dim >= 1 && work_dim <= 3) {
			call.descriptor.local_x = (uint32_t)local[0];
			call.descriptor.local_y = work_dim > 1 ? (uint32_t)local[1] : 1;
			call.descriptor.local_z = work_dim > 2 ? (uint32_t)local[2] : 1;
		}
	}
	cl_int rc =
	    af_opencl_next.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global, local,
	                                          nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint nr_waits,
                                       const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_KERNEL);
	if (call.queue) {
		call.descriptor.kernel = af_opencl_kernel(kernel);
		call.descriptor.global_x = call.descriptor.global_y = call.descriptor.global_z = 1;
		call.descriptor.local_x = call.descriptor.local_y = call.descriptor.local_z = 1;
	}
	cl_int rc = af_opencl_next.clEnqueueTask(queue, kernel, nr_waits, waits,
	                                         AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_native_kernel(cl_command_queue queue,
                                                void(CL_CALLBACK *function)(void *), void *args,
                                                size_t size, cl_uint nr_mems, const cl_mem *mems,
                                                const void **mem_places, cl_uint nr_waits,
                                                const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_NATIVE);
	cl_int rc = af_opencl_next.clEnqueueNativeKernel(queue, function, args, size, nr_mems, mems,
	                                                 mem_places, nr_waits, waits,
	                                                 AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t size, void *to, cl_uint nr_waits,
                                       const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_READ);
	call.descriptor.bytes = size;
	cl_int rc =
	    af_opencl_next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, nr_waits,
	                                       waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void *from,
                                        cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_WRITE);
	call.descriptor.bytes = size;
	cl_int rc =
	    af_opencl_next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from,
	                                        nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t from_offset, size_t to_offset, size_t size,
                                       cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = size;
	cl_int rc =
	    af_opencl_next.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size,
	                                       nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

/* Bytes of a region whose first dimension is in bytes; NULL is the driver's to refuse. */
static uint64_t region_bytes(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static cl_int CL_API_CALL enqueue_read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            const size_t *origin, const size_t *host_origin,
                                            const size_t *region, size_t row, size_t slice,
                                            size_t host_row, size_t host_slice, void *to,
                                            cl_uint nr_waits, const cl_event *waits,
                                            cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_READ);
	call.descriptor.bytes = region_bytes(region);
	cl_int rc = af_opencl_next.clEnqueueReadBufferRect(
	    queue, buffer, blocking, origin, host_origin, region, row, slice, host_row, host_slice,
	    to, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_write_rect(cl_command_queue queue, cl_mem buffer,
                                             cl_bool blocking, const size_t *origin,
                                             const size_t *host_origin, const size_t *region,
                                             size_t row, size_t slice, size_t host_row,
                                             size_t host_slice, const void *from, cl_uint nr_waits,
                                             const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_WRITE);
	call.descriptor.bytes = region_bytes(region);
	cl_int rc = af_opencl_next.clEnqueueWriteBufferRect(
	    queue, buffer, blocking, origin, host_origin, region, row, slice, host_row, host_slice,
	    from, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_copy_rect(cl_command_queue queue, cl_mem from, cl_mem to,
                                            const size_t *from_origin, const size_t *to_origin,
                                            const size_t *region, size_t from_row,
                                            size_t from_slice, size_t to_row, size_t to_slice,
                                            cl_uint nr_waits, const cl_event *waits,
                                            cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = region_bytes(region);
	cl_int rc = af_opencl_next.clEnqueueCopyBufferRect(
	    queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice,
	    nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                       size_t pattern_size, size_t offset, size_t size,
                                       cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_FILL);
	call.descriptor.bytes = size;
	cl_int rc =
	    af_opencl_next.clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size,
	                                       nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

/* An image's regions are in pixels, whose size only the driver knows. */
static uint64_t image_bytes(const struct af_opencl_call *call, cl_mem image, const size_t *region)
{
	size_t pixel = 0;

	if (!call->queue || !region || !image ||
	    af_opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, NULL))
		return 0;
	return region_bytes(region) * pixel;
}

static cl_int CL_API_CALL enqueue_read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                             const size_t *origin, const size_t *region, size_t row,
                                             size_t slice, void *to, cl_uint nr_waits,
                                             const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_READ);
	call.descriptor.bytes = image_bytes(&call, image, region);
	cl_int rc =
	    af_opencl_next.clEnqueueReadImage(queue, image, blocking, origin, region, row, slice,
	                                      to, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_write_image(cl_command_queue queue, cl_mem image,
                                              cl_bool blocking, const size_t *origin,
                                              const size_t *region, size_t row, size_t slice,
                                              const void *from, cl_uint nr_waits,
                                              const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_WRITE);
	call.descriptor.bytes = image_bytes(&call, image, region);
	cl_int rc =
	    af_opencl_next.clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice,
	                                       from, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_copy_image(cl_command_queue queue, cl_mem from, cl_mem to,
                                             const size_t *from_origin, const size_t *to_origin,
                                             const size_t *region, cl_uint nr_waits,
                                             const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = image_bytes(&call, from, region);
	cl_int rc =
	    af_opencl_next.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region,
	                                      nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_copy_image_to_buffer(cl_command_queue queue, cl_mem from,
                                                       cl_mem to, const size_t *origin,
                                                       const size_t *region, size_t offset,
                                                       cl_uint nr_waits, const cl_event *waits,
                                                       cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = image_bytes(&call, from, region);
	cl_int rc = af_opencl_next.clEnqueueCopyImageToBuffer(
	    queue, from, to, origin, region, offset, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_copy_buffer_to_image(cl_command_queue queue, cl_mem from,
                                                       cl_mem to, size_t offset,
                                                       const size_t *origin, const size_t *region,
                                                       cl_uint nr_waits, const cl_event *waits,
                                                       cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = image_bytes(&call, to, region);
	cl_int rc = af_opencl_next.clEnqueueCopyBufferToImage(
	    queue, from, to, offset, origin, region, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_fill_image(cl_command_queue queue, cl_mem image,
                                             const void *color, const size_t *origin,
                                             const size_t *region, cl_uint nr_waits,
                                             const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_FILL);
	call.descriptor.bytes = image_bytes(&call, image, region);
	cl_int rc = af_opencl_next.clEnqueueFillImage(queue, image, color, origin, region, nr_waits,
	                                              waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

/* The mapping calls return a pointer, and their error through the last argument. */
static void *CL_API_CALL enqueue_map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            cl_map_flags flags, size_t offset, size_t size,
                                            cl_uint nr_waits, const cl_event *waits,
                                            cl_event *event, cl_int *errcode_ret)
{
	cl_int rc = CL_SUCCESS;

	AF_OPENCL_BEGIN(call, queue, AF_OP_MAP);
	call.descriptor.bytes = size;
	void *p =
	    af_opencl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
	                                      nr_waits, waits, AF_OPENCL_EVENT(call, event), &rc);
	af_opencl_launched(&call, rc, event, blocking);
	if (errcode_ret)
		*errcode_ret = rc;
	return p;
}

static void *CL_API_CALL enqueue_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                           cl_map_flags flags, const size_t *origin,
                                           const size_t *region, size_t *row, size_t *slice,
                                           cl_uint nr_waits, const cl_event *waits, cl_event *event,
                                           cl_int *errcode_ret)
{
	cl_int rc = CL_SUCCESS;

	AF_OPENCL_BEGIN(call, queue, AF_OP_MAP);
	call.descriptor.bytes = image_bytes(&call, image, region);
	void *p = af_opencl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
	                                           row, slice, nr_waits, waits,
	                                           AF_OPENCL_EVENT(call, event), &rc);
	af_opencl_launched(&call, rc, event, blocking);
	if (errcode_ret)
		*errcode_ret = rc;
	return p;
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue queue, cl_mem memory, void *mapped,
                                        cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_UNMAP);
	cl_int rc = af_opencl_next.clEnqueueUnmapMemObject(queue, memory, mapped, nr_waits, waits,
	                                                   AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_migrate(cl_command_queue queue, cl_uint nr_mems,
                                          const cl_mem *mems, cl_mem_migration_flags flags,
                                          cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_MIGRATE);
	for (cl_uint i = 0; call.queue && mems && i < nr_mems; i++) {
		size_t size = 0;
		if (mems[i])
			af_opencl_next.clGetMemObjectInfo(mems[i], CL_MEM_SIZE, sizeof size, &size,
			                                  NULL);
		call.descriptor.bytes += size;
	}
	cl_int rc = af_opencl_next.clEnqueueMigrateMemObjects(queue, nr_mems, mems, flags, nr_waits,
	                                                      waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_svm_memcpy(cl_command_queue queue, cl_bool blocking, void *to,
                                             const void *from, size_t size, cl_uint nr_waits,
                                             const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = size;
	cl_int rc = af_opencl_next.clEnqueueSVMMemcpy(queue, blocking, to, from, size, nr_waits,
	                                              waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_svm_fill(cl_command_queue queue, void *to, const void *pattern,
                                           size_t pattern_size, size_t size, cl_uint nr_waits,
                                           const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_FILL);
	call.descriptor.bytes = size;
	cl_int rc = af_opencl_next.clEnqueueSVMMemFill(
	    queue, to, pattern, pattern_size, size, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_svm_map(cl_command_queue queue, cl_bool blocking,
                                          cl_map_flags flags, void *p, size_t size,
                                          cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_MAP);
	call.descriptor.bytes = size;
	cl_int rc = af_opencl_next.clEnqueueSVMMap(queue, blocking, flags, p, size, nr_waits, waits,
	                                           AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL enqueue_svm_unmap(cl_command_queue queue, void *p, cl_uint nr_waits,
                                            const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_UNMAP);
	cl_int rc = af_opencl_next.clEnqueueSVMUnmap(queue, p, nr_waits, waits,
	                                             AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL
enqueue_svm_free(cl_command_queue queue, cl_uint nr, void **pointers,
                 void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void **, void *),
                 void *user_data, cl_uint nr_waits, const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_FREE);
	cl_int rc = af_opencl_next.clEnqueueSVMFree(queue, nr, pointers, free_function, user_data,
	                                            nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_svm_migrate(cl_command_queue queue, cl_uint nr,
                                              const void **pointers, const size_t *sizes,
                                              cl_mem_migration_flags flags, cl_uint nr_waits,
                                              const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_MIGRATE);
	for (cl_uint i = 0; sizes && i < nr; i++)
		call.descriptor.bytes += sizes[i];
	cl_int rc = af_opencl_next.clEnqueueSVMMigrateMem(
	    queue, nr, pointers, sizes, flags, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_marker_with_waits(cl_command_queue queue, cl_uint nr_waits,
                                                    const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_MARKER);
	cl_int rc = af_opencl_next.clEnqueueMarkerWithWaitList(queue, nr_waits, waits,
	                                                       AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL enqueue_barrier_with_waits(cl_command_queue queue, cl_uint nr_waits,
                                                     const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_BARRIER);
	cl_int rc = af_opencl_next.clEnqueueBarrierWithWaitList(queue, nr_waits, waits,
	                                                        AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

/* OpenCL 1.0's marker; its barrier and its wait for events have no event to time them by. */
static cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_event *event)
{
	if (!event)
		return af_opencl_next.clEnqueueMarker(queue, event); /* an error of the driver's */
	AF_OPENCL_BEGIN(call, queue, AF_OP_MARKER);
	cl_int rc = af_opencl_next.clEnqueueMarker(queue, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

void af_opencl_wrap_enqueues(struct _cl_icd_dispatch *d)
{
	d->clEnqueueNDRangeKernel = enqueue_nd_range;
	d->clEnqueueTask = enqueue_task;
	d->clEnqueueNativeKernel = enqueue_native_kernel;
	d->clEnqueueReadBuffer = enqueue_read;
	d->clEnqueueWriteBuffer = enqueue_write;
	d->clEnqueueCopyBuffer = enqueue_copy;
	d->clEnqueueReadBufferRect = enqueue_read_rect;
	d->clEnqueueWriteBufferRect = enqueue_write_rect;
	d->clEnqueueCopyBufferRect = enqueue_copy_rect;
	d->clEnqueueFillBuffer = enqueue_fill;
	d->clEnqueueReadImage = enqueue_read_image;
	d->clEnqueueWriteImage = enqueue_write_image;
	d->clEnqueueCopyImage = enqueue_copy_image;
	d->clEnqueueCopyImageToBuffer = enqueue_copy_image_to_buffer;
	d->clEnqueueCopyBufferToImage = enqueue_copy_buffer_to_image;
	d->clEnqueueFillImage = enqueue_fill_image;
	d->clEnqueueMapBuffer = enqueue_map_buffer;
	d->clEnqueueMapImage = enqueue_map_image;
	d->clEnqueueUnmapMemObject = enqueue_unmap;
	d->clEnqueueMigrateMemObjects = enqueue_migrate;
	d->clEnqueueSVMMemcpy = enqueue_svm_memcpy;
	d->clEnqueueSVMMemFill = enqueue_svm_fill;
	d->clEnqueueSVMMap = enqueue_svm_map;
	d->clEnqueueSVMUnmap = enqueue_svm_unmap;
	d->clEnqueueSVMFree = enqueue_svm_free;
	d->clEnqueueSVMMigrateMem = enqueue_svm_migrate;
	d->clEnqueueMarkerWithWaitList = enqueue_marker_with_waits;
	d->clEnqueueBarrierWithWaitList = enqueue_barrier_with_waits;
	d->clEnqueueMarker = enqueue_marker;
}
