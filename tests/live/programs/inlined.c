/*
 * inlined [SCALE]: a hot function whose time is in code inlined into it, two deep.
 *
 * Truth: by symbols alone all CPU time is in outer, called by main. With inlined frames: outer's
 * own lines 20 %, middle (inlined into outer) 30 %, inner (inlined into middle) 50 %; the stacks
 * are main;outer and main;outer;middle and main;outer;middle;inner. About 1 s of CPU.
 *
 * Exit status: 0, or 1 when the measured shares are not these.
 */
#include "burn.h"

#define INLINED static inline __attribute__((always_inline))

BURN_SINK;

static int64_t inner_ns, middle_ns, outer_ns;

INLINED uint64_t inner(uint64_t x)
{
	BURN(x, BURN_A, 100 * BURN_PER_US); /* the lines of inner */
	return x;
}

INLINED uint64_t middle(uint64_t x)
{
	int64_t start, between;

	start = burn_thread_ns();
	BURN(x, BURN_B, 60 * BURN_PER_US); /* the lines of middle */
	burn_sink = x;
	between = burn_thread_ns();
	x = inner(x);
	burn_sink = x;
	inner_ns += burn_thread_ns() - between;
	middle_ns += between - start;
	return x;
}

APART static uint64_t outer(uint64_t x, unsigned long rounds)
{
	while (rounds--) {
		const int64_t start = burn_thread_ns();

		BURN(x, BURN_C, 40 * BURN_PER_US); /* the lines of outer */
		burn_sink = x;
		outer_ns += burn_thread_ns() - start;
		x = middle(x);
	}
	return x;
}

int main(int argc, char **argv)
{
	int64_t all;

	burn_sink = outer(1, (unsigned long)(5000 * burn_scale(argc, argv)));
	all = outer_ns + middle_ns + inner_ns;
	truth_share("outer", outer_ns, all);
	truth_share("middle", middle_ns, all);
	truth_share("inner", inner_ns, all);
	truth_number("cpu_ms", all / 1000000);
	return share_is_wrong(outer_ns, all, 0.2) || share_is_wrong(middle_ns, all, 0.3) ||
	       share_is_wrong(inner_ns, all, 0.5);
}
