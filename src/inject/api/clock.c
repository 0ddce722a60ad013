#include "inject/api/clock.h"

#include "inject/core/inject.h"
#include "trace/write/stream.h"

/* The first reading after a while takes long, and is off by half of that. */
enum { READINGS = 3, APART_NS = 500 };

__thread struct af_call_clock af_call_clock;

uint64_t af_call_clock_read(void)
{
	const struct af_session *session = af_inject_session();
	struct af_call_clock *c = &af_call_clock;
	uint32_t mult =
	    session ? atomic_load_explicit(&session->tsc_mult, memory_order_relaxed) : 0;

	if (!mult)
		return af_now_ns();
	uint64_t least = ((uint64_t)APART_NS << 32) / mult, now_ns = 0, at = 0, ns = 0;
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = af_clock_ticks();
		now_ns = af_now_ns();
		uint64_t apart = af_clock_ticks() - before;
		if (apart >= least)
			continue;
		least = apart;
		at = before + apart / 2;
		ns = now_ns;
	}
	/* A signal handler that comes meanwhile has a reading of its own: not a part of each. */
	do {
		c->span = 0;
		atomic_signal_fence(memory_order_seq_cst);
		c->at = at;
		c->ns = ns;
		c->mult = mult;
		atomic_signal_fence(memory_order_seq_cst);
	} while (c->at != at);
	if (ns)
		c->span = (uint32_t)(((uint64_t)AF_CALL_CLOCK_SPAN_NS << 32) / mult);
	return now_ns;
}
