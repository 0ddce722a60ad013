#include "render/text/tables.h"

#include <stdio.h>
#include <string.h>

#include "analyse/names/name_forms.h"
#include "analyse/table/group_by.h"
#include "render/text/columns.h"
#include "render/text/label.h"

enum { NAME_MAX_COLUMNS = 60 };

static void cell_ns(struct af_buf *b, uint64_t ns)
{
	static const struct {
		double size;
		const char *unit;
	} units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};

	for (unsigned i = 0; i < 3; i++) {
		if ((double)ns < units[i].size)
			continue;
		af_label_fixed(b, (double)ns / units[i].size, 3);
		af_buf_str(b, units[i].unit);
		return;
	}
	af_buf_u64(b, ns);
	af_buf_str(b, " ns");
}

static void cell_bytes(struct af_buf *b, uint64_t bytes)
{
	static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
	double value = (double)bytes;
	unsigned i = 0;

	for (; value >= 1000 && i < 6; i++)
		value /= 1000;
	af_label_fixed(b, value, i ? 2 : 0);
	af_buf_str(b, units[i]);
}

/* Four digits, or all that are before the point. */
static void cell_number(struct af_buf *b, uint64_t thousandths)
{
	unsigned decimals = thousandths >= 100000 ? 1 : thousandths >= 10000 ? 2 : 3;

	if (thousandths % 1000 == 0 || thousandths >= 1000000)
		af_label_commas(b, thousandths / 1000 + (thousandths % 1000 >= 500));
	else
		af_label_fixed(b, (double)thousandths / 1000, decimals);
}

/*
 * Made harmless for a terminal. A name that is too long is cut so that its function stays, any
 * other text in the middle.
 */
static void cell_text(struct af_buf *b, const char *s, bool cut)
{
	struct af_buf shown = {0}, forms = {0};
	bool name = cut && strlen(s) > NAME_MAX_COLUMNS && af_name_forms(&forms, s, strlen(s)) > 1;

	forms.len = 0;
	af_buf_str(&forms, "");
	if (name)
		af_name_fit(&forms, s, strlen(s), NAME_MAX_COLUMNS);
	af_buf_str(&shown, "");
	af_buf_terminal(&shown, name ? forms.data : s, name ? forms.len : strlen(s), "");
	af_buf_free(&forms);
	size_t columns = af_columns_of(shown.data), keep = NAME_MAX_COLUMNS / 2 - 1;
	if (cut && columns > NAME_MAX_COLUMNS) {
		af_buf_add(b, shown.data, af_columns_offset(shown.data, keep));
		af_buf_str(b, "..");
		af_buf_str(b, shown.data + af_columns_offset(shown.data, columns - keep));
	} else {
		af_buf_add(b, shown.data, shown.len);
	}
	af_buf_free(&shown);
}

void af_cell_text(struct af_buf *b, enum af_cell_unit unit, uint64_t value)
{
	switch (unit) {
	case AF_CELL_TEXT:
		break;
	case AF_CELL_COUNT:
		af_label_commas(b, value);
		break;
	case AF_CELL_NS:
		cell_ns(b, value);
		break;
	case AF_CELL_BYTES:
		cell_bytes(b, value);
		break;
	case AF_CELL_PERCENT:
		af_label_fixed(b, (double)value / 100, 2);
		af_buf_str(b, " %");
		break;
	case AF_CELL_NUMBER:
		cell_number(b, value);
		break;
	}
}

static void cell_format(struct af_buf *b, const struct af_column *column, const struct af_cell *c,
                        bool cut)
{
	if (c->unknown)
		return;
	if (column->change && c->value)
		af_buf_char(b, c->less ? '-' : '+');
	if (column->unit == AF_CELL_TEXT)
		cell_text(b, c->text ? c->text : "", cut);
	else
		af_cell_text(b, column->unit, c->value);
}

static void put_aligned(struct af_buf *b, const char *s, size_t width, bool left, bool last)
{
	size_t n = af_columns_of(s), pad = n < width ? width - n : 0;

	if (!left)
		af_buf_fmt(b, "%*s", (int)pad, "");
	af_buf_str(b, s);
	if (left && !last)
		af_buf_fmt(b, "%*s", (int)pad, "");
	if (!last)
		af_buf_str(b, "  ");
}

/* The columns that people see, in order. */
struct table_shown {
	uint32_t nr;
	uint32_t columns[AF_TABLE_COLUMNS];
	size_t widths[AF_TABLE_COLUMNS];
	bool header;
};

/* Row @r of the first @nr_rows; behind them stands the total, if there is one, else NULL. */
static const struct af_cell *shown_row(const struct af_table *t, uint32_t nr_rows, uint32_t r)
{
	return r < nr_rows ? &t->cells[(size_t)r * t->nr_columns] : r == nr_rows ? t->total : NULL;
}

