/* Devices in a timeline: calls of their APIs, their work, their memory, and what tracing cost. */
#include "analyse/time/timeline_private.h"
#include "analyse/world/work.h"
#include "api/tables/tables.h"
#include "base/arena.h"

struct timeline_counter {
	uint32_t track;
	uint64_t bytes;
};

/*
 * The arrow from a call to its work. Of CUDA's ids only the lower half is in every record, so the
 * 2^32nd call after this one has the same; arrows end where the work does, so they do not meet.
 */
static uint64_t flow_of(uint32_t process, uint32_t api, uint64_t correlation)
{
	return (uint64_t)process << 40 | (uint64_t)(api & 0xff) << 32 | (uint32_t)correlation;
}

/* A node of a graph is one of many works of its call. */
static enum af_flow way_of(const struct af_work *work)
{
	if (!work->launched)
		return AF_FLOW_NONE;
	return work->node_id ? AF_FLOW_THROUGH : AF_FLOW_TO;
}

static bool category_work(uint32_t category)
{
	return category == AF_CATEGORY_LAUNCH || category == AF_CATEGORY_COPY ||
	       category == AF_CATEGORY_FILL || category == AF_CATEGORY_GRAPH_LAUNCH;
}

/* Names of functions and of kernels are known since the first reading. */
static uint32_t function_name(struct af_timeline *t, uint32_t function)
{
	AF_REACH(t->names_of_functions, function, t->cap_functions);
	uint32_t *known = &t->names_of_functions[function];
	if (!*known)
		*known = timeline_name(t, function ? t->world.functions[function].name : "call");
	return *known;
}

void timeline_call(struct af_timeline *t, const struct af_world *w, const struct af_event *ev)
{
	struct af_call call;

	if (!af_call_read(w, ev, &call) && !af_call_seen_read(w, ev, &call))
		return;
	if (!af_time_range_call(&t->world.time_range, &call))
		return;
	/* A call that the process itself recorded gains nothing from the kernel's record of it. */
	bool seen = ev->kind == AF_KIND_CALL_SEEN;
	if ((seen && call.correlation) || !timeline_wants(t, call.start_ns, call.end_ns))
		return;
	const struct af_function *f = call.function ? &t->world.functions[call.function] : NULL;
	/* Those of MPI are known by their kind alone. */
	const struct af_api_function *is = call.function ? NULL : af_api_function(ev->kind);
	struct af_slice s = {
	    .kind = AF_SLICE_CALL,
	    .start_ns = call.start_ns,
	    .end_ns = call.end_ns,
	    .name = is ? timeline_name(t, is->name) : function_name(t, call.function),
	    .stack = timeline_call_stack(t, call.process, call.path, call.function, 0),
	    .correlation = call.correlation,
	    .status = call.status,
	};
	if (!seen && (f || is ? category_work(f ? f->category : is->category) : true)) {
		s.way = AF_FLOW_FROM;
		s.flow = flow_of(call.process,
		                 f             ? f->api
		                 : call.is_hip ? AF_API_HIP
		                               : AF_API_CUDA,
		                 call.correlation);
	}
	timeline_put(t, ROW_CALLS, call.process, &(struct timeline_row_id){.number = call.tid}, &s);
}

/* For OpenCL the trace has the moment of each call. */
void timeline_launch(struct af_timeline *t, const struct af_event *ev)
{
	struct af_ev_launch l;

	if (!af_event_decode(ev, &l, sizeof l, NULL) ||
	    !timeline_wants(t, ev->time_ns, ev->time_ns))
		return;
	uint32_t path = af_world_path(&t->world, ev, l.callpath);
	struct af_slice s = {
	    .kind = AF_SLICE_CALL,
	    .start_ns = ev->time_ns,
	    .end_ns = ev->time_ns,
	    .name = timeline_name(t, "launch"),
	    .stack = timeline_call_stack(t, ev->process, path, 0, 0),
	    .correlation = l.correlation,
	    .way = AF_FLOW_FROM,
	    .flow = flow_of(ev->process, AF_API_OPENCL, l.correlation),
	};
	timeline_put(t, ROW_CALLS, ev->process, &(struct timeline_row_id){.number = ev->tid}, &s);
}

static const char *work_name(const struct af_world *w, uint32_t descriptor)
{
	const struct af_work_descriptor *s = &w->descriptors[descriptor];
	const char *kernel =
	    s->is.op == AF_OP_KERNEL ? af_world_kernel(w, s->process, s->is.kernel) : "";

	if (s->is.op != AF_OP_KERNEL)
		return af_op_text(s->is.op);
	return *kernel ? kernel : "[unnamed kernel]";
}

static uint32_t descriptor_name(struct af_timeline *t, uint32_t descriptor)
{
	AF_REACH(t->names_of_works, descriptor, t->cap_works);
	uint32_t *known = &t->names_of_works[descriptor];
	if (!*known)
		*known = timeline_name(t, work_name(&t->world, descriptor));
	return *known;
}

