/* Wrappers of functions that a program looks up by name, which the loader's table does not have. */
#include "inject/opencl/opencl.h"

#include <CL/cl_ext.h>
#include <string.h>

#include "inject/core/inject.h"

/*
 * Functions that a program gets by name do not go through the loader's table. Those that make
 * queues or put work on them (Intel's unified shared memory carries all the data of SYCL programs)
 * are wrapped as they are handed out.
 *
 * A wrapper has one function below it: with two platforms that have the same extension, the second
 * one's is handed out bare.
 */
static struct {
	_Atomic(clCreateCommandQueueWithPropertiesKHR_fn) create_queue;
	_Atomic(clEnqueueMemcpyINTEL_fn) memcpy;
	_Atomic(clEnqueueMemFillINTEL_fn) fill;
	_Atomic(clEnqueueMigrateMemINTEL_fn) migrate;
} extension;

static cl_command_queue CL_API_CALL
extension_create_queue(cl_context context, cl_device_id device,
                       const cl_queue_properties_khr *properties, cl_int *errcode_ret)
{
	return af_opencl_create_queue(extension.create_queue, context, device, properties,
	                              errcode_ret);
}

static cl_int CL_API_CALL extension_memcpy(cl_command_queue queue, cl_bool blocking, void *to,
                                           const void *from, size_t size, cl_uint nr_waits,
                                           const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_COPY);
	call.descriptor.bytes = size;
	cl_int rc = extension.memcpy(queue, blocking, to, from, size, nr_waits, waits,
	                             AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, blocking);
}

static cl_int CL_API_CALL extension_fill(cl_command_queue queue, void *to, const void *pattern,
                                         size_t pattern_size, size_t size, cl_uint nr_waits,
                                         const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_FILL);
	call.descriptor.bytes = size;
	cl_int rc = extension.fill(queue, to, pattern, pattern_size, size, nr_waits, waits,
	                           AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

static cl_int CL_API_CALL extension_migrate(cl_command_queue queue, const void *p, size_t size,
                                            cl_mem_migration_flags flags, cl_uint nr_waits,
                                            const cl_event *waits, cl_event *event)
{
	AF_OPENCL_BEGIN(call, queue, AF_OP_MIGRATE);
	call.descriptor.bytes = size;
	cl_int rc =
	    extension.migrate(queue, p, size, flags, nr_waits, waits, AF_OPENCL_EVENT(call, event));
	return af_opencl_launched(&call, rc, event, false);
}

/* Our wrapper of @real, which @slot keeps; @real itself when the slot has another. */
#define EXTENSION_WRAP(slot, real, wrapper)                                                        \
	({                                                                                         \
		__typeof__(wrapper) *none_ = NULL, *real_ = (__typeof__(wrapper) *)(real);         \
		bool ours_ =                                                                       \
		    atomic_compare_exchange_strong(&(slot), &none_, real_) || none_ == real_;      \
		ours_ ? (void *)(wrapper) : (real);                                                \
	})

static void *extension_hook(const char *name, void *real)
{
	if (!real || !name || !af_inject_session())
		return real;
	if (!strcmp(name, "clCreateCommandQueueWithPropertiesKHR"))
		return EXTENSION_WRAP(extension.create_queue, real, extension_create_queue);
	if (!strcmp(name, "clEnqueueMemcpyINTEL"))
		return EXTENSION_WRAP(extension.memcpy, real, extension_memcpy);
	if (!strcmp(name, "clEnqueueMemFillINTEL"))
		return EXTENSION_WRAP(extension.fill, real, extension_fill);
	if (!strcmp(name, "clEnqueueMigrateMemINTEL"))
		return EXTENSION_WRAP(extension.migrate, real, extension_migrate);
	return real;
}

static void *extension_wrap(const char *name, void *real)
{
	return af_opencl_wrap_call(name, extension_hook(name, real));
}

static void *CL_API_CALL extension_address(const char *name)
{
	return extension_wrap(name, af_opencl_next.clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL extension_address_for_platform(cl_platform_id platform, const char *name)
{
	return extension_wrap(
	    name, af_opencl_next.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void af_opencl_wrap_extensions(struct _cl_icd_dispatch *d)
{
	d->clGetExtensionFunctionAddress = extension_address;
	d->clGetExtensionFunctionAddressForPlatform = extension_address_for_platform;
}
