/*
 * Works for a part of each period and sleeps for the rest, by the clock: work for 40 ms each 130
 * ms, thirty times, or as the arguments say in ms. Its truth is the period that it kept.
 */
#include "burn.h"

volatile uint64_t burn_sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static APART void work_until(uint64_t end_ns)
{
	uint64_t x = burn_sink + 1;

	while (now_ns() < end_ns)
		BURN(x, 3, 10 * BURN_PER_US);
	burn_sink = x;
}

static APART void rest_until(uint64_t end_ns)
{
	struct timespec end = {(time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		;
}

int main(int argc, char **argv)
{
	uint64_t period_ns = 1000000 * (argc > 1 ? strtoull(argv[1], NULL, 10) : 130);
	uint64_t work_ns = 1000000 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 40);
	uint64_t nr = argc > 3 ? strtoull(argv[3], NULL, 10) : 30, start_ns = now_ns();

	for (uint64_t i = 0; i < nr; i++) {
		work_until(start_ns + i * period_ns + work_ns);
		rest_until(start_ns + (i + 1) * period_ns);
	}
	printf("truth period_ms %.3f\n", (double)(now_ns() - start_ns) / 1e6 / (double)nr);
	return 0;
}
