#include "analyse/join/launches_early.h"

#include <stdlib.h>

#include "analyse/world/work.h"
#include "base/arena.h"
#include "base/hash.h"

enum { EARLY_NONE = UINT32_MAX };
enum { EARLY_FEW = 64 }; /* that the ring has room for at first */

/* Works whose ids share a hash are a list, the oldest first. */
struct launches_early_work {
	struct af_work work; /* first: see launches_early_until() */
	uint64_t until_ns;
	uint32_t next; /* index, or EARLY_NONE */
	bool waits;
};

/* Indexes of the first and of the last. */
struct launches_early_list {
	uint32_t first, last;
};

static struct launches_early_list *list_of(const struct launches_early *e,
                                           const struct af_work *work)
{
	uint64_t hash =
	    af_scatter(work->id ^ (uint64_t)work->process << 40 ^ (uint64_t)work->api << 36);

	return &e->lists[hash & (e->cap - 1)];
}

/* Behind all others of its list. */
static void early_list(struct launches_early *e, uint32_t i)
{
	struct launches_early_list *list = list_of(e, &e->ring[i].work);

	e->ring[i].next = EARLY_NONE;
	if (list->first == EARLY_NONE)
		list->first = i;
	else
		e->ring[list->last].next = i;
	list->last = i;
}

/* Room for twice as many: those that wait stay in their order. */
static void early_grow(struct launches_early *e)
{
	struct launches_early_work *was = e->ring;
	const uint32_t had = e->cap;

	e->cap = had ? had * 2 : EARLY_FEW;
	e->ring = af_xcalloc(e->cap, sizeof *e->ring);
	free(e->lists);
	e->lists = af_xcalloc(e->cap, sizeof *e->lists);
	for (uint32_t i = 0; i < e->cap; i++)
		e->lists[i].first = EARLY_NONE;
	for (uint32_t i = 0; i < e->nr; i++) {
		e->ring[i] = was[(e->first + i) % had];
		if (e->ring[i].waits)
			early_list(e, i);
	}
	e->first = 0;
	free(was);
}

void launches_early_put(struct launches_early *e, const struct af_work *work, uint64_t until_ns)
{
	if (!e->nr || work->id > e->highest)
		e->highest = work->id;
	if (e->nr == e->cap)
		early_grow(e);
	uint32_t i = (e->first + e->nr++) % e->cap;

	e->ring[i] = (struct launches_early_work){
	    .work = *work,
	    .until_ns = until_ns,
	    .waits = true,
	};
	early_list(e, i);
}

struct af_work *launches_early_take(struct launches_early *e, const struct af_work *like)
{
	if (!e->nr)
		return NULL;
	struct launches_early_list *list = list_of(e, like);
	uint32_t *from = &list->first, before = EARLY_NONE;

	while (*from != EARLY_NONE) {
		struct launches_early_work *is = &e->ring[*from];
		if (is->work.id == like->id && is->work.process == like->process &&
		    is->work.api == like->api) {
			is->waits = false;
			if (is->next == EARLY_NONE)
				list->last = before;
			*from = is->next;
			return &is->work;
		}
		before = *from;
		from = &is->next;
	}
	return NULL;
}

/* The oldest is the first of its list, because each list is in order. */
struct af_work *launches_early_oldest(struct launches_early *e, uint64_t now_ns)
{
	while (e->nr) {
		struct launches_early_work *is = &e->ring[e->first];
		if (is->waits && is->until_ns >= now_ns)
			return NULL;
		e->first = (e->first + 1) % e->cap;
		e->nr--;
		if (!is->waits)
			continue;
		is->waits = false;
		list_of(e, &is->work)->first = is->next;
		return &is->work;
	}
	return NULL;
}

uint64_t launches_early_until(const struct af_work *work)
{
	return ((const struct launches_early_work *)(const void *)work)->until_ns;
}

void launches_early_free(struct launches_early *e)
{
	free(e->ring);
	free(e->lists);
	*e = (struct launches_early){0};
}
