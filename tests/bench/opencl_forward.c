/*
 * A layer that only forwards, to be the measure of one that records. AF_FORWARD=profiling also
 * forces profiling on and takes an event for each kernel; AF_FORWARD=stamps reads the four stamps
 * of each event when 64 more have been enqueued; AF_FORWARD=callback has the driver call back when
 * the event is complete and reads them then: what the driver itself charges for telling the times.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch next, ours;
static int profiling, callback, stamps;
static cl_event held[64];

static void CL_CALLBACK complete(cl_event event, cl_int status, void *data)
{
	cl_ulong times[4];

	for (cl_profiling_info i = 0; i < 4; i++)
		next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i,
		                             sizeof times[i], &times[i], NULL);
	next.clReleaseEvent(event);
}

static cl_command_queue CL_API_CALL forward_queue(cl_context c, cl_device_id d,
                                                  cl_command_queue_properties p, cl_int *rc)
{
	return next.clCreateCommandQueue(c, d, p | (profiling ? CL_QUEUE_PROFILING_ENABLE : 0), rc);
}

static cl_int CL_API_CALL forward_kernel(cl_command_queue q, cl_kernel k, cl_uint dim,
                                         const size_t *o, const size_t *g, const size_t *l,
                                         cl_uint n, const cl_event *w, cl_event *e)
{
	cl_event own = NULL;
	cl_int rc = next.clEnqueueNDRangeKernel(q, k, dim, o, g, l, n, w, profiling ? &own : e);

	if (stamps && own) {
		static unsigned at;
		cl_event old = held[at % 64];
		held[at++ % 64] = own;
		if (old)
			complete(old, CL_COMPLETE, NULL);
	} else if (callback && own)
		next.clSetEventCallback(own, CL_COMPLETE, complete, NULL);
	else if (own)
		next.clReleaseEvent(own);
	return rc;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	if (name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value)
		*(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
	if (size_ret)
		*size_ret = sizeof(cl_layer_api_version);
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) CL_API_ENTRY cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *nr, const cl_icd_dispatch **ret)
{
	const char *mode = getenv("AF_FORWARD");

	callback = mode && !strcmp(mode, "callback");
	stamps = mode && !strcmp(mode, "stamps");
	profiling = callback || stamps || (mode && !strcmp(mode, "profiling"));
	memcpy(&next, target, n * sizeof(void *) < sizeof next ? n * sizeof(void *) : sizeof next);
	ours.clCreateCommandQueue = forward_queue;
	ours.clEnqueueNDRangeKernel = forward_kernel;
	*nr = n < sizeof ours / sizeof(void *) ? n : sizeof ours / sizeof(void *);
	*ret = &ours;
	return CL_SUCCESS;
}
