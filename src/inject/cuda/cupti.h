/*
 * The part of CUPTI that is used, declared here: no CUDA header is needed to build, and one library
 * serves every CUPTI from 12.4 to 13.x. Layouts are those of the CUDA Profiling Tools Interface
 * (NVIDIA, cupti_activity.h and cupti_callbacks.h, 12.4 and 13.0: since then records only grew at
 * their ends). tests/gpu/layouts.c compares every line with the real headers.
 */
#ifndef AF_INJECT_CUDA_CUPTI_H
#define AF_INJECT_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* cuptiGetVersion(): a small number up to 12.9, then MAJOR MINOR PATCH in pairs of digits. */
enum {
	AF_CUPTI_12_4 = 22,
	AF_CUPTI_LAST_MAJOR = 13,
};

enum af_cupti_result {
	AF_CUPTI_SUCCESS = 0,
	AF_CUPTI_OUT_OF_MEMORY = 8,
	AF_CUPTI_HARDWARE_BUSY = 26,
	AF_CUPTI_NOT_SUPPORTED = 27,
	AF_CUPTI_VIRTUALIZED = 33,
	AF_CUPTI_PRIVILEGES = 35,
	AF_CUPTI_OTHER_SUBSCRIBER = 39,
	AF_CUPTI_VIRTUAL_PRIVILEGES = 40,
	AF_CUPTI_CONFIDENTIAL = 41,
	AF_CUPTI_MIG_DEVICE = 43,
};

enum af_cupti_domain {
	AF_CUPTI_DRIVER_API = 1,
	AF_CUPTI_RUNTIME_API = 2,
	AF_CUPTI_RESOURCE = 3,
	AF_CUPTI_STATE = 6,
};

/* In the domain RESOURCE. */
enum af_cupti_resource {
	AF_CUPTI_CONTEXT_CREATED = 1,
	AF_CUPTI_CONTEXT_DESTROY_STARTING = 2,
	AF_CUPTI_MODULE_LOADED = 6,
	AF_CUPTI_MODULE_UNLOAD_STARTING = 7,
	AF_CUPTI_GRAPHNODE_CREATED = 13,
	AF_CUPTI_GRAPHNODE_CLONED = 20,
	AF_CUPTI_GRAPHNODE_UPDATED = 22, /* since 13.0 */
};

/* In the domain STATE. */
enum { AF_CUPTI_FATAL_ERROR = 1 };

enum { AF_CUPTI_ENTER = 0, AF_CUPTI_EXIT = 1 };

/* CUpti_CallbackData */
struct af_cupti_call {
	uint32_t site; /* AF_CUPTI_ENTER or AF_CUPTI_EXIT */
	const char *function;
	const void *params;
	const uint32_t *result; /* CUresult, at the exit */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data; /* ours from the entry to the exit */
	uint32_t correlation;
};

/* CUpti_ResourceData */
struct af_cupti_resource_data {
	void *context, *handle;
	const void *what;
};

/* CUpti_ModuleResourceData */
struct af_cupti_module {
	uint32_t id;
	size_t size;
	const void *cubin;
};

/* CUpti_GraphData */
struct af_cupti_graph {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t node_type;
	void *dependency, *exec;
};

enum af_cupti_kind {
	AF_CUPTI_MEMCPY = 1,
	AF_CUPTI_MEMSET = 2,
	AF_CUPTI_CONCURRENT_KERNEL = 10,
	AF_CUPTI_OVERHEAD = 17,
	AF_CUPTI_MEMCPY_PEER = 22,
	AF_CUPTI_GRAPH_TRACE = 51,
};

/* Every activity record begins so. */
struct af_cupti_record {
	uint32_t kind;
};

/* CUpti_ActivityKernel9 (12.4), and with more behind it Kernel10 (13.0) */
struct af_cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t partition_requested, partition_used;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	uint64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested, carveout, padding;
	uint32_t shared_used;
	uint64_t node;
	uint32_t shared_limit, graph;
	void *policy;
	uint32_t channel, channel_type;
	uint32_t cluster[3];
	uint32_t cluster_policy, local_total_v2[2];
};

