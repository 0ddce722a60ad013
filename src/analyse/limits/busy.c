/* The union of a device's work, in bounded memory. */
#include <stdlib.h>

#include "analyse/limits/private.h"
#include "base/arena.h"

enum { INTERVALS_MOST = 1 << 20, CLOSED_LEAST_NS = 1000 };

static int interval_order(const void *a, const void *b)
{
	const struct limits_interval *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* @i into @to, which begins before it. Of what both have the larger part was busy. */
static void interval_join(struct limits_interval *to, const struct limits_interval *i)
{
	uint64_t both = 0, end_ns = i->end_ns < to->end_ns ? i->end_ns : to->end_ns;

	if (end_ns > i->start_ns)
		both = end_ns - i->start_ns;
	both = both < i->busy_ns ? both : i->busy_ns;
	to->end_ns = i->end_ns > to->end_ns ? i->end_ns : to->end_ns;
	to->busy_ns += i->busy_ns - both;
	if (to->busy_ns > to->end_ns - to->start_ns)
		to->busy_ns = to->end_ns - to->start_ns;
}

void limits_busy_tidy(struct limits_busy *b)
{
	uint32_t nr = 0;

	if (b->tidy == b->nr)
		return;
	AF_SORT(b->all, b->nr, interval_order);
	for (uint32_t i = 1; i < b->nr; i++) {
		if (b->all[i].start_ns <= b->all[nr].end_ns + b->closed_ns)
			interval_join(&b->all[nr], &b->all[i]);
		else
			b->all[++nr] = b->all[i];
	}
	b->nr = b->tidy = nr + 1;
}

static void busy_shrink(struct limits_busy *b)
{
	limits_busy_tidy(b);
	while (b->nr > INTERVALS_MOST / 2) {
		b->closed_ns = b->closed_ns ? b->closed_ns * 2 : CLOSED_LEAST_NS;
		b->tidy = 0;
		limits_busy_tidy(b);
	}
}

void limits_busy_add(struct limits_busy *b, uint64_t start_ns, uint64_t end_ns, uint64_t busy_ns)
{
	const struct limits_interval i = {start_ns, end_ns, busy_ns};

	if (b->nr == INTERVALS_MOST)
		busy_shrink(b);
	bool in_order = true;
	if (b->nr) {
		struct limits_interval *last = &b->all[b->nr - 1];
		if (start_ns >= last->start_ns && start_ns <= last->end_ns + b->closed_ns) {
			interval_join(last, &i);
			return;
		}
		in_order = start_ns > last->start_ns;
	}
	AF_GROW(b->all, b->nr, b->cap);
	b->tidy += in_order && b->tidy == b->nr;
	b->all[b->nr++] = i;
}

void limits_busy_append(struct limits_busy *to, const struct limits_busy *from)
{
	for (uint32_t i = 0; i < from->nr; i++)
		limits_busy_add(to, from->all[i].start_ns, from->all[i].end_ns,
		                from->all[i].busy_ns);
}

/* The first interval that ends behind @at_ns. */
static uint32_t busy_after(const struct limits_busy *b, uint64_t at_ns)
{
	uint32_t low = 0, high = b->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (b->all[middle].end_ns > at_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

double limits_busy_ns(const struct limits_busy *b, uint64_t from_ns, uint64_t to_ns)
{
	double ns = 0;

	for (uint32_t i = busy_after(b, from_ns); i < b->nr && b->all[i].start_ns < to_ns; i++) {
		const struct limits_interval *at = &b->all[i];
		uint64_t start_ns = at->start_ns > from_ns ? at->start_ns : from_ns,
			 end_ns = at->end_ns < to_ns ? at->end_ns : to_ns;
		ns += (double)(end_ns - start_ns) * (double)at->busy_ns /
		      (double)(at->end_ns - at->start_ns);
	}
	return ns;
}
