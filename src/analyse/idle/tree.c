/* Idle time as a tree: when, which device, why, and the stack of the thread that says so. */
#include "analyse/idle/idle.h"

#include <stdlib.h>

#include "analyse/frames/frames.h"
#include "analyse/pass/pass.h"
#include "base/arena.h"

/* Stacks of the scratch tree put below another node of the real one. */
struct moved {
	struct af_tree *to;
	const struct af_tree *from;
	struct af_map names, nodes; /* of from → of to; (parent of to, node of from) → of to */
};

static uint32_t moved_name(struct moved *m, uint32_t name)
{
	bool fresh;
	uint64_t *known = af_map_at(&m->names, name, &fresh);

	if (fresh)
		*known = af_tree_name_like(m->to, m->from, name, 0);
	return (uint32_t)*known;
}

/* The stack that ends at @node of the scratch tree, below @root; stacks are as deep as they are. */
static uint32_t moved_node(struct moved *m, uint32_t root, uint32_t node)
{
	uint32_t depth = 0, at = root;
	bool fresh;
	uint64_t *known = af_map_at(&m->nodes, (uint64_t)root << 32 | node, &fresh);

	if (!fresh)
		return (uint32_t)*known;
	for (uint32_t up = node; up; up = m->from->nodes[up].parent)
		depth++;
	uint32_t *stack = af_xcalloc((size_t)depth + 1, sizeof *stack);
	for (uint32_t up = node, k = depth; up; up = m->from->nodes[up].parent)
		stack[--k] = up;
	for (uint32_t k = 0; k < depth; k++)
		at = af_tree_child(m->to, at, moved_name(m, m->from->nodes[stack[k]].name));
	free(stack);
	*known = at;
	return at;
}

/* Below it are the reasons of @story. */
static uint32_t story_node(struct idle_names *n, struct af_results *out,
                           const struct idle_story *story)
{
	struct af_tree *t = &out->trees[AF_VIEW_IDLE];
	uint32_t node = af_frames_under(t, 0, idle_phase_frame(story->phase), AF_FRAME_MARK);

	node = af_frames_under(t, node, idle_device_name(n->i, n->w, &out->tables, story->device),
	                       AF_FRAME_GPU);
	return story->drained ? af_frames_under(t, node, AF_IDLE_AFTER_WAIT, AF_FRAME_MARK) : node;
}

static void tree_sum(struct moved *m, struct idle_names *n, const uint32_t *roots,
                     const struct idle_sum *sum)
{
	uint64_t ns = idle_sum_ns(n->i, sum);

	if (!ns || !roots[sum->story])
		return;
	uint32_t stack = idle_names_node(n, sum->kind, sum->place, sum->what);
	enum idle_reason reason = idle_reason(n, sum->kind, sum->place, sum->what);
	uint32_t node =
	    af_frames_under(m->to, roots[sum->story], idle_reason_frame(reason), AF_FRAME_MARK);
	double scale = (double)ns / (double)sum->ns; /* of samples that are too many */
	node = moved_node(m, node, stack);
	af_tree_add(m->to, node, AF_WEIGHT_TIME, ns);
	af_tree_vary(m->to, node, sum->square * scale * scale);
}

static void tree_unseen(struct moved *m, struct idle_names *n, const uint32_t *roots,
                        uint32_t story)
{
	const struct idle_story *s = &n->i->stories[story];

	if (s->left_ns <= s->sampled_ns || !roots[story])
		return;
	uint32_t node =
	    af_frames_under(m->to, roots[story], idle_reason_frame(IDLE_UNSEEN), AF_FRAME_MARK);
	node = moved_node(m, node, af_frames_process(n->scratch, n->w, s->process));
	af_tree_add(m->to, node, AF_WEIGHT_TIME, s->left_ns - s->sampled_ns);
	af_tree_vary(m->to, node, s->square);
}

void idle_tree(struct idle_names *n, struct af_results *out)
{
	struct moved m = {.to = &out->trees[AF_VIEW_IDLE], .from = n->scratch};
	const struct idle *i = n->i;

	uint32_t *roots = af_xcalloc(i->nr_stories, sizeof *roots);
	/* Where several processes share a GPU it is idle when none of them has work there. */
	for (uint32_t k = 0; k < i->nr_stories; k++)
		if (!i->devices[i->stories[k].device].shared)
			roots[k] = story_node(n, out, &i->stories[k]);
	for (uint32_t k = 0; k < i->nr_sums; k++)
		tree_sum(&m, n, roots, &i->sums[k]);
	for (uint32_t k = 0; k < i->nr_stories; k++)
		tree_unseen(&m, n, roots, k);
	af_map_free(&m.names);
	af_map_free(&m.nodes);
	free(roots);
}
