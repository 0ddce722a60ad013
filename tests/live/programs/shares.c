/*
 * shares [SCALE]: flat shares known by construction.
 *
 * Truth: of the CPU time, a has 60 %, b 30 % and c 10 %, each as a leaf called by run, called by
 * main; about 2 s of CPU, one thread. The three are interleaved every 200 us, so any sampler that
 * is not in step with them sees the shares within any part of the run. Built several times: with
 * and without optimisation, frame pointers and PIE, and stripped.
 *
 * Exit status: 0, or 1 when the measured shares are not these.
 */
#include "burn.h"

BURN_SINK;

APART static void a(unsigned long us)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_A, us * BURN_PER_US);
	burn_sink = x;
}

APART static void b(unsigned long us)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_B, us * BURN_PER_US);
	burn_sink = x;
}

APART static void c(unsigned long us)
{
	uint64_t x = burn_sink;

	BURN(x, BURN_C, us * BURN_PER_US);
	burn_sink = x;
}

APART static void run(unsigned long rounds, int64_t ns[3])
{
	while (rounds--) {
		const int64_t start = burn_thread_ns();
		int64_t after_a, after_b, after_c;

		a(120);
		after_a = burn_thread_ns();
		b(60);
		after_b = burn_thread_ns();
		c(20);
		after_c = burn_thread_ns();
		ns[0] += after_a - start;
		ns[1] += after_b - after_a;
		ns[2] += after_c - after_b;
	}
}

int main(int argc, char **argv)
{
	int64_t ns[3] = {0}, all;

	run((unsigned long)(10000 * burn_scale(argc, argv)), ns);
	all = ns[0] + ns[1] + ns[2];
	truth_share("a", ns[0], all);
	truth_share("b", ns[1], all);
	truth_share("c", ns[2], all);
	truth_number("cpu_ms", all / 1000000);
	return share_is_wrong(ns[0], all, 0.6) || share_is_wrong(ns[1], all, 0.3) ||
	       share_is_wrong(ns[2], all, 0.1);
}
