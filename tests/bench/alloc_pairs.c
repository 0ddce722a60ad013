/*
 * Pairs of malloc and free, DEPTH calls deep, in THREADS threads; prints the ns of CPU time a pair.
 * alloc_pairs DEPTH PAIRS THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 64 };

static long depth, pairs, nr_threads;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void pair(size_t bytes)
{
	void *p = malloc(bytes);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}

static __attribute__((noinline)) void deep(long more, long nr)
{
	if (more) {
		deep(more - 1, nr);
		__asm__ volatile("");
		return;
	}
	for (long i = 0; i < nr; i++)
		pair(16 + (size_t)i % 64);
}

static void *thread(void *unused)
{
	deep(depth, pairs);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	depth = argc > 1 ? atol(argv[1]) : 10;
	pairs = argc > 2 ? atol(argv[2]) : 1000000;
	nr_threads = argc > 3 ? atol(argv[3]) : 1;
	if (nr_threads < 1 || nr_threads > THREADS_MAX)
		return 2;
	deep(depth, 1000);
	double begin = now_ns();
	for (long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 1;
	for (long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%.2f\n", (now_ns() - begin) / (double)(pairs * nr_threads));
	return 0;
}
