/*
 * nofp [SCALE]: the frame pointer's register holds anything but a frame pointer.
 *
 * Truth: every stack is main;outer;middle;hot. hot keeps its running value in rbp, so a walk along
 * frame pointers starts from garbage; middle and outer have none either. Only the unwind tables
 * know. About 0.5 s of CPU. Without the x86-64 register this is an ordinary chain of calls.
 *
 * Exit status: 0.
 */
#include "burn.h"

BURN_SINK;

#ifdef __x86_64__
/* One link of the chain, forced to happen in rbp. */
#define LINK(x, i) __asm__ volatile("imul %1, %0\n\tadd %2, %0" : "+r"(x) : "r"(BURN_A), "r"(i))
#define HOT_REGISTER __asm__("rbp")
#else
#define LINK(x, i) ((x) = (x)*BURN_A + (i))
#define HOT_REGISTER
#endif

APART static uint64_t hot(unsigned long us, uint64_t start)
{
	register uint64_t x HOT_REGISTER = start;

	for (unsigned long i = us * BURN_PER_US; i; i--)
		LINK(x, i);
	return x;
}

APART static uint64_t middle(unsigned long us, uint64_t x)
{
	return hot(us, x) + 1;
}

APART static uint64_t outer(unsigned long us, uint64_t x)
{
	return middle(us, x) * 3;
}

int main(int argc, char **argv)
{
	unsigned long rounds = (unsigned long)(500 * burn_scale(argc, argv));
	int64_t all = -burn_thread_ns();

	while (rounds--)
		burn_sink = outer(1000, burn_sink);
	all += burn_thread_ns();
	truth_share("hot", 1, 1);
	truth_number("cpu_ms", all / 1000000);
	return 0;
}
