/* aflame report: what a trace tells, as tables or a tree, for people and for programs. */
#include "cmd/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/findings/findings.h"
#include "analyse/tree/by_track.h"
#include "base/err.h"
#include "cmd/diff.h"
#include "cmd/flat/flat.h"
#include "cmd/output/picture.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/commands.h"
#include "cmd/shared/load.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/set.h"
#include "cmd/shared/summary.h"
#include "cmd/shared/together.h"

static const struct report_options report_defaults = {
    .limit = UINT64_MAX, .sort = "self", .output.file = "-"};

uint32_t report_limit(const struct report *r, uint32_t standard)
{
	uint64_t limit = r->options->limit;

	return limit == UINT64_MAX ? standard : limit < UINT32_MAX ? (uint32_t)limit : 0;
}

void report_print(struct af_buf *b)
{
	fwrite(b->data, 1, b->len, stdout);
	af_buf_free(b);
}

void report_table(struct report *r, struct af_buf *b, const struct af_table *t)
{
	if (b->len)
		af_buf_char(b, '\n');
	af_table_text(b, t, report_limit(r, REPORT_ROWS), af_colour(stdout), AF_SHOW_ALL);
}

/* All tables of the results for programs. */
int report_json(struct report *r)
{
	const struct af_document document = {.report = r->kind->name};
	struct af_buf b = {0};

	af_tables_json(&b, &document, &r->results.tables, report_limit(r, REPORT_ROWS));
	report_print(&b);
	return 0;
}

static int report_summary(struct report *r, struct af_err *err)
{
	struct af_buf b = {0};

	(void)err;
	if (r->options->json)
		return report_json(r);
	af_summary_text(&b, &r->results.tables, af_colour(stdout), report_limit(r, REPORT_ROWS),
	                AF_SHOW_ALL);
	report_print(&b);
	return 0;
}

static int report_findings(struct report *r, struct af_err *err)
{
	const struct af_document document = {.report = r->kind->name};
	struct af_buf b = {0};

	(void)err;
	af_summary_findings(&b, &r->results.tables, report_limit(r, AF_FINDING_SHOWN),
	                    r->options->json ? &document : NULL);
	report_print(&b);
	return 0;
}

/* How much of what was used was sampled: by process, or on request by thread. */
static int report_coverage(struct report *r, struct af_err *err)
{
	const char *first = r->options->by ? "coverage_threads" : "coverage";
	struct af_buf b = {0};

	(void)err;
	if (r->options->json)
		return report_json(r);
	for (const struct af_table *t = r->results.tables.first; t; t = t->next)
		if (!strcmp(t->name, first) || !strcmp(t->name, "coverage_devices"))
			report_table(r, &b, t);
	report_print(&b);
	return 0;
}

/* For two traces, which it reads itself. */
static int report_diff(const struct report_options *o, int nr_words, char **words,
                       struct af_err *err)
{
	const struct af_diff_options diff = {
	    .output.file = "-",
	    .view = o->view,
	    .weight = o->weight,
	    .by = !o->sort || !strcmp(o->sort, "self") ? "self" : "inclusive",
	    .json = o->json,
	    .rank = o->rank,
	    .limit = o->limit == UINT64_MAX ? AF_DIFF_LIMIT : o->limit,
	};

	if (o->focus.nr || o->hide.nr || o->search.nr || o->by || o->depth)
		return af_fail_plain(
		    err, -EINVAL, "--focus, --hide, --search, --by and --depth are not for diff");
	return af_diff_run(&diff, nr_words, words, err);
}

