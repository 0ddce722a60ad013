/*
 * cl_timed: a second witness of the times of calls.
 *
 * Truth: each of two threads calls clGetPlatformIDs 10,000 times, reads CLOCK_MONOTONIC before and
 * after each, and sleeps for 2 ms after every 500th. A line of a call is "call TID BEFORE AFTER",
 * in ns.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <unistd.h>

#include "burn.h"

enum { CALLS = 10000, THREADS = 2 };

static int64_t times[THREADS][CALLS][2];
static int tids[THREADS];

static void *calls(void *nr)
{
	const intptr_t thread = (intptr_t)nr;
	cl_uint platforms;

	tids[thread] = gettid();
	for (int i = 0; i < CALLS; i++) {
		times[thread][i][0] = burn_clock_ns(CLOCK_MONOTONIC);
		clGetPlatformIDs(0, NULL, &platforms);
		times[thread][i][1] = burn_clock_ns(CLOCK_MONOTONIC);
		if (i % 500 == 499)
			usleep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, calls, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < CALLS; k++)
			printf("call %d %ld %ld\n", tids[i], (long)times[i][k][0],
			       (long)times[i][k][1]);
	return 0;
}
