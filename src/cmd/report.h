/* What the files of `aflame report` share. */
#ifndef AF_CMD_REPORT_H
#define AF_CMD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "base/buf.h"
#include "cmd/options/command.h"
#include "render/text/tables.h"

struct af_err;

enum { REPORT_ROWS = 20 }; /* of a table, unless said otherwise */

struct report_options {
	bool json, list;
	uint64_t limit; /* UINT64_MAX: not given */
	const char *view, *weight, *sort, *depth, *by, *rank, *sources;
	struct af_strings focus, hide, search;
	uint64_t from_ns, to_ns;
};

/* One report that was asked for. */
struct report {
	const struct report_options *options;
	const struct report_kind *kind;
	const char *function; /* what callers, callees and annotate are of, or NULL */
	const char *dir;
	const char *weight; /* as asked for, or what there is where nothing is; NULL: time */
	bool gpu_instead;   /* of top without a view: only devices have anything */
	struct af_results results;
	struct af_tree narrowed; /* the view, where something is asked to be left out */
};

struct report_kind {
	const char *name;
	const char *what; /* for --list and --help */
	bool takes_words; /* a function or a kernel before the trace */
	bool needs_word;
	bool is_of_tree; /* has a view and a weight */
	int standard_view;
	uint32_t answers; /* where it is not of a tree */
	int (*print)(struct report *r, struct af_err *err);
};

/* NULL-terminated by name. */
extern const struct report_kind report_kinds[];

/* How many rows to print: --limit, or else @standard; 0 means all. */
uint32_t report_limit(const struct report *r, uint32_t standard);

/* One table in the form that was asked for; for people with a blank line before, unless first. */
void report_table(struct report *r, struct af_buf *b, const struct af_table *t);
void report_print(struct af_buf *b);

/* report_trees.c: of trees. */
int report_top(struct report *r, struct af_err *err);
int report_tree(struct report *r, struct af_err *err);
int report_callers(struct report *r, struct af_err *err);
int report_callees(struct report *r, struct af_err *err);

/* Is it functions by CPU time, and kernels? */
bool report_is_plain_top(const struct report *r);

/* Is @t one of the tables that are that? */
bool report_is_of_top(const struct af_table *t);

/* The view that is asked for, or the kind's own. */
int report_view(const struct report *r);

#endif