const struct report_kind report_kinds[] = {
    {.name = "summary",
     .what = "the run, its processes and threads, where time went, losses, cost",
     .answers = AF_ANSWER_TABLES | AF_ANSWER_STEADY,
     .print = report_summary},
    {.name = "findings",
     .what = "what stands out, by the time it concerns, and how to check it",
     .answers = AF_ANSWER_TABLES | AF_ANSWER_STEADY,
     .print = report_findings},
    {.name = "coverage",
     .what =
         "CPU time used beside CPU time sampled, by process and thread, and why some is missing",
     .answers = AF_ANSWER_COVERAGE,
     .print = report_coverage},
    {.name = "ranks",
     .what = "the ranks of a set: which is odd, by which call path, and who behaves alike",
     .print = report_ranks},
    {.name = "top",
     .what = "the heaviest functions, and kernels",
     .is_of_tree = true,
     .standard_view = AF_VIEW_CPU,
     .print = report_top},
    {.name = "flat",
     .what = "functions by the share of samples in them, with their lines; --lines: the lines",
     .is_of_tree = true,
     .standard_view = AF_VIEW_CPU,
     .print = report_flat},
    {.name = "tree",
     .what = "the flame graph: every stack with its weight",
     .is_of_tree = true,
     .standard_view = AF_VIEW_ALL,
     .print = report_tree},
    {.name = "callers",
     .what = "who calls FUNCTION, with what weight, and who calls them",
     .takes_words = true,
     .needs_word = true,
     .is_of_tree = true,
     .standard_view = AF_VIEW_ALL,
     .print = report_callers},
    {.name = "callees",
     .what = "what FUNCTION calls, with what weight, and what they call",
     .takes_words = true,
     .needs_word = true,
     .is_of_tree = true,
     .standard_view = AF_VIEW_ALL,
     .print = report_callees},
    {.name = "gaps",
     .what = "what holds devices back, and the longest times that they had nothing to do",
     .answers = AF_ANSWER_GAPS,
     .print = report_gaps},
    {.name = "stalls",
     .what = "what instructions of kernels waited for, and what that means",
     .answers = AF_ANSWER_STALLS,
     .print = report_stalls},
    {.name = "counters",
     .what = "what counters of devices and of the host showed: mean, least, most, total",
     .answers = AF_ANSWER_COUNTERS,
     .print = report_counters},
    {.name = "kernel-counters",
     .what = "the same while each kernel ran: measured by launch, or apportioned by time",
     .answers = AF_ANSWER_KERNEL_COUNTERS,
     .print = report_counters},
    {.name = "energy",
     .what = "how many joules each kernel and function took, by who launched it, and what was idle",
     .answers = AF_ANSWER_ENERGY,
     .print = report_energy},
    {.name = "annotate",
     .what = "a kernel's source and instructions, of KERNEL or of the one that took most time",
     .takes_words = true,
     .print = report_annotate},
    {.name = "clocks",
     .what = "a set: how far apart the clocks of its hosts are, and how exactly that is known",
     .print = report_clocks},
    {.name = "diff", .what = "what changed from one trace to another, as `aflame diff` shows it"},
    {.name = NULL},
};

/* One table of the summary, by the name that it has in JSON. */
static const struct report_kind table_kind = {
    .name = "summary", .answers = AF_ANSWER_TABLES, .print = report_one_table};

static const struct report_kind *report_kind(const char *word)
{
	for (const struct report_kind *k = report_kinds; k->name; k++)
		if (!strcmp(word, k->name))
			return k;
	return NULL;
}

static int report_list(void)
{
	for (const struct report_kind *k = report_kinds; k->name; k++)
		printf("%-16s%s\n", k->name, k->what);
	puts("TABLE           one table of the summary by its name in JSON: threads, processes, "
	     "lost, …");
	return 0;
}

int report_view(const struct report *r)
{
	for (int v = 0; r->options->view && v < AF_VIEWS; v++)
		if (!strcmp(r->options->view, af_view_names[v]))
			return v;
	if (r->gpu_instead)
		return AF_VIEW_GPU;
	if (af_query_weight(r->weight) == 1u << AF_WEIGHT_ENERGY)
		return AF_VIEW_ALL;
	enum af_location_what by = af_by_track_what(r->options->by);
	return by == AF_LOCATION_DEVICE || by == AF_LOCATION_QUEUE ? AF_VIEW_GPU
	                                                           : r->kind->standard_view;
}

