#include "analyse/flame/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/attribution/attribution.h"
#include "analyse/flame/insn.h"
#include "analyse/frames/frame_locations.h"
#include "analyse/frames/frames.h"
#include "base/arena.h"

static uint32_t label_of(struct flame_work *f, const struct af_world *w, uint32_t descriptor)
{
	const struct af_work_descriptor *s = &w->descriptors[descriptor];
	bool fresh;

	AF_REACH(f->label_of, descriptor, f->nr_labels);
	if (!f->label_of[descriptor]) {
		uint64_t *slot = af_keys_at(
		    &f->by_label, AF_KEY(s->process, s->is.op, s->is.kernel, s->is.queue), &fresh);
		if (fresh)
			*slot = f->by_label.nr;
		f->label_of[descriptor] = (uint32_t)*slot;
	}
	return f->label_of[descriptor];
}

static bool group_is(const struct flame_launch_group *g, const struct af_work *work, uint32_t label)
{
	return g->path == work->path && g->label == label && g->node == work->node &&
	       g->function == work->function && g->process == work->process &&
	       g->doing == work->doing && g->matched == (work->matched != 0);
}

static uint32_t group_find(struct flame_work *f, const struct af_work *work, uint32_t label)
{
	bool fresh;
	uint64_t *slot = af_keys_at(&f->by_group,
	                            AF_KEY((uint64_t)work->process << 32 | work->path,
	                                   (uint64_t)work->function << 32 | work->doing,
	                                   (uint64_t)work->node << 32 | label, work->matched != 0),
	                            &fresh);

	if (fresh) {
		AF_GROW(f->launch_groups, f->nr_launch_groups, f->cap_launch_groups);
		f->launch_groups[f->nr_launch_groups] = (struct flame_launch_group){
		    .process = work->process,
		    .path = work->path,
		    .function = work->function,
		    .doing = work->doing,
		    .label = label,
		    .node = work->node,
		    .matched = work->matched != 0,
		    .descriptor = work->descriptor,
		};
		*slot = f->nr_launch_groups++;
	}
	return (uint32_t)*slot;
}

/* A path mostly launches what it launched before, or goes on as it did then. */
static struct flame_launch_group *launch_group_of(struct flame_work *f, const struct af_world *w,
                                                  const struct af_work *work)
{
	uint32_t label = label_of(f, w, work->descriptor);

	AF_REACH(f->last_of, work->path, f->nr_paths);
	uint32_t *last = &f->last_of[work->path], before = *last;
	if (before) {
		struct flame_launch_group *g = &f->launch_groups[before - 1];
		if (group_is(g, work, label))
			return g;
		*last = g->after;
		if (*last && group_is(&f->launch_groups[*last - 1], work, label))
			return &f->launch_groups[*last - 1];
	}
	*last = group_find(f, work, label) + 1;
	if (before)
		f->launch_groups[before - 1].after = *last;
	return &f->launch_groups[*last - 1];
}

void flame_work_add(struct flame_work *f, const struct af_world *w, const struct af_work *work)
{
	if (work->status || !work->descriptor)
		return;
	struct flame_launch_group *launch_group = launch_group_of(f, w, work);
	launch_group->time_ns += af_work_busy_ns(work);
	if (work->out_of_range)
		return;
	launch_group->count++;
	launch_group->bytes += w->descriptors[work->descriptor].is.bytes;
}

/* A work of the group. */
static struct af_work group_work(const struct flame_launch_group *g)
{
	return (struct af_work){
	    .process = g->process,
	    .path = g->path,
	    .function = g->function,
	    .doing = g->doing,
	    .node = g->node,
	    .descriptor = g->descriptor,
	    .matched = g->matched,
	};
}

