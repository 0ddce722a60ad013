/* Shared by the files of differences. */
#ifndef AF_ANALYSE_DIFFERENCE_PRIVATE_H
#define AF_ANALYSE_DIFFERENCE_PRIVATE_H

#include <stddef.h>

#include "analyse/difference/difference.h"

/* A function's weights, one of each column; `total` counts each stack once. */
struct difference_function {
	uint32_t name;
	const char *text; /* its label */
	size_t len;
	enum af_frame frame;
	uint64_t self[AF_DIFFERENCE_COLUMNS], total[AF_DIFFERENCE_COLUMNS];
	struct af_change own, whole;
	bool by_self;
};

/*
 * By name of @src, what it is in @t; names of @other are there already (NULL: this is the first
 * side). The caller frees them.
 */
uint32_t *difference_names(struct af_tree *t, const struct af_tree *src,
                           const struct af_tree *other, bool strip);

/* One for each name of the tree, in order of names; the caller frees them. */
struct difference_function *difference_functions(const struct af_difference *d);

/* For qsort(): what changed most first, by their own where by_self says so. */
int difference_function_order(const void *a, const void *b);

/* The same of changes: those that are certain first. */
int difference_by_size(const struct af_change *x, const struct af_change *y);

#endif
