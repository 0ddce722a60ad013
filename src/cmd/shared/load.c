#include "cmd/shared/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyse/findings/findings.h"
#include "analyse/functions/top.h"
#include "analyse/passes/rows.h"
#include "analyse/ranks/activity.h"
#include "base/err.h"
#include "base/system/threads.h"
#include "cmd/output/picture.h"
#include "cmd/output/picture_ahead.h"
#include "cmd/output/progress.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/set.h"

/* Samples of an event that is no clock have no time to go anywhere. */
static void load_counted(struct af_results *r)
{
	const struct af_tree *t = &r->trees[AF_VIEW_CPU];

	if (r->has[AF_VIEW_CPU] & AF_HAS_COUNTED)
		af_top_table(
		    &r->tables, t, AF_WEIGHT_COUNT, AF_COUNT_TOP,
		    af_tables_text(&r->tables, "Functions by %s", t->weights[AF_WEIGHT_COUNT].unit),
		    1000);
}

const char *af_load_warning(struct af_results *r, int view, const char *weight)
{
	bool sampled = !weight || !strcmp(weight, af_weight_name(AF_WEIGHT_TIME)) ||
	               !strcmp(weight, af_weight_name(AF_WEIGHT_SAMPLES));
	bool cpu = sampled && (view == AF_VIEW_CPU || view == AF_VIEW_ALL);
	bool devices = view == AF_VIEW_GPU || view == AF_VIEW_ALL || view == AF_VIEW_IDLE;

	return af_coverage_warning(&r->coverage, cpu, devices, &r->tables);
}

const char *af_load_hint(int view)
{
	switch (view) {
	case AF_VIEW_CPU:
	case AF_VIEW_ALL:
		return ": no CPU time was sampled. A program that is soon over needs a higher rate "
		       "(-F 999), one that waits --off-cpu, and --sample none samples nothing";
	case AF_VIEW_GPU:
		return ": no work of a device was recorded. `aflame doctor` shows what can be";
	case AF_VIEW_WAKERS:
		return ": record it with --off-cpu=wakers";
	default:
		return ": no work of a device with its times";
	}
}

/* Tables of shares say themselves what keeps these from being right. */
static void load_warnings(struct af_results *r)
{
	static const struct {
		const char *table;
		int view;
	} of[] = {{"cpu_top", AF_VIEW_CPU}, {"devices", AF_VIEW_GPU}, {"kernels", AF_VIEW_GPU}};

	for (struct af_table *t = r->tables.first; t; t = t->next)
		for (size_t i = 0; i < sizeof of / sizeof *of; i++)
			if (!strcmp(t->name, of[i].table))
				t->warning = af_load_warning(r, of[i].view, NULL);
}

static int load(const char *dir, const struct af_query *query, struct af_results *r,
                struct af_progress *progress, struct af_err *err);

static const struct af_pass_ops *const load_passes[] = {&af_pass_flame,
                                                        &af_pass_wakers,
                                                        &af_pass_devices,
                                                        &af_pass_calls,
                                                        &af_pass_memory,
                                                        &af_pass_idle,
                                                        &af_pass_run,
                                                        &af_pass_phases,
                                                        &af_pass_coverage,
                                                        &af_pass_who,
                                                        &af_pass_blocked,
                                                        &af_pass_sampled,
                                                        &af_pass_annotated,
                                                        &af_pass_python_files,
                                                        &af_pass_tally,
                                                        &af_pass_mpi,
                                                        &af_pass_usage,
                                                        &af_pass_counters,
                                                        &af_pass_kernel_counters,
                                                        &af_pass_energy,
                                                        &af_pass_limits,
                                                        &af_pass_activity,
                                                        NULL};

/* The option of record, without --, that a trace with @weight needs; NULL: none. */
static const char *weight_option(const char *weight, int view)
{
	if (!strcmp(weight, af_weight_name(AF_WEIGHT_ENERGY)))
		return view == AF_VIEW_CPU   ? "telemetry rapl, as root"
		       : view == AF_VIEW_GPU ? "telemetry nvml, or gpu"
		                             : "telemetry nvml, gpu, or rapl";
	return !strcmp(weight, "off-cpu") || !strcmp(weight, "alloc") ? weight : NULL;
}

int af_load_has(const char *dir, const struct af_results *r, int view, const char *weight,
                struct af_err *err)
{
	const struct af_query *q = &r->query;
	const char *name = af_view_names[view];
	int column = weight ? af_tree_weight(&r->trees[view], weight) : -1;

	if (!r->has[view] && q->range)
		return af_fail_plain(err, -ENODATA,
		                     "the trace %s has no data for --view %s inside a range \"%s\"",
		                     dir, name, q->range);
	if (!r->has[view] && (q->from_ns || q->to_ns))
		return af_fail_plain(err, -ENODATA,
		                     "the trace %s has no data for --view %s in that time", dir,
		                     name);
	if (!r->has[view])
		return af_fail_plain(err, -ENODATA, "the trace %s has no data for --view %s%s", dir,
		                     name, af_load_hint(view));
	if (column < 0 || r->has[view] & 1u << column)
		return 0;
	/* Asked for, no stacks is an answer; but these may not have been recorded. */
	const char *option = weight_option(weight, view);
	if (!option)
		return 0;
	return af_fail_plain(err, -ENODATA,
	                     "the trace %s has no weight %s in --view %s: record it with --%s", dir,
	                     weight, name, option);
}

