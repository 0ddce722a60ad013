/* Functions of a difference: the weights of all nodes of a name. */
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/private.h"
#include "analyse/functions/blocked.h"

/*
 * Every stack of a wait ends in the scheduler, so a wait counts as the function's own that called
 * the scheduler.
 */
static uint32_t owner_of(const struct af_tree *t, uint32_t node)
{
	uint32_t user = af_blocked_user(t, node);
	uint32_t owner = user ? user : af_blocked_kernel(t, node);

	return owner ? owner : node;
}

static void add_to(uint64_t *sum, uint64_t *const *columns, uint32_t node)
{
	for (uint32_t i = 0; i < AF_DIFFERENCE_COLUMNS; i++)
		if (__builtin_add_overflow(sum[i], columns[i][node], &sum[i]))
			sum[i] = UINT64_MAX;
}

struct difference_function *difference_functions(const struct af_difference *d)
{
	const struct af_tree *t = &d->tree;
	struct difference_function *rows = af_xcalloc(t->nr_names, sizeof *rows);
	uint32_t *open = af_xcalloc(t->nr_names, sizeof *open); /* on the path, by name */
	uint32_t *path = af_xcalloc((size_t)af_tree_depth(t) + 2, sizeof *path);
	uint32_t depth = 0, at = 0;

	for (uint32_t node = 0; (node = af_tree_next(t, node, false, &depth));) {
		uint32_t name = t->nodes[node].name;
		for (; at >= depth; at--)
			open[path[at]]--;
		path[++at] = name;
		add_to(rows[t->nodes[d->look.waiting ? owner_of(t, node) : node].name].self,
		       t->self, node);
		if (!open[name]++)
			add_to(rows[name].total, t->total, node);
	}
	for (uint32_t i = 0; i < t->nr_names; i++) {
		rows[i].name = i;
		rows[i].text = af_tree_label(t, i, &rows[i].len);
		rows[i].frame = af_tree_frame(t, i);
		rows[i].own = af_difference_change(&d->look, rows[i].self);
		rows[i].whole = af_difference_change(&d->look, rows[i].total);
	}
	free(open);
	free(path);
	return rows;
}

int difference_by_size(const struct af_change *x, const struct af_change *y)
{
	if (x->certain != y->certain)
		return x->certain ? -1 : 1;
	return x->size == y->size ? 0 : x->size < y->size ? 1 : -1;
}

static int by_text(const struct difference_function *x, const struct difference_function *y)
{
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->text, y->text, len);

	if (order || x->len != y->len)
		return order ? order : x->len < y->len ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

int difference_function_order(const void *a, const void *b)
{
	const struct difference_function *x = a, *y = b;
	int order = x->by_self ? difference_by_size(&x->own, &y->own)
	                       : difference_by_size(&x->whole, &y->whole);

	if (!order)
		order = x->by_self ? difference_by_size(&x->whole, &y->whole)
		                   : difference_by_size(&x->own, &y->own);
	return order ? order : by_text(x, y);
}
