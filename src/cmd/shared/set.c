#include "cmd/shared/set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/clocks/times.h"
#include "analyse/findings/findings.h"
#include "analyse/functions/top.h"
#include "analyse/passes/rows.h"
#include "analyse/ranks/ranks.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "cmd/options/command.h"
#include "cmd/shared/load.h"
#include "cmd/shared/names.h"
#include "cmd/shared/ranks.h"
#include "cmd/shared/together.h"

enum { PAGE_RANKS = 64 /* of a set, at most, that a page shows one by one */ };

int af_by_parse(const char *word, enum af_merge_by *by, const char **group, struct af_err *err)
{
	static const struct {
		const char *word;
		enum af_merge_by by;
	} words[] = {{"host", AF_BY_HOST},
	             {"rank", AF_BY_RANK},
	             {"device", AF_BY_DEVICE},
	             {"process", AF_BY_PROCESS},
	             {"none", AF_BY_NOTHING}};

	*group = NULL;
	*by = AF_BY_NOTHING;
	if (!word)
		return 0;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(word, words[i].word)) {
			*by = words[i].by;
			return 0;
		}
	if (!strcmp(word, "run"))
		word = "group:run";
	if (strncmp(word, "group:", strlen("group:")) != 0 || !word[strlen("group:")])
		return af_fail_plain(
		    err, -EINVAL,
		    "--by takes host, rank, device, process, run or group:KEY, not "
		    "\"%s\"",
		    word);
	*group = word + strlen("group:");
	*by = AF_BY_GROUP;
	return 0;
}

int af_by_check(const char *word, bool is_set, const char *dir, struct af_err *err)
{
	struct af_query query;

	if (word && !is_set)
		return af_fail_plain(err, -EINVAL,
		                     "--by %s is for a folder of ranks, and %s is one trace", word,
		                     dir);
	return af_by_query(word, &query, err);
}

int af_by_query(const char *word, struct af_query *query, struct af_err *err)
{
	enum af_merge_by by;
	int rc = af_by_parse(word, &by, &query->members_group, err);

	query->members_by = by;
	return rc;
}

const char *af_set_prepare(struct af_set *set, uint32_t i)
{
	const struct af_member *m = &set->members[i];
	struct af_err err = {0};

	if (m->state == AF_MEMBER_LIVE || m->state == AF_MEMBER_UNREADABLE)
		return *m->why ? m->why : "it is still being recorded";
	if (m->state == AF_MEMBER_DEAD)
		return NULL; /* only its host can finish it: the part that is there is read */
	if (af_trace_prepare(m->path, &err))
		return af_arena_strdup(&set->arena, err.msg, strlen(err.msg));
	if (m->state == AF_MEMBER_UNFINISHED)
		af_set_refresh(set, i);
	return NULL;
}

/* The results of a member: of all of it, and of its steady part alone. */
struct set_member {
	struct af_results whole, steady;
	bool has_steady;
};

/* The members while they are read. */
struct set_reading {
	struct af_set_sum whole, steady; /* of steady parts: zeroed where these are not wanted */
	const struct af_query *query;
	const struct af_set *set;
	const char **why;          /* by member: why it cannot be read, or NULL */
	struct af_set_times times; /* read where a part of the time is asked for */
	struct af_member_tree
	    *trees; /* of single members, for a page; or NULL: nobody shows them */
	uint32_t nr_trees;
};

/* Only tables of steady parts are merged. */
static const struct af_merge_how steady_how = {
    .query = {.answers = AF_ANSWER_TABLES, .merges = true}};

/* The profile of a rank needs more than findings; of what devices did, functions are enough. */
static void ranks_query(struct af_query *query)
{
	if (!(query->answers & (1 << AF_VIEW_GPU | 1 << AF_VIEW_ALL)))
		query->depth = AF_DEPTH_KERNEL;
	query->answers |= AF_RANKS_ANSWERS;
	query->weights |= AF_RANKS_WEIGHTS;
	query->own = af_xcalloc(1, sizeof(struct af_activity));
}

static void member_drop(void *result)
{
	struct set_member *m = result;

	free(m->whole.query.own);
	free(m->steady.query.own);
	af_results_close(&m->whole);
	af_results_close(&m->steady);
	free(m);
}

