#include "analyse/table/group_by.h"

#include <stdlib.h>
#include <string.h>

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

/* How a column is summed, by its key and unit. */
enum group_rule { GROUP_SAME, GROUP_SUM, GROUP_MIN, GROUP_MAX, GROUP_LATER };

static enum group_rule rule_of(const struct af_column *column)
{
	static const char *const later[] = {"mean_ns", "bytes_per_s", "queued_ns", NULL};
	static const char *const sums[] = {"time_ns", "share", "calls", "bytes", "failed", "queued_sum_ns", NULL};

	if (column->unit == AF_CELL_TEXT)
		return GROUP_SAME;
	if (is_one_of(column->key, later))
		return GROUP_LATER;
	if (!strcmp(column->key, "min_ns"))
		return GROUP_MIN;
	if (!strcmp(column->key, "max_ns"))
		return GROUP_MAX;
	return is_one_of(column->key, sums) ? GROUP_SUM : GROUP_SAME;
}

#define DIFFERS UINT64_MAX /* of a cell without a value: two rows had different ones */

/* A value that one row lacks is taken from the other. */
static void cell_group(const struct af_column *column, struct af_cell *to,
                       const struct af_cell *from)
{
	if (from->unknown || to->unknown) {
		if (to->unknown && to->value != DIFFERS)
			*to = *from;
		return;
	}
	switch (rule_of(column)) {
	case GROUP_SUM:
		if (__builtin_add_overflow(to->value, from->value, &to->value))
			to->value = UINT64_MAX;
		break;
	case GROUP_MIN:
		to->value = from->value < to->value ? from->value : to->value;
		break;
	case GROUP_MAX:
		to->value = from->value > to->value ? from->value : to->value;
		break;
	case GROUP_SAME:
		if (column->unit == AF_CELL_TEXT && strcmp(text_of(to), text_of(from)))
			to->text = "";
		else if (column->unit != AF_CELL_TEXT && to->value != from->value)
			*to = (struct af_cell){.value = DIFFERS, .unknown = true};
		break;
	case GROUP_LATER:
		break;
	}
}

/* A mean goes by the calls of both: before they are added up. */
static void queued_group(const struct af_table *t, struct af_cell *to, const struct af_cell *from)
{
	int queued = af_table_column(t, "queued_ns"), calls = af_table_column(t, "calls");

	if (queued < 0 || calls < 0)
		return;
	struct af_cell *q = &to[queued];
	double x = (double)to[calls].value, y = (double)from[calls].value;
	double sum = (double)q->value * x + (double)from[queued].value * y;
	q->value = x + y > 0 ? (uint64_t)(sum / (x + y) + 0.5) : 0;
}

/* Computed from sums, of @nr_rows rows of @cells. */
static void later_columns(const struct af_table *t, struct af_cell *cells, uint32_t nr_rows)
{
	int time = af_table_column(t, "time_ns"), calls = af_table_column(t, "calls");
	int mean = af_table_column(t, "mean_ns"), speed = af_table_column(t, "bytes_per_s");
	int bytes = af_table_column(t, "bytes");

	if (time < 0)
		return;
	for (uint32_t r = 0; r < nr_rows; r++, cells += t->nr_columns) {
		uint64_t ns = cells[time].value;
		if (mean >= 0 && calls >= 0)
			cells[mean].value = af_tables_ratio(ns, cells[calls].value, 1);
		if (speed >= 0 && bytes >= 0)
			cells[speed].value = af_tables_ratio(cells[bytes].value, ns, 1e9);
	}
}

static void row_group(const struct af_table *t, struct af_cell *to, const struct af_cell *from)
{
	queued_group(t, to, from);
	for (uint32_t c = 0; c < t->nr_columns; c++)
		cell_group(&t->columns[c], &to[c], &from[c]);
}

void af_table_sum_up(struct af_tables *f, struct af_table *t)
{
	bool named = false;

	if (!t->nr_rows)
		return;
	struct af_cell *total = af_table_total(f, t);
	memcpy(total, t->cells, t->nr_columns * sizeof *total);
	for (uint32_t r = 1; r < t->nr_rows; r++)
		row_group(t, total, cell_of(t, r, 0));
	later_columns(t, total, 1);
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
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		key_of(&key, t, r, keys);
		uint64_t *slot = af_keys_at(&rows, key.data, key.len, &fresh);
		if (fresh) {
			*slot = to->nr_rows;
			memcpy(af_table_row(f, to), cell_of(t, r, 0),
			       t->nr_columns * sizeof *t->cells);
			continue;
		}
		row_group(to, cell_of(to, (uint32_t)*slot, 0), cell_of(t, r, 0));
	}
	later_columns(to, to->cells, to->nr_rows);
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
	qsort(rows, t->nr_rows, sizeof *rows, sorted_order);
	for (uint32_t r = 0; r < t->nr_rows; r++)
		memcpy(cells + (size_t)r * t->nr_columns, cell_of(t, rows[r].row, 0), row_size);
	memcpy(t->cells, cells, t->nr_rows * row_size);
	free(cells);
	free(rows);
}
