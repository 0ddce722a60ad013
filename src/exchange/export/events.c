/* gpuperf's GPU trace: calls and device work in Trace Event Format, in gpuperf's own fields. */
#include <stdlib.h>
#include <string.h>

#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/err.h"
#include "exchange/export/export.h"
#include "exchange/export/trace.h"

#define EXPORT_WORKS                                                                               \
	(1ull << AF_KIND_WORK | 1ull << AF_KIND_WORK_LONG | 1ull << AF_KIND_CALL |                 \
	 1ull << AF_KIND_CALL_LONG | 1ull << AF_KIND_GPU_WORK | 1ull << AF_KIND_GPU_WORK_LONG)

struct export_events {
	struct export_trace trace;
	struct af_map ordinals; /* process and id of a device → its API's own number of it */
	struct af_buf out;
	struct af_export_count *count;
};

static void us_add(struct af_buf *b, uint64_t ns)
{
	af_buf_u64(b, ns / 1000);
	af_buf_fmt(b, ".%03u", (unsigned)(ns % 1000));
}

static void event_begin(struct export_events *x, const char *prefix, const char *name,
                        uint64_t start_ns, uint64_t busy_ns)
{
	struct af_buf *b = &x->out;
	size_t at;

	af_buf_str(b, x->count->written++ ? ",\n    " : "\n    ");
	af_buf_str(b, "{\"name\": ");
	/* The name goes behind the prefix, within its quotes. */
	at = b->len;
	af_buf_json(b, name, strlen(name));
	size_t len = b->len - at, prefix_len = strlen(prefix);
	af_buf_add(b, prefix, prefix_len);
	memmove(b->data + at + 1 + prefix_len, b->data + at + 1, len - 1);
	memcpy(b->data + at + 1, prefix, prefix_len);
	af_buf_str(b, ", \"ph\": \"X\", \"ts\": ");
	us_add(b, start_ns + x->trace.epoch_ns);
	af_buf_str(b, ", \"dur\": ");
	us_add(b, busy_ns);
}

static void call_write(struct export_events *x, const struct af_call *c)
{
	const struct af_world *w = &x->trace.whole;
	const struct af_process *p = af_world_process(w, c->process);
	const char *name = c->function < w->nr_functions ? w->functions[c->function].name : NULL;

	/* An import's stand-in for a call has no function. */
	if (!c->function || !name || !*name)
		return;
	/* The driver's functions are cu…, a runtime's cuda… and hip…. */
	bool driver = !strncmp(name, "cu", 2) && strncmp(name, "cuda", 4) != 0;
	/* gpuperf's merger looks for launches of kernels among the runtime's calls alone. */
	driver &= !strstr(name, "LaunchKernel");
	event_begin(x, driver ? "Driver: " : "Runtime: ", name, c->start_ns,
	            c->end_ns - c->start_ns);
	af_buf_fmt(&x->out,
	           ", \"tid\": %u, \"pid\": %u, \"cat\": \"%s\", \"args\": {\"correlationId\": "
	           "%u}}",
	           c->tid, p ? p->pid : 0, driver ? "CUDA_Driver" : "CUDA_Runtime", c->correlation);
}

static const char *copy_type(uint32_t op)
{
	switch (op) {
	case AF_OP_READ:
		return "DtoH";
	case AF_OP_WRITE:
		return "HtoD";
	case AF_OP_COPY:
		return "DtoD";
	case AF_OP_PEER:
		return "PtoP";
	case AF_OP_HOST:
		return "HtoH";
	default:
		return NULL;
	}
}

/*
 * Whether a side of a copy, 'H', 'D' or 'P', is on a device; of the host's memory no more is known.
 */
static const char *copy_side(char side)
{
	return side == 'H' ? "UNKNOWN" : "DEVICE";
}

static void kernel_args(struct af_buf *b, const struct af_ev_descriptor *s)
{
	uint64_t global[3] = {s->global_x, s->global_y, s->global_z};
	uint32_t local[3] = {s->local_x, s->local_y, s->local_z};

	af_buf_str(b, ", \"grid\": [");
	for (int i = 0; i < 3; i++) {
		af_buf_str(b, i ? ", " : "");
		af_buf_u64(b, local[i] ? (global[i] + local[i] - 1) / local[i] : global[i]);
	}
	af_buf_fmt(b, "], \"block\": [%u, %u, %u]", local[0] ? local[0] : 1,
	           local[1] ? local[1] : 1, local[2] ? local[2] : 1);
}

