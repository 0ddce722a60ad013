/*
 * The host's side: slices on a thread nest in time, and the open ones are the stack of each call.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/keys.h"
#include "exchange/builder/write.h"

enum { OPEN_MAX = 4 * AF_BUILDER_DEPTH };
#define ROUNDING_NS 1000 /* Kineto's clocks and roundings make ends of neighbours differ so far */

/* A slice that has begun. */
struct open_slice {
	const struct af_builder_slice *slice;
	uint64_t end_ns;
	uint32_t node;
	bool in_python; /* it is a Python function or inside of one */
	bool linked;    /* its stack begins with that of the forward operator */
	bool in_span;   /* time of its own is a sample */
};

struct sweep {
	struct builder_writer *w;
	uint32_t process;        /* index */
	bool dry;                /* only to find the stacks of forward operators */
	struct af_keys forward;  /* moment on a thread → the stack of the operator that began */
	struct af_keys backward; /* moment → the link that leads to its forward operator */
	uint32_t nr;
	struct open_slice open[OPEN_MAX];
	uint64_t since_ns; /* the time of spans is given out up to here */
	/* Ranges nest in those of their domain only: one begins in the function that opens it, and
	 * goes on. The last ends first. */
	uint32_t nr_ranges;
	struct open_range {
		uint64_t end_ns;
		const char *domain;
	} ranges[OPEN_MAX];
};

static enum af_builder_slice_kind kind_of(const struct af_builder_slice *s)
{
	return (enum af_builder_slice_kind)(s->thread >> 24);
}

static uint32_t thread_of(const struct af_builder_slice *s)
{
	return s->thread & AF_U24_MAX;
}

/* The time that has passed belongs to the innermost span. */
static void span_account(struct sweep *s, uint64_t now_ns)
{
	const struct open_slice *o = s->nr ? &s->open[s->nr - 1] : NULL;

	if (o && o->in_span && now_ns > s->since_ns && !s->dry) {
		builder_define_stack(s->w, s->process, o->node, now_ns);
		af_stream_put(&s->w->stream, ksample, now_ns + s->w->shift_ns, .callpath = o->node,
		              .weight_ns = now_ns - s->since_ns);
	}
	s->since_ns = now_ns;
}

static void write_range(struct sweep *s, enum af_range_edge edge, uint64_t time_ns,
                        const char *domain, const char *name)
{
	struct af_ev_range range = {.edge = edge};

	builder_put(s->w, AF_KIND_RANGE, time_ns, &range, sizeof range, domain, name);
}

static void write_edge(struct sweep *s, const struct af_builder_slice *slice)
{
	static const uint8_t edges[] = {[AF_BUILDER_START] = AF_RANGE_START,
	                                [AF_BUILDER_END] = AF_RANGE_END,
	                                [AF_BUILDER_MARK] = AF_RANGE_MARK};
	const struct af_strtab *names = &s->w->builder->names;
	struct af_ev_range range = {.edge = edges[kind_of(slice)], .range = slice->external};

	builder_put(s->w, AF_KIND_RANGE, slice->start_ns, &range, sizeof range,
	            af_strtab_get(names, slice->correlation), af_strtab_get(names, slice->name));
}

/* The open call made the node; a clone has the stack of the node that it is a clone of. */
static void write_node(struct sweep *s, const struct af_builder_slice *slice)
{
	const struct af_builder_graph_node *n = &s->w->builder->graph_nodes[slice->correlation];
	uint32_t node = s->nr && !n->original ? s->open[s->nr - 1].node : 0;

	if (node)
		builder_define_stack(s->w, s->process, node, slice->start_ns);
	af_stream_put(&s->w->stream, graph_node, slice->start_ns + s->w->shift_ns,
	              .node = slice->correlation + 1, .graph = n->graph, .original = n->original,
	              .callpath = node);
}

/* The stack inside the open slice; a call adds a frame to it. */
static uint32_t node_inside(struct sweep *s)
{
	const struct open_slice *outer = s->nr ? &s->open[s->nr - 1] : NULL;

	if (!outer || kind_of(outer->slice) != AF_BUILDER_CALL)
		return outer ? outer->node : 0;
	return af_builder_node(s->w->builder, outer->node, outer->slice->name, AF_BUILDER_NATIVE);
}

