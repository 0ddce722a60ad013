#include "analyse/join/launches.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/join/launches_private.h"
#include "analyse/join/launches_table.h"
#include "api/tables/tables.h"
#include "base/arena.h"

static struct launches_table *table_find(struct af_launches *l, uint32_t process, uint32_t api)
{
	bool fresh;
	uint64_t *slot = af_map_at(&l->by_table, (uint64_t)process << 32 | api, &fresh);

	if (fresh) {
		AF_GROW(l->tables, l->nr_tables, l->cap_tables);
		l->tables[l->nr_tables] = (struct launches_table){.process = process, .api = api};
		*slot = l->nr_tables++;
	}
	l->last_table = (uint32_t)*slot;
	return &l->tables[l->last_table];
}

/* Most events are of the process and API of the one before. */
static inline struct launches_table *table_of(struct af_launches *l, uint32_t process, uint32_t api)
{
	struct launches_table *last = l->tables ? &l->tables[l->last_table] : NULL;

	return last && last->process == process && last->api == api ? last
	                                                            : table_find(l, process, api);
}

static struct launches_device *device_find(struct af_launches *l, uint32_t table, uint32_t device)
{
	bool fresh;
	uint64_t *slot = af_map_at(&l->by_device, (uint64_t)table << 32 | device, &fresh);

	if (fresh) {
		AF_GROW(l->devices, l->nr_devices, l->cap_devices);
		l->devices[l->nr_devices] = (struct launches_device){
		    .table = table, .device = device, .before = l->tables[table].last_device};
		*slot = l->nr_devices++;
		l->tables[table].last_device = l->nr_devices;
	}
	l->last_device = (uint32_t)*slot;
	return &l->devices[l->last_device];
}

/* Most works are of the device of the one before. */
static inline struct launches_device *device_of(struct af_launches *l, const struct af_world *w,
                                                const struct launches_table *t,
                                                const struct af_work *work)
{
	uint32_t table = (uint32_t)(t - l->tables);
	uint32_t device = af_work_device(w, work);
	struct launches_device *last = l->devices ? &l->devices[l->last_device] : NULL;

	return last && last->table == table && last->device == device
	           ? last
	           : device_find(l, table, device);
}

static bool is_left_out(const struct af_world *w, uint32_t path)
{
	return w->stacks[w->paths[path].stack].stop == AF_STOP_NOT_CHOSEN;
}

static inline void hand_over(struct af_launches *l, const struct af_world *w,
                             const struct launches_table *t, struct af_work *work,
                             struct launches_call *call)
{
	/* Without the call there is no time, so the latest definition is taken. */
	uint64_t at_ns = UINT64_MAX;
	struct launches_device *d = device_of(l, w, t, work);

	d->works++;
	d->alone += !call;
	d->untimed += !work->status && !work->end_ns;
	d->joined += call && call->missed && !call->worked;
	if (call) {
		work->launched = true;
		work->first = !call->worked;
		work->tid = call->tid;
		work->path = call->path;
		work->function = call->function;
		work->doing = call->doing;
		work->call_start_ns = call->start_ns;
		work->call_end_ns = call->end_ns;
		at_ns = call->start_ns;
		call->worked = true;
		l->stackless += w->stacks_left_out && is_left_out(w, work->path);
	} else {
		l->unlaunched++;
	}
	if (work->node_id)
		work->node = af_world_node(w, work->process, work->node_id, at_ns);
	l->failed += work->status != 0;
	if (!work->status) {
		l->unstamped += !work->end_ns;
		l->unknown += !work->descriptor;
	}
	l->take(l->arg, work);
}

struct launches_table *launches_table_of(struct af_launches *l, uint32_t process, uint32_t api)
{
	return table_of(l, process, api);
}

struct launches_device *launches_device_of(struct af_launches *l, uint32_t table, uint32_t device)
{
	return device_find(l, table, device);
}

void launches_hand_over(struct af_launches *l, const struct af_world *w,
                        const struct launches_table *t, struct af_work *work,
                        struct launches_call *call)
{
	hand_over(l, w, t, work, call);
}

/* The oldest have waited long enough. */
static void early_expire(struct af_launches *l, const struct af_world *w, uint64_t now_ns)
{
	struct af_work *work;

	while ((work = launches_early_oldest(&l->early, now_ns)))
		hand_over(l, w, table_of(l, work->process, work->api), work, NULL);
}

