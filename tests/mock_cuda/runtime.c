/*
 * A few functions of the CUDA runtime, libcudart.so.13, over the driver: so that stacks have frames
 * of it, and calls of both domains nest. The context is the device's primary one, as in the real
 * runtime. Kernels come from cudaLibraryGetKernel, whose handle cudaLaunchKernel takes for a
 * function.
 */
#include "mock_cuda.h"

#include "../live/programs/cuda_runtime.h"

static int runtime_init(void)
{
	struct CUctx_st *context;
	int rc = cuCtxGetCurrent(&context);

	if (rc == CUDA_NOT_INITIALIZED) {
		rc = cuInit(0);
		if (!rc)
			rc = cuCtxGetCurrent(&context);
	}
	if (!rc && !context)
		rc = cuDevicePrimaryCtxRetain(&context, 0);
	return rc ? rc : cuCtxSetCurrent(context);
}

#define RUNTIME_CALL(number, parameters, work)                                                     \
	const int mock_init_error = runtime_init();                                                \
	if (mock_init_error)                                                                       \
		return mock_init_error;                                                            \
	MOCK_CALL_IN(2, number, parameters, work)

int cudaMalloc(void **memory, size_t bytes)
{
	struct {
		void **memory;
		size_t bytes;
	} params = {memory, bytes};

	RUNTIME_CALL(20, &params, cuMemAlloc_v2((uint64_t *)memory, bytes));
}

int cudaFree(void *memory)
{
	RUNTIME_CALL(22, &memory, cuMemFree_v2((uintptr_t)memory));
}

static int runtime_copy(void *to, const void *from, size_t bytes, int kind)
{
	switch (kind) {
	case CUDA_HOST_TO_DEVICE:
		return cuMemcpyHtoD_v2((uintptr_t)to, from, bytes);
	case CUDA_DEVICE_TO_HOST:
		return cuMemcpyDtoH_v2(to, (uintptr_t)from, bytes);
	case CUDA_DEVICE_TO_DEVICE:
		return cuMemcpyDtoD_v2((uintptr_t)to, (uintptr_t)from, bytes);
	default:
		return CUDA_INVALID_VALUE;
	}
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	struct {
		void *to;
		const void *from;
		size_t bytes;
		int kind;
	} params = {to, from, bytes, kind};

	RUNTIME_CALL(31, &params, runtime_copy(to, from, bytes, kind));
}

int cudaDeviceSynchronize(void)
{
	RUNTIME_CALL(165, NULL, cuCtxSynchronize());
}

int cudaLibraryLoadData(struct CUmod_st **library, const void *code, void *jit_options,
                        void *jit_values, unsigned nr_jit, void *options, void *values, unsigned nr)
{
	struct {
		struct CUmod_st **library;
		const void *code;
		void *jit_options, *jit_values;
		unsigned nr_jit;
		void *options, *values;
		unsigned nr;
	} params = {library, code, jit_options, jit_values, nr_jit, options, values, nr};

	RUNTIME_CALL(470, &params, cuModuleLoadData(library, code));
}

int cudaLibraryGetKernel(struct CUfunc_st **kernel, struct CUmod_st *library, const char *name)
{
	struct {
		struct CUfunc_st **kernel;
		struct CUmod_st *library;
		const char *name;
	} params = {kernel, library, name};

	RUNTIME_CALL(473, &params, cuModuleGetFunction(kernel, library, name));
}

int cudaLaunchKernel(const void *function, struct cuda_dim3 grid, struct cuda_dim3 block,
                     void **args, size_t shared_bytes, struct CUstream_st *stream)
{
	struct {
		const void *function;
		struct cuda_dim3 grid, block;
		void **args;
		size_t shared_bytes;
		struct CUstream_st *stream;
	} params = {function, grid, block, args, shared_bytes, stream};

	RUNTIME_CALL(211, &params,
	             cuLaunchKernel((struct CUfunc_st *)(uintptr_t)function, grid.x, grid.y, grid.z,
	                            block.x, block.y, block.z, (unsigned)shared_bytes, stream, args,
	                            NULL));
}
