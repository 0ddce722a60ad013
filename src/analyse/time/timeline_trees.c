/*
 * A timeline whose stacks are those of the trees, so that what it shows adds up to them: down to
 * kernels, grouped and filtered as asked, each sample with its own stack.
 */
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/flame/work.h"
#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "analyse/time/timeline_private.h"

void timeline_trees_open(struct af_timeline *t)
{
	const struct af_query *query = t->query.trees;
	const struct af_query times = {.from_ns = t->query.from_ns, .to_ns = t->query.to_ns};

	if (!query && t->query.cuts) {
		af_time_range_set(&t->world.time_range, t->all.start_ns, &times);
		t->world.time_range.query = NULL; /* it does not live as long */
	}
	if (!query)
		return;
	t->world.annotations.apart = query->ranges || query->range;
	t->world.annotations.only = query->range;
	flame_scratch_open(&t->scratch, query->locations);
	t->all.adds_up = true;
	if (query->locations)
		af_tree_keep_locations(&t->stacks);
	af_time_range_set(&t->world.time_range, t->all.start_ns, query);
}

bool timeline_trees_sample(const struct af_timeline *t, struct af_sample *s)
{
	const struct af_annotations *d = &t->world.annotations;

	if (d->only && !af_annotations_inside(d, af_annotations_now(d, s->at.process, s->tid)))
		return false;
	return af_time_range_sample(&t->world.time_range, s);
}

bool timeline_trees_work(const struct af_timeline *t, struct af_work *work)
{
	return af_annotations_inside(&t->world.annotations, work->doing) &&
	       af_time_range_work(&t->world.time_range, &t->world, work);
}

static uint32_t place_make(struct af_timeline *t, const struct af_stack_location *at,
                           uint32_t doing)
{
	const struct af_query *query = t->query.trees;
	uint32_t node = flame_process(&t->stacks, &t->world, at->process, query->group);

	if (query->ranges)
		node = af_frames_ranges(&t->stacks, &t->world, node, doing);
	return af_frames_place(&t->stacks, &t->world, node, at);
}

uint32_t timeline_trees_place(struct af_timeline *t, const struct af_stack_location *at,
                              uint32_t tid)
{
	const struct af_annotations *d = &t->world.annotations;
	uint32_t doing = d->apart ? af_annotations_now(d, at->process, tid) : 0;
	uint32_t place = af_stack_locations_number(&t->stack_locations, at);
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_doing, (uint64_t)doing << 32 | place, &fresh);

	if (fresh) {
		timeline_settle(t);
		*slot = place_make(t, at, doing);
	}
	return (uint32_t)*slot;
}

static inline bool group_is(const struct timeline_group *group,
                            const struct af_launch_group_key *is)
{
	return group->node && !memcmp(&group->is, is, sizeof *is);
}

/* Paths have numbers one after another, so those that are in use do not meet. */
static inline struct timeline_group *group_near(struct af_timeline *t,
                                                const struct af_launch_group_key *is)
{
	uint32_t at = (is->path << 1 ^ is->node * 7) + (is->kernel & 1);

	return &t->near[at & (TIMELINE_NEAR - 1)];
}

/* Few groups have most of the work: they are found without their keys. */
uint32_t timeline_trees_group(struct af_timeline *t, const struct af_work *work)
{
	const struct af_launch_group_key is = af_launch_group_key(&t->world, work);
	struct timeline_group *near = group_near(t, &is);
	bool fresh;

	if (group_is(near, &is))
		return near->node;
	uint64_t *slot = af_keys_at(&t->by_launch_group, &is, sizeof is, &fresh);
	if (fresh) {
		timeline_settle(t);
		*slot = flame_group_node(&t->stacks, &t->scratch, &t->world, &is, t->query.trees);
	}
	*near = (struct timeline_group){is, (uint32_t)*slot};
	return near->node;
}

void timeline_trees_free(struct af_timeline *t)
{
	af_map_free(&t->by_doing);
	af_keys_free(&t->by_launch_group);
	flame_scratch_close(&t->scratch);
}
