/*
 * A driver to put under the OpenCL layer: one context, devices, queues, kernels and events that do
 * what the test says. Events complete when the test completes them.
 */
#ifndef AF_TESTS_OPENCL_MOCK_H
#define AF_TESTS_OPENCL_MOCK_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject/opencl/opencl.h"

struct mock_device {
	int64_t stamp_offset_ns; /* of its clock from stamp_clock */
	clockid_t stamp_clock;
};

struct mock_queue {
	cl_command_queue_properties properties;
	struct mock_device *device;
};

struct mock_event {
	int refs;
	cl_int status;
	bool no_stamps;
	bool completes_when_asked; /* for its times, which are then refused for the last time */
	cl_ulong stamps[4];
	struct mock_queue *queue;
};

struct mock_kernel {
	const char *name;
};

enum { MOCK_EVENTS = 8192 };

static struct mock_event mock_events[MOCK_EVENTS];
static unsigned mock_nr_events;
static cl_int mock_next_status = CL_COMPLETE; /* of the next event; CL_QUEUED leaves it pending */
static cl_int mock_enqueue_error;
static struct mock_device mock_devices[2] = {{.stamp_clock = CLOCK_MONOTONIC_RAW},
                                             {5000000000, CLOCK_MONOTONIC}};
static struct mock_queue mock_queue_memory; /* the handle that every new queue gets */
static bool mock_fresh_queues = true;

