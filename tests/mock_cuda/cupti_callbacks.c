/*
 * Callbacks: one subscriber, which gets the calls and resources that it enabled; and the small
 * questions that CUPTI answers. A call inside one of the runtime's has its number when the
 * runtime's calls are reported, else one of its own.
 */
#include "mock_cupti.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mock_cupti_pc.h"

typedef void (*cupti_callback_fn)(void *arg, uint32_t domain, uint32_t id, const void *data);

#ifndef MOCK_CUPTI_DEFAULT_VERSION
#define MOCK_CUPTI_DEFAULT_VERSION 130001
#endif

enum {
	CALLBACK_IDS = 1024,
	CALLBACK_OVERHEAD_INSTRUMENTATION = 2 << 16,
	CALLBACK_FATAL = 1,
	CALLBACK_FINALIZED_ERROR = 999,
};

/* CUpti_CallbackData and CUpti_ResourceData */
struct callback_call {
	uint32_t site;
	const char *function;
	const void *params, *result;
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation;
};

struct callback_resource {
	void *context, *handle;
	const void *what;
};

static cupti_callback_fn callback_function;
static void *callback_arg;
static _Atomic bool callback_is_on[CUPTI_DOMAINS][CALLBACK_IDS];
static atomic_uint callback_last; /* number of the last call */
static pthread_once_t callback_once = PTHREAD_ONCE_INIT;
static void (*callback_set_tool)(const struct mock_tool *);

static uint32_t callback_version(void)
{
	return (uint32_t)mock_setting("MOCK_CUPTI_VERSION", MOCK_CUPTI_DEFAULT_VERSION);
}

bool cupti_is_13(void)
{
	return callback_version() >= 130000;
}

/* One more than the last id of a domain. */
static uint32_t callback_nr_ids(uint32_t domain)
{
	static const uint32_t nr[][2] = {
	    [CUPTI_DRIVER] = {754, 807},
	    [CUPTI_RUNTIME] = {468, 523},
	    [CUPTI_RESOURCE] = {22, 24},
	    [CUPTI_STATE] = {4, 4},
	};

	/* A version that is newer than all that we know has more functions. */
	uint32_t more =
	    domain == CUPTI_DRIVER ? (uint32_t)mock_setting("MOCK_CUPTI_NEWER_IDS", 0) : 0;

	return domain < CUPTI_DOMAINS ? nr[domain][cupti_is_13()] + more : 0;
}

static bool callback_wants(uint32_t domain, uint32_t id)
{
	return callback_function && callback_is_on[domain][id];
}

static void callback_call(struct mock_call *call, bool is_exit)
{
	const struct callback_call data = {
	    .site = is_exit,
	    .function = call->name,
	    .params = call->params,
	    .result = is_exit ? &call->result : NULL,
	    .context = call->context,
	    .context_id = call->context ? call->context->id : 0,
	    .data = &call->data,
	    .correlation = call->correlation,
	};

	callback_function(callback_arg, call->domain, call->cbid, &data);
}

static bool callback_is_launch(uint32_t cbid)
{
	enum { KERNEL = 307, COOPERATIVE = 477, GRAPH = 514, KERNEL_EX = 652 };

	return cbid == KERNEL || cbid == COOPERATIVE || cbid == GRAPH || cbid == KERNEL_EX;
}

static void callback_enter(struct mock_call *call)
{
	const struct mock_call *outer = call->outer;

	if (outer && outer->is_reported && outer->domain == CUPTI_RUNTIME)
		call->correlation = outer->correlation;
	else
		call->correlation = atomic_fetch_add(&callback_last, 1) + 1;
	call->is_reported = callback_wants(call->domain, call->cbid);
	if (call->is_reported)
		callback_call(call, false);
	call->is_launch = call->domain == CUPTI_DRIVER && callback_is_launch(call->cbid);
	if (call->is_launch)
		cupti_pc_launching(1);
}

static void callback_leave(struct mock_call *call)
{
	if (call->is_launch)
		cupti_pc_launching(-1);
	if (call->is_reported && callback_wants(call->domain, call->cbid))
		callback_call(call, true);
}

static void callback_resource(enum mock_resource what, struct CUctx_st *context, void *handle,
                              void *data)
{
	const struct callback_resource reported = {context, handle, data};
	const uint64_t now_ns = mock_now();

	if (what == MOCK_MODULE_LOADED) {
		cupti_overhead(CALLBACK_OVERHEAD_INSTRUMENTATION, now_ns, now_ns + 1000);
		cupti_pc_module(data);
	}
	if (what == MOCK_MODULE_UNLOAD_STARTING)
		cupti_pc_unload(context, data, false);
	if (what < callback_nr_ids(CUPTI_RESOURCE) && callback_wants(CUPTI_RESOURCE, what))
		callback_function(callback_arg, CUPTI_RESOURCE, what, &reported);
	if (what == MOCK_MODULE_UNLOAD_STARTING)
		cupti_pc_unload(context, data, true);
	if (what == MOCK_CONTEXT_DESTROY_STARTING)
		cupti_pc_context_ends(context);
}

