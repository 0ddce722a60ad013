/*
 * Does a series repeat itself, and how often? By its autocorrelation: at the lag of a period it has
 * a peak, above the lowest value that it had before.
 */
#ifndef AF_ANALYSE_TIME_PERIOD_H
#define AF_ANALYSE_TIME_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

struct af_period {
	double lag;      /* in values of the series */
	double strength; /* how far the series is that of one period ago: 0 not at all, 1 exactly */
};

/*
 * The shortest of the strongest periods in @nr values, between 3 values and a quarter of them.
 * False when nothing repeats beyond what chance does, or the values hardly differ. @nr is at most
 * 2^24.
 */
bool af_period_find(const double *values, uint32_t nr, struct af_period *period);

#endif
