/*
 * OpenMP on the host, of known numbers: REGIONS times a parallel region of THREADS threads with a
 * loop, an explicit barrier and a critical section, in which thread 0 works `late` ms longer than
 * the others (the program's argument, 0 if there is none); then one of tasks. The program measures
 * its threads' waits: from when a thread is done until the last one is, and until the region has
 * ended, which is the most. It begins with a parallel region of another function, so that the
 * runtime's threads are there.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, REGIONS = 10, TASKS = 20, N = 64 };

static double done_at[THREADS], waited, most;
static long sum;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void sleep_ms(long ms)
{
	const struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

__attribute__((noinline)) static void start(void)
{
#pragma omp parallel num_threads(THREADS)
	sleep_ms(1);
}

__attribute__((noinline)) static void uneven(long late)
{
	double last = 0, ended = 0;

#pragma omp parallel num_threads(THREADS)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++) {
#pragma omp atomic
			sum += 1;
		}
#pragma omp barrier
#pragma omp critical
		sum += 1;
		if (!omp_get_thread_num())
			sleep_ms(late);
		done_at[omp_get_thread_num()] = now();
	}
	ended = now();
	for (int i = 0; i < THREADS; i++)
		last = done_at[i] > last ? done_at[i] : last;
	for (int i = 0; i < THREADS; i++) {
		waited += last - done_at[i];
		most += ended - done_at[i];
	}
}

__attribute__((noinline)) static void tasks(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	{
		for (int i = 0; i < TASKS; i++) {
#pragma omp task
			{
#pragma omp atomic
				sum += 1;
			}
		}
#pragma omp taskwait
	}
}

int main(int argc, char **argv)
{
	long late = argc > 1 ? atol(argv[1]) : 0;

	omp_set_dynamic(0);
	start();
	for (int i = 0; i < REGIONS; i++)
		uneven(late);
	tasks();
	printf("truth sum %ld\ntruth expected %d\ntruth threads %d\ntruth regions %d\n", sum,
	       REGIONS * (N + THREADS) + TASKS, THREADS, REGIONS);
	printf("truth tasks %d\ntruth waited_ns %.0f\ntruth most_ns %.0f\n", TASKS, waited, most);
	return 0;
}
