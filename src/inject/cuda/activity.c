/* CUPTI's activity buffers: records of device work become GPU_WORK events and their definitions. */
#include "inject/cuda/cuda.h"

#include <string.h>

#include "base/map.h"
#include "base/pages.h"
#include "inject/api/sums.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/kernels.h"
#include "inject/cuda/client.h"

/*
 * Buffers are mapped, used over and over, and never more than BUFFERS_MAX: a device that makes
 * records faster than they can be read loses some, counted, before the program loses its memory.
 * CUPTI must always be given one: what is written into the last one is not read.
 */
enum {
	BUFFER_BYTES = 256 << 10, /* without --cuda-buffer */
	BUFFERS_BYTES = 48 << 20, /* in all of them */
	BUFFERS_MAX = 192,
	BUFFERS_READY = 2 << 20, /* bytes of those that are made before the first launch */
	/*
	 * Room for a device's stamps until CUPTI has read them: 100,000 each, in 3 MB of the
	 * device's memory. It begins with 3; its own limit is 250.
	 */
	DEVICE_BUFFERS_MAX = 64,
	RECORD_BYTES = 200, /* about, for counting what was thrown away */
	KERNEL_NAME_BYTES = 60000,
};

/* The size is set before the first is made, and then stays. */
static struct {
	size_t bytes;
	_Atomic uint32_t nr;
	_Atomic(uint8_t *) free[BUFFERS_MAX];
} buffers;

static uint8_t discarded[BUFFER_BYTES] __attribute__((aligned(64)));

static struct af_handles queues = AF_HANDLES_INIT; /* context << 32 | stream, + 1 → id */
/* By name alone: a record does not say which module its kernel is of. */
static struct af_kernels kernels = AF_KERNELS_INIT;

_Atomic uint64_t af_cuda_devices;

/* Timing a node costs the device about a microsecond: this many cost it a tenth of its time. */
enum { NODES_A_SECOND = 100000 };

static _Atomic uint64_t nr_nodes_timed;
static bool reported_many;

/* With its pages: a fault for every twentieth launch would be most of what a launch costs. */
static uint8_t *buffer_map(void)
{
	size_t most = BUFFERS_BYTES / buffers.bytes;

	if (atomic_fetch_add(&buffers.nr, 1) >= (most < BUFFERS_MAX ? most : BUFFERS_MAX))
		return NULL;
	return af_pages(buffers.bytes, MAP_POPULATE);
}

static void buffer_request(uint8_t **buffer, size_t *size, size_t *nr_records_max)
{
	uint8_t *b = NULL;

	*nr_records_max = 0; /* as many as fit */
	for (uint32_t i = 0; i < BUFFERS_MAX && !b; i++)
		if (atomic_load_explicit(&buffers.free[i], memory_order_relaxed))
			b = atomic_exchange(&buffers.free[i], NULL);
	if (!b)
		b = buffer_map();
	*buffer = b ? b : discarded;
	*size = b ? buffers.bytes : sizeof discarded;
}

/* Zero a used buffer here: CUPTI would do so in the middle of a launch. New ones are zero. */
static void buffer_clean(uint8_t *b)
{
	memset(b, 0, b == discarded ? sizeof discarded : buffers.bytes);
}

