/*
 * Bounds of two clocks, collected and thinned out; the curve that they admit: of one line, or of
 * lines for parts of the time.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/clocks/lines.h"
#include "base/arena.h"

enum { THIN_PARTS = 1024, SPLITS = 5, PARTS_MAX = 1 << SPLITS };

static void points_add(struct clock_points *p, int64_t x, int64_t y)
{
	AF_GROW(p->all, p->nr, p->cap);
	p->all[p->nr++] = (struct clock_point){x, y};
}

static int by_time(const void *a, const void *b)
{
	const struct clock_point *p = a, *q = b;

	return p->x != q->x ? (p->x < q->x ? -1 : 1) : p->y < q->y ? -1 : p->y > q->y;
}

/* Keep the tightest of each part of the time: the highest of lower bounds (@sign 1). */
static void points_thin(struct clock_points *p, int sign)
{
	uint32_t nr = 0;

	AF_SORT(p->all, p->nr, by_time);
	int64_t first = p->all[0].x, apart = (p->all[p->nr - 1].x - first) / THIN_PARTS + 1;
	for (uint32_t i = 0, best = 0; i < p->nr; i++) {
		if (sign * p->all[i].y > sign * p->all[best].y)
			best = i;
		if (i + 1 < p->nr &&
		    (p->all[i + 1].x - first) / apart == (p->all[i].x - first) / apart)
			continue;
		p->all[nr++] = p->all[best];
		best = i + 1;
	}
	p->nr = nr;
}

static bool believed(int64_t ns)
{
	return ns > -CLOCK_TIME_MAX && ns < CLOCK_TIME_MAX;
}

void clock_bounds_from_a(struct clock_bounds *b, int64_t sent, int64_t received)
{
	if (!believed(sent) || !believed(received))
		return;
	if (b->lower.nr == CLOCK_HULL_MAX)
		points_thin(&b->lower, 1);
	points_add(&b->lower, received, sent - received);
}

void clock_bounds_from_b(struct clock_bounds *b, int64_t sent, int64_t received)
{
	if (!believed(sent) || !believed(received))
		return;
	if (b->upper.nr == CLOCK_HULL_MAX)
		points_thin(&b->upper, -1);
	points_add(&b->upper, sent, received - sent);
}

void clock_bounds_free(struct clock_bounds *b)
{
	free(b->lower.all);
	free(b->upper.all);
}

static uint64_t bound_of(long double ns)
{
	return ns < (long double)CLOCK_TIME_MAX ? (uint64_t)ceill(ns) : CLOCK_TIME_MAX;
}

static void knot_add(struct af_clock_curve *c, const struct clock_fit *f, int64_t at)
{
	if (c->nr < AF_CLOCK_KNOTS && (!c->nr || at > c->knots[c->nr - 1].at_ns))
		c->knots[c->nr++] =
		    (struct af_clock_knot){.at_ns = at,
		                           .offset_ns = clock_fit_offset(f, at),
		                           .bound_ns = bound_of(clock_fit_error(f, at))};
}

/* The points of @p from @begin up to @end. */
static struct clock_points points_from(const struct clock_points *p, int64_t begin, int64_t end)
{
	uint32_t first = 0, last;

	while (first < p->nr && p->all[first].x < begin)
		first++;
	for (last = first; last < p->nr && p->all[last].x < end; last++)
		;
	return (struct clock_points){p->all + first, last - first, 0};
}

/* A part of the time with a line of its own. */
struct part {
	int64_t begin, end, middle, offset_ns; /* in the middle */
	double slope, error;                   /* the error at the worse end */
};

struct splitting {
	const struct clock_bounds *b;
	struct clock_fit *fit;
	struct part parts[PARTS_MAX];
	uint32_t nr;
	bool contradicted;
};

static bool fit_part(struct splitting *s, int64_t begin, int64_t end)
{
	struct clock_points lower = points_from(&s->b->lower, begin, end),
			    upper = points_from(&s->b->upper, begin, end);

	if (!lower.nr || !upper.nr)
		return false;
	if (clock_fit_points(s->fit, &lower, &upper))
		return true;
	s->contradicted = true;
	return false;
}

static void part_add(struct splitting *s, int64_t begin, int64_t end)
{
	long double error = fmaxl(clock_fit_error(s->fit, begin), clock_fit_error(s->fit, end));
	struct part *p = &s->parts[s->nr++];

	*p = (struct part){.begin = begin, .end = end, .middle = begin + (end - begin) / 2};
	p->offset_ns = clock_fit_offset(s->fit, p->middle);
	p->slope = (double)s->fit->slope;
	p->error = (double)error;
}

