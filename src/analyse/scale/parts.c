/* Paths, functions and calls: their times in all sets, and how they grow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/scale/private.h"
#include "base/arena.h"

enum { SIGMAS = 3, PATHS = 200 };
#define FOLLOWED 0.7     /* of a loss: then the paths below have it */
#define LEAST_LOSS 0.005 /* of the run: smaller losses are not followed */

/* growth */

/* Has it the times of the rank with most? */
static bool has_most(const struct scale_part *p)
{
	return !p->is_function && (p->kind == SCALE_CPU || p->kind == SCALE_DEVICE);
}

double scale_of_rank(const struct af_scale *s, const struct scale_part *p, uint32_t i)
{
	return has_most(p) ? (double)p->most[i] : (double)p->ns[i] / (double)s->sets[i].nr_ranks;
}

/* The time of a rank of set @i, if it scaled as the smallest set says. */
static double ideal(const struct af_scale *s, const struct scale_part *p, uint32_t i)
{
	return s->weak ? scale_of_rank(s, p, 0) : (double)p->ns[0] / (double)s->sets[i].nr_ranks;
}

/*
 * The deviation of a rank's time, as a sum of samples that each stand for as much time. The largest
 * of n is about √(2 ln n) deviations above the mean by chance alone.
 */
static double deviation(const struct af_scale *s, const struct scale_part *p, uint32_t i)
{
	const struct scale_set *set = &s->sets[i];
	double ranks = (double)set->nr_ranks, each;

	if (p->kind >= SCALE_KINDS || !set->samples[p->kind])
		return 0;
	each = (double)set->sampled_ns[p->kind] / (double)set->samples[p->kind];
	if (has_most(p))
		return sqrt((double)p->most[i] * each) * (1 + sqrt(2 * log(ranks)) / SIGMAS);
	return sqrt((double)p->ns[i] * each) / ranks;
}

static uint64_t efficiency_at(const struct af_scale *s, const struct scale_part *p, uint32_t i)
{
	double has = scale_of_rank(s, p, i), least = ideal(s, p, i);

	/* Time that is in no smaller set has no ideal, but costs all that it takes. */
	return has > 0 ? af_tables_count(least / has * 1e4) : 10000;
}

static void exponent_fit(const struct af_scale *s, struct scale_part *p)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		if (!p->ns[i])
			continue;
		double x = log((double)s->sets[i].nr_ranks), y = log((double)p->ns[i]);
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	double by = n * sxx - sx * sx;
	p->has_exponent = n > 1 && by > 1e-9;
	p->exponent = p->has_exponent ? (n * sxy - sx * sy) / by : 0;
}

static double loss_at(const struct af_scale *s, const struct scale_part *p, uint32_t i,
                      double *noise)
{
	double own = deviation(s, p, i), of_first = deviation(s, p, 0);

	if (!s->weak)
		of_first *= (double)s->sets[0].nr_ranks / (double)s->sets[i].nr_ranks;
	*noise = SIGMAS * sqrt(own * own + of_first * of_first);
	return scale_of_rank(s, p, i) - ideal(s, p, i);
}

static void growth_find(const struct af_scale *s, struct scale_part *p)
{
	double noise;

	exponent_fit(s, p);
	p->lost_ns = loss_at(s, p, s->nr - 1, &p->noise_ns);
	p->efficiency = efficiency_at(s, p, s->nr - 1);
	/* From there on it is efficient on no number of ranks. */
	for (uint32_t i = s->nr; --i;) {
		double lost = loss_at(s, p, i, &noise);
		if (efficiency_at(s, p, i) >= AF_SCALE_EFFICIENT || lost <= noise ||
		    lost <= LEAST_LOSS * (double)s->sets[i].wall_ns)
			break;
		p->stops_at = s->sets[i].nr_ranks;
	}
}

static struct scale_part *part_add(struct scale_parts *to, enum scale_kind kind)
{
	AF_GROW(to->all, to->nr, to->cap);
	to->all[to->nr] = (struct scale_part){.kind = kind};
	return &to->all[to->nr++];
}

/* Rows that stop first come first; then those of the greatest losses. */
static int by_stop(const void *a, const void *b)
{
	const struct scale_part *x = a, *y = b;
	uint32_t at = x->stops_at ? x->stops_at : UINT32_MAX;
	uint32_t other = y->stops_at ? y->stops_at : UINT32_MAX;

	if (at != other)
		return at < other ? -1 : 1;
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns < y->lost_ns ? 1 : -1;
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* Is it large enough to be shown, in any set? */
static bool is_large(const struct af_scale *s, const struct scale_part *p, uint64_t *const *all,
                     uint32_t least)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (p->ns[i] && (double)p->ns[i] * 1e4 >= (double)all[i][0] * least)
			return true;
	return false;
}

static void parts_end(const struct af_scale *s, struct scale_parts *to)
{
	for (uint32_t i = 0; i < to->nr; i++)
		growth_find(s, &to->all[i]);
	AF_SORT(to->all, to->nr, by_stop);
}

/* paths */

