/* aflame report ranks: the ranks of a job, which of them is odd, and why. */
#include "cmd/ranks/odd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/difference/difference.h"
#include "analyse/ranks/ranks.h"
#include "analyse/set/set.h"
#include "analyse/table/group_by.h"
#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/output/progress.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/names.h"
#include "cmd/shared/summary.h"
#include "render/heat/rank_map.h"
#include "render/text/tables.h"

enum { CLOSER = 3, CLOSER_ROWS = 5, MAP_ROWS = 64, COMPLAINTS = 8 };

struct ranks_report {
	const struct af_odd_options *o;
	struct af_set set;
	struct af_ranks *all;
	const struct af_ranks_result *result;
	struct af_tables tables;
	uint32_t nr_missing;
};

/* How many rows to print: --limit, or else @standard; 0 means all. */
static uint32_t limit_of(const struct ranks_report *s, uint32_t standard)
{
	uint64_t limit = s->o->limit;

	return limit == UINT64_MAX ? standard : limit < UINT32_MAX ? (uint32_t)limit : 0;
}

/* Read @m as a part of the ranks; the caller closes @r. */
static int member_read(const struct af_member *m, const struct af_query *query,
                       struct af_results *r, struct af_err *err)
{
	int rc = m->state == AF_MEMBER_COMPLETE || m->state == AF_MEMBER_RECOVERED
	             ? 0
	             : af_trace_prepare(m->path, err);

	return rc ? rc : af_analyse(m->path, af_ranks_passes, query, r, NULL, NULL, err);
}

static struct af_query ranks_query(const struct af_odd_options *o, struct af_activity *activity)
{
	return (struct af_query){
	    .answers = AF_RANKS_ANSWERS,
	    .weights = AF_RANKS_WEIGHTS,
	    .from_ns = o->from_ns,
	    .to_ns = o->to_ns,
	    .depth = AF_DEPTH_KERNEL,
	    .own = activity,
	};
}

static const char *label_of(const struct af_member *m)
{
	return m->label && *m->label ? m->label : m->name;
}

/* One that cannot be read is named, and the others are compared. */
static void complain(struct ranks_report *s, const struct af_member *m, const char *why)
{
	if (s->nr_missing++ < COMPLAINTS)
		fprintf(stderr, "aflame report: %s is left out: %s\n", label_of(m), why);
}

static void ranks_read(struct ranks_report *s)
{
	struct af_progress progress = af_progress_begin("reading the ranks");
	struct af_activity *activity = calloc(1, sizeof *activity);
	struct af_query query = ranks_query(s->o, activity);

	for (uint32_t i = 0; i < s->set.nr; i++) {
		const struct af_member *m = &s->set.members[i];
		struct af_results r = {0};
		struct af_err err = {0};
		if (m->state == AF_MEMBER_UNREADABLE || m->state == AF_MEMBER_LIVE) {
			complain(s, m,
			         m->state == AF_MEMBER_LIVE ? "it is still being recorded"
			                                    : m->why);
			continue;
		}
		if (member_read(m, &query, &r, &err))
			complain(s, m, err.msg);
		else
			af_ranks_add(s->all, m, &r);
		af_results_close(&r);
		af_progress_tell(&progress, i + 1, s->set.nr);
	}
	af_progress_end(&progress);
	free(activity);
	if (s->nr_missing)
		fprintf(stderr, "aflame report: %u of %u ranks are compared\n",
		        s->set.nr - s->nr_missing, s->set.nr);
}

/* Functions whose own time differs: their callers are in the path of the odd rank. */
static void closer_table(struct ranks_report *s, const struct af_table *from,
                         const struct af_rank *rank, const struct af_member *typical,
                         uint32_t place)
{
	int own = from ? af_table_column(from, "self_change") : -1;
	uint32_t nr = 0;

	if (own < 0 || !from->nr_rows)
		return;
	struct af_table *t = af_tables_copy(
	    &s->tables, from, af_tables_text(&s->tables, "odd_%u_functions", place),
	    af_tables_text(&s->tables,
	                   "Functions of %s (after) against %s, the typical rank (before)",
	                   label_of(rank->who), label_of(typical)));
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		const struct af_cell *row = t->cells + (size_t)i * t->nr_columns;
		if (row[own].value)
			memmove(t->cells + (size_t)nr++ * t->nr_columns, row,
			        t->nr_columns * sizeof *row);
	}
	t->nr_rows = nr;
	t->note = NULL;
}

/* An odd rank and the typical one, function by function, with what sampling leaves open. */
static int closer_read(struct ranks_report *s, const struct af_rank *rank, uint32_t place,
                       struct af_err *err)
{
	const struct af_member *typical = s->result->ranks[s->result->groups[0].typical].who;
	int view = rank->kind == AF_RANK_DEVICE ? AF_VIEW_GPU : AF_VIEW_CPU;
	bool off = rank->kind != AF_RANK_DEVICE && rank->kind != AF_RANK_CPU;
	struct af_query query = ranks_query(s->o, NULL);
	struct af_results sides[2] = {{.dir = NULL}, {.dir = NULL}};
	struct af_difference d = {0};
	struct af_tables f = {0};

