/*
 * Where a steady part begins and ends, sample by sample: each sample near an edge tells by the
 * functions in its stack how much likelier it is of the steady part than of what lies beyond. The
 * edge is where those before it, together, are likeliest of the one and those after it of the
 * other.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/phases/mix.h"
#include "base/arena.h"

#define SCORE_MOST 4.0 /* of one sample: no single one decides */
#define SCORE_NEAR 2.0 /* edges that are less likely by this are possible (95 %) */

/* How often samples have each set of functions, on the two sides of an edge. */
struct sides {
	struct af_map by_set; /* the number of the set */
	uint32_t *in, *out;   /* by number */
	uint32_t nr_in, nr_out, nr_sets;
};

static uint64_t set_of(const struct mix *x, uint32_t i)
{
	return x->sets[x->samples[i].location];
}

/* Count the samples [@from, @to) as of @side, one of @s. */
static void sides_count(struct sides *s, const struct mix *x, uint32_t from, uint32_t to,
                        uint32_t *side, uint32_t *nr)
{
	for (uint32_t i = from; i < to; i++)
		side[*af_map_get(&s->by_set, set_of(x, i))]++;
	*nr = to - from;
}

static void sides_open(struct sides *s, const struct mix *x)
{
	bool fresh;

	for (uint32_t i = 0; i < x->nr; i++) {
		uint64_t *number = af_map_at(&s->by_set, set_of(x, i), &fresh);
		if (fresh)
			*number = s->nr_sets++;
	}
	s->in = af_xcalloc(s->nr_sets, sizeof *s->in);
	s->out = af_xcalloc(s->nr_sets, sizeof *s->out);
}

static void sides_close(struct sides *s)
{
	af_map_free(&s->by_set);
	free(s->in);
	free(s->out);
}

/* How much likelier the sample is of the inside: a logarithm. */
static double score(const struct sides *s, const struct mix *x, uint32_t i)
{
	uint64_t set = *af_map_get(&s->by_set, set_of(x, i));
	double in = (s->in[set] + 0.5) / (s->nr_in + 0.5 * s->nr_sets);
	double out = (s->out[set] + 0.5) / (s->nr_out + 0.5 * s->nr_sets);

	return fmax(-SCORE_MOST, fmin(SCORE_MOST, log(in / out)));
}

/* The first sample of part @part, or the number of all. */
static uint32_t first_of(const struct mix *x, uint32_t part)
{
	uint32_t low = 0, high = x->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (mix_part_of(x, middle) < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The first sample that is inside, of [@from, @to]; *@low to *@high are possible too. With no
 * samples out there all of these are inside.
 */
static uint32_t first_inside(const struct sides *s, const struct mix *x, uint32_t from, uint32_t to,
                             uint32_t *low, uint32_t *high)
{
	double *sums = af_xcalloc((size_t)to - from + 1, sizeof *sums), best = 0;
	uint32_t at = to;

	for (uint32_t i = to; s->nr_out && i-- > from;) {
		sums[i - from] = sums[i + 1 - from] + score(s, x, i);
		if (sums[i - from] > best) {
			best = sums[i - from];
			at = i;
		}
	}
	at = s->nr_out ? at : from;
	*low = *high = at;
	for (uint32_t i = from; s->nr_out && i <= to; i++)
		if (sums[i - from] > best - SCORE_NEAR) {
			*low = i < *low ? i : *low;
			*high = i > *high ? i : *high;
		}
	free(sums);
	return at;
}

/* The last sample that is inside, 1 added, likewise. */
static uint32_t end_inside(const struct sides *s, const struct mix *x, uint32_t from, uint32_t to)
{
	double sum = 0, best = 0;
	uint32_t at = s->nr_out ? from : to;

	for (uint32_t i = from; s->nr_out && i < to; i++) {
		sum += score(s, x, i);
		if (sum > best) {
			best = sum;
			at = i + 1;
		}
	}
	return at;
}

/* When the time for which the sample stands begins, after the one before it. */
static uint64_t begin_of(const struct mix *x, uint32_t i)
{
	uint64_t at_ns = x->samples[i].at_ns, weight_ns = x->samples[i].weight_ns;
	uint64_t begin_ns = at_ns > weight_ns ? at_ns - weight_ns : 0;

	if (i && begin_ns < x->samples[i - 1].at_ns)
		begin_ns = x->samples[i - 1].at_ns;
	return begin_ns;
}

static void edge_first(const struct mix *x, uint32_t from, uint32_t to, struct phase_mixed *found)
{
	struct sides s = {0};
	uint32_t low, high, begin = first_of(x, from ? from - 1 : 0), out_from = 0, out_to = begin;

	sides_open(&s, x);
	if (from == 1) /* nothing but the part in which the edge lies */
		out_to = first_of(x, from);
	else if (from > 3)
		out_from = first_of(x, from - 3);
	sides_count(&s, x, out_from, out_to, s.out, &s.nr_out);
	sides_count(&s, x, first_of(x, from + 1), first_of(x, to - 1), s.in, &s.nr_in);
	uint32_t at = from ? first_inside(&s, x, begin, first_of(x, from + 1), &low, &high) : 0;
	found->from_ns = begin_of(x, at);
	found->error_ns = x->samples[at].weight_ns;
	if (from) {
		uint64_t before = found->from_ns - begin_of(x, low),
			 after = begin_of(x, high) - found->from_ns;
		uint64_t error_ns = before > after ? before : after;
		found->error_ns = error_ns > found->error_ns ? error_ns : found->error_ns;
	}
	sides_close(&s);
}

static void edge_last(const struct mix *x, uint32_t from, uint32_t to, struct phase_mixed *found)
{
	struct sides s = {0};
	uint32_t end = first_of(x, to + 1), out_from = end, out_to = x->nr;
	uint32_t at = end;

	sides_open(&s, x);
	if (to + 1 == x->nr_parts)
		out_from = first_of(x, to);
	else if (to + 3 < x->nr_parts)
		out_to = first_of(x, to + 3);
	sides_count(&s, x, out_from, out_to, s.out, &s.nr_out);
	sides_count(&s, x, first_of(x, from + 1), first_of(x, to - 1), s.in, &s.nr_in);
	if (to < x->nr_parts)
		at = end_inside(&s, x, first_of(x, to - 1), end);
	found->to_ns = x->samples[at - 1].at_ns;
	sides_close(&s);
}

void mix_edges(const struct mix *x, uint32_t from, uint32_t to, struct phase_mixed *found)
{
	edge_first(x, from, to, found);
	edge_last(x, from, to, found);
}
