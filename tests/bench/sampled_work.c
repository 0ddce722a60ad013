/*
 * A fixed amount of work on two threads, calls of some depth included; prints the CPU time it took
 * in user mode and in the kernel, in microseconds. For tests/bench/sampling.
 *	sampled_work [UNITS]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static uint64_t table[1 << 12];

static uint64_t __attribute__((noinline)) leaf(uint64_t x)
{
	for (int i = 0; i < 4000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		table[x >> 52] += x;
	}
	return x;
}

static uint64_t __attribute__((noinline)) deep(uint64_t x, int depth)
{
	return depth ? deep(x + 1, depth - 1) + 1 : leaf(x);
}

static void *worker(void *arg)
{
	uint64_t x = 1;

	for (long i = 0; i < (long)arg; i++)
		x = deep(x, 20 + i % 10);
	return (void *)(x & 1);
}

int main(int argc, char **argv)
{
	long units = argc > 1 ? atol(argv[1]) : 100000;
	pthread_t other;
	struct rusage r;

	if (pthread_create(&other, NULL, worker, (void *)units))
		return 1;
	worker((void *)units);
	pthread_join(other, NULL);
	getrusage(RUSAGE_SELF, &r);
	printf("%ld\n", (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000L + r.ru_utime.tv_usec +
	                    r.ru_stime.tv_usec);
	return 0;
}
