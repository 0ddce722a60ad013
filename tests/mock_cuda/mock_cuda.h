/*
 * A mock of the CUDA driver, libcuda.so.1, for machines without a GPU. It is no emulator: kernels
 * compute nothing. Their first parameter, a uint64_t, says how many nanoseconds of CLOCK_REALTIME
 * they take; a copy or a fill takes by its bytes. Streams run their work in order on virtual
 * timelines, so that when something runs is known when it is enqueued, and waits wait for it
 * really.
 *
 * Environment: MOCK_CUDA_DEVICES (1), MOCK_CUDA_MEMORY, bytes of each device (1 << 34). A device
 * has MOCK_PROCESSORS of MOCK_CLOCK_KHZ.
 *
 * This header is what the files of the mock share; the mock of CUPTI (mock_cupti.h) hangs itself in
 * by mock_set_tool. One lock, mock_lock, guards everything that is not a thread's own; callbacks
 * and waits happen without it.
 */
#ifndef MOCK_CUDA_H
#define MOCK_CUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../live/programs/cuda_driver.h"

enum { MOCK_DEVICES_MAX = 16, MOCK_DEFAULT_STREAM_ID = 7 };
enum { MOCK_PROCESSORS = 4, MOCK_CLOCK_KHZ = 1000000 };

enum mock_op { MOCK_KERNEL, MOCK_COPY, MOCK_PEER, MOCK_FILL, MOCK_HOST, MOCK_GRAPH };

/* CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind */
enum { MOCK_HTOD = 1, MOCK_DTOH = 2, MOCK_DTOD = 8, MOCK_PTOP = 10 };
enum { MOCK_PAGEABLE = 1, MOCK_PINNED = 2, MOCK_DEVICE = 3, MOCK_MANAGED = 5 };

/* A piece of device work: what it is, then who asked and when it runs. */
struct mock_work {
	enum mock_op op;
	uint64_t duration_ns;
	const char *name; /* a kernel's, never freed */
	const struct CUfunc_st *code;
	uint32_t grid[3], block[3], cluster[3], shared_bytes;
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind, source_kind, target_kind, is_async;
	uint32_t from_device, from_context, to_device, to_context;
	void (*function)(void *);
	void *arg;

	uint32_t device, context, stream, correlation;
	uint32_t graph;
	uint64_t node;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
};

struct CUctx_st {
	struct CUctx_st *next;
	int device;
	uint32_t id;
	bool is_gone;
	struct CUstream_st *streams; /* the default one is the last */
};

struct CUstream_st {
	struct CUstream_st *next;
	struct CUctx_st *context;
	uint32_t id;
	unsigned flags;
	uint64_t free_ns;           /* when all that was enqueued is done */
	unsigned nr_host_functions; /* not yet called */
	struct CUgraph_st *capture;
	bool began_capture;
};

struct CUevent_st {
	uint64_t time_ns;
	struct CUgraph_st *capture;
};

struct CUmod_st {
	struct CUmod_st *next;
	struct CUctx_st *context;
	uint32_t id;
	void *cubin;
	size_t cubin_bytes;
	struct CUfunc_st *functions;
};

/* Never freed: records and samples of it may come later than its module goes. */
struct CUfunc_st {
	struct CUfunc_st *next;
	const char *name;
	uint32_t module, symbol; /* the module's id; its place in the symbol table */
	uint32_t bytes;
};

struct CUgraphNode_st {
	struct CUgraph_st *graph;
	uint32_t index;
	struct mock_work work;
	struct CUgraphNode_st *next;
};

struct CUgraph_st {
	uint32_t id, nr_nodes;
	struct CUgraphNode_st *nodes, *last;
};

struct CUgraphExec_st {
	uint32_t id;
	struct CUgraph_st *own; /* its clone, whose ids records carry */
};

/* A call of the API, from its entry to its return. */
struct mock_call {
	uint32_t domain, cbid; /* as CUPTI numbers them */
	const char *name;
	const void *params;
	uint32_t result;
	struct CUctx_st *context;
	uint32_t correlation;
	uint64_t data;
	bool is_reported; /* at the entry, so at the exit as well */
	bool is_launch;
	struct mock_call *outer;
};

