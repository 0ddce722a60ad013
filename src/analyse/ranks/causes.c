/*
 * Why is a rank odd? Its times by path are held against the mean of the largest group, the typical
 * rank: the path with the greatest difference, followed down as long as one path below has most of
 * it. A device that takes longer is the cause, not the thread that polls it meanwhile; and waiting
 * counts only where the typical rank does not wait.
 */
#include <stdlib.h>

#include "analyse/ranks/private.h"
#include "base/arena.h"

enum { SIGMAS = 3 };
#define FOLLOWED 0.7  /* of a difference: then the path goes on */
#define PREFERRED 0.6 /* of the greatest difference: then a kind that explains more is the cause */
#define LEAST 0.01    /* of the run: smaller differences are none */

/* Where two sums differ most, by kind. */
struct peak {
	uint32_t path;
	double by, noise, has, typical; /* by: with its sign made positive */
};

struct comparing {
	struct af_ranks *all;
	struct ranks_sums typical, own;
	uint32_t nr_typical; /* ranks in the mean */
};

static double difference(const struct comparing *c, uint32_t cell, bool less)
{
	double by = c->own.ns[cell] - c->typical.ns[cell];

	return less ? -by : by;
}

static double noise_of(const struct comparing *c, uint32_t cell)
{
	double mean = c->typical.variance[cell];

	return SIGMAS * ranks_deviation(cell, c->own.variance[cell], mean * c->nr_typical, mean);
}

/* Does a difference at @cell count? */
static bool counts(const struct comparing *c, uint32_t cell, enum af_rank_kind kind, bool less)
{
	if (kind == AF_RANK_WAIT && !less)
		return c->typical.ns[cell] * 10 < c->own.ns[cell];
	return true;
}

/* The path below @path that has most of its difference, or 0. */
static uint32_t follow(const struct comparing *c, uint32_t path, enum af_rank_kind kind, bool less,
                       double least)
{
	uint32_t best = 0;

	for (uint32_t child = c->all->paths.nodes[path].first_child; child;
	     child = c->all->paths.nodes[child].next_sibling) {
		double by = difference(c, ranks_cell(child, kind), less);
		if (by >= least && (!best || by > difference(c, ranks_cell(best, kind), less)))
			best = child;
	}
	return best;
}

static struct peak peak_find(const struct comparing *c, enum af_rank_kind kind, bool less)
{
	const struct ranks_sums *lists[] = {&c->own, less ? &c->typical : NULL};
	struct peak p = {0};
	bool any = false;

	for (uint32_t l = 0; l < 2; l++)
		for (uint32_t i = 0; lists[l] && i < lists[l]->nr_touched; i++) {
			uint32_t cell = lists[l]->touched[i];
			if (cell % AF_RANK_KINDS != (uint32_t)kind || !counts(c, cell, kind, less))
				continue;
			double by = difference(c, cell, less);
			uint32_t path = cell / AF_RANK_KINDS;
			if (by > p.by || (any && by == p.by && path > p.path)) {
				p.by = by;
				p.path = path;
				any = true;
			}
		}
	for (uint32_t on; any && (on = follow(c, p.path, kind, less, p.by * FOLLOWED));)
		p.path = on;
	uint32_t cell = ranks_cell(p.path, kind);
	p.has = c->own.ns[cell];
	p.typical = c->typical.ns[cell];
	p.noise = noise_of(c, cell);
	p.by = any ? difference(c, cell, less) : 0;
	if (p.by <= p.noise || p.by < LEAST * (double)c->all->result.wall_ns)
		p.by = 0;
	return p;
}

/* The kind of the cause by its peaks; AF_RANK_KINDS for none. */
static enum af_rank_kind kind_choose(const struct peak peaks[AF_RANK_KINDS])
{
	static const enum af_rank_kind order[] = {AF_RANK_DEVICE, AF_RANK_DISK, AF_RANK_CPU,
	                                          AF_RANK_WAIT};
	double most = 0;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		most = peaks[order[i]].by > most ? peaks[order[i]].by : most;
	if (peaks[AF_RANK_QUEUED].by * PREFERRED / 2 > most)
		return AF_RANK_QUEUED;
	for (size_t i = 0; most > 0 && i < sizeof order / sizeof *order; i++)
		if (peaks[order[i]].by >= PREFERRED * most)
			return order[i];
	return AF_RANK_KINDS;
}

