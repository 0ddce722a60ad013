/* Merged tables as bytes: each row with its sums and its distribution over members. */
#include <stdlib.h>
#include <string.h>

#include "analyse/set/bytes.h"
#include "analyse/table/bytes.h"

enum { CELL_UNKNOWN = 1, CELL_LESS = 2, CELL_TONE = 2 };

static void write_cell(struct af_buf *to, const struct af_column *column, const struct af_cell *c)
{
	af_buf_char(to, (char)((c->unknown ? CELL_UNKNOWN : 0) | (c->less ? CELL_LESS : 0) |
	                       (unsigned)c->tone << CELL_TONE));
	af_buf_leb128(to, c->value);
	if (column->unit == AF_CELL_TEXT)
		set_write_text(to, c->text);
}

static void read_cell(struct af_cursor *from, struct af_merge *m, const struct af_column *column,
                      struct af_cell *c)
{
	unsigned bits = (unsigned)af_cursor_uint(from, 1), tone = bits >> CELL_TONE;

	from->bad |= tone > AF_TONE_FAINT;
	*c = (struct af_cell){.value = af_cursor_uleb(from),
	                      .unknown = bits & CELL_UNKNOWN,
	                      .less = bits & CELL_LESS,
	                      .tone = from->bad ? 0 : (enum af_tone)tone};
	if (column->unit == AF_CELL_TEXT)
		c->text = set_read_text(from, m);
}

static void write_spread(struct af_buf *to, const struct af_merge *m, const struct set_spread *s)
{
	af_buf_leb128(to, s->nr_values);
	for (uint32_t i = 0; i < s->nr_values; i++) {
		af_buf_leb128(to, s->values[i].is);
		af_buf_leb128(to, s->values[i].nr);
	}
	af_buf_char(to, (char)s->rounded);
	af_buf_leb128(to, s->nr);
	af_buf_leb128(to, s->most);
	set_write_number(to, m, s->who);
}

static void read_spread(struct af_cursor *from, struct af_merge *m, struct set_spread *s)
{
	uint64_t nr = af_cursor_uleb(from);

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct set_value value = {af_cursor_uleb(from), af_cursor_uleb(from)};
		from->bad |= i && value.is <= s->values[i - 1].is;
		AF_GROW(s->values, s->nr_values, s->cap);
		s->values[s->nr_values++] = value;
	}
	s->rounded = af_cursor_uint(from, 1) != 0;
	s->nr = af_cursor_uleb(from);
	s->most = af_cursor_uleb(from);
	s->who = set_read_number(from, m);
}

static void write_row(struct af_buf *to, const struct af_merge *m, const struct set_table *t,
                      const struct set_row *row)
{
	for (uint32_t c = 0; c < t->head.nr_columns; c++) {
		write_cell(to, &t->head.columns[c], &row->cells[c]);
		if (row->sums)
			af_buf_add(to, &row->sums[c], sizeof row->sums[c]);
	}
	af_buf_leb128(to, row->part);
	af_buf_leb128(to, row->now);
	write_spread(to, m, &row->spread);
}

static void read_row(struct af_cursor *from, struct af_merge *m, struct set_table *t)
{
	struct set_row row = {.cells = af_xcalloc(t->head.nr_columns, sizeof *row.cells)};

	if (t->rules.has_means)
		row.sums = af_xcalloc(t->head.nr_columns, sizeof *row.sums);
	for (uint32_t c = 0; c < t->head.nr_columns; c++) {
		read_cell(from, m, &t->head.columns[c], &row.cells[c]);
		const uint8_t *sum = row.sums ? af_cursor_bytes(from, sizeof *row.sums) : NULL;
		if (sum)
			memcpy(&row.sums[c], sum, sizeof *row.sums);
	}
	row.part = af_cursor_uleb(from);
	row.now = af_cursor_uleb(from);
	read_spread(from, m, &row.spread);
	AF_GROW(t->rows, t->nr_rows, t->cap_rows);
	t->rows[t->nr_rows++] = row;
}

static void write_table(struct af_buf *to, const struct af_merge *m, const struct set_table *t)
{
	set_write_text(to, t->head.name);
	set_write_text(to, t->head.title);
	set_write_text(to, t->head.note);
	af_buf_char(to, (char)t->plan);
	af_buf_char(to, (char)(t->by + 1));
	af_buf_char(to, (char)(t->weight + 1));
	af_buf_leb128(to, t->head.nr_columns);
	for (uint32_t c = 0; c < t->head.nr_columns; c++)
		af_column_write(&t->head.columns[c], to);
	set_write_u64s(to, (uint64_t[]){t->whole, t->left_out, t->left_weight, t->least}, 4);
	af_buf_leb128(to, t->nr_rows);
	for (uint32_t r = 0; r < t->nr_rows; r++)
		write_row(to, m, t, &t->rows[r]);
}

/* The head of a table, whose rules follow from it; NULL when it is damaged. */
static struct set_table *read_head(struct af_cursor *from, struct af_merge *m)
{
	struct set_table head = {0};

	head.head.name = set_read_text(from, m);
	head.head.title = set_read_text(from, m);
	head.head.note = set_read_text(from, m);
	uint64_t plan = af_cursor_uint(from, 1), by = af_cursor_uint(from, 1);
	uint64_t weight = af_cursor_uint(from, 1), nr = af_cursor_uleb(from);
	from->bad |= !head.head.name || !head.head.title || plan > SET_PAIRS || !nr ||
	             nr > AF_TABLE_COLUMNS || by > nr || weight > nr;
	for (uint64_t c = 0; c < nr && !from->bad; c++)
		af_column_read(&head.head.columns[c], from, &m->texts.arena);
	if (from->bad)
		return NULL;
	head.plan = (enum set_plan)plan;
	head.by = (int)by - 1;
	head.weight = (int)weight - 1;
	head.head.nr_columns = (uint32_t)nr;
	/* A weight is a number, a word of --by is none. */
	if ((head.weight >= 0 && head.head.columns[head.weight].unit == AF_CELL_TEXT) ||
	    (head.by >= 0 && head.head.columns[head.by].unit != AF_CELL_TEXT)) {
		from->bad = true;
		return NULL;
	}
	return set_table_like(m, &head);
}

void set_tables_write(const struct af_merge *m, struct af_buf *to)
{
	uint64_t nr = 0;

	for (const struct set_table *t = m->tables; t; t = t->next)
		nr++;
	af_buf_leb128(to, nr);
	for (const struct set_table *t = m->tables; t; t = t->next)
		write_table(to, m, t);
}

void set_tables_read(struct af_merge *m, struct af_cursor *from)
{
	uint64_t nr = af_cursor_uleb(from), numbers[4];

	for (uint64_t i = 0; i < nr && !from->bad; i++) {
		struct set_table *t = read_head(from, m);
		if (!t)
			return;
		set_read_u64s(from, numbers, 4);
		t->whole = numbers[0];
		t->left_out = numbers[1];
		t->left_weight = numbers[2];
		t->least = numbers[3];
		uint64_t nr_rows = af_cursor_uleb(from);
		for (uint64_t r = 0; r < nr_rows && !from->bad; r++)
			read_row(from, m, t);
	}
}
