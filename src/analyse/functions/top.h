/* The heaviest functions of a tree, as a table. */
#ifndef AF_ANALYSE_FUNCTIONS_TOP_H
#define AF_ANALYSE_FUNCTIONS_TOP_H

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* The name of the table of functions by a counted event, in traces that have one. */
#define AF_COUNT_TOP "count_top"

/*
 * A row; the value of the cell `function`, whose text is the label, is the id of the name in the
 * tree. The location is that of the function in the source, "file.c:12"; several functions of one
 * name have the first, "file.c:12, …".
 */
#define AF_TOP_COLUMNS(C, unit)                                                                    \
	C(function, "Function", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                               \
	C(self, "Self", unit)                                                                      \
	C(self_share, "Self share", AF_CELL_PERCENT, .merge = AF_MERGE_SHARE, .of = "self")        \
	C(total, "Total", unit)                                                                    \
	C(total_share, "Total share", AF_CELL_PERCENT, .merge = AF_MERGE_SHARE, .of = "total")     \
	C(kind, "Kind", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                       \
	C(location, "Location", AF_CELL_TEXT, AF_SHOW_USED, .merge = AF_MERGE_SAME)                \
	C(file, "File", AF_CELL_TEXT, AF_SHOW_NEVER, .merge = AF_MERGE_SAME)                       \
	C(line, "Line", AF_CELL_COUNT, AF_SHOW_NEVER, .merge = AF_MERGE_SAME)
struct af_top_row {
	AF_TOP_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/*
 * Add the table to @f: at most @limit rows (0: all) by self weight, of functions that have any.
 * What a limit leaves out is in the table's left_out. No table when the tree is empty. Off-CPU time
 * is the function's own that waited, whatever the kernel did for it.
 */
void af_top_table(struct af_tables *f, const struct af_tree *t, uint32_t weight, const char *name,
                  const char *title, uint32_t limit);

/*
 * The same by total weight, all functions with any; @is (NULL: all) selects functions by name's id.
 */
void af_top_by_total(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                     const uint8_t *is, const char *name, const char *title);

/* "file.c:12" of @file and @line, "" for NULL; @more: there are others. Lives as long as @f. */
const char *af_top_location(struct af_tables *f, const char *file, uint32_t line, bool more);

/* Fill the location, file and line of @row from the name of @t that its function is. */
void af_top_source(struct af_tables *f, struct af_top_row *row, const struct af_tree *t);

#endif
