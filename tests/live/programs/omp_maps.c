/* omp_maps TIMES: a target region that maps the same array both ways, so many times. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096 };

static double values[N];

__attribute__((noinline)) static void add(void)
{
#pragma omp target map(tofrom : values)
	for (int i = 0; i < N; i++)
		values[i] += 1;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < times; i++)
		add();
	printf("truth first %.0f\ntruth times %d\ntruth bytes %zu\n", values[0], times,
	       sizeof values);
	return 0;
}