static void table_shown(const struct af_table *t, uint32_t nr_rows, struct table_shown *shown)
{
	const struct af_cell *row;
	struct af_buf cell = {0};

	*shown = (struct table_shown){0};
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		if (af_table_hides(t, c))
			continue;
		shown->header |= *t->columns[c].title != 0;
		shown->columns[shown->nr++] = c;
	}
	for (uint32_t i = 0; i < shown->nr; i++) {
		uint32_t c = shown->columns[i];
		shown->widths[i] = af_columns_of(t->columns[c].title);
		for (uint32_t r = 0; (row = shown_row(t, nr_rows, r)); r++) {
			cell.len = 0;
			af_buf_str(&cell, "");
			cell_format(&cell, &t->columns[c], &row[c], shown->header);
			size_t n = af_columns_of(cell.data);
			if (n > shown->widths[i])
				shown->widths[i] = n;
		}
	}
	af_buf_free(&cell);
}

/* All cells of a row have the tone of its first. */
static const char *row_colour(const struct af_cell *row)
{
	static const char *const colours[] = {
	    [AF_TONE_PLAIN] = "",
	    [AF_TONE_MORE] = "\033[31m",
	    [AF_TONE_LESS] = "\033[34m",
	    [AF_TONE_FAINT] = "\033[2m",
	};

	return row ? colours[row->tone] : "";
}

/* The row @row, or the titles when it is NULL. */
static void table_line(struct af_buf *b, const struct af_table *t, const struct table_shown *shown,
                       const struct af_cell *row, bool colour)
{
	const char *tone = colour ? row_colour(row) : "";
	struct af_buf cell = {0};

	af_buf_fmt(b, "  %s", tone);
	for (uint32_t i = 0; i < shown->nr; i++) {
		uint32_t c = shown->columns[i];
		cell.len = 0;
		af_buf_str(&cell, "");
		if (row)
			cell_format(&cell, &t->columns[c], &row[c], shown->header);
		else
			af_buf_str(&cell, t->columns[c].title);
		put_aligned(b, cell.data, shown->widths[i], t->columns[c].unit == AF_CELL_TEXT,
		            i + 1 == shown->nr);
	}
	af_buf_str(b, *tone ? "\033[0m\n" : "\n");
	af_buf_free(&cell);
}

static uint32_t table_rows(const struct af_table *t, uint32_t limit)
{
	return limit && t->nr_rows > limit && !t->chosen ? limit : t->nr_rows;
}

/* The rows that are not shown: those from @nr_rows on, and those left out before. */
struct table_cut {
	uint64_t rows, weight;
	int column; /* that the weight is of; -1: none */
};

static struct table_cut table_cut(const struct af_table *t, uint32_t nr_rows)
{
	struct table_cut cut = {.rows = (uint64_t)t->nr_rows - nr_rows + t->left_out};

	cut.column = t->left_out ? (int)t->left_column : af_table_weighs(t);
	cut.weight = t->left_out ? t->left_weight : 0;
	for (uint32_t r = nr_rows; cut.column >= 0 && r < t->nr_rows; r++) {
		const struct af_cell *c =
		    &t->cells[(size_t)r * t->nr_columns + (uint32_t)cut.column];
		if (!c->unknown && __builtin_add_overflow(cut.weight, c->value, &cut.weight))
			cut.weight = UINT64_MAX;
	}
	return cut;
}

static void table_rest(struct af_buf *b, const struct af_table *t, uint32_t nr_rows,
                       const char *all)
{
	struct table_cut cut = table_cut(t, nr_rows);

	if (!cut.rows)
		return;
	af_buf_str(b, "  … and ");
	af_label_commas(b, cut.rows);
	af_buf_str(b, " more of ");
	af_label_commas(b, cut.rows + nr_rows);
	if (cut.column >= 0) {
		af_buf_str(b, ", weighing ");
		af_cell_text(b, t->columns[cut.column].unit, cut.weight);
	}
	if (all)
		af_buf_fmt(b, "; %s", all);
	af_buf_char(b, '\n');
}

void af_table_text(struct af_buf *b, const struct af_table *t, uint32_t limit, bool colour,
                   const char *all)
{
	uint32_t nr_rows = table_rows(t, limit);
	struct table_shown shown;

	table_shown(t, nr_rows, &shown);
	af_buf_fmt(b, "%s%s%s\n", colour ? "\033[1m" : "", t->title, colour ? "\033[0m" : "");
	if (t->warning) {
		af_buf_str(b, "  ! ");
		af_buf_terminal(b, t->warning, strlen(t->warning), "");
		af_buf_char(b, '\n');
	}
	if (shown.header && nr_rows)
		table_line(b, t, &shown, NULL, colour);
	for (uint32_t r = 0; r < nr_rows; r++)
		table_line(b, t, &shown, shown_row(t, nr_rows, r), colour);
	table_rest(b, t, nr_rows, all);
	if (t->total)
		table_line(b, t, &shown, t->total, colour);
	if (t->note) {
		af_buf_str(b, t->nr_rows ? "  * " : "  ");
		af_buf_terminal(b, t->note, strlen(t->note), "");
		af_buf_char(b, '\n');
	}
}