void flame_work_merge(struct flame_work *f, const struct af_world *w, const struct flame_work *from)
{
	for (uint32_t i = 0; i < from->nr_launch_groups; i++) {
		const struct flame_launch_group *g = &from->launch_groups[i];
		const struct af_work work = group_work(g);
		uint32_t to = group_find(f, &work, label_of(f, w, g->descriptor));
		f->launch_groups[to].time_ns += g->time_ns;
		f->launch_groups[to].count += g->count;
		f->launch_groups[to].bytes += g->bytes;
	}
}

static uint32_t launch_group_has(const struct flame_launch_group *g)
{
	return (uint32_t) !!g->time_ns << AF_WEIGHT_TIME |
	       (uint32_t) !!g->count << AF_WEIGHT_COUNT | (uint32_t) !!g->bytes << AF_WEIGHT_BYTES;
}

uint32_t flame_work_has(const struct flame_work *f)
{
	uint32_t has = 0;

	for (uint32_t i = 0; i < f->nr_launch_groups; i++)
		has |= launch_group_has(&f->launch_groups[i]);
	return has;
}

uint32_t flame_process(struct af_tree *t, const struct af_world *w, uint32_t process,
                       enum af_grouping group)
{
	const struct af_process *p = af_world_process(w, process);
	bool ranks = group == AF_GROUP_RANK || group == AF_GROUP_TRACK;
	const char *rank = p && ranks ? af_process_note(p, "rank") : NULL;
	const struct af_location location = {.what = AF_LOCATION_RANK, .function = rank};
	uint32_t node = af_frames_process(t, w, process);
	char text[64];

	if (!rank)
		return node;
	snprintf(text, sizeof text, "[rank %s]", rank);
	return af_frames_at(t, node, text, AF_FRAME_PROCESS, &location);
}

/* Is work told apart by device, or more? */
static bool by_device(enum af_grouping group)
{
	return group == AF_GROUP_DEVICE || group == AF_GROUP_QUEUE || group == AF_GROUP_TRACK;
}

static void queue_name(char *text, size_t size, const struct af_queue *queue,
                       const struct af_device *device)
{
	unsigned long long stream = queue->handle;

	if (!device || device->api != AF_API_CUDA)
		snprintf(text, size, "[queue %u]", queue->id);
	else if (queue->context == 1)
		snprintf(text, size, "[stream %llu]", stream);
	else
		snprintf(text, size, "[context %u, stream %llu]", queue->context, stream);
}

static uint32_t draw_device(struct af_tree *t, const struct af_world *w, uint32_t node,
                            uint32_t process, uint32_t id)
{
	const struct af_device *device = af_world_device(w, process, id);
	char text[256];

	if (!id)
		return af_frames_under(t, node, "[device not known]", AF_FRAME_MARK);
	snprintf(text, sizeof text, device && *device->name ? "[device %u: %s]" : "[device %u]", id,
	         device ? device->name : "");
	const struct af_location location = {
	    .what = AF_LOCATION_DEVICE, .function = device ? device->name : "", .address = id};
	return af_frames_at(t, node, text, AF_FRAME_GPU, &location);
}

/* The frames of the track, between the process and the stack. */
static uint32_t draw_queue(struct af_tree *t, const struct af_world *w, uint32_t node,
                           const struct af_launch_group_key *is, enum af_grouping group)
{
	const struct af_queue *queue = af_world_queue(w, is->process, is->queue);
	const struct af_device *device =
	    queue ? af_world_device(w, is->process, queue->device) : NULL;
	char text[256];

	if (!by_device(group))
		return node;
	node = draw_device(t, w, node, is->process, queue ? queue->device : 0);
	if (group == AF_GROUP_DEVICE || !queue)
		return node;
	queue_name(text, sizeof text, queue, device);
	const struct af_location location = {.what = AF_LOCATION_QUEUE, .address = queue->id};
	return af_frames_at(t, node, text, AF_FRAME_GPU, &location);
}

static uint32_t draw_graph(struct af_tree *t, const struct af_world *w, uint32_t node, uint32_t of)
{
	char text[32];

	snprintf(text, sizeof text, "[graph %u]", w->nodes[of].graph);
	return af_frames_under(t, node, text, AF_FRAME_GPU);
}

