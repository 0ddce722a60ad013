/* Tables for spreadsheets. */
#include <string.h>

#include "render/text/tables.h"

static void csv_text(struct af_buf *b, const char *s)
{
	if (!s || !s[strcspn(s, ",\"\r\n")]) {
		af_buf_str(b, s ? s : "");
		return;
	}
	af_buf_char(b, '"');
	for (; *s; s++) {
		if (*s == '"')
			af_buf_char(b, '"');
		af_buf_char(b, *s);
	}
	af_buf_char(b, '"');
}

static void csv_cell(struct af_buf *b, enum af_cell_unit unit, const struct af_cell *cell)
{
	if (cell->unknown)
		return;
	if (unit == AF_CELL_TEXT) {
		csv_text(b, cell->text);
		return;
	}
	if (cell->less)
		af_buf_char(b, '-');
	af_cell_exact(b, unit, cell->value);
}

void af_table_csv(struct af_buf *b, const struct af_table *t)
{
	for (uint32_t c = 0; c < t->nr_columns; c++) {
		af_buf_str(b, c ? "," : "");
		csv_text(b, t->columns[c].key);
	}
	af_buf_str(b, "\r\n");
	for (uint32_t r = 0; r < t->nr_rows; r++) {
		for (uint32_t c = 0; c < t->nr_columns; c++) {
			af_buf_str(b, c ? "," : "");
			csv_cell(b, t->columns[c].unit, &t->cells[(size_t)r * t->nr_columns + c]);
		}
		af_buf_str(b, "\r\n");
	}
}
