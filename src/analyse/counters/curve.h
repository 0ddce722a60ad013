/*
 * A value over time as running sums, for the mean of any interval: intervals with a value, in order
 * of time, and gaps between them. Memory is bounded: neighbours become one when there are too many,
 * and the sum of all stays what it is.
 *
 *	af_curve_add* → af_curve_sum → af_curve_free
 */
#ifndef AF_ANALYSE_COUNTERS_CURVE_H
#define AF_ANALYSE_COUNTERS_CURVE_H

#include <stdint.h>

enum { AF_CURVE_PIECES = 1 << 18 };

struct af_curve {
	struct af_curve_piece {
		uint64_t start_ns, end_ns;
		double sum;     /* of what is before it */
		double covered; /* ns with a value before it */
	} * pieces;
	uint32_t nr, cap;
	uint32_t together, last; /* so many were added as one piece; as the last one; 0: one */
	double sum, covered;     /* of all */
};

/* A zeroed curve is empty. */
void af_curve_free(struct af_curve *c);

/* Spread @sum over the time from @start_ns to @end_ns, less what has a value already. */
void af_curve_add(struct af_curve *c, uint64_t start_ns, uint64_t end_ns, double sum);

/* The pieces of @from are added to @to, which ends before them. */
void af_curve_append(struct af_curve *to, const struct af_curve *from);

/* Piece @i alone: its sum, and how many ns of it have a value. */
double af_curve_piece_sum(const struct af_curve *c, uint32_t i);
double af_curve_piece_covered(const struct af_curve *c, uint32_t i);

/* The sum from @start_ns to @end_ns; *@covered_ns: how much of that time has a value. */
double af_curve_sum(const struct af_curve *c, uint64_t start_ns, uint64_t end_ns,
                    double *covered_ns);

#endif