/*
 * Puts the stack that captured a node below the stack that launched its graph, without what both
 * begin with, main() and the loop around it. A launch's stack has one node, by whatever path.
 */
static uint32_t draw_capture(struct af_tree *t, struct flame_scratch *scratch,
                             const struct af_world *w, uint32_t node, uint32_t launch,
                             uint32_t capture)
{
	bool fresh;
	uint64_t *slot = af_map_at(&scratch->by_capture, (uint64_t)node << 32 | capture, &fresh);

	if (fresh) {
		uint32_t a = flame_scratch_call(scratch, w, launch);
		uint32_t b = flame_scratch_call(scratch, w, capture);
		*slot =
		    flame_scratch_copy(scratch, t, node, flame_scratch_common(scratch, a, b), b);
	}
	return (uint32_t)*slot;
}

/* The stack of the forward operation comes first: users find their own code there. */
static uint32_t draw_forward(struct af_tree *t, const struct af_world *w, uint32_t node,
                             uint32_t doing)
{
	uint32_t forward = af_annotations_get(&w->annotations, doing).forward;

	if (!forward)
		return node;
	node = af_frames_operation(t, w, node, forward);
	return af_frames_under(t, node, "[backward]", AF_FRAME_MARK);
}

/* The frames of the call: of the process, the track, the annotations, the stack, the function. */
static uint32_t draw_host(struct af_tree *t, const struct af_world *w,
                          const struct af_launch_group_key *is, const struct af_query *query)
{
	uint32_t node = flame_process(t, w, is->process, query->group);

	node = draw_queue(t, w, node, is, query->group);
	node = draw_forward(t, w, node, is->doing);
	if (query->ranges)
		node = af_frames_ranges(t, w, node, is->doing);
	node = af_frames_call(t, w, node, is->path);
	if (is->function && *w->functions[is->function].name)
		node = af_frames_under(t, node, w->functions[is->function].name, AF_FRAME_NATIVE);
	if (is->matched)
		node = af_frames_under(t, node, "[matched by time]", AF_FRAME_MARK);
	return node;
}

static bool same_host(const struct af_launch_group_key *a, const struct af_launch_group_key *b)
{
	return a->process == b->process && a->queue == b->queue && a->path == b->path &&
	       a->function == b->function && a->doing == b->doing && a->matched == b->matched;
}

uint32_t flame_group_stack(struct af_tree *t, struct flame_scratch *scratch,
                           const struct af_world *w, const struct af_launch_group_key *is,
                           const struct af_query *query)
{
	if (!scratch->last_node || !same_host(&scratch->last, is))
		scratch->last_node = draw_host(t, w, is, query);
	scratch->last = *is;
	uint32_t node = scratch->last_node;
	if (is->node)
		node = draw_graph(t, w, node, is->node);
	/*
	 * If a graph was timed as a whole, is->node only identifies the graph: there is no capture
	 * stack.
	 */
	if (is->node && is->op != AF_OP_GRAPH)
		node = draw_capture(t, scratch, w, node, is->path, af_world_node_path(w, is->node));
	return node;
}

uint32_t flame_group_node(struct af_tree *t, struct flame_scratch *scratch,
                          const struct af_world *w, const struct af_launch_group_key *is,
                          const struct af_query *query)
{
	uint32_t node = flame_group_stack(t, scratch, w, is, query);

	if (is->node && is->op == AF_OP_GRAPH)
		return node;
	const char *name = is->op == AF_OP_KERNEL ? af_world_kernel(w, is->process, is->kernel)
	                                          : af_op_text(is->op);
	return af_frames_under(t, node, *name ? name : "[unnamed kernel]", AF_FRAME_GPU);
}

static struct af_launch_group_key launch_group_key(const struct af_world *w,
                                                   const struct flame_launch_group *g)
{
	const struct af_work work = group_work(g);

	return af_launch_group_key(w, &work);
}

