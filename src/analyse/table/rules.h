/*
 * Rows that become one: what becomes of each column follows from its rule (enum af_merge_rule),
 * which stands beside the column, or from its key and unit. Sums, least and largest values and
 * means do not depend on the order of the rows, nor on who added up which of them.
 *
 *	af_row_begin → { af_row_add | af_row_join }* → af_row_finish
 */
#ifndef AF_ANALYSE_TABLE_RULES_H
#define AF_ANALYSE_TABLE_RULES_H

#include "analyse/table/table.h"

/* The exact sums behind a mean, in each column; zeroes in others. */
struct af_row_sum {
	unsigned __int128 of, by;
};

/* The columns of a table with their rules as numbers, for many rows. */
struct af_row_rules {
	uint32_t nr_columns;
	struct af_row_rule {
		enum af_merge_rule rule;
		enum af_cell_unit unit;
		int of, per; /* columns, or -1 */
		double scale;
	} columns[AF_TABLE_COLUMNS];
	bool has_means;
};

/* The rule of @column, never AF_MERGE_DEFAULT. */
enum af_merge_rule af_column_rule(const struct af_column *column);

/* Fill @rules for the columns of @t. */
void af_row_rules_make(struct af_row_rules *rules, const struct af_table *t);

/* @sums of a row that is one row so far. */
void af_row_begin(const struct af_row_rules *rules, const struct af_cell *cells,
                  struct af_row_sum *sums);

/* Add the row @from, which is one row. */
void af_row_add(const struct af_row_rules *rules, struct af_cell *to, struct af_row_sum *sums,
                const struct af_cell *from);

/* Add the row @from, which is several, with their sums. */
void af_row_join(const struct af_row_rules *rules, struct af_cell *to, struct af_row_sum *sums,
                 const struct af_cell *from, const struct af_row_sum *from_sums);

/*
 * Compute means, ratios and shares: of @whole, the whole of all tables, and of @part, that of the
 * tables with this row. The row may be added to again.
 */
void af_row_finish(const struct af_row_rules *rules, struct af_cell *cells,
                   const struct af_row_sum *sums, uint64_t whole, uint64_t part);

/* The whole of which shares of @t are parts, where rows may have been left out of @t. */
uint64_t af_table_whole(const struct af_table *t);

#endif
