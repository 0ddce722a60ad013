#include "cmd/shared/set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/annotate/annotate.h"
#include "analyse/clocks/times.h"
#include "analyse/functions/top.h"
#include "analyse/ranks/ranks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/keys.h"
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
	if (strncmp(word, "group:", strlen("group:")) != 0 || !word[strlen("group:")])
		return af_fail_plain(err, -EINVAL,
		                     "--by takes host, rank, device, process or group:KEY, not "
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

/* The members while they are read. */
struct set_reading {
	struct af_merge *m;
	const struct af_merge_how *how;
	const struct af_query *query;
	const struct af_set *set;
	const char **why;          /* by member: why it cannot be read, or NULL */
	struct af_set_times times; /* read where a part of the time is asked for */
	struct af_member_tree
	    *trees; /* of single members, for a page; or NULL: nobody shows them */
	uint32_t nr_trees;
	struct af_ranks *ranks; /* for a page: its map of ranks; or NULL */
	uint32_t *member_of;    /* by rank that was added to these: its index in the set */
	uint32_t nr_ranks, nr_taken;
};

/* A member's results. */
struct member_result {
	struct af_results r;
	struct af_activity activity;
};

/* On any thread. The table of functions has no limit, so that its distribution is exact. */
static void *member_read(void *arg, const struct af_member *who, struct af_err *err)
{
	const struct set_reading *s = arg;
	const char *why = s->why[who - s->set->members];
	struct member_result *m = af_xcalloc(1, sizeof *m);
	struct af_query query = *s->query;

	if (s->ranks)
		query.own = &m->activity;
	query.threads = 1; /* other threads read other members */
	if (s->times.members && !af_set_times_part(&s->times, (uint32_t)(who - s->set->members),
	                                           &query.from_ns, &query.to_ns))
		query.from_ns = query.to_ns = UINT64_MAX;
	int rc = why ? af_fail_plain(err, -ENODATA, "%s", why)
	             : af_load_passes(who->path, &query, &m->r, NULL, err);
	if (!rc) {
		af_load_top(&m->r, s->query->answers, 0);
		return m;
	}
	af_results_close(&m->r);
	free(m);
	return NULL;
}

static void member_drop(void *result)
{
	struct member_result *m = result;

	af_results_close(&m->r);
	free(m);
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

/* Times of half a trace are held against nothing. */
static void member_compare(struct set_reading *s, const struct af_member *who,
                           const struct af_results *r)
{
	if (*r->damage || (who->state != AF_MEMBER_COMPLETE && who->state != AF_MEMBER_RECOVERED))
		return;
	s->member_of[s->nr_ranks++] = (uint32_t)(who - s->set->members);
	af_ranks_add(s->ranks, who, r);
}

/* One at a time, in the order of members. */
static int member_take(void *arg, const struct af_member *who, void *result,
                       const struct af_err *why)
{
	struct set_reading *s = arg;
	struct member_result *m = result;

	if (!m) {
		af_merge_missing(s->m, who, why->msg);
		return 0;
	}
	af_merge_add(s->m, who, &m->r);
	s->nr_taken++;
	if (s->ranks)
		member_compare(s, who, &m->r);
	if (s->trees)
		member_tree_take(s, who, &m->r);
	member_drop(result);
	return 0;
}

static void merge_write(const void *reading, struct af_buf *to)
{
	const struct set_reading *s = reading;

	af_merge_write(s->m, to);
}

static int merge_join(void *reading, const void *data, size_t size, struct af_err *err)
{
	struct set_reading *s = reading;

	return af_merge_read(s->m, data, size, err);
}

static void merge_empty(void *reading)
{
	struct set_reading *s = reading;

	af_merge_close(s->m);
	s->m = af_merge_open(s->how);
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

static void ranks_close(struct set_reading *s)
{
	af_ranks_close(s->ranks);
	free(s->member_of);
	s->ranks = NULL;
	s->member_of = NULL;
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
	    .ops = {.write = merge_write, .join = merge_join, .empty = merge_empty},
	    .sum = reading,
	};
	bool silent;

	int rc = af_together_members(&together, set, &silent, err);
	free(reading->why);
	af_set_times_free(&reading->times);
	/* Other processes send the sums of their members, and no trees of single ones. */
	if (rc || reading->nr_trees != af_merge_members(reading->m))
		trees_close(reading);
	if (rc || reading->nr_taken != af_merge_members(reading->m))
		ranks_close(reading);
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

/* Add to the table `set` what the list of members has: hosts, versions, traces of one rank. */
static void set_members(const struct af_set *set, struct af_results *r)
{
	struct af_table *t = (struct af_table *)af_tables_find(&r->tables, "set");
	uint32_t twins = 0, hosts = 0, versions = 0;

	for (uint32_t i = 1; i < set->nr; i++) {
		const struct af_member *m = &set->members[i], *before = m - 1;
		twins += m->has_rank && before->has_rank && m->rank == before->rank;
	}
	struct af_keys names = {0}, others = {0};
	for (uint32_t i = 0; i < set->nr; i++) {
		const struct af_member *m = &set->members[i];
		if (*m->host)
			af_keys_at(&names, AF_KEY_TEXT(m->host), NULL);
		if (*m->version)
			af_keys_at(&others, AF_KEY_TEXT(m->version), NULL);
	}
	hosts = (uint32_t)names.nr;
	versions = (uint32_t)others.nr;
	af_keys_free(&names);
	af_keys_free(&others);
	if (!t)
		return;
	af_pair_row(&r->tables, t, "hosts", "hosts", af_tables_text(&r->tables, "%u", hosts));
	char lacks[512];
	if (af_set_lacks(set, lacks, sizeof lacks))
		af_pair_row(&r->tables, t, "lacks", "ranks of the job",
		            af_tables_text(&r->tables, "%s", lacks));
	if (twins)
		af_pair_row(&r->tables, t, "duplicates", "traces of a rank that has another",
		            af_tables_text(&r->tables, "%u: their labels name the trace", twins));
	if (versions > 1)
		af_pair_row(&r->tables, t, "versions", "versions of aflame",
		            af_tables_text(&r->tables, "%u", versions));
}

/* Odd and typical ranks are those that one looks at first. */
static void ranks_looked_at(const struct set_reading *s, const struct af_ranks_result *result,
                            struct af_results *r)
{
	r->looked_at = af_xcalloc(result->nr_odd + result->nr_groups + 1ull, sizeof *r->looked_at);
	for (uint32_t i = 0; i < result->nr_odd; i++)
		r->looked_at[r->nr_looked_at++] = s->member_of[result->odd[i]];
	for (uint32_t i = 0; i < result->nr_groups; i++)
		r->looked_at[r->nr_looked_at++] = s->member_of[result->groups[i].typical];
}

/* The list of ranks; for a page, with what makes them odd, and the map of them over time. */
static void set_ranks(const struct set_reading *s, const struct af_set_times *times,
                      struct af_results *r)
{
	struct af_ranks_heat heat;

	if (!s->ranks) {
		af_ranks_table(s->set, &r->tables);
		return;
	}
	ranks_looked_at(s, af_ranks_end(s->ranks), r);
	af_ranks_tables(s->ranks, s->set, &r->tables);
	af_ranks_heat_placed(s->ranks, times, s->member_of, &heat);
	if (heat.nr_bins)
		af_ranks_map_table(s->ranks, &heat, times->start_ns, &r->tables);
	af_ranks_heat_close(&heat);
}

/* Times of several hosts are only as good as what is known of their clocks. */
static void set_places(const struct set_reading *s, const struct af_query *query,
                       struct af_results *r)
{
	struct af_set_times times = {0};

	if (query->answers & AF_ANSWER_TABLES)
		af_set_times_read(&times, s->set, NULL);
	set_ranks(s, &times, r);
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

static void set_results(const struct af_set *set, struct set_reading *s,
                        const struct af_query *query, struct af_results *r)
{
	af_merge_end(s->m, r);
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
	set_members(set, r);
	set_places(s, query, r);
	/* Findings are about all members together. */
	af_load_finish(r, s->how->by == AF_BY_NOTHING ? s->query->answers : AF_ANSWER_TOP);
}

int af_set_load(struct af_set *set, const struct af_query *query, struct af_results *r,
                struct af_err *err)
{
	struct af_merge_how how = {.query = *query,
	                           .by = (enum af_merge_by)query->members_by,
	                           .group = query->members_group};

	/* Parts of a run are of one trace. */
	how.query.answers &= ~(uint32_t)AF_ANSWER_STEADY;
	how.query.merges = true;
	if (how.by == AF_BY_DEVICE && how.query.group == AF_GROUP_NONE)
		how.query.group = AF_GROUP_DEVICE;
	struct set_reading reading = {
	    .m = af_merge_open(&how), .how = &how, .query = &how.query, .set = set};
	if (query->answers & AF_ANSWER_ANNOTATE && set->nr <= PAGE_RANKS)
		reading.trees = af_xcalloc(set->nr, sizeof *reading.trees);
	if (query->answers & AF_ANSWER_ANNOTATE && query->answers & AF_ANSWER_TABLES &&
	    !query->own) {
		how.query.answers |= AF_ANSWER_OWN;
		reading.ranks = af_ranks_open();
		reading.member_of = af_xcalloc(set->nr + 1ull, sizeof *reading.member_of);
	}
	int rc = members_read(&reading, set, err);
	if (!rc)
		rc = set_reported(set, reading.m, query->answers, err);
	if (!rc)
		set_results(set, &reading, query, r);
	else
		trees_close(&reading);
	ranks_close(&reading);
	af_merge_close(reading.m);
	return rc;
}