static int device_order(const void *a, const void *b)
{
	const struct af_device *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/*
 * An API numbers its devices from 0, and ids of a process count those of all its APIs in the order
 * of these numbers. An import knows only the devices that did something, so what is left out
 * between two ids counts as the API's own.
 */
static void ordinals_find(struct export_events *x)
{
	const struct af_world *w = &x->trace.whole;
	struct af_device *all = af_xcalloc(w->nr_devices + 1ull, sizeof *all);
	struct af_map of_api = {0}; /* process and API → its devices with lower ids */
	uint32_t nr = 0, before = 0;

	for (uint32_t i = 1; i < w->nr_devices; i++) {
		const struct af_device *d = &w->devices[i];
		/* A later definition of an id replaces the first. */
		if (d->id && af_world_device(w, d->process, d->id) == d)
			all[nr++] = *d;
	}
	AF_SORT(all, nr, device_order);
	for (uint32_t i = 0; i < nr; i++, before++) {
		const struct af_device *d = &all[i];
		if (!i || d->process != all[i - 1].process)
			before = 0;
		uint64_t *own = af_map_at(&of_api, (uint64_t)d->process << 32 | d->api, NULL);
		uint32_t others = before - (uint32_t)*own;
		*af_map_at(&x->ordinals, (uint64_t)d->process << 32 | d->id, NULL) =
		    d->id - 1 - others;
		++*own;
	}
	af_map_free(&of_api);
	free(all);
}

static uint32_t device_ordinal(const struct export_events *x, uint32_t process, uint32_t id)
{
	const uint64_t *known = af_map_get(&x->ordinals, (uint64_t)process << 32 | id);

	if (known)
		return (uint32_t)*known;
	return id ? id - 1 : 0;
}

static void work_where(struct export_events *x, const struct af_work *work, uint32_t queue)
{
	const struct af_queue *q = af_world_queue(&x->trace.whole, work->process, queue);
	uint32_t device = q ? device_ordinal(x, work->process, q->device) : 0;
	unsigned long long stream = work->api == AF_API_OPENCL
	                                ? queue
	                                : export_queue_handle(&x->trace, work->process, queue);

	af_buf_fmt(&x->out,
	           ", \"deviceId\": %u, \"contextId\": %u, \"streamId\": %llu}, \"tid\": "
	           "\"GPU%u_Stream%llu\", \"pid\": \"Device_%u\"}",
	           device, q ? q->context : 0, stream, device, stream, device);
}

static bool work_write(struct export_events *x, struct af_work *work)
{
	const struct af_world *w = &x->trace.whole;

	if (!work->descriptor || work->status || !work->start_ns ||
	    !af_work_place(&x->trace.now, work, NULL) || work->end_ns < work->start_ns)
		return false;
	const struct af_ev_descriptor *s = &w->descriptors[work->descriptor].is;
	const char *type = copy_type(s->op);
	unsigned long long id = work->id, bytes = s->bytes;
	if (s->op == AF_OP_KERNEL) {
		const char *name = export_kernel_name(&x->trace, work->process, s->kernel);
		event_begin(x, "Kernel: ", *name ? name : "unknown", work->start_ns,
		            work->end_ns - work->start_ns);
		af_buf_fmt(&x->out, ", \"cat\": \"GPU_Kernel\", \"args\": {\"correlationId\": %llu",
		           id);
		kernel_args(&x->out, s);
	} else if (type) {
		event_begin(x, "MemCopy: ", type, work->start_ns, work->end_ns - work->start_ns);
		af_buf_fmt(&x->out,
		           ", \"cat\": \"MemCopy\", \"args\": {\"type\": \"%s\", \"size\": %llu, "
		           "\"copyCount\": 1, \"srcKind\": \"%s\", \"dstKind\": \"%s\", "
		           "\"correlationId\": %llu",
		           type, bytes, copy_side(type[0]), copy_side(type[3]), id);
	} else {
		return false;
	}
	work_where(x, work, s->queue);
	return true;
}

static void event_write(struct export_events *x, const struct af_event *ev)
{
	struct af_call call;
	struct af_work work;

	const struct af_world *w = &x->trace.now;

	if (af_call_read(w, ev, &call)) {
		if (af_time_range_call(&w->time_range, &call))
			call_write(x, &call);
	} else if (af_work_read(w, ev, &work) && af_time_range_work(&w->time_range, w, &work)) {
		x->count->left_out += !work_write(x, &work);
	}
}

int af_export_events(const struct af_export_request *request, struct af_export_count *count,
                     struct af_err *err)
{
	struct export_events x = {.count = count};
	struct af_event ev;
	int error = 0;

	int rc = export_trace_open(&x.trace, request, EXPORT_WORKS, err);
	if (!rc)
		ordinals_find(&x);
	af_buf_str(&x.out, "{\n  \"traceEvents\": [");
	while (!rc && !error && export_trace_next(&x.trace, &ev)) {
		event_write(&x, &ev);
		if (x.out.len >= EXPORT_FLUSH_BYTES)
			error = af_buf_flush(&x.out, request->fd);
	}
	af_buf_str(&x.out, "\n  ],\n  \"displayTimeUnit\": \"ms\",\n  \"metadata\": {\n"
	                   "    \"tool\": \"aflame " AFLAME_VERSION "\",\n"
	                   "    \"format\": \"Chrome Trace Format\"\n  }\n}\n");
	if (!rc && !error)
		error = af_buf_flush(&x.out, request->fd);
	if (error)
		rc = af_fail(err, error, "cannot write the events");
	export_trace_close(&x.trace);
	af_map_free(&x.ordinals);
	af_buf_free(&x.out);
	return rc;
}
