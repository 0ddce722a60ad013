/*
 * names [SCALE]: twenty threads, one after the other, that give themselves the name "short-N",
 * work for 20 ms in `work` and end.
 *
 * Truth: user_us, the CPU time in user mode.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

BURN_SINK;
BURN_FUNCTION(work, BURN_A)

static unsigned long burn_us;

static void *thread_body(void *name)
{
	prctl(PR_SET_NAME, name);
	work(burn_us);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rusage used;
	pthread_t thread;
	char name[16];

	burn_us = (unsigned long)(20000 * burn_scale(argc, argv));
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "short-%d", i);
		if (pthread_create(&thread, NULL, thread_body, name))
			return 1;
		pthread_join(thread, NULL);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("truth user_us %ld\n", used.ru_utime.tv_sec * 1000000 + used.ru_utime.tv_usec);
	return 0;
}
