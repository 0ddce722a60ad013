#include "analyse/table/group_by.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/table/rules.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/keys.h"
#include "base/map.h"

int af_table_column(const struct af_table *t, const char *key)
{
	for (uint32_t c = 0; c < t->nr_columns; c++)
		if (!strcmp(t->columns[c].key, key))
			return (int)c;
	return -1;
}

int af_table_weighs(const struct af_table *t)
{
	static const char *const keys[] = {"self",    "weight",     "time_ns", "length_ns",
	                                   "busy_ns", "sampled_ns", "samples", "allocated_bytes"};

	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
		int c = af_table_column(t, keys[i]);
		if (c >= 0 && t->columns[c].unit != AF_CELL_TEXT && !t->columns[c].change)
			return c;
	}
	return -1;
}

static bool is_one_of(const char *key, const char *const *keys)
{
	for (; *keys; keys++)
		if (!strcmp(*keys, key))
			return true;
	return false;
}

static struct af_cell *cell_of(const struct af_table *t, uint32_t row, int c)
{
	return &t->cells[(size_t)row * t->nr_columns + (uint32_t)c];
}

static const char *text_of(const struct af_cell *c)
{
	return c->text ? c->text : "";
}

void af_table_sum_up(struct af_tables *f, struct af_table *t)
{
	struct af_row_sum sums[AF_TABLE_COLUMNS];
	struct af_row_rules rules;
	uint64_t whole = af_table_whole(t);
	bool named = false;

	if (!t->nr_rows)
		return;
	af_row_rules_make(&rules, t);
	struct af_cell *total = af_table_total(f, t);
	memcpy(total, t->cells, t->nr_columns * sizeof *total);
	af_row_begin(&rules, total, sums);
	for (uint32_t r = 1; r < t->nr_rows; r++)
		af_row_add(&rules, total, sums, cell_of(t, r, 0));
	af_row_finish(&rules, total, sums, whole, whole);
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		total[c].tone = AF_TONE_PLAIN;
		if (t->columns[c].unit != AF_CELL_TEXT)
			continue;
		total[c].text = named ? "" : "Total";
		named = true;
	}
}

/* Texts of the keys, each with its end. */
static void key_of(struct af_buf *key, const struct af_table *t, uint32_t row,
                   const char *const *keys)
{
	key->len = 0;
	for (; *keys; keys++) {
		int c = af_table_column(t, *keys);
		const char *text = c < 0 ? "" : text_of(cell_of(t, row, c));
		af_buf_add(key, text, strlen(text) + 1);
	}
}

struct af_table *af_table_group_by(struct af_tables *f, const struct af_table *t,
                                   const char *const *keys, const char *const *drop)
{
	struct af_column columns[AF_TABLE_COLUMNS];
	struct af_row_rules rules;
	struct af_row_sum *sums = NULL; /* of the rows of the copy */
	size_t cap = 0;
	struct af_keys rows = {0};
	struct af_buf key = {0};
	bool fresh;

	memcpy(columns, t->columns, sizeof columns);
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		if (is_one_of(columns[c].key, keys))
			columns[c].show =
			    columns[c].show == AF_SHOW_NEVER ? AF_SHOW_USED : columns[c].show;
		else if (is_one_of(columns[c].key, drop))
			columns[c].show = AF_SHOW_NEVER;
	}
	struct af_table *to = af_tables_table(f, t->name, t->title, columns, t->nr_columns);
	to->note = t->note;
	to->warning = t->warning;
	to->whole = af_table_whole(t);
	af_row_rules_make(&rules, to);
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		key_of(&key, t, r, keys);
		uint64_t *slot = af_keys_at(&rows, key.data, key.len, &fresh);
		if (fresh) {
			*slot = to->nr_rows;
			AF_ROOM(sums, (size_t)(*slot + 1) * t->nr_columns, cap);
			memcpy(af_table_row(f, to), cell_of(t, r, 0),
			       t->nr_columns * sizeof *t->cells);
			af_row_begin(&rules, cell_of(t, r, 0), sums + *slot * t->nr_columns);
			continue;
		}
		af_row_add(&rules, cell_of(to, (uint32_t)*slot, 0), sums + *slot * t->nr_columns,
		           cell_of(t, r, 0));
	}
	for (uint32_t r = 0; r < to->nr_rows; r++)
		af_row_finish(&rules, cell_of(to, r, 0), sums + (size_t)r * to->nr_columns,
		              to->whole, to->whole);
	free(sums);
	af_keys_free(&rows);
	af_buf_free(&key);
	return to;
}

/* One row while it is sorted. */
struct sorted {
	const struct af_cell *by;
	uint32_t row;
	bool text;
};

static int sorted_order(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->by->unknown != y->by->unknown)
		return x->by->unknown ? 1 : -1;
	int order = x->text                       ? strcmp(text_of(x->by), text_of(y->by))
	            : x->by->value > y->by->value ? -1
	                                          : x->by->value < y->by->value;
	return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

void af_table_sort(struct af_table *t, uint32_t c)
{
	size_t row_size = t->nr_columns * sizeof *t->cells;

	if (!t->nr_rows || c >= t->nr_columns)
		return;
	struct sorted *rows = af_xcalloc(t->nr_rows, sizeof *rows);
	struct af_cell *cells = af_xcalloc(t->nr_rows, row_size);
	for (uint32_t r = 0; r < t->nr_rows; r++)
		rows[r] =
		    (struct sorted){cell_of(t, r, (int)c), r, t->columns[c].unit == AF_CELL_TEXT};
	AF_SORT(rows, t->nr_rows, sorted_order);
	for (uint32_t r = 0; r < t->nr_rows; r++)
		memcpy(cells + (size_t)r * t->nr_columns, cell_of(t, rows[r].row, 0), row_size);
	memcpy(t->cells, cells, t->nr_rows * row_size);
	free(cells);
	free(rows);
}