static void write_back(struct sweep *s, const struct af_builder_slice *slice)
{
	uint32_t node = node_inside(s);

	if (node)
		builder_define_stack(s->w, s->process, node, slice->start_ns);
	af_stream_put(&s->w->stream, offcpu, slice->start_ns + s->w->shift_ns, .callpath = node,
	              .state = slice->correlation, .blocked_ns = slice->busy_ns);
}

static void write_call(struct sweep *s, const struct open_slice *o)
{
	struct af_stream *out = &s->w->stream;
	uint64_t duration_ns = o->end_ns - o->slice->start_ns, time_ns = o->end_ns + s->w->shift_ns;
	uint32_t function = builder_use(&s->w->functions, s->process, o->slice->name);

	if (o->node)
		builder_define_stack(s->w, s->process, o->node, o->end_ns);
	if (function <= UINT8_MAX && duration_ns <= AF_U24_MAX)
		af_stream_put(out, call, time_ns, .callpath = o->node,
		              .correlation = o->slice->correlation, .function = (uint8_t)function,
		              .duration_ns = af_u24_make((uint32_t)duration_ns));
	else
		af_stream_put(out, call_long, time_ns, .callpath = o->node,
		              .correlation = o->slice->correlation, .function = function,
		              .duration_ns = duration_ns);
}

/* Work of an operator whose call is not in the file: the operator takes the call's place. */
static void write_orphans(struct sweep *s, const struct open_slice *o)
{
	struct builder_writer *w = s->w;
	uint32_t space = w->builder->processes[s->process].space, last = 0;
	struct builder_orphan *at = builder_orphans(w, space, o->slice->external);
	const struct builder_orphan *end = w->orphans + w->nr_orphans;

	/* The first of several operators with the same id counts. */
	for (; at && at < end && at->space == space && at->external == o->slice->external &&
	       at->process == s->process;
	     at++) {
		at->process = UINT32_MAX;
		if (at->correlation == last)
			continue;
		last = at->correlation;
		builder_define_stack(w, s->process, o->node, o->end_ns);
		af_stream_put(&w->stream, call_long, o->end_ns + w->shift_ns, .callpath = o->node,
		              .correlation = last, .duration_ns = o->end_ns - o->slice->start_ns);
	}
}

static void slice_close(struct sweep *s)
{
	const struct open_slice *o = &s->open[s->nr - 1];

	span_account(s, o->end_ns);
	s->nr--;
	if (s->dry)
		return;
	if (kind_of(o->slice) == AF_BUILDER_CALL)
		write_call(s, o);
	else if (kind_of(o->slice) == AF_BUILDER_OP && o->slice->external && s->w->nr_orphans)
		write_orphans(s, o);
}

/* Close the slices that ended by @time_ns; inner slices never end after outer ones. */
static void sweep_to(struct sweep *s, uint64_t time_ns)
{
	for (;;) {
		uint64_t slice_ns = s->nr ? s->open[s->nr - 1].end_ns : UINT64_MAX;
		const struct open_range *range = s->nr_ranges ? &s->ranges[s->nr_ranges - 1] : NULL;
		uint64_t range_ns = range ? range->end_ns : UINT64_MAX;
		if (s->nr && slice_ns <= time_ns && slice_ns <= range_ns) {
			slice_close(s);
		} else if (s->nr_ranges && range_ns <= time_ns) {
			s->nr_ranges--;
			write_range(s, AF_RANGE_POP, range_ns, range->domain, "");
		} else {
			return;
		}
	}
}

/* When the range of @domain that contains this one ends. */
static uint64_t range_outer(const struct sweep *s, const char *domain)
{
	for (uint32_t i = s->nr_ranges; i-- > 0;)
		if (!strcmp(s->ranges[i].domain, domain))
			return s->ranges[i].end_ns;
	return UINT64_MAX;
}

