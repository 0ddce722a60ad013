/*
 * The table, a result: named facts and titled tables of text and numbers, for the terminal summary,
 * report.html and --json alike. A pass fills it; a format prints it; neither knows the other.
 */
#ifndef AF_ANALYSE_TABLE_TABLE_H
#define AF_ANALYSE_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum af_cell_unit {
	AF_CELL_TEXT,
	AF_CELL_COUNT,
	AF_CELL_NS,
	AF_CELL_BYTES,
	AF_CELL_PERCENT, /* value is in hundredths of a percent */
	AF_CELL_NUMBER,  /* value is in thousandths; another column has its unit */
};

/* Which columns people see; programs get all of them. */
enum af_column_show {
	AF_SHOW_ALWAYS,
	AF_SHOW_USED, /* when a row has something there: not 0, not "" */
	AF_SHOW_NEVER /* numbers and names for programs */
};

/* How a column is merged when several rows become one row: rules.h. */
enum af_merge_rule {
	AF_MERGE_DEFAULT, /* by key and unit */
	AF_MERGE_KEY,     /* rows of one row have the same */
	AF_MERGE_SUM,
	AF_MERGE_MIN,
	AF_MERGE_MAX,
	AF_MERGE_MEAN,  /* weighed by the column `of`, which is added up */
	AF_MERGE_RATIO, /* computed anew: the column `of` by the column `per`, times `scale` */
	AF_MERGE_SHARE, /* computed anew: the column `of` as a part of the whole of all tables */
	AF_MERGE_PART,  /* the same of the whole of those tables that have the row */
	AF_MERGE_SAME,  /* as it is in all rows, else blank */
	AF_MERGE_WHO    /* the same; whose row it is: a process, a thread, a rank, a host */
};

struct af_column {
	const char *title;
	enum af_cell_unit unit;
	enum af_column_show show;
	bool change;     /* values have a sign: see af_cell.less */
	const char *key; /* for programs, never changed: "self_ns" */
	enum af_merge_rule merge;
	const char *of, *per; /* keys of columns; NULL: time_ns, and calls */
	double scale;         /* of a ratio; 0: 1 */
};

/* The colour of a row on a terminal: that of its first cell. */
enum af_tone {
	AF_TONE_PLAIN,
	AF_TONE_MORE, /* red: it got worse */
	AF_TONE_LESS, /* blue */
	AF_TONE_FAINT
};

struct af_cell {
	const char *text; /* AF_CELL_TEXT */
	uint64_t value;   /* the other units */
	bool unknown;     /* there is no value: a blank, null in JSON */
	bool less;        /* of a change: the value is what it became less by */
	enum af_tone tone;
};

/*
 * A table's columns are listed once, as an X-macro of C(key, title, unit, ...), where what follows
 * the unit is of struct af_column. Code then reads and writes cells by name:
 *
 *	#define AF_COPY_COLUMNS(C)                           \
 *		C(operation, "Operation", AF_CELL_TEXT)      \
 *		C(time_ns, "Time", AF_CELL_NS, AF_SHOW_USED)
 *	struct af_copy_row { AF_COPY_COLUMNS(AF_ROW_CELL) };
 *
 *	static const struct af_column columns[] = {AF_COPY_COLUMNS(AF_ROW_COLUMN)};
 *	struct af_table *t = AF_TABLE(f, "copies", "Copies", columns);
 *	struct af_copy_row *row = af_table_row(f, t);
 *	row->time_ns.value = 1500;
 *
 * The name of a member is the key of its column, for JSON too.
 */
#define AF_ROW_CELL(member, ...) struct af_cell member;
#define AF_ROW_COLUMN(member, ...) {__VA_ARGS__, .key = #member},
#define AF_TABLE(tables, name, title, columns)                                                     \
	af_tables_table(tables, name, title, columns, sizeof(columns) / sizeof *(columns))

/*
 * Row @row of @t as a struct of that type, whose members are its columns or the first of them; NULL
 * where there is none.
 */
#define AF_ROW_AT(type, t, row) ((const type *)af_table_row_at(t, row, sizeof(type)))

