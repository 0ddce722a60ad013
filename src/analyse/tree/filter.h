/*
 * Filters of a tree. Each makes a new finished tree from a finished one and borrows its texts: the
 * tree that owns them must outlive it. No weight is lost silently: hiding charges a frame's own
 * weight to its caller, and only focus and keep make the total smaller. These are the transforms of
 * report.html's viewer (viewer/transforms.js), and give the same numbers.
 */
#ifndef AF_ANALYSE_TREE_FILTER_H
#define AF_ANALYSE_TREE_FILTER_H

#include "analyse/tree/callers.h"

/* Stacks from the outermost matching frame on; stacks without one are left out. */
void af_tree_focus(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* Leave out matching frames; their own weight goes to their callers. */
void af_tree_hide(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* Whole stacks with a matching frame; the others are left out. */
void af_tree_keep(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

#endif
