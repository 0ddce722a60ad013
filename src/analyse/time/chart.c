#include "analyse/time/chart.h"

#include <stdlib.h>

#include "analyse/tree/tree.h"
#include "base/arena.h"

enum { TIME, SAMPLES, NR_WEIGHTS };

struct chart_slice {
	uint64_t weights[NR_WEIGHTS];
	uint32_t track, stack;
};

struct chart {
	struct af_tree *tree;
	const struct af_tree *stacks;
	struct af_track *tracks; /* by id - 1 */
	uint32_t nr_tracks, cap_tracks;
	struct chart_slice *slices; /* by track in order of time, after chart_sort() */
	size_t nr, cap;

	uint32_t *names; /* by name of the stacks: that of the tree, or 0 */
	uint32_t *path,
	    *stack_locations; /* nodes of the stack that is open, and those of the tree */
	uint32_t depth, cap_path;
	uint32_t track; /* of that stack, or 0 */
};

static int chart_track(void *arg, const struct af_track *track)
{
	struct chart *c = arg;

	AF_GROW(c->tracks, c->nr_tracks, c->cap_tracks);
	c->tracks[c->nr_tracks++] = *track;
	return 0;
}

static int chart_slice(void *arg, const struct af_slice *s)
{
	struct chart *c = arg;
	bool run = s->kind == AF_SLICE_RUN;

	if (!run && s->kind != AF_SLICE_WORK)
		return 0;
	AF_GROW(c->slices, c->nr, c->cap);
	c->slices[c->nr++] = (struct chart_slice){
	    .weights = {run ? s->weight_ns : s->end_ns - s->start_ns, run ? s->value : 0},
	    .track = s->track,
	    .stack = s->stack,
	};
	return 0;
}

static int chart_point(void *arg, const struct af_point *p)
{
	(void)arg;
	(void)p;
	return 0;
}

/* order */

/* On a track slices are in order already. */
static void chart_sort(struct chart *c)
{
	uint32_t *order = af_xcalloc((size_t)c->nr_tracks + 1, sizeof *order);
	size_t *place = af_xcalloc((size_t)c->nr_tracks + 1, sizeof *place);
	struct chart_slice *sorted = af_xcalloc(c->nr + 1, sizeof *sorted);
	size_t first = 0;

	af_tracks_order(c->tracks, sizeof *c->tracks, c->nr_tracks, order);
	for (size_t i = 0; i < c->nr; i++)
		place[c->slices[i].track]++;
	for (uint32_t i = 0; i < c->nr_tracks; i++) {
		size_t nr = place[order[i] + 1];
		place[order[i] + 1] = first;
		first += nr;
	}
	for (size_t i = 0; i < c->nr; i++)
		sorted[place[c->slices[i].track]++] = c->slices[i];
	free(c->slices);
	c->slices = sorted;
	free(order);
	free(place);
}

/* the tree */

static uint32_t chart_name(struct chart *c, uint32_t name)
{
	if (!c->names[name])
		c->names[name] = af_tree_name_like(c->tree, c->stacks, name, 0);
	return c->names[name];
}

/* A node's own weight before and between its children is a gap among them. */
static void own_to_gap(struct af_tree *t, uint32_t node)
{
	uint64_t own[NR_WEIGHTS] = {t->self[TIME][node], t->self[SAMPLES][node]};

	if (t->nodes[node].first_child || !(own[TIME] | own[SAMPLES]))
		return;
	uint32_t gap = af_tree_child(t, node, AF_TREE_GAP);
	for (uint32_t w = 0; w < NR_WEIGHTS; w++) {
		t->self[w][gap] = own[w];
		t->self[w][node] = 0;
	}
}

static uint32_t chart_child(struct chart *c, uint32_t above, uint32_t node, bool fresh)
{
	uint32_t name = c->stacks->nodes[node].name;
	bool shared = af_tree_frame(c->stacks, name) == AF_FRAME_PROCESS;

	own_to_gap(c->tree, above);
	/* One thread of a process may begin with what another ended with. */
	if (fresh && !shared)
		af_tree_child(c->tree, above, AF_TREE_GAP);
	return af_tree_child(c->tree, above, chart_name(c, name));
}

static void chart_add(struct chart *c, const struct chart_slice *s)
{
	uint32_t depth = 0, same = 0;
	bool fresh = s->track != c->track;

	for (uint32_t node = s->stack; node; node = c->stacks->nodes[node].parent)
		depth++;
	uint32_t cap = c->cap_path;
	AF_GROW(c->path, depth, cap);
	AF_GROW(c->stack_locations, depth, c->cap_path);
	c->path[0] = c->stack_locations[0] = 0;
	uint32_t at = depth;
	for (uint32_t node = s->stack; at && !same; at--, node = c->stacks->nodes[node].parent)
		if (!fresh && at <= c->depth && c->path[at] == node)
			same = at; /* and all above it */
		else
			c->path[at] = node;
	for (at = same + 1; at <= depth; at++)
		c->stack_locations[at] =
		    chart_child(c, c->stack_locations[at - 1], c->path[at], fresh);
	c->depth = depth;
	c->track = s->track;
	uint32_t node = c->stack_locations[depth];
	if (c->tree->nodes[node].first_child)
		node = af_tree_child(c->tree, node, AF_TREE_GAP);
	for (uint32_t w = 0; w < NR_WEIGHTS; w++)
		af_tree_add(c->tree, node, w, s->weights[w]);
}

static void chart_free(struct chart *c)
{
	free(c->tracks);
	free(c->slices);
	free(c->names);
	free(c->path);
	free(c->stack_locations);
}

int af_chart_make(struct af_tree *t, const char *dir, const struct af_query *query, int view,
                  af_timeline_progress *progress, void *arg, struct af_err *err)
{
	static const struct af_tree_weight weights[NR_WEIGHTS] = {{"time", "ns"},
	                                                          {"samples", "samples"}};
	struct chart c = {.tree = t};
	struct af_slices_sink sink = {&c, chart_track, chart_slice, chart_point, NULL};
	struct af_timeline *timeline;
	struct af_timeline_query in_time = {
	    .parts = (view != AF_VIEW_GPU ? 1u << AF_TIMELINE_RUN : 0) |
	             (view != AF_VIEW_CPU ? 1u << AF_TIMELINE_WORK : 0),
	    .process = UINT64_MAX,
	    .pid = UINT64_MAX,
	    .trees = query,
	};

	af_tree_open(t, weights, NR_WEIGHTS);
	t->ordered = true;
	int rc = af_timeline_open(&timeline, dir, &in_time, progress, arg, err);
	if (rc)
		return rc;
	rc = af_timeline_run(timeline, &sink, err);
	c.stacks = af_timeline_slices(timeline)->stacks;
	if (!rc) {
		c.names = af_xcalloc((size_t)c.stacks->nr_names + 1, sizeof *c.names);
		chart_sort(&c);
		for (size_t i = 0; i < c.nr; i++)
			chart_add(&c, &c.slices[i]);
	}
	chart_free(&c);
	af_timeline_close(timeline);
	af_tree_finish(t);
	return rc;
}