void af_cell_exact(struct af_buf *b, enum af_cell_unit unit, uint64_t value)
{
	const unsigned scale = unit == AF_CELL_PERCENT ? 100 : unit == AF_CELL_NUMBER ? 1000 : 1;

	af_buf_u64(b, value / scale);
	if (value % scale)
		af_buf_fmt(b, ".%0*u", scale == 100 ? 2 : 3, (unsigned)(value % scale));
}

static void json_text(struct af_buf *b, const char *s)
{
	if (s)
		af_buf_json(b, s, strlen(s));
	else
		af_buf_str(b, "null");
}

static void json_cell(struct af_buf *b, enum af_cell_unit unit, const struct af_cell *cell)
{
	if (cell->unknown) {
		json_text(b, NULL);
		return;
	}
	if (unit == AF_CELL_TEXT) {
		json_text(b, cell->text ? cell->text : "");
		return;
	}
	if (cell->less)
		af_buf_char(b, '-');
	af_cell_exact(b, unit, cell->value);
}

static void json_member(struct af_buf *b, const char *name, const char *value)
{
	if (!value)
		return;
	af_buf_fmt(b, ",\"%s\":", name);
	json_text(b, value);
}

static void json_rest(struct af_buf *b, const struct af_table *t, uint32_t nr_rows)
{
	struct table_cut cut = table_cut(t, nr_rows);

	if (!cut.rows)
		return;
	af_buf_fmt(b, ",\"truncated\":{\"shown\":%u,\"rows\":%llu", nr_rows,
	           (unsigned long long)cut.rows + nr_rows);
	if (cut.column >= 0) {
		json_member(b, "column", t->columns[cut.column].key);
		af_buf_fmt(b, ",\"weight\":%llu", (unsigned long long)cut.weight);
	}
	af_buf_char(b, '}');
}

static void json_row(struct af_buf *b, const struct af_table *t, const struct af_cell *row)
{
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		af_buf_fmt(b, c ? ",\"%s\":" : "{\"%s\":", t->columns[c].key);
		json_cell(b, t->columns[c].unit, &row[c]);
	}
	af_buf_char(b, '}');
}

void af_table_json_rows(struct af_buf *b, const struct af_table *t, uint32_t nr_rows)
{
	af_buf_char(b, '[');
	for (uint32_t r = 0; r < nr_rows; r++) {
		if (r)
			af_buf_char(b, ',');
		json_row(b, t, &t->cells[(size_t)r * t->nr_columns]);
	}
	af_buf_char(b, ']');
}

void af_table_json(struct af_buf *b, const struct af_table *t, uint32_t limit)
{
	static const char *const units[] = {"text", "count", "ns", "bytes", "percent", "number"};
	uint32_t nr_rows = table_rows(t, limit);

	af_buf_str(b, "{\"name\":");
	json_text(b, t->name);
	af_buf_str(b, ",\"title\":");
	json_text(b, t->title);
	af_buf_str(b, ",\"note\":");
	json_text(b, t->note);
	json_member(b, "warning", t->warning);
	af_buf_str(b, ",\"columns\":[");
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		af_buf_str(b, c ? ",{\"key\":" : "{\"key\":");
		json_text(b, t->columns[c].key);
		af_buf_str(b, ",\"title\":");
		json_text(b, t->columns[c].title);
		af_buf_fmt(b, ",\"unit\":\"%s\"%s}", units[t->columns[c].unit],
		           af_table_hides(t, c) ? ",\"hidden\":true" : "");
	}
	af_buf_fmt(b, "],\"nr_rows\":%u,\"rows\":", t->nr_rows);
	af_table_json_rows(b, t, nr_rows);
	json_rest(b, t, nr_rows);
	if (t->total) {
		af_buf_str(b, ",\"total\":");
		json_row(b, t, t->total);
	}
	af_buf_char(b, '}');
}

void af_tables_json(struct af_buf *b, const struct af_document *d, const struct af_tables *f,
                    uint32_t limit)
{
	af_buf_str(b, "{\"format\":2");
	json_member(b, "report", d->report);
	json_member(b, "view", d->view);
	json_member(b, "weight", d->weight);
	json_member(b, "unit", d->unit);
	if (d->weight)
		af_buf_fmt(b, ",\"all\":%llu,\"total\":%llu", (unsigned long long)d->all,
		           (unsigned long long)d->total);
	json_member(b, "query", d->query);
	if (d->query)
		af_buf_fmt(b, ",\"self\":%llu", (unsigned long long)d->self);
	af_buf_str(b, ",\"tables\":[");
	for (const struct af_table *t = f->first; t; t = t->next) {
		if (t != f->first)
			af_buf_char(b, ',');
		af_table_json(b, t, limit);
	}
	af_buf_str(b, "]}\n");
}
