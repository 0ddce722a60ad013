/* OpenCL contexts and queues. Profiling is enabled on every queue, and hidden from the program. */
#include "inject/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"

enum {
	QUEUES_MAX = 16384,
	PROPERTIES_MAX =
	    sizeof((struct af_opencl_queue *)0)->properties / sizeof(cl_queue_properties),
};

static struct af_handles opencl_queues = AF_HANDLES_INIT;   /* → struct af_opencl_queue * */
static struct af_handles opencl_contexts = AF_HANDLES_INIT; /* → id */

/* Taken to find a free struct and to write its definition, never while the runtime is called. */
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;
static struct af_opencl_queue *queues;
static _Atomic uint32_t nr_queues;

struct af_opencl_queue *af_opencl_queue_at(uint32_t i)
{
	struct af_opencl_queue *q = &queues[i];

	return atomic_load(&q->nr_refs) > 0 || atomic_load(&q->nr_pending) ? q : NULL;
}

uint32_t af_opencl_nr_queues(void)
{
	return atomic_load_explicit(&nr_queues, memory_order_acquire);
}

bool af_opencl_queues_full(void)
{
	return af_opencl_nr_queues() == QUEUES_MAX;
}

static uint32_t opencl_context(cl_context handle)
{
	uint32_t id = (uint32_t)af_handles_get(&opencl_contexts, (uintptr_t)handle);

	if (!id && handle)
		id = (uint32_t)af_handles_claim(&opencl_contexts, (uintptr_t)handle,
		                                af_inject_new_id(AF_ID_CONTEXT));
	return id;
}

/* A struct nobody uses, claimed by its `busy` flag. Under queues_lock. */
static struct af_opencl_queue *queue_take_free(void)
{
	uint32_t nr = atomic_load(&nr_queues);

	if (!queues && !(queues = af_pages(QUEUES_MAX * sizeof *queues, MAP_NORESERVE)))
		return NULL;
	for (uint32_t i = 0; i < nr; i++) {
		if (!af_opencl_queue_at(i) && !atomic_exchange(&queues[i].busy, 1))
			return &queues[i];
	}
	if (nr == QUEUES_MAX)
		return NULL;
	atomic_store(&queues[nr].busy, 1);
	atomic_store_explicit(&nr_queues, nr + 1, memory_order_release);
	return &queues[nr];
}

static void queue_define(const struct af_opencl_queue *q, uint32_t context, bool on_device)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	af_stream_put(&t->stream, queue, af_now_ns(), .queue = q->id,
	              .device = q->device ? q->device->id : 0, .context = context,
	              .flags = (q->in_order ? 0 : AF_QUEUE_OUT_OF_ORDER) |
	                       (atomic_load(&q->user_profiling) ? AF_QUEUE_USER_PROFILING : 0) |
	                       (on_device ? AF_QUEUE_ON_DEVICE : 0),
	              .handle = (uintptr_t)q->handle);
	af_thread_leave(t);
}

static struct af_opencl_queue *queue_known(cl_command_queue handle)
{
	return (void *)(uintptr_t)af_handles_get(&opencl_queues, (uintptr_t)handle);
}

/* The state of a new queue; under queues_lock, its `busy` flag taken. */
static void queue_fill(struct af_opencl_queue *q, cl_command_queue handle,
                       cl_command_queue_properties asked, const cl_queue_properties *properties)
{
	q->handle = handle;
	q->id = af_inject_new_id(AF_ID_QUEUE);
	q->in_order = !(asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	q->cursor = 0;
	atomic_store(&q->patience, 0);
	atomic_store(&q->user_profiling, asked & CL_QUEUE_PROFILING_ENABLE);
	q->nr_properties = 0;
	for (uint32_t i = 0; properties && i + 1 < PROPERTIES_MAX; i += 2) {
		q->properties[i] = properties[i];
		q->properties[i + 1] = properties[i] ? properties[i + 1] : 0;
		q->nr_properties = i + (properties[i] ? 2 : 1);
		if (!properties[i])
			break;
	}
	atomic_store(&q->nr_refs, 1);
}

/*
 * Know a queue. @asked is what the program asked for, @properties the list it passed (NULL for
 * none). @made: it has just been made, so what the handle meant before is over; else somebody may
 * have met it at the same time.
 */
static struct af_opencl_queue *queue_register(cl_command_queue handle, bool made,
                                              cl_command_queue_properties asked,
                                              const cl_queue_properties *properties)
{
	/* Registered now that the driver is up, so that it runs before the driver's own. */
	static _Atomic uint32_t at_exit;
	cl_context context = NULL;
	cl_device_id device = NULL;

	af_opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context,
	                                     NULL);
	af_opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
	struct af_opencl_device *d = af_opencl_device(device);
	uint32_t context_id = opencl_context(context);

	pthread_mutex_lock(&queues_lock);
	struct af_opencl_queue *old = queue_known(handle);
	struct af_opencl_queue *q = old && !made ? old : queue_take_free();
	if (old && made)
		atomic_store(&old->nr_refs, 0);
	if (q && q != old) {
		q->device = d;
		queue_fill(q, handle, asked, properties);
		queue_define(q, context_id, asked & CL_QUEUE_ON_DEVICE);
		af_handles_set(&opencl_queues, (uintptr_t)handle, (uintptr_t)q);
		atomic_store(&q->busy, 0);
	}
	pthread_mutex_unlock(&queues_lock);
	if (!atomic_exchange(&at_exit, 1))
		atexit(af_opencl_work_flush);
	return q;
}