/* Parts with bounds of one side only are left out. */
static void split(struct splitting *s, int64_t begin, int64_t end, int depth)
{
	int64_t middle = begin + (end - begin) / 2;

	s->contradicted = false;
	if (fit_part(s, begin, end)) {
		part_add(s, begin, end);
		return;
	}
	if (!s->contradicted || depth == SPLITS)
		return;
	split(s, begin, middle, depth + 1);
	bool bad = s->contradicted;
	split(s, middle, end, depth + 1);
	s->contradicted |= bad;
}

/* How far the chord between the middles of two parts leaves the lines of both. */
static double chord_error(const struct part *p, const struct part *q)
{
	double apart = (double)(q->middle - p->middle);
	double slope = (double)(q->offset_ns - p->offset_ns) / apart;
	double before = fabs(slope - p->slope) * (double)(p->end - p->middle);
	double behind = fabs(slope - q->slope) * (double)(q->middle - q->begin);

	/* Between parts that do not touch, clocks may have run apart and together again. */
	return fmax(before, behind) + CLOCK_DRIFT_MAX * (double)(q->begin - p->end);
}

static void part_knot(struct af_clock_curve *c, const struct part *p, int64_t at, double error)
{
	c->knots[c->nr++] = (struct af_clock_knot){
	    .at_ns = at,
	    .offset_ns = p->offset_ns + llround(p->slope * (double)(at - p->middle)),
	    .bound_ns = bound_of(error)};
}

/* A knot in the middle of each part; its bound holds up to the middles beside it. */
static void curve_of_parts(const struct splitting *s, struct af_clock_curve *c)
{
	double errors[PARTS_MAX];

	if (!s->nr)
		return;
	const struct part *first = s->parts, *last = &s->parts[s->nr - 1];
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct part *p = &s->parts[i];
		errors[i] = p->error;
		if (i)
			errors[i] += chord_error(p - 1, p);
		if (i + 1 < s->nr)
			errors[i] += chord_error(p, p + 1);
	}
	part_knot(c, first, first->begin, errors[0]);
	for (uint32_t i = 0; i < s->nr; i++) {
		double most = errors[i];
		most = i ? fmax(most, errors[i - 1]) : most;
		most = i + 1 < s->nr ? fmax(most, errors[i + 1]) : most;
		part_knot(c, &s->parts[i], s->parts[i].middle, most);
	}
	part_knot(c, last, last->end, errors[s->nr - 1]);
	c->drift = last->slope;
	c->loose = 2 * CLOCK_DRIFT_MAX;
}

static void curve_of_line(const struct clock_fit *f, int64_t begin, int64_t end,
                          struct af_clock_curve *c)
{
	enum { KNOTS = 5 };

	for (int i = 0; i < KNOTS; i++)
		knot_add(c, f, begin + (int64_t)((double)(end - begin) * i / (KNOTS - 1)));
	c->drift = (double)f->slope;
	c->loose = (double)fmaxl(f->high - f->slope, f->slope - f->low);
}

static void span(const struct clock_bounds *b, int64_t *begin, int64_t *end)
{
	const struct clock_points *l = &b->lower, *u = &b->upper;
	int64_t last = l->all[l->nr - 1].x, other = u->all[u->nr - 1].x;

	*begin = l->all[0].x < u->all[0].x ? l->all[0].x : u->all[0].x;
	*end = (last > other ? last : other) + 1;
}

bool clock_bounds_curve(struct clock_bounds *b, int64_t begin, int64_t end,
                        struct af_clock_curve *curve, bool *contradicted)
{
	*curve = (struct af_clock_curve){0};
	*contradicted = false;
	if (!b->lower.nr || !b->upper.nr)
		return false;
	AF_SORT(b->lower.all, b->lower.nr, by_time);
	AF_SORT(b->upper.all, b->upper.nr, by_time);

	struct splitting *s = af_xcalloc(1, sizeof *s);
	int64_t first, last;
	s->b = b;
	s->fit = af_xcalloc(1, sizeof *s->fit);
	span(b, &first, &last);
	if (fit_part(s, first, last)) {
		curve_of_line(s->fit, begin < first ? begin : first, end > last ? end : last,
		              curve);
	} else {
		split(s, first, last, 0);
		curve_of_parts(s, curve);
		*contradicted = s->contradicted;
	}
	free(s->fit);
	free(s);
	return curve->nr && !*contradicted;
}
