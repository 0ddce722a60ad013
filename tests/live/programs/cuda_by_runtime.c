/*
 * cuda_by_runtime: the runtime API beside the driver's.
 *
 * Truth: through_runtime() launches k1 of 20 us 10 times by cudaLaunchKernel, through_driver() k2 5
 * times by cuLaunchKernel, in the same context; copy_by_runtime() copies 4096 bytes up by
 * cudaMemcpy.
 */
#include "cuda_runtime.h"
#include "cuda_setup.h"

static char memory[4096];

__attribute__((noinline)) static void through_runtime(struct CUfunc_st *kernel)
{
	const struct cuda_dim3 one = {1, 1, 1};
	uint64_t ns = 20000;
	void *params[] = {&ns};

	CUDA_CHECK(cudaLaunchKernel(kernel, one, one, params, 0, NULL));
	cuda_truth("k1", 1);
}

__attribute__((noinline)) static void through_driver(struct CUfunc_st *kernel)
{
	cuda_launch(kernel, NULL, 20000);
	cuda_truth("k2", 1);
}

__attribute__((noinline)) static void copy_by_runtime(void)
{
	void *device;

	CUDA_CHECK(cudaMalloc(&device, sizeof(memory)));
	CUDA_CHECK(cudaMemcpy(device, memory, sizeof(memory), CUDA_HOST_TO_DEVICE));
	CUDA_CHECK(cudaFree(device));
	cuda_truth("write.bytes", sizeof(memory));
}

int main(void)
{
	struct CUmod_st *library, *module;
	struct CUfunc_st *k1, *k2;

	CUDA_CHECK(cudaLibraryLoadData(&library, cuda_kernels, NULL, NULL, 0, NULL, NULL, 0));
	CUDA_CHECK(cudaLibraryGetKernel(&k1, library, "k1"));
	copy_by_runtime();
	CUDA_CHECK(cuModuleLoadData(&module, cuda_kernels));
	CUDA_CHECK(cuModuleGetFunction(&k2, module, "k2"));
	for (int i = 0; i < 10; i++)
		through_runtime(k1);
	for (int i = 0; i < 5; i++)
		through_driver(k2);
	CUDA_CHECK(cudaDeviceSynchronize());
	cuda_truth_print();
	return 0;
}