struct af_opencl_queue *af_opencl_queue(cl_command_queue handle)
{
	struct af_opencl_queue *q = queue_known(handle);
	cl_command_queue_properties properties = 0;

	if (q)
		return q;
	if (!handle || af_opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES,
	                                                    sizeof properties, &properties, NULL))
		return NULL;
	return queue_register(handle, false, properties, NULL);
}

static cl_command_queue CL_API_CALL opencl_create_queue(cl_context context, cl_device_id device,
                                                        cl_command_queue_properties properties,
                                                        cl_int *errcode_ret)
{
	cl_int rc = CL_SUCCESS;

	if (!af_inject_session())
		return af_opencl_next.clCreateCommandQueue(context, device, properties,
		                                           errcode_ret);
	af_opencl_check_fork();
	cl_command_queue q = AF_IN_OPENCL(af_opencl_next.clCreateCommandQueue(
	    context, device, properties | CL_QUEUE_PROFILING_ENABLE, &rc));
	if (!q)
		q = AF_IN_OPENCL(
		    af_opencl_next.clCreateCommandQueue(context, device, properties, &rc));
	if (errcode_ret)
		*errcode_ret = rc;
	if (q)
		queue_register(q, true, properties, NULL);
	return q;
}

/*
 * The program's properties with profiling added; false when the list is too long to copy. A queue
 * on the device is left as it is: the host puts no work on it.
 */
