#include "analyse/tree/filter.h"

#include <stdlib.h>

#include "base/arena.h"

#define NOWHERE UINT32_MAX

struct filtering {
	struct af_tree *dst;
	const struct af_tree *src;
	const struct af_hits *hits;
	uint32_t *names; /* of dst by name of src, 0: not met */
	uint8_t *inside; /* by node: it or one above it is meant */
	uint8_t *above;  /* by node: one below it is meant */
};

struct filter_rule {
	/* Where a node goes in the new tree, given where its parent went, or NOWHERE. */
	uint32_t (*place)(struct filtering *n, uint32_t node, uint32_t above);
	bool only_inside; /* of other nodes no weight is taken */
};

static uint32_t filter_child(struct filtering *n, uint32_t node, uint32_t above)
{
	uint32_t name = n->src->nodes[node].name;

	if (!n->names[name])
		n->names[name] = af_tree_name_like(n->dst, n->src, name, 1);
	return af_tree_child(n->dst, above, n->names[name]);
}

static uint32_t place_focus(struct filtering *n, uint32_t node, uint32_t above)
{
	if (!n->inside[node])
		return NOWHERE;
	return filter_child(n, node, above == NOWHERE ? 0 : above);
}

static uint32_t place_hide(struct filtering *n, uint32_t node, uint32_t above)
{
	return n->hits->is[n->src->nodes[node].name] ? above : filter_child(n, node, above);
}

static uint32_t place_keep(struct filtering *n, uint32_t node, uint32_t above)
{
	return n->inside[node] || n->above[node] ? filter_child(n, node, above) : NOWHERE;
}

static void filter_mark(struct filtering *n)
{
	const struct af_tree *t = n->src;

	n->names = af_xcalloc(t->nr_names + 1, sizeof *n->names);
	n->inside = af_xcalloc(t->nr + 1, sizeof *n->inside);
	n->above = af_xcalloc(t->nr + 1, sizeof *n->above);
	for (uint32_t i = 1; i < t->nr; i++)
		n->inside[i] = n->inside[t->nodes[i].parent] | n->hits->is[t->nodes[i].name];
	for (uint32_t i = t->nr; i-- > 1;)
		if (n->inside[i] || n->above[i])
			n->above[t->nodes[i].parent] = 1;
}

static void filter(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h,
                   const struct filter_rule *rule)
{
	struct filtering n = {.dst = dst, .src = src, .hits = h};
	uint32_t *to = af_xcalloc(src->nr + 1, sizeof *to);

	af_tree_open(dst, src->weights, src->nr_weights);
	dst->saturated = src->saturated;
	if (af_tree_has_locations(src))
		af_tree_keep_locations(dst);
	filter_mark(&n);
	for (uint32_t i = 0; i < src->nr; i++) {
		to[i] = i ? rule->place(&n, i, to[src->nodes[i].parent]) : 0;
		if (to[i] == NOWHERE || (rule->only_inside && !n.inside[i]))
			continue;
		for (uint32_t w = 0; w < src->nr_weights; w++)
			af_tree_add(dst, to[i], w, src->self[w][i]);
	}
	free(to);
	free(n.names);
	free(n.inside);
	free(n.above);
	af_tree_finish(dst);
}

void af_tree_focus(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h)
{
	filter(dst, src, h, &(const struct filter_rule){place_focus, true});
}

void af_tree_hide(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h)
{
	filter(dst, src, h, &(const struct filter_rule){place_hide, false});
}

void af_tree_keep(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h)
{
	filter(dst, src, h, &(const struct filter_rule){place_keep, true});
}
