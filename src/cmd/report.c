#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/commands.h"
#include "cmd/nearest.h"
#include "cmd/picture.h"
#include "cmd/study.h"
#include "cmd/summary.h"
#include "render/tables.h"

struct report_options {
	bool json;
	uint64_t limit;
	const char *view, *weight;
};

static const struct report_options report_defaults = {.limit = 20};

static const char *const report_kinds[] = {"summary", "top", "tree", NULL};

static const char *report_kind(const char *word)
{
	for (int i = 0; report_kinds[i]; i++)
		if (!strcmp(word, report_kinds[i]))
			return report_kinds[i];
	return NULL;
}

static void print_buf(struct af_buf *b)
{
	fwrite(b->data, 1, b->len, stdout);
	af_buf_free(b);
}

static int report_summary(const struct report_options *o, const struct af_results *r)
{
	struct af_buf b = {0};

	if (o->json)
		af_facts_json(&b, &r->facts, (uint32_t)o->limit);
	else
		af_summary_text(&b, &r->facts, af_colour(stdout), (uint32_t)o->limit);
	print_buf(&b);
	return 0;
}

static int report_top(const struct report_options *o, const struct af_results *r)
{
	struct af_buf b = {0};

	for (const struct af_table *t = r->facts.first; t; t = t->next) {
		if (strcmp(t->name, "cpu_top") && strcmp(t->name, "kernels"))
			continue;
		if (o->json) {
			af_table_json(&b, t, (uint32_t)o->limit);
			af_buf_char(&b, '\n');
		} else {
			af_table_text(&b, t, (uint32_t)o->limit, af_colour(stdout));
		}
	}
	if (!b.len)
		af_buf_str(&b, "");
	print_buf(&b);
	return 0;
}

static int report_tree(const struct report_options *o, const struct af_results *r,
                       struct af_err *err)
{
	struct af_picture picture = {.weight = o->weight};
	struct af_picture_job job = {
	    .format = af_format_for("text"), .file = "-", .picture = &picture, .results = NULL};

	job.tree = &r->trees[AF_VIEW_ALL];
	for (int v = 0; o->view && v < AF_VIEWS; v++)
		if (!strcmp(o->view, af_view_names[v]))
			job.tree = &r->trees[v];
	return af_picture_write(&job, err);
}

static int report_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct report_options *o = state;
	const char *kind = nr_words ? report_kind(words[0]) : "summary";
	struct af_results r;

	if (!kind && nr_words > 1)
		return af_fail_plain(err, -EINVAL, "no report %s: there is summary, top, tree",
		                     words[0]);
	if (nr_words && kind) {
		words++;
		nr_words--;
	}
	if (!kind)
		kind = "summary";
	if (nr_words > 1)
		return af_fail_plain(err, -EINVAL, "one trace, not %s too", words[1]);
	if (o->json && !strcmp(kind, "tree"))
		return af_fail_plain(
		    err, -EINVAL,
		    "the tree is for people: `aflame flame` gives it to programs, as "
		    "folded text");
	int rc = af_study(af_trace_dir(nr_words, words), &r, err);
	if (!rc && !strcmp(kind, "top"))
		rc = report_top(o, &r);
	else if (!rc && !strcmp(kind, "tree"))
		rc = report_tree(o, &r, err);
	else if (!rc)
		rc = report_summary(o, &r);
	af_results_close(&r);
	return rc;
}

static const struct af_option report_options[] = {
    {AF_OPT_FLAG, "json", 0, NULL, "for programs: the tables as JSON",
     offsetof(struct report_options, json)},
    {AF_OPT_U64, "limit", 'n', "N", "rows of a table, 0 for all (20)",
     offsetof(struct report_options, limit)},
    {AF_OPT_CHOICE, "view", 0, "VIEW", "of the tree: cpu, gpu, or all",
     offsetof(struct report_options, view), "cpu|gpu|all"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT", "of the tree: time, samples, count or bytes (time)",
     offsetof(struct report_options, weight)},
    {AF_OPT_END},
};

const struct af_command af_command_report = {
    .name = "report",
    .usage = "[summary|top|tree] [OPTIONS] [DIR]",
    .summary = "Print what a trace tells, as tables or a tree",
    .details = "summary: the run, where CPU and device time went, what was lost, what it cost.\n"
	       "top: the heaviest functions and kernels. tree: the flame graph as indented text.",
    .examples = "aflame report top --json --limit 50\tfor a script or an agent",
    .options = report_options,
    .state_size = sizeof(struct report_options),
    .defaults = &report_defaults,
    .run = report_run,
};
