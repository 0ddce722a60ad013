/*
 * A tree narrowed to what is looked for. Each makes a new finished tree of a finished one and
 * borrows its texts: the tree that owns them must outlive it. No weight is lost silently: hiding
 * charges a frame's own to its caller, and only focus and keep make the total smaller. They are the
 * transforms of report.html's viewer (viewer/transforms.js), and give the same numbers.
 */
#ifndef AF_ANALYSE_TREE_NARROW_H
#define AF_ANALYSE_TREE_NARROW_H

#include "analyse/tree/callers.h"

/* Stacks from the outermost frame that is meant on; those without one are left out. */
void af_tree_focus(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* Frames that are meant are left out; their own weight becomes their callers'. */
void af_tree_hide(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

/* Stacks with a frame that is meant, whole; the others are left out. */
void af_tree_keep(struct af_tree *dst, const struct af_tree *src, const struct af_hits *h);

#endif