/* CUPTI's ids of resources, and CUpti_ModuleResourceData, CUpti_GraphData. */
enum mock_resource {
	MOCK_CONTEXT_CREATED = 1,
	MOCK_CONTEXT_DESTROY_STARTING = 2,
	MOCK_STREAM_CREATED = 3,
	MOCK_STREAM_DESTROY_STARTING = 4,
	MOCK_INIT_FINISHED = 5,
	MOCK_MODULE_LOADED = 6,
	MOCK_MODULE_UNLOAD_STARTING = 7,
	MOCK_GRAPH_CREATED = 9,
	MOCK_GRAPH_DESTROY_STARTING = 10,
	MOCK_GRAPH_CLONED = 11,
	MOCK_GRAPHNODE_CREATED = 13,
	MOCK_GRAPHEXEC_CREATED = 18,
	MOCK_GRAPHEXEC_DESTROY_STARTING = 19,
	MOCK_GRAPHNODE_CLONED = 20,
	MOCK_GRAPHNODE_UPDATED = 22,
};

struct mock_module_data {
	uint32_t id;
	size_t bytes;
	const void *cubin;
};

struct mock_graph_data {
	struct CUgraph_st *graph, *original_graph;
	struct CUgraphNode_st *node, *original_node;
	uint32_t node_type; /* CUgraphNodeType */
	struct CUgraphNode_st *dependency;
	struct CUgraphExec_st *exec;
};

/*
 * The functions of a tracing tool. All in the thread that called the API, without mock_lock, but
 * work(), which holds it and must not call back.
 */
struct mock_tool {
	void (*enter)(struct mock_call *call);
	void (*leave)(struct mock_call *call);
	void (*resource)(enum mock_resource what, struct CUctx_st *context, void *handle,
	                 void *data);
	bool (*wants_graphs_whole)(void);
	void (*work)(const struct mock_work *work);
};

/* The tool, or NULL. Exported for the mock of CUPTI. */
CUDA_API void mock_set_tool(const struct mock_tool *tool);
const struct mock_tool *mock_tool(void);
extern pthread_mutex_t mock_lock;

/*
 * An API function reports its call to the tool, around its work:
 *	MOCK_CALL(17, NULL, context_synchronize());
 * @params are laid out as CUPTI's cuXxx_params. Both exist for the mock of the runtime too.
 */
CUDA_API bool mock_enter(struct mock_call *call);
CUDA_API int mock_leave(struct mock_call *call, int result);
struct mock_call *mock_current_call(void);

#define MOCK_CALL_IN(in_domain, number, parameters, work)                                          \
	struct mock_call mock_this_call = {                                                        \
	    .domain = (in_domain), .cbid = (number), .name = __func__, .params = (parameters)};    \
	if (!mock_enter(&mock_this_call))                                                          \
		return (int)mock_this_call.result;                                                 \
	return mock_leave(&mock_this_call, (work))
#define MOCK_CALL(number, parameters, work) MOCK_CALL_IN(1, number, parameters, work)

/* A number that the environment gives, or @otherwise. */
uint64_t mock_setting(const char *name, uint64_t otherwise);

/* device.c: clocks and timelines. */
uint64_t mock_now(void);
void mock_wait_until(uint64_t time_ns);
int mock_nr_devices(void);
/* Puts @work at the end of @stream (locked); in a capture it becomes a node. 0 or a CUresult. */
int mock_enqueue(struct CUstream_st *stream, const struct mock_work *work);
/* Waits until all of @stream is done. */
void mock_stream_wait(struct CUstream_st *stream);

/* context.c, stream.c: the calling thread's context or NULL; its stream for a handle or NULL. */
struct CUctx_st *mock_context(void);
struct CUctx_st *mock_context_first(void);
struct CUstream_st *mock_stream(struct CUstream_st *handle);
struct CUstream_st *mock_stream_new(struct CUctx_st *context, unsigned flags);
void mock_context_wait(struct CUctx_st *context);

/* graph.c: appends a node to the graph that @stream captures into (unlocked). */
int mock_graph_append(struct CUstream_st *stream, const struct mock_work *work);

/* Tells the tool. */
void mock_resource(enum mock_resource what, struct CUctx_st *context, void *handle, void *data);

#endif