static void buffer_return(uint8_t *b)
{
	for (uint32_t i = 0; i < BUFFERS_MAX; i++) {
		uint8_t *none = NULL;
		if (!atomic_load_explicit(&buffers.free[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&buffers.free[i], &none, b))
			return;
	}
}

static void buffers_make(const struct af_session *session)
{
	if (!buffers.bytes)
		buffers.bytes = session && session->cuda_buffer_bytes ? session->cuda_buffer_bytes
		                                                      : BUFFER_BYTES;
	for (size_t made = 0; made < BUFFERS_READY; made += buffers.bytes) {
		uint8_t *b = buffer_map();
		if (b)
			buffer_return(b);
	}
}

static uint32_t queue_of(struct af_thread_context *t, uint32_t device, uint32_t context,
                         uint32_t stream)
{
	uint64_t key = ((uint64_t)context << 32 | stream) + 1;
	uint64_t known = af_handles_get(&queues, key);

	if (__builtin_expect(known != 0, 1))
		return (uint32_t)known;
	uint32_t id = af_inject_new_id(AF_ID_QUEUE);
	known = af_handles_claim(&queues, key, id);
	if (known == id)
		af_stream_put(&t->stream, queue, af_now_ns(), .queue = id,
		              .device = af_cuda_device(device), .context = context,
		              .handle = stream);
	return (uint32_t)known;
}

/* A piece of work as a record tells it, whatever its kind. */
struct piece {
	struct af_ev_descriptor descriptor;
	uint32_t correlation;
	uint64_t start, end, node;
};

static void piece_write(struct af_thread_context *t, const struct piece *p, uint32_t descriptor,
                        uint64_t now)
{
	uint32_t node = af_cuda_node(p->node);
	if (node)
		atomic_fetch_add_explicit(&nr_nodes_timed, 1, memory_order_relaxed);
	uint64_t busy = p->end - p->start;

	if (__builtin_expect(af_sums_only(), 0)) {
		bool failed = !p->start || p->end < p->start;
		af_sums_add(t, AF_SUM_WORK | descriptor, failed, busy, 0);
		return;
	}
	if (__builtin_expect(p->start && p->end >= p->start && busy <= UINT32_MAX, 1)) {
		af_stream_put(&t->stream, gpu_work, now, .descriptor = descriptor,
		              .correlation = p->correlation, .start_ns = p->start,
		              .busy_ns = (uint32_t)busy, .node = node);
		return;
	}
	bool stamped = p->start && p->end > p->start;
	af_stream_put(&t->stream, gpu_work_long, now, .descriptor = descriptor,
	              .correlation = p->correlation, .start_ns = stamped ? p->start : 0,
	              .end_ns = stamped ? p->end : 0, .node = node);
	/* Flushed while it ran, as the program ends; or the driver had no stamps for it. */
	if (!stamped)
		af_stream_put(&t->stream, lost, now,
		              .reason = af_cuda_ending() && !p->end ? AF_LOST_UNFINISHED
		                                                    : AF_LOST_NO_STAMPS,
		              .count = 1);
}

/* Fields that DESCRIPTOR has no room for; written again when a launch differs in them. */
static void config_write(struct af_thread_context *t, uint32_t descriptor,
                         const struct af_cupti_kernel *k, uint64_t now)
{
	struct af_ev_launch_config *known =
	    &t->descriptors.configs[descriptor % AF_DESCRIPTOR_CONFIGS].is;
	const struct af_ev_launch_config is = {
	    .descriptor = descriptor,
	    .registers = k->registers,
	    .static_shared = k->static_shared,
	    .dynamic_shared = k->dynamic_shared,
	    .local = k->local_per_thread,
	    .cluster_x = k->cluster[0],
	    .cluster_y = k->cluster[1],
	    .cluster_z = k->cluster[2],
	};
	void *at;

	if (__builtin_expect(!memcmp(known, &is, sizeof is), 1))
		return;
	at = af_stream_begin(&t->stream, AF_KIND_LAUNCH_CONFIG, now, sizeof is);
	if (!at)
		return;
	memcpy(at, &is, sizeof is);
	af_stream_end(&t->stream);
	*known = is;
}

static uint32_t kernel_of(struct af_thread_context *t, const char *name)
{
	return name ? af_kernel_id(&kernels, t, 0, name, strnlen(name, KERNEL_NAME_BYTES)) : 0;
}

static void kernel_read(struct af_thread_context *t, const struct af_cupti_kernel *k, uint64_t now)
{
	if (af_cuda_skipped(k->correlation))
		return;
	struct piece p = {
	    .descriptor = {.op = AF_OP_KERNEL,
	                   .queue = queue_of(t, k->device, k->context, k->stream),
	                   .kernel = kernel_of(t, k->name),
	                   .global_x = (uint64_t)k->grid[0] * k->block[0],
	                   .global_y = (uint64_t)k->grid[1] * k->block[1],
	                   .global_z = (uint64_t)k->grid[2] * k->block[2],
	                   .local_x = k->block[0],
	                   .local_y = k->block[1],
	                   .local_z = k->block[2]},
	    .correlation = k->correlation,
	    .start = k->start,
	    .end = k->end,
	    .node = k->node,
	};

	uint32_t descriptor =
	    af_work_descriptor_id(&t->descriptors, &t->stream, now, &p.descriptor);
	config_write(t, descriptor, k, now);
	piece_write(t, &p, descriptor, now);
}

static uint32_t copy_op(uint32_t kind)
{
	static const uint8_t ops[] = {
	    [AF_CUPTI_HTOD] = AF_OP_WRITE, [AF_CUPTI_HTOA] = AF_OP_WRITE,
	    [AF_CUPTI_DTOH] = AF_OP_READ,  [AF_CUPTI_ATOH] = AF_OP_READ,
	    [AF_CUPTI_HTOH] = AF_OP_HOST,  [AF_CUPTI_PTOP] = AF_OP_PEER,
	    [AF_CUPTI_ATOA] = AF_OP_COPY,  [AF_CUPTI_ATOD] = AF_OP_COPY,
	    [AF_CUPTI_DTOA] = AF_OP_COPY,  [AF_CUPTI_DTOD] = AF_OP_COPY,
	};

	return kind < sizeof ops && ops[kind] ? ops[kind] : AF_OP_COPY;
}

static void other_write(struct af_thread_context *t, const struct piece *p, uint64_t now)
{
	if (!af_cuda_skipped(p->correlation))
		piece_write(t, p,
		            af_work_descriptor_id(&t->descriptors, &t->stream, now, &p->descriptor),
		            now);
}

/* Copies, fills and graphs as a whole: the same fields, elsewhere in each record. */
#define PIECE(t, record, what, size)                                                               \
	&(struct piece)                                                                            \
	{                                                                                          \
		.descriptor = {.op = (what),                                                       \
		               .queue = queue_of(t, (record)->device, (record)->context,           \
		                                 (record)->stream),                                \
		               .bytes = (size)},                                                   \
		.correlation = (record)->correlation, .start = (record)->start,                    \
		.end = (record)->end, .node = (record)->node                                       \
	}

static uint32_t overhead_kind(uint32_t kind)
{
	static const uint8_t kinds[] = {
	    [1] = AF_OVERHEAD_BUFFER_FLUSH,    [2] = AF_OVERHEAD_INSTRUMENTATION,
	    [3] = AF_OVERHEAD_RESOURCE,        [4] = AF_OVERHEAD_LAZY_LOADING,
	    [5] = AF_OVERHEAD_LAZY_LOADING,    [6] = AF_OVERHEAD_COMMAND_BUFFER_FULL,
	    [7] = AF_OVERHEAD_ACTIVITY_BUFFER, [8] = AF_OVERHEAD_UVM};

	if (kind == 1)
		return AF_OVERHEAD_DRIVER_COMPILER;
	kind >>= 16;
	return kind && kind < sizeof kinds ? kinds[kind] : AF_OVERHEAD_OTHER;
}

/* For the host: on the clock that all devices share in CUPTI, the first device's. */
static void overhead_read(struct af_thread_context *t, const struct af_cupti_overhead *o,
                          uint64_t now)
{
	if (o->start && o->end > o->start)
		af_stream_put(&t->stream, overhead, now, .overhead = overhead_kind(o->overhead),
		              .device = af_cuda_device(0), .start_ns = o->start,
		              .busy_ns = o->end - o->start);
}

static void graph_read(struct af_thread_context *t, const struct af_cupti_graph_trace *g,
                       uint64_t now)
{
	struct piece p = {
	    .descriptor = {.op = AF_OP_GRAPH,
	                   .queue = queue_of(t, g->device, g->context, g->stream)},
	    .correlation = g->correlation,
	    .start = g->start,
	    .end = g->end,
	    .node = (uint64_t)g->graph << 32,
	};

	other_write(t, &p, now);
}

static void record_read(struct af_thread_context *t, const struct af_cupti_record *record,
                        uint64_t now)
{
	const void *r = record;
	const struct af_cupti_memcpy *copy = r;
	const struct af_cupti_memcpy_peer *peer = r;
	const struct af_cupti_memset *set = r;

	switch (record->kind) {
	case AF_CUPTI_CONCURRENT_KERNEL:
		kernel_read(t, r, now);
		break;
	case AF_CUPTI_MEMCPY:
		other_write(t, PIECE(t, copy, copy_op(copy->copy), copy->bytes), now);
		break;
	case AF_CUPTI_MEMCPY_PEER:
		other_write(t, PIECE(t, peer, AF_OP_PEER, peer->bytes), now);
		break;
	case AF_CUPTI_MEMSET:
		other_write(t, PIECE(t, set, AF_OP_FILL, set->bytes), now);
		break;
	case AF_CUPTI_GRAPH_TRACE:
		graph_read(t, r, now);
		break;
	case AF_CUPTI_OVERHEAD:
		overhead_read(t, r, now);
		break;
	default:
		break;
	}
}

/* Called by a thread of CUPTI's, or by ours that flushes. */
static void buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
	const struct af_cupti_record *record = NULL;
	size_t dropped = 0;
	(void)size;

	if (!buffer)
		return;
	if (buffer == discarded) {
		buffer_clean(buffer);
		af_inject_lost(AF_LOST_DROPPED, valid / RECORD_BYTES);
		return;
	}
	if (valid)
		af_client_copy(buffer, valid);
	struct af_thread_context *t = valid && af_cuda_on() ? af_thread_enter() : NULL;
	if (t) {
		af_client_stamps(buffer, valid);
		uint64_t now = af_now_ns();
		while (!af_cupti.ActivityGetNextRecord(buffer, valid, &record))
			record_read(t, record, now);
		af_thread_leave(t);
	}
	buffer_clean(buffer);
	buffer_return(buffer);
	if (!af_cupti.ActivityGetNumDroppedRecords(context, stream, &dropped))
		af_inject_lost(AF_LOST_DROPPED, dropped);
}