/* It takes a pass of its own, so it is not among all weights: only who asks for it has it. */
static bool is_energy(uint32_t weights)
{
	return weights == 1u << AF_WEIGHT_ENERGY;
}

void af_load_ask(struct af_query *query, const char *weight)
{
	if (is_energy(af_query_weight(weight)))
		query->answers |= AF_ANSWER_ENERGY;
}

/* @query with the trees that findings and tables of functions are read from. */
static struct af_query load_query(const struct af_query *query)
{
	struct af_query all = *query;

	if (is_energy(query->weights))
		all.answers |= AF_ANSWER_ENERGY;
	if (!(query->answers & (AF_ANSWER_TABLES | AF_ANSWER_TOP)))
		return all;
	all.answers |= 1 << AF_VIEW_CPU;
	if (query->answers & AF_ANSWER_TABLES)
		all.answers |= 1 << AF_VIEW_IDLE;
	all.weights |= 1 << AF_WEIGHT_TIME | 1 << AF_WEIGHT_COUNT;
	return all;
}

/* Tables and findings that are made of the results of all passes. */
static void load_tables(struct af_results *r, uint32_t answers)
{
	af_load_top(r, answers, answers & AF_ANSWER_TABLES ? AF_LOAD_TOP_ROWS : 0);
	af_load_finish(r, answers);
}

const struct af_phase_row *af_load_steady(const struct af_results *r)
{
	const struct af_table *t = af_tables_find(&r->tables, "phases");

	for (uint32_t i = 0; t && i < t->nr_rows; i++) {
		const struct af_phase_row *row = AF_ROW_AT(struct af_phase_row, t, i);
		if (row && !strcmp(row->phase.text, AF_PHASE_STEADY))
			return row;
	}
	return NULL;
}

/* Links of findings about the steady part, in @t, lead to views of that part alone. */
static void link_steady(struct af_tables *f, struct af_table *t, const struct af_phase_row *steady)
{
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		struct af_finding_row *row = (void *)(t->cells + (size_t)i * t->nr_columns);
		if (!row->hash.text || !*row->hash.text || strstr(row->hash.text, "&from="))
			continue;
		row->hash.text = af_tables_text(f, "%s&from=%llu&to=%llu", row->hash.text,
		                                (unsigned long long)steady->from_ns.value,
		                                (unsigned long long)steady->to_ns.value);
	}
}

static struct af_query steady_query(const struct af_query *whole, const struct af_phase_row *steady)
{
	struct af_query query = AF_QUERY_TABLES;

	query.trace = whole->trace;
	query.from_ns = steady->from_ns.value;
	query.to_ns = steady->to_ns.value;
	query.threads = whole->threads;
	return query;
}

/* The results of the steady part, of the reading @kept of the whole, or of one of its own. */
static int steady_load(const char *dir, const struct af_query *query, struct af_reading *kept,
                       struct af_results *r, struct af_progress *progress, struct af_err *err)
{
	const struct af_query all = load_query(query);

	if (kept && af_reading_part(kept, load_passes, &all, r)) {
		load_tables(r, query->answers);
		return 0;
	}
	if (kept)
		af_results_close(r);
	return load(dir, query, r, progress, err);
}

void af_load_steady_copy(struct af_results *r, const struct af_results *part,
                         const struct af_phase_row *steady)
{
	static const struct {
		const char *of, *name, *title; /* title: NULL for that of the whole */
		bool links;
	} tables[] = {{"verdict", "steady_verdict", NULL, false},
	              {"findings", "steady_findings",
	               "Findings of the steady part: what stands out in it", true}};

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		const struct af_table *t = af_tables_find(&part->tables, tables[i].of);
		if (!t)
			continue;
		const char *title =
		    tables[i].title ? tables[i].title
				    : af_tables_text(&r->tables, "%s in the steady part", t->title);
		struct af_table *copy = af_tables_copy(&r->tables, t, tables[i].name, title);
		if (tables[i].links && steady)
			link_steady(&r->tables, copy, steady);
	}
}

/* Add to @r, of the whole, what its steady part says. */
static int load_steady(const char *dir, const struct af_query *whole, struct af_reading *kept,
                       struct af_results *r, struct af_progress *progress, struct af_err *err)
{
	const struct af_phase_row *steady = af_load_steady(r);
	struct af_results part = {0};

	if (!steady || !(whole->answers & AF_ANSWER_STEADY))
		return 0;
	const struct af_query query = steady_query(whole, steady);
	int rc = steady_load(dir, &query, kept, &part, progress, err);
	if (!rc)
		af_load_steady_copy(r, &part, steady);
	af_results_close(&part);
	return rc;
}

