/*
 * errors config|sticky: launches that are refused, between good ones; a kernel that traps, after
 * which every call fails. The program sees the errors that it expects, or exits with 3.
 */
#include "truth.h"

#include <string.h>

enum { LAUNCHES = 20 };

extern "C" __global__ void never(unsigned long long ns)
{
	spin(ns);
}

extern "C" __global__ void traps(void)
{
	asm volatile("trap;");
}

CALLPATH void launches_fine(void)
{
	k1<<<1, 1>>>(5000);
}

CALLPATH void launches_too_wide(void)
{
	never<<<1, 4096>>>(1000);
}

static void expect(cudaError_t got, cudaError_t want)
{
	if (got == want)
		return;
	fprintf(stderr, "errors: %s, not %s\n", cudaGetErrorName(got), cudaGetErrorName(want));
	exit(3);
}

static void sticky(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		launches_fine();
	expect(cudaDeviceSynchronize(), cudaSuccess);
	launched("launches_fine", "k1", LAUNCHES);
	traps<<<1, 1>>>();
	expect(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
	launches_too_wide();
	expect(cudaGetLastError(), cudaErrorLaunchFailure);
	fact("sticky", 1);
}

static void config(void)
{
	for (int i = 0; i < LAUNCHES; i++) {
		launches_fine();
		launches_too_wide();
		/* CUDA 13 has another word for it than those before. */
		cudaError_t error = cudaGetLastError();
		if (error != cudaErrorInvalidValue)
			expect(error, cudaErrorInvalidConfiguration);
	}
	expect(cudaDeviceSynchronize(), cudaSuccess);
	launched("launches_fine", "k1", LAUNCHES);
	fact("refused", LAUNCHES);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "sticky"))
		sticky();
	else
		config();
	truth_print();
	return 0;
}
