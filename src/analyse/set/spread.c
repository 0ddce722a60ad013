/* The distribution of one weight over the members of a set, in bounded memory. */
#include <string.h>

#include "analyse/set/private.h"

/* The middle of the values that have the same highest 7 bits. */
static uint64_t coarse(uint64_t value)
{
	if (value < 128)
		return value;
	unsigned low = 57u - (unsigned)__builtin_clzll(value);
	return (value >> low << low) + (1ull << (low - 1));
}

/* The place of @value among the values, or where it would be. */
static uint32_t value_place(const struct set_spread *s, uint64_t value)
{
	uint32_t from = 0, to = s->nr_values;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (s->values[middle].is < value)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void value_put(struct set_spread *s, uint64_t value, uint64_t nr)
{
	uint32_t at = value_place(s, value);

	if (at < s->nr_values && s->values[at].is == value) {
		s->values[at].nr += nr;
		return;
	}
	AF_GROW(s->values, s->nr_values, s->cap);
	memmove(&s->values[at + 1], &s->values[at], (s->nr_values - at) * sizeof *s->values);
	s->values[at] = (struct set_value){value, nr};
	s->nr_values++;
}

/* Whether this happens depends on the values alone, not on their order. */
static void values_coarsen(struct set_spread *s)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_values; i++) {
		uint64_t value = coarse(s->values[i].is);
		if (nr && s->values[nr - 1].is == value)
			s->values[nr - 1].nr += s->values[i].nr;
		else
			s->values[nr++] = (struct set_value){value, s->values[i].nr};
	}
	s->nr_values = nr;
	s->rounded = true;
}

static void spread_count(struct set_spread *s, uint64_t value, uint64_t nr)
{
	value_put(s, s->rounded ? coarse(value) : value, nr);
	if (!s->rounded && s->nr_values > SET_EXACT)
		values_coarsen(s);
}

void set_spread_add(struct set_spread *s, uint64_t value, uint64_t nr, uint32_t who)
{
	spread_count(s, value, nr);
	if (!s->nr || value > s->most) {
		s->most = value;
		s->who = who;
	}
	s->nr += nr;
}

void set_spread_join(struct set_spread *s, const struct set_spread *from, uint32_t who)
{
	if (from->rounded && !s->rounded)
		values_coarsen(s);
	for (uint32_t i = 0; i < from->nr_values; i++)
		spread_count(s, from->values[i].is, from->values[i].nr);
	if (from->nr && (!s->nr || from->most > s->most)) {
		s->most = from->most;
		s->who = who;
	}
	s->nr += from->nr;
}

uint64_t set_spread_median(const struct set_spread *s, uint64_t members)
{
	uint64_t before = members > s->nr ? members - s->nr : 0,
		 at = members ? (members - 1) / 2 : 0;

	if (at < before)
		return 0;
	for (uint32_t i = 0; i < s->nr_values; i++) {
		before += s->values[i].nr;
		if (at < before)
			return s->values[i].is < s->most ? s->values[i].is : s->most;
	}
	return s->most;
}

uint64_t set_spread_least(const struct set_spread *s, uint64_t members)
{
	return members > s->nr || !s->nr_values ? 0 : s->values[0].is;
}
