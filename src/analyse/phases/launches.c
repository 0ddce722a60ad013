/* Calls that launched work, by the order of their numbers alone. */
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/private.h"
#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"

enum { LAUNCHES_MOST = 1 << 20 }; /* that wait for work: the oldest launched none */

struct phase_launch {
	uint32_t process, path;
	uint32_t number; /* the lower half of its id */
	uint64_t start_ns;
};

static void launches_put(struct phase_launches *l, const struct phase_launch *is)
{
	l->first += l->nr - l->first == LAUNCHES_MOST;
	if (l->nr == l->cap && l->first > l->nr / 2) {
		l->nr -= l->first;
		memmove(l->all, l->all + l->first, l->nr * sizeof *l->all);
		l->first = 0;
	}
	AF_GROW(l->all, l->nr, l->cap);
	l->all[l->nr++] = *is;
}

/* Numbers of 32 bits begin again. */
static bool is_reached(const struct phase_launch *is, const struct af_work *work)
{
	return is->process == work->process && (int32_t)((uint32_t)work->id - is->number) >= 0;
}

static void launches_work(struct phase_launches *l, struct phase_calls *c,
                          const struct af_work *work)
{
	for (; l->first < l->nr && is_reached(&l->all[l->first], work); l->first++) {
		const struct phase_launch *is = &l->all[l->first];
		phase_calls_add(c, is->process, is->path, is->start_ns);
	}
}

static void launches_node(struct phase_launches *l, const struct af_event *ev)
{
	struct af_ev_graph_node node;

	if (!af_event_decode(ev, &node, sizeof node, NULL) || !node.callpath)
		return;
	AF_REACH(l->node_ns, ev->stream, l->nr_streams);
	l->node_ns[ev->stream] = ev->time_ns;
}

static void launches_opencl(struct phase_launches *l, const struct af_world *w,
                            const struct af_event *ev)
{
	struct af_ev_launch f;

	if (!af_event_decode(ev, &f, sizeof f, NULL))
		return;
	const struct phase_launch is = {ev->process, af_world_path(w, ev, f.callpath),
	                                (uint32_t)f.correlation, ev->time_ns};
	if (is.path)
		launches_put(l, &is);
}

/* As in join/launches.c. */
static bool call_launches(const struct phase_launches *l, const struct af_world *w,
                          const struct af_call *call)
{
	const struct af_function *f = &w->functions[call->function];
	bool captured = call->stream < l->nr_streams && l->node_ns[call->stream] >= call->start_ns;

	return f->api == AF_API_CUDA && !call->status && call->correlation && !captured &&
	       (f->category == AF_CATEGORY_LAUNCH || f->category == AF_CATEGORY_GRAPH_LAUNCH ||
	        f->category == AF_CATEGORY_COPY || f->category == AF_CATEGORY_FILL);
}

static void launches_call(struct phase_launches *l, const struct af_world *w,
                          const struct af_event *ev)
{
	struct af_call room;
	const struct af_call *call = af_call_at(w, ev, &room);

	if (!call || !call->path || !call->function || !call_launches(l, w, call))
		return;
	const struct phase_launch is = {call->process, call->path, call->correlation,
	                                call->start_ns};
	launches_put(l, &is);
}

void phase_launches_event(struct phase_launches *l, struct phase_calls *c, const struct af_world *w,
                          const struct af_event *ev)
{
	struct af_work work;

	switch (ev->kind) {
	case AF_KIND_GPU_WORK:
	case AF_KIND_GPU_WORK_LONG:
	case AF_KIND_WORK:
	case AF_KIND_WORK_LONG:
		if (af_work_read(w, ev, &work))
			launches_work(l, c, &work);
		break;
	case AF_KIND_GRAPH_NODE:
		launches_node(l, ev);
		break;
	case AF_KIND_LAUNCH:
		launches_opencl(l, w, ev);
		break;
	default:
		launches_call(l, w, ev);
	}
}

void phase_launches_free(struct phase_launches *l)
{
	free(l->all);
	free(l->node_ns);
}
