/* Curves: their values, their reverse, one behind another. */
#include <math.h>

#include "analyse/clocks/private.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > AF_CLOCK_UNKNOWN - b ? AF_CLOCK_UNKNOWN : a + b;
}

/* Behind the ends the offset goes on with its drift, and the bound grows. */
static struct af_clock_knot beyond(const struct af_clock_curve *c, const struct af_clock_knot *k,
                                   int64_t at_ns)
{
	double away = (double)at_ns - (double)k->at_ns;
	struct af_clock_knot is = {.at_ns = at_ns, .bound_ns = k->bound_ns};

	is.offset_ns = k->offset_ns + (int64_t)(c->drift * away);
	if (k->bound_ns != AF_CLOCK_UNKNOWN)
		is.bound_ns += (uint64_t)(c->loose * fabs(away));
	return is;
}

struct af_clock_knot clock_curve_at(const struct af_clock_curve *c, int64_t at_ns)
{
	const struct af_clock_knot *k = c->knots;
	uint32_t i = 1;

	if (at_ns <= k[0].at_ns)
		return beyond(c, &k[0], at_ns);
	while (i < c->nr && k[i].at_ns < at_ns)
		i++;
	if (i == c->nr)
		return beyond(c, &k[c->nr - 1], at_ns);
	const struct af_clock_knot *a = &k[i - 1], *b = &k[i];
	double part = ((double)at_ns - (double)a->at_ns) / ((double)b->at_ns - (double)a->at_ns);
	struct af_clock_knot is = {.at_ns = at_ns, .bound_ns = AF_CLOCK_UNKNOWN};
	is.offset_ns =
	    a->offset_ns + (int64_t)llround(part * (double)(b->offset_ns - a->offset_ns));
	if (a->bound_ns != AF_CLOCK_UNKNOWN && b->bound_ns != AF_CLOCK_UNKNOWN)
		is.bound_ns =
		    (uint64_t)ceil((1 - part) * (double)a->bound_ns + part * (double)b->bound_ns);
	return is;
}

void clock_curve_reverse(const struct af_clock_curve *c, struct af_clock_curve *reverse)
{
	*reverse = (struct af_clock_curve){.drift = -c->drift, .loose = c->loose};
	/* A knot of b at its time of a: the offsets are each other's negative there. */
	for (uint32_t i = 0; i < c->nr; i++) {
		const struct af_clock_knot *k = &c->knots[i];
		struct af_clock_knot is = {.at_ns = k->at_ns + k->offset_ns,
		                           .offset_ns = -k->offset_ns,
		                           .bound_ns = k->bound_ns};
		if (is.bound_ns !=
		    AF_CLOCK_UNKNOWN) /* the bound is of another time, by the drift */
			is.bound_ns = sum(is.bound_ns, is.bound_ns / 1000 + 1);
		if (!reverse->nr || is.at_ns > reverse->knots[reverse->nr - 1].at_ns)
			reverse->knots[reverse->nr++] = is;
	}
}

void clock_curve_chain(const struct af_clock_curve *c, const struct af_clock_curve *next,
                       struct af_clock_curve *chain)
{
	*chain = *c;
	for (uint32_t i = 0; i < c->nr; i++) {
		struct af_clock_knot *k = &chain->knots[i];
		struct af_clock_knot then = clock_curve_at(next, k->at_ns + k->offset_ns);
		uint64_t moved = k->bound_ns == AF_CLOCK_UNKNOWN ? 0 : k->bound_ns / 1000 + 1;
		k->offset_ns += then.offset_ns;
		k->bound_ns = sum(sum(k->bound_ns, then.bound_ns), moved);
	}
	chain->drift = c->drift + next->drift;
	chain->loose = c->loose + next->loose;
}
