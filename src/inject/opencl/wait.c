/* Wrappers of the calls that wait for work or ask after it; each harvests the completed work. */
#include "inject/opencl/opencl.h"

#include "inject/core/inject.h"

enum {
	WAIT_QUEUES = 8, /* of the events waited for, as many queues are looked at */
	POLL_HARVEST = 8,
};

static struct af_opencl_queue *event_queue(cl_event event)
{
	cl_command_queue handle = NULL;

	if (af_opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle,
	                                  NULL) ||
	    !handle)
		return NULL; /* a user event has none */
	return af_opencl_queue(handle);
}

static void waited(struct af_opencl_queue *q, uint32_t most)
{
	if (q)
		af_opencl_harvest(q, most);
	af_opencl_codes_tidy(false);
	af_opencl_tick(af_now_ns());
}

static cl_int CL_API_CALL opencl_finish(cl_command_queue queue)
{
	cl_int rc = af_opencl_next.clFinish(queue);

	if (!af_inject_session() || rc)
		return rc;
	af_opencl_check_fork();
	waited(af_opencl_queue(queue), UINT32_MAX);
	return rc;
}

static cl_int CL_API_CALL opencl_flush(cl_command_queue queue)
{
	cl_int rc = af_opencl_next.clFlush(queue);

	if (!af_inject_session() || rc)
		return rc;
	af_opencl_check_fork();
	waited(af_opencl_queue(queue), POLL_HARVEST);
	return rc;
}

static cl_int CL_API_CALL opencl_wait_for_events(cl_uint num_events, const cl_event *events)
{
	cl_int rc = af_opencl_next.clWaitForEvents(num_events, events);

	if (!af_inject_session() || rc)
		return rc;
	af_opencl_check_fork();
	for (cl_uint i = 0; i < num_events && i < WAIT_QUEUES; i++)
		waited(event_queue(events[i]), UINT32_MAX);
	return rc;
}

/* A program that polls its events, and calls nothing else, is heard here. */
static cl_int CL_API_CALL opencl_get_event_info(cl_event event, cl_event_info name, size_t size,
                                                void *value, size_t *size_ret)
{
	cl_int rc = af_opencl_next.clGetEventInfo(event, name, size, value, size_ret);

	if (rc || !value || name != CL_EVENT_COMMAND_EXECUTION_STATUS || *(cl_int *)value > 0 ||
	    !af_inject_session())
		return rc;
	af_opencl_check_fork();
	waited(event_queue(event), POLL_HARVEST);
	return rc;
}

/*
 * Without CL_QUEUE_PROFILING_ENABLE the times of an event are not available, and are not here
 * either unless the program enabled them itself.
 */
static cl_int CL_API_CALL opencl_get_profiling_info(cl_event event, cl_profiling_info name,
                                                    size_t size, void *value, size_t *size_ret)
{
	struct af_opencl_queue *q = event ? event_queue(event) : NULL;

	if (q && !atomic_load_explicit(&q->user_profiling, memory_order_relaxed))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return af_opencl_next.clGetEventProfilingInfo(event, name, size, value, size_ret);
}

/* Our references must not keep what the program lets go of, if that can be helped. */
static cl_int CL_API_CALL opencl_release_context(cl_context context)
{
	if (af_inject_session()) {
		af_opencl_check_fork();
		af_opencl_harvest_all();
	}
	return af_opencl_next.clReleaseContext(context);
}

void af_opencl_wrap_waits(struct _cl_icd_dispatch *d)
{
	d->clFinish = opencl_finish;
	d->clFlush = opencl_flush;
	d->clWaitForEvents = opencl_wait_for_events;
	d->clGetEventInfo = opencl_get_event_info;
	d->clGetEventProfilingInfo = opencl_get_profiling_info;
	d->clReleaseContext = opencl_release_context;
}
