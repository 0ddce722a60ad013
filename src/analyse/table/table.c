#include "analyse/table/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void af_tables_free(struct af_tables *f)
{
	af_arena_free(&f->arena);
	*f = (struct af_tables){0};
}

struct af_table *af_tables_table(struct af_tables *f, const char *name, const char *title,
                                 const struct af_column *columns, uint32_t nr_columns)
{
	struct af_table *t = af_arena_alloc(&f->arena, sizeof *t);

	if (nr_columns > AF_TABLE_COLUMNS)
		nr_columns = AF_TABLE_COLUMNS;
	t->name = name;
	t->title = title;
	t->nr_columns = nr_columns;
	memcpy(t->columns, columns, nr_columns * sizeof *columns);
	if (f->last)
		f->last->next = t;
	else
		f->first = t;
	f->last = t;
	return t;
}

struct af_table *af_tables_copy(struct af_tables *f, const struct af_table *t, const char *name,
                                const char *title)
{
	struct af_table *copy = af_tables_table(f, name, title, t->columns, t->nr_columns);

	copy->note = t->note ? af_tables_text(f, "%s", t->note) : NULL;
	copy->warning = t->warning ? af_tables_text(f, "%s", t->warning) : NULL;
	copy->left_out = t->left_out;
	copy->left_column = t->left_column;
	copy->left_weight = t->left_weight;
	copy->whole = t->whole;
	copy->chosen = t->chosen;
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		struct af_cell *cells = af_table_row(f, copy);
		for (uint32_t c = 0; c < t->nr_columns; c++) {
			cells[c] = t->cells[(size_t)i * t->nr_columns + c];
			if (cells[c].text)
				cells[c].text = af_tables_text(f, "%s", cells[c].text);
		}
	}
	return copy;
}

void *af_table_row(struct af_tables *f, struct af_table *t)
{
	size_t row_size = t->nr_columns * sizeof *t->cells;

	if (t->nr_rows == t->cap_rows) {
		/* The old rows stay in the arena: doubling wastes as much as is used, at most. */
		uint32_t cap = t->cap_rows ? t->cap_rows * 2 : 16;
		struct af_cell *cells = af_arena_alloc(&f->arena, cap * row_size);
		if (t->nr_rows)
			memcpy(cells, t->cells, t->nr_rows * row_size);
		t->cells = cells;
		t->cap_rows = cap;
	}
	return t->cells + (size_t)t->nr_rows++ * t->nr_columns;
}

void *af_table_total(struct af_tables *f, struct af_table *t)
{
	bool named = false;

	t->total = af_arena_alloc(&f->arena, t->nr_columns * sizeof *t->total);
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		if (t->columns[c].unit != AF_CELL_TEXT)
			continue;
		t->total[c].text = named ? "" : "Total";
		named = true;
	}
	return t->total;
}

struct af_table *af_pairs_table(struct af_tables *f, const char *name, const char *title)
{
	static const struct af_column columns[] = {AF_PAIR_COLUMNS(AF_ROW_COLUMN)};

	return AF_TABLE(f, name, title, columns);
}

void af_pair_row(struct af_tables *f, struct af_table *t, const char *key, const char *label,
                 const char *value)
{
	struct af_pair_row *row = af_table_row(f, t);

	row->key.text = key;
	row->label.text = label;
	row->value.text = value;
}

static bool has_key(const struct af_column *columns, uint32_t nr, const char *key)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(columns[i].key, key))
			return true;
	return false;
}

const char *af_column_key(struct af_tables *f, const struct af_column *columns, uint32_t nr,
                          const char *prefix, const char *text)
{
	char *base = af_arena_alloc(&f->arena, strlen(prefix) + strlen(text) + 1);
	const char *key = base;
	size_t len = 0;

	for (; *prefix; prefix++)
		base[len++] = *prefix;
	for (; *text; text++)
		base[len++] =
		    isalnum((unsigned char)*text) ? (char)tolower((unsigned char)*text) : '_';
	base[len] = 0;
	for (unsigned i = 2; has_key(columns, nr, key); i++)
		key = af_tables_text(f, "%s_%u", base, i);
	return key;
}

const struct af_table *af_tables_find(const struct af_tables *f, const char *name)
{
	for (const struct af_table *t = f->first; t; t = t->next)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

const void *af_table_row_at(const struct af_table *t, uint32_t row, size_t size)
{
	if (!t || row >= t->nr_rows || size > t->nr_columns * sizeof *t->cells)
		return NULL;
	return t->cells + (size_t)row * t->nr_columns;
}

bool af_table_hides(const struct af_table *t, uint32_t c)
{
	const struct af_column *column = &t->columns[c];

	if (column->show != AF_SHOW_USED)
		return column->show == AF_SHOW_NEVER;
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		const struct af_cell *cell = &t->cells[(size_t)r * t->nr_columns + c];
		if (column->unit == AF_CELL_TEXT ? cell->text && *cell->text : cell->value != 0)
			return false;
	}
	return true;
}

uint64_t af_tables_ratio(uint64_t part, uint64_t whole, double scale)
{
	double value = whole ? (double)part * scale / (double)whole + 0.5 : 0;

	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

uint64_t af_tables_share(double part, double whole)
{
	if (!(whole > 0) || !(part > 0))
		return 0;
	return part < whole ? (uint64_t)(part / whole * 1e4 + 0.5) : 10000;
}

uint64_t af_tables_count(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

const char *af_tables_text(struct af_tables *f, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *text = af_arena_alloc(&f->arena, len > 0 ? (size_t)len + 1 : 1);
	if (len > 0)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}

const char *af_tables_ns(struct af_tables *f, uint64_t ns)
{
	if (ns >= 1000000000)
		return af_tables_text(f, "%.3f s", (double)ns / 1e9);
	if (ns >= 1000000)
		return af_tables_text(f, "%.3f ms", (double)ns / 1e6);
	return af_tables_text(f, "%.3f us", (double)ns / 1e3);
}
