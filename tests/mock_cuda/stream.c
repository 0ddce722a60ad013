/*
 * Streams, events and host functions. An event is the moment when what was in its stream before it
 * is done, which is known when it is recorded. Recorded in a capture it carries the capture along,
 * to the streams that wait for it.
 */
#include "mock_cuda.h"

#include <stdlib.h>

struct CUstream_st *mock_stream_new(struct CUctx_st *context, unsigned flags)
{
	static uint32_t last_id = 12;
	struct CUstream_st *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->context = context;
	s->flags = flags;
	s->id = ++last_id;
	s->next = context->streams;
	context->streams = s;
	return s;
}

struct CUstream_st *mock_stream(struct CUstream_st *handle)
{
	struct CUctx_st *context = handle ? handle->context : mock_context();
	struct CUstream_st *s;

	if (!context || context->is_gone)
		return NULL;
	for (s = context->streams; s && s != handle && s->next; s = s->next)
		;
	return handle && s != handle ? NULL : s;
}

static int stream_create(struct CUstream_st **stream, unsigned flags)
{
	if (!stream)
		return CUDA_INVALID_VALUE;
	if (!mock_context() || mock_context()->is_gone)
		return CUDA_INVALID_CONTEXT;
	pthread_mutex_lock(&mock_lock);
	*stream = mock_stream_new(mock_context(), flags);
	pthread_mutex_unlock(&mock_lock);
	mock_resource(MOCK_STREAM_CREATED, mock_context(), *stream, NULL);
	return CUDA_OK;
}

int cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
	struct {
		struct CUstream_st **stream;
		unsigned flags;
	} params = {stream, flags};

	MOCK_CALL(124, &params, stream_create(stream, flags));
}

/* Its work goes on, and its memory stays: a host function may still point there. */
static int stream_destroy(struct CUstream_st *stream)
{
	struct CUstream_st **link;

	if (!stream || mock_stream(stream) != stream)
		return CUDA_INVALID_HANDLE;
	mock_resource(MOCK_STREAM_DESTROY_STARTING, stream->context, stream, NULL);
	mock_stream_wait(stream);
	pthread_mutex_lock(&mock_lock);
	for (link = &stream->context->streams; *link != stream; link = &(*link)->next)
		;
	*link = stream->next;
	pthread_mutex_unlock(&mock_lock);
	return CUDA_OK;
}

int cuStreamDestroy_v2(struct CUstream_st *stream)
{
	MOCK_CALL(326, &stream, stream_destroy(stream));
}

static int stream_synchronize(struct CUstream_st *handle)
{
	struct CUstream_st *stream = mock_stream(handle);

	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (stream->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	mock_stream_wait(stream);
	return CUDA_OK;
}

int cuStreamSynchronize(struct CUstream_st *stream)
{
	MOCK_CALL(126, &stream, stream_synchronize(stream));
}

static int stream_wait_event(struct CUstream_st *handle, struct CUevent_st *event)
{
	struct CUstream_st *stream = mock_stream(handle);

	if (!stream || !event)
		return CUDA_INVALID_HANDLE;
	pthread_mutex_lock(&mock_lock);
	if (event->capture)
		stream->capture = event->capture;
	else if (stream->free_ns < event->time_ns)
		stream->free_ns = event->time_ns;
	pthread_mutex_unlock(&mock_lock);
	return CUDA_OK;
}

int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)
{
	struct {
		struct CUstream_st *stream;
		struct CUevent_st *event;
		unsigned flags;
	} params = {stream, event, flags};

	MOCK_CALL(295, &params, stream_wait_event(stream, event));
}

static int event_create(struct CUevent_st **event)
{
	if (!event)
		return CUDA_INVALID_VALUE;
	*event = calloc(1, sizeof(**event));
	return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

int cuEventCreate(struct CUevent_st **event, unsigned flags)
{
	struct {
		struct CUevent_st **event;
		unsigned flags;
	} params = {event, flags};

	MOCK_CALL(118, &params, event_create(event));
}

static int event_destroy(struct CUevent_st *event)
{
	free(event);
	return CUDA_OK;
}

int cuEventDestroy_v2(struct CUevent_st *event)
{
	MOCK_CALL(325, &event, event_destroy(event));
}

static int event_record(struct CUevent_st *event, struct CUstream_st *handle)
{
	struct CUstream_st *stream = mock_stream(handle);

	if (!event || !stream)
		return CUDA_INVALID_HANDLE;
	pthread_mutex_lock(&mock_lock);
	event->capture = stream->capture;
	event->time_ns = stream->free_ns > mock_now() ? stream->free_ns : mock_now();
	pthread_mutex_unlock(&mock_lock);
	return CUDA_OK;
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	struct {
		struct CUevent_st *event;
		struct CUstream_st *stream;
	} params = {event, stream};

	MOCK_CALL(119, &params, event_record(event, stream));
}

static int event_query(const struct CUevent_st *event)
{
	if (!event)
		return CUDA_INVALID_HANDLE;
	return event->time_ns <= mock_now() ? CUDA_OK : CUDA_NOT_READY;
}

int cuEventQuery(struct CUevent_st *event)
{
	MOCK_CALL(120, &event, event_query(event));
}

static int event_synchronize(const struct CUevent_st *event)
{
	if (!event)
		return CUDA_INVALID_HANDLE;
	mock_wait_until(event->time_ns);
	return CUDA_OK;
}

int cuEventSynchronize(struct CUevent_st *event)
{
	MOCK_CALL(121, &event, event_synchronize(event));
}

static int event_elapsed(float *ms, const struct CUevent_st *start, const struct CUevent_st *end)
{
	if (!ms || !start || !end)
		return CUDA_INVALID_HANDLE;
	if (end->time_ns > mock_now())
		return CUDA_NOT_READY;
	*ms = (float)(int64_t)(end->time_ns - start->time_ns) / 1e6f;
	return CUDA_OK;
}

int cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end)
{
	struct {
		float *ms;
		struct CUevent_st *start, *end;
	} params = {ms, start, end};

	MOCK_CALL(123, &params, event_elapsed(ms, start, end));
}

static int stream_host_function(struct CUstream_st *handle, void (*function)(void *), void *arg)
{
	struct CUstream_st *stream = mock_stream(handle);
	const struct mock_work work = {.op = MOCK_HOST, .function = function, .arg = arg};
	int rc;

	if (!function)
		return CUDA_INVALID_VALUE;
	if (!stream)
		return CUDA_INVALID_HANDLE;
	if (stream->capture)
		return mock_graph_append(stream, &work);
	pthread_mutex_lock(&mock_lock);
	rc = mock_enqueue(stream, &work);
	pthread_mutex_unlock(&mock_lock);
	return rc;
}

int cuLaunchHostFunc(struct CUstream_st *stream, void (*function)(void *), void *arg)
{
	struct {
		struct CUstream_st *stream;
		void (*function)(void *);
		void *arg;
	} params = {stream, function, arg};

	MOCK_CALL(527, &params, stream_host_function(stream, function, arg));
}
