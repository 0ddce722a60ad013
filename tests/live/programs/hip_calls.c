/*
 * Calls of AMD's HIP: what it prints is how many of each failed, which all do without a device. The
 * launches come from main() by outer() and launch().
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>

enum { LAUNCHES = 5, WAITS = 3, BYTES = 4096 };

static void kernel(void)
{
}

__attribute__((noinline)) static int launch(void *stream)
{
	void *args[] = {NULL};
	dim3 one = {.x = 1, .y = 1, .z = 1}, threads = {.x = 64, .y = 2, .z = 1};
	int rc = hipLaunchKernel((void *)kernel, one, threads, args, 0, stream);

	return rc != 0;
}

__attribute__((noinline)) static int outer(void)
{
	return launch(NULL) + 0;
}

int main(void)
{
	void *memory = NULL;
	int failed = hipMalloc(&memory, BYTES) != 0;

	printf("hipMalloc %d\n", failed);
	failed = 0;
	for (int i = 0; i < LAUNCHES; i++)
		failed += outer();
	printf("hipLaunchKernel %d\n", failed);
	failed = 0;
	for (int i = 0; i < WAITS; i++)
		failed += hipDeviceSynchronize() != 0;
	printf("hipDeviceSynchronize %d\n", failed);
	return 0;
}
