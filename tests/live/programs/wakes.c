/*
 * wakes [SCALE]: one thread wakes another.
 *
 * Truth: the thread `sleeper` waits in read() of a pipe, in wait_for_it, and each time it is the
 * thread `waker` that ends the wait, by write() in wake_it; waker itself is woken by the clock. 100
 * times, 5 ms apart. The tids are printed, and how long sleeper was in read().
 *
 * Exit status: 0, or 1 when the pipe failed.
 */
#include "burn.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

BURN_SINK;

static unsigned long rounds;
static int ends[2];

APART static void wait_for_it(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	burn_sink++;
}

APART static void wake_it(void)
{
	if (write(ends[1], "", 1) != 1)
		exit(1);
	burn_sink++;
}

static void *waker(void *unused)
{
	const struct timespec nap = {.tv_nsec = 5000000};

	prctl(PR_SET_NAME, "waker");
	for (unsigned long i = 0; i < rounds; i++) {
		nanosleep(&nap, NULL);
		wake_it();
	}
	return unused;
}

int main(int argc, char **argv)
{
	int64_t waited_ns = 0;
	pthread_t thread;

	rounds = (unsigned long)(100 * burn_scale(argc, argv));
	prctl(PR_SET_NAME, "sleeper");
	if (pipe(ends) || pthread_create(&thread, NULL, waker, NULL))
		return 1;
	for (unsigned long i = 0; i < rounds; i++) {
		const int64_t start = burn_clock_ns(CLOCK_MONOTONIC);
		wait_for_it();
		waited_ns += burn_clock_ns(CLOCK_MONOTONIC) - start;
	}
	pthread_join(thread, NULL);
	truth_number("waited_us", waited_ns / 1000);
	truth_number("tid", syscall(SYS_gettid));
	truth_number("rounds", (long)rounds);
	return 0;
}