/*
 * Only reported: enabling GRAPH_TRACE while graphs run ends the program (CUPTI 13.0 on an H200), so
 * how they are timed is chosen before.
 */
void af_cuda_graphs_poll(uint64_t now_ns)
{
	static uint64_t before_ns, before_nr;
	uint64_t nr = atomic_load_explicit(&nr_nodes_timed, memory_order_relaxed);
	uint64_t passed_ns = now_ns - before_ns, timed = nr - before_nr;

	if (reported_many)
		return;
	reported_many = before_ns && timed > NODES_A_SECOND * passed_ns / 1000000000;
	before_ns = now_ns;
	before_nr = nr;
	if (reported_many)
		af_inject_note(
		    "cuda.graphs",
		    "more than 100,000 nodes a second were timed, which costs the device "
		    "about 1 us each: --cuda-graphs=whole times graphs as a whole");
}

/* KERNEL would do without CONCURRENT, but runs one kernel after the other. */
static const uint32_t wanted[] = {AF_CUPTI_CONCURRENT_KERNEL, AF_CUPTI_MEMCPY, AF_CUPTI_MEMSET,
                                  AF_CUPTI_OVERHEAD, AF_CUPTI_MEMCPY_PEER};

/*
 * With GRAPH_TRACE, MEMCPY and MEMCPY2 on, a flush while the program runs breaks programs that
 * replay graphs: CUPTI 13.0 on an H200 ended 60 of 77 runs of two JAX programs by
 * CUDA_ERROR_LAUNCH_FAILED or a crash, and none of 38 where any one of the four was missing. The
 * last kind, copies between devices, is the least to go without.
 */
