/*
 * Compares two traces or folded files, for the commands that do.
 */
#ifndef AF_CMD_DIFF_H
#define AF_CMD_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/difference/difference.h"
#include "analyse/pass/pass.h"
#include "cmd/output/atomic_write.h"
#include "cmd/shared/stacks.h"

struct af_err;

enum { AF_DIFF_LIMIT = 20 }; /* rows of a table, by default */

struct af_diff_options {
	struct af_output output; /* its name selects the format; "-": the tables */
	const char *view;        /* of traces; NULL: all in one tree, in a page all views */
	const char *weight;      /* of traces, NULL: time */
	const char *normalize;   /* total, wall, step, none; NULL: step where one is named */
	const char *step, *range, *depth;
	const char *by;   /* self, inclusive; NULL: tables by self, colours by inclusive */
	const char *show; /* new, vanished; NULL: all */
	const char *fail_above, *title;
	const char *rank; /* of folders of ranks */
	bool json, all, strip, negate;
	uint64_t limit, period;
};

/*
 * Compare the two traces or folded files that @words name, or the two columns of one file. Returns
 * 0, AF_DIFF_WORSE when something grew by more than --fail-above, or -errno with a message.
 */
int af_diff_run(const struct af_diff_options *o, int nr_words, char **words, struct af_err *err);

enum { AF_DIFF_WORSE = 3 }; /* exit status: apart from that of a failure */

/* One of the two sides: diff_side.c. */
struct af_diff_side {
	const char *name;
	bool is_trace;
	struct af_results results; /* of a trace */
	uint64_t wall_ns, steps;   /* of a trace, 0: not known */
	struct af_stacks stacks;   /* of a file or a pipe */
};

/* Read a trace for @query, or a file with one or @two columns of counts ("-": standard input). */
int af_diff_side_open(struct af_diff_side *s, const char *name, bool two,
                      const struct af_query *query, const char *step, const char *rank,
                      struct af_err *err);
void af_diff_side_close(struct af_diff_side *s); /* a zeroed one is fine */

/* The part of a side that is compared: @weight (a name, or NULL) of @view, or its stacks. */
int af_diff_side_of(const struct af_diff_side *s, int view, const char *weight,
                    struct af_difference_side *of, struct af_err *err);

/* Both sides and the results of their comparison. */
struct af_diff {
	const struct af_diff_options *o;
	const char *names[2];
	struct af_diff_side sides[2];
	uint32_t nr_sides; /* 1: both are columns of one file */
	enum af_normalize normalize;
	double fail_above; /* percent; negative: never fail */
	const char *weight;
	struct af_difference views[AF_VIEWS]; /* one of stacks */
	const char *labels[AF_VIEWS];
	uint32_t nr_views;
	const struct af_format *format; /* NULL: tables */
	struct af_tables tables;
	uint32_t nr_worse;
};

/* Does the file name end with @end? */
bool af_diff_ends(const char *name, const char *end);

/* The kind of change that --show asks for; AF_CHANGE_NONE: all kinds. */
enum af_change_kind af_diff_only(const struct af_diff *d);

/* Sentences: how the sides were made comparable, and which changes may be chance. */
const char *af_diff_normalized(const struct af_diff *d, struct af_tables *f);
const char *af_diff_noise(const struct af_difference *v);

/* Write the difference in the format of its output; @arg is the struct af_diff: diff_draw.c. */
int af_diff_draw(int fd, void *arg, struct af_err *err);
int af_diff_print(int fd, void *arg, struct af_err *err);

#endif
