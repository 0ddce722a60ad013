/*
 * blocks_signals [SCALE]: every thread blocks every signal before it works.
 *
 * Truth: two threads, 300 ms of CPU each, in main_work and thread_work. At the end the masks are
 * what the program set, and a blocked signal that it sent itself is still pending: nobody took it.
 *
 * Exit status: 0, or 1 when a mask changed or the pending signal is gone.
 */
#include "burn.h"

#include <pthread.h>
#include <signal.h>

BURN_SINK;

static unsigned long burn_us;

BURN_FUNCTION(main_work, BURN_A)
BURN_FUNCTION(thread_work, BURN_B)

static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* 1 when a signal is not blocked that can be; 32 and 33 belong to the C library. */
static int mask_changed(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP && i != 32 && i != 33 && !sigismember(&now, i))
			return 1;
	return 0;
}

static void *thread_body(void *changed)
{
	block_all();
	thread_work(burn_us);
	*(int *)changed = mask_changed();
	return NULL;
}

int main(int argc, char **argv)
{
	sigset_t pending;
	pthread_t thread;
	int thread_changed = 1;

	burn_us = (unsigned long)(300000 * burn_scale(argc, argv));
	if (pthread_create(&thread, NULL, thread_body, &thread_changed))
		return 1;
	block_all();
	raise(SIGUSR2);
	main_work(burn_us);
	pthread_join(thread, NULL);
	sigpending(&pending);
	printf("truth share.main_work 0.5\ntruth share.thread_work 0.5\n");
	return mask_changed() || thread_changed || !sigismember(&pending, SIGUSR2);
}
