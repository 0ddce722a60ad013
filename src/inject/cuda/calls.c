#include "inject/cuda/calls.h"

#include <string.h>

#include "inject/core/inject.h"
#include "trace/layout.h"

enum { DOMAINS = 2, CALLS_MAX = 6, IDS_MAX = 1024, UNKNOWN = 0x100 };

/* By domain: the block of kinds, and what was generated for it. */
static const struct {
	uint16_t kind;
	uint32_t api;
	const struct af_api_callback *callbacks;
	const uint16_t *ids;
	const uint32_t *nr_ids;
} domains[] = {
    [AF_CUPTI_DRIVER_API] = {0x1000, AF_API_CUDA, af_api_cuda_callbacks, af_api_cuda_ids,
                             &af_api_cuda_nr_ids},
    [AF_CUPTI_RUNTIME_API] = {0x1800, AF_API_CUDART, af_api_cudart_callbacks, af_api_cudart_ids,
                              &af_api_cudart_nr_ids},
};

/* The thread's calls from their entries to their exits. */
static __thread struct {
	struct af_api_hook hook;
	uint32_t domain, id, correlation;
} calls[CALLS_MAX];
static __thread uint32_t nr_calls;

static bool is_domain(uint32_t domain)
{
	return domain == AF_CUPTI_DRIVER_API || domain == AF_CUPTI_RUNTIME_API;
}

/* 0: a function that the model does not have. */
static uint16_t number_of(uint32_t domain, uint32_t id)
{
	return id < *domains[domain].nr_ids ? domains[domain].ids[id] : 0;
}

/* The number 0 of a block stands for all functions that are newer than the model. */
static uint16_t kind_of(uint32_t domain, uint32_t id)
{
	return domains[domain].kind + number_of(domain, id);
}

bool af_cuda_trace_wants(uint32_t domain, uint32_t id)
{
	return is_domain(domain) && id && af_api_how(kind_of(domain, id));
}

static void trace_enter(uint32_t domain, uint32_t id, const struct af_cupti_call *call,
                        const struct af_regs *regs)
{
	uint16_t number = number_of(domain, id), kind = domains[domain].kind + number;
	uint8_t how = af_api_how(kind);

	/* Those that an exception left, without an exit. */
	while (nr_calls && calls[nr_calls - 1].hook.regs.sp <= regs->sp)
		nr_calls--;
	if (!how || nr_calls == CALLS_MAX)
		return;
	struct af_api_hook *c = &calls[nr_calls].hook;
	if (!af_api_enter(c, kind, how, regs->sp))
		return;
	c->regs = *regs;
	if (number && domains[domain].callbacks[number].enter)
		domains[domain].callbacks[number].enter(c, call->params);
	calls[nr_calls].domain = domain;
	calls[nr_calls].id = id;
	calls[nr_calls].correlation = call->correlation;
	nr_calls++;
}

/* A function that the model lacks is defined by its name, once. */
static uint32_t unknown_define(uint32_t domain, uint32_t id, const char *name)
{
	static _Atomic uint32_t epochs[DOMAINS][IDS_MAX];
	uint32_t function = UNKNOWN + domain * IDS_MAX + id, now = af_inject_fork_epoch();

	if (id >= IDS_MAX || atomic_exchange(&epochs[domain - 1][id], now) == now)
		return function;
	struct af_thread_context *t = af_thread_enter();
	if (!t) {
		atomic_store(&epochs[domain - 1][id], 0);
		return function;
	}
	const struct af_ev_function ev = {function, domains[domain].api, AF_CATEGORY_OTHER};
	const struct af_tail tail = {name ? name : "", name ? (uint32_t)strlen(name) : 0, 0};
	af_stream_put_tail(&t->stream, AF_KIND_FUNCTION, af_now_ns(), &ev, sizeof ev, &tail, 1);
	af_thread_leave(t);
	return function;
}

/* The layout of its arguments is not known, so none of them are read. */
static void unknown_write(struct af_api_hook *c, uint32_t domain, uint32_t id,
                          const struct af_cupti_call *call)
{
	uint32_t function = unknown_define(domain, id, call->function);
	uint32_t result = call->result ? *call->result : 0, none = 0;
	struct af_ev_api_call *ev =
	    af_api_end(c, AF_KIND_API_CALL, result != 0, sizeof *ev + sizeof none, 0);

	if (!ev)
		return;
	ev->function = function;
	ev->result = result;
	memcpy(ev + 1, &none, sizeof none);
	af_api_done(c);
}

static bool trace_exit(uint32_t domain, uint32_t id, const struct af_cupti_call *call)
{
	static const uint64_t nothing[8]; /* as large as any result */
	uint32_t i = nr_calls;

	/* Entries above it were left without an exit. */
	while (i && (calls[i - 1].domain != domain || calls[i - 1].id != id ||
	             calls[i - 1].correlation != call->correlation))
		i--;
	if (!i)
		return false;
	nr_calls = i - 1;
	struct af_api_hook *c = &calls[i - 1].hook;
	const void *result = call->result ? call->result : (const void *)nothing;
	uint16_t number = number_of(domain, id);

	af_api_correlate(call->correlation);
	if (!number)
		unknown_write(c, domain, id, call);
	else
		domains[domain].callbacks[number].exit(c, result, call->params);
	return true;
}

bool af_cuda_trace(uint32_t domain, uint32_t id, const struct af_cupti_call *call,
                   const struct af_regs *regs)
{
	if (call->site != AF_CUPTI_ENTER)
		return trace_exit(domain, id, call);
	trace_enter(domain, id, call, regs);
	return false;
}
