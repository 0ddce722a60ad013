/*
 * Is a series periodic, and with which period? By its autocorrelation, which at the lag of a period
 * has a peak above its lowest value at smaller lags.
 */
#ifndef AF_ANALYSE_TIME_PERIOD_H
#define AF_ANALYSE_TIME_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

struct af_period {
	double lag;      /* in values of the series */
	double strength; /* similarity to the series one period ago: 0 none, 1 equal */
};

/*
 * Find the shortest of the strongest periods in @nr values, between 3 values and a quarter of them.
 * False when nothing repeats more than by chance, or the values hardly differ. @nr is at most 2^24.
 */
bool af_period_find(const double *values, uint32_t nr, struct af_period *period);

#endif