	query.answers = 1u << view;
	int rc = member_read(typical, &query, &sides[0], err);
	if (!rc)
		rc = member_read(rank->who, &query, &sides[1], err);
	if (!rc && sides[0].trees[view].nr && sides[1].trees[view].nr) {
		struct af_difference_side of[2];
		for (uint32_t i = 0; i < 2; i++)
			of[i] = (struct af_difference_side){.tree = &sides[i].trees[view],
			                                    .weight = off ? AF_WEIGHT_OFF_CPU
			                                                  : AF_WEIGHT_TIME,
			                                    .samples = off ? -1 : AF_WEIGHT_SAMPLES,
			                                    .measured = off ? -1 : AF_WEIGHT_COUNT,
			                                    .events = off};
		af_difference_open(&d, &of[0], &of[1], false);
		d.look.waiting = off;
		af_difference_tables(&d, &f, &(struct af_difference_shown){.by_self = true});
		closer_table(s, af_tables_find(&f, "functions"), rank, typical, place);
	}
	af_difference_close(&d);
	af_tables_free(&f);
	af_results_close(&sides[0]);
	af_results_close(&sides[1]);
	return rc;
}

static void closer_all(struct ranks_report *s)
{
	uint32_t nr = s->result->nr_odd < CLOSER ? s->result->nr_odd : CLOSER;

	for (uint32_t i = 0; i < nr; i++) {
		const struct af_rank *rank = &s->result->ranks[s->result->odd[i]];
		struct af_err err = {0};
		if (rank->has_cause && rank->kind != AF_RANK_MPI &&
		    closer_read(s, rank, i + 1, &err))
			fprintf(stderr, "aflame report: %s: %s\n", label_of(rank->who), err.msg);
	}
}

/* Everything that is odd first, and the ranks themselves at the end. */
static void ranks_text(struct ranks_report *s, struct af_buf *b)
{
	uint32_t limit = limit_of(s, 0);

	if (s->result->nr && !s->result->nr_odd)
		af_buf_fmt(b, "No rank is odd: none differs from its group by more than sampling "
		              "noise and a tenth of its own time.\n");
	for (const struct af_table *t = s->tables.first; t; t = t->next) {
		bool closer = !strncmp(t->name, "odd_", 4) && strcmp(t->name, "odd_ranks") != 0;
		if (!t->nr_rows)
			continue;
		if (b->len)
			af_buf_char(b, '\n');
		af_table_text(b, t, closer ? CLOSER_ROWS : limit, af_colour(stdout),
		              closer ? NULL : AF_SHOW_ALL);
	}
	if (s->result->nr_odd && !s->result->has_waits)
		af_buf_str(b,
		           "Waits for disks and locks are seen with `aflame record --off-cpu`.\n");
	af_buf_fmt(b, "--rank N reads the trace of one; report ranks --heat shows them over "
	              "time\n");
}

static int map_write(int fd, void *arg, struct af_err *err)
{
	struct ranks_report *s = arg;
	struct af_ranks_heat heat;
	struct af_buf b = {0};
	const struct af_document document = {.report = "ranks"};
	bool file = strcmp(s->o->heat, "-") != 0;

	af_ranks_heat(s->all, &heat);
	if (s->o->json) {
		af_ranks_heat_table(s->all, &heat, &s->tables);
		af_tables_json(&b, &document, &s->tables, limit_of(s, 0));
	} else if (file && strstr(s->o->heat, ".svg")) {
		af_rank_map_svg(&b, s->result, &heat,
		                af_tables_text(&s->tables, "The ranks in %s", s->set.path));
	} else {
		af_rank_map_text(&b, s->result, &heat, af_annotate_width(), limit_of(s, MAP_ROWS),
		                 !file && af_colour(stdout));
	}
	af_ranks_heat_close(&heat);
	int rc = af_buf_flush(&b, fd);
	af_buf_free(&b);
	return rc ? af_fail(err, rc, "cannot write the map of ranks") : 0;
}

static int ranks_print(struct ranks_report *s, struct af_err *err)
{
	const struct af_output to = {.file = s->o->heat};
	const struct af_document document = {.report = "ranks"};
	struct af_buf b = {0};

	if (s->o->heat)
		return af_atomic_write(&to, map_write, s, err);
	if (s->o->json)
		af_tables_json(&b, &document, &s->tables, limit_of(s, 0));
	else
		ranks_text(s, &b);
	fwrite(b.data, 1, b.len, stdout);
	af_buf_free(&b);
	return 0;
}

static int ranks_check(const struct af_odd_options *o, struct af_err *err)
{
	const char *heat = o->heat, *dot = heat ? strrchr(heat, '.') : NULL;

	if (heat && strcmp(heat, "-") != 0 && (!dot || strcmp(dot, o->json ? ".json" : ".svg")) &&
	    (!dot || strcmp(dot, ".txt")))
		return af_fail_plain(err, -EINVAL,
		                     "a map of ranks goes to .svg, .txt or, with --json, .json, "
		                     "not %s",
		                     heat);
	return 0;
}

int af_odd_print(const struct af_odd_options *o, struct af_err *err)
{
	struct ranks_report s = {.o = o};
	int rc = ranks_check(o, err);

	if (!rc)
		rc = af_set_open(&s.set, o->dir, err);
	if (!rc) {
		s.all = af_ranks_open();
		ranks_read(&s);
		s.result = af_ranks_end(s.all);
		af_ranks_tables(s.all, &s.set, &s.tables);
		if (!o->heat)
			closer_all(&s);
		rc = ranks_print(&s, err);
	}
	af_ranks_close(s.all);
	af_tables_free(&s.tables);
	af_set_close(&s.set);
	return rc;
}
