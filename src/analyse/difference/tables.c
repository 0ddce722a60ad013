/* A difference as tables: all together, functions, and paths that only one side has. */
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/private.h"
#include "analyse/tree/ids.h"
#include "analyse/tree/table.h"
#include "base/arena.h"
#include "base/buf.h"

static enum af_cell_unit unit_of(const struct af_difference *d)
{
	return af_tree_unit(&d->tree, AF_DIFFERENCE_AFTER);
}

/*
 * Counts with fractions are shown as whole numbers: the factor in which they are kept is taken out.
 */
static uint64_t shown_value(const struct af_difference *d, double value)
{
	uint64_t scale = d->tree.weights[AF_DIFFERENCE_AFTER].scale;

	return af_tables_count(value / (double)(scale ? scale : 1));
}

static uint64_t shown_whole(const struct af_difference *d, uint64_t value)
{
	uint64_t scale = d->tree.weights[AF_DIFFERENCE_AFTER].scale;

	return scale > 1 ? value / scale + (value % scale >= scale / 2) : value;
}

static enum af_tone tone_of(const struct af_change *c)
{
	if (c->kind == AF_CHANGE_NONE || !c->certain)
		return AF_TONE_FAINT;
	return c->less ? AF_TONE_LESS : AF_TONE_MORE;
}

static void cell_change(struct af_cell *cell, uint64_t value, bool less)
{
	cell->value = value;
	cell->less = less && value;
}

/* The change as a share of @whole; of nothing there is none. */
static void cell_part(struct af_cell *cell, const struct af_change *c, uint64_t whole)
{
	cell_change(cell, af_tables_ratio(c->size, whole, 1e4), c->less);
	cell->unknown = !whole;
}

static void row_tone(const struct af_table *t, void *row, enum af_tone tone)
{
	struct af_cell *cells = row;

	for (uint32_t i = 0; i < t->nr_columns; i++)
		cells[i].tone = tone;
}

static struct af_change change_of_all(const struct af_difference *d)
{
	return af_difference_node(&d->look, &d->tree, 0, false);
}