/* A rank is steady between times of its own. What is added up by then has no times: read again. */
static int steady_read(const struct set_reading *s, struct set_member *m,
                       const struct af_member *who, struct af_err *err)
{
	const struct af_phase_row *steady = af_load_steady(&m->whole);
	struct af_query query = AF_QUERY_TABLES;

	if (!steady)
		return 0;
	query.from_ns = steady->from_ns.value;
	query.to_ns = steady->to_ns.value;
	query.merges = true;
	query.threads = 1;
	if (s->steady.ranks)
		ranks_query(&query);
	int rc = af_load_passes(who->path, &query, &m->steady, NULL, err);
	m->steady.query.own = query.own;
	m->has_steady = !rc;
	return rc;
}

/* On any thread. The table of functions has no limit, so that its distribution is exact. */
static void *member_read(void *arg, const struct af_member *who, struct af_err *err)
{
	const struct set_reading *s = arg;
	const char *why = s->why[who - s->set->members];
	struct set_member *m = af_xcalloc(1, sizeof *m);
	struct af_query query = *s->query;

	query.threads = 1; /* other threads read other members */
	if (s->times.members && !af_set_times_part(&s->times, (uint32_t)(who - s->set->members),
	                                           &query.from_ns, &query.to_ns))
		query.from_ns = query.to_ns = UINT64_MAX;
	if (s->whole.ranks)
		ranks_query(&query);
	int rc = why ? af_fail_plain(err, -ENODATA, "%s", why)
	             : af_load_passes(who->path, &query, &m->whole, NULL, err);
	m->whole.query.own = query.own;
	if (!rc && s->steady.m)
		rc = steady_read(s, m, who, err);
	if (!rc) {
		af_load_top(&m->whole, s->query->answers, 0);
		return m;
	}
	member_drop(m);
	return NULL;
}

/* The view that has all of a member; an empty one equals another. */
static int member_view(const struct af_results *r)
{
	return r->trees[AF_VIEW_ALL].nr > 1   ? AF_VIEW_ALL
	       : r->trees[AF_VIEW_CPU].nr > 1 ? AF_VIEW_CPU
	                                      : AF_VIEW_GPU;
}

/* Its tree is taken from the results, which have been merged. */
static void member_tree_take(struct set_reading *s, const struct af_member *who,
                             struct af_results *r)
{
	int view = member_view(r);
	struct af_member_tree *to = &s->trees[s->nr_trees];

	if (r->trees[view].nr <= 1)
		return;
	*to = (struct af_member_tree){.label = who->label, .tree = r->trees[view]};
	to->tree.weights[AF_WEIGHT_COUNT].unit = af_weights[AF_WEIGHT_COUNT].unit;
	r->trees[view] = (struct af_tree){0};
	s->nr_trees++;
}

/* One at a time, in the order of members. */
static int member_take(void *arg, const struct af_member *who, void *result,
                       const struct af_err *why)
{
	struct set_reading *s = arg;

	if (!result) {
		af_merge_missing(s->whole.m, who, why->msg);
		return 0;
	}
	struct set_member *m = result;
	af_set_sum_add(&s->whole, who, &m->whole);
	if (m->has_steady)
		af_set_sum_add(&s->steady, who, &m->steady);
	if (s->trees)
		member_tree_take(s, who, &m->whole);
	member_drop(m);
	return 0;
}

static void set_write(const void *reading, struct af_buf *to)
{
	const struct set_reading *s = reading;

	af_set_sum_write(&s->whole, to);
	af_set_sum_write(&s->steady, to);
}

static int set_join(void *reading, const void *data, size_t size, struct af_err *err)
{
	struct set_reading *s = reading;
	struct af_cursor c = {data, (const uint8_t *)data + size, false};

	int rc = af_set_sum_read(&s->whole, &c, err);
	return rc ? rc : af_set_sum_read(&s->steady, &c, err);
}

static void set_empty(void *reading)
{
	struct set_reading *s = reading;

	af_set_sum_empty(&s->whole);
	af_set_sum_empty(&s->steady);
}

/* The process that reads a trace first finishes what a killed recorder left. */
static void members_prepare(void *arg, struct af_set *set, uint32_t first, uint32_t nr)
{
	struct set_reading *s = arg;

	s->why = af_xcalloc(set->nr + 1, sizeof *s->why);
	for (uint32_t i = first; i < first + nr; i++)
		s->why[i] = af_set_prepare(set, i);
	/* Where the times of ranks are not known, each has them since its trace began. */
	if (s->query->from_ns || s->query->to_ns)
		af_set_times_read(&s->times, set, NULL);
}

static void trees_close(struct set_reading *s)
{
	for (uint32_t i = 0; i < s->nr_trees; i++)
		af_tree_close(&s->trees[i].tree);
	free(s->trees);
	s->trees = NULL;
	s->nr_trees = 0;
}