static void range_open(struct sweep *s, const struct af_builder_slice *slice)
{
	struct af_builder *d = s->w->builder;
	uint64_t end_ns = slice->start_ns + slice->busy_ns;
	const char *domain = kind_of(slice) != AF_BUILDER_RANGE ? "spans"
	                     : slice->correlation ? af_strtab_get(&d->names, slice->correlation)
	                                          : "PyTorch";

	if (s->nr_ranges == OPEN_MAX) {
		d->unused[AF_BUILDER_DEPTH_UNUSED]++;
		return;
	}
	uint64_t outer_ns = range_outer(s, domain);
	if (end_ns > outer_ns) {
		d->unused[AF_BUILDER_OVERLAPS_UNUSED] +=
		    kind_of(slice) == AF_BUILDER_RANGE && end_ns - outer_ns > ROUNDING_NS;
		end_ns = outer_ns;
	}
	uint32_t at = s->nr_ranges++;
	for (; at && s->ranges[at - 1].end_ns < end_ns; at--)
		s->ranges[at] = s->ranges[at - 1];
	s->ranges[at] = (struct open_range){end_ns, domain};
	write_range(s, AF_RANGE_PUSH, slice->start_ns, domain,
	            af_strtab_get(&d->names, slice->name));
}

/* A driver call that a runtime makes for the call that is open already. */
static bool call_is_same(const struct sweep *s, const struct af_builder_slice *slice)
{
	for (uint32_t i = s->nr; slice->correlation && i-- > 0;)
		if (kind_of(s->open[i].slice) == AF_BUILDER_CALL &&
		    s->open[i].slice->correlation == slice->correlation)
			return true;
	return false;
}

/*
 * An operator is a frame inside what is open. A backward operator on autograd's own threads has no
 * Python around it; it gets the stack of the forward operator that made it.
 */
static void open_operator(struct sweep *s, struct open_slice *o)
{
	struct af_builder *d = s->w->builder;
	const uint64_t now[] = {thread_of(o->slice), o->slice->start_ns};
	const uint64_t *link =
	    s->dry || o->in_python || o->linked ? NULL : af_keys_get(&s->backward, now, sizeof now);
	const struct af_builder_link *l = link ? &d->links[*link] : NULL;
	const uint64_t *forward =
	    l ? af_keys_get(&s->forward, AF_KEY(l->forward_thread, l->forward_ns)) : NULL;

	if (forward && *forward) {
		o->linked = true;
		o->node = af_builder_node(d, (uint32_t)*forward,
		                          af_builder_name(d, "[backward]", 10), AF_BUILDER_NATIVE);
	}
	o->node = af_builder_node(d, o->node, o->slice->name, AF_BUILDER_NATIVE);
	uint64_t *wanted = s->dry ? af_keys_get(&s->forward, now, sizeof now) : NULL;
	if (wanted)
		*wanted = o->node;
}

/* Slices that contain nothing. */
static void sweep_moment(struct sweep *s, const struct af_builder_slice *slice)
{
	switch (kind_of(slice)) {
	case AF_BUILDER_RANGE:
		range_open(s, slice);
		break;
	case AF_BUILDER_NODE:
		write_node(s, slice);
		break;
	case AF_BUILDER_BACK:
		write_back(s, slice);
		break;
	default:
		write_edge(s, slice);
	}
}

