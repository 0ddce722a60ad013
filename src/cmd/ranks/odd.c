/* aflame report ranks: the ranks of a job, which of them is odd, and why. */
#include "cmd/ranks/odd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/clocks/times.h"
#include "analyse/difference/difference.h"
#include "analyse/ranks/ranks.h"
#include "analyse/set/set.h"
#include "analyse/table/group_by.h"
#include "base/err.h"
#include "cmd/output/atomic_write.h"
#include "cmd/ranks/members.h"
#include "cmd/shared/annotate.h"
#include "cmd/shared/summary.h"
#include "render/heat/rank_map.h"
#include "render/text/tables.h"

enum { CLOSER = 3, CLOSER_ROWS = 5, MAP_ROWS = 64 };

struct ranks_report {
	const struct af_odd_options *o;
	struct af_set set;
	struct af_ranks *all;
	const struct af_ranks_result *result;
	struct af_tables tables;
};

/* How many rows to print: --limit, or else @standard; 0 means all. */
static uint32_t limit_of(const struct ranks_report *s, uint32_t standard)
{
	uint64_t limit = s->o->limit;

	return limit == UINT64_MAX ? standard : limit < UINT32_MAX ? (uint32_t)limit : 0;
}

static struct af_query ranks_query(const struct af_odd_options *o)
{
	return (struct af_query){
	    .answers = AF_RANKS_ANSWERS,
	    .weights = AF_RANKS_WEIGHTS,
	    .from_ns = o->from_ns,
	    .to_ns = o->to_ns,
	    .depth = AF_DEPTH_KERNEL,
	};
}

static void rank_add(void *arg, const struct af_member *who, const struct af_results *r)
{
	struct ranks_report *s = arg;

	af_ranks_add(s->all, who, r);
}

static void ranks_write(const void *arg, struct af_buf *to)
{
	const struct ranks_report *s = arg;

	af_ranks_write(s->all, to);
}

static int ranks_join(void *arg, const void *data, size_t size, struct af_err *err)
{
	struct ranks_report *s = arg;

	return af_ranks_read(s->all, data, size, err);
}

static void ranks_empty(void *arg)
{
	struct ranks_report *s = arg;

	af_ranks_close(s->all);
	s->all = af_ranks_open();
}

/* *@silent: another process has the ranks of all, and answers. */
static int ranks_read(struct ranks_report *s, bool *silent, struct af_err *err)
{
	struct af_reduce r;

	af_together_open(&r);
	int rc = af_together_list(&r, s->o->dir, &s->set, err);
	if (!rc)
		rc = af_members_read(
		    &(struct af_members){.command = "report",
		                         .set = &s->set,
		                         .passes = af_ranks_passes,
		                         .query = ranks_query(s->o),
		                         .own_size = sizeof(struct af_activity),
		                         .add = rank_add,
		                         .ops = {ranks_write, ranks_join, ranks_empty},
		                         .arg = s},
		    &r, err);
	*silent = r.silent;
	af_reduce_close(&r);
	return *silent ? 0 : rc;
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
	                   af_member_text(rank->who), af_member_text(typical)));
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
	static const struct af_pass_ops *const passes[] = {&af_pass_flame, NULL};
	struct af_query query = ranks_query(s->o);
	struct af_results sides[2] = {{.dir = NULL}, {.dir = NULL}};
	struct af_difference d = {0};
	struct af_tables f = {0};

	query.answers = 1u << view;
	int rc = af_analyse(typical->path, passes, &query, &sides[0], NULL, NULL, err);
	if (!rc)
		rc = af_analyse(rank->who->path, passes, &query, &sides[1], NULL, NULL, err);
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
			fprintf(stderr, "aflame report: %s: %s\n", af_member_text(rank->who),
			        err.msg);
	}
}

/* Everything that is odd first, and the ranks themselves at the end. */
static void ranks_text(struct ranks_report *s, struct af_buf *b)
{
	uint32_t limit = limit_of(s, 0);

	for (const struct af_table *t = s->tables.first; t; t = t->next) {
		bool odd = !strcmp(t->name, "odd_ranks");
		bool closer = !strncmp(t->name, "odd_", 4) && !odd;
		if (!t->nr_rows && !odd)
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

/* The map on the clock of the set's first member. */
static void heat_make(struct ranks_report *s, struct af_ranks_heat *heat)
{
	struct af_set_times times;

	af_set_times_read(&times, &s->set, NULL);
	af_ranks_heat_placed(s->all, &s->set, &times, heat);
	af_set_times_free(&times);
}

static int map_write(int fd, void *arg, struct af_err *err)
{
	struct ranks_report *s = arg;
	struct af_ranks_heat heat;
	struct af_buf b = {0};
	const struct af_document document = {.report = "ranks"};
	bool file = strcmp(s->o->heat, "-") != 0;

	heat_make(s, &heat);
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
	struct ranks_report s = {.o = o, .all = af_ranks_open()};
	bool silent = false;
	int rc = ranks_check(o, err);

	if (!rc)
		rc = ranks_read(&s, &silent, err);
	if (!rc && !silent) {
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
