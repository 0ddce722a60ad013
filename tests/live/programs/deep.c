/*
 * Recursion ten thousand levels deep, where the time is spent: main, down (10,000 times), bottom.
 * No frame pointers.
 */
#include "burn.h"

enum { LEVELS = 10000, SECONDS_OF_TEN = 6 };

BURN_SINK;
BURN_FUNCTION(bottom, BURN_A)

APART static void down(unsigned levels)
{
	if (levels)
		down(levels - 1);
	else
		for (int64_t end = burn_thread_ns() + SECONDS_OF_TEN * 100000000ll;
		     burn_thread_ns() < end;)
			bottom(1000);
	burn_sink += levels;
}

int main(void)
{
	down(LEVELS);
	printf("truth levels %d\n", LEVELS);
	return 0;
}
