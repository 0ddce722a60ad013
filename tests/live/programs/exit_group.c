/*
 * exit_group [SCALE]: the process ends in the middle of its threads' work, without any clean-up.
 *
 * Truth: two threads burn in main_burn and thread_burn, 50 % of the CPU time each, until the main
 * thread, having used 400 ms, calls _exit(23): no destructors, no atexit, the other thread is still
 * running. Prints nothing.
 *
 * Exit status: 23.
 */
#include "burn.h"

#include <pthread.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(main_burn, BURN_A)
BURN_FUNCTION(thread_burn, BURN_B)

static void *burn_for_ever(void *unused)
{
	for (;;)
		thread_burn(1000);
	return unused;
}

/* If this runs, exit was not what was asked for. */
static void never(void)
{
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	atexit(never);
	if (pthread_create(&thread, NULL, burn_for_ever, NULL))
		return 2;
	main_burn((unsigned long)(400000 * burn_scale(argc, argv)));
	_exit(23);
}
