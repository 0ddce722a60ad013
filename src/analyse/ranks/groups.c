/*
 * Ranks that behave alike. Two ranks are alike when no call path differs by more than a tenth of a
 * rank's own time (or a hundredth of the run, if that is more), or by no more than chance explains.
 * So the distance of two ranks is that of the path that differs most. The largest of n deviations
 * is about √(2 ln n) by chance, so as many and one more count as chance.
 *
 * A rank joins the nearest group, or founds one where none is near. Then groups get the medians of
 * their members, and ranks are assigned again. It depends on nothing but the order of the ranks.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranks/private.h"
#include "base/arena.h"

enum { FEATURES = 96, GROUPS = 32, TURNS = 3 };

struct feature {
	uint32_t cell;
	double spread, scale;
};

struct grouping {
	struct af_ranks *all;
	struct feature features[FEATURES];
	uint32_t nr;               /* of the features */
	float *values, *variances; /* by rank and feature */
	struct {
		uint32_t members;
		double values[FEATURES];
		double variances[FEATURES], each[FEATURES]; /* of the value; of a member's */
	} groups[GROUPS];
	uint32_t nr_groups;
	uint32_t *of; /* by rank */
	float *column;
	double sigmas; /* that chance explains, of so many ranks */
};

/* Over all ranks, by cell. */
struct extent {
	double most, least, sum;
	uint32_t nr;
};

static struct extent *extents_find(const struct af_ranks *all, struct ranks_sums *s)
{
	struct extent *e = af_xcalloc((size_t)s->nr * AF_RANK_KINDS, sizeof *e);

	for (uint32_t i = 0; i < all->nr; i++) {
		ranks_sums_clear(s);
		ranks_sums_add(s, all, &all->profiles[i], 1);
		for (uint32_t j = 0; j < s->nr_touched; j++) {
			struct extent *at = &e[s->touched[j]];
			double ns = s->ns[s->touched[j]];
			at->most = ns > at->most ? ns : at->most;
			at->least = !at->nr || ns < at->least ? ns : at->least;
			at->sum += ns;
			at->nr++;
		}
	}
	return e;
}

/* Waiting tells ranks apart only where most ranks do not wait; of MPI only all of it. */
static bool is_feature(const struct af_ranks *all, const struct extent *e, uint32_t cell)
{
	enum af_rank_kind kind = (enum af_rank_kind)(cell % AF_RANK_KINDS);

	if (kind == AF_RANK_WAIT)
		return e->sum / all->nr * 10 < e->most;
	return kind == AF_RANK_MPI ? cell < AF_RANK_KINDS : ranks_kind_is_own(kind);
}

static int by_spread(const void *a, const void *b)
{
	const struct feature *x = a, *y = b;

	if (x->spread != y->spread)
		return x->spread < y->spread ? 1 : -1;
	return x->cell < y->cell ? 1 : x->cell > y->cell ? -1 : 0;
}

/* The time of a rank's own work, on average. */
static double own_time(const struct af_ranks *all)
{
	double sum = 0;

	for (uint32_t i = 0; i < all->nr; i++)
		for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
			if (ranks_kind_is_own((enum af_rank_kind)k))
				sum += (double)all->ranks[i].kinds_ns[k];
	return sum / all->nr;
}

static void features_choose(struct grouping *g, const struct extent *e, uint32_t nr_paths)
{
	const struct af_ranks *all = g->all;
	double wall = (double)all->result.wall_ns, own = own_time(all) / 10;
	struct feature *found = af_xcalloc((size_t)nr_paths * AF_RANK_KINDS, sizeof *found);
	uint32_t nr = 0;

	own = own > wall / 100 ? own : wall / 100;
	for (uint32_t p = 0; p < nr_paths * AF_RANK_KINDS; p++) {
		double scale = p % AF_RANK_KINDS == AF_RANK_MPI ? wall / 10 : own;
		double spread = e[p].most - (e[p].nr == all->nr ? e[p].least : 0);
		if (e[p].nr && spread > scale && is_feature(all, &e[p], p))
			found[nr++] = (struct feature){p, spread, scale};
	}
	AF_SORT(found, nr, by_spread);
	g->nr = nr < FEATURES ? nr : FEATURES;
	memcpy(g->features, found, g->nr * sizeof *found);
	free(found);
}

