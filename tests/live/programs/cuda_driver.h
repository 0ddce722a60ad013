/*
 * The functions of the CUDA driver API (libcuda.so.1) and of the runtime (libcudart) that the live
 * programs call, declared here so that they are built without CUDA's headers and run unchanged on a
 * GPU and on the mock of tests/mock_cuda. Names, types and numbers are those of the CUDA Driver API
 * (NVIDIA, cuda.h).
 */
#ifndef AF_LIVE_CUDA_DRIVER_H
#define AF_LIVE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_API __attribute__((visibility("default")))

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;

/* CUresult: those that the programs and the mock know. */
enum cuda_result {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_INVALID_PTX = 218,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_CAPTURE_UNSUPPORTED = 900,
	CUDA_UPDATE_FAILURE = 910,
};

enum {
	CUDA_STREAM_NON_BLOCKING = 1,
	CUDA_CAPTURE_THREAD_LOCAL = 1,
	CUDA_MANAGED_GLOBAL = 1,
	CUDA_ATTRIBUTE_CLUSTER = 4,
};

/* CUlaunchAttribute: 64 bytes of value behind the id. */
struct cuda_launch_attribute {
	uint32_t id, pad;
	union {
		uint32_t cluster[3];
		uint8_t bytes[64];
	} value;
};

/* CUlaunchConfig */
struct cuda_launch_config {
	uint32_t grid[3], block[3], shared_bytes;
	struct CUstream_st *stream;
	struct cuda_launch_attribute *attributes;
	uint32_t nr_attributes;
};

/* CUgraphExecUpdateResultInfo */
struct cuda_update_result {
	uint32_t result;
	struct CUgraphNode_st *error_node, *error_from;
};

CUDA_API int cuInit(unsigned flags);
CUDA_API int cuDriverGetVersion(int *version);
CUDA_API int cuGetErrorName(int error, const char **name);
CUDA_API int cuDeviceGetCount(int *count);
CUDA_API int cuDeviceGet(int *device, int ordinal);
CUDA_API int cuDeviceGetName(char *name, int size, int device);
CUDA_API int cuDeviceGetAttribute(int *value, int attribute, int device);
CUDA_API int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device);
CUDA_API int cuDevicePrimaryCtxRelease_v2(int device);
CUDA_API int cuCtxCreate_v2(struct CUctx_st **context, unsigned flags, int device);
CUDA_API int cuCtxDestroy_v2(struct CUctx_st *context);
CUDA_API int cuCtxSetCurrent(struct CUctx_st *context);
CUDA_API int cuCtxGetCurrent(struct CUctx_st **context);
CUDA_API int cuCtxSynchronize(void);

CUDA_API int cuStreamCreate(struct CUstream_st **stream, unsigned flags);
CUDA_API int cuStreamDestroy_v2(struct CUstream_st *stream);
CUDA_API int cuStreamSynchronize(struct CUstream_st *stream);
CUDA_API int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event,
                               unsigned flags);
CUDA_API int cuEventCreate(struct CUevent_st **event, unsigned flags);
CUDA_API int cuEventDestroy_v2(struct CUevent_st *event);
CUDA_API int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
CUDA_API int cuEventQuery(struct CUevent_st *event);
CUDA_API int cuEventSynchronize(struct CUevent_st *event);
CUDA_API int cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end);
CUDA_API int cuLaunchHostFunc(struct CUstream_st *stream, void (*function)(void *), void *arg);

CUDA_API int cuModuleLoadData(struct CUmod_st **module, const void *image);
CUDA_API int cuModuleUnload(struct CUmod_st *module);
CUDA_API int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
                                 const char *name);
CUDA_API int cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, struct CUstream_st *stream, void **params,
                            void **extra);
CUDA_API int cuLaunchKernelEx(const struct cuda_launch_config *config, struct CUfunc_st *function,
                              void **params, void **extra);
CUDA_API int cuLaunchCooperativeKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned shared_bytes,
                                       struct CUstream_st *stream, void **params);

CUDA_API int cuMemAlloc_v2(uint64_t *address, size_t bytes);
CUDA_API int cuMemFree_v2(uint64_t address);
CUDA_API int cuMemAllocHost_v2(void **memory, size_t bytes);
CUDA_API int cuMemFreeHost(void *memory);
CUDA_API int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
CUDA_API int cuMemAllocAsync(uint64_t *address, size_t bytes, struct CUstream_st *stream);
CUDA_API int cuMemFreeAsync(uint64_t address, struct CUstream_st *stream);
CUDA_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
CUDA_API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
CUDA_API int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes);
CUDA_API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                                  struct CUstream_st *stream);
CUDA_API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                                  struct CUstream_st *stream);
CUDA_API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                                  struct CUstream_st *stream);
CUDA_API int cuMemcpyPeer(uint64_t to, struct CUctx_st *to_context, uint64_t from,
                          struct CUctx_st *from_context, size_t bytes);
CUDA_API int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count);
CUDA_API int cuMemsetD32Async(uint64_t to, unsigned value, size_t count,
                              struct CUstream_st *stream);

CUDA_API int cuStreamBeginCapture_v2(struct CUstream_st *stream, int mode);
CUDA_API int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph);
CUDA_API int cuGraphClone(struct CUgraph_st **clone, struct CUgraph_st *original);
CUDA_API int cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
                                         unsigned long long flags);
CUDA_API int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
CUDA_API int cuGraphExecUpdate_v2(struct CUgraphExec_st *exec, struct CUgraph_st *graph,
                                  struct cuda_update_result *result);
CUDA_API int cuGraphDestroy(struct CUgraph_st *graph);
CUDA_API int cuGraphExecDestroy(struct CUgraphExec_st *exec);

#endif