int af_load_passes(const char *dir, const struct af_query *query, struct af_results *r,
                   struct af_progress *progress, struct af_err *err)
{
	const struct af_query all = load_query(query);

	return af_analyse(dir, load_passes, &all, r, progress ? af_progress_tell : NULL, progress,
	                  err);
}

void af_load_top(struct af_results *r, uint32_t answers, uint32_t limit)
{
	if (answers & (AF_ANSWER_TABLES | AF_ANSWER_TOP))
		af_top_table(&r->tables, &r->trees[AF_VIEW_CPU], AF_WEIGHT_TIME, "cpu_top",
		             r->has[AF_VIEW_CPU] & AF_HAS_WALL
		                 ? "Where wall-clock time went, waits included: functions"
		                 : "Where CPU time went: functions",
		             limit);
}

void af_load_finish(struct af_results *r, uint32_t answers)
{
	if (answers & (AF_ANSWER_TABLES | AF_ANSWER_TOP))
		load_warnings(r);
	if (!(answers & AF_ANSWER_TABLES))
		return;
	load_counted(r);
	af_findings(r);
}

static int load(const char *dir, const struct af_query *query, struct af_results *r,
                struct af_progress *progress, struct af_err *err)
{
	const struct af_query whole = load_query(query);
	struct af_reading *kept = NULL;
	const struct af_analyse_how how = {
	    .progress = progress ? af_progress_tell : NULL,
	    .arg = progress,
	    .kept = &kept,
	};

	int rc = af_analyse_how(dir, load_passes, &whole, r, &how, err);
	if (!rc) {
		load_tables(r, query->answers);
		rc = load_steady(dir, &whole, kept, r, progress, err);
	}
	af_reading_close(kept);
	return rc;
}

/* Slices that are read beside the trees, or NULL. */
struct load_ahead {
	struct af_picture_ahead *ahead;
	const struct af_picture_request *request;
};

static int load_prepared(const char *dir, const struct af_query *query,
                         const struct load_ahead *page, struct af_results *r, struct af_err *err)
{
	struct af_progress progress = af_progress_begin("reading the trace");
	struct af_set set;

	*r = (struct af_results){0};
	int rc = af_ranks_set(dir, &set, err);
	if (rc > 0) {
		rc = af_set_load(&set, query, r, err);
		af_set_close(&set);
		return rc;
	}
	rc = rc ? rc : af_trace_prepare(dir, err);
	if (!rc && page)
		af_picture_ahead_begin(page->ahead, page->request->format, page->request->picture,
		                       dir, query);
	if (!rc)
		rc = load(dir, query, r, &progress, err);
	af_progress_end(&progress);
	if (!rc && r->damage[0])
		fprintf(stderr, "aflame: %s is damaged: %s\n", dir, r->damage);
	return rc;
}

int af_load(const char *dir, const struct af_query *query, struct af_results *r, struct af_err *err)
{
	return load_prepared(dir, query, NULL, r, err);
}

int af_load_page(const char *dir, struct af_query *query, const struct af_picture_request *request,
                 struct af_picture_ahead *ahead, struct af_results *r, struct af_err *err)
{
	const struct load_ahead page = {ahead, request};
	uint32_t threads = af_threads_allowed();

	*ahead = (struct af_picture_ahead){0};
	af_load_ask(query, request->picture->weight);
	if (!request->format->ahead || !request->dir || threads < 2)
		return af_load(dir, query, r, err);
	query->threads = threads - 1;
	return load_prepared(dir, query, &page, r, err);
}

int af_load_view(const char *who, const char *dir, struct af_query *query, int view,
                 const char **weight, struct af_results *r, struct af_err *err)
{
	bool trees = view < AF_VIEW_WAKERS; /* the others have weights of their own */

	if (trees)
		query->weights = af_query_weight(*weight);
	int rc = af_load(dir, query, r, err);
	if (rc || *weight || !trees || !r->has[view] || r->has[view] & 1 << AF_WEIGHT_TIME)
		return rc;
	/* Other data is read only for those who ask for it. */
	af_results_close(r);
	query->weights = UINT32_MAX;
	rc = af_load(dir, query, r, err);
	if (rc)
		return rc;
	*weight = af_weight_name(af_weight_default(r->has[view]));
	bool count = !strcmp(*weight, "count") && *r->count_unit;
	fprintf(stderr, "aflame %s: the trace %s has no time in --view %s: this is by %s%s%s\n",
	        who, dir, af_view_names[view], *weight, count ? ", of " : "",
	        count ? r->count_unit : "");
	return 0;
}

int af_load_quietly(const char *dir, const struct af_query *query, struct af_results *r,
                    struct af_err *err)
{
	*r = (struct af_results){0};
	return load(dir, query, r, NULL, err);
}

void af_load_sampled(const char *who, const struct af_results *r)
{
	char text[AF_SAMPLED_TEXT];

	if ((r->sampled.edge || r->sampled.bare_ns) && af_sampled_text(text, &r->sampled))
		fprintf(stderr, "aflame %s: %s\n", who, text);
}
