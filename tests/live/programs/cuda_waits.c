/*
 * cuda_waits [ROUNDS [FORKS]]: CUDA is there; a line is read; then what is known is done.
 *
 * Truth: in each of ROUNDS (1000) hot_path launches k1 three times, cold_path once, and each copies
 * and waits once; before the first round memory is allocated, after the last it is freed. With
 * FORKS (0) 1 a child does it all, which is forked before CUDA is initialized, after a first line.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_setup.h"

enum { BYTES = 4096 };

static struct cuda cuda;
static uint64_t memory;
static char host[BYTES];

__attribute__((noinline)) static void launch(void)
{
	cuda_launch(cuda.k[0], NULL, 1000);
	cuda_truth("cuLaunchKernel", 1);
}

__attribute__((noinline)) static void hot_path(void)
{
	for (int i = 0; i < 3; i++)
		launch();
	CUDA_CHECK(cuMemcpyHtoD_v2(memory, host, sizeof host));
	cuda_truth("cuMemcpyHtoD_v2", 1);
}

__attribute__((noinline)) static void cold_path(void)
{
	launch();
	CUDA_CHECK(cuCtxSynchronize());
	cuda_truth("cuCtxSynchronize", 1);
}

static void wait_for_line(void)
{
	char go;

	if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1)
		exit(1);
}

static void work(uint64_t rounds)
{
	cuda_open(&cuda, 0);
	wait_for_line();
	CUDA_CHECK(cuMemAlloc_v2(&memory, BYTES));
	for (uint64_t i = 0; i < rounds; i++) {
		hot_path();
		cold_path();
	}
	CUDA_CHECK(cuMemFree_v2(memory));
	cuda_truth("cuMemAlloc_v2", 1);
	cuda_truth("cuMemFree_v2", 1);
	cuda_close(&cuda);
	cuda_truth_print();
}

int main(int argc, char **argv)
{
	uint64_t rounds = cuda_number(argc, argv, 1, 1000);
	int status;

	if (!cuda_number(argc, argv, 2, 0)) {
		work(rounds);
		return 0;
	}
	wait_for_line();
	pid_t child = fork();
	if (!child) {
		work(rounds);
		return 0;
	}
	return waitpid(child, &status, 0) != child || status != 0;
}
