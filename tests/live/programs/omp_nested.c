/*
 * OpenMP target regions from threads of nested parallel regions, some of which run beside one
 * another: OUTER × INNER threads with EACH regions, of which the second half is nowait. With -DHOST
 * the loops have no target, for compilers and runtimes without devices.
 */
#include <omp.h>
#include <stdio.h>

enum { OUTER = 2, INNER = 2, EACH = 6, N = 64 };

static double values[OUTER * INNER][N];

static void launch(double *of, int nowait)
{
#ifdef HOST
	(void)nowait;
	for (int i = 0; i < N; i++)
		of[i] += 1;
#else
	if (nowait) {
#pragma omp target map(tofrom : of [0:N]) nowait
		for (int i = 0; i < N; i++)
			of[i] += 1;
#pragma omp taskwait
	} else {
#pragma omp target map(tofrom : of [0:N])
		for (int i = 0; i < N; i++)
			of[i] += 1;
	}
#endif
}

int main(void)
{
	double sum = 0;
	int threads = 0;

	omp_set_max_active_levels(2);
	/* LLVM 19's assertion fails where several threads start its helpers at once. */
	launch(values[0], 1);
#pragma omp parallel num_threads(OUTER) reduction(+ : threads)
	{
		int outer = omp_get_thread_num();
#pragma omp parallel num_threads(INNER) reduction(+ : threads)
		{
			threads++;
			for (int i = 0; i < EACH; i++)
				launch(values[outer * INNER + omp_get_thread_num()], i >= EACH / 2);
		}
	}
	for (int i = 0; i < OUTER * INNER; i++)
		for (int k = 0; k < N; k++)
			sum += values[i][k];
	printf("truth sum %.0f\ntruth expected %d\ntruth regions %d\ntruth threads %d\n", sum,
	       (OUTER * INNER * EACH + 1) * N, OUTER * INNER * EACH + 1, threads);
	return 0;
}
