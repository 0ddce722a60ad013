/*
 * probed_calls [DEPTH]: calls the functions of probed_driver.c from below DEPTH (20) functions, and
 * prints what a call costs of CPU time, in ns; then again, after a line was read. tests/bench/calls
 * records it in between.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, ROUNDS = 51 };

int cuLaunchKernel(void);
int cuLaunchKernelEx(void);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The median of rounds; between them the recorder has time to read. */
static double cost(int (*call)(void))
{
	const struct timespec pause = {.tv_nsec = 10000000};
	uint64_t ns[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = now_ns();
		for (int i = 0; i < CALLS; i++)
			call();
		ns[r] = now_ns() - start;
		nanosleep(&pause, NULL);
	}
	qsort(ns, ROUNDS, sizeof *ns, order);
	return (double)ns[ROUNDS / 2] / CALLS;
}

__attribute__((noinline)) static void below(int depth)
{
	if (depth) {
		below(depth - 1);
		__asm__ volatile("");
		return;
	}
	printf("%.1f %.1f\n", cost(cuLaunchKernel), cost(cuLaunchKernelEx));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 20;

	below(depth);
	if (getchar() == '\n')
		below(depth);
	return 0;
}