static void vectors_fill(struct grouping *g, struct ranks_sums *s)
{
	g->values = af_xcalloc((size_t)g->all->nr * FEATURES, sizeof *g->values);
	g->variances = af_xcalloc((size_t)g->all->nr * FEATURES, sizeof *g->variances);
	for (uint32_t i = 0; i < g->all->nr; i++) {
		ranks_sums_clear(s);
		ranks_sums_add(s, g->all, &g->all->profiles[i], 1);
		for (uint32_t f = 0; f < g->nr; f++) {
			g->values[i * FEATURES + f] = (float)s->ns[g->features[f].cell];
			g->variances[i * FEATURES + f] = (float)s->variance[g->features[f].cell];
		}
	}
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* How far rank @i is from group @to; alike ones are at most 1 apart. */
static double distance(const struct grouping *g, uint32_t i, uint32_t to, double sigmas)
{
	double most = 0;

	for (uint32_t f = 0; f < g->nr; f++) {
		double by = fabs((double)g->values[i * FEATURES + f] - g->groups[to].values[f]);
		double chance =
		    sigmas * ranks_deviation(g->features[f].cell,
		                             (double)g->variances[i * FEATURES + f],
		                             g->groups[to].each[f], g->groups[to].variances[f]);
		double scale = g->features[f].scale;
		by = by / (chance > scale ? chance : scale);
		most = by > most ? by : most;
	}
	return most;
}

/* The medians of the members of @group; UINT32_MAX: of all ranks. */
static void medians(struct grouping *g, uint32_t group, uint32_t into)
{
	for (uint32_t f = 0; f < g->nr; f++) {
		uint32_t nr = 0;
		double variance = 0;
		for (uint32_t i = 0; i < g->all->nr; i++) {
			if (group != UINT32_MAX && g->of[i] != group)
				continue;
			variance += (double)g->variances[i * FEATURES + f];
			g->column[nr++] = g->values[i * FEATURES + f];
		}
		if (!nr)
			return;
		AF_SORT(g->column, nr, by_value);
		g->groups[into].values[f] = (double)g->column[nr / 2];
		g->groups[into].each[f] = variance / nr;
		g->groups[into].variances[f] = variance / nr / nr;
	}
}

static void found_by(struct grouping *g, uint32_t rank)
{
	uint32_t to = g->nr_groups++;

	for (uint32_t f = 0; f < g->nr; f++) {
		g->groups[to].values[f] = (double)g->values[rank * FEATURES + f];
		g->groups[to].variances[f] = (double)g->variances[rank * FEATURES + f];
		g->groups[to].each[f] = g->groups[to].variances[f];
	}
}

static void assign(struct grouping *g, bool may_found)
{
	for (uint32_t to = 0; to < g->nr_groups; to++)
		g->groups[to].members = 0;
	for (uint32_t i = 0; i < g->all->nr; i++) {
		double least = DBL_MAX;
		for (uint32_t to = 0; to < g->nr_groups; to++) {
			double far = distance(g, i, to, g->sigmas);
			if (far < least) {
				least = far;
				g->of[i] = to;
			}
		}
		if (may_found && least > 1 && g->nr_groups < GROUPS) {
			g->of[i] = g->nr_groups;
			found_by(g, i);
		}
		g->groups[g->of[i]].members++;
	}
}

/* The member nearest to the medians, sampling noise or not. */
static uint32_t typical_of(const struct grouping *g, uint32_t group)
{
	double least = DBL_MAX;
	uint32_t is = 0;

	for (uint32_t i = 0; i < g->all->nr; i++) {
		double far = g->of[i] == group ? distance(g, i, group, 0) : DBL_MAX;
		if (far < least) {
			least = far;
			is = i;
		}
	}
	return is;
}

/* Groups that have members, the largest first; of equal ones the one of the first rank. */
static void results_make(struct grouping *g)
{
	struct af_ranks_result *r = &g->all->result;
	bool done[GROUPS] = {false};

	r->groups = af_xcalloc(g->nr_groups, sizeof *r->groups);
	for (;;) {
		uint32_t best = UINT32_MAX;
		for (uint32_t i = 0; i < g->all->nr; i++) {
			uint32_t of = g->of[i];
			if (!done[of] &&
			    (best == UINT32_MAX || g->groups[of].members > g->groups[best].members))
				best = of;
		}
		if (best == UINT32_MAX)
			return;
		struct af_rank_group *to = &r->groups[r->nr_groups];
		done[best] = true;
		to->nr = g->groups[best].members;
		to->typical = typical_of(g, best);
		for (uint32_t i = 0; i < g->all->nr; i++) {
			struct af_rank *rank = &g->all->ranks[i];
			if (g->of[i] != best)
				continue;
			rank->group = r->nr_groups;
			for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
				to->mean_ns[k] += rank->kinds_ns[k] / to->nr;
		}
		r->nr_groups++;
	}
}

void ranks_groups_make(struct af_ranks *all)
{
	struct grouping *g = af_xcalloc(1, sizeof *g);
	struct ranks_sums s;

	g->all = all;
	g->of = af_xcalloc(all->nr, sizeof *g->of);
	g->column = af_xcalloc(all->nr, sizeof *g->column);
	ranks_sums_open(&s, all);
	struct extent *e = extents_find(all, &s);
	features_choose(g, e, s.nr);
	free(e);
	vectors_fill(g, &s);
	ranks_sums_close(&s);
	g->sigmas = 1 + sqrt(2 * log(all->nr + 1.0));
	g->nr_groups = 1;
	medians(g, UINT32_MAX, 0);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		assign(g, !turn);
		for (uint32_t to = 0; to < g->nr_groups; to++)
			medians(g, to, to);
	}
	results_make(g);
	free(g->values);
	free(g->variances);
	free(g->column);
	free(g->of);
	free(g);
}