static bool is_directory(const char *word)
{
	struct stat st;

	return !stat(word, &st) && S_ISDIR(st.st_mode);
}

static int report_words(struct report *r, int nr_words, char **words, struct af_err *err)
{
	r->kind = nr_words ? report_kind(words[0]) : NULL;
	if (!r->kind && nr_words == 2 && is_directory(words[0]) && !is_directory(words[1]))
		return af_fail_plain(err, -EINVAL, "the report comes first: aflame report %s %s",
		                     words[1], words[0]);
	if (!r->kind && nr_words &&
	    (nr_words > 1 || report_names_table(words[0], af_trace_dir(0, NULL)))) {
		r->kind = &table_kind;
		r->table = words[0];
	}
	if (r->kind) {
		words++;
		nr_words--;
	} else {
		r->kind = &report_kinds[0];
	}
	if (r->kind->takes_words && nr_words &&
	    (r->kind->needs_word || nr_words > 1 || !is_directory(words[0]))) {
		r->function = words[0];
		words++;
		nr_words--;
	}
	if (r->kind->needs_word && !r->function)
		return af_fail_plain(err, -EINVAL,
		                     "%s needs a function: aflame report %s FUNCTION [DIR]; "
		                     "FUNCTION is a name, a pattern, or an id of --json",
		                     r->kind->name, r->kind->name);
	if (nr_words > 1)
		return report_too_many(r, words[1], err);
	r->dir = af_trace_dir(nr_words, words);
	return 0;
}

static struct af_query report_query(const struct report *r)
{
	struct af_query query = {
	    .answers = r->kind->answers,
	    .from_ns = r->options->from_ns,
	    .to_ns = r->options->to_ns,
	    .depth = af_query_depth(r->options->depth, AF_DEPTH_BEST),
	    .group = r->options->by ? AF_GROUP_TRACK : AF_GROUP_NONE,
	    .locations = r->options->by,
	    .counters = r->options->counters,
	};

	af_by_query(r->members_by, &query, NULL);
	if (r->table && !strncmp(r->table, "steady_", strlen("steady_")))
		query.answers |= AF_ANSWER_STEADY;
	if (report_is_plain_top(r)) {
		query.answers = AF_ANSWER_TOP | 1 << AF_VIEW_CPU;
		query.weights = af_query_weight(NULL);
	} else if (r->kind->is_of_tree) {
		query.answers = 1u << report_view(r) | AF_ANSWER_COVERAGE;
		query.weights = af_query_weight(r->weight);
	}
	if (r->kind->print == report_flat)
		af_flat_query(&query, r->options->by);
	return query;
}

/*
 * Functions and kernels by time, where there are any; else what is sampled of functions by another
 * weight, or of devices where that is all. *@found: these tables are it.
 */
static int report_load_top(struct report *r, bool *found, struct af_err *err)
{
	struct af_query query = report_query(r);
	int rc = af_load(r->dir, &query, &r->results, err);

	*found = rc;
	for (const struct af_table *t = r->results.tables.first; t; t = t->next)
		*found |= report_is_of_top(t);
	if (*found)
		return rc;
	r->gpu_instead = !r->results.has[AF_VIEW_CPU] && r->results.has[AF_VIEW_GPU];
	af_results_close(&r->results);
	return 0;
}

/* A report of one view of the trace has one weight. */
static int report_load(struct report *r, struct af_err *err)
{
	struct af_query query = report_query(r);
	bool plain = report_is_plain_top(r), found = false;

	if (!r->kind->is_of_tree)
		return af_load(r->dir, &query, &r->results, err);
	int rc = plain ? report_load_top(r, &found, err) : 0;
	if (found)
		return rc;
	query.answers = 1u << report_view(r) | AF_ANSWER_COVERAGE;
	rc = af_load_view("report", r->dir, &query, report_view(r), &r->weight, &r->results, err);
	if (plain && !r->weight)
		r->weight = af_weight_name(AF_WEIGHT_TIME);
	return rc;
}

