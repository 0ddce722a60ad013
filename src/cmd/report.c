#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/top.h"
#include "base/err.h"
#include "cmd/annotate.h"
#include "cmd/commands.h"
#include "cmd/nearest.h"
#include "cmd/picture.h"
#include "cmd/study.h"
#include "cmd/summary.h"
#include "render/annotate.h"
#include "render/tables.h"

struct report_options {
	bool json;
	uint64_t limit;
	const char *view, *weight;
};

static const struct report_options report_defaults = {.limit = 20};

static const char *const report_kinds[] = {"summary", "top",      "tree", "gaps",
                                           "stalls",  "annotate", NULL};

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

static int report_view(const struct report_options *o, int standard)
{
	for (int v = 0; o->view && v < AF_VIEWS; v++)
		if (!strcmp(o->view, af_view_names[v]))
			return v;
	return standard;
}

static void report_table(struct af_buf *b, const struct report_options *o, const struct af_table *t)
{
	if (o->json) {
		af_table_json(b, t, (uint32_t)o->limit);
		af_buf_char(b, '\n');
	} else {
		af_table_text(b, t, (uint32_t)o->limit, af_colour(stdout));
	}
}

/* The functions of one view by one weight. */
static int report_top_of(const struct report_options *o, const struct af_results *r,
                         struct af_err *err)
{
	struct af_picture picture = {.weight = o->weight};
	int v = report_view(o, AF_VIEW_CPU);
	const struct af_tree *t = &r->trees[v];
	struct af_facts facts = {0};
	struct af_buf b = {0};
	int weight = af_picture_weight(&picture, t, err);

	if (weight < 0)
		return weight;
	const char *name = t->weights[weight].name;
	if (!t->total[weight][0])
		return af_fail_plain(err, -ENODATA, "the trace has no %s in the view %s", name,
		                     af_view_names[v]);
	af_top_table(&facts, t, (uint32_t)weight, af_facts_text(&facts, "%s_top", name),
	             af_facts_text(&facts, "Functions by %s", name), 0);
	report_table(&b, o, facts.first);
	print_buf(&b);
	af_facts_free(&facts);
	return 0;
}

static int report_top(const struct report_options *o, const struct af_results *r,
                      struct af_err *err)
{
	struct af_buf b = {0};

	if (o->view || o->weight)
		return report_top_of(o, r, err);
	for (const struct af_table *t = r->facts.first; t; t = t->next)
		if (!strcmp(t->name, "cpu_top") || !strcmp(t->name, "kernels"))
			report_table(&b, o, t);
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
	    .format = af_format_for("text"),
	    .file = "-",
	    .picture = &picture,
	    .tree = &r->trees[report_view(o, AF_VIEW_ALL)],
	};

	return af_picture_write(&job, err);
}

/* Why devices were idle: the verdict, its figures, and the longest gaps. */
static int report_gaps(const struct report_options *o, const struct af_results *r, const char *dir,
                       struct af_err *err)
{
	static const char *const names[] = {"verdict", "idle", "gaps"};
	struct af_buf b = {0};

	if (!r->has[AF_VIEW_IDLE])
		return af_fail_plain(err, -ENODATA,
		                     "the trace %s has no work of a device with its times", dir);
	if (o->json) {
		af_facts_json(&b, &r->facts, (uint32_t)o->limit);
		print_buf(&b);
		return 0;
	}
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		for (const struct af_table *t = r->facts.first; t; t = t->next) {
			if (strcmp(t->name, names[i]) || !t->nr_rows)
				continue;
			if (b.len)
				af_buf_char(&b, '\n');
			report_table(&b, o, t);
		}
	print_buf(&b);
	return 0;
}

/* Why instructions of kernels stalled, and what the reasons mean. */
static int report_stalls(const struct report_options *o, const struct af_results *r,
                         const char *dir, struct af_err *err)
{
	const struct af_annotate_look look = {
	    .width = af_annotate_width(),
	    .colour = af_colour(stdout),
	};
	const struct af_table *stalls = NULL, *reasons = NULL;
	struct af_buf b = {0};

	for (const struct af_table *t = r->facts.first; t; t = t->next) {
		stalls = !strcmp(t->name, "stalls") ? t : stalls;
		reasons = !strcmp(t->name, "reasons") ? t : reasons;
	}
	if (!stalls)
		return af_annotate_none(dir, err);
	if (o->json) {
		af_facts_json(&b, &r->facts, (uint32_t)o->limit);
	} else {
		report_table(&b, o, stalls);
		af_buf_char(&b, '\n');
		if (reasons)
			af_annotate_legend(&b, reasons, &look);
	}
	print_buf(&b);
	return 0;
}