enum { AF_TABLE_COLUMNS = 48 };

struct af_table {
	const char *name;    /* for --json: "cpu_top" */
	const char *title;   /* for people: "Where CPU time went" */
	const char *note;    /* a caveat printed below, or NULL */
	const char *warning; /* what keeps its figures from being right, printed above, or NULL */
	uint32_t nr_columns, nr_rows, cap_rows;
	struct af_column columns[AF_TABLE_COLUMNS];
	struct af_cell *cells; /* nr_rows × nr_columns, row by row */
	/* Rows that whoever made the table left out already, and what these have in one column;
	 * UINT32_MAX: that is not known. */
	uint32_t left_out, left_column;
	bool chosen; /* row by row: no other limit applies */
	uint64_t left_weight;
	uint64_t whole;        /* of which shares of rows are parts; 0: the sum of the rows */
	struct af_cell *total; /* one more row: what all rows are together; NULL: there is none */
	struct af_table *next;
};

/* A list of tables, all memory in one arena. A zeroed struct is empty. */
struct af_tables {
	struct af_arena arena;
	struct af_table *first, *last;
};

/* Free all tables and their cells. A zeroed struct is fine. */
void af_tables_free(struct af_tables *f);

/* A new table at the end of the list; columns are copied. */
struct af_table *af_tables_table(struct af_tables *f, const char *name, const char *title,
                                 const struct af_column *columns, uint32_t nr_columns);

/* The table @t of another list at the end of @f, with texts of its own and another name. */
struct af_table *af_tables_copy(struct af_tables *f, const struct af_table *t, const char *name,
                                const char *title);

/*
 * A key made of @text, lower-case letters, digits and _, behind @prefix, that none of the @nr
 * @columns has. For columns that a trace names. Lives as long as the facts.
 */
const char *af_column_key(struct af_tables *f, const struct af_column *columns, uint32_t nr,
                          const char *prefix, const char *text);

/* The table called @name, or NULL. */
const struct af_table *af_tables_find(const struct af_tables *f, const char *name);

/* A new row, zeroed: nr_columns cells for the caller to fill. Valid until the next row. */
void *af_table_row(struct af_tables *f, struct af_table *t);

/* Give @t a total: nr_columns cells, called Total, for the caller to fill. */
void *af_table_total(struct af_tables *f, struct af_table *t);

/* Row @row, of whose cells the first @size bytes are wanted; NULL where there is none. */
const void *af_table_row_at(const struct af_table *t, uint32_t row, size_t size);

/* A row of a table of labelled values, one a row, for cards and small lists. */
#define AF_PAIR_COLUMNS(C)                                                                         \
	C(label, "", AF_CELL_TEXT)                                                                 \
	C(value, "", AF_CELL_TEXT)                                                                 \
	C(key, "", AF_CELL_TEXT, AF_SHOW_NEVER) /* for programs, never changed */
struct af_pair_row {
	AF_PAIR_COLUMNS(AF_ROW_CELL)
};

/* A new table of labelled values, and a row of it. All texts must live as long as the facts. */
struct af_table *af_pairs_table(struct af_tables *f, const char *name, const char *title);
void af_pair_row(struct af_tables *f, struct af_table *t, const char *key, const char *label,
                 const char *value);

/* Is column @c of @t not for people, as it stands? */
bool af_table_hides(const struct af_table *t, uint32_t c);

/*
 * @part of @whole times @scale, as a cell's value: 10000 for a share; 0 when there is no whole.
 * What a damaged trace makes too large is the largest there is.
 */
uint64_t af_tables_ratio(uint64_t part, uint64_t whole, double scale);

/* The same of amounts that have fractions: @part of @whole in hundredths of a percent, at most all.
 */
uint64_t af_tables_share(double part, double whole);

/* @value rounded; 0 for what is less. */
uint64_t af_tables_count(double value);

/* A string that lives as long as the facts. */
const char *af_tables_text(struct af_tables *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A time for a sentence: "1.500 ms". Lives as long as the facts. */
const char *af_tables_ns(struct af_tables *f, uint64_t ns);

#endif