/* By set: times of @kind by path, with everything below. */
static void totals_make(const struct af_scale *s, enum scale_kind kind,
                        uint64_t *totals[AF_SCALE_SETS])
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct scale_set *set = &s->sets[i];
		totals[i] = af_xcalloc(s->paths.nr, sizeof *totals[i]);
		for (uint32_t p = s->paths.nr; p--;) {
			scale_sum(&totals[i][p], p < set->cap[kind] ? set->ns[kind][p] : 0);
			if (p)
				scale_sum(&totals[i][s->paths.nodes[p].parent], totals[i][p]);
		}
	}
}

static void totals_free(const struct af_scale *s, uint64_t *totals[AF_SCALE_SETS])
{
	for (uint32_t i = 0; i < s->nr; i++)
		free(totals[i]);
}

static struct scale_part path_part(const struct af_scale *s, enum scale_kind kind, uint32_t path,
                                   uint64_t *const *totals)
{
	struct scale_part p = {.kind = kind, .path = path};

	for (uint32_t i = 0; i < s->nr; i++) {
		p.ns[i] = totals[i][path];
		if (has_most(&p) && path < s->sets[i].cap_most[kind])
			p.most[i] = s->sets[i].most[kind][path];
	}
	growth_find(s, &p);
	return p;
}

/* Does it lose time, beyond what may be chance? */
static bool loses(const struct af_scale *s, const struct scale_part *p)
{
	return p->lost_ns > p->noise_ns &&
	       p->lost_ns >= LEAST_LOSS * (double)s->sets[s->nr - 1].wall_ns;
}

/* Does the path lose time that paths below it do not explain? Then it is a row. */
static bool is_row(const struct af_scale *s, const struct scale_part *p, uint64_t *const *totals)
{
	double explained = 0;

	if (!loses(s, p))
		return false;
	for (uint32_t c = s->paths.nodes[p->path].first_child; c;
	     c = s->paths.nodes[c].next_sibling) {
		struct scale_part below = path_part(s, p->kind, c, totals);
		explained += loses(s, &below) ? below.lost_ns : 0;
	}
	return explained < FOLLOWED * p->lost_ns;
}

void scale_paths(const struct af_scale *s, struct scale_parts *to)
{
	for (uint32_t k = 0; k < SCALE_KINDS; k++) {
		uint64_t *totals[AF_SCALE_SETS];
		totals_make(s, (enum scale_kind)k, totals);
		for (uint32_t path = 1; path < s->paths.nr; path++) {
			if (!totals[s->nr - 1][path])
				continue;
			struct scale_part p = path_part(s, (enum scale_kind)k, path, totals);
			if (is_row(s, &p, totals) && to->nr < PATHS)
				*part_add(to, p.kind) = p;
		}
		totals_free(s, totals);
	}
	AF_SORT(to->all, to->nr, by_stop);
}

/* functions: what is their own, by name */

static void functions_of(const struct af_scale *s, enum scale_kind kind, uint32_t least,
                         struct scale_parts *to)
{
	uint64_t *totals[AF_SCALE_SETS];
	struct scale_part *of = af_xcalloc(s->paths.nr_names, sizeof *of);

	totals_make(s, kind, totals);
	for (uint32_t p = 1; p < s->paths.nr; p++) {
		struct scale_part *at = &of[s->paths.nodes[p].name];
		for (uint32_t i = 0; i < s->nr; i++)
			if (p < s->sets[i].cap[kind])
				scale_sum(&at->ns[i], s->sets[i].ns[kind][p]);
		at->path = p;
	}
	for (uint32_t n = 0; n < s->paths.nr_names; n++) {
		of[n].kind = kind;
		of[n].is_function = true;
		if (of[n].path && is_large(s, &of[n], totals, least))
			*part_add(to, kind) = of[n];
	}
	totals_free(s, totals);
	free(of);
}

void scale_functions(const struct af_scale *s, uint32_t least, struct scale_parts *to)
{
	/* Waits end in a state, not in a function: the paths have them. */
	functions_of(s, SCALE_CPU, least, to);
	functions_of(s, SCALE_DEVICE, least, to);
	parts_end(s, to);
}

void scale_calls(const struct af_scale *s, uint32_t least, struct scale_parts *to)
{
	uint64_t sums[AF_SCALE_SETS] = {0}, *totals[AF_SCALE_SETS];

	for (uint32_t i = 0; i < s->nr; i++) {
		totals[i] = &sums[i];
		for (uint32_t c = 0; c < s->sets[i].cap_calls; c++)
			scale_sum(&sums[i], s->sets[i].calls_ns[c]);
	}
	for (uint32_t c = 0; c < s->calls.nr; c++) {
		struct scale_part p = {.kind = SCALE_CALL, .call = c};
		for (uint32_t i = 0; i < s->nr; i++)
			p.ns[i] = c < s->sets[i].cap_calls ? s->sets[i].calls_ns[c] : 0;
		if (is_large(s, &p, totals, least))
			*part_add(to, SCALE_CALL) = p;
	}
	parts_end(s, to);
}
