/* Merges tables: rows of members that have the same keys become one, by the rules of columns. */
#include <stdlib.h>
#include <string.h>

#include "analyse/passes/rows.h"
#include "analyse/set/private.h"
#include "analyse/table/group_by.h"
#include "base/arena.h"
#include "base/buf.h"

static struct set_table *table_called(struct af_merge *m, const char *name)
{
	struct set_table *t = m->tables;

	while (t && strcmp(t->head.name, name) != 0)
		t = t->next;
	return t;
}

static void row_free(struct set_row *row)
{
	free(row->cells);
	free(row->sums);
	free(row->spread.values);
}

void set_tables_close(struct af_merge *m)
{
	for (struct set_table *t = m->tables, *next; t; t = next) {
		next = t->next;
		for (uint32_t r = 0; r < t->nr_rows; r++)
			row_free(&t->rows[r]);
		af_keys_free(&t->index);
		free(t->rows);
		free(t->touched);
		free(t);
	}
	m->tables = m->last_table = NULL;
}

static const char *text_of(const struct af_cell *c)
{
	return c->text ? c->text : "";
}

static void key_of(struct af_buf *key, const struct set_table *t, const struct af_cell *cells)
{
	key->len = 0;
	for (uint32_t c = 0; c < t->head.nr_columns; c++) {
		if (t->rules.columns[c].rule != AF_MERGE_KEY)
			continue;
		if (t->head.columns[c].unit == AF_CELL_TEXT)
			af_buf_add(key, text_of(&cells[c]), strlen(text_of(&cells[c])) + 1);
		else
			af_buf_add(key, &cells[c].value, sizeof cells[c].value);
	}
}

/* The same cells, with texts of the merge. */
static void cells_copy(struct af_merge *m, const struct set_table *t, struct af_cell *to,
                       const struct af_cell *from)
{
	memcpy(to, from, t->head.nr_columns * sizeof *to);
	for (uint32_t c = 0; c < t->head.nr_columns; c++)
		if (t->head.columns[c].unit == AF_CELL_TEXT)
			to[c].text = set_text_of(m, text_of(&from[c]));
		else
			to[c].text = NULL;
}

/* A value that only the added row had came with its text. */
static void cells_own(struct af_merge *m, const struct set_table *t, struct af_cell *to,
                      const struct af_cell *from)
{
	for (uint32_t c = 0; c < t->head.nr_columns; c++)
		if (to[c].text && *to[c].text && to[c].text == from[c].text)
			to[c].text = set_text_of(m, to[c].text);
}

static struct set_row *row_new(struct af_merge *m, struct set_table *t, const struct af_cell *cells)
{
	AF_GROW(t->rows, t->nr_rows, t->cap_rows);
	struct set_row *row = &t->rows[t->nr_rows++];
	*row = (struct set_row){.cells = af_xcalloc(t->head.nr_columns, sizeof *row->cells)};
	if (t->rules.has_means)
		row->sums = af_xcalloc(t->head.nr_columns, sizeof *row->sums);
	cells_copy(m, t, row->cells, cells);
	return row;
}

/* The row with the keys of @cells; *@fresh: it is new, and has these cells. */
static struct set_row *row_at(struct af_merge *m, struct set_table *t, struct af_buf *key,
                              const struct af_cell *cells, bool *fresh)
{
	key_of(key, t, cells);
	uint64_t *slot = af_keys_at(&t->index, key->len ? key->data : "", key->len, fresh);

	if (!*fresh)
		return &t->rows[*slot];
	*slot = t->nr_rows;
	return row_new(m, t, cells);
}

static uint64_t weight_in(const struct set_table *t, const struct af_cell *cells)
{
	return t->weight >= 0 && !cells[t->weight].unknown ? cells[t->weight].value : 0;
}

static void row_touch(struct set_table *t, struct set_row *row, uint64_t weight)
{
	if (__builtin_add_overflow(row->now, weight, &row->now))
		row->now = UINT64_MAX;
	if (row->touched)
		return;
	row->touched = true;
	AF_GROW(t->touched, t->nr_touched, t->cap_touched);
	t->touched[t->nr_touched++] = (uint32_t)(row - t->rows);
}

