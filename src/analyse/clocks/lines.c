#include "analyse/clocks/lines.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

/* The hull of points that are sorted by time: the upper one for lower bounds (@sign 1). */
static void hull_make(struct clock_hull *h, const struct clock_point *p, uint32_t nr, int sign,
                      struct clock_point near)
{
	h->nr = 0;
	for (uint32_t i = 0; i < nr; i++) {
		long double x = p[i].x - near.x, y = (long double)p[i].y - near.y;
		while (h->nr >= 2) {
			uint32_t k = h->nr;
			long double turn = (h->x[k - 1] - h->x[k - 2]) * (y - h->y[k - 2]) -
			                   (h->y[k - 1] - h->y[k - 2]) * (x - h->x[k - 2]);
			if (sign * turn < 0)
				break;
			h->nr--;
		}
		if (h->nr == 1 && h->x[0] == x) {
			if (sign * (y - h->y[0]) <= 0)
				continue;
			h->nr = 0;
		}
		h->x[h->nr] = x;
		h->y[h->nr++] = y;
	}
}

/* Where a line of this slope meets x = 0 when it rests on the hull. */
static long double rests(const struct clock_hull *h, long double slope, int sign)
{
	long double best = h->y[0] - slope * h->x[0];

	for (uint32_t i = 1; i < h->nr; i++) {
		long double y = h->y[i] - slope * h->x[i];
		if (sign * (y - best) > 0)
			best = y;
	}
	return best;
}

static long double room(const struct clock_fit *f, long double slope)
{
	return rests(&f->upper, slope, -1) - rests(&f->lower, slope, 1);
}

static int by_slope(const void *a, const void *b)
{
	const long double *p = a, *q = b;

	return *p < *q ? -1 : *p > *q;
}

static void slopes_of(struct clock_fit *f, const struct clock_hull *h)
{
	for (uint32_t i = 0; i + 1 < h->nr; i++) {
		long double slope = (h->y[i + 1] - h->y[i]) / (h->x[i + 1] - h->x[i]);
		if (fabsl(slope) < (long double)CLOCK_DRIFT_MAX)
			f->slopes[f->nr++] = slope;
	}
}

/* The slope between @in, with room, and @out, without: room is straight between neighbours. */
static long double edge(const struct clock_fit *f, long double in, long double out)
{
	long double has = room(f, in), lacks = -room(f, out);

	return lacks <= 0 ? out : in + (out - in) * has / (has + lacks);
}

/* All lines that the hulls admit. False: none. */
static bool fit_lines(struct clock_fit *f)
{
	uint32_t best = 0;
	long double most = -INFINITY;

	f->nr = 0;
	f->slopes[f->nr++] = -(long double)CLOCK_DRIFT_MAX;
	f->slopes[f->nr++] = (long double)CLOCK_DRIFT_MAX;
	slopes_of(f, &f->lower);
	slopes_of(f, &f->upper);
	AF_SORT(f->slopes, f->nr, by_slope);
	for (uint32_t i = 0; i < f->nr; i++) {
		long double r = room(f, f->slopes[i]);
		if (r > most) {
			most = r;
			best = i;
		}
	}
	if (most < 0)
		return false;
	uint32_t low = best, high = best;
	while (low && room(f, f->slopes[low]) > 0)
		low--;
	while (high + 1 < f->nr && room(f, f->slopes[high]) > 0)
		high++;
	f->low = low < best ? edge(f, f->slopes[low + 1], f->slopes[low]) : f->slopes[best];
	f->high = high > best ? edge(f, f->slopes[high - 1], f->slopes[high]) : f->slopes[best];
	f->slope = (f->low + f->high) / 2;
	f->offset = (rests(&f->upper, f->slope, -1) + rests(&f->lower, f->slope, 1)) / 2;
	return true;
}

/* How far the possible lines go away from the chosen one at @x. */
long double clock_fit_error(const struct clock_fit *f, int64_t at)
{
	long double x = (long double)at - f->near.x;
	long double line = f->offset + f->slope * x, most = 0;

	for (uint32_t i = 0; i < f->nr + 2; i++) {
		long double slope = i < f->nr ? f->slopes[i] : i == f->nr ? f->low : f->high;
		if (slope < f->low || slope > f->high)
			continue;
		long double above = rests(&f->upper, slope, -1) + slope * x - line;
		long double below = line - rests(&f->lower, slope, 1) - slope * x;
		most = above > most ? above : most;
		most = below > most ? below : most;
	}
	return most + 1;
}

int64_t clock_fit_offset(const struct clock_fit *f, int64_t at)
{
	return f->near.y + (int64_t)llroundl(f->offset + f->slope * ((long double)at - f->near.x));
}

bool clock_fit_points(struct clock_fit *f, const struct clock_points *lower,
                      const struct clock_points *upper)
{
	f->near = lower->all[0];
	hull_make(&f->lower, lower->all, lower->nr, 1, f->near);
	hull_make(&f->upper, upper->all, upper->nr, -1, f->near);
	return fit_lines(f);
}