/* In a part of the trace works wait for the calls of the parts before: see launches_merge.c. */
static void early_put(struct af_launches *l, const struct af_world *w, const struct af_work *work,
                      uint64_t now_ns)
{
	struct af_work *oldest = !l->in_part && l->early.nr == AF_LAUNCHES_EARLY
	                             ? launches_early_oldest(&l->early, UINT64_MAX)
	                             : NULL;

	/* Where @work is in the room of its taker, the oldest comes there. */
	const struct af_work kept = *work;
	if (oldest)
		hand_over(l, w, table_of(l, oldest->process, oldest->api), oldest, NULL);
	launches_early_put(&l->early, &kept, now_ns + AF_LAUNCHES_EARLY_NS);
	l->unfit |= l->early.nr > AF_LAUNCHES_EARLY_PART;
}

/* Hand over the works that have waited for @call, a copy; the caller puts it into its table. */
static void early_take(struct af_launches *l, const struct af_world *w,
                       const struct launches_table *t, struct launches_call *call)
{
	const struct af_work like = {.process = t->process, .api = t->api, .id = call->id};
	struct af_work *work;

	/* In a part they are not given up before: it knows only here that nothing came in time. */
	while ((work = launches_early_take(&l->early, &like)))
		hand_over(l, w, t, work, launches_early_until(work) < call->end_ns ? NULL : call);
}

static void launches_call(struct af_launches *l, const struct af_world *w, struct launches_table *t,
                          struct launches_call *call)
{
	const struct launches_call *was = l->sees ? launches_find(t, call->id) : NULL;

	/* The kernel's record of it came first. */
	t->calls += call->missed && !(was && was->seen && was->missed);
	if (launches_early_may(&l->early, call->id))
		early_take(l, w, t, call);
	launches_put(t, call);
}

static void take_launch(struct af_launches *l, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_launch fixed;

	if (!af_event_fixed(ev, &fixed, sizeof fixed))
		return;
	struct launches_table *t = table_of(l, ev->process, AF_API_OPENCL);
	struct launches_call call = {
	    .id = fixed.correlation,
	    .start_ns = ev->time_ns,
	    .end_ns = ev->time_ns,
	    .path = af_world_path(w, ev, fixed.callpath),
	    .tid = ev->tid,
	    .doing = af_annotations_now(&w->annotations, ev->process, ev->tid),
	    .waits = true,
	    .missed = true,
	};
	if (call.id > t->highest)
		t->highest = call.id;
	launches_call(l, w, t, &call);
}

/* Did the call make a node of a graph? Then the work was captured, and nothing was launched. */
static bool was_captured(const struct af_launches *l, const struct af_call *call)
{
	return call->stream < l->nr_streams && l->captured_ns[call->stream] >= call->start_ns;
}

/* Write the call @is with the extended @id to *@c, field by field: it may be in the window. */
static inline void call_fill(const struct af_launches *l, const struct af_world *w,
                             const struct af_call *is, uint64_t id, struct launches_call *c)
{
	uint32_t category = is->function ? w->functions[is->function].category : 0;
	bool launches = category == AF_CATEGORY_LAUNCH || category == AF_CATEGORY_GRAPH_LAUNCH;
	bool works =
	    !category || launches || category == AF_CATEGORY_COPY || category == AF_CATEGORY_FILL;
	bool waits = works && !is->status && !was_captured(l, is);

	c->id = id;
	c->start_ns = is->start_ns;
	c->end_ns = is->end_ns;
	c->path = is->path;
	c->tid = is->tid;
	c->function = is->function;
	c->doing = af_annotations_now(&w->annotations, is->process, is->tid);
	c->used = true;
	c->waits = waits;
	c->missed = waits && launches;
	c->many = category == AF_CATEGORY_GRAPH_LAUNCH;
	c->worked = c->seen = false;
	c->failed = launches && is->status;
}

/* Nothing waits for the call, and nothing was known of it. False: it is not as simple. */
static bool call_enter(struct af_launches *l, const struct af_world *w, struct launches_table *t,
                       const struct af_call *is, uint64_t id)
{
	struct launches_call *slot =
	    l->sees || launches_early_may(&l->early, id) ? NULL : launches_free_slot(t, id);

	if (!slot)
		return false;
	call_fill(l, w, is, id, slot);
	launches_expect(t, id);
	t->calls += slot->missed;
	l->failed += slot->failed;
	return true;
}

static __attribute__((noinline)) void take_call(struct af_launches *l, const struct af_world *w,
                                                const struct af_event *ev)
{
	const struct af_call *is = w->call && w->call_payload == ev->payload ? w->call : NULL;
	struct launches_call call;
	struct af_call own;

	if (!is && !af_call_read(w, ev, &own))
		return;
	is = is ? is : &own;
	if (af_call_of_program(w, is->function))
		return; /* it asks no device for work */
	struct launches_table *t = table_of(l, ev->process, af_call_api(w, is));
	uint64_t id = launches_extend(t, is->correlation);
	/* Calls around the one that launched, or after it within those, have its number, too. */
	if (is->is_hip && launches_find(t, id))
		return;
	if (call_enter(l, w, t, is, id))
		return;
	const struct launches_call *was = l->seen_alone ? launches_find(t, id) : NULL;

	l->seen_alone -= was && was->seen;
	call_fill(l, w, is, id, &call);
	l->failed += call.failed;
	launches_call(l, w, t, &call);
}

