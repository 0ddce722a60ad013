/*
 * Between the mock of AMD's HIP runtime and the mock of rocprofiler-sdk: what the runtime tells the
 * SDK, which in ROCm wraps the runtime's tables. And what programs may ask of the runtime beside
 * HIP. Mocks: nothing here has met a GPU of AMD's.
 */
#ifndef MOCK_HIP_H
#define MOCK_HIP_H

#include <stddef.h>
#include <stdint.h>

enum { MOCK_DEVICES = 2, MOCK_CPU_AGENT = 900, MOCK_GPU_AGENT = 1000 };

/* A kernel (@kernel not 0) or a copy that the runtime launches. */
struct mock_work {
	int device;
	uint64_t queue;
	uint64_t kernel;
	uint32_t group[3], grid[3]; /* work items */
	int direction; /* of a copy: 1 host to host, 2 to the device, 3 from it, 4 on devices */
	int to_device; /* of a copy between devices */
	uint64_t bytes;
	uint64_t takes_ns;
	const char *name;
};

/* The SDK's, found by dlsym(): a tool may want to know of the kernel; and it does the work. */
typedef void mock_symbol_take(uint64_t kernel, const char *name);
typedef uint64_t mock_work_take(const struct mock_work *work);
typedef void mock_tools_start(void);

#endif
