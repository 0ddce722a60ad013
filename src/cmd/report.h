/*
 * Shared by the files of `aflame report`.
 */
#ifndef AF_CMD_REPORT_H
#define AF_CMD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "base/buf.h"
#include "cmd/options/command.h"
#include "cmd/output/atomic_write.h"
#include "render/text/tables.h"

struct af_err;

enum { REPORT_ROWS = 20 }; /* of a table, by default */

struct report_options {
	bool json, list, lines;
	uint64_t limit; /* UINT64_MAX: not given */
	const char *view, *weight, *sort, *depth, *by, *rank, *sources, *heat, *counters;
	struct af_strings focus, hide, search;
	uint64_t from_ns, to_ns;
	struct af_strings plugins;
	uint64_t plugin_memory, plugin_ns;
	struct af_output output; /* of plug-ins */
};

/* One requested report. */
struct report {
	const struct report_options *options;
	const struct report_kind *kind;
	const char *function; /* function or kernel of callers, callees and annotate, or NULL */
	const char *table;    /* the one table to print, or NULL */
	const char *dir;
	const char *members_by; /* --by of a set: whose rows are kept apart, or NULL */
	bool is_set;
	const char *weight; /* requested, or else chosen by what the trace has; NULL: time */
	bool gpu_instead;   /* for top without a view: only devices have data */
	struct af_results results;
	struct af_tree filtered; /* the view after --focus and --hide, if they are given */
};

struct report_kind {
	const char *name;
	const char *what; /* for --list and --help */
	bool takes_words; /* a function or a kernel before the trace */
	bool needs_word;
	bool is_of_tree; /* has a view and a weight */
	int standard_view;
	uint32_t answers; /* when it is not of a tree */
	int (*print)(struct report *r, struct af_err *err);
};

/* NULL-terminated by name. */
extern const struct report_kind report_kinds[];

/* report_check.c: do the options go together? -EINVAL: they do not. */
int report_check(const struct report *r, struct af_err *err);

/*
 * The same for --by, when it is known whether the trace is a set: then @r->members_by may be set in
 * place of @o->by.
 */
int report_check_by(struct report *r, struct report_options *o, struct af_err *err);

/* How many rows to print: --limit, or else @standard; 0 means all. */
uint32_t report_limit(const struct report *r, uint32_t standard);

/* Print one table in the requested form; for people with a blank line before all but the first. */
void report_table(struct report *r, struct af_buf *b, const struct af_table *t);
void report_print(struct af_buf *b);

/* Print all tables of the results for programs. 0. */
int report_json(struct report *r);

/* The row of the option for the report of ranks. */
#define REPORT_HEAT_OPTION                                                                         \
	{                                                                                          \
		AF_OPT_OPTIONAL, "heat", 0, "FILE",                                                \
		    "ranks: what each did over time, as a map on the terminal, or to .svg",        \
		    offsetof(struct report_options, heat), "-", .any = true                        \
	}

/* report_table.c: findings or coverage of each host, rank or group of a set. */
int report_parts(struct report *r, struct af_err *err);

/*
 * report_devices.c: why devices were idle; why instructions of kernels stalled, and what the
 * reasons mean; and the kernel that is meant, or that took most time, of a trace that it reads
 * itself.
 */
int report_gaps(struct report *r, struct af_err *err);
int report_stalls(struct report *r, struct af_err *err);
int report_counters(struct report *r, struct af_err *err); /* of devices, or of kernels */
int report_energy(struct report *r, struct af_err *err);
int report_annotate(struct report *r, struct af_err *err);

/* report_trees.c: reports of trees. */
int report_top(struct report *r, struct af_err *err);
int report_flat(struct report *r, struct af_err *err);
int report_tree(struct report *r, struct af_err *err);
int report_callers(struct report *r, struct af_err *err);
int report_callees(struct report *r, struct af_err *err);

/*
 * report_table.c: one table of the summary. _names_table: a word that is no report names a table,
 * unless it is a path; where @dir, the trace that nobody named, is not there, it must be like the
 * name of a report. _no_trace then suggests that report in place of the error @rc of the trace, and
 * _too_many where @word is one word too many.
 */
int report_one_table(struct report *r, struct af_err *err);
bool report_names_table(const char *word, const char *dir);
int report_no_trace(const struct report *r, int rc, struct af_err *err);
int report_too_many(const struct report *r, const char *word, struct af_err *err);

/*
 * report_plugin.c: what plug-ins give. @words: those for them, and the trace behind them. The rows
 * of their options.
 */
int report_plugins(const struct report_options *o, int nr_words, char **words, struct af_err *err);

#define REPORT_PLUGIN_OPTIONS                                                                      \
	{AF_OPT_GROUP, .help = "For plug-ins"},                                                    \
	    {AF_OPT_LIST,                                                                          \
	     "plugin",                                                                             \
	     0,                                                                                    \
	     "FILE",                                                                               \
	     "show what the shared object FILE makes of the trace, with the words before DIR as "  \
	     "its arguments; may be given again",                                                  \
	     offsetof(struct report_options, plugins)},                                            \
	    {AF_OPT_STRING,                                                                        \
	     "output",                                                                             \
	     'o',                                                                                  \
	     "FILE",                                                                               \
	     "file to write: a tree to .svg or .folded, slices to .json or .perfetto-trace, all "  \
	     "to .html (-)",                                                                       \
	     offsetof(struct report_options, output.file)},                                        \
	    AF_PUBLIC_OPTION(struct report_options, output.public),                                \
	    {AF_OPT_SIZE,                                                                          \
	     "plugin-memory",                                                                      \
	     0,                                                                                    \
	     "SIZE",                                                                               \
	     "memory that its process may allocate (4G)",                                          \
	     offsetof(struct report_options, plugin_memory)},                                      \
	{                                                                                          \
		AF_OPT_TIME, "plugin-time", 0, "TIME",                                             \
		    "time that one of its callbacks may take (60s)",                               \
		    offsetof(struct report_options, plugin_ns)                                     \
	}

/* The clocks of a set's hosts against that of its first rank; reads the set itself. */
int report_clocks(struct report *r, struct af_err *err);
/* report_table.c: compares the ranks of a set, which it reads itself. */
int report_ranks(struct report *r, struct af_err *err);

/* Does it list functions by CPU time, and kernels? */
bool report_is_plain_top(const struct report *r);

/* Is @t one of the tables of that report? */
bool report_is_of_top(const struct af_table *t);

/* The requested view, or the kind's own. */
int report_view(const struct report *r);

#endif
