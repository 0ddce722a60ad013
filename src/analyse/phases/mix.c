/*
 * The steady part of a program that launches nothing: the longest time in which its CPU samples
 * are of about the same functions. A run is cut into 20 parts (10 or 5, if there are too few
 * samples), and parts in a row belong together when each function has about the share that it has
 * in all of them, and none is idle beside the others (others' load makes a program slower, too).
 * Outside of them is little but what any start does: importing modules, linking libraries,
 * compiling. Else two kinds of work take turns, and neither of them is the program's steady one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/mix.h"
#include "analyse/world/samples.h"
#include "base/arena.h"

enum {
	SAMPLES_MOST = 1 << 20, /* that are kept: of more about a half, and so on */
	PARTS_LEAST = 3,
	PART_SAMPLES = 50,    /* in each part that is steady, at least */
	RATE_FACTOR = 4,      /* and a quarter to four times the CPU time a second of all */
	OUTSIDE_PERCENT = 25, /* of the samples that do not load anything, at most */
	WHOLE_PERCENT = 95    /* of the run: then it has no other phases */
};

/* About half as many are kept from now on. */
static void mix_thin(struct phase_mix *m)
{
	uint32_t kept = 0;

	m->thin = m->thin << 1 | 1;
	for (uint32_t i = 0; i < m->nr; i++)
		if (phase_keeps(m->samples[i].at_ns, m->thin))
			m->samples[kept++] = m->samples[i];
	m->nr = kept;
}

/* The sample @s, whose location is @at. */
static void mix_keep(struct phase_mix *m, const struct phase_sample *s,
                     const struct af_stack_location *at)
{
	while (m->nr == SAMPLES_MOST && phase_keeps(s->at_ns, m->thin))
		mix_thin(m);
	if (!phase_keeps(s->at_ns, m->thin))
		return;
	AF_GROW(m->samples, m->nr, m->cap);
	m->samples[m->nr] = *s;
	m->samples[m->nr++].location = af_stack_locations_number(&m->locations, at);
}

void phase_mix_sample(struct phase_mix *m, const struct af_sample *s)
{
	const struct phase_sample is = {
	    .at_ns = s->time_ns,
	    .weight_ns = s->weight_ns < UINT32_MAX ? (uint32_t)s->weight_ns : UINT32_MAX,
	};
	struct af_stack_location at = s->at;

	if (!s->weight_ns || s->at.path == AF_PATH_NONE)
		return;
	at.tid = 0;
	mix_keep(m, &is, &at);
}

void phase_mix_merge(struct phase_mix *m, const struct phase_mix *from)
{
	while (m->thin < from->thin)
		mix_thin(m);
	for (uint32_t i = 0; i < from->nr; i++)
		mix_keep(m, &from->samples[i], &from->locations.all[from->samples[i].location]);
}

static int sample_order(const void *a, const void *b)
{
	const struct phase_sample *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	return x->weight_ns < y->weight_ns ? -1 : x->weight_ns > y->weight_ns;
}

/* A location that samples have, and its number so far. */
struct mix_location {
	struct af_stack_location at;
	uint32_t number;
};

static int location_order(const void *a, const void *b)
{
	const struct mix_location *x = a, *y = b;

	if (x->at.process != y->at.process)
		return x->at.process < y->at.process ? -1 : 1;
	if (x->at.path != y->at.path)
		return x->at.path < y->at.path ? -1 : 1;
	return x->at.kstack < y->at.kstack ? -1 : x->at.kstack > y->at.kstack;
}

/* Number the locations in an order that does not depend on that of the samples, and sort these. */
static void mix_sort(struct phase_mix *m)
{
	struct mix_location *all = af_xcalloc(m->locations.nr, sizeof *all);
	uint32_t *numbers = af_xcalloc(m->locations.nr, sizeof *numbers), nr = 0;

	for (uint32_t i = 0; i < m->nr; i++)
		numbers[m->samples[i].location] = 1;
	for (uint32_t i = 0; i < m->locations.nr; i++)
		if (numbers[i])
			all[nr++] = (struct mix_location){m->locations.all[i], i};
	AF_SORT(all, nr, location_order);
	for (uint32_t i = 0; i < nr; i++) {
		m->locations.all[i] = all[i].at;
		numbers[all[i].number] = i;
	}
	m->locations.nr = nr;
	for (uint32_t i = 0; i < m->nr; i++)
		m->samples[i].location = numbers[m->samples[i].location];
	AF_SORT(m->samples, m->nr, sample_order);
	free(all);
	free(numbers);
}

/* The sums of the parts [@from, @to). */
static struct mix_part part_sum(const struct mix *x, uint32_t from, uint32_t to)
{
	struct mix_part sum = {0};

