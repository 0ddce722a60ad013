#include "inject/nvtx/ranges.h"

#include <stdatomic.h>
#include <string.h>

#include "inject/core/thread.h"
#include "inject/nvtx/steps.h"

/* As PyTorch's emit_nvtx() has them. */
#define SEQUENCE ", seq = "
#define EVALUATES "autograd::engine::evaluate_function: "

static _Atomic uint64_t nr_ranges;

/* Autograd's engine evaluates what the thread begins next. */
static __thread bool evaluates;

uint64_t af_range_new(void)
{
	return atomic_fetch_add(&nr_ranges, 1) + 1;
}

/*
 * PyTorch's emit_nvtx() tells the number of the backward function that an operation makes, if it
 * makes one. In a range of the engine's, on the other hand, it is that of the function that runs.
 */
static void operation_write(struct af_thread_context *t, const struct af_annotation *a)
{
	const char *at = memmem(a->text, a->len, SEQUENCE, strlen(SEQUENCE));
	const char *over = a->text + a->len;
	struct af_ev_operation ev = {0};

	if (!at || at + strlen(SEQUENCE) == over)
		return;
	for (at += strlen(SEQUENCE); at < over && *at >= '0' && *at <= '9'; at++)
		ev.sequence = ev.sequence * 10 + (uint64_t)(*at - '0');
	ev.callpath = af_thread_callpath(t, a->regs);
	void *to = af_stream_begin(&t->stream, AF_KIND_OPERATION, af_now_ns(), sizeof ev);
	if (!to)
		return;
	memcpy(to, &ev, sizeof ev);
	af_stream_end(&t->stream);
}

static bool begins_evaluation(const struct af_annotation *a)
{
	return a->edge == AF_RANGE_PUSH && a->text && a->len > strlen(EVALUATES) &&
	       !memcmp(a->text, EVALUATES, strlen(EVALUATES));
}

static bool tells_operations(void)
{
	const struct af_session *session = af_inject_session();

	return session && session->flags & AF_SESSION_AUTOGRAD;
}

static bool range_write(const struct af_annotation *a)
{
	bool evaluated = evaluates, on = a->paused ? af_inject_session() : af_inject_recording();

	if (a->edge == AF_RANGE_PUSH || a->edge == AF_RANGE_POP)
		evaluates = begins_evaluation(a);
	struct af_thread_context *t = on ? af_thread_enter() : NULL;
	struct af_ev_range ev = {.edge = a->edge, .color = a->color, .range = a->range};
	struct af_tail tail[] = {{a->domain, a->domain_len, 0},
	                         {a->text ? a->text : "", a->text ? a->len : 0, 0}};

	if (!t)
		return false;
	bool written =
	    af_stream_put_tail(&t->stream, AF_KIND_RANGE, af_now_ns(), &ev, sizeof ev, tail, 2);
	if (a->regs && a->text && !evaluated && !evaluates && tells_operations())
		operation_write(t, a);
	af_thread_leave(t);
	return written;
}

bool af_range_put(const struct af_annotation *a)
{
	bool ends = a->edge == AF_RANGE_POP || a->edge == AF_RANGE_END;
	const struct af_step_edge step = {.edge = a->edge,
	                                  .name = a->text,
	                                  .len = a->text ? a->len : 0,
	                                  .range = a->range,
	                                  .depth = a->depth};

	if (!ends)
		af_steps_begin(&step);
	bool written = !a->counted && range_write(a);
	if (ends)
		af_steps_end(&step);
	return written;
}