/* False where it cannot stand on a track, and why is counted. */
static bool work_place(struct af_timeline *t, struct af_work *work)
{
	uint64_t *why = NULL;

	if (work->status)
		why = &t->all.failed;
	else if (!work->descriptor)
		why = &t->all.unknown;
	else if (!work->start_ns || work->end_ns < work->start_ns)
		why = &t->all.unstamped;
	else if (!af_work_place(&t->world, work, NULL))
		why = &t->all.unplaced;
	if (why)
		++*why;
	return !why;
}

void timeline_work(void *timeline, const struct af_work *joined)
{
	struct af_timeline *t = timeline;
	struct af_work work = *joined;

	bool trees = t->query.trees != NULL;

	if (!timeline_trees_work(t, &work))
		return;
	if (!work_place(t, &work) || !timeline_wants(t, work.start_ns, work.end_ns))
		return;
	uint64_t since_ns = work.queued_ns ? work.queued_ns : work.call_start_ns;
	struct af_slice s = {
	    .kind = AF_SLICE_WORK,
	    .start_ns = work.start_ns,
	    .end_ns = work.end_ns,
	    .name = descriptor_name(t, work.descriptor),
	    .stack =
		trees ? timeline_trees_group(t, &work)
		      : timeline_call_stack(t, work.process, work.path, work.function, work.node),
	    .descriptor = work.descriptor,
	    .graph = work.node ? t->world.nodes[work.node].graph : 0,
	    .correlation = (uint32_t)work.id,
	    .tid = work.launched ? work.tid : 0,
	    .queued_ns = since_ns && since_ns < work.start_ns ? work.start_ns - since_ns : 0,
	    .way = way_of(&work),
	    .flow = flow_of(work.process, work.api, work.id),
	};
	struct timeline_row_id id = {.number = t->world.descriptors[work.descriptor].is.queue};
	timeline_put(t, ROW_QUEUE, work.process, &id, &s);
}

static struct timeline_counter *counter_of(struct af_timeline *t, uint32_t process, uint32_t device,
                                           uint32_t memory)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_counter, AF_KEY(process, device, memory), &fresh);

	if (fresh) {
		AF_GROW(t->counters, t->nr_counters, t->cap_counters);
		t->counters[t->nr_counters] = (struct timeline_counter){0};
		*slot = t->nr_counters++;
	}
	return &t->counters[*slot];
}

/* The allocation has the size of what is freed; 0 when that was before the trace. */
static uint64_t memory_bytes(struct af_timeline *t, const struct af_event *ev,
                             const struct af_ev_memory *m)
{
	bool alloc = m->category == AF_CATEGORY_ALLOC;
	uint64_t *slot = af_keys_at(&t->by_address, AF_KEY(ev->process, m->address), NULL);
	uint64_t known = *slot;

	*slot = alloc ? m->bytes : 0;
	return alloc || m->bytes ? m->bytes : known;
}

void timeline_memory(struct af_timeline *t, const struct af_event *ev)
{
	struct af_ev_memory m;

	if (!af_event_decode(ev, &m, sizeof m, NULL) ||
	    (m.category != AF_CATEGORY_ALLOC && m.category != AF_CATEGORY_FREE))
		return;
	struct timeline_counter *c = counter_of(t, ev->process, m.device, m.memory);
	uint64_t bytes = memory_bytes(t, ev, &m);
	if (m.category == AF_CATEGORY_ALLOC)
		c->bytes += bytes;
	else
		c->bytes -= bytes < c->bytes ? bytes : c->bytes;
	if (!timeline_wants(t, ev->time_ns, ev->time_ns))
		return;
	if (!c->track)
		c->track = timeline_counter(t, ev->process, m.device, af_memory_text(m.memory));
	struct af_point point = {.track = c->track, .time_ns = ev->time_ns, .value = c->bytes};
	timeline_failed(t, t->into.point(t->into.arg, &point));
}

void timeline_overhead(struct af_timeline *t, const struct af_event *ev)
{
	struct af_ev_overhead o;

	if (!af_event_decode(ev, &o, sizeof o, NULL))
		return;
	struct af_clock *clock = af_clocks_find(&t->world.clocks, ev->process, o.device);
	if (!clock || !o.start_ns) {
		t->all.unplaced++;
		return;
	}
	uint64_t start_ns = af_clock_convert(clock, o.start_ns, NULL);
	struct af_slice s = {
	    .kind = AF_SLICE_OVERHEAD,
	    .start_ns = start_ns,
	    .end_ns = o.busy_ns < UINT64_MAX - start_ns ? start_ns + o.busy_ns : start_ns,
	    .name = timeline_name(t, af_overhead_text(o.overhead)),
	};
	if (!timeline_wants(t, s.start_ns, s.end_ns))
		return;
	timeline_cut(t, &s);
	timeline_put(t, ROW_OVERHEAD, ev->process, &(struct timeline_row_id){.number = o.device},
	             &s);
}
