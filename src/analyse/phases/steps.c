/* Times of what repeats, and whether they are regular. */
#include <stdlib.h>
#include <string.h>

#include "analyse/phases/private.h"
#include "base/arena.h"

enum {
	REGULAR = 2,       /* four of five steps take half to twice the median one */
	GROUP_REGULAR = 4, /* four of five groups differ from the median by a quarter at most */
	GROUP_MOST = 16,   /* steps in a group: some steps wait for the device, most do not */
	GROUPS_LEAST = 4,  /* in the later half of the run */
	STEADY_STEPS = 3,  /* so many groups, each a step later, end the warm-up, */
	STEADY_HALVES = 3  /* when each takes at most 3/2 of the median one */
};

/* About half as many are kept from now on. */
static void times_thin(struct phase_times *t)
{
	uint32_t kept = 0;

	t->thin = t->thin << 1 | 1;
	for (uint32_t i = 0; i < t->kept; i++)
		if (phase_keeps(t->at_ns[i], t->thin))
			t->at_ns[kept++] = t->at_ns[i];
	t->kept = kept;
}

static void time_keep(struct phase_times *t, uint64_t ns)
{
	while (t->kept == PHASE_TIMES_MOST && phase_keeps(ns, t->thin))
		times_thin(t);
	if (!phase_keeps(ns, t->thin))
		return;
	AF_GROW(t->at_ns, t->kept, t->cap);
	t->at_ns[t->kept++] = ns;
}

void phase_times_keep(struct phase_times *t, const uint64_t *at_ns, uint32_t nr)
{
	if (!t->thin && nr && nr <= PHASE_TIMES_MOST - t->kept) {
		AF_ROOM(t->at_ns, t->kept + nr, t->cap);
		memcpy(t->at_ns + t->kept, at_ns, nr * sizeof *at_ns);
		t->kept += nr;
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		time_keep(t, at_ns[i]);
}

void phase_times_count(struct phase_times *t, const uint64_t *at_ns, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (!(t->nr + i) || at_ns[i] < t->first_ns)
			t->first_ns = at_ns[i];
		if (at_ns[i] > t->last_ns)
			t->last_ns = at_ns[i];
	}
	t->nr += nr;
}

void phase_times_add(struct phase_times *t, uint64_t ns)
{
	phase_times_count(t, &ns, 1);
	time_keep(t, ns);
}

void phase_times_merge(struct phase_times *t, const struct phase_times *from)
{
	if (!from->nr)
		return;
	if (!t->nr || from->first_ns < t->first_ns)
		t->first_ns = from->first_ns;
	if (from->last_ns > t->last_ns)
		t->last_ns = from->last_ns;
	t->nr += from->nr;
	while (t->thin < from->thin)
		times_thin(t);
	phase_times_keep(t, from->at_ns, from->kept);
}

int phase_number_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void phase_times_sort(struct phase_times *t)
{
	uint32_t i = 1;

	while (i < t->kept && t->at_ns[i - 1] <= t->at_ns[i])
		i++;
	if (i < t->kept)
		AF_SORT(t->at_ns, t->kept, phase_number_order);
	if (!t->thin)
		return;
	AF_ROOM(t->at_ns, (size_t)t->kept + 2, t->cap);
	if (!t->kept || t->at_ns[0] != t->first_ns) {
		memmove(t->at_ns + 1, t->at_ns, t->kept++ * sizeof *t->at_ns);
		t->at_ns[0] = t->first_ns;
	}
	if (t->at_ns[t->kept - 1] != t->last_ns)
		t->at_ns[t->kept++] = t->last_ns;
}

uint64_t phase_times_span(const struct phase_times *t)
{
	return t->last_ns - t->first_ns;
}

uint32_t phase_times_before(const struct phase_times *t, uint64_t ns)
{
	uint32_t low = 0, high = t->kept;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (t->at_ns[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The lengths of groups that begin with each step of the later half, in order; to be freed. */
static uint64_t *later_lengths(const struct phase_times *anchor, uint32_t group, uint32_t *nr)
{
	uint32_t steps = anchor->kept - 1, from = steps / 2;
	uint64_t *lengths = af_xcalloc(steps, sizeof *lengths);

	*nr = 0;
	for (uint32_t i = from; i + group <= steps; i++)
		lengths[(*nr)++] = anchor->at_ns[i + group] - anchor->at_ns[i];
	AF_SORT(lengths, *nr, phase_number_order);
	return lengths;
}

/* The median length of groups in the later half if most are about as long, else 0. */
static uint64_t regular_median(const struct phase_times *anchor, uint32_t group)
{
	uint32_t nr;
	uint64_t *lengths = later_lengths(anchor, group, &nr);
	uint64_t low = lengths[nr / 10], median = lengths[nr / 2],
		 high = lengths[(uint64_t)nr * 9 / 10];

	free(lengths);
	/* The more steps a group has, the more random ones even out. */
	bool regular = group == 1 ? high / REGULAR <= median && low >= median / REGULAR
	                          : high - median <= median / GROUP_REGULAR &&
	                                median - low <= median / GROUP_REGULAR;
	return regular ? median : 0;
}

static bool steps_of(struct phase_steps *s, const struct phase_times *anchor, uint32_t group)
{
	uint64_t median_ns = regular_median(anchor, group);

	if (median_ns)
		*s = (struct phase_steps){anchor, 0, group, median_ns, 0};
	return median_ns != 0;
}

bool phase_steps_single(struct phase_steps *s, const struct phase_times *anchor)
{
	return steps_of(s, anchor, 1);
}

bool phase_steps_grouped(struct phase_steps *s, const struct phase_times *anchor)
{
	for (uint32_t group = 2; group <= GROUP_MOST && anchor->kept / 2 / group >= GROUPS_LEAST;
	     group *= 2)
		if (steps_of(s, anchor, group))
			return true;
	return false;
}

uint32_t phase_steps_steady(const struct phase_steps *s)
{
	if (!s->group)
		return phase_times_before(s->anchor, s->even_ns);
	uint32_t steps = s->anchor->kept - 1, in_row = 0;

	for (uint32_t i = 0; i + s->group <= steps; i++) {
		uint64_t length = s->anchor->at_ns[i + s->group] - s->anchor->at_ns[i];
		in_row = length / STEADY_HALVES <= s->median_ns / 2 ? in_row + 1 : 0;
		if (in_row == STEADY_STEPS)
			return i + 1 - STEADY_STEPS;
	}
	return steps;
}
