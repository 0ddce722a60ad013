/* libaflame.so lends functions to libaflame-hip.so, for the times of kernels and copies. */
#ifndef AF_INJECT_ROCM_SHARED_H
#define AF_INJECT_ROCM_SHARED_H

#include "inject/rocm/sdk.h"

/* Another number, another layout of the struct. */
enum { AF_ROCM_SHARED_VERSION = 1 };

struct af_rocm_shared {
	/*
	 * The SDK, which has the function that calls from @caller, looks for tools and found us:
	 * what rocprofiler_configure() returns. NULL: we want nothing of it.
	 */
	struct af_rocm_tool *(*configure)(uint32_t version, uint32_t priority,
	                                  struct af_rocm_client *client, const void *caller);
	/*
	 * Before the program's first call of HIP: make the SDK beside the library that has
	 * @runtime call @configure, if it has not done so. The trace notes what came of it.
	 */
	void (*start)(const void *runtime, af_rocm_configure_function *configure);
};

/* NULL where libaflame.so has another version. */
const struct af_rocm_shared *aflame_rocm(uint32_t version);

#endif
