/*
 * Times calls of CUDA for tests/bench/api_ways: one line a row, `row min median CD CR OD OR`, ns a
 * call of 7 rounds, then calls seen for each call made: by CUPTI in the driver's and the runtime's
 * domain, by our own interception in either.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>

enum { ROUNDS = 7, CHEAP = 2000, LAUNCHES = 200, BATCHES = 20 };

__global__ void nothing(void) {}

static CUfunction function;
static CUcontext context;
static int device;
static CUresult (*ctx_get)(CUcontext *);
static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                          void **, void **);
typedef uint64_t (*seen_function)(int);
static seen_function seen_by[2];

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: error %d\n", what, rc);
		exit(2);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void seen_read(double *counts)
{
	for (int i = 0; i < 4; i++)
		counts[i] = seen_by[i / 2] ? (double)seen_by[i / 2](i % 2) : 0;
}

/* Waits for the device between batches, outside of what is timed: queues never fill. */
template <typename F> static void row(const char *name, int batch, F call)
{
	double rounds[ROUNDS], before[4], after[4], calls = (double)batch * BATCHES;

	for (int i = 0; i < batch; i++)
		check((int)call(), name);
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	seen_read(before);
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t sum = 0;
		for (int b = 0; b < BATCHES; b++) {
			uint64_t begin = now_ns();
			for (int i = 0; i < batch; i++)
				check((int)call(), name);
			sum += now_ns() - begin;
			check(cuCtxSynchronize(), "cuCtxSynchronize");
		}
		rounds[r] = (double)sum / calls;
	}
	seen_read(after);
	std::sort(rounds, rounds + ROUNDS);
	printf("%s %.1f %.1f", name, rounds[0], rounds[ROUNDS / 2]);
	for (int i = 0; i < 4; i++)
		printf(" %.2f", (after[i] - before[i]) / (calls * ROUNDS));
	printf("\n");
	fflush(stdout);
}

static void by_dlsym(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	ctx_get = (decltype(ctx_get))dlsym(driver, "cuCtxGetCurrent");
	launch = (decltype(launch))dlsym(driver, "cuLaunchKernel");
	row("cuCtxGetCurrent/dlsym", CHEAP, [] { return ctx_get(&context); });
	row("cuLaunchKernel/dlsym", LAUNCHES,
	    [] { return launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); });
}

static void by_get_proc(void)
{
	CUdriverProcAddressQueryResult found;

	check(cuGetProcAddress("cuCtxGetCurrent", (void **)&ctx_get, 12000, 0, &found), "cuGetProcAddress");
	check(cuGetProcAddress("cuLaunchKernel", (void **)&launch, 12000, 0, &found), "cuGetProcAddress");
	row("cuCtxGetCurrent/proc", CHEAP, [] { return ctx_get(&context); });
	row("cuLaunchKernel/proc", LAUNCHES,
	    [] { return launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); });
}

int main(void)
{
	const char *cupti = getenv("CUDA_INJECTION64_PATH");
	dim3 one(1);

	check(cudaFree(NULL), "cudaFree");
	check(cudaGetFuncBySymbol(&function, (const void *)nothing), "cudaGetFuncBySymbol");
	void *library = cupti ? dlopen(cupti, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	seen_by[0] = library ? (seen_function)dlsym(library, "api_ways_seen_cupti") : NULL;
	seen_by[1] = (seen_function)dlsym(RTLD_DEFAULT, "api_ways_seen_own");

	row("cuCtxGetCurrent/linked", CHEAP, [] { return cuCtxGetCurrent(&context); });
	by_dlsym();
	row("cuLaunchKernel/linked", LAUNCHES,
	    [] { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); });
	by_get_proc();
	row("cudaGetDevice", CHEAP, [] { return cudaGetDevice(&device); });
	row("cudaLaunchKernel", LAUNCHES,
	    [=] { return cudaLaunchKernel((const void *)nothing, one, one, NULL, 0, NULL); });
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 0;
}
