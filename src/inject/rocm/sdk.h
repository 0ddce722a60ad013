/*
 * The part of AMD's rocprofiler-sdk that is used, as its headers fwd.h, buffer.h, buffer_tracing.h,
 * callback_tracing.h, external_correlation.h, agent.h and registration.h have it in versions 0.6
 * (ROCm 6.4) to 1.x (ROCm 7). Structs begin with their size, and later versions only append to
 * them; where a version has another layout, both are here.
 */
#ifndef AF_INJECT_ROCM_SDK_H
#define AF_INJECT_ROCM_SDK_H

#include <stddef.h>
#include <stdint.h>

enum {
	AF_ROCM_SUCCESS = 0,
	AF_ROCM_LOSSLESS = 2,
	AF_ROCM_CATEGORY_TRACING = 1,
	AF_ROCM_BUFFERED_COPY = 10,
	AF_ROCM_BUFFERED_KERNEL = 11,
	AF_ROCM_CALLBACK_CODE_OBJECT = 10,
	AF_ROCM_REQUEST_COPY = 10,
	AF_ROCM_REQUEST_KERNEL = 11,
	AF_ROCM_KERNEL_SYMBOL = 2, /* operation: of a code object */
	AF_ROCM_PHASE_LOAD = 1,
	AF_ROCM_AGENT_VERSION = 1,
	AF_ROCM_AGENT_CPU = 1,
	AF_ROCM_AGENT_GPU = 2,
	AF_ROCM_HOST_TO_HOST = 1, /* operation: of a copy */
	AF_ROCM_HOST_TO_DEVICE = 2,
	AF_ROCM_DEVICE_TO_HOST = 3,
	AF_ROCM_WITH_ANCESTOR = 10000, /* version 1.0: a correlation has a third number */
};

/* Handles are structs of one number, which are passed as that number. */
struct af_rocm_header {
	uint32_t category, kind;
	const void *payload;
};

struct af_rocm_record {
	uint64_t size;
	uint32_t kind, operation;
	uint64_t internal, external; /* correlation */
	uint64_t thread;
	uint64_t start, end; /* ns of rocprofiler_get_timestamp() */
};

struct af_rocm_kernel {
	struct af_rocm_record record;
	uint64_t info_size;
	uint64_t agent, queue, kernel, dispatch;
	uint32_t private_bytes, group_bytes;
	uint32_t group[3], grid[3]; /* work items */
};

struct af_rocm_copy {
	struct af_rocm_record record;
	uint64_t to, from; /* agents */
	uint64_t bytes;
};

struct af_rocm_callback {
	uint64_t context, thread;
	uint64_t internal, external;
	uint32_t kind, operation, phase;
	const void *payload;
};

struct af_rocm_callback_1 {
	uint64_t context, thread;
	uint64_t internal, external, ancestor;
	uint32_t kind, operation, phase;
	const void *payload;
};

struct af_rocm_symbol {
	uint64_t size;
	uint64_t kernel, code_object;
	const char *name;
};

struct af_rocm_agent {
	uint64_t size, id;
	uint32_t type;
	uint32_t counts[20]; /* from cpu_cores_count to max_slots_scratch_cu */
	uint32_t gfx_version;
	uint16_t vendor, device;
	uint32_t location, domain;
	uint32_t engines[10]; /* from drm_render_minor to capability */
	uint32_t limits[5];   /* from cu_per_engine to grid_max_size */
	uint64_t memory_bytes, hive, gpu;
	uint32_t group_most[3], grid_most[3];
	const void *lists[3]; /* memory banks, caches, links */
	const char *name, *vendor_name, *product_name, *model_name;
};

_Static_assert(offsetof(struct af_rocm_agent, memory_bytes) == 176, "all before are 32 bits wide");
_Static_assert(offsetof(struct af_rocm_kernel, grid) == 116, "nothing is padded before");

struct af_rocm_client {
	const char *name;
	uint32_t handle;
};

/* A tool's rocprofiler_configure() returns one. */
struct af_rocm_tool {
	size_t size;
	int (*initialize)(void *end, void *arg);
	void (*finalize)(void *arg);
	void *arg;
};

typedef struct af_rocm_tool *af_rocm_configure_function(uint32_t version, const char *words,
                                                        uint32_t priority,
                                                        struct af_rocm_client *client);
typedef void af_rocm_buffer_callback(uint64_t context, uint64_t buffer,
                                     struct af_rocm_header **headers, size_t nr, void *arg,
                                     uint64_t nr_dropped);
typedef int af_rocm_request_callback(uint64_t thread, uint64_t context, uint32_t kind,
                                     int32_t operation, uint64_t internal, uint64_t *external,
                                     void *arg);
typedef int af_rocm_agents_callback(uint32_t version, const void **agents, size_t nr, void *arg);

/* F(name, parameters): functions that all supported versions have. */
#define AF_ROCM_FUNCTIONS(F)                                                                       \
	F(create_context, (uint64_t * context))                                                    \
	F(start_context, (uint64_t context))                                                       \
	F(create_buffer, (uint64_t context, size_t size, size_t watermark, int policy,             \
	                  af_rocm_buffer_callback *callback, void *arg, uint64_t *buffer))         \
	F(flush_buffer, (uint64_t buffer))                                                         \
	F(configure_buffer_tracing_service,                                                        \
	  (uint64_t context, int kind, const int32_t *operations, size_t nr, uint64_t buffer))     \
	F(configure_callback_tracing_service,                                                      \
	  (uint64_t context, int kind, const int32_t *operations, size_t nr, void *callback,       \
	   void *arg))                                                                             \
	F(configure_external_correlation_id_request_service,                                       \
	  (uint64_t context, const int *kinds, size_t nr, af_rocm_request_callback *callback,      \
	   void *arg))                                                                             \
	F(query_available_agents,                                                                  \
	  (int version, af_rocm_agents_callback *callback, size_t size, void *arg))                \
	F(get_timestamp, (uint64_t * ns))

struct af_rocm_sdk {
#define AF_P(name, parameters) int(*name) parameters;
	AF_ROCM_FUNCTIONS(AF_P)
#undef AF_P
};

#endif