static unsigned nr_wanted(bool whole_graphs)
{
	return sizeof wanted / sizeof *wanted - (whole_graphs ? 1 : 0);
}

static _Atomic uint64_t kinds_on;

bool af_cuda_activity_wants(uint32_t kind)
{
	return kind < 64 && atomic_load(&kinds_on) >> kind & 1;
}

/* Kinds that the program's own profiler enabled stay on. */
void af_cuda_activity_stop(void)
{
	uint64_t on = atomic_exchange(&kinds_on, 0);

	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (on >> wanted[i] & 1 && !af_client_has_kind(wanted[i]))
			af_cupti.ActivityDisable(wanted[i]);
}

/*
 * Settings that CUPTI refuses stay as they are. Stamps in pinned memory of the host would make one
 * launch of a hundred cheaper still, but each kernel of a busy device dearer (H200: a step +1.2 %
 * in place of +0.7).
 */
static void attributes_set(void)
{
	size_t limit = DEVICE_BUFFERS_MAX, limit_size = sizeof limit, size = 1;
	uint8_t yes = 1;

	af_cupti.ActivitySetAttribute(AF_CUPTI_DEVICE_BUFFER_POOL_LIMIT, &limit_size, &limit);
	af_cupti.ActivitySetAttribute(AF_CUPTI_ZEROED_BUFFERS, &size, &yes);
}

enum af_cupti_result af_cuda_activity_start(void)
{
	const struct af_session *session = af_inject_session();

	buffers_make(session);
	attributes_set();
	enum af_cupti_result rc =
	    af_cupti.ActivityRegisterCallbacks(buffer_request, buffer_complete);
	bool whole = session && session->flags & AF_SESSION_GRAPHS_WHOLE;
	if (!rc && whole) {
		rc = af_cupti.ActivityEnable(AF_CUPTI_GRAPH_TRACE);
		af_inject_note("cuda.graphs",
		               "timed as a whole, as --cuda-graphs asked; copies between devices "
		               "are not timed then, as CUPTI would break the program");
	}
	for (unsigned i = 0; i < nr_wanted(whole) && !rc; i++) {
		rc = af_cupti.ActivityEnable(wanted[i]);
		if (!rc)
			atomic_fetch_or(&kinds_on, 1ull << wanted[i]);
	}
	return rc;
}
