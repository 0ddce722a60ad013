/*
 * A thread that does nothing but wake at fixed times, as the floor of tests/bench/telemetry.
 *
 *	ticks MS SECONDS: microseconds of CPU time a tick
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t period_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 4, nr = 0;
	uint64_t next_ns = ns_of(CLOCK_MONOTONIC), end_ns = next_ns + seconds * 1000000000;
	uint64_t begin_ns = ns_of(CLOCK_PROCESS_CPUTIME_ID);

	for (; next_ns < end_ns; nr++) {
		next_ns += period_ns;
		const struct timespec t = {(time_t)(next_ns / 1000000000),
		                           (long)(next_ns % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	printf("%.1f\n", (double)(ns_of(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1e3 / (double)nr);
	return 0;
}