static uint64_t mock_now(const struct mock_device *d)
{
	struct timespec t;

	clock_gettime(d->stamp_clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
	       (uint64_t)d->stamp_offset_ns;
}

static cl_int mock_answer(const void *data, size_t len, size_t size, void *value, size_t *size_ret)
{
	if (value && size < len)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, data, len);
	if (size_ret)
		*size_ret = len;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL mock_device_info(cl_device_id d, cl_device_info what, size_t size,
                                           void *value, size_t *ret)
{
	cl_device_type type = CL_DEVICE_TYPE_GPU;

	switch (what) {
	case CL_DEVICE_TYPE:
		return mock_answer(&type, sizeof type, size, value, ret);
	case CL_DEVICE_NAME:
		return mock_answer("mock device", 12, size, value, ret);
	case CL_DEVICE_VERSION:
		return mock_answer("OpenCL 1.2 mock", 16, size, value, ret);
	}
	return CL_INVALID_VALUE;
}

static cl_command_queue CL_API_CALL mock_create_queue(cl_context c, cl_device_id d,
                                                      cl_command_queue_properties p, cl_int *rc)
{
	struct mock_queue *q = mock_fresh_queues ? malloc(sizeof *q) : &mock_queue_memory;

	*q = (struct mock_queue){p, (struct mock_device *)d};
	if (rc)
		*rc = CL_SUCCESS;
	return (cl_command_queue)q;
}

static cl_command_queue CL_API_CALL mock_create_queue_2(cl_context c, cl_device_id d,
                                                        const cl_queue_properties *p, cl_int *rc)
{
	cl_command_queue_properties bits = 0;

	for (; p && *p; p += 2)
		if (*p == CL_QUEUE_PROPERTIES)
			bits = p[1];
	return mock_create_queue(c, d, bits, rc);
}

static cl_int CL_API_CALL mock_queue_info(cl_command_queue queue, cl_command_queue_info what,
                                          size_t size, void *value, size_t *ret)
{
	struct mock_queue *q = (void *)queue;
	cl_context context = (cl_context)&mock_devices;

	switch (what) {
	case CL_QUEUE_CONTEXT:
		return mock_answer(&context, sizeof context, size, value, ret);
	case CL_QUEUE_DEVICE:
		return mock_answer(&q->device, sizeof q->device, size, value, ret);
	case CL_QUEUE_PROPERTIES:
		return mock_answer(&q->properties, sizeof q->properties, size, value, ret);
	case CL_QUEUE_PROPERTIES_ARRAY:
		return mock_answer("wrong", 6, value ? size : 6, value, ret);
	}
	return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL mock_queue_ok(cl_command_queue queue)
{
	return CL_SUCCESS;
}

static cl_int mock_enqueue(cl_command_queue queue, cl_event *event)
{
	struct mock_event *e = &mock_events[mock_nr_events];
	struct mock_queue *q = (void *)queue;

	if (mock_enqueue_error)
		return mock_enqueue_error;
	mock_nr_events++;
	uint64_t now = mock_now(q->device);
	*e = (struct mock_event){
	    .refs = event ? 1 : 0,
	    .status = mock_next_status,
	    .stamps = {now, now + 10, now + 30, now + 60},
	    .queue = q,
	};
	if (event)
		*event = (cl_event)e;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL mock_kernel_enqueue(cl_command_queue q, cl_kernel k, cl_uint dim,
                                              const size_t *o, const size_t *g, const size_t *l,
                                              cl_uint n, const cl_event *w, cl_event *e)
{
	return mock_enqueue(q, e);
}

static cl_int CL_API_CALL mock_read(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset,
                                    size_t size, void *to, cl_uint n, const cl_event *w,
                                    cl_event *e)
{
	return mock_enqueue(q, e);
}

static cl_int CL_API_CALL mock_event_info(cl_event event, cl_event_info what, size_t size,
                                          void *value, size_t *ret)
{
	struct mock_event *e = (void *)event;

	if (what == CL_EVENT_COMMAND_QUEUE)
		return mock_answer(&e->queue, sizeof e->queue, size, value, ret);
	if (what == CL_EVENT_COMMAND_EXECUTION_STATUS)
		return mock_answer(&e->status, sizeof e->status, size, value, ret);
	return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL mock_event_times(cl_event event, cl_profiling_info what, size_t size,
                                           void *value, size_t *ret)
{
	struct mock_event *e = (void *)event;

	if (e->completes_when_asked) {
		e->completes_when_asked = false;
		e->status = CL_COMPLETE;
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	}
	if (e->no_stamps || e->status != CL_COMPLETE)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return mock_answer(&e->stamps[what - CL_PROFILING_COMMAND_QUEUED], sizeof e->stamps[0],
	                   size, value, ret);
}

static cl_int CL_API_CALL mock_retain_event(cl_event event)
{
	((struct mock_event *)event)->refs++;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL mock_release_event(cl_event event)
{
	((struct mock_event *)event)->refs--;
	return CL_SUCCESS;
}

static cl_kernel CL_API_CALL mock_create_kernel(cl_program p, const char *name, cl_int *rc)
{
	struct mock_kernel *k = malloc(sizeof *k);

	k->name = name;
	return (cl_kernel)k;
}

static cl_int CL_API_CALL mock_kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size,
                                           void *value, size_t *ret)
{
	struct mock_kernel *k = (void *)kernel;

	if (what == CL_KERNEL_FUNCTION_NAME)
		return mock_answer(k->name, strlen(k->name) + 1, size, value, ret);
	return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL mock_program_info(cl_program p, cl_program_info what, size_t size,
                                            void *value, size_t *ret)
{
	return CL_INVALID_VALUE;
}

/* clEnqueueMemcpyINTEL */
static cl_int CL_API_CALL mock_memcpy(cl_command_queue q, cl_bool blocking, void *to,
                                      const void *from, size_t size, cl_uint n, const cl_event *w,
                                      cl_event *e)
{
	return mock_enqueue(q, e);
}

static void *CL_API_CALL mock_extension(const char *name)
{
	return !strcmp(name, "clEnqueueMemcpyINTEL") ? (void *)mock_memcpy
	       : !strcmp(name, "clSomethingElse")    ? (void *)mock_enqueue
	                                             : NULL;
}

static const struct _cl_icd_dispatch mock_driver = {
    .clGetDeviceInfo = mock_device_info,
    .clCreateCommandQueue = mock_create_queue,
    .clCreateCommandQueueWithProperties = mock_create_queue_2,
    .clGetCommandQueueInfo = mock_queue_info,
    .clRetainCommandQueue = mock_queue_ok,
    .clReleaseCommandQueue = mock_queue_ok,
    .clFinish = mock_queue_ok,
    .clEnqueueNDRangeKernel = mock_kernel_enqueue,
    .clEnqueueReadBuffer = mock_read,
    .clGetEventInfo = mock_event_info,
    .clGetEventProfilingInfo = mock_event_times,
    .clRetainEvent = mock_retain_event,
    .clReleaseEvent = mock_release_event,
    .clCreateKernel = mock_create_kernel,
    .clGetKernelInfo = mock_kernel_info,
    .clGetProgramInfo = mock_program_info,
    .clGetExtensionFunctionAddress = mock_extension,
};

#endif
