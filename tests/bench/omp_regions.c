/*
 * omp_regions NR: the time of an OpenMP region that does nothing: ns of CPU time of its thread, the
 * least of 200 rounds of NR, as the line "region NS". It is a target region, on a device that is
 * the host; with -DPARALLEL a parallel region of one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 200 };

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 1000;
	double least = 1e12;

	for (int round = 0; round < ROUNDS; round++) {
		const struct timespec rest = {.tv_nsec = 3000000};
		double begin_ns = now_ns();
		for (long i = 0; i < nr; i++) {
#ifdef PARALLEL
#pragma omp parallel num_threads(1)
#else
#pragma omp target
#endif
			__asm__ volatile("" : : : "memory");
		}
		double ns = (now_ns() - begin_ns) / (double)nr;
		/* A virtual machine's clock of CPU time may stand still for a round. */
		if (ns > 0 && ns < least)
			least = ns;
		nanosleep(&rest, NULL);
	}
	printf("region %.1f\n", least);
	return 0;
}