	for (uint32_t p = from; p < to; p++) {
		sum.nr += x->parts[p].nr;
		sum.loading += x->parts[p].loading;
		sum.cpu_ns += x->parts[p].cpu_ns;
		for (uint32_t f = 0; f < x->nr_features; f++)
			sum.of[f] += x->parts[p].of[f];
	}
	return sum;
}

/* How far a share of @n samples may be from @share, all else being equal, and still be the same. */
static double tolerance(double share, uint32_t n)
{
	return MIX_DIFFER + 2.5 * sqrt(share * (1 - share) / n);
}

/* Are the parts [@from, @to) alike? *@differ: the farthest of their shares. */
static bool is_even(const struct mix *x, uint32_t from, uint32_t to, double *differ)
{
	struct mix_part all = part_sum(x, from, to);
	uint64_t mean_ns = all.cpu_ns / (to - from);

	*differ = 0;
	for (uint32_t p = from; p < to; p++) {
		const struct mix_part *part = &x->parts[p];
		if (part->nr < PART_SAMPLES || part->cpu_ns / RATE_FACTOR > mean_ns ||
		    mean_ns / RATE_FACTOR > part->cpu_ns)
			return false;
		for (uint32_t f = 0; f < x->nr_features; f++) {
			double share = (double)all.of[f] / all.nr;
			double apart = fabs((double)part->of[f] / part->nr - share);
			if (apart > tolerance(share, part->nr))
				return false;
			*differ = apart > *differ ? apart : *differ;
		}
	}
	return true;
}

/* The longest row of parts that are alike and do not mostly load; 0: none. */
static uint32_t longest_even(const struct mix *x, uint32_t *from, double *differ)
{
	for (uint32_t nr = x->nr_parts; nr >= PARTS_LEAST; nr--)
		for (*from = 0; *from + nr <= x->nr_parts; ++*from) {
			struct mix_part all = part_sum(x, *from, *from + nr);
			if (all.loading < all.nr / 2 && is_even(x, *from, *from + nr, differ))
				return nr;
		}
	return 0;
}

struct mix_sums {
	uint64_t nr, loading;
};

/* The samples after @from_ns and not after @to_ns. */
static struct mix_sums sums_of(const struct mix *x, uint64_t from_ns, uint64_t to_ns)
{
	struct mix_sums sums = {0};

	for (uint32_t i = 0; i < x->nr; i++) {
		uint64_t at_ns = x->samples[i].at_ns;
		if (at_ns <= from_ns || at_ns > to_ns)
			continue;
		sums.nr++;
		sums.loading += x->loads[x->samples[i].location];
	}
	return sums;
}

static bool mix_steady(struct mix *x, uint64_t run_ns, struct phase_mixed *found)
{
	uint32_t from;
	double differ;
	uint32_t nr = longest_even(x, &from, &differ);

	if (!nr)
		return false;
	mix_edges(x, from, from + nr, found);
	struct mix_sums all = sums_of(x, x->start_ns, x->end_ns),
			in = sums_of(x, found->from_ns, found->to_ns),
			before = sums_of(x, x->start_ns, found->from_ns);
	uint64_t works = all.nr - all.loading, outside = works - (in.nr - in.loading);
	if (outside > works / 100 * OUTSIDE_PERCENT)
		return false;
	found->loading_percent = before.nr ? (uint32_t)(100 * before.loading / before.nr) : 0;
	found->parts = x->nr_parts;
	found->differ_percent = (uint32_t)ceil(differ * 100);
	return found->to_ns > found->from_ns &&
	       found->to_ns - found->from_ns < run_ns / 100 * WHOLE_PERCENT;
}

bool phase_mix_find(struct phase_mix *m, const struct af_world *w, uint64_t run_ns,
                    struct phase_mixed *found)
{
	static const uint32_t parts[] = {MIX_PARTS, MIX_PARTS / 2, MIX_PARTS / 4};
	struct mix x = {.samples = m->samples, .nr = m->nr};
	bool done = false;

	if (m->nr < PARTS_LEAST * PART_SAMPLES)
		return false;
	mix_sort(m);
	x.start_ns = m->samples[0].at_ns - 1;
	x.end_ns = m->samples[m->nr - 1].at_ns;
	mix_names(&x, &m->locations, w);
	for (size_t i = 0; !done && i < sizeof parts / sizeof *parts; i++) {
		mix_cut(&x, parts[i]);
		done = mix_steady(&x, run_ns, found);
	}
	mix_free(&x);
	return done;
}

void phase_mix_free(struct phase_mix *m)
{
	af_stack_locations_free(&m->locations);
	free(m->samples);
}
