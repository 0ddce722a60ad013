/*
 * cl_user_profiling: a program that looks at its own queues and events.
 *
 * Truth: a queue made with profiling says so and gives 50 events with queued <= submitted <= start
 * <= end; a queue made without says that it has none, in CL_QUEUE_PROPERTIES, in
 * CL_QUEUE_PROPERTIES_ARRAY where OpenCL 3.0 has it, and by CL_PROFILING_INFO_NOT_AVAILABLE for its
 * 50 events. Both are made by the 1.2 call and by the 2.0 call. A completion callback of the
 * program's own runs once for each of the 200 events. So profiling forced on by a tool must be
 * invisible. The sum of the event times is printed.
 *
 * Exit status: 0, or 1 when something else is seen.
 */
#include "burn.h"
#include "cl_setup.h"

#include <stdatomic.h>
#include <string.h>

enum { ITEMS = 1024, LAUNCHES = 50 };

static const char source[] =
    CL_SPIN_SOURCE "kernel void timed(global uint *a) { a[get_global_id(0)] = "
		   "spin(get_global_id(0) + 1, 1000); }\n";

static atomic_int nr_callbacks;
static int64_t device_ns;

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *unused)
{
	(void)event;
	(void)unused;
	if (status == CL_COMPLETE)
		atomic_fetch_add(&nr_callbacks, 1);
}

/* 1 when the queue does not say of itself what was asked for. */
static int queue_is_wrong(cl_command_queue queue, cl_command_queue_properties want,
                          const cl_queue_properties *array)
{
	cl_command_queue_properties got = ~want;
	cl_queue_properties got_array[8] = {0};
	size_t size = 0;

	CL_CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof got, &got, NULL));
	if (got != want) {
		fprintf(stderr, "queue properties %#lx instead of %#lx\n", (long)got, (long)want);
		return 1;
	}
	if (!array || clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof got_array,
	                                    got_array, &size))
		return 0;
	if (size == 3 * sizeof *array && !memcmp(array, got_array, size))
		return 0;
	fprintf(stderr, "queue property array of %zu bytes, value %#lx\n", size,
	        (long)got_array[1]);
	return 1;
}

/* 1 when the four times of an event are not in order; adds what it took. */
static int times_are_wrong(cl_event event)
{
	static const cl_profiling_info names[] = {
	    CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START,
	    CL_PROFILING_COMMAND_END};
	cl_ulong times[4];

	for (int i = 0; i < 4; i++)
		CL_CHECK(
		    clGetEventProfilingInfo(event, names[i], sizeof times[i], &times[i], NULL));
	device_ns += (int64_t)(times[3] - times[2]);
	return times[0] > times[1] || times[1] > times[2] || times[2] > times[3];
}

static int event_is_wrong(cl_event event, int profiled)
{
	cl_ulong time;

	if (profiled)
		return times_are_wrong(event);
	return clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL) !=
	       CL_PROFILING_INFO_NOT_AVAILABLE;
}

APART static int use_queue(cl_command_queue queue, cl_kernel kernel, int profiled)
{
	const size_t items = ITEMS;
	int wrong = 0;

	for (int i = 0; i < LAUNCHES; i++) {
		cl_event event;

		CL_CHECK(
		    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event));
		CL_CHECK(clSetEventCallback(event, CL_COMPLETE, on_complete, NULL));
		CL_CHECK(clWaitForEvents(1, &event));
		wrong |= event_is_wrong(event, profiled);
		CL_CHECK(clReleaseEvent(event));
	}
	CL_CHECK(clFinish(queue));
	return wrong;
}

static int by_12(const struct cl *cl, cl_kernel kernel, cl_command_queue_properties properties)
{
	cl_command_queue queue = cl_queue(cl, properties);
	int wrong = queue_is_wrong(queue, properties, NULL);

	wrong |= use_queue(queue, kernel, properties != 0);
	CL_CHECK(clReleaseCommandQueue(queue));
	return wrong;
}

static int by_20(const struct cl *cl, cl_kernel kernel, cl_command_queue_properties properties)
{
	const cl_queue_properties array[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_int rc;
	cl_command_queue queue =
	    clCreateCommandQueueWithProperties(cl->context, cl->device, array, &rc);
	int wrong;

	cl_check(rc, "clCreateCommandQueueWithProperties");
	wrong = queue_is_wrong(queue, properties, array);
	wrong |= use_queue(queue, kernel, properties != 0);
	CL_CHECK(clReleaseCommandQueue(queue));
	return wrong;
}

int main(void)
{
	int wrong = 0;
	cl_kernel kernel;
	struct cl cl;
	cl_mem mem;

	cl_open(&cl, source);
	mem = cl_buffer(&cl, ITEMS * sizeof(cl_uint));
	kernel = cl_kernel_with(&cl, "timed", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});
	wrong |= by_12(&cl, kernel, 0);
	wrong |= by_12(&cl, kernel, CL_QUEUE_PROFILING_ENABLE);
	wrong |= by_20(&cl, kernel, 0);
	wrong |= by_20(&cl, kernel, CL_QUEUE_PROFILING_ENABLE);
	/* A callback may come a little after the wait that its event ends. */
	for (int i = 0; i < 1000 && atomic_load(&nr_callbacks) < 4 * LAUNCHES; i++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	truth_number("launches", 4 * LAUNCHES);
	truth_number("callbacks", atomic_load(&nr_callbacks));
	truth_number("own_device_us", device_ns / 1000);
	CL_CHECK(clReleaseKernel(kernel));
	CL_CHECK(clReleaseMemObject(mem));
	cl_close(&cl);
	return wrong || atomic_load(&nr_callbacks) != 4 * LAUNCHES;
}
