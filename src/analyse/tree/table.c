#include "analyse/tree/table.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree/ids.h"
#include "base/arena.h"

enum af_cell_unit af_tree_unit(const struct af_tree *t, uint32_t weight)
{
	const char *unit = t->weights[weight].unit;

	return !strcmp(unit, "ns")      ? AF_CELL_NS
	       : !strcmp(unit, "bytes") ? AF_CELL_BYTES
	                                : AF_CELL_COUNT;
}

struct choosing {
	uint64_t total;
	uint32_t node;
	uint32_t place; /* in preorder */
};

static int choosing_order(const void *a, const void *b)
{
	const struct choosing *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->place < y->place ? -1 : x->place > y->place;
}

uint8_t *af_tree_choose(const struct af_tree *t, uint32_t weight, const struct af_tree_cut *cut,
                        struct af_tree_rest *rest)
{
	uint8_t *chosen = af_xcalloc(t->nr + 1, sizeof *chosen);
	struct choosing *all = af_xcalloc(t->nr + 1, sizeof *all);
	uint32_t nr = 0, place = 0, depth = 0;

	*rest = (struct af_tree_rest){0};
	chosen[0] = 1;
	for (uint32_t i = 0; (i = af_tree_next(t, i, false, &depth));) {
		place++;
		if (t->total[weight][i] && t->nodes[i].name != AF_TREE_GAP)
			all[nr++] = (struct choosing){t->total[weight][i], i, place};
	}
	if (cut->limit && nr > cut->limit)
		AF_SORT(all, nr, choosing_order);
	for (uint32_t i = 0; i < nr; i++) {
		bool shown = all[i].total >= cut->min && (!cut->limit || i < cut->limit);
		chosen[all[i].node] = shown;
		rest->frames += shown;
		rest->left_out += !shown;
		if (!shown)
			rest->left_self += t->self[weight][all[i].node];
	}
	free(all);
	return chosen;
}

static const char *name_of(struct af_tables *f, const struct af_tree *t, uint32_t name)
{
	size_t len;
	const char *text = af_tree_label(t, name, &len);

	return af_arena_strdup(&f->arena, text, len);
}

static const char *id_of(struct af_tables *f, const struct af_tree *t, uint32_t name)
{
	char *id = af_arena_alloc(&f->arena, AF_ID_SIZE);

	af_name_id(id, t, name);
	return id;
}

struct af_table *af_tree_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                               const struct af_tree_cut *cut, const char *name, const char *title)
{
	enum af_cell_unit unit = af_tree_unit(t, weight);
	const struct af_column columns[] = {AF_TREE_COLUMNS(AF_ROW_COLUMN, unit)};
	struct af_table *table = AF_TABLE(f, name, title, columns);
	const char **ids = af_xcalloc(t->nr + 1, sizeof *ids);
	struct af_tree_rest rest;
	uint8_t *chosen = af_tree_choose(t, weight, cut, &rest);
	uint32_t depth = 0;

	ids[0] = "";
	for (uint32_t i = 0; (i = af_tree_next(t, i, i && !chosen[i], &depth));) {
		if (!chosen[i])
			continue;
		const char *above = ids[t->nodes[i].parent];
		const char *function = id_of(f, t, t->nodes[i].name);
		char *id = af_arena_alloc(&f->arena, AF_ID_SIZE);
		af_place_id(id, above, function);
		ids[i] = id;
		struct af_tree_row *c = af_table_row(f, table);
		c->frame.text = name_of(f, t, t->nodes[i].name);
		c->depth.value = depth;
		c->total.value = t->total[weight][i];
		c->total_share.value =
		    af_tables_ratio(t->total[weight][i], t->total[weight][0], 1e4);
		c->self.value = t->self[weight][i];
		c->kind.text = af_frame_name(af_tree_frame(t, t->nodes[i].name));
		c->function.text = function;
		c->id.text = id;
		c->below.text = above;
	}
	table->chosen = true;
	table->left_out = rest.left_out;
	table->left_weight = rest.left_self;
	table->left_column = 4;
	free(chosen);
	free(ids);
	return table;
}

static void first_row(struct af_tables *f, struct af_table *table, const struct af_tree *t,
                      uint32_t weight, const struct choosing *row, const char *own)
{
	struct af_first_row *c = af_table_row(f, table);
	uint32_t name = t->nodes[row->node].name;

	c->function.text = row->node ? name_of(f, t, name) : own;
	c->weight.value = row->total;
	c->share.value = af_tables_ratio(row->total, t->total[weight][0], 1e4);
	c->kind.text = af_frame_name(row->node ? af_tree_frame(t, name) : AF_FRAME_MARK);
	c->id.text = row->node ? id_of(f, t, name) : "";
}

struct af_table *af_tree_first_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                                     const char *own, const char *name, const char *title)
{
	const struct af_column columns[] = {
	    AF_FIRST_COLUMNS(AF_ROW_COLUMN, af_tree_unit(t, weight))};
	struct af_table *table = AF_TABLE(f, name, title, columns);
	struct choosing *rows = af_xcalloc(t->nr + 1, sizeof *rows);
	uint32_t nr = 0;

	if (t->self[weight][0])
		rows[nr++] = (struct choosing){t->self[weight][0], 0, 0};
	for (uint32_t c = t->nodes[0].first_child; c; c = t->nodes[c].next_sibling)
		if (t->total[weight][c]) {
			rows[nr] = (struct choosing){t->total[weight][c], c, nr};
			nr++;
		}
	AF_SORT(rows, nr, choosing_order);
	for (uint32_t i = 0; i < nr; i++)
		first_row(f, table, t, weight, &rows[i], own);
	free(rows);
	return table;
}