/* Into @reading->m. A process that another one answers for ends here. */
static int members_read(struct set_reading *reading, struct af_set *set, struct af_err *err)
{
	const struct af_together together = {
	    .what = "reading the traces",
	    .prepare = members_prepare,
	    .read = member_read,
	    .take = member_take,
	    .drop = member_drop,
	    .ops = {.write = set_write, .join = set_join, .empty = set_empty},
	    .sum = reading,
	};
	bool silent;

	int rc = af_together_members(&together, set, &silent, err);
	free(reading->why);
	af_set_times_free(&reading->times);
	/* Other processes send the sums of their members, and no trees of single ones. */
	if (rc || reading->nr_trees != af_merge_members(reading->whole.m))
		trees_close(reading);
	if (silent)
		af_command_end(0);
	return rc;
}

int af_set_report(const char *path, const struct af_merge *m, struct af_err *err)
{
	struct af_buf b = {0};
	int rc = 0;

	af_merge_about(m, &b);
	if (af_merge_members(m))
		fprintf(stderr, "aflame: %s: %s\n", path, b.data);
	else
		rc = af_fail_plain(err, -ENODATA, "no trace in %s can be read: %.400s", path,
		                   b.data);
	af_buf_free(&b);
	return rc;
}

/* The list of ranks, what makes some odd and, for a page, the map of them over time. */
static void set_ranks(const struct set_reading *s, const struct af_set_times *times, bool page,
                      struct af_results *r)
{
	const struct af_ranks_result *result = s->whole.ranks ? af_ranks_end(s->whole.ranks) : NULL;
	struct af_ranks_heat heat;

	if (!result || !result->nr) {
		af_ranks_table(s->set, &r->tables);
		return;
	}
	af_ranks_tables(s->whole.ranks, s->set, &r->tables);
	if (!page)
		return;
	r->looked_at = af_ranks_first(s->whole.ranks, s->set, &r->nr_looked_at);
	af_ranks_heat_placed(s->whole.ranks, s->set, times, &heat);
	if (heat.nr_bins)
		af_ranks_map_table(s->whole.ranks, &heat, times->start_ns, &r->tables);
	af_ranks_heat_close(&heat);
}

/* Times of several hosts are only as good as what is known of their clocks. */
static void set_places(const struct set_reading *s, const struct af_query *query,
                       struct af_results *r)
{
	struct af_set_times times = {0};

	if (query->answers & AF_ANSWER_TABLES)
		af_set_times_read(&times, s->set, NULL);
	set_ranks(s, &times, query->answers & AF_ANSWER_ANNOTATE, r);
	if (times.clocks.nr_hosts > 1)
		af_set_clocks_table(&times.clocks, &r->tables);
	af_set_times_free(&times);
}

/* The list of ranks is a table, so tables are there while no rank can be read yet. */
static int set_reported(const struct af_set *set, const struct af_merge *m, uint32_t answers,
                        struct af_err *err)
{
	struct af_err none = {0};
	int rc = af_set_report(set->path, m, &none);

	if (rc && answers & AF_ANSWER_TABLES)
		fprintf(stderr, "aflame: %s\n", none.msg);
	else if (rc)
		return af_fail_plain(err, rc, "%s", none.msg);
	return 0;
}

/* As in the report of one trace; the distribution needed all functions. */
static void top_cut(struct af_results *r)
{
	struct af_table *t = (struct af_table *)af_tables_find(&r->tables, "cpu_top");

	if (!t || !(r->query.answers & AF_ANSWER_TABLES))
		return;
	for (uint32_t i = AF_LOAD_TOP_ROWS; i < t->nr_rows; i++) {
		const struct af_top_row *row = AF_ROW_AT(struct af_top_row, t, i);
		t->left_out++;
		t->left_weight += row ? row->self.value : 0;
	}
	t->nr_rows = t->nr_rows < AF_LOAD_TOP_ROWS ? t->nr_rows : AF_LOAD_TOP_ROWS;
}

static int part_missing(const struct af_merge *m, struct af_err *err)
{
	struct af_buf b = {0};

	af_merge_about(m, &b);
	int rc = af_fail_plain(err, -ENODATA, "%.400s", b.data);
	af_buf_free(&b);
	return rc;
}

