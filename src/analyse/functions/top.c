/*
 * The functions of a tree by weight: self is what was in the function itself, total what was in it
 * or below it, each stack counted once however often the function stands in it.
 */
#include "analyse/functions/top.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions/blocked.h"
#include "analyse/tree/table.h"
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

static int top_order_by_total(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return top_order(a, b);
}

/* Is the name of @node also that of a frame above it? */
static bool top_is_recursive(const struct af_tree *t, uint32_t node)
{
	for (uint32_t up = t->nodes[node].parent; up; up = t->nodes[up].parent)
		if (t->nodes[up].name == t->nodes[node].name)
			return true;
	return false;
}

/*
 * The frame that the weight of @node is charged to. Every off-CPU path ends in the scheduler, so
 * there it is the program's function that waited, or the kernel's where there is no program.
 */
static uint32_t top_owner(const struct af_tree *t, uint32_t node, bool waiting)
{
	if (!waiting)
		return node;
	uint32_t user = af_blocked_user(t, node);
	uint32_t owner = user ? user : af_blocked_kernel(t, node);
	return owner ? owner : node;
}

static struct top_row *top_rows(const struct af_tree *t, uint32_t weight)
{
	struct top_row *rows = af_xcalloc(t->nr_names, sizeof *rows);

	for (uint32_t i = 0; i < t->nr_names; i++)
		rows[i].name = i;
	bool waiting = !strcmp(t->weights[weight].name, "off-cpu");
	for (uint32_t n = 1; n < t->nr; n++) {
		if (!t->total[weight][n])
			continue;
		rows[t->nodes[top_owner(t, n, waiting)].name].self += t->self[weight][n];
		if (!top_is_recursive(t, n))
			rows[t->nodes[n].name].total += t->total[weight][n];
	}
	return rows;
}

const char *af_top_location(struct af_tables *f, const char *file, uint32_t line, bool more)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (!file)
		return "";
	return af_tables_text(f, "%s:%u%s", slash && slash[1] ? slash + 1 : file, (unsigned)line,
	                      more ? ", …" : "");
}

void af_top_source(struct af_tables *f, struct af_top_row *row, const struct af_tree *t)
{
	const struct af_tree_source source = af_tree_source(t, (uint32_t)row->function.value);

	row->location.text = af_top_location(f, source.file, source.line, source.several);
	row->file.text = source.file ? af_tables_text(f, "%s", source.file) : "";
	row->line.value = source.line;
	row->line.unknown = !source.file;
}

static void top_row_add(struct af_tables *f, struct af_table *table, const struct af_tree *t,
                        const struct top_row *row, uint64_t all)
{
	size_t len;
	const char *text = af_tree_label(t, row->name, &len);
	struct af_top_row *c = af_table_row(f, table);

	c->function.text = af_arena_strdup(&f->arena, text, len);
	c->function.value = row->name;
	c->self.value = row->self;
	c->self_share.value = af_tables_ratio(row->self, all, 1e4);
	c->total.value = row->total;
	c->total_share.value = af_tables_ratio(row->total, all, 1e4);
	c->kind.text = af_frame_name(af_tree_frame(t, row->name));
	af_top_source(f, c, t);
}

static struct af_table *top_begin(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                                  const char *name, const char *title)
{
	const struct af_column columns[] = {AF_TOP_COLUMNS(AF_ROW_COLUMN, af_tree_unit(t, weight))};

	return AF_TABLE(f, name, title, columns);
}

void af_top_table(struct af_tables *f, const struct af_tree *t, uint32_t weight, const char *name,
                  const char *title, uint32_t limit)
{
	uint64_t all = t->total[weight][0];

	if (!all)
		return;
	struct top_row *rows = top_rows(t, weight);
	struct af_table *table = top_begin(f, t, weight, name, title);
	AF_SORT(rows, t->nr_names, top_order);
	table->left_column = 1;
	for (uint32_t i = 0; i < t->nr_names && rows[i].self; i++) {
		if (!limit || i < limit) {
			top_row_add(f, table, t, &rows[i], all);
		} else {
			table->left_out++;
			table->left_weight += rows[i].self;
		}
	}
	free(rows);
}

void af_top_by_total(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                     const uint8_t *is, const char *name, const char *title)
{
	uint64_t all = t->total[weight][0];

	if (!all)
		return;
	struct top_row *rows = top_rows(t, weight);
	struct af_table *table = top_begin(f, t, weight, name, title);
	AF_SORT(rows, t->nr_names, top_order_by_total);
	for (uint32_t i = 0; i < t->nr_names && rows[i].total; i++)
		if (!is || is[rows[i].name])
			top_row_add(f, table, t, &rows[i], all);
	free(rows);
}
