#include "analyse/time/period.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

#define VARIES_LEAST 0.05 /* standard deviation, as a share of the mean */
#define STRENGTH_LEAST 0.35
#define STRENGTH_SAME 0.9 /* of the strongest: a multiple of a period repeats as well */

/* In place, @nr a power of two: the fast Fourier transform of Cooley and Tukey. */
static void transform(double complex *x, uint32_t nr)
{
	for (uint32_t i = 1, j = 0; i < nr; i++) {
		uint32_t bit = nr >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			double complex swap = x[i];
			x[i] = x[j];
			x[j] = swap;
		}
	}
	for (uint32_t half = 1; half < nr; half *= 2)
		for (uint32_t k = 0; k < half; k++) {
			double complex turn = cexp(-I * M_PI * k / half);
			for (uint32_t i = k; i < nr; i += 2 * half) {
				double complex odd = x[i + half] * turn;
				x[i + half] = x[i] - odd;
				x[i] += odd;
			}
		}
}

static double mean_of(const double *values, uint32_t nr)
{
	double sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		sum += values[i];
	return sum / nr;
}

/* By lag, 1 at lag 0; each is of as many pairs as there are. Free it; NULL where all are alike. */
static double *autocorrelation(const double *values, uint32_t nr)
{
	double mean = mean_of(values, nr);
	uint32_t size = 2;

	while (size < 2 * nr)
		size *= 2;
	double complex *x = af_xcalloc(size, sizeof *x);
	double *r = af_xcalloc(nr, sizeof *r);
	for (uint32_t i = 0; i < nr; i++)
		x[i] = values[i] - mean;
	transform(x, size);
	for (uint32_t i = 0; i < size; i++)
		x[i] = creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
	transform(x, size);
	double variance = creal(x[0]) / size / nr;
	for (uint32_t i = 0; i < nr && variance > 0; i++)
		r[i] = creal(x[i]) / size / (nr - i) / variance;
	free(x);
	if (variance > 0 && sqrt(variance) >= VARIES_LEAST * fabs(mean))
		return r;
	free(r);
	return NULL;
}

/* Where a parabola through the peak and its neighbours is highest. */
static double peak_at(const double *r, uint32_t lag)
{
	double bend = r[lag - 1] - 2 * r[lag] + r[lag + 1];

	return bend < 0 ? lag + (r[lag - 1] - r[lag + 1]) / 2 / bend : lag;
}

/* Above the lowest before it, as a share of what it could be. */
static double strength_at(const double *r, uint32_t lag, double low, uint32_t nr)
{
	bool peak = r[lag] >= r[lag - 1] && r[lag] > r[lag + 1];
	bool chance = r[lag] - low < 6 / sqrt(nr - lag);

	return peak && !chance && low < 1 ? (r[lag] - low) / (1 - low) : 0;
}

static void search(const double *r, uint32_t nr, double least, struct af_period *found)
{
	double low = fmin(r[1], r[2]), best = 0;

	for (uint32_t lag = 3; lag < nr / 4; low = fmin(low, r[lag++])) {
		double strength = strength_at(r, lag, low, nr);
		if (strength <= best)
			continue;
		best = strength;
		*found = (struct af_period){peak_at(r, lag), strength};
		if (strength >= least)
			return;
	}
}

bool af_period_find(const double *values, uint32_t nr, struct af_period *period)
{
	*period = (struct af_period){0, 0};
	if (nr < 16)
		return false;
	double *r = autocorrelation(values, nr);
	if (!r)
		return false;
	search(r, nr, INFINITY, period);
	double strongest = period->strength;
	*period = (struct af_period){0, 0};
	if (strongest >= STRENGTH_LEAST)
		search(r, nr, STRENGTH_SAME * strongest, period);
	free(r);
	if (period->strength > 1)
		period->strength = 1;
	return strongest >= STRENGTH_LEAST;
}
