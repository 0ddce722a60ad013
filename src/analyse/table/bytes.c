/* Tables as bytes. Nothing that is read is believed: another process may have sent anything. */
#include <errno.h>
#include <string.h>

#include "analyse/table/bytes.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

/* A text that may be NULL: 0, or 1 and the text with its end. */
static void write_text(struct af_buf *to, const char *text)
{
	af_buf_char(to, text != NULL);
	if (text)
		af_buf_add(to, text, strlen(text) + 1);
}

static const char *read_text(struct af_cursor *from, struct af_arena *arena)
{
	const char *text = af_cursor_uint(from, 1) ? af_cursor_string(from) : NULL;

	return !text ? NULL : *text ? af_arena_strdup(arena, text, strlen(text)) : "";
}

/* One that must be there. */
static const char *read_name(struct af_cursor *from, struct af_arena *arena)
{
	const char *text = read_text(from, arena);

	return text ? text : "";
}

enum { CELL_UNKNOWN = 1, CELL_LESS = 2, CELL_TONE = 2 };

static void write_cells(struct af_buf *to, const struct af_column *columns, uint32_t nr,
                        const struct af_cell *cells)
{
	for (uint32_t c = 0; c < nr; c++) {
		af_buf_char(to, (char)((cells[c].unknown ? CELL_UNKNOWN : 0) |
		                       (cells[c].less ? CELL_LESS : 0) |
		                       (unsigned)cells[c].tone << CELL_TONE));
		if (columns[c].unit == AF_CELL_TEXT)
			write_text(to, cells[c].text);
		else
			af_buf_leb128(to, cells[c].value);
	}
}

static void read_cells(struct af_cursor *from, struct af_tables *f, const struct af_column *columns,
                       uint32_t nr, struct af_cell *cells)
{
	for (uint32_t c = 0; c < nr; c++) {
		unsigned bits = (unsigned)af_cursor_uint(from, 1), tone = bits >> CELL_TONE;
		from->bad |= tone > AF_TONE_FAINT;
		cells[c] = (struct af_cell){.unknown = bits & CELL_UNKNOWN,
		                            .less = bits & CELL_LESS,
		                            .tone = from->bad ? 0 : (enum af_tone)tone};
		if (columns[c].unit == AF_CELL_TEXT)
			cells[c].text = read_text(from, &f->arena);
		else
			cells[c].value = af_cursor_uleb(from);
	}
}

static void write_columns(struct af_buf *to, const struct af_table *t)
{
	af_buf_leb128(to, t->nr_columns);
	for (uint32_t c = 0; c < t->nr_columns; c++)
		af_column_write(&t->columns[c], to);
}

void af_column_write(const struct af_column *c, struct af_buf *to)
{
	write_text(to, c->title);
	write_text(to, c->key);
	write_text(to, c->of);
	write_text(to, c->per);
	af_buf_char(to, (char)c->unit);
	af_buf_char(to, (char)c->show);
	af_buf_char(to, (char)c->change);
	af_buf_char(to, (char)c->merge);
	af_buf_add(to, &c->scale, sizeof c->scale);
}

void af_column_read(struct af_column *c, struct af_cursor *from, struct af_arena *arena)
{
	*c = (struct af_column){0};
	c->title = read_name(from, arena);
	c->key = read_name(from, arena);
	c->of = read_text(from, arena);
	c->per = read_text(from, arena);
	uint64_t unit = af_cursor_uint(from, 1), show = af_cursor_uint(from, 1);
	uint64_t change = af_cursor_uint(from, 1), merge = af_cursor_uint(from, 1);
	uint64_t scale = af_cursor_uint(from, sizeof c->scale);
	from->bad |= unit > AF_CELL_NUMBER || show > AF_SHOW_NEVER || merge > AF_MERGE_WHO;
	if (from->bad)
		return;
	c->unit = (enum af_cell_unit)unit;
	c->show = (enum af_column_show)show;
	c->merge = (enum af_merge_rule)merge;
	c->change = change != 0;
	memcpy(&c->scale, &scale, sizeof scale);
}

static uint32_t read_columns(struct af_cursor *from, struct af_tables *f, struct af_column *columns)
{
	uint64_t nr = af_cursor_uleb(from);

	from->bad |= nr > AF_TABLE_COLUMNS;
	for (uint64_t c = 0; c < nr && !from->bad; c++)
		af_column_read(&columns[c], from, &f->arena);
	return from->bad ? 0 : (uint32_t)nr;
}

void af_table_write(const struct af_table *t, struct af_buf *to)
{
	write_text(to, t->name);
	write_text(to, t->title);
	write_text(to, t->note);
	write_text(to, t->warning);
	write_columns(to, t);
	af_buf_leb128(to, t->left_out);
	af_buf_leb128(to, t->left_column);
	af_buf_leb128(to, t->left_weight);
	af_buf_leb128(to, t->whole);
	af_buf_char(to, (char)t->chosen);
	af_buf_char(to, t->total != NULL);
	if (t->total)
		write_cells(to, t->columns, t->nr_columns, t->total);
	af_buf_leb128(to, t->nr_rows);
	for (uint32_t i = 0; i < t->nr_rows; i++)
		write_cells(to, t->columns, t->nr_columns, t->cells + (size_t)i * t->nr_columns);
}

struct af_table *af_table_read(struct af_tables *f, struct af_cursor *from)
{
	struct af_column columns[AF_TABLE_COLUMNS];
	const char *name = read_name(from, &f->arena), *title = read_name(from, &f->arena);
	const char *note = read_text(from, &f->arena), *warning = read_text(from, &f->arena);
	uint32_t nr_columns = read_columns(from, f, columns);
	struct af_table *t = af_tables_table(f, name, title, columns, nr_columns);

	t->note = note;
	t->warning = warning;
	t->left_out = (uint32_t)af_cursor_uleb(from);
	t->left_column = (uint32_t)af_cursor_uleb(from);
	t->left_weight = af_cursor_uleb(from);
	t->whole = af_cursor_uleb(from);
	from->bad |= t->left_column != UINT32_MAX && t->left_column > t->nr_columns;
	t->chosen = af_cursor_uint(from, 1) != 0;
	bool total = af_cursor_uint(from, 1) != 0;
	if (total && !from->bad)
		read_cells(from, f, columns, nr_columns, af_table_total(f, t));
	uint64_t nr_rows = af_cursor_uleb(from);
	from->bad |= nr_rows && !nr_columns;
	for (uint64_t i = 0; i < nr_rows && !from->bad; i++)
		read_cells(from, f, columns, nr_columns, af_table_row(f, t));
	return t;
}

void af_tables_write(const struct af_tables *f, struct af_buf *to)
{
	uint64_t nr = 0;

	for (const struct af_table *t = f->first; t; t = t->next)
		nr++;
	af_buf_leb128(to, nr);
	for (const struct af_table *t = f->first; t; t = t->next)
		af_table_write(t, to);
}

int af_tables_read(struct af_tables *f, struct af_cursor *from, struct af_err *err)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++)
		af_table_read(f, from);
	if (from->bad)
		return af_fail_plain(err, -EBADMSG, "the tables of another process are damaged");
	return 0;
}
