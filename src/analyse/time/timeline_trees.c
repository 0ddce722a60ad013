/*
 * A timeline whose stacks are those of the trees, so that what it shows adds up to them: down to
 * kernels, grouped and filtered as asked, each sample with its own stack.
 */
#include "analyse/flame/work.h"
#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/time/timeline_private.h"

void timeline_trees_open(struct af_timeline *t)
{
	static const struct af_tree_weight none = {"none", ""};
	const struct af_asked *asked = t->asked.trees;
	const struct af_asked times = {.from_ns = t->asked.from_ns, .to_ns = t->asked.to_ns};

	if (!asked && t->asked.cuts) {
		af_within_set(&t->world.within, t->all.start_ns, &times);
		t->world.within.asked = NULL; /* it does not live as long */
	}
	if (!asked)
		return;
	t->world.doings.apart = asked->ranges || asked->range;
	t->world.doings.only = asked->range;
	af_tree_open(&t->scratch, &none, 1);
	t->all.adds_up = true;
	if (asked->spots) {
		af_tree_keep_spots(&t->stacks);
		af_tree_keep_spots(&t->scratch);
	}
	af_within_set(&t->world.within, t->all.start_ns, asked);
}

bool timeline_trees_sample(const struct af_timeline *t, struct af_sample *s)
{
	const struct af_doings *d = &t->world.doings;

	if (d->only && !af_doings_inside(d, af_doings_now(d, s->at.process, s->tid)))
		return false;
	return af_within_sample(&t->world.within, s);
}

bool timeline_trees_work(const struct af_timeline *t, struct af_work *work)
{
	return af_doings_inside(&t->world.doings, work->doing) &&
	       af_within_work(&t->world.within, &t->world, work);
}

static uint32_t place_make(struct af_timeline *t, const struct af_place *at, uint32_t doing)
{
	const struct af_asked *asked = t->asked.trees;
	uint32_t node = flame_process(&t->stacks, &t->world, at->process, asked->group);

	if (asked->ranges)
		node = af_frames_ranges(&t->stacks, &t->world, node, doing);
	return af_frames_place(&t->stacks, &t->world, node, at);
}

uint32_t timeline_trees_place(struct af_timeline *t, const struct af_place *at, uint32_t tid)
{
	const struct af_doings *d = &t->world.doings;
	uint32_t doing = d->apart ? af_doings_now(d, at->process, tid) : 0;
	uint32_t place = af_places_number(&t->stack_locations, at);
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_doing, (uint64_t)doing << 32 | place, &fresh);

	if (fresh)
		*slot = place_make(t, at, doing);
	return (uint32_t)*slot;
}

uint32_t timeline_trees_job(struct af_timeline *t, const struct af_work *work)
{
	const struct af_job_key is = flame_key(&t->world, work);
	bool fresh;
	uint64_t *slot = af_keys_at(&t->by_job, &is, sizeof is, &fresh);

	if (fresh)
		*slot = flame_job_node(&t->stacks, &t->scratch, &t->world, &is, work->matched != 0,
		                       t->asked.trees);
	return (uint32_t)*slot;
}

void timeline_trees_free(struct af_timeline *t)
{
	af_map_free(&t->by_doing);
	af_keys_free(&t->by_job);
	af_tree_close(&t->scratch);
}
