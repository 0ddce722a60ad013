/*
 * The functions of the CUDA runtime (libcudart.so.13) that the live programs call: see
 * cuda_driver.h. Names, types and numbers are those of the CUDA Runtime API (NVIDIA,
 * cuda_runtime_api.h); cudaLibrary_t and cudaKernel_t are only ever passed on.
 */
#ifndef AF_LIVE_CUDA_RUNTIME_H
#define AF_LIVE_CUDA_RUNTIME_H

#include "cuda_driver.h"

struct cuda_dim3 {
	unsigned x, y, z;
};

enum { CUDA_HOST_TO_DEVICE = 1, CUDA_DEVICE_TO_HOST = 2, CUDA_DEVICE_TO_DEVICE = 3 };

CUDA_API int cudaMalloc(void **memory, size_t bytes);
CUDA_API int cudaFree(void *memory);
CUDA_API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
CUDA_API int cudaDeviceSynchronize(void);
CUDA_API int cudaLibraryLoadData(struct CUmod_st **library, const void *code, void *jit_options,
                                 void *jit_values, unsigned nr_jit, void *options, void *values,
                                 unsigned nr);
CUDA_API int cudaLibraryGetKernel(struct CUfunc_st **kernel, struct CUmod_st *library,
                                  const char *name);
CUDA_API int cudaLaunchKernel(const void *function, struct cuda_dim3 grid, struct cuda_dim3 block,
                              void **args, size_t shared_bytes, struct CUstream_st *stream);

#endif
