/*
 * recursion [SCALE]: direct and mutual recursion, 50 deep.
 *
 * Truth: half of the CPU time is in stacks of main;run with descend 1 to 50 times, spread evenly
 * over the depths; the other half in stacks that alternate even, odd, even ... 50 deep in all.
 * Counted once per stack, descend is in 50 % of the time and never in more. even burns 40 % of its
 * half as self time and odd 60 % of it. About 1.2 s of CPU.
 *
 * Exit status: 0, or 1 when the measured shares are not these.
 */
#include "burn.h"

enum { DEPTH = 50 };

BURN_SINK;

APART static void descend(int depth)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_A, 10 * BURN_PER_US);
	burn_sink = x;
	if (depth > 1)
		descend(depth - 1);
	/* Something to do after the call: a tail call would leave no frame. */
	burn_sink++;
}

static void odd(int depth);

APART static void even(int depth)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_B, 8 * BURN_PER_US);
	burn_sink = x;
	if (depth > 1)
		odd(depth - 1);
	burn_sink++;
}

APART static void odd(int depth)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_C, 12 * BURN_PER_US);
	burn_sink = x;
	if (depth > 1)
		even(depth - 1);
	burn_sink++;
}

APART static void run(unsigned long rounds, int64_t ns[2])
{
	while (rounds--) {
		const int64_t start = burn_thread_ns();
		int64_t between;

		descend(DEPTH);
		between = burn_thread_ns();
		even(DEPTH);
		ns[0] += between - start;
		ns[1] += burn_thread_ns() - between;
	}
}

int main(int argc, char **argv)
{
	int64_t ns[2] = {0};

	run((unsigned long)(1200 * burn_scale(argc, argv)), ns);
	truth_share("descend", ns[0], ns[0] + ns[1]);
	truth_share("even_and_odd", ns[1], ns[0] + ns[1]);
	truth_number("depth", DEPTH);
	truth_number("cpu_ms", (ns[0] + ns[1]) / 1000000);
	return share_is_wrong(ns[0], ns[0] + ns[1], 0.5);
}
