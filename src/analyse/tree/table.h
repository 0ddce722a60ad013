/*
 * Trees as tables: the frames that weigh most, in the order of the tree, each with its depth and
 * the places of itself and its caller, so that a program can put them together again.
 */
#ifndef AF_ANALYSE_TREE_TABLE_H
#define AF_ANALYSE_TREE_TABLE_H

#include "analyse/table/facts.h"
#include "analyse/tree/tree.h"

/* Which frames of a tree are shown; a zeroed struct is for all that weigh anything. */
struct af_tree_cut {
	uint64_t min;   /* those with this total or more */
	uint32_t limit; /* of these the heaviest so many; 0: all */
};

/* What is not shown. */
struct af_tree_rest {
	uint32_t frames;    /* that are shown */
	uint32_t left_out;  /* that are not, and weigh something */
	uint64_t left_self; /* the self weights of those, added up */
};

/*
 * By node whether it is shown: the root always, and a frame never without its caller. Of frames of
 * the same total the earlier counts as the heavier. The caller's to free. @t is finished.
 */
uint8_t *af_tree_choose(const struct af_tree *t, uint32_t weight, const struct af_tree_cut *cut,
                        struct af_tree_rest *rest);

/*
 * Add the chosen frames to @f, preorder, without the root: Frame, Depth, Total, Total share, Self,
 * Kind, Function (its id), Id and Below (the ids of the place and of the one above, "" at the
 * root). What is left out is in the table's `truncated`.
 */
struct af_table *af_tree_table(struct af_facts *f, const struct af_tree *t, uint32_t weight,
                               const struct af_tree_cut *cut, const char *name, const char *title);

/*
 * Add the frames just below the root to @f, heaviest first: Function, Weight, Share of the root's
 * total, Kind, Id. What the root has itself is a row as well, called @own.
 */
struct af_table *af_tree_first_table(struct af_facts *f, const struct af_tree *t, uint32_t weight,
                                     const char *own, const char *name, const char *title);

/* The unit of a tree's weight in a table. */
enum af_cell_unit af_tree_unit(const struct af_tree *t, uint32_t weight);

#endif
