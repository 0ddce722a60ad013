/*
 * cuda_launches: every way to launch a kernel, and calls that fail.
 *
 * Truth: k1 by cuLaunchKernel, k2 by cuLaunchCooperativeKernel, k3 by cuLaunchKernelEx without and
 * k4 with a cluster of two blocks (on the mock, and where the device can), 10 us each. Each of the
 * calls of failing_calls() is refused, and none of them makes work. host_function() runs once.
 */
#include "cuda_setup.h"

static struct cuda cuda;
static int host_calls;

static void host_function(void *arg)
{
	++*(int *)arg;
}

__attribute__((noinline)) static void launch_plain(void **params)
{
	CUDA_CHECK(cuLaunchKernel(cuda.k[0], 4, 2, 1, 32, 1, 1, 1024, NULL, params, NULL));
	cuda_truth("k1", 1);
}

__attribute__((noinline)) static void launch_cooperative(void **params)
{
	CUDA_CHECK(cuLaunchCooperativeKernel(cuda.k[1], 2, 1, 1, 64, 1, 1, 0, NULL, params));
	cuda_truth("k2", 1);
}

__attribute__((noinline)) static void launch_ex(void **params)
{
	struct cuda_launch_config config = {{2, 1, 1}, {32, 2, 1}, 0, NULL, NULL, 0};

	CUDA_CHECK(cuLaunchKernelEx(&config, cuda.k[2], params, NULL));
	cuda_truth("k3", 1);
}

__attribute__((noinline)) static void launch_cluster(void **params)
{
	struct cuda_launch_attribute cluster = {CUDA_ATTRIBUTE_CLUSTER, 0, {.cluster = {2, 1, 1}}};
	struct cuda_launch_config config = {{4, 1, 1}, {32, 1, 1}, 0, NULL, &cluster, 1};

	if (!cuLaunchKernelEx(&config, cuda.k[3], params, NULL))
		cuda_truth("k4", 1);
}

__attribute__((noinline)) static void failing_calls(void **params)
{
	struct CUmod_st *module;
	struct CUfunc_st *function;
	uint64_t address;

	cuda_truth("refused", !!cuLaunchKernel(cuda.k[0], 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	cuda_truth("refused",
	           !!cuLaunchKernel(cuda.k[0], 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
	cuda_truth("refused", !!cuModuleLoadData(&module, "no PTX at all"));
	cuda_truth("refused", !!cuModuleGetFunction(&function, cuda.module, "k99"));
	cuda_truth("refused", !!cuMemAlloc_v2(&address, (size_t)1 << 50));
}

int main(void)
{
	uint64_t ns = 10000;
	void *params[] = {&ns};

	cuda_open(&cuda, 0);
	launch_plain(params);
	launch_cooperative(params);
	launch_ex(params);
	launch_cluster(params);
	failing_calls(params);
	CUDA_CHECK(cuLaunchHostFunc(NULL, host_function, &host_calls));
	CUDA_CHECK(cuCtxSynchronize());
	cuda_close(&cuda);
	cuda_truth("host_calls", (uint64_t)host_calls);
	cuda_truth_print();
	return host_calls == 1 ? 0 : 3;
}