static int report_run(void *state, int nr_words, char **words, struct af_err *err)
{
	struct report_options options = *(const struct report_options *)state;
	struct report r = {.options = &options};

	r.weight = r.options->weight;
	if (r.options->list && !nr_words)
		return report_list();
	if (r.options->plugins.nr)
		return report_plugins(r.options, nr_words, words, err);
	if (nr_words && !strcmp(words[0], "diff") && (r.options->from_ns || r.options->to_ns))
		return af_fail_plain(err, -EINVAL,
		                     "a difference is of whole runs, without --from "
		                     "and --to");
	if (nr_words && !strcmp(words[0], "diff"))
		return report_diff(state, nr_words - 1, words + 1, err);
	int rc = report_words(&r, nr_words, words, err);
	if (!rc)
		rc = report_check(&r, err);
	if (rc)
		return rc;
	if (r.kind->print == report_clocks || r.kind->print == report_ranks)
		return r.kind->print(&r, err);
	rc = af_ranks_or_set(&r.dir, r.options->rank, &r.is_set, err);
	if (rc)
		return rc;
	if (!r.is_set && af_together_idle(r.dir))
		return 0;
	rc = report_check_by(&r, &options, err);
	if (rc)
		return rc;
	if (r.kind->print == report_annotate)
		return report_annotate(&r, err);
	if (r.members_by && !r.table &&
	    (r.kind->print == report_findings || r.kind->print == report_coverage))
		return report_parts(&r, err);
	rc = report_load(&r, err);
	if (rc && r.table)
		rc = report_no_trace(&r, rc, err);
	if (!rc)
		rc = r.kind->print(&r, err);
	if (!rc)
		af_load_sampled("report", &r.results);
	af_tree_close(&r.filtered);
	af_results_close(&r.results);
	return rc;
}

static const struct af_option report_options[] = {
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: one document of tables (docs/report.md)",
     offsetof(struct report_options, json)},
    {AF_OPT_U64, "limit", 'n', "N",
     "rows of a table, 0 for all (20; findings 8); frames of a tree (those of half a percent)",
     offsetof(struct report_options, limit)},
    AF_RANK_OPTION(struct report_options),
    AF_SOURCES_OPTION(struct report_options, 0),
    {AF_OPT_FLAG, "list", 0, NULL, "list all reports", offsetof(struct report_options, list)},
    {AF_OPT_TIME, "from", 0, "TIME",
     "only events from this time on, counted from the start of the trace",
     offsetof(struct report_options, from_ns)},
    {AF_OPT_TIME, "to", 0, "TIME", "only events until this time; longer ones are cut",
     offsetof(struct report_options, to_ns)},
    REPORT_HEAT_OPTION,
    {AF_OPT_STRING, "counters", 0, "LIST",
     "counters, kernel-counters: those with such names, separated by commas; of kernels as columns",
     offsetof(struct report_options, counters)},
    {AF_OPT_GROUP, .help = "For top, tree, callers and callees"},
    {AF_OPT_CHOICE, "view", 0, "VIEW",
     "cpu, gpu, all, wakers or idle (top: cpu, but of energy all; else all)",
     offsetof(struct report_options, view), "cpu|gpu|all|wakers|idle"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT",
     "time, samples, count, bytes, off-cpu, alloc, live, allocs or energy (time)",
     offsetof(struct report_options, weight), AF_WEIGHT_WORDS},
    {AF_OPT_CHOICE, "sort", 0, "BY",
     "top: by the functions' own weight (self) or with their callees (total) (self)",
     offsetof(struct report_options, sort), "self|total"},
    {AF_OPT_STRING, "by", 0, "WHOSE",
     "top: group by process, rank, thread, device or stream instead of by function; of a folder "
     "of ranks all reports: rows for each host, rank, device, process, run or group:KEY",
     offsetof(struct report_options, by), "process|rank|thread|device|stream|host"},
    {AF_OPT_FLAG, "lines", 0, NULL, "flat: lines of the source instead of functions",
     offsetof(struct report_options, lines)},
    {AF_OPT_CHOICE, "depth", 0, "DEPTH",
     "how deep to go into sampled kernels (default: lines, or instructions where no line is known)",
     offsetof(struct report_options, depth), "kernel|line|insn|stall"},
    {AF_OPT_LIST, "focus", 0, "REGEX", "begin stacks at functions that match; may be given again",
     offsetof(struct report_options, focus)},
    {AF_OPT_LIST, "hide", 0, "REGEX",
     "leave these functions out; their weight goes to their callers",
     offsetof(struct report_options, hide)},
    {AF_OPT_LIST, "search", 0, "REGEX",
     "only stacks with a function that matches; each counts once",
     offsetof(struct report_options, search)},
    REPORT_PLUGIN_OPTIONS,
    {AF_OPT_END},
};

