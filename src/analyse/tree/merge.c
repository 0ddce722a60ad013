/* Adds one tree to another, by names: ids of names and nodes belong to a tree. */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree/private.h"

/* Adding @src to @dst. */
struct merging {
	struct af_tree *dst;
	const struct af_tree *src;
	uint32_t *names, *nodes;      /* of @dst, by those of @src */
	int columns[AF_TREE_WEIGHTS]; /* of @dst, or -1 */
	uint32_t below;               /* name of the frame that is put in */
	bool inserts;
};

/* The node below which the children of the node @i of @src go. */
static uint32_t merging_parent(const struct merging *m, uint32_t i)
{
	bool process = i && !m->src->nodes[i].parent &&
	               af_tree_frame(m->src, m->src->nodes[i].name) == AF_FRAME_PROCESS;

	return m->inserts && process ? af_tree_child(m->dst, m->nodes[i], m->below) : m->nodes[i];
}

static uint32_t merging_node(const struct merging *m, uint32_t i)
{
	const struct af_tree_node *n = &m->src->nodes[i];
	bool process = af_tree_frame(m->src, n->name) == AF_FRAME_PROCESS;

	/* Where order means nothing, a chart's gap is its parent's own weight. */
	if (n->name == AF_TREE_GAP && !m->dst->ordered)
		return m->nodes[n->parent];
	if (m->inserts && !n->parent && !process)
		return af_tree_child(m->dst, af_tree_child(m->dst, 0, m->below), m->names[n->name]);
	return af_tree_child(m->dst, merging_parent(m, n->parent), m->names[n->name]);
}

/* The weight that a node has itself is inside the frame that is put in, too. */
static uint32_t merging_own(const struct merging *m, uint32_t i)
{
	if (!i)
		return m->inserts ? af_tree_child(m->dst, 0, m->below) : 0;
	return merging_parent(m, i);
}

static void merging_weights(const struct merging *m, uint32_t i)
{
	bool any = false;

	for (uint32_t w = 0; w < m->src->nr_weights; w++)
		any |= m->columns[w] >= 0 && m->src->self[w][i];
	if (!any)
		return;
	uint32_t node = merging_own(m, i);
	for (uint32_t w = 0; w < m->src->nr_weights; w++)
		if (m->columns[w] >= 0)
			af_tree_add(m->dst, node, (uint32_t)m->columns[w], m->src->self[w][i]);
	if (i < m->src->nr_squares && m->src->squares[i] > 0)
		af_tree_vary(m->dst, node, m->src->squares[i]);
}

void af_tree_merge_below(struct af_tree *dst, const struct af_tree *src, const char *frame)
{
	struct merging m = {.dst = dst, .src = src, .inserts = frame != NULL};

	m.names = af_xcalloc(src->nr_names, sizeof *m.names);
	m.nodes = af_xcalloc(src->nr, sizeof *m.nodes);
	for (uint32_t w = 0; w < src->nr_weights; w++)
		m.columns[w] = af_tree_weight(dst, src->weights[w].name);
	for (uint32_t i = 0; i < src->nr_names; i++)
		m.names[i] = af_tree_name_like(dst, src, i, 0);
	if (frame)
		m.below = af_tree_name(dst, frame, strlen(frame), AF_FRAME_PROCESS, 0);
	for (uint32_t i = 0; i < src->nr; i++) {
		if (i)
			m.nodes[i] = merging_node(&m, i);
		merging_weights(&m, i);
	}
	dst->saturated |= src->saturated;
	free(m.names);
	free(m.nodes);
}

void af_tree_merge(struct af_tree *dst, const struct af_tree *src)
{
	af_tree_merge_below(dst, src, NULL);
}
