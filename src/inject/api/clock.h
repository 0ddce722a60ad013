/*
 * The trace's clock for calls: CLOCK_MONOTONIC to within some ns, at less than half of its cost.
 * Each thread reads that clock once a millisecond, together with the processor's time stamp
 * counter, and counts ticks from there. What a tick takes the recorder measures all the time
 * (trace/write/session.h). If the clock is slewed by 500 ppm, which is the most that the kernel
 * allows by frequency (adjtimex(2)), a moment is 500 ns off at most.
 */
#ifndef AF_INJECT_API_CLOCK_H
#define AF_INJECT_API_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/system/clock.h"

enum { AF_CALL_CLOCK_SPAN_NS = 1000000 };

/* At @at ticks it was @ns, for as many ticks as @span; 0: it is to be read anew. */
struct af_call_clock {
	uint64_t at, ns;
	uint32_t mult; /* a tick in 2^-32 ns */
	uint32_t span;
};
extern __thread struct af_call_clock af_call_clock;

/* Reads the system's clock, and the counter with it where that may be used. */
uint64_t af_call_clock_read(void);

/*
 * Now, in ns. Two moments of one thread may be some ns in the wrong order where the clock was read
 * anew between them. Any thread, and signal handlers.
 */
static inline __attribute__((always_inline)) uint64_t af_call_now_ns(void)
{
	const struct af_call_clock *c = &af_call_clock;
	uint64_t at = c->at, passed = af_clock_ticks() - at;
	uint64_t ns = c->ns + (passed * c->mult >> 32);

	/* A signal handler may have read the clock anew between these lines. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(passed >= c->span || c->at != at, 0))
		return af_call_clock_read();
	return ns;
}

#endif
