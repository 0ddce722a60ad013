/*
 * The functions of a tree by weight: self is what was in the function itself, total what was in it
 * or below it, each stack counted once however often the function stands in it.
 */
#include "analyse/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct top_row {
	uint32_t name;
	uint64_t self, total;
};

static int top_order(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Is the name of @node also that of a frame above it? */
static bool top_is_recursive(const struct af_tree *t, uint32_t node)
{
	for (uint32_t up = t->nodes[node].parent; up; up = t->nodes[up].parent)
		if (t->nodes[up].name == t->nodes[node].name)
			return true;
	return false;
}

static struct top_row *top_rows(const struct af_tree *t, uint32_t weight)
{
	struct top_row *rows = af_xcalloc(t->nr_names, sizeof *rows);

	for (uint32_t i = 0; i < t->nr_names; i++)
		rows[i].name = i;
	for (uint32_t n = 1; n < t->nr; n++) {
		struct top_row *r = &rows[t->nodes[n].name];
		r->self += t->self[weight][n];
		if (!top_is_recursive(t, n))
			r->total += t->total[weight][n];
	}
	qsort(rows, t->nr_names, sizeof *rows, top_order);
	return rows;
}

void af_top_table(struct af_facts *f, const struct af_tree *t, uint32_t weight, const char *name,
                  const char *title, uint32_t limit)
{
	static const struct af_column columns[] = {
	    {"Function", AF_CELL_TEXT},       {"Self", AF_CELL_NS},
	    {"Self share", AF_CELL_PERCENT},  {"Total", AF_CELL_NS},
	    {"Total share", AF_CELL_PERCENT}, {"Kind", AF_CELL_TEXT},
	};
	uint64_t all = t->total[weight][0];

	if (!all)
		return;
	struct top_row *rows = top_rows(t, weight);
	struct af_table *table = af_facts_table(f, name, title, columns, 6);
	for (uint32_t i = 0; i < t->nr_names && (!limit || i < limit) && rows[i].self; i++) {
		size_t len;
		const char *text = af_tree_text(t, rows[i].name, &len);
		struct af_cell *c = af_table_row(f, table);
		c[0].text = af_facts_text(f, "%.*s", (int)len, text);
		c[1].value = rows[i].self;
		c[2].value = (uint64_t)((double)rows[i].self * 1e4 / (double)all + 0.5);
		c[3].value = rows[i].total;
		c[4].value = (uint64_t)((double)rows[i].total * 1e4 / (double)all + 0.5);
		c[5].text = af_frame_name(af_tree_frame(t, rows[i].name));
	}
	free(rows);
}