static void cause_set(struct af_rank *rank, enum af_rank_kind kind, const struct peak *p, bool less)
{
	rank->has_cause = true;
	rank->kind = kind;
	rank->path = p->path;
	rank->less = less;
	rank->has_ns = af_tables_count(p->has);
	rank->typical_ns = af_tables_count(p->typical);
	rank->noise_ns = p->noise;
}

/*
 * Others wait at most for what it does more. Where time inside MPI is known, a rank that all wait
 * for has less of it, by as much.
 */
static uint64_t delay_of(const struct comparing *c, uint32_t nr, const struct peak *p)
{
	double delay = p->by, typical = c->typical.ns[AF_RANK_MPI];

	if (typical > 0) {
		double less = typical - c->own.ns[ranks_cell(0, AF_RANK_MPI)];
		delay = less < delay ? less : delay;
	}
	return nr > 1 ? af_tables_count(delay) : 0;
}

static void cause_find(struct comparing *c, uint32_t i)
{
	struct af_ranks *all = c->all;
	struct af_rank *rank = &all->ranks[i];
	struct peak peaks[AF_RANK_KINDS] = {{0}};

	ranks_sums_clear(&c->own);
	ranks_sums_add(&c->own, all, &all->profiles[i], 1);
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++)
		peaks[k] = peak_find(c, (enum af_rank_kind)k, false);
	enum af_rank_kind kind = kind_choose(peaks);
	if (kind < AF_RANK_KINDS) {
		cause_set(rank, kind, &peaks[kind], false);
		rank->delay_ns = delay_of(c, all->nr, &peaks[kind]);
		rank->explains_ns = af_tables_count((double)rank->delay_ns * (all->nr - 1));
		return;
	}
	for (uint32_t k = 0; k < AF_RANK_KINDS; k++) {
		peaks[k] = (struct peak){0};
		if (k != AF_RANK_WAIT && k != AF_RANK_QUEUED && k != AF_RANK_MPI)
			peaks[k] = peak_find(c, (enum af_rank_kind)k, true);
	}
	kind = kind_choose(peaks);
	if (kind < AF_RANK_KINDS)
		cause_set(rank, kind, &peaks[kind], true);
}

/* For qsort(): needs the ranks beside the indexes. */
struct odd_order {
	const struct af_rank *rank;
	uint32_t index;
};

static int by_explained(const void *a, const void *b)
{
	const struct odd_order *x = a, *y = b;

	if (x->rank->explains_ns != y->rank->explains_ns)
		return x->rank->explains_ns < y->rank->explains_ns ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void odd_order(struct af_ranks *all)
{
	struct odd_order *order = af_xcalloc(all->nr, sizeof *order);
	struct af_ranks_result *r = &all->result;

	for (uint32_t i = 0; i < all->nr; i++)
		if (all->ranks[i].odd)
			order[r->nr_odd++] = (struct odd_order){&all->ranks[i], i};
	AF_SORT(order, r->nr_odd, by_explained);
	r->odd = af_xcalloc(r->nr_odd + 1, sizeof *r->odd);
	for (uint32_t i = 0; i < r->nr_odd; i++)
		r->odd[i] = order[i].index;
	free(order);
}

void ranks_causes_find(struct af_ranks *all)
{
	const struct af_ranks_result *r = &all->result;
	struct comparing c = {.all = all, .nr_typical = r->groups[0].nr};

	ranks_sums_open(&c.typical, all);
	ranks_sums_open(&c.own, all);
	for (uint32_t i = 0; i < all->nr; i++)
		if (!all->ranks[i].group)
			ranks_sums_add(&c.typical, all, &all->profiles[i], 1.0 / c.nr_typical);
	for (uint32_t i = 0; i < all->nr; i++) {
		struct af_rank *rank = &all->ranks[i];
		const struct af_rank_group *of = &r->groups[rank->group];
		/* A rank of a large group is not odd; of two ranks, either may be the odd one. */
		rank->odd = rank->group && all->nr > 2 && (of->nr == 1 || of->nr <= all->nr / 8);
		if (rank->odd || (rank->group && of->typical == i))
			cause_find(&c, i);
	}
	ranks_sums_close(&c.typical);
	ranks_sums_close(&c.own);
	odd_order(all);
}