static bool properties_force(const cl_queue_properties *asked, cl_queue_properties *forced,
                             cl_command_queue_properties *bits)
{
	uint32_t n = 0;
	bool found = false;

	*bits = 0;
	for (; asked && asked[n]; n += 2) {
		if (n + 4 >= PROPERTIES_MAX)
			return false;
		forced[n] = asked[n];
		forced[n + 1] = asked[n + 1];
		if (asked[n] != CL_QUEUE_PROPERTIES)
			continue;
		found = true;
		*bits = asked[n + 1];
		if (!(*bits & CL_QUEUE_ON_DEVICE))
			forced[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
	}
	if (!found) {
		forced[n++] = CL_QUEUE_PROPERTIES;
		forced[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	forced[n] = 0;
	return true;
}

cl_command_queue af_opencl_create_queue(af_opencl_queue_maker create, cl_context context,
                                        cl_device_id device, const cl_queue_properties *properties,
                                        cl_int *errcode_ret)
{
	cl_queue_properties forced[PROPERTIES_MAX];
	cl_command_queue_properties bits;
	cl_command_queue q = NULL;
	cl_int rc = CL_SUCCESS;

	if (!af_inject_session())
		return create(context, device, properties, errcode_ret);
	af_opencl_check_fork();
	if (properties_force(properties, forced, &bits))
		q = AF_IN_OPENCL(create(context, device, forced, &rc));
	if (!q)
		q = AF_IN_OPENCL(create(context, device, properties, &rc));
	if (errcode_ret)
		*errcode_ret = rc;
	if (q)
		queue_register(q, true, bits, properties);
	return q;
}

static cl_command_queue CL_API_CALL
opencl_create_queue_with_properties(cl_context context, cl_device_id device,
                                    const cl_queue_properties *properties, cl_int *errcode_ret)
{
	return af_opencl_create_queue(af_opencl_next.clCreateCommandQueueWithProperties, context,
	                              device, properties, errcode_ret);
}

static cl_int CL_API_CALL opencl_retain_queue(cl_command_queue handle)
{
	cl_int rc = af_opencl_next.clRetainCommandQueue(handle);
	struct af_opencl_queue *q = rc ? NULL : queue_known(handle);

	if (q)
		atomic_fetch_add(&q->nr_refs, 1);
	return rc;
}

/* The handle is forgotten before the driver can give it to another queue. */
static cl_int CL_API_CALL opencl_release_queue(cl_command_queue handle)
{
	af_opencl_check_fork();
	struct af_opencl_queue *q = queue_known(handle);

	if (q) {
		af_opencl_harvest(q, UINT32_MAX);
		if (atomic_fetch_sub(&q->nr_refs, 1) == 1)
			af_handles_set(&opencl_queues, (uintptr_t)handle, 0);
	}
	return af_opencl_next.clReleaseCommandQueue(handle);
}

/* CL_QUEUE_PROPERTIES_ARRAY: "the properties argument specified in" the creation (OpenCL 3.0). */
static cl_int queue_properties_answer(const struct af_opencl_queue *q, size_t size, void *value,
                                      size_t *size_ret)
{
	size_t need = q->nr_properties * sizeof *q->properties;

	if (value) {
		if (size < need)
			return CL_INVALID_VALUE;
		memcpy(value, q->properties, need);
	}
	if (size_ret)
		*size_ret = need;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL opencl_get_queue_info(cl_command_queue handle, cl_command_queue_info name,
                                                size_t size, void *value, size_t *size_ret)
{
	struct af_opencl_queue *q = queue_known(handle);
	cl_int rc;

	if (q && name == CL_QUEUE_PROPERTIES_ARRAY) {
		rc = af_opencl_next.clGetCommandQueueInfo(handle, name, 0, NULL, NULL);
		return rc ? rc : queue_properties_answer(q, size, value, size_ret);
	}
	rc = af_opencl_next.clGetCommandQueueInfo(handle, name, size, value, size_ret);
	if (q && !rc && value && name == CL_QUEUE_PROPERTIES &&
	    size >= sizeof(cl_command_queue_properties) && !atomic_load(&q->user_profiling))
		*(cl_command_queue_properties *)value &=
		    ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return rc;
}

/* Deprecated since 1.1. Profiling stays on below whatever the program sets. */
static cl_int CL_API_CALL opencl_set_queue_property(cl_command_queue handle,
                                                    cl_command_queue_properties properties,
                                                    cl_bool enable,
                                                    cl_command_queue_properties *old)
{
	struct af_opencl_queue *q = queue_known(handle);
	cl_command_queue_properties others = properties & ~(cl_ulong)CL_QUEUE_PROFILING_ENABLE;
	cl_int rc;

	if (!q || !(properties & CL_QUEUE_PROFILING_ENABLE))
		rc = af_opencl_next.clSetCommandQueueProperty(handle, properties, enable, old);
	else if (others && !enable)
		rc = af_opencl_next.clSetCommandQueueProperty(handle, others, CL_FALSE, old);
	else
		rc = af_opencl_next.clSetCommandQueueProperty(handle, properties, CL_TRUE, old);
	if (rc || !q)
		return rc;

	if (old && !atomic_load(&q->user_profiling))
		*old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (properties & CL_QUEUE_PROFILING_ENABLE)
		atomic_store(&q->user_profiling, enable);
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		q->in_order = !enable;
	return rc;
}

/* A handle that comes back is another context. */
static cl_context context_made(cl_context c)
{
	if (c && af_inject_session())
		af_handles_set(&opencl_contexts, (uintptr_t)c, af_inject_new_id(AF_ID_CONTEXT));
	return c;
}

static cl_context CL_API_CALL opencl_create_context(
    const cl_context_properties *properties, cl_uint num_devices, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data,
    cl_int *errcode_ret)
{
	return context_made(AF_IN_OPENCL(af_opencl_next.clCreateContext(
	    properties, num_devices, devices, notify, user_data, errcode_ret)));
}

static cl_context CL_API_CALL opencl_create_context_from_type(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data,
    cl_int *errcode_ret)
{
	return context_made(AF_IN_OPENCL(af_opencl_next.clCreateContextFromType(
	    properties, type, notify, user_data, errcode_ret)));
}

void af_opencl_wrap_queues(struct _cl_icd_dispatch *d)
{
	d->clCreateCommandQueue = opencl_create_queue;
	d->clCreateCommandQueueWithProperties = opencl_create_queue_with_properties;
	d->clRetainCommandQueue = opencl_retain_queue;
	d->clReleaseCommandQueue = opencl_release_queue;
	d->clGetCommandQueueInfo = opencl_get_queue_info;
	d->clSetCommandQueueProperty = opencl_set_queue_property;
	d->clCreateContext = opencl_create_context;
	d->clCreateContextFromType = opencl_create_context_from_type;
}

void af_opencl_queues_after_fork(void)
{
	pthread_mutex_init(&queues_lock, NULL);
	af_handles_after_fork(&opencl_queues);
	af_handles_after_fork(&opencl_contexts);
	if (queues)
		munmap(queues, QUEUES_MAX * sizeof *queues);
	queues = NULL;
	atomic_store(&nr_queues, 0);
}
