/*
 * paths: two kernels from two call paths. k1 lasts three times as long as k2, and hot_path runs
 * three times for each time that cold_path does. Device time: hot_path k1 9/16, hot_path k2 3/16,
 * cold_path k1 3/16, cold_path k2 1/16. Built with the static and with the shared cudart.
 */
#include "truth.h"

enum { ROUNDS = 20, UNIT_NS = 100000 };

CALLPATH void launch_k1(void)
{
	k1<<<1, 1>>>(3 * UNIT_NS);
}

CALLPATH void launch_k2(void)
{
	k2<<<1, 1>>>(UNIT_NS);
}

CALLPATH void hot_path(void)
{
	launch_k1();
	launch_k2();
}

CALLPATH void cold_path(void)
{
	launch_k1();
	launch_k2();
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (int hot = 0; hot < 3; hot++)
			hot_path();
		cold_path();
		CHECK(cudaDeviceSynchronize());
	}
	for (const char *kernel : {"k1", "k2"}) {
		launched("hot_path", kernel, 3 * ROUNDS);
		launched("cold_path", kernel, ROUNDS);
	}
	truth_others["shares"] = "{\"hot_path k1\": 0.5625, \"hot_path k2\": 0.1875, "
				 "\"cold_path k1\": 0.1875, \"cold_path k2\": 0.0625}";
	truth_print();
	return 0;
}