static void sweep_slice(struct sweep *s, const struct af_builder_slice *slice)
{
	struct af_builder *d = s->w->builder;
	enum af_builder_slice_kind kind = kind_of(slice);

	sweep_to(s, slice->start_ns);
	if (kind == AF_BUILDER_RANGE || (kind >= AF_BUILDER_START && kind <= AF_BUILDER_BACK)) {
		if (!s->dry)
			sweep_moment(s, slice);
		return;
	}
	struct open_slice o = {.slice = slice, .end_ns = slice->start_ns + slice->busy_ns};
	if (s->nr == OPEN_MAX) {
		d->unused[AF_BUILDER_DEPTH_UNUSED]++;
		return;
	}
	if (s->nr) {
		const struct open_slice *outer = &s->open[s->nr - 1];
		if (o.end_ns > outer->end_ns) {
			d->unused[AF_BUILDER_OVERLAPS_UNUSED] +=
			    o.end_ns - outer->end_ns > ROUNDING_NS;
			o.end_ns = outer->end_ns;
		}
		o.node = outer->node;
		o.in_python = outer->in_python;
		o.linked = outer->linked;
		o.in_span = outer->in_span;
	}
	if (kind == AF_BUILDER_CALL && call_is_same(s, slice)) {
		d->unused[AF_BUILDER_NESTED_UNUSED]++;
		return;
	}
	span_account(s, slice->start_ns);
	if (kind == AF_BUILDER_CALL && slice->external) {
		o.node = slice->external;
	} else if (kind == AF_BUILDER_LIBRARY) {
		uint32_t from = slice->external ? slice->external : node_inside(s);
		o.node = af_builder_node(d, from, slice->name, AF_BUILDER_NATIVE);
	} else if (kind == AF_BUILDER_SPAN) {
		if (!s->dry)
			range_open(s, slice);
		o.in_span = true;
		o.node = af_builder_node(d, o.node, slice->name, AF_BUILDER_NATIVE);
	} else if (kind == AF_BUILDER_OP) {
		open_operator(s, &o);
	} else if (kind == AF_BUILDER_FUNCTION) {
		o.in_python = true;
		o.node = af_builder_node(d, o.node, slice->name, AF_BUILDER_PYTHON);
	}
	s->open[s->nr++] = o;
}

void builder_thread_open(struct builder_writer *w, const char *file, uint32_t thread)
{
	const struct af_builder_thread *t = &w->builder->threads[thread];
	struct af_ev_thread fixed = {.tid = t->tid};

	builder_stream_open(w, file, thread, t->process + 1, t->tid);
	builder_put(w, AF_KIND_THREAD, w->begin_ns, &fixed, sizeof fixed,
	            af_strtab_get(&w->builder->names, t->name), NULL);
}

/* All slices of the thread that has @i; the first one behind them. */
static uint64_t sweep_thread(struct sweep *s, uint64_t i)
{
	const struct af_builder *d = s->w->builder;
	uint32_t thread = thread_of(&d->slices[i]);

	s->process = d->threads[thread].process;
	if (!s->dry)
		builder_thread_open(s->w, "thread", thread);
	for (; i < d->nr_slices && thread_of(&d->slices[i]) == thread; i++)
		sweep_slice(s, &d->slices[i]);
	sweep_to(s, UINT64_MAX);
	if (!s->dry)
		builder_stream_close(s->w);
	return i;
}

/* The stacks of forward operators, for the backward operators that refer to them. */
static void find_forward(struct sweep *s)
{
	struct af_builder *d = s->w->builder;
	uint64_t unused[AF_BUILDER_UNUSED_END];

	for (uint64_t i = 0; i < d->nr_links; i++) {
		const struct af_builder_link *l = &d->links[i];
		af_keys_at(&s->forward, AF_KEY(l->forward_thread, l->forward_ns), NULL);
		*af_keys_at(&s->backward, AF_KEY(l->backward_thread, l->backward_ns), NULL) = i;
	}
	if (!d->nr_links)
		return;
	/* Entries that are left out are counted when the trace is written. */
	memcpy(unused, d->unused, sizeof unused);
	s->dry = true;
	for (uint64_t i = 0; i < d->nr_slices;)
		i = sweep_thread(s, i);
	s->dry = false;
	memcpy(d->unused, unused, sizeof unused);
}

void builder_write_threads(struct builder_writer *w)
{
	struct af_builder *d = w->builder;
	struct sweep *s = af_xcalloc(1, sizeof *s);

	s->w = w;
	AF_SORT(d->slices, d->nr_slices, builder_slice_order);
	find_forward(s);
	for (uint64_t i = 0; i < d->nr_slices && !w->error;)
		i = sweep_thread(s, i);
	af_keys_free(&s->forward);
	af_keys_free(&s->backward);
	free(s);
}
