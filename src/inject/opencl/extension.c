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
static _Atomic(clCreateCommandQueueWithPropertiesKHR_fn) create_queue;

static cl_command_queue CL_API_CALL
extension_create_queue(cl_context context, cl_device_id device,
                       const cl_queue_properties_khr *properties, cl_int *errcode_ret)
{
	return af_opencl_create_queue(create_queue, context, device, properties, errcode_ret);
}

static void *extension_hook(const char *name, void *real)
{
	clCreateCommandQueueWithPropertiesKHR_fn none = NULL, maker = real;

	if (!af_inject_session())
		return real;
	if (strcmp(name, "clCreateCommandQueueWithPropertiesKHR"))
		return af_opencl_wrap_enqueue(name, real);
	bool ours = atomic_compare_exchange_strong(&create_queue, &none, maker) || none == maker;
	return ours ? (void *)extension_create_queue : real;
}

static void *extension_wrap(const char *name, void *real)
{
	if (!name || !real)
		return real;
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
