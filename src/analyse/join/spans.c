#include "analyse/join/spans.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/arena.h"

static int span_order(const void *a, const void *b)
{
	const struct af_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

/* The first span from @i on that is empty, or begins before the one ahead of it has ended. */
static uint32_t first_untidy(const struct af_span *spans, uint32_t i, uint32_t nr)
{
	uint64_t end_ns = i ? spans[i - 1].end_ns : 0;

	for (; i < nr && spans[i].start_ns >= end_ns && spans[i].end_ns > spans[i].start_ns; i++)
		end_ns = spans[i].end_ns;
	return i;
}

uint32_t af_spans_tidy(struct af_span *spans, uint32_t tidy, uint32_t nr)
{
	uint64_t end_ns = 0;
	uint32_t kept = 0, i = first_untidy(spans, tidy, nr);

	if (i == nr)
		return nr;
	for (i += !i; i < nr && span_order(&spans[i - 1], &spans[i]) <= 0;)
		i++;
	if (i < nr)
		AF_SORT(spans, nr, span_order);
	for (i = 0; i < nr; i++) {
		struct af_span s = spans[i];
		if (s.start_ns < end_ns)
			s.start_ns = end_ns;
		if (s.end_ns <= s.start_ns)
			continue;
		end_ns = s.end_ns;
		spans[kept++] = s;
	}
	return kept;
}

/* The first of [@low, @high) that ends after @at_ns, or @high. */
static uint32_t after_in(const struct af_span *spans, uint32_t low, uint32_t high, uint64_t at_ns)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (spans[middle].end_ns > at_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint32_t af_spans_after(const struct af_span *spans, uint32_t nr, uint64_t at_ns)
{
	return after_in(spans, 0, nr, at_ns);
}

/* Steps of double length lead from *@near to spans on both sides of the one that is looked for. */
uint32_t af_spans_after_near(const struct af_span *spans, uint32_t nr, uint64_t at_ns,
                             uint32_t *near)
{
	uint32_t low = *near < nr ? *near : nr, high = low, step = 1;

	if (low < nr && spans[low].end_ns <= at_ns) {
		for (high = low; high < nr && spans[high].end_ns <= at_ns; step *= 2) {
			low = high + 1;
			high = step < nr - high ? high + step : nr;
		}
	} else {
		for (; low && spans[low - 1].end_ns > at_ns; step *= 2) {
			high = low - 1;
			low = step < high ? high - step : 0;
		}
	}
	return *near = after_in(spans, low, high, at_ns);
}

const struct af_span *af_spans_has_near(const struct af_span *spans, uint32_t nr, uint64_t at_ns,
                                        uint32_t *near)
{
	uint32_t i = af_spans_after_near(spans, nr, at_ns, near);

	return i < nr && spans[i].start_ns <= at_ns ? &spans[i] : NULL;
}

const struct af_span *af_spans_has(const struct af_span *spans, uint32_t nr, uint64_t at_ns)
{
	uint32_t i = af_spans_after(spans, nr, at_ns);

	return i < nr && spans[i].start_ns <= at_ns ? &spans[i] : NULL;
}

/*
 * The part of [@from_ns, @to_ns) that the first list does not hold; *@next is the first span after
 * from.
 */
static uint64_t walk_free(const struct af_spans *s, uint32_t *next, uint64_t from_ns,
                          uint64_t to_ns)
{
	uint64_t free_ns = 0;

	while (*next < s->nr_first && s->first[*next].end_ns <= from_ns)
		++*next;
	for (uint32_t i = *next; i < s->nr_first && s->first[i].start_ns < to_ns; i++) {
		if (s->first[i].start_ns > from_ns)
			free_ns += s->first[i].start_ns - from_ns;
		from_ns = s->first[i].end_ns;
	}
	return free_ns + (to_ns > from_ns ? to_ns - from_ns : 0);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t spans_after(const struct af_span *spans, uint32_t nr, uint64_t at_ns,
                            uint32_t *near)
{
	return near ? af_spans_after_near(spans, nr, at_ns, near)
	            : af_spans_after(spans, nr, at_ns);
}

uint64_t af_spans_walk(const struct af_spans *s, uint64_t from_ns, uint64_t to_ns,
                       af_spans_take *take, void *arg)
{
	if (to_ns <= from_ns)
		return 0;
	uint64_t left_ns = to_ns - from_ns;
	uint32_t first = spans_after(s->first, s->nr_first, from_ns, s->near_first), next = first;

	for (uint32_t i = first; i < s->nr_first && s->first[i].start_ns < to_ns; i++) {
		const struct af_span *is = &s->first[i];
		uint64_t ns = earlier(is->end_ns, to_ns) - later(is->start_ns, from_ns);
		take(arg, true, is, ns);
		left_ns -= ns;
	}
	uint32_t i = spans_after(s->second, s->nr_second, from_ns, s->near_second);
	for (; i < s->nr_second && s->second[i].start_ns < to_ns; i++) {
		const struct af_span *is = &s->second[i];
		uint64_t ns =
		    walk_free(s, &next, later(is->start_ns, from_ns), earlier(is->end_ns, to_ns));
		if (ns)
			take(arg, false, is, ns);
		left_ns -= ns;
	}
	return left_ns;
}