/* Calls of the runtime have the numbers of the driver's calls in them, and OpenCL has LAUNCH. */
static void take_api_call(struct af_launches *l, const struct af_world *w,
                          const struct af_event *ev)
{
	const struct af_api_table *api = af_api_of(ev->kind);
	struct af_api_head head;

	if (!api ||
	    (api->api != AF_API_CUDA && api->api != AF_API_LEVEL_ZERO && api->api != AF_API_HIP) ||
	    ev->payload_size < sizeof head)
		return;
	memcpy(&head, ev->payload, sizeof head);
	/*
	 * No work has the number of a call without one, nor that of a call that only waits: of
	 * HIP's, only those that launch work get one.
	 */
	const struct af_api_function *f = &api->functions[ev->kind - api->kind];
	if (head.correlation && (f->category != AF_CATEGORY_SYNC || api->api == AF_API_HIP))
		take_call(l, w, ev);
}

/*
 * The kernel's record of a call that libaflame records too. If libaflame's record is here, it says
 * more; if it was lost, this one has the same id and serves the work as well.
 */
static void take_call_seen(struct af_launches *l, const struct af_world *w,
                           const struct af_event *ev)
{
	struct af_call is;

	if (!af_call_seen_read(w, ev, &is) || !is.correlation)
		return;
	struct launches_table *t = table_of(l, ev->process, AF_API_CUDA);
	struct launches_call call;
	uint64_t id = launches_extend(t, is.correlation);

	if (launches_find(t, id))
		return;
	call_fill(l, w, &is, id, &call);
	call.seen = l->sees = true;
	l->seen_alone++;
	launches_call(l, w, t, &call);
}

static __attribute__((noinline)) void take_work(struct af_launches *l, const struct af_world *w,
                                                const struct af_event *ev)
{
	struct af_work *room = l->room ? l->room(l->arg) : NULL;
	struct af_work *work = room ? room : &l->own;

	if (!af_work_read(w, ev, work))
		return;
	struct launches_table *t = table_of(l, work->process, work->api);
	if (work->api != AF_API_OPENCL)
		work->id = launches_extend(t, (uint32_t)work->id);
	launches_expect(t, work->id);
	struct launches_call *call = launches_find(t, work->id);
	if (call)
		hand_over(l, w, t, work, call);
	else
		early_put(l, w, work, ev->time_ns);
}

static void take_node(struct af_launches *l, const struct af_event *ev)
{
	struct af_ev_graph_node fixed;

	if (!af_event_decode(ev, &fixed, sizeof fixed, NULL) || !fixed.callpath)
		return;
	AF_REACH(l->captured_ns, ev->stream, l->nr_streams);
	l->captured_ns[ev->stream] = ev->time_ns;
}

void af_launches_event(struct af_launches *l, const struct af_world *w, const struct af_event *ev)
{
	if (l->early.nr && !l->in_part)
		early_expire(l, w, ev->time_ns);
	if (!ev->process)
		return;
	switch (ev->kind) {
	case AF_KIND_LAUNCH:
		take_launch(l, w, ev);
		break;
	case AF_KIND_CALL:
	case AF_KIND_CALL_LONG:
		take_call(l, w, ev);
		break;
	case AF_KIND_CALL_SEEN:
		take_call_seen(l, w, ev);
		break;
	case AF_KIND_GRAPH_NODE:
		take_node(l, ev);
		break;
	default:
		if (ev->kind >= AF_KIND_API)
			take_api_call(l, w, ev);
		else
			take_work(l, w, ev);
	}
}

void af_launches_end(struct af_launches *l, const struct af_world *w)
{
	early_expire(l, w, UINT64_MAX);
	for (uint32_t i = 0; i < l->nr_tables; i++)
		l->unfinished += launches_unfinished(&l->tables[i]);
}

void af_launches_free(struct af_launches *l)
{
	for (uint32_t i = 0; i < l->nr_tables; i++)
		launches_free(&l->tables[i]);
	free(l->tables);
	af_map_free(&l->by_table);
	free(l->devices);
	af_map_free(&l->by_device);
	launches_early_free(&l->early);
	free(l->captured_ns);
	*l = (struct af_launches){0};
}