#define FUNCTION_COLUMNS(C, unit, own, whole)                                                      \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(self_before, "Self before", unit, own)                                                   \
	C(self_after, "Self after", unit, own)                                                     \
	C(self_change, "Self change", unit, AF_SHOW_ALWAYS, .change = true)                        \
	C(self_change_percent, "Self of before", AF_CELL_PERCENT, own, .change = true)             \
	C(self_noise, "Self noise", unit, AF_SHOW_NEVER)                                           \
	C(total_before, "Total before", unit, whole)                                               \
	C(total_after, "Total after", unit, whole)                                                 \
	C(total_change, "Total change", unit, AF_SHOW_ALWAYS, .change = true)                      \
	C(total_change_percent, "Total of before", AF_CELL_PERCENT, whole, .change = true)         \
	C(total_noise, "Total noise", unit, AF_SHOW_NEVER)                                         \
	C(self, "Self", AF_CELL_TEXT)                                                              \
	C(total, "Total", AF_CELL_TEXT)                                                            \
	C(kind, "Kind", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(id, "Id", AF_CELL_TEXT, AF_SHOW_NEVER)
struct function_row {
	FUNCTION_COLUMNS(AF_ROW_CELL, AF_CELL_NS, 0, 0)
};

/* functions */

static void function_row(const struct af_difference *d, struct af_tables *f, struct af_table *t,
                         const struct difference_function *fn, bool by_self)
{
	const struct af_change all = change_of_all(d), *own = &fn->own, *whole = &fn->whole;
	struct function_row *c = af_table_row(f, t);
	char *id = af_arena_alloc(&f->arena, AF_ID_SIZE);

	af_name_id(id, &d->tree, fn->name);
	c->function.text = af_tables_text(f, "%.*s", (int)fn->len, fn->text);
	c->self_before.value = shown_whole(d, own->before);
	c->self_after.value = shown_whole(d, own->after);
	cell_change(&c->self_change, shown_whole(d, own->size), own->less);
	cell_part(&c->self_change_percent, own, all.before);
	c->self_noise.value = shown_value(d, own->noise);
	c->total_before.value = shown_whole(d, whole->before);
	c->total_after.value = shown_whole(d, whole->after);
	cell_change(&c->total_change, shown_whole(d, whole->size), whole->less);
	cell_part(&c->total_change_percent, whole, all.before);
	c->total_noise.value = shown_value(d, whole->noise);
	c->self.text = af_change_name(own);
	c->total.text = af_change_name(whole);
	c->kind.text = af_frame_name(fn->frame);
	c->id.text = id;
	/* Ordered by the change of their own weight, unless no function has one. */
	row_tone(t, c, tone_of(by_self && own->size ? own : whole));
}

static bool function_shown(const struct difference_function *fn,
                           const struct af_difference_shown *shown)
{
	if (!fn->whole.before && !fn->whole.after)
		return false;
	if (shown->only)
		return fn->whole.kind == shown->only;
	return shown->all || (fn->own.certain && fn->own.size) ||
	       (fn->whole.certain && fn->whole.size);
}

/* Nothing is left out in silence. */
static const char *functions_note(struct af_tables *f, uint32_t nr_shown, uint32_t nr_left)
{
	if (nr_left)
		return af_tables_text(f, "%u %schanged within noise: --all shows them", nr_left,
		                      nr_shown ? "more " : "");
	return nr_shown ? NULL : "none";
}

static void functions_table(const struct af_difference *d, struct af_tables *f,
                            const struct af_difference_shown *shown)
{
	const enum af_cell_unit unit = unit_of(d);
	const enum af_column_show own = shown->by_self ? AF_SHOW_ALWAYS : AF_SHOW_NEVER;
	const enum af_column_show whole = shown->by_self ? AF_SHOW_NEVER : AF_SHOW_ALWAYS;
	const struct af_column columns[] = {FUNCTION_COLUMNS(AF_ROW_COLUMN, unit, own, whole)};
	uint32_t nr = d->tree.nr_names, nr_left = 0;
	struct difference_function *rows = difference_functions(d);
	struct af_table *t = AF_TABLE(f, "functions", "What changed: functions", columns);

	for (uint32_t i = 0; i < nr; i++)
		rows[i].by_self = shown->by_self;
	AF_SORT(rows, nr, difference_function_order);
	for (uint32_t i = 0; i < nr; i++) {
		const struct difference_function *fn = &rows[i];
		if (fn->len && function_shown(fn, shown))
			function_row(d, f, t, fn, shown->by_self);
		else if (fn->len && !shown->only && (fn->own.size || fn->whole.size))
			nr_left++;
	}
	t->note = functions_note(f, t->nr_rows, nr_left);
	free(rows);
}

/* paths */

struct path {
	uint32_t node, place; /* place: in the order of stacks */
	struct af_change change;
};

static int path_order(const void *a, const void *b)
{
	const struct path *x = a, *y = b;
	int order = difference_by_size(&x->change, &y->change);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* The nodes from below the root to @node; the caller frees them. */
static uint32_t *nodes_to(const struct af_tree *t, uint32_t node, uint32_t *nr)
{
	uint32_t *nodes;

	*nr = 0;
	for (uint32_t i = node; i; i = t->nodes[i].parent)
		++*nr;
	nodes = af_xcalloc((size_t)*nr + 1, sizeof *nodes);
	for (uint32_t i = node, at = *nr; i; i = t->nodes[i].parent)
		nodes[--at] = i;
	return nodes;
}

static const char *name_of(struct af_tables *f, const struct af_tree *t, uint32_t node)
{
	size_t len;
	const char *text = af_tree_label(t, t->nodes[node].name, &len);

	return node ? af_tables_text(f, "%.*s", (int)len, text) : "all";
}

/* The path as folded text, and the id of its end. */
static void path_text(struct af_buf *b, char id[AF_ID_SIZE], const struct af_tree *t, uint32_t node)
{
	uint32_t nr, *nodes = nodes_to(t, node, &nr);
	char above[AF_ID_SIZE] = "", function[AF_ID_SIZE];

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t name = t->nodes[nodes[i]].name;
		size_t len;
		const char *text = af_tree_text(t, name, &len);
		if (i)
			af_buf_char(b, ';');
		for (size_t k = 0; k < len; k++)
			af_buf_char(b, text[k] == ';' ? ':' : text[k]);
		af_name_id(function, t, name);
		af_place_id(id, above, function);
		memcpy(above, id, AF_ID_SIZE);
	}
	free(nodes);
}

/* The outermost frames that only one side has; what is below them is part of them. */
static struct path *paths_of(const struct af_difference *d, enum af_change_kind kind, uint32_t *nr)
{
	const struct af_tree *t = &d->tree;
	struct path *paths = NULL;
	uint32_t depth = 0, cap = 0, place = 0;
	bool inside = false;

	*nr = 0;
	for (uint32_t node = 0; (node = af_tree_next(t, node, inside, &depth)); place++) {
		struct path p = {node, place, af_difference_node(&d->look, t, node, false)};
		inside = p.change.kind == kind;
		if (!inside)
			continue;
		AF_GROW(paths, *nr, cap);
		paths[(*nr)++] = p;
	}
	AF_SORT(paths, *nr, path_order);
	return paths;
}

#define PATH_COLUMNS(C, unit)                                                                      \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(caller, "Called by", AF_CELL_TEXT)                                                       \
	C(total, "Total", unit)                                                                    \
	C(total_percent, "Of before", AF_CELL_PERCENT)                                             \
	C(change, "Change", AF_CELL_TEXT)                                                          \
	C(path, "Path", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(id, "Id", AF_CELL_TEXT, AF_SHOW_NEVER)
struct path_row {
	PATH_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

static void path_row(const struct af_difference *d, struct af_tables *f, struct af_table *t,
                     const struct path *p)
{
	const struct af_tree *tree = &d->tree;
	struct path_row *c = af_table_row(f, t);
	char *id = af_arena_alloc(&f->arena, AF_ID_SIZE);
	struct af_buf path = {0};

	path_text(&path, id, tree, p->node);
	c->function.text = name_of(f, tree, p->node);
	c->caller.text = name_of(f, tree, tree->nodes[p->node].parent);
	c->total.value = shown_whole(d, p->change.size);
	c->total_percent.value = af_tables_ratio(p->change.size, change_of_all(d).before, 1e4);
	c->total_percent.unknown = !change_of_all(d).before;
	c->change.text = af_change_name(&p->change);
	c->path.text = af_tables_text(f, "%.*s", (int)path.len, path.data);
	c->id.text = id;
	row_tone(t, c, tone_of(&p->change));
	af_buf_free(&path);
}

/* ", 1.25 % of before"; of nothing there is no share. */
static const char *part_text(const struct af_difference *d, struct af_tables *f, uint64_t sum)
{
	uint64_t before = change_of_all(d).before;

	return before ? af_tables_text(f, ", %.2f %% of before",
	                               (double)af_tables_ratio(sum, before, 1e4) / 100)
	              : "";
}

static void paths_table(const struct af_difference *d, struct af_tables *f,
                        const struct af_difference_shown *shown, enum af_change_kind kind)
{
	const struct af_column columns[] = {PATH_COLUMNS(AF_ROW_COLUMN, unit_of(d))};
	bool fresh = kind == AF_CHANGE_NEW;
	uint32_t nr, nr_left = 0;
	uint64_t sum = 0;
	struct path *paths = paths_of(d, kind, &nr);
	struct af_table *t = AF_TABLE(f, fresh ? "new" : "vanished",
	                              fresh ? "New paths" : "Vanished paths", columns);

	for (uint32_t i = 0; i < nr; i++) {
		sum += paths[i].change.size;
		if (shown->all || paths[i].change.certain)
			path_row(d, f, t, &paths[i]);
		else
			nr_left++;
	}
	if (nr_left)
		t->note = af_tables_text(f, "%u of them within noise: --all shows them", nr_left);
	else if (!nr)
		t->note = "none";
	if (nr)
		t->title = af_tables_text(f, "%s paths: %u%s", fresh ? "New" : "Vanished", nr,
		                          part_text(d, f, sum));
	free(paths);
}

#define TOTAL_COLUMNS(C, unit)                                                                     \
	C(all, "", AF_CELL_TEXT)                                                                   \
	C(before, "Before", unit)                                                                  \
	C(after, "After", unit)                                                                    \
	C(change, "Change", unit, AF_SHOW_ALWAYS, .change = true)                                  \
	C(change_percent, "Of before", AF_CELL_PERCENT, AF_SHOW_ALWAYS, .change = true)            \
	C(noise, "Noise", unit)                                                                    \
	C(kind, "Change is", AF_CELL_TEXT)                                                         \
	C(before_counted, "Before counted", unit, AF_SHOW_NEVER)                                   \
	C(normalized_by, "Normalized by", AF_CELL_TEXT, AF_SHOW_NEVER)
struct total_row {
	TOTAL_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/* all together */

static void total_table(const struct af_difference *d, struct af_tables *f)
{
	const enum af_cell_unit unit = unit_of(d);
	const struct af_column columns[] = {TOTAL_COLUMNS(AF_ROW_COLUMN, unit)};
	const struct af_change all = change_of_all(d);
	struct af_table *t = AF_TABLE(f, "total", "All together", columns);
	struct total_row *c = af_table_row(f, t);

	c->all.text = "all";
	c->before.value = shown_whole(d, all.before);
	c->after.value = shown_whole(d, all.after);
	cell_change(&c->change, shown_whole(d, all.size), all.less);
	cell_part(&c->change_percent, &all, all.before);
	c->noise.value = shown_value(d, all.noise);
	c->kind.text = af_change_name(&all);
	c->before_counted.value = shown_whole(d, d->tree.total[AF_DIFFERENCE_BEFORE][0]);
	c->normalized_by.text = af_normalize_name(d->look.normalize);
	row_tone(t, c, tone_of(&all));
}

void af_difference_tables(const struct af_difference *d, struct af_tables *f,
                          const struct af_difference_shown *shown)
{
	total_table(d, f);
	functions_table(d, f, shown);
	if (shown->only != AF_CHANGE_VANISHED)
		paths_table(d, f, shown, AF_CHANGE_NEW);
	if (shown->only != AF_CHANGE_NEW)
		paths_table(d, f, shown, AF_CHANGE_VANISHED);
}

/* gates */

static bool is_worse(const struct af_change *c, double limit)
{
	return !c->less && c->certain && (double)c->size > limit;
}

#define WORSE_COLUMNS(C, unit)                                                                     \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(what, "What", AF_CELL_TEXT)                                                              \
	C(change, "Change", unit, AF_SHOW_ALWAYS, .change = true)                                  \
	C(change_percent, "Of before", AF_CELL_PERCENT, AF_SHOW_ALWAYS, .change = true)            \
	C(noise, "Noise", unit)
struct worse_row {
	WORSE_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

static void worse_row(const struct af_difference *d, struct af_tables *f, struct af_table *t,
                      const char *name, const char *what, const struct af_change *c)
{
	struct worse_row *row = af_table_row(f, t);

	row->function.text = name;
	row->what.text = what;
	cell_change(&row->change, shown_whole(d, c->size), c->less);
	cell_part(&row->change_percent, c, change_of_all(d).before);
	row->noise.value = shown_value(d, c->noise);
	row_tone(t, row, AF_TONE_MORE);
}

struct af_table *af_difference_worse(const struct af_difference *d, struct af_tables *f,
                                     double percent)
{
	const struct af_column columns[] = {WORSE_COLUMNS(AF_ROW_COLUMN, unit_of(d))};
	struct af_table *t = AF_TABLE(f, "worse", "Grew by more than it may", columns);
	const struct af_change all = change_of_all(d);
	double limit = (double)all.before * percent / 100;
	struct difference_function *rows = difference_functions(d);

	if (is_worse(&all, limit))
		worse_row(d, f, t, "all", "total", &all);
	for (uint32_t i = 0; i < d->tree.nr_names; i++)
		rows[i].by_self = true;
	AF_SORT(rows, d->tree.nr_names, difference_function_order);
	for (uint32_t i = 0; i < d->tree.nr_names; i++) {
		bool own = is_worse(&rows[i].own, limit);
		if (!rows[i].len || (!own && !is_worse(&rows[i].whole, limit)))
			continue;
		worse_row(d, f, t, af_tables_text(f, "%.*s", (int)rows[i].len, rows[i].text),
		          own ? "self" : "total", own ? &rows[i].own : &rows[i].whole);
	}
	if (!t->nr_rows)
		t->note = "nothing";
	free(rows);
	return t;
}
