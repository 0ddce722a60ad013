/* Adds what is explained of one device, or of a part of the trace, to that of another. */
#include "analyse/idle/idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void idle_explain_copy(struct idle *i, uint32_t from, uint32_t to)
{
	uint32_t nr_stories = i->nr_stories, nr_sums = i->nr_sums, nr_longest = i->nr_longest;
	struct idle_gap *longest = af_xcalloc((size_t)nr_longest + 1, sizeof *longest);

	for (uint32_t n = 0; n < nr_stories; n++) {
		struct idle_story story = i->stories[n];
		story.device = to;
		if (i->stories[n].device == from)
			idle_story(i, &story);
	}
	for (uint32_t n = 0; n < nr_sums; n++) {
		struct idle_sum sum = i->sums[n];
		struct idle_story story = i->stories[sum.story];
		if (story.device != from)
			continue;
		story.device = to;
		sum.story = idle_story(i, &story);
		idle_sum_add(i, &sum);
	}
	if (nr_longest)
		memcpy(longest, i->longest, nr_longest * sizeof *longest);
	for (uint32_t n = 0; n < nr_longest; n++) {
		longest[n].device = longest[n].device == from ? to : UINT32_MAX;
		if (longest[n].device == to &&
		    idle_is_long(i, longest[n].end_ns - longest[n].start_ns))
			idle_longest_put(i, &longest[n]);
	}
	free(longest);
}

static int gap_time_order(const void *a, const void *b)
{
	const struct idle_gap *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* In order of time, as they would have come: of gaps of one length the first are kept. */
static void longest_add(struct idle *to, const struct idle *from, struct idle_maps *m)
{
	struct idle_gap *gaps = af_xcalloc((size_t)from->nr_longest + 1, sizeof *gaps);

	if (from->nr_longest) {
		memcpy(gaps, from->longest, from->nr_longest * sizeof *gaps);
		AF_SORT(gaps, from->nr_longest, gap_time_order);
	}
	for (uint32_t n = 0; n < from->nr_longest; n++) {
		struct idle_gap *gap = &gaps[n];
		if (!idle_is_long(to, gap->end_ns - gap->start_ns))
			continue;
		gap->device = m->devices[gap->device];
		for (uint32_t k = 0; k < gap->nr_causes; k++)
			gap->causes[k].place = idle_maps_place(m, to, from, gap->causes[k].place);
		idle_longest_put(to, gap);
	}
	free(gaps);
}

uint32_t idle_maps_place(struct idle_maps *m, struct idle *to, const struct idle *from,
                         uint32_t place)
{
	if (!(place & IDLE_PLACE_OWN))
		return place;
	uint32_t number = place & ~IDLE_PLACE_OWN;
	AF_REACH(m->own, number, m->cap_own);
	if (!m->own[number])
		m->own[number] = idle_place_at(to, &from->stack_locations.all[number]);
	return m->own[number];
}

void idle_sums_add(struct idle *to, const struct idle *from, struct idle_maps *m)
{
	uint32_t *stories = af_xcalloc((size_t)from->nr_stories + 1, sizeof *stories);

	for (uint32_t n = 0; n < from->nr_stories; n++) {
		const struct idle_story *s = &from->stories[n];
		struct idle_story story = *s;
		story.device = m->devices[s->device];
		story.left_ns = story.sampled_ns = 0;
		story.square = 0;
		stories[n] = idle_story(to, &story);
		to->stories[stories[n]].left_ns += s->left_ns;
		to->stories[stories[n]].sampled_ns += s->sampled_ns;
		to->stories[stories[n]].square += s->square;
	}
	for (uint32_t n = 0; n < from->nr_sums; n++) {
		struct idle_sum sum = from->sums[n];
		sum.story = stories[sum.story];
		sum.place = idle_maps_place(m, to, from, sum.place);
		idle_sum_add(to, &sum);
	}
	longest_add(to, from, m);
	free(stories);
}
