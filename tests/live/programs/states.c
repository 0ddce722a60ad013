/*
 * states [SCALE]: asleep, in user mode, in the kernel.
 *
 * Truth: about 40 % of its time sleep_part sleeps in nanosleep(), 40 % user_part computes in user
 * mode and 20 % kernel_part reads /dev/zero; main calls all three by turns. What each took is
 * printed: of sleep_part by the wall clock around the call, of the others by CPU time. About 1.2 s
 * on an idle CPU.
 *
 * Exit status: 0, or 1 when read() failed.
 */
#include "burn.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

BURN_SINK;

BURN_FUNCTION(user_spin, BURN_A)

APART static void sleep_part(long ns)
{
	const struct timespec nap = {.tv_nsec = ns};

	nanosleep(&nap, NULL);
	burn_sink++; /* the call is not the last thing it does */
}

APART static void user_part(int64_t ns)
{
	const int64_t end = burn_thread_ns() + ns;

	while (burn_thread_ns() < end)
		user_spin(430);
	burn_sink++;
}

READ_FUNCTION(kernel_part, 512 * 1024)

int main(int argc, char **argv)
{
	unsigned long rounds = (unsigned long)(31 * burn_scale(argc, argv));
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int64_t slept_ns = 0, user_ns = 0, kernel_ns = 0;
	struct rusage usage;

	while (rounds--) {
		const int64_t asleep = burn_clock_ns(CLOCK_MONOTONIC);
		sleep_part(15700000); /* not in step with a tick or a sampling period */
		const int64_t awake = burn_clock_ns(CLOCK_MONOTONIC), begin = burn_thread_ns();
		user_part(15300000);
		const int64_t between = burn_thread_ns();
		if (kernel_part(fd, 7700000))
			return 1;
		slept_ns += awake - asleep;
		user_ns += between - begin;
		kernel_ns += burn_thread_ns() - between;
	}
	getrusage(RUSAGE_SELF, &usage);
	truth_number("slept_us", slept_ns / 1000);
	truth_number("user_us", user_ns / 1000);
	truth_number("kernel_us", kernel_ns / 1000);
	truth_number("cpu_ms", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	                           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
	return 0;
}
