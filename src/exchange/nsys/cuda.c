/* Nsight Systems' export: calls of CUDA with their stacks, and what devices did for them. */
#include <string.h>

#include "exchange/events/event.h"
#include "exchange/nsys/nsys.h"

enum { DEVICES_MAX = 4096 };
enum { CUDA_BACKTRACE = 67 }; /* of ENUM_NSYS_EVENT_CLASS */

static void take_chain(struct import_nsys *in, const struct sqlite_rows *rows)
{
	uint64_t id = (uint64_t)sqlite_int(rows, 0, 0);

	nsys_chain_add(in, &in->chains, rows);
	if (id > in->last_chain && id <= INT64_MAX)
		in->last_chain = id;
}

static uint32_t correlation_of(struct import_nsys *in, const struct sqlite_rows *rows, int column)
{
	int64_t id = sqlite_int(rows, column, 0);

	if (id >= 0 && id <= UINT32_MAX)
		return (uint32_t)id;
	in->builder->unused[AF_BUILDER_CORRELATIONS_UNUSED]++;
	return 0;
}

static const char *const call_columns[] = {"start",  "end",         "globalTid",  "correlationId",
                                           "nameId", "callchainId", "eventClass", NULL};

static uint32_t function_name(struct import_nsys *in, uint32_t name)
{
	const char *text = af_strtab_get(&in->builder->names, name);
	size_t len = strlen(text), without = import_function_len(text, len);

	return without < len ? af_builder_name(in->builder, text, without) : name;
}

/* A call whose stack was unwound has two rows: its own, and one around it that has the stack. */
struct call_key {
	uint64_t space;
	int64_t correlation;
};

static struct call_key call_key(struct import_nsys *in, const struct sqlite_rows *rows)
{
	return (struct call_key){nsys_space(in, sqlite_int(rows, 2, 0)), sqlite_int(rows, 3, 0)};
}

static void take_unwound(struct import_nsys *in, const struct sqlite_rows *rows)
{
	const struct call_key key = call_key(in, rows);
	uint64_t chain = (uint64_t)sqlite_int(rows, 5, 0);

	if (sqlite_has(rows, 5)) {
		in->calls_first_chain |= !chain;
		if (chain > in->last_called && chain <= INT64_MAX)
			in->last_called = chain;
	}
	if (sqlite_int(rows, 3, 0) <= 0)
		return;
	if (sqlite_int(rows, 6, -1) != CUDA_BACKTRACE)
		*af_keys_at(&in->called, &key, sizeof key, NULL) = 1;
	else if (sqlite_has(rows, 5))
		*af_keys_at(&in->unwound, &key, sizeof key, NULL) = chain;
}

/*
 * Files of 2023.4 number stacks from 1 while their calls number them from 0, so each call would get
 * the stack of the call before, even of another thread. The numbers in use on both sides show it.
 */
static uint64_t chains_ahead(const struct import_nsys *in)
{
	return in->calls_first_chain && !af_map_get(&in->chains, 0) &&
	       in->last_chain == in->last_called + 1;
}

static uint32_t stack_of_call(struct import_nsys *in, const struct sqlite_rows *rows,
                              const struct call_key *key, uint32_t name)
{
	const uint64_t *unwound = af_keys_get(&in->unwound, key, sizeof *key);

	if (!sqlite_has(rows, 5) && !unwound)
		return 0;
	uint64_t chain = sqlite_has(rows, 5) ? (uint64_t)sqlite_int(rows, 5, 0) : *unwound;
	const uint64_t *stack = af_map_get(&in->chains, chain + chains_ahead(in));
	return stack ? nsys_stack_to(in, (uint32_t)*stack, name) : 0;
}

static void take_call(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_slice s = {.thread = UINT32_MAX};
	const struct call_key key = call_key(in, rows);

	if (sqlite_int(rows, 6, -1) == CUDA_BACKTRACE && af_keys_get(&in->called, &key, sizeof key))
		return;
	s.name = function_name(in, nsys_string(in, rows, 4));
	if (!sqlite_has(rows, 2) || !s.name) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!nsys_times(in, rows, &s.start_ns, &s.busy_ns))
		return;
	s.thread = nsys_thread(in, sqlite_int(rows, 2, 0));
	s.correlation = correlation_of(in, rows, 3);
	s.external = stack_of_call(in, rows, &key, s.name);
	if (s.thread != UINT32_MAX)
		af_builder_slice(in->builder, AF_BUILDER_CALL, &s);
}

