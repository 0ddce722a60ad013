/*
 * short_threads NR US: @NR threads, one after the other, each @US microseconds on a CPU.
 *
 * Exit status: 0, or 1 when a thread could not be made.
 */
#include "burn.h"

#include <pthread.h>
#include <stdlib.h>

BURN_SINK;
BURN_FUNCTION(short_work, BURN_A)

static void *short_thread(void *us)
{
	short_work(*(long *)us);
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 100, us = argc > 2 ? atol(argv[2]) : 2500;
	pthread_t thread;

	for (long i = 0; i < nr; i++) {
		if (pthread_create(&thread, NULL, short_thread, &us))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
