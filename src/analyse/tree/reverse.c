/*
 * Trees made of trees. Reversing goes level by level from the leaves of all stacks at once: the
 * stacks that share a reversed node are neighbours, so a child is found through an array indexed
 * by name instead of a hash, and the new tree costs time in proportion to the frames it stands for.
 */
#include "analyse/tree/tree.h"

#include <stdlib.h>

#include "analyse/tree/private.h"

/* One stack of the source on its way up. */
struct reverse_item {
	uint32_t cursor; /* source node that @node stands for */
	uint32_t source; /* source node whose self weight this is */
	uint32_t node;   /* of the new tree */
};

struct reverse {
	struct af_tree *dst;
	const struct af_tree *src;
	struct reverse_item *items, *sorted;
	uint32_t nr, nr_seen; /* items; names of the destination that @seen_in covers */
	/* By destination name: the node below @seen_in[name] that has this name. */
	uint32_t *seen_in, *seen;
	uint32_t *names; /* by source name */
	uint32_t *start; /* scratch of the counting sort */
};

static bool reverse_has_self(const struct af_tree *t, uint32_t node)
{
	for (uint32_t w = 0; w < t->nr_weights; w++)
		if (t->self[w][node])
			return true;
	return false;
}

/* The child of @parent for @item's cursor. Items of one parent are neighbours. */
static uint32_t reverse_child(struct reverse *r, uint32_t parent, uint32_t cursor)
{
	uint32_t name = r->names[r->src->nodes[cursor].name];

	if (!r->seen[name] || r->seen_in[name] != parent) {
		r->seen_in[name] = parent;
		r->seen[name] = tree_append(r->dst, parent, name);
	}
	return r->seen[name];
}

/* Items by node; the nodes of one level are the ids from @first on. */
static void reverse_group(struct reverse *r, uint32_t first)
{
	uint32_t nr_nodes = r->dst->nr - first;

	r->start = af_xrealloc(r->start, (nr_nodes + 1) * sizeof *r->start);
	for (uint32_t i = 0; i <= nr_nodes; i++)
		r->start[i] = 0;
	for (uint32_t i = 0; i < r->nr; i++)
		r->start[r->items[i].node - first + 1]++;
	for (uint32_t i = 0; i < nr_nodes; i++)
		r->start[i + 1] += r->start[i];
	for (uint32_t i = 0; i < r->nr; i++)
		r->sorted[r->start[r->items[i].node - first]++] = r->items[i];

	struct reverse_item *swap = r->items;
	r->items = r->sorted;
	r->sorted = swap;
}

/* One frame further for each stack; those that end leave their weight. */
static void reverse_level(struct reverse *r)
{
	const struct af_tree *src = r->src;
	uint32_t first = r->dst->nr, nr = 0;

	for (uint32_t i = 0; i < r->nr; i++) {
		struct reverse_item item = r->items[i];

		item.cursor = src->nodes[item.cursor].parent;
		if (!item.cursor) {
			for (uint32_t w = 0; w < src->nr_weights; w++)
				af_tree_add(r->dst, item.node, w, src->self[w][item.source]);
			continue;
		}
		item.node = reverse_child(r, item.node, item.cursor);
		r->items[nr++] = item;
	}
	r->nr = nr;
	reverse_group(r, first);
}

/* The last frame of each stack, below the root. */
static void reverse_leaves(struct reverse *r)
{
	const struct af_tree *src = r->src;

	for (uint32_t i = 1; i < src->nr; i++) {
		uint32_t leaf = i;

		if (!reverse_has_self(src, i))
			continue;
		if (src->nodes[i].name == AF_TREE_GAP)
			leaf = src->nodes[i].parent;
		if (leaf)
			r->items[r->nr++] =
			    (struct reverse_item){leaf, i, reverse_child(r, 0, leaf)};
	}
	reverse_group(r, 1);
}

static void reverse_names(struct reverse *r)
{
	for (uint32_t i = 0; i < r->src->nr_names; i++)
		r->names[i] = af_tree_name_like(r->dst, r->src, i, 1);
}

void af_tree_reverse(struct af_tree *dst, const struct af_tree *src)
{
	struct reverse r = {.dst = dst, .src = src};

	af_tree_open(dst, src->weights, src->nr_weights);
	dst->saturated = src->saturated;
	for (uint32_t w = 0; w < src->nr_weights; w++)
		af_tree_add(dst, 0, w, src->self[w][0]);
	for (uint32_t i = 1; i < src->nr; i++)
		r.nr += reverse_has_self(src, i);
	r.items = af_xcalloc(r.nr, sizeof *r.items);
	r.sorted = af_xcalloc(r.nr, sizeof *r.sorted);
	r.names = af_xcalloc(src->nr_names, sizeof *r.names);
	r.nr = 0;
	reverse_names(&r);
	r.seen = af_xcalloc(dst->nr_names, sizeof *r.seen);
	r.seen_in = af_xcalloc(dst->nr_names, sizeof *r.seen_in);

	for (reverse_leaves(&r); r.nr;)
		reverse_level(&r);
	free(r.items);
	free(r.sorted);
	free(r.names);
	free(r.seen);
	free(r.seen_in);
	free(r.start);
	/* Lists are needed to tell leaves from inner frames. */
	for (uint32_t i = 1; i < dst->nr; i++)
		dst->nodes[dst->nodes[i].parent].first_child = i;
	af_tree_finish(dst);
}