const struct af_command af_command_report = {
    .name = "report",
    .usage = "[summary|findings|coverage|ranks|top|flat|tree|callers|callees|gaps|stalls|counters|"
	     "kernel-counters|energy|annotate|diff|TABLE] "
	     "[OPTIONS] [FUNCTION] [DIR]",
    .summary = "Print a trace as tables or as a tree",
    .details =
	"summary: the run, its processes and threads, where CPU and device time went, where\n"
	"threads waited, what was lost, what it cost.\n"
	"findings: the main findings, ranked by time, and how to check each.\n"
	"coverage: CPU time that processes and threads used, beside the time that was sampled.\n"
	"ranks: of a set of traces, one a rank: who is odd and why, who behaves alike.\n"
	"top: the heaviest functions and kernels. flat: samples, dropped ones, the rate, and each\n"
	"function's share, or each line's. tree: the flame graph as indented text.\n"
	"callers, callees: of FUNCTION, a name, a pattern (extended regular expression, in\n"
	"capitals or not) or an id of --json. A stack counts once, however often it is in there.\n"
	"gaps: why devices were idle, and their longest idle times.\n"
	"stalls: why instructions of kernels stalled, and what that means. annotate: a kernel,\n"
	"as `aflame annotate` shows it. Both take --gpu-samples.\n"
	"energy: joules by kernel and caller, or function. counters: of devices and of the host.\n"
	"kernel-counters: while each kernel ran, measured\n"
	"over single launches, or apportioned: the device's mean over the kernel's times.\n"
	"diff: BEFORE and AFTER, two traces or folded files; `aflame diff` has more options.\n"
	"TABLE: one table of the summary by its name in JSON: threads, processes, lost, …\n"
	"DIR may be a folder of ranks: the results are then those of all of them, with the least,\n"
	"the median and the most of a rank beside each sum, and the ranks that are missing.\n"
	"--plugin ./x.so ARGS… DIR: what a plug-in makes of the trace (docs/plugins.md).\n"
	"A last line counts and weighs what a table leaves out; in JSON, `truncated` does.",
    .examples =
	"aflame report top --json --limit 50\tfor a script or an agent\n"
	"aflame report top -w off-cpu\tthe functions that waited\n"
	"aflame report flat --lines\tthe lines of the source that took the time\n"
	"aflame report top --by rank --view gpu\tdevice time of each MPI rank\n"
	"aflame report callers cudaLaunchKernel\twho launches kernels, and with what weight\n"
	"aflame report tree --view gpu --search gemm -n 0\tall stacks with such a kernel\n"
	"aflame report ranks run1\twhich rank the others wait for, and what it does\n"
	"aflame report gaps\twhy the device was idle\n"
	"aflame report --plugin ./x.so -o x.svg\tthe tree that a plug-in makes, as a flame graph",
    .options = report_options,
    .state_size = sizeof(struct report_options),
    .defaults = &report_defaults,
    .run = report_run,
};
