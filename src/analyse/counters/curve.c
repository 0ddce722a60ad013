#include "analyse/counters/curve.h"

#include <stdlib.h>

#include "base/arena.h"

void af_curve_free(struct af_curve *c)
{
	free(c->pieces);
	*c = (struct af_curve){0};
}

/* Two and two become one, and twice as many will. */
static void curve_coarsen(struct af_curve *c)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < c->nr; i += 2) {
		uint32_t last = i + 1 < c->nr ? i + 1 : i;
		uint64_t end_ns = c->pieces[last].end_ns;
		c->pieces[nr] = c->pieces[i];
		c->pieces[nr++].end_ns = end_ns;
	}
	c->nr = nr;
	c->last = c->together *= 2; /* the number of pieces was even */
}

void af_curve_add(struct af_curve *c, uint64_t start_ns, uint64_t end_ns, double sum)
{
	uint64_t whole = end_ns > start_ns ? end_ns - start_ns : 0;

	if (c->nr && start_ns < c->pieces[c->nr - 1].end_ns)
		start_ns = c->pieces[c->nr - 1].end_ns;
	if (start_ns >= end_ns)
		return;
	c->together += !c->together;
	if (c->nr == AF_CURVE_PIECES && c->last == c->together)
		curve_coarsen(c);
	if (c->nr && c->last < c->together) {
		c->pieces[c->nr - 1].end_ns = end_ns;
		c->last++;
	} else {
		AF_GROW(c->pieces, c->nr, c->cap);
		c->pieces[c->nr++] = (struct af_curve_piece){start_ns, end_ns, c->sum, c->covered};
		c->last = 1;
	}
	c->sum += sum * ((double)(end_ns - start_ns) / (double)whole);
	c->covered += (double)(end_ns - start_ns);
}

double af_curve_piece_sum(const struct af_curve *c, uint32_t i)
{
	return (i + 1 < c->nr ? c->pieces[i + 1].sum : c->sum) - c->pieces[i].sum;
}

double af_curve_piece_covered(const struct af_curve *c, uint32_t i)
{
	return (i + 1 < c->nr ? c->pieces[i + 1].covered : c->covered) - c->pieces[i].covered;
}

void af_curve_append(struct af_curve *to, const struct af_curve *from)
{
	for (uint32_t i = 0; i < from->nr; i++)
		af_curve_add(to, from->pieces[i].start_ns, from->pieces[i].end_ns,
		             af_curve_piece_sum(from, i));
}

/* The sum of what is before @at_ns. */
static double curve_before(const struct af_curve *c, uint64_t at_ns, double *covered)
{
	uint32_t low = 0, high = c->nr; /* the first that ends behind it */

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (c->pieces[middle].end_ns > at_ns)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == c->nr) {
		*covered = c->covered;
		return c->sum;
	}
	const struct af_curve_piece *p = &c->pieces[low];
	double part = at_ns > p->start_ns
	                  ? (double)(at_ns - p->start_ns) / (double)(p->end_ns - p->start_ns)
	                  : 0;
	*covered = p->covered + part * af_curve_piece_covered(c, low);
	return p->sum + part * af_curve_piece_sum(c, low);
}

double af_curve_sum(const struct af_curve *c, uint64_t start_ns, uint64_t end_ns,
                    double *covered_ns)
{
	double from, to;
	double before = curve_before(c, start_ns, &from), sum = curve_before(c, end_ns, &to);

	*covered_ns = to > from ? to - from : 0;
	return sum > before ? sum - before : 0;
}