static void set_results(const struct af_set *set, struct set_reading *s,
                        const struct af_query *query, struct af_results *r)
{
	af_merge_end(s->whole.m, r);
	r->query.merges = false;
	r->members = r->members ? r->members : set->nr;
	r->dir = af_tables_text(&r->tables, "%s", query->trace ? query->trace : set->path);
	r->member_trees = s->trees;
	r->nr_member_trees = s->nr_trees;
	for (uint32_t i = 0; i < r->nr_member_trees; i++)
		r->member_trees[i].label =
		    af_tables_text(&r->tables, "%s", r->member_trees[i].label);
	if (r->kernels)
		af_annotate_kernels(r->kernels, query, NULL, &r->annotated);
	top_cut(r);
	af_set_about(set, &r->tables);
	set_places(s, query, r);
	/* Findings are about all members together. */
	af_load_finish(r, s->whole.how->by == AF_BY_NOTHING ? s->query->answers : AF_ANSWER_TOP);
}

/*
 * Commands that read all ranks between the same times do not show the steady part of each, so these
 * findings have none. Their links show the same functions, of the whole run.
 */
static void steady_uncheck(struct af_table *t)
{
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		struct af_finding_row *row = (void *)(t->cells + (size_t)i * t->nr_columns);
		row->check.text = "";
	}
}

/* Add the verdict and the findings of the steady parts of all ranks that have one. */
static void steady_results(struct set_reading *s, struct af_results *r)
{
	unsigned long long nr = s->steady.m ? af_merge_members(s->steady.m) : 0;
	struct af_results part;

	if (!nr)
		return;
	af_merge_end(s->steady.m, &part);
	part.query.merges = false;
	part.dir = r->dir;
	if (s->steady.ranks && af_ranks_end(s->steady.ranks)->nr)
		af_ranks_tables(s->steady.ranks, s->set, &part.tables);
	af_load_finish(&part, AF_ANSWER_TABLES);
	af_load_steady_copy(r, &part, NULL);
	struct af_table *t = (struct af_table *)af_tables_find(&r->tables, "steady_findings");
	if (t) {
		steady_uncheck(t);
		t->note = af_tables_text(
		    &r->tables,
		    "of the steady part of each of %llu of %llu ranks, between times of its own "
		    "(report phases --rank N)%s%s",
		    nr, (unsigned long long)r->members, t->note ? "; " : "",
		    t->note ? t->note : "");
	}
	af_results_close(&part);
}

static int set_load(struct af_set *set, const struct af_query *query, struct af_results *r,
                    bool is_part, struct af_err *err)
{
	struct af_merge_how how = {.query = *query,
	                           .by = (enum af_merge_by)query->members_by,
	                           .group = query->members_group,
	                           .runs = af_set_is_runs(set)};

	/* Steady parts are read beside the query. */
	how.query.answers &= ~(uint32_t)AF_ANSWER_STEADY;
	how.query.merges = true;
	if (how.by == AF_BY_DEVICE && how.query.group == AF_GROUP_NONE)
		how.query.group = AF_GROUP_DEVICE;
	struct set_reading reading = {.query = &how.query, .set = set};
	bool all = how.by == AF_BY_NOTHING && how.query.answers & AF_ANSWER_TABLES &&
	           !(how.query.answers & (AF_ANSWER_OWN | AF_ANSWER_TALLY));
	/* Runs do not wait for one another. */
	bool compares = set->nr > 2 && !how.runs;
	af_set_sum_open(&reading.whole, &how, all && compares);
	if (all && query->answers & AF_ANSWER_STEADY && !query->from_ns && !query->to_ns)
		af_set_sum_open(&reading.steady, &steady_how, compares);
	if (query->answers & AF_ANSWER_ANNOTATE && set->nr <= PAGE_RANKS)
		reading.trees = af_xcalloc(set->nr, sizeof *reading.trees);
	int rc = members_read(&reading, set, err);
	if (!rc && is_part && !af_merge_members(reading.whole.m))
		rc = part_missing(reading.whole.m, err);
	else if (!rc && (!is_part || af_merge_lacks(reading.whole.m)))
		rc = set_reported(set, reading.whole.m, query->answers, err);
	if (!rc)
		set_results(set, &reading, query, r);
	if (!rc)
		steady_results(&reading, r);
	else
		trees_close(&reading);
	af_set_sum_close(&reading.whole);
	af_set_sum_close(&reading.steady);
	return rc;
}

int af_set_load(struct af_set *set, const struct af_query *query, struct af_results *r,
                struct af_err *err)
{
	return set_load(set, query, r, false, err);
}

int af_set_load_part(struct af_set *set, const struct af_query *query, struct af_results *r,
                     struct af_err *err)
{
	return set_load(set, query, r, true, err);
}
