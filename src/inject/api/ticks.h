/*
 * The trace's clock by the processor's time stamp counter, where the recorder keeps the relation of
 * the two (trace/write/session.h): a reading costs less than half of that of CLOCK_MONOTONIC.
 */
#ifndef AF_INJECT_API_TICKS_H
#define AF_INJECT_API_TICKS_H

#include <stdbool.h>

#include "base/system/clock.h"
#include "trace/write/session.h"
#include "trace/write/stream.h"

/* The relation. False: the recorder is setting it anew right now. Any thread. */
static inline bool af_ticks_read(const struct af_session *s, struct af_ticks *t)
{
	uint32_t seq = atomic_load_explicit(&s->tsc_seq, memory_order_acquire);

	t->at = atomic_load_explicit(&s->tsc_at, memory_order_relaxed);
	t->ns = atomic_load_explicit(&s->tsc_ns, memory_order_relaxed);
	t->mult = atomic_load_explicit(&s->tsc_mult, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return !(seq & 1) && atomic_load_explicit(&s->tsc_seq, memory_order_relaxed) == seq;
}

/*
 * Now, on the trace's clock, a few ns off. Moments of one thread may go back by as much where the
 * relation was set anew between them. Any thread; @s may be NULL.
 */
static inline uint64_t af_ticks_now_ns(const struct af_session *s)
{
	struct af_ticks t;

	if (__builtin_expect(!s || !af_ticks_read(s, &t) || !t.mult, 0))
		return af_now_ns();
	return af_ticks_moment(&t, af_clock_ticks());
}

#endif
