/*
 * regions_calls NR: the cost of the functions of aflame/region.h, beside a loop without them: ns of
 * CPU time a call, the least of 15 rounds of NR, as lines "NAME NS". NR: few enough that a recorder
 * keeps pace.
 */
#include <aflame/region.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15 };

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

#define ROUND(least, call)                                                                         \
	do {                                                                                       \
		double begin_ns = now_ns();                                                        \
		for (long i = 0; i < nr; i++) {                                                    \
			__asm__ volatile("" : : : "memory");                                       \
			call;                                                                      \
		}                                                                                  \
		double ns = (now_ns() - begin_ns) / (double)nr;                                    \
		if (ns < (least))                                                                  \
			(least) = ns;                                                              \
	} while (0)

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 100000;
	double loop = 1e9, pair = 1e9, mark = 1e9;

	aflame_mark("warm");
	for (int round = 0; round < ROUNDS; round++) {
		const struct timespec rest = {.tv_nsec = 50000000};
		ROUND(loop, (void)0);
		ROUND(pair, (aflame_region_begin("step"), aflame_region_end()));
		ROUND(mark, aflame_mark("mark"));
		nanosleep(&rest, NULL);
	}
	printf("loop %.2f\npair %.2f\nmark %.2f\n", loop, pair - loop, mark - loop);
	return 0;
}
