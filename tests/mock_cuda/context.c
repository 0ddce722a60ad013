/*
 * Contexts. They are never freed, only marked as gone: a handle that is used after its end gets an
 * error, as from the real driver.
 */
#include "mock_cuda.h"

#include <stdlib.h>

static struct CUctx_st *context_list;
static struct CUctx_st *context_primary[MOCK_DEVICES_MAX];
static __thread struct CUctx_st *context_current;

struct CUctx_st *mock_context(void)
{
	return context_current;
}

struct CUctx_st *mock_context_first(void)
{
	return context_list;
}

static struct CUctx_st *context_new(int device)
{
	static uint32_t last_id;
	struct CUctx_st *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->device = device;
	pthread_mutex_lock(&mock_lock);
	c->id = ++last_id;
	c->next = context_list;
	context_list = c;
	mock_stream_new(c, 0)->id = MOCK_DEFAULT_STREAM_ID;
	pthread_mutex_unlock(&mock_lock);
	context_current = c;
	mock_resource(MOCK_CONTEXT_CREATED, c, NULL, NULL);
	return c;
}

static int context_create(struct CUctx_st **context, int device)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	if (device < 0 || device >= mock_nr_devices())
		return CUDA_INVALID_DEVICE;
	*context = context_new(device);
	return *context ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

int cuCtxCreate_v2(struct CUctx_st **context, unsigned flags, int device)
{
	struct {
		struct CUctx_st **context;
		unsigned flags;
		int device;
	} params = {context, flags, device};

	MOCK_CALL(235, &params, context_create(context, device));
}

void mock_context_wait(struct CUctx_st *context)
{
	for (struct CUstream_st *s = context->streams; s; s = s->next)
		mock_stream_wait(s);
}

static int context_destroy(struct CUctx_st *context)
{
	if (!context || context->is_gone)
		return CUDA_INVALID_CONTEXT;
	mock_context_wait(context);
	mock_resource(MOCK_CONTEXT_DESTROY_STARTING, context, NULL, NULL);
	context->is_gone = true;
	if (context_current == context)
		context_current = NULL;
	return CUDA_OK;
}

int cuCtxDestroy_v2(struct CUctx_st *context)
{
	MOCK_CALL(322, &context, context_destroy(context));
}

static int context_set(struct CUctx_st *context)
{
	if (context && context->is_gone)
		return CUDA_INVALID_CONTEXT;
	context_current = context;
	return CUDA_OK;
}

int cuCtxSetCurrent(struct CUctx_st *context)
{
	MOCK_CALL(303, &context, context_set(context));
}

static int context_get(struct CUctx_st **context)
{
	if (!context)
		return CUDA_INVALID_VALUE;
	*context = context_current;
	return CUDA_OK;
}

int cuCtxGetCurrent(struct CUctx_st **context)
{
	MOCK_CALL(304, &context, context_get(context));
}

static int context_synchronize(void)
{
	if (!context_current || context_current->is_gone)
		return CUDA_INVALID_CONTEXT;
	mock_context_wait(context_current);
	return CUDA_OK;
}

int cuCtxSynchronize(void)
{
	MOCK_CALL(17, NULL, context_synchronize());
}

static int context_retain(struct CUctx_st **context, int device)
{
	struct CUctx_st *before = context_current;

	if (!context || device < 0 || device >= mock_nr_devices())
		return CUDA_INVALID_VALUE;
	if (!context_primary[device] || context_primary[device]->is_gone) {
		context_primary[device] = context_new(device);
		context_current = before; /* retaining does not make it current */
	}
	*context = context_primary[device];
	return *context ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	struct {
		struct CUctx_st **context;
		int device;
	} params = {context, device};

	MOCK_CALL(386, &params, context_retain(context, device));
}

static int context_release(int device)
{
	if (device < 0 || device >= mock_nr_devices() || !context_primary[device])
		return CUDA_INVALID_CONTEXT;
	return context_destroy(context_primary[device]);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	MOCK_CALL(544, &device, context_release(device));
}
