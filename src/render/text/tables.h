/* Tables as text for people and as JSON for programs. */
#ifndef AF_RENDER_TEXT_TABLES_H
#define AF_RENDER_TEXT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "base/buf.h"

/*
 * One table, aligned, at most @limit rows (0: all), its title in bold and rows in their tones with
 * @colour. What is left out is counted and weighed in a line, which ends in @all, how to see it
 * ("--limit 0 shows all"; may be NULL). What a terminal would act on is shown as \xNN
 * (af_buf_terminal).
 */
void af_table_text(struct af_buf *b, const struct af_table *t, uint32_t limit, bool colour,
                   const char *all);

/* A cell's value as people read it: "1.500 ms". */
void af_cell_text(struct af_buf *b, enum af_cell_unit unit, uint64_t value);

/* The same as programs read it, in decimals: 12.5. Not for text. */
void af_cell_exact(struct af_buf *b, enum af_cell_unit unit, uint64_t value);

/*
 * One table as {"name","title","note","columns":[{"key","title","unit"}],"nr_rows","rows":[{…}]}: a
 * row has a member for each column's key; ns, bytes, counts and percentages are numbers. What
 * report.html carries, too. Columns that are there for programs only, or have nothing in any row,
 * are `"hidden":true`. Where rows are left out there is
 * "truncated":{"shown","rows","column","weight"}: how many are here and how many there are, and
 * what the others have in the column of that key (both are missing where no column adds up). A
 * total is one more row, "total":{…}.
 */
void af_table_json(struct af_buf *b, const struct af_table *t, uint32_t limit);

/*
 * One table as CSV (RFC 4180): a line of the columns' keys, then the rows, of numbers as in JSON.
 */
void af_table_csv(struct af_buf *b, const struct af_table *t);

/* Only the list of the first @nr_rows rows. */
void af_table_json_rows(struct af_buf *b, const struct af_table *t, uint32_t nr_rows);

/* The head of a document of tables. */
struct af_document {
	const char *report;               /* "top" */
	const char *view, *weight, *unit; /* of what comes from a tree, or NULL */
	uint64_t all, total; /* with a weight: of the whole view, and of what this is about */
	const char *query;   /* a function, as the user called it, or NULL */
	uint64_t self;       /* with it: what was in it itself */
};

/*
 * All tables as {"format":1,"report":"top",…,"tables":[…]} and a newline: docs/report.md. What is
 * NULL in @d is left out with the sums that belong to it.
 */
void af_tables_json(struct af_buf *b, const struct af_document *d, const struct af_tables *f,
                    uint32_t limit);

#endif
