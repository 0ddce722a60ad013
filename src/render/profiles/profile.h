/*
 * Shared by the formats of profiles: the trees that they were given, and the columns of these that
 * are not empty, each with a name and a unit that is unique among all trees.
 */
#ifndef AF_RENDER_PROFILES_PROFILE_H
#define AF_RENDER_PROFILES_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tree/tree.h"
#include "base/buf.h"

enum { AF_PROFILE_TREES = 3, AF_PROFILE_COLUMNS = AF_PROFILE_TREES * AF_TREE_WEIGHTS };

struct af_profile_column {
	uint32_t tree, weight;
	const char *name; /* "cpu", "off-cpu", "gpu", "launches", … */
	const char *unit; /* as of the tree: "ns", "samples", "launches", "bytes" */
	uint64_t scale;   /* values are in 1/scale of the unit; at least 1 */
	uint64_t total;
};

struct af_profile {
	const struct af_tree *trees[AF_PROFILE_TREES];
	struct af_profile_column columns[AF_PROFILE_COLUMNS];
	uint32_t nr_trees, nr_columns;
};

/*
 * Add a finished tree that outlives the profile; @label as in struct af_render. Trees beyond
 * AF_PROFILE_TREES are left out.
 */
void af_profile_add(struct af_profile *p, const struct af_tree *t, const char *label);

/* Has the node self weight in any of its tree's columns? */
bool af_profile_has(const struct af_tree *t, uint32_t node);

/* The frame's text, never "", because readers take that for no name at all. */
const char *af_profile_text(const struct af_tree *t, uint32_t name, size_t *len);

/* The frame's function, without file and line where the format has those apart. */
const char *af_profile_function(const struct af_tree *t, uint32_t name, size_t *len);

/*
 * Does the frame name a track, and is it not part of the stack? So do threads, devices and streams;
 * the frame of a process is part of the stack.
 */
bool af_profile_is_track(const struct af_tree *t, uint32_t node);

/* Nodes with weight of one track, in the order of the tree. */
struct af_profile_group {
	/*
	 * The deepest process, thread, device or stream that has only such frames above it; 0:
	 * none.
	 */
	uint32_t track;
	uint32_t first, nr; /* of the nodes */
};

struct af_profile_groups {
	struct af_profile_group *all; /* in the order of the tree */
	uint32_t nr, cap;
	uint32_t *nodes;
};

/* Group the nodes of @t that a profile has by their track. @t outlives the groups. */
void af_profile_group(struct af_profile_groups *g, const struct af_tree *t);
void af_profile_groups_free(struct af_profile_groups *g);

/* "train.py, [main 1234]": @track and what it belongs to; "" for 0. */
void af_profile_track_text(struct af_buf *b, const struct af_tree *t, uint32_t track);

#endif
