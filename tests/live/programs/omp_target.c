/*
 * OpenMP target regions of known number, from two functions: REGIONS launches of "scale" inside of
 * one target data, and as many of "add", each with maps of its own; then one update to and one from
 * the device. Its result, the sum, is right only if the regions ran.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4096, REGIONS = 10 };

static double values[N], more[N];

__attribute__((noinline)) static void scale(double by)
{
#pragma omp target teams distribute parallel for map(tofrom : values)
	for (int i = 0; i < N; i++)
		values[i] *= by;
}

__attribute__((noinline)) static void add(void)
{
#pragma omp target map(tofrom : more)
	for (int i = 0; i < N; i++)
		more[i] += 1;
}

static void regions(void)
{
#pragma omp target data map(tofrom : values)
	for (int i = 0; i < REGIONS; i++)
		scale(2);
	for (int i = 0; i < REGIONS; i++)
		add();
#pragma omp target enter data map(to : values)
#pragma omp target update to(values)
#pragma omp target update from(values)
#pragma omp target exit data map(delete : values)
}

int main(int argc, char **argv)
{
	double sum = 0;

	(void)argv;
	for (int i = 0; i < N; i++)
		values[i] = 1;
	/* A child that was forked before the runtime began describes everything anew. */
	pid_t child = argc > 1 ? fork() : 0;
	regions();
	for (int i = 0; i < N; i++)
		sum += values[i] + more[i];
	printf("truth sum %.0f\ntruth devices %d\ntruth regions %d\ntruth bytes %zu\n", sum,
	       omp_get_num_devices(), REGIONS, sizeof values);
	fflush(stdout);
	if (argc > 1 && !child)
		_exit(0);
	if (argc > 1)
		waitpid(child, NULL, 0);
	return 0;
}
