/*
 * The results of a plug-in: tables, trees, and slices on tracks; as bytes between its process and
 * ours, and handed to formats.
 */
#ifndef AF_PLUGIN_RESULTS_H
#define AF_PLUGIN_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "analyse/tree/tree.h"
#include "base/arena.h"
#include "base/strtab.h"

struct af_buf;
struct af_cursor;
struct af_err;
struct af_slices;
struct af_slices_sink;

struct af_plugin_tree {
	const char *name, *title;
	struct af_tree_weight weights[AF_TREE_WEIGHTS];
	struct af_tree tree;
};

/* A row of slices, or the values of a counter. */
struct af_plugin_track {
	uint32_t group, name; /* of the names */
	uint32_t unit;        /* of the names: of a counter */
	bool counter;
};

struct af_plugin_slice {
	uint32_t track; /* from 1 on */
	uint32_t name;  /* of the names */
	uint64_t start_ns, end_ns;
};

struct af_plugin_point {
	uint32_t track;
	uint64_t time_ns, value;
};

struct af_plugin_results {
	struct af_arena arena;
	const char *name;   /* the plug-in's own */
	const char *damage; /* of the trace, "" for none */
	uint64_t start_ns;  /* of the trace */
	struct af_tables tables;
	struct af_plugin_tree *trees;
	uint32_t nr_trees, cap_trees;
	struct af_strtab names;
	struct af_plugin_track *tracks; /* track 1 is the first */
	uint32_t nr_tracks, cap_tracks;
	struct af_plugin_slice *slices;
	uint64_t nr_slices, cap_slices;
	struct af_plugin_point *points;
	uint64_t nr_points, cap_points;
	uint64_t nr_left;      /* slices and points that a merge of several left out */
	struct af_tree stacks; /* of slices, for formats: none */
};

/* Free what it holds; a zeroed struct is empty. */
void af_plugin_results_free(struct af_plugin_results *r);

/*
 * A new tree at the end of the list, open with the @nr weights, whose texts are copied like @name
 * and @title. Valid until the next one.
 */
struct af_plugin_tree *af_plugin_tree_add(struct af_plugin_results *r, const char *name,
                                          const char *title, const struct af_tree_weight *weights,
                                          uint32_t nr);

/* The tree called @name, or NULL. */
struct af_plugin_tree *af_plugin_tree_find(const struct af_plugin_results *r, const char *name);

/* Append the results as bytes; or, in their place, the reason why there are none. */
void af_plugin_results_write(const struct af_plugin_results *r, struct af_buf *to);
void af_plugin_failure_write(const char *why, struct af_buf *to);

/*
 * Read them into @r, which is empty. -EBADMSG: something else is among the bytes, or they end
 * early. -ECANCELED: the plug-in failed, and @err has its reason. The caller frees @r.
 */
int af_plugin_results_read(struct af_plugin_results *r, struct af_cursor *from, struct af_err *err);

/*
 * Hand all slices and points to @sink, as slices.h orders them; @all gets what they refer to, which
 * lives as long as @r. The slices of @r are sorted. @number, from 0 on, tells plug-ins of one file
 * apart. Returns what the sink returned.
 */
int af_plugin_slices(struct af_plugin_results *r, uint32_t number, struct af_slices *all,
                     const struct af_slices_sink *sink);

#endif
