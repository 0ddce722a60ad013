/*
 * cuda_paths [ROUNDS [NS]]: two kernels from two call paths, device time known by construction.
 *
 * Truth: k1 takes 3 * NS and k2 takes NS (100000). In each of ROUNDS (10) hot_path launches both
 * three times and cold_path once, on the default stream. Device time by path and kernel: hot_path
 * k1 9/16, hot_path k2 3/16, cold_path k1 3/16, cold_path k2 1/16.
 */
#include "cuda_setup.h"

static struct cuda cuda;
static uint64_t unit_ns;

__attribute__((noinline)) static void launch_k1(void)
{
	cuda_launch(cuda.k[0], NULL, 3 * unit_ns);
}

__attribute__((noinline)) static void launch_k2(void)
{
	cuda_launch(cuda.k[1], NULL, unit_ns);
}

__attribute__((noinline)) static void cold_path(void)
{
	launch_k1();
	launch_k2();
	cuda_truth("ns.cold_path.k1", 3 * unit_ns);
	cuda_truth("ns.cold_path.k2", unit_ns);
	cuda_truth("launches.cold_path", 2);
}

__attribute__((noinline)) static void hot_path(void)
{
	for (int i = 0; i < 3; i++) {
		launch_k1();
		launch_k2();
	}
	cuda_truth("ns.hot_path.k1", 9 * unit_ns);
	cuda_truth("ns.hot_path.k2", 3 * unit_ns);
	cuda_truth("launches.hot_path", 6);
}

int main(int argc, char **argv)
{
	const uint64_t rounds = cuda_number(argc, argv, 1, 10);

	unit_ns = cuda_number(argc, argv, 2, 100000);
	cuda_open(&cuda, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		hot_path();
		cold_path();
		CUDA_CHECK(cuCtxSynchronize());
	}
	cuda_close(&cuda);
	cuda_truth("launches", 8 * rounds);
	cuda_truth("syncs", rounds);
	cuda_truth_print();
	return 0;
}