/* Samples that belong to no work have no stack. */
static void draw_unrecorded(struct flame_insn *insn, const struct af_world *w, struct af_tree *t,
                            const struct af_query *query)
{
	const struct af_attribution *a = insn->results->attribution;

	for (uint32_t i = 0; a && !query->range && i < a->nr_launch_groups; i++) {
		const struct af_launch_group *launch_group = &a->launch_groups[i];
		if (launch_group->recorded || !launch_group->parts || !insn->samples)
			continue;
		/* Samples of addresses that nobody knows may be of any process. */
		bool any = !launch_group->is.process;
		uint32_t node =
		    any ? 0 : flame_process(t, w, launch_group->is.process, query->group);
		if (any || by_device(query->group))
			node = draw_device(t, w, node, launch_group->is.process,
			                   launch_group->is.device);
		flame_insn_draw_unrecorded(insn, launch_group, node);
	}
}

/* The weights of @launch_group that this tree has: samples only if instructions were sampled. */
static uint32_t launch_group_shows(const struct flame_insn *insn,
                                   const struct flame_launch_group *launch_group,
                                   const struct af_launch_group_key *key)
{
	return launch_group_has(launch_group) | (uint32_t)flame_insn_has(insn, key)
	                                            << AF_WEIGHT_SAMPLES;
}

/* Orders launch groups so that those of one stack come one after the other. */
static int stack_order(const void *a, const void *b)
{
	const struct flame_launch_group *x = *(const struct flame_launch_group *const *)a;
	const struct flame_launch_group *y = *(const struct flame_launch_group *const *)b;
	const uint32_t order[][2] = {{x->process, y->process},
	                             {x->path, y->path},
	                             {x->function, y->function},
	                             {x->doing, y->doing},
	                             {x->matched, y->matched}};

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (order[i][0] != order[i][1])
			return order[i][0] < order[i][1] ? -1 : 1;
	return (x > y) - (x < y);
}

/* The caller frees it. */
static const struct flame_launch_group **groups_by_stack(const struct flame_work *f)
{
	const struct flame_launch_group **by =
	    af_xcalloc((size_t)f->nr_launch_groups + 1, sizeof *by);

	for (uint32_t i = 0; i < f->nr_launch_groups; i++)
		by[i] = &f->launch_groups[i];
	AF_SORT(by, f->nr_launch_groups, stack_order);
	return by;
}

void flame_work_draw(const struct flame_work *f, const struct af_world *w, struct af_tree *t,
                     const struct af_results *results, bool samples)
{
	struct flame_insn insn = flame_insn_open(t, w, results, samples);
	const struct af_query *query = &results->query;
	const struct flame_launch_group **groups = groups_by_stack(f);
	struct flame_scratch scratch;

	flame_scratch_open(&scratch, af_tree_has_locations(t));
	for (uint32_t i = 0; i < f->nr_launch_groups; i++) {
		const struct flame_launch_group *launch_group = groups[i];
		const struct af_launch_group_key key = launch_group_key(w, launch_group);
		if (!(launch_group_shows(&insn, launch_group, &key) & query->weights))
			continue;
		uint32_t node = flame_group_node(t, &scratch, w, &key, query);
		flame_insn_draw(&insn, &key, node, launch_group->time_ns);
		af_tree_add(t, node, AF_WEIGHT_COUNT, launch_group->count);
		af_tree_add(t, node, AF_WEIGHT_BYTES, launch_group->bytes);
	}
	free(groups);
	draw_unrecorded(&insn, w, t, query);
	flame_insn_close(&insn);
	flame_scratch_close(&scratch);
}

void flame_work_free(struct flame_work *f)
{
	free(f->launch_groups);
	free(f->label_of);
	free(f->last_of);
	af_keys_free(&f->by_label);
	af_keys_free(&f->by_group);
	*f = (struct flame_work){0};
}
