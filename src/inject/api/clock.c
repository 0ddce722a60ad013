#include "inject/api/clock.h"

#include "inject/core/inject.h"
#include "trace/write/stream.h"

enum {
	TRIES = 3,
	APART_NS =
	    500, /* the counter was read before and after the clock: more is an interruption */
};

__thread struct af_call_clock af_call_clock;

uint64_t af_call_clock_read(void)
{
	const struct af_session *session = af_inject_session();
	struct af_call_clock *c = &af_call_clock;
	uint32_t mult =
	    session ? atomic_load_explicit(&session->tsc_mult, memory_order_relaxed) : 0;

	if (!mult)
		return af_now_ns();
	/* A signal handler that comes meanwhile reads the clock for itself. */
	c->span = 0;
	atomic_signal_fence(memory_order_seq_cst);
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = af_clock_ticks(), ns = af_now_ns();
		uint64_t apart = af_clock_ticks() - before;
		if (apart >= ((uint64_t)APART_NS << 32) / mult)
			continue;
		c->at = before + apart / 2;
		c->ns = ns;
		c->mult = mult;
		atomic_signal_fence(memory_order_seq_cst);
		c->span = (uint32_t)(((uint64_t)AF_CALL_CLOCK_SPAN_NS << 32) / mult);
		return ns;
	}
	return af_now_ns();
}