void cupti_fatal(void)
{
	struct {
		uint32_t error;
		const char *message;
	} reported = {CALLBACK_FINALIZED_ERROR, "MOCK_CUPTI_FATAL_AFTER"};

	cupti_activity_end();
	if (callback_wants(CUPTI_STATE, CALLBACK_FATAL))
		callback_function(callback_arg, CUPTI_STATE, CALLBACK_FATAL, &reported);
}

static const struct mock_tool callback_tool = {
    .enter = callback_enter,
    .leave = callback_leave,
    .resource = callback_resource,
    .wants_graphs_whole = cupti_wants_graphs_whole,
    .work = cupti_work,
};

static void callback_attach(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);

	callback_last = (unsigned)mock_setting("MOCK_CUPTI_CORRELATION", 1) - 1;
	if (driver)
		*(void **)&callback_set_tool = dlsym(driver, "mock_set_tool");
}

void cupti_attach(void)
{
	pthread_once(&callback_once, callback_attach);
	if (callback_set_tool)
		callback_set_tool(&callback_tool);
}

/*
 * For tests/api: a call with any arguments, as CUPTI reports it; @callee runs between its entry and
 * its exit. Returns its correlation, 0 when nobody wants it.
 */
CUDA_API uint32_t mock_cupti_report(uint32_t domain, uint32_t id, const char *name,
                                    const void *params, const void *result, void (*callee)(void *),
                                    void *arg)
{
	uint64_t kept = 0;
	struct callback_call data = {
	    .function = name,
	    .params = params,
	    .data = &kept,
	    .correlation = atomic_fetch_add(&callback_last, 1) + 1,
	};

	if (!callback_wants(domain, id))
		return 0;
	callback_function(callback_arg, domain, id, &data);
	callee(arg);
	data.site = 1;
	data.result = result;
	callback_function(callback_arg, domain, id, &data);
	return data.correlation;
}

CUDA_API uint32_t cuptiGetVersion(uint32_t *version)
{
	*version = callback_version();
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiSubscribe(void **subscriber, cupti_callback_fn callback, void *arg)
{
	const uint32_t error = (uint32_t)mock_setting("MOCK_CUPTI_SUBSCRIBE_ERROR", 0);

	if (!subscriber)
		return CUPTI_INVALID_PARAMETER;
	if (error)
		return error;
	if (callback_function || mock_setting("MOCK_CUPTI_HELD", 0))
		return CUPTI_OTHER_SUBSCRIBER;
	cupti_attach();
	if (!callback_set_tool)
		return CUPTI_NOT_INITIALIZED;
	callback_function = callback;
	callback_arg = arg;
	*subscriber = &callback_function;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiUnsubscribe(void *subscriber)
{
	if (subscriber != (void *)&callback_function || !callback_function)
		return CUPTI_INVALID_PARAMETER;
	for (unsigned d = 0; d < CUPTI_DOMAINS; d++)
		for (unsigned id = 0; id < CALLBACK_IDS; id++)
			callback_is_on[d][id] = false;
	callback_function = NULL;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	if (subscriber != (void *)&callback_function || !id || id >= callback_nr_ids(domain))
		return CUPTI_INVALID_PARAMETER;
	callback_is_on[domain][id] = on;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiEnableDomain(uint32_t on, void *subscriber, uint32_t domain)
{
	if (subscriber != (void *)&callback_function || !callback_nr_ids(domain))
		return CUPTI_INVALID_PARAMETER;
	for (uint32_t id = 1; id < callback_nr_ids(domain); id++)
		callback_is_on[domain][id] = on;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiFinalize(void)
{
	cupti_activity_end();
	if (callback_set_tool)
		callback_set_tool(NULL);
	callback_function = NULL;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetTimestamp(uint64_t *ns)
{
	*ns = cupti_now();
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetResultString(uint32_t result, const char **text)
{
	*text = result == CUPTI_OK ? "CUPTI_SUCCESS"
	        : result == CUPTI_OTHER_SUBSCRIBER
	            ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
	        : result == 26                 ? "CUPTI_ERROR_HARDWARE_BUSY"
	        : result == 35                 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
	        : result == CUPTI_INVALID_KIND ? "CUPTI_ERROR_INVALID_KIND"
	                                       : "CUPTI_ERROR_UNKNOWN";
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetGraphNodeId(const struct CUgraphNode_st *node, uint64_t *id)
{
	if (!node || !id)
		return CUPTI_INVALID_PARAMETER;
	*id = (uint64_t)node->graph->id << 32 | node->index;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetGraphId(const struct CUgraph_st *graph, uint32_t *id)
{
	if (!graph || !id)
		return CUPTI_INVALID_PARAMETER;
	*id = graph->id;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetGraphExecId(const struct CUgraphExec_st *exec, uint32_t *id)
{
	if (!exec || !id)
		return CUPTI_INVALID_PARAMETER;
	*id = exec->own->id;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetDeviceId(const struct CUctx_st *context, uint32_t *device)
{
	if (!context || !device)
		return CUPTI_INVALID_PARAMETER;
	*device = (uint32_t)context->device;
	return CUPTI_OK;
}

CUDA_API uint32_t cuptiGetContextId(const struct CUctx_st *context, uint32_t *id)
{
	if (!context || !id)
		return CUPTI_INVALID_PARAMETER;
	*id = context->id;
	return CUPTI_OK;
}
