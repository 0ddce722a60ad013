/*
 * The lines between two convex hulls. Above all lower bounds and below all upper ones lie the lines
 * that are possible; each is known by its slope, and for a slope only corners of the hulls count.
 * Private to the room.
 */
#ifndef AF_ANALYSE_CLOCKS_LINES_H
#define AF_ANALYSE_CLOCKS_LINES_H

#include "analyse/clocks/private.h"

enum { CLOCK_HULL_MAX = 4096 };

/* Corners of a hull, relative to a point near all. */
struct clock_hull {
	long double x[CLOCK_HULL_MAX], y[CLOCK_HULL_MAX];
	uint32_t nr;
};

/* A part of the time, and the lines that are possible there: slopes from low to high. */
struct clock_fit {
	struct clock_point near;
	struct clock_hull lower, upper;
	long double slopes[2 * CLOCK_HULL_MAX + 4];
	uint32_t nr;
	long double low, high, slope, offset; /* slope and offset: of the line in the middle */
};

/*
 * Find the lines that the points admit, of which there are some on both sides, at most
 * CLOCK_HULL_MAX, sorted by time. False: there is none.
 */
bool clock_fit_points(struct clock_fit *f, const struct clock_points *lower,
                      const struct clock_points *upper);

/* How far the possible lines go away from the chosen one at the time @at, in nanoseconds. */
long double clock_fit_error(const struct clock_fit *f, int64_t at);

/* The chosen line at the time @at. */
int64_t clock_fit_offset(const struct clock_fit *f, int64_t at);

#endif