/* Columns that all tables of device work have. */
#define WORK_COLUMNS                                                                               \
	"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",         \
	    "graphNodeId"
enum { WORK_DEVICE = 2, WORK_CONTEXT, WORK_STREAM, WORK_CORRELATION };
enum { WORK_PID = WORK_CORRELATION + 1, WORK_NODE, WORK_OWN };

static uint32_t number_of(const struct sqlite_rows *rows, int column)
{
	int64_t v = sqlite_int(rows, column, 0);

	return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static uint64_t bytes_of(const struct sqlite_rows *rows, int column)
{
	int64_t v = sqlite_int(rows, column, 0);

	return v > 0 ? (uint64_t)v : 0;
}

/* @node: id of the graph's node that it is, 0: none. */
static void work_add(struct import_nsys *in, const struct sqlite_rows *rows,
                     struct af_builder_descriptor *descriptor, int64_t node)
{
	struct af_builder_work work = {.space = in->first_space};
	uint32_t device = number_of(rows, WORK_DEVICE);

	if (!nsys_times(in, rows, &work.start_ns, &work.busy_ns))
		return;
	descriptor->device = device < DEVICES_MAX ? device : 0;
	descriptor->context = number_of(rows, WORK_CONTEXT);
	descriptor->stream = number_of(rows, WORK_STREAM);
	work.correlation = correlation_of(in, rows, WORK_CORRELATION);
	/* Old exports name no process here: then the file has only one. */
	if (sqlite_has(rows, WORK_PID) || !work.space) {
		int64_t global = sqlite_int(rows, WORK_PID, 0);
		work.space = nsys_space(in, global);
		nsys_main_thread(in, global);
	}
	work.node = nsys_graph_node(in, work.space, node);
	af_builder_work(in->builder, &work, descriptor);
}

static const char *const kernel_columns[] = {WORK_COLUMNS,
                                             "demangledName",
                                             "shortName",
                                             "registersPerThread",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             NULL};

static void take_kernel(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_descriptor descriptor = {.op = AF_OP_KERNEL};

	descriptor.kernel = nsys_string(in, rows, WORK_OWN);
	if (!descriptor.kernel)
		descriptor.kernel = nsys_string(in, rows, WORK_OWN + 1);
	descriptor.registers = number_of(rows, WORK_OWN + 2);
	uint64_t shared = (uint64_t)number_of(rows, WORK_OWN + 3) + number_of(rows, WORK_OWN + 4);
	descriptor.shared = shared <= UINT32_MAX ? (uint32_t)shared : UINT32_MAX;
	for (int i = 0; i < 3; i++) {
		descriptor.local[i] = number_of(rows, WORK_OWN + 8 + i);
		descriptor.global[i] =
		    (uint64_t)number_of(rows, WORK_OWN + 5 + i) * descriptor.local[i];
	}
	work_add(in, rows, &descriptor, sqlite_int(rows, WORK_NODE, 0));
}

/* ENUM_CUDA_MEMCPY_OPER */
static uint32_t copy_op(int64_t kind)
{
	static const uint8_t ops[] = {AF_OP_COPY, AF_OP_WRITE, AF_OP_READ, AF_OP_WRITE, AF_OP_READ,
	                              AF_OP_COPY, AF_OP_COPY,  AF_OP_COPY, AF_OP_COPY,  AF_OP_HOST,
	                              AF_OP_PEER, AF_OP_WRITE, AF_OP_READ, AF_OP_COPY};

	return kind >= 0 && kind < (int64_t)sizeof ops ? ops[kind] : AF_OP_COPY;
}

static void take_copy(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_descriptor descriptor = {.op = copy_op(sqlite_int(rows, WORK_OWN + 1, 0)),
	                                           .bytes = bytes_of(rows, WORK_OWN)};

	work_add(in, rows, &descriptor, sqlite_int(rows, WORK_NODE, 0));
}

static void take_fill(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_descriptor descriptor = {.op = AF_OP_FILL,
	                                           .bytes = bytes_of(rows, WORK_OWN)};

	work_add(in, rows, &descriptor, sqlite_int(rows, WORK_NODE, 0));
}

/* A graph that was timed as a whole. */
static void take_graph(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_descriptor descriptor = {.op = AF_OP_GRAPH};

	work_add(in, rows, &descriptor, nsys_graph_whole(rows, WORK_OWN));
}

enum { MEMORY_PID = 1, MEMORY_DEVICE, MEMORY_ADDRESS, MEMORY_BYTES, MEMORY_KIND, MEMORY_CATEGORY };
enum { MEMORY_CORRELATION = MEMORY_CATEGORY + 1, MEMORY_POOL };

static const char *const memory_columns[] = {"start",
                                             "globalPid",
                                             "deviceId",
                                             "address",
                                             "bytes",
                                             "memKind",
                                             "memoryOperationType",
                                             "correlationId",
                                             "localMemoryPoolAddress",
                                             NULL};

/* ENUM_CUDA_MEM_KIND; 0: pageable memory of the host is none of a device's. */
static uint8_t memory_of(const struct sqlite_rows *rows)
{
	static const uint8_t memories[] = {0,
	                                   AF_MEMORY_PINNED,
	                                   AF_MEMORY_DEVICE,
	                                   AF_MEMORY_DEVICE,
	                                   AF_MEMORY_MANAGED,
	                                   AF_MEMORY_DEVICE,
	                                   AF_MEMORY_MANAGED};
	int64_t kind = sqlite_int(rows, MEMORY_KIND, 0);
	uint8_t memory = kind >= 0 && kind < (int64_t)sizeof memories ? memories[kind] : 0;

	return memory == AF_MEMORY_DEVICE && sqlite_int(rows, MEMORY_POOL, 0) ? AF_MEMORY_POOL
	                                                                      : memory;
}

static void take_memory(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct af_builder_memory m = {.memory = memory_of(rows), .category = AF_CATEGORY_ALLOC};
	int64_t pid = sqlite_int(rows, MEMORY_PID, 0),
		operation = sqlite_int(rows, MEMORY_CATEGORY, -1);

	if (!m.memory || operation < 0 || operation > 1 || !sqlite_has(rows, MEMORY_PID)) {
		in->builder->unused[AF_BUILDER_FIELDS_UNUSED]++;
		return;
	}
	if (!nsys_time(in, rows, &m.time_ns))
		return;
	if (operation)
		m.category = AF_CATEGORY_FREE;
	nsys_main_thread(in, pid);
	m.process = af_builder_process(in->builder, nsys_space(in, pid),
	                               (uint32_t)(pid >> NSYS_GLOBAL_BITS & NSYS_ID_MASK));
	m.device = number_of(rows, MEMORY_DEVICE);
	m.device = m.device < DEVICES_MAX ? m.device : 0;
	m.address = (uint64_t)sqlite_int(rows, MEMORY_ADDRESS, 0);
	m.bytes = bytes_of(rows, MEMORY_BYTES);
	m.correlation = correlation_of(in, rows, MEMORY_CORRELATION);
	af_builder_memory(in->builder, &m);
}

void nsys_cuda(struct import_nsys *in)
{
	nsys_table(in, "CUDA_CALLCHAINS", NSYS_CHAIN_ORDER, nsys_chain_columns, take_chain);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_RUNTIME", NULL, call_columns, take_unwound);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_RUNTIME", NULL, call_columns, take_call);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_KERNEL", NULL, kernel_columns, take_kernel);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_MEMCPY", NULL,
	           (const char *const[]){WORK_COLUMNS, "bytes", "copyKind", NULL}, take_copy);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_MEMSET", NULL,
	           (const char *const[]){WORK_COLUMNS, "bytes", NULL}, take_fill);
	nsys_table(in, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NULL,
	           (const char *const[]){WORK_COLUMNS, "graphId", NULL}, take_graph);
	nsys_table(in, "CUDA_GPU_MEMORY_USAGE_EVENTS", NULL, memory_columns, take_memory);
}
