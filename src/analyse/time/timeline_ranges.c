/* The program's own ranges (NVTX), in a timeline. */
#include <stdlib.h>

#include "analyse/time/timeline_private.h"
#include "base/arena.h"

enum { RANGES_DEEP = 256 }; /* deeper ones of a thread are not shown */

struct timeline_range {
	uint64_t start_ns;
	uint32_t process;
	uint32_t name, domain; /* of the timeline's names */
	uint32_t color;
	uint32_t depth; /* ranges of the thread and domain that it lies in */
	uint32_t next;  /* of those not in use, 1 added */
	bool used;
};

/* The ranges of a thread and domain that are open, by PUSH. */
struct timeline_nest {
	uint32_t process, tid, domain;
	uint32_t depth; /* may be more than RANGES_DEEP */
	uint32_t cap;
	struct timeline_range *open;
};

static void range_put(struct af_timeline *t, const struct timeline_range *r,
                      enum timeline_row_kind kind, uint32_t tid, uint64_t end_ns)
{
	if (!timeline_wants(t, r->start_ns, end_ns))
		return;
	struct af_slice s = {
	    .kind = AF_SLICE_RANGE,
	    .start_ns = r->start_ns,
	    .end_ns = end_ns,
	    .name = r->name,
	    .value = r->color,
	    .open = t->ended,
	};
	struct timeline_row_id id = {
	    .number = tid,
	    .depth = r->depth,
	    .domain = af_strtab_get(&t->names, r->domain),
	};
	timeline_cut(t, &s);
	timeline_put(t, kind, r->process, &id, &s);
}

static struct timeline_nest *nest_of(struct af_timeline *t, uint32_t process, uint32_t tid,
                                     uint32_t domain)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_nest, AF_KEY(process, tid, domain), &fresh);

	if (fresh) {
		AF_GROW(t->nests, t->nr_nests, t->cap_nests);
		t->nests[t->nr_nests] =
		    (struct timeline_nest){.process = process, .tid = tid, .domain = domain};
		*slot = t->nr_nests++;
	}
	return &t->nests[*slot];
}

static void nest_push(struct timeline_nest *n, const struct timeline_range *r)
{
	uint32_t depth = n->depth++;

	if (depth >= RANGES_DEEP)
		return;
	AF_GROW(n->open, depth, n->cap);
	n->open[depth] = *r;
	n->open[depth].depth = depth;
}

/* A POP without its PUSH began before the trace. */
static void nest_pop(struct af_timeline *t, struct timeline_nest *n, uint64_t end_ns)
{
	if (n->depth && --n->depth < RANGES_DEEP)
		range_put(t, &n->open[n->depth], ROW_RANGES, n->tid, end_ns);
}

static void range_start(struct af_timeline *t, const struct timeline_range *r, uint64_t id)
{
	uint32_t at = t->free_range;

	if (at) {
		t->free_range = t->ranges[at - 1].next;
	} else {
		AF_GROW(t->ranges, t->nr_ranges, t->cap_ranges);
		at = ++t->nr_ranges;
	}
	t->ranges[at - 1] = *r;
	t->ranges[at - 1].used = true;
	af_join_put(&t->started, &(struct af_cause){.id = id, .process = r->process, .what = at});
}

static void range_end(struct af_timeline *t, uint32_t process, uint64_t id, uint64_t end_ns)
{
	struct af_cause c;

	if (!af_join_take(&t->started, process, id, &c))
		return;
	struct timeline_range *r = &t->ranges[c.what - 1];
	range_put(t, r, ROW_STARTED, 0, end_ns);
	r->used = false;
	r->next = t->free_range;
	t->free_range = c.what;
}

void timeline_range(struct af_timeline *t, const struct af_event *ev)
{
	struct af_tail_view tails[AF_TAILS_MAX];
	struct af_ev_range f;

	if (!ev->process || !af_event_decode(ev, &f, sizeof f, tails))
		return;
	struct timeline_range r = {
	    .start_ns = ev->time_ns,
	    .process = ev->process,
	    .domain = timeline_text(t, (const char *)tails[0].data, tails[0].len),
	    .name = timeline_name(t, (const char *)tails[1].data),
	    .color = f.color,
	};
	switch (f.edge) {
	case AF_RANGE_PUSH:
		nest_push(nest_of(t, ev->process, ev->tid, r.domain), &r);
		break;
	case AF_RANGE_POP:
		nest_pop(t, nest_of(t, ev->process, ev->tid, r.domain), ev->time_ns);
		break;
	case AF_RANGE_START:
		range_start(t, &r, f.range);
		break;
	case AF_RANGE_END:
		range_end(t, ev->process, f.range, ev->time_ns);
		break;
	case AF_RANGE_MARK:
		r.depth = nest_of(t, ev->process, ev->tid, r.domain)->depth;
		r.depth = r.depth < RANGES_DEEP ? r.depth : RANGES_DEEP;
		range_put(t, &r, ROW_RANGES, ev->tid, ev->time_ns);
		break;
	}
}

void timeline_ranges_end(struct af_timeline *t)
{
	uint64_t end_ns = t->world.last_ns;

	t->ended = true;
	for (uint32_t i = 0; i < t->nr_nests; i++)
		while (t->nests[i].depth)
			nest_pop(t, &t->nests[i], end_ns);
	for (uint32_t i = 0; i < t->nr_ranges; i++)
		if (t->ranges[i].used)
			range_put(t, &t->ranges[i], ROW_STARTED, 0, end_ns);
}

void timeline_ranges_free(struct af_timeline *t)
{
	for (uint32_t i = 0; i < t->nr_nests; i++)
		free(t->nests[i].open);
	free(t->nests);
	free(t->ranges);
	af_keys_free(&t->by_nest);
	af_join_free(&t->started);
}
