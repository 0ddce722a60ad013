/*
 * Trees as tables: the heaviest frames, in the order of the tree, each with its depth and the ids
 * of itself and its caller, so that a program can rebuild the tree.
 */
#ifndef AF_ANALYSE_TREE_TABLE_H
#define AF_ANALYSE_TREE_TABLE_H

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"

/* Selects the frames of a tree that are shown; a zeroed struct selects all with weight. */
struct af_tree_cut {
	uint64_t min;   /* only frames with this total or more */
	uint32_t limit; /* of these the heaviest so many; 0: all */
};

/* The part that is left out. */
struct af_tree_rest {
	uint32_t frames;    /* shown frames */
	uint32_t left_out;  /* frames with weight that are not shown */
	uint64_t left_self; /* their self weights, added up */
};

/*
 * By node, whether it is shown: the root always, and a frame never without its caller. Of frames
 * with equal totals the earlier counts as heavier. The caller frees it. @t is finished.
 */
uint8_t *af_tree_choose(const struct af_tree *t, uint32_t weight, const struct af_tree_cut *cut,
                        struct af_tree_rest *rest);

/* A row of a tree: one frame. */
#define AF_TREE_COLUMNS(C, unit)                                                                   \
	C(frame, "Frame", AF_CELL_TEXT)                                                            \
	C(depth, "Depth", AF_CELL_COUNT) /* 1: a root */                                           \
	C(total, "Total", unit)                                                                    \
	C(total_share, "Total share", AF_CELL_PERCENT)                                             \
	C(self, "Self", unit)                                                                      \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(function, "Function", AF_CELL_TEXT, AF_SHOW_NEVER) /* its id */                          \
	C(id, "Id", AF_CELL_TEXT, AF_SHOW_NEVER)             /* of the place */                    \
	C(below, "Below", AF_CELL_TEXT, AF_SHOW_NEVER) /* the id of its caller, "" of a root */
struct af_tree_row {
	AF_TREE_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/*
 * Add the chosen frames to @f, preorder, without the root. What is left out is in the table's
 * `truncated`.
 */
struct af_table *af_tree_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                               const struct af_tree_cut *cut, const char *name, const char *title);

/* A row of the frames just below the root; the share is of the root's total. */
#define AF_FIRST_COLUMNS(C, unit)                                                                  \
	C(function, "Function", AF_CELL_TEXT)                                                      \
	C(weight, "Weight", unit)                                                                  \
	C(share, "Share", AF_CELL_PERCENT)                                                         \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(id, "Id", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_first_row {
	AF_FIRST_COLUMNS(AF_ROW_CELL, AF_CELL_NS)
};

/*
 * Add the frames just below the root to @f, heaviest first. What the root has itself is a row as
 * well, called @own.
 */
struct af_table *af_tree_first_table(struct af_tables *f, const struct af_tree *t, uint32_t weight,
                                     const char *own, const char *name, const char *title);

/* The unit of a tree's weight in a table. */
enum af_cell_unit af_tree_unit(const struct af_tree *t, uint32_t weight);

#endif