static void merge_row(struct af_merge *m, struct set_table *t, struct af_buf *key,
                      const struct af_cell *cells)
{
	struct af_row_sum none[AF_TABLE_COLUMNS] = {{0, 0}};
	bool fresh;
	struct set_row *row = row_at(m, t, key, cells, &fresh);
	struct af_row_sum *sums = row->sums ? row->sums : none;

	if (fresh) {
		af_row_begin(&t->rules, row->cells, sums);
	} else {
		af_row_add(&t->rules, row->cells, sums, cells);
		cells_own(m, t, row->cells, cells);
	}
	row_touch(t, row, weight_in(t, cells));
}

static uint64_t saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int list_order(const void *a, const void *b)
{
	const struct set_row *x = a, *y = b;

	if (x->now != y->now)
		return x->now < y->now ? 1 : -1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* Keep the heaviest rows of a list, of equal ones the first that came. */
void set_list_cut(struct set_table *t)
{
	for (uint32_t r = 0; r < t->nr_rows; r++)
		t->rows[r].part = r; /* lists have no parts of a whole: it is their order */
	AF_SORT(t->rows, t->nr_rows, list_order);
	for (uint32_t r = SET_LIST_ROWS; r < t->nr_rows; r++) {
		t->left_out++;
		t->left_weight = saturated(t->left_weight, t->rows[r].now);
		row_free(&t->rows[r]);
	}
	t->nr_rows = t->nr_rows < SET_LIST_ROWS ? t->nr_rows : SET_LIST_ROWS;
	if (t->nr_rows == SET_LIST_ROWS)
		t->least = t->rows[SET_LIST_ROWS - 1].now;
}

static void list_row(struct af_merge *m, struct set_table *t, const struct af_cell *cells)
{
	uint64_t weight = weight_in(t, cells);

	if (t->least && weight <= t->least) {
		t->left_out++;
		t->left_weight = saturated(t->left_weight, weight);
		return;
	}
	row_new(m, t, cells)->now = weight;
	if (t->nr_rows == 2 * SET_LIST_ROWS)
		set_list_cut(t);
}

/* The cells of a row of @from in the order of @t's columns; what @from lacks is not known. */
static void cells_map(const struct set_table *t, const struct af_table *from, uint32_t row,
                      const char *by, struct af_cell *cells)
{
	const struct af_cell *has = from->cells + (size_t)row * from->nr_columns;

	memset(cells, 0, t->head.nr_columns * sizeof *cells);
	for (uint32_t c = 0; c < t->head.nr_columns; c++) {
		uint32_t at = c;
		if ((int)c == t->by) {
			cells[c].text = by;
			continue;
		}
		const char *key = t->head.columns[c].key;
		if (at >= from->nr_columns || strcmp(from->columns[at].key, key) != 0) {
			int found = af_table_column(from, key);
			at = found < 0 ? UINT32_MAX : (uint32_t)found;
		}
		if (at == UINT32_MAX || from->columns[at].unit != t->head.columns[c].unit)
			cells[c].unknown = true;
		else
			cells[c] = has[at];
	}
}

/* Two members whose notes differ have no note together. */
static void note_merge(struct set_table *t, const char *note)
{
	if (t->head.note && (!note || strcmp(t->head.note, note) != 0))
		t->head.note = NULL;
}

/* A member is complete: its weight in each row is one value of the distribution. */
static void member_end(struct set_table *t, uint64_t whole, uint32_t who)
{
	for (uint32_t i = 0; i < t->nr_touched; i++) {
		struct set_row *row = &t->rows[t->touched[i]];
		row->part = saturated(row->part, whole);
		if (t->weight >= 0)
			set_spread_add(&row->spread, row->now, 1, who);
		row->now = 0;
		row->touched = false;
	}
	t->nr_touched = 0;
	t->whole = saturated(t->whole, whole);
}

/* Shares of samples among what was lost: they come from sums. */
static bool is_made_anew(const struct af_table *from, uint32_t row)
{
	const struct af_lost_row *lost =
	    strcmp(from->name, "lost") == 0 ? AF_ROW_AT(struct af_lost_row, from, row) : NULL;

	return lost && lost->key.text &&
	       !strncmp(lost->key.text, AF_LOST_STACKS, strlen(AF_LOST_STACKS));
}

static void table_add(struct af_merge *m, struct set_table *t, const struct af_table *from,
                      const char *by, uint32_t who)
{
	struct af_cell cells[AF_TABLE_COLUMNS];
	struct af_buf key = {0};

	if (t->plan == SET_LIST)
		by = af_strtab_get(&m->texts, who);
	for (uint32_t r = 0; r < from->nr_rows; r++) {
		if (is_made_anew(from, r))
			continue;
		cells_map(t, from, r, by, cells);
		if (t->plan == SET_LIST)
			list_row(m, t, cells);
		else
			merge_row(m, t, &key, cells);
	}
	af_buf_free(&key);
	t->left_out = saturated(t->left_out, from->left_out);
	t->left_weight = saturated(t->left_weight, from->left_weight);
	note_merge(t, from->note);
	member_end(t, af_table_whole(from), who);
}

void set_tables_add(struct af_merge *m, const struct af_member *who, const char *by,
                    const struct af_tables *tables)
{
	uint32_t label = af_strtab_id_z(&m->texts, who->label);

	for (const struct af_table *from = tables->first; from; from = from->next) {
		enum set_plan plan = set_plan_of(from);
		struct set_table *t = table_called(m, from->name);
		if (plan == SET_LEAVE)
			continue;
		table_add(m, t ? t : set_table_open(m, from, plan), from, by, label);
	}
}

/* Add the row @from of the table @later of another merge. */
static void row_join(struct af_merge *m, struct set_table *t, struct af_buf *key,
                     const struct set_row *from, const struct af_merge *of)
{
	struct af_row_sum none[AF_TABLE_COLUMNS] = {{0, 0}};
	bool fresh;
	struct set_row *row = row_at(m, t, key, from->cells, &fresh);
	uint32_t who = af_strtab_id_z(&m->texts, af_strtab_get(&of->texts, from->spread.who));

	if (fresh && row->sums && from->sums)
		memcpy(row->sums, from->sums, t->head.nr_columns * sizeof *row->sums);
	if (!fresh) {
		af_row_join(&t->rules, row->cells, row->sums ? row->sums : none, from->cells,
		            from->sums ? from->sums : none);
		cells_own(m, t, row->cells, from->cells);
	}
	row->part = saturated(row->part, from->part);
	set_spread_join(&row->spread, &from->spread, who);
}

static void table_join(struct af_merge *m, struct set_table *t, const struct set_table *later,
                       const struct af_merge *of)
{
	struct af_buf key = {0};

	for (uint32_t r = 0; r < later->nr_rows; r++)
		if (t->plan == SET_LIST)
			list_row(m, t, later->rows[r].cells);
		else
			row_join(m, t, &key, &later->rows[r], of);
	af_buf_free(&key);
	t->left_out = saturated(t->left_out, later->left_out);
	t->left_weight = saturated(t->left_weight, later->left_weight);
	t->whole = saturated(t->whole, later->whole);
	note_merge(t, later->head.note);
}

/* The columns of two merges are the same, unless versions of aflame differ. */
static bool has_same_columns(const struct set_table *a, const struct set_table *b)
{
	if (a->head.nr_columns != b->head.nr_columns)
		return false;
	for (uint32_t c = 0; c < a->head.nr_columns; c++)
		if (strcmp(a->head.columns[c].key, b->head.columns[c].key) != 0 ||
		    a->head.columns[c].unit != b->head.columns[c].unit)
			return false;
	return true;
}

void set_tables_join(struct af_merge *m, struct af_merge *later)
{
	for (const struct set_table *from = later->tables; from; from = from->next) {
		struct set_table *t = table_called(m, from->head.name);
		if (!t)
			t = set_table_like(m, from);
		if (has_same_columns(t, from))
			table_join(m, t, from, later);
	}
}
