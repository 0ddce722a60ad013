/*
 * tailcall [SCALE]: callers that are gone from the stack.
 *
 * Truth: first ends in a tail call of second, and second in one of third, which burns all the CPU
 * time. The true stacks are main;run;third: neither first nor second may appear, and a profiler
 * that invents them is wrong. About 0.5 s of CPU.
 *
 * Exit status: 0, or 1 when the compiler made no tail calls (then the truth above does not hold).
 */
#include "burn.h"

BURN_SINK;

static uintptr_t stack_of_run;
static long deepest;

APART static void third(unsigned long us)
{
	const long depth = (long)(stack_of_run - (uintptr_t)__builtin_frame_address(0));
	uint64_t x = burn_sink;

	if (depth > deepest)
		deepest = depth;
	BURN(x, BURN_A, us * BURN_PER_US);
	burn_sink = x;
}

static void first(unsigned long us, long turns);

APART static void second(unsigned long us, long turns)
{
	if (turns == 0)
		return third(us);
	return first(us, turns - 1);
}

APART static void first(unsigned long us, long turns)
{
	return second(us, turns);
}

APART static void run(unsigned long rounds)
{
	stack_of_run = (uintptr_t)__builtin_frame_address(0);
	while (rounds--)
		first(500, 10000); /* 20000 real frames would be 320 KB of stack or more */
}

int main(int argc, char **argv)
{
	int64_t all = -burn_thread_ns();

	run((unsigned long)(1000 * burn_scale(argc, argv)));
	all += burn_thread_ns();
	truth_share("third", 1, 1);
	truth_number("stack_bytes", deepest);
	truth_number("cpu_ms", all / 1000000);
	return deepest > 4096;
}
