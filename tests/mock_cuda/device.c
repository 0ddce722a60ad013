/*
 * Devices and their timelines. A piece of work starts when its stream is free, at the earliest some
 * microseconds after it was enqueued; the default stream and the blocking streams of a context wait
 * for one another, as in CUDA. Kernels of different streams run beside each other without limit.
 */
#include "mock_cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEVICE_LATENCY_NS = 3000 };

/* Host functions that wait for their time, in the order they were enqueued. */
struct device_host {
	struct device_host *next;
	struct CUstream_st *stream;
	uint64_t start_ns;
	void (*function)(void *);
	void *arg;
};

static struct device_host *device_hosts;
static pthread_cond_t device_hosts_changed = PTHREAD_COND_INITIALIZER;
static bool device_host_thread;

void mock_wait_until(uint64_t time_ns)
{
	const struct timespec t = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int mock_nr_devices(void)
{
	const uint64_t n = mock_setting("MOCK_CUDA_DEVICES", 1);

	return n < MOCK_DEVICES_MAX ? (int)n : MOCK_DEVICES_MAX;
}

static int device_count(int *count)
{
	if (!count)
		return CUDA_INVALID_VALUE;
	*count = mock_nr_devices();
	return CUDA_OK;
}

int cuDeviceGetCount(int *count)
{
	MOCK_CALL(4, &count, device_count(count));
}

static int device_get(int *device, int ordinal)
{
	if (ordinal < 0 || ordinal >= mock_nr_devices())
		return CUDA_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	struct {
		int *device, ordinal;
	} params = {device, ordinal};

	MOCK_CALL(3, &params, device_get(device, ordinal));
}

static int device_name(char *name, int size, int device)
{
	if (device < 0 || device >= mock_nr_devices())
		return CUDA_INVALID_DEVICE;
	snprintf(name, (size_t)size, "Mock GPU");
	return CUDA_OK;
}

int cuDeviceGetName(char *name, int size, int device)
{
	struct {
		char *name;
		int size, device;
	} params = {name, size, device};

	MOCK_CALL(5, &params, device_name(name, size, device));
}

static int device_attribute(int *value, int attribute, int device)
{
	enum { CLOCK_KHZ = 13, PROCESSORS = 16 };

	if (device < 0 || device >= mock_nr_devices() || !value)
		return CUDA_INVALID_DEVICE;
	if (attribute != CLOCK_KHZ && attribute != PROCESSORS)
		return CUDA_INVALID_VALUE;
	*value = attribute == CLOCK_KHZ ? MOCK_CLOCK_KHZ : MOCK_PROCESSORS;
	return CUDA_OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	struct {
		int *value, attribute, device;
	} params = {value, attribute, device};

	MOCK_CALL(9, &params, device_attribute(value, attribute, device));
}

/* The stream whose end everybody of its context waits for, or that waits for everybody. */
static uint64_t device_others_done(const struct CUstream_st *stream)
{
	const bool is_default = stream->id == MOCK_DEFAULT_STREAM_ID;
	uint64_t done_ns = 0;

	if (stream->flags & CUDA_STREAM_NON_BLOCKING)
		return 0;
	for (const struct CUstream_st *s = stream->context->streams; s; s = s->next) {
		if (s == stream || (s->flags & CUDA_STREAM_NON_BLOCKING))
			continue;
		if ((is_default || s->id == MOCK_DEFAULT_STREAM_ID) && s->free_ns > done_ns)
			done_ns = s->free_ns;
	}
	return done_ns;
}

/* Calls host functions at their time. They may not call CUDA, so there is one at a time. */
static void *device_call_hosts(void *arg)
{
	(void)arg;
	for (;;) {
		struct device_host *h;

		pthread_mutex_lock(&mock_lock);
		while (!device_hosts)
			pthread_cond_wait(&device_hosts_changed, &mock_lock);
		h = device_hosts;
		pthread_mutex_unlock(&mock_lock);
		mock_wait_until(h->start_ns);
		h->function(h->arg);
		pthread_mutex_lock(&mock_lock);
		device_hosts = h->next;
		h->stream->nr_host_functions--;
		pthread_cond_broadcast(&device_hosts_changed);
		pthread_mutex_unlock(&mock_lock);
		free(h);
	}
	return NULL;
}

static int device_add_host(struct CUstream_st *stream, const struct mock_work *work)
{
	struct device_host *h = calloc(1, sizeof(*h)), **end = &device_hosts;
	pthread_t thread;

	if (!h)
		return CUDA_OUT_OF_MEMORY;
	*h = (struct device_host){NULL, stream, work->start_ns, work->function, work->arg};
	while (*end)
		end = &(*end)->next;
	*end = h;
	stream->nr_host_functions++;
	if (!device_host_thread)
		device_host_thread = !pthread_create(&thread, NULL, device_call_hosts, NULL);
	pthread_cond_broadcast(&device_hosts_changed);
	return CUDA_OK;
}

int mock_enqueue(struct CUstream_st *stream, const struct mock_work *template)
{
	const struct mock_tool *tool = mock_tool();
	struct mock_work work = *template;
	const uint64_t others_ns = device_others_done(stream);
	int rc = CUDA_OK;

	work.start_ns = mock_now() + DEVICE_LATENCY_NS;
	if (work.start_ns < stream->free_ns)
		work.start_ns = stream->free_ns;
	if (work.start_ns < others_ns)
		work.start_ns = others_ns;
	work.end_ns = work.start_ns + work.duration_ns;
	stream->free_ns = work.end_ns;
	work.device = (uint32_t)stream->context->device;
	work.context = stream->context->id;
	work.stream = stream->id;
	work.correlation = mock_current_call() ? mock_current_call()->correlation : 0;
	if (work.op == MOCK_HOST)
		rc = device_add_host(stream, &work);
	else if (tool)
		tool->work(&work);
	return rc;
}

void mock_stream_wait(struct CUstream_st *stream)
{
	uint64_t done_ns, others_ns;

	pthread_mutex_lock(&mock_lock);
	while (stream->nr_host_functions)
		pthread_cond_wait(&device_hosts_changed, &mock_lock);
	done_ns = stream->free_ns;
	others_ns = stream->id == MOCK_DEFAULT_STREAM_ID ? device_others_done(stream) : 0;
	pthread_mutex_unlock(&mock_lock);
	mock_wait_until(done_ns > others_ns ? done_ns : others_ns);
}