/* CUpti_ActivityMemcpy5 (12.4) and 6 (13.0) */
struct af_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint32_t runtime_correlation, pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel, channel_type, pad2;
};

/* CUpti_ActivityMemcpyPtoP4: between devices */
struct af_cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel, channel_type, pad;
};

/* CUpti_ActivityMemset4 */
struct af_cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t node;
	uint32_t graph, channel, channel_type, pad2;
};

/* CUpti_ActivityGraphTrace2: one launch of a graph as a whole */
struct af_cupti_graph_trace {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
	void *reserved;
	uint32_t end_device, end_context;
};

/* CUpti_ActivityOverhead3 */
struct af_cupti_overhead {
	uint32_t kind, overhead, object, object_id[3];
	uint64_t start, end;
	uint32_t correlation, reserved;
	void *more;
};

/* CUpti_ActivityMemcpyKind */
enum af_cupti_copy {
	AF_CUPTI_HTOD = 1,
	AF_CUPTI_DTOH = 2,
	AF_CUPTI_HTOA = 3,
	AF_CUPTI_ATOH = 4,
	AF_CUPTI_ATOA = 5,
	AF_CUPTI_ATOD = 6,
	AF_CUPTI_DTOA = 7,
	AF_CUPTI_DTOD = 8,
	AF_CUPTI_HTOH = 9,
	AF_CUPTI_PTOP = 10,
};

/*
 * CUpti_ActivityAttribute. A device writes its stamps into device buffers until CUPTI reads them:
 * POOL_LIMIT is their maximal number (size_t). ZEROED_BUFFERS (u8): we hand over zeroed buffers for
 * records, so CUPTI need not zero them on the thread that launches.
 */
enum {
	AF_CUPTI_DEVICE_BUFFER_POOL_LIMIT = 2,
	AF_CUPTI_ZEROED_BUFFERS = 5,
};

enum { AF_CUPTI_FLUSH_FORCED = 1 };

typedef void (*af_cupti_callback)(void *arg, uint32_t domain, uint32_t id, const void *data);
typedef uint64_t (*af_cupti_clock)(void);
typedef void (*af_cupti_request)(uint8_t **buffer, size_t *size, size_t *nr_records_max);
typedef void (*af_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);

/*
 * The functions: P(result, name, parameters). All exist in every version that is taken.
 */
#define AF_CUPTI_FUNCTIONS(P)                                                                      \
	P(GetVersion, (uint32_t * version))                                                        \
	P(GetResultString, (uint32_t result, const char **text))                                   \
	P(Subscribe, (void **subscriber, af_cupti_callback callback, void *arg))                   \
	P(Unsubscribe, (void *subscriber))                                                         \
	P(EnableCallback, (uint32_t on, void *subscriber, uint32_t domain, uint32_t id))           \
	P(ActivityEnable, (uint32_t kind))                                                         \
	P(ActivityDisable, (uint32_t kind))                                                        \
	P(ActivityRegisterCallbacks, (af_cupti_request request, af_cupti_complete complete))       \
	P(ActivityGetNextRecord,                                                                   \
	  (uint8_t * buffer, size_t valid, const struct af_cupti_record **record))                 \
	P(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))         \
	P(ActivityFlushAll, (uint32_t flags))                                                      \
	P(ActivitySetAttribute, (uint32_t attribute, size_t * size, void *value))                  \
	P(GetTimestamp, (uint64_t * ns))                                                           \
	P(GetGraphNodeId, (void *node, uint64_t *id))                                              \
	P(GetGraphExecId, (void *exec, uint32_t *id))                                              \
	P(GetDeviceId, (void *context, uint32_t *device))

/* cupti.GetVersion() and so on. Each returns an enum af_cupti_result. */
struct af_cupti {
#define AF_P(name, params) uint32_t(*name) params;
	AF_CUPTI_FUNCTIONS(AF_P)
#undef AF_P
};

#endif