/* The kernel that took most time; `aflame annotate` shows the others. */
static int report_annotate(const struct report_options *o, const char *dir, struct af_err *err)
{
	const struct af_annotate_shown shown = {.json = o->json, .limit = o->limit};

	return af_annotate_show(dir, &shown, err);
}

static struct af_asked report_asked(const struct report_options *o, const char *kind)
{
	bool top = !strcmp(kind, "top");

	if (!strcmp(kind, "summary"))
		return AF_ASKED_TABLES;
	if (!strcmp(kind, "gaps"))
		return (struct af_asked){.answers = AF_ANSWER_GAPS};
	if (!strcmp(kind, "stalls"))
		return (struct af_asked){.answers = AF_ANSWER_STALLS};
	if (top && !o->view && !o->weight)
		return (struct af_asked){AF_ANSWER_TOP, 0};
	return (struct af_asked){
	    .answers = 1u << report_view(o, top ? AF_VIEW_CPU : AF_VIEW_ALL),
	    .weights = af_asked_weight(o->weight),
	};
}

static int report_run(void *state, int nr_words, char **words, struct af_err *err)
{
	const struct report_options *o = state;
	const char *kind = nr_words ? report_kind(words[0]) : "summary";
	struct af_results r;

	if (!kind && nr_words > 1)
		return af_fail_plain(err, -EINVAL,
		                     "no report %s: there is summary, top, tree, gaps, "
		                     "stalls, annotate",
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
	if (!strcmp(kind, "annotate"))
		return report_annotate(o, af_trace_dir(nr_words, words), err);
	struct af_asked asked = report_asked(o, kind);
	int rc = af_study(af_trace_dir(nr_words, words), &asked, &r, err);
	if (!rc && !strcmp(kind, "top"))
		rc = report_top(o, &r, err);
	else if (!rc && !strcmp(kind, "tree"))
		rc = report_tree(o, &r, err);
	else if (!rc && !strcmp(kind, "gaps"))
		rc = report_gaps(o, &r, af_trace_dir(nr_words, words), err);
	else if (!rc && !strcmp(kind, "stalls"))
		rc = report_stalls(o, &r, af_trace_dir(nr_words, words), err);
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
    {AF_OPT_CHOICE, "view", 0, "VIEW", "of top and tree: cpu, gpu, all, wakers or idle",
     offsetof(struct report_options, view), "cpu|gpu|all|wakers|idle"},
    {AF_OPT_STRING, "weight", 'w', "WEIGHT",
     "of top and tree: time, samples, count, bytes or off-cpu (time)",
     offsetof(struct report_options, weight), AF_WEIGHT_WORDS},
    {AF_OPT_END},
};

const struct af_command af_command_report = {
    .name = "report",
    .usage = "[summary|top|tree|gaps|stalls|annotate] [OPTIONS] [DIR]",
    .summary = "Print what a trace tells, as tables or a tree",
    .details =
	"summary: the run, its processes and threads, where CPU and device time went, where\n"
	"threads waited, what was lost, what it cost.\n"
	"top: the heaviest functions and kernels. tree: the flame graph as indented text.\n"
	"gaps: what holds devices back, and the longest times that they had nothing to do.\n"
	"stalls: what instructions of kernels waited for, and what that means. annotate: the "
	"kernel\n"
	"that took most time, as `aflame annotate` shows any of them. Both take --gpu-samples.",
    .examples = "aflame report top --json --limit 50\tfor a script or an agent\n"
		"aflame report top -w off-cpu\tthe functions that waited\n"
		"aflame report gaps\twhy the device was idle",
    .options = report_options,
    .state_size = sizeof(struct report_options),
    .defaults = &report_defaults,
    .run = report_run,
};
