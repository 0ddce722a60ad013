/* Joins readings of single pieces of work with these, whichever comes first. */
#include "analyse/counters/counters.h"
#include "analyse/counters/kernels.h"
#include "base/arena.h"

/* Processes of joins are from 1 on. Of some APIs' numbers only the lower half is in the trace. */
static struct af_cause cause_of(uint32_t process, uint64_t id, uint32_t node, uint32_t what)
{
	return (struct af_cause){
	    .id = (uint64_t)node << 32 | (uint32_t)id, .process = process + 1, .what = what};
}

static void value_measured(struct kernels *k, uint32_t row, uint32_t counter, uint64_t value)
{
	struct kernels_value *v = kernels_value(k, row, counter);

	v->measured++;
	v->sum += value;
}

/* The oldest work is given up for the one that comes. */
static void done_add(struct kernels *k, const struct af_cause *is)
{
	struct af_cause old;

	if (!k->last_done)
		k->last_done = af_xcalloc(KERNELS_DONE, sizeof *k->last_done);
	struct kernels_done *slot = &k->last_done[k->nr_done++ % KERNELS_DONE];
	if (slot->process)
		af_join_take(&k->done, slot->process, slot->id, &old);
	*slot = (struct kernels_done){is->process, is->id};
	af_join_put(&k->done, is);
}

void kernels_join_work(struct kernels *k, const struct af_work *work, uint32_t row)
{
	struct af_cause is = cause_of(work->process, work->id, work->node_id, row), early;

	if (!af_join_take(&k->early, is.process, is.id, &early)) {
		done_add(k, &is);
		return;
	}
	for (uint32_t i = early.what; i; i = k->parts[i].next)
		value_measured(k, row, k->parts[i].counter, k->parts[i].value);
	if (!k->early.nr)
		k->nr_parts = 0;
}

/* Keep the values until their work comes. */
static void reading_keep(struct kernels *k, const struct af_world *w, struct af_counter_values *v)
{
	uint32_t counter, first = 0;
	uint64_t value;

	while (af_counter_next(v, w, &counter, &value)) {
		k->nr_parts += !k->nr_parts; /* 0 is none */
		AF_GROW(k->parts, k->nr_parts, k->cap_parts);
		k->parts[k->nr_parts] = (struct kernels_early){counter, first, value};
		first = k->nr_parts++;
	}
	struct af_cause is = cause_of(v->process, v->call, v->node, first);
	if (first)
		af_join_put(&k->early, &is);
}

void kernels_join_reading(struct kernels *k, const struct af_world *w, const struct af_event *ev)
{
	struct af_counter_values v;
	struct af_cause done;
	uint32_t counter;
	uint64_t value;

	if (!af_counter_values(ev, &v))
		return;
	k->has_work_readings = true;
	struct af_cause is = cause_of(v.process, v.call, v.node, 0);
	if (!af_join_take(&k->done, is.process, is.id, &done)) {
		reading_keep(k, w, &v);
		return;
	}
	while (af_counter_next(&v, w, &counter, &value))
		value_measured(k, done.what, counter, value);
	/* A work may have several groups of counters. */
	af_join_put(&k->done, &done);
}
