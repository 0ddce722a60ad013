/*
 * Target regions with nowait from two functions: TIMES of each() are each waited for before the
 * next one, as many of all() together.
 */
#include <stdio.h>

enum { TIMES = 40, N = 64 };

static double values[TIMES][N];

__attribute__((noinline)) static void each(void)
{
	for (int i = 0; i < TIMES; i++) {
#pragma omp target map(tofrom : values[i]) nowait
		for (int k = 0; k < N; k++)
			values[i][k] += 1;
#pragma omp taskwait
	}
}

__attribute__((noinline)) static void all(void)
{
	for (int i = 0; i < TIMES; i++) {
#pragma omp target map(tofrom : values[i]) nowait
		for (int k = 0; k < N; k++)
			values[i][k] += 1;
	}
#pragma omp taskwait
}

int main(int argc, char **argv)
{
	double sum = 0;

	(void)argv;
	if (argc == 1)
		each();
	all();
	for (int i = 0; i < TIMES; i++)
		for (int k = 0; k < N; k++)
			sum += values[i][k];
	printf("truth sum %.0f\ntruth expected %d\ntruth times %d\n", sum,
	       (argc == 1 ? 2 : 1) * TIMES * N, TIMES);
	return 0;
}
