#include "analyse/join/launches_table.h"

#include <stdlib.h>

#include "analyse/join/launches.h"
#include "base/arena.h"
#include "base/map.h"

enum {
	TABLE_FIRST = 256,                  /* calls in a new window */
	TABLE_AGE = 4 * AF_LAUNCHES_WINDOW, /* ids after which what worked gets no more work */
};

uint64_t launches_extend(struct launches_table *t, uint32_t low)
{
	if (!t->highest)
		t->highest = t->lowest = 1ull << 32 | low;
	int32_t ahead = (int32_t)(low - (uint32_t)t->highest);
	uint64_t id = t->highest + (uint64_t)(int64_t)ahead;

	if (ahead > 0)
		t->highest = id;
	return id;
}

static void side_insert(struct launches_call *side, uint32_t cap, const struct launches_call *c)
{
	uint64_t i = af_scatter(c->id) & (cap - 1);

	while (side[i].used && side[i].id != c->id)
		i = (i + 1) & (cap - 1);
	side[i] = *c;
}

/* Is @c kept? Yes, unless it got work and the highest id is more than @age beyond its own. */
static bool side_keeps(const struct launches_table *t, const struct launches_call *c, uint64_t age)
{
	return c->used && (!c->worked || c->id > t->highest || t->highest - c->id <= age);
}

/* Into a table of @cap slots, leaving out what is done, and what is @oldest ids old in any case. */
static void side_rebuild(struct launches_table *t, uint32_t cap, uint64_t oldest)
{
	struct launches_call *old = t->side;
	uint32_t old_cap = t->side_cap;

	t->side = af_xcalloc(cap, sizeof *t->side);
	t->side_cap = cap;
	t->nr_side = 0;
	for (uint32_t i = 0; i < old_cap; i++) {
		if (!side_keeps(t, &old[i], TABLE_AGE))
			continue;
		if (old[i].id < t->highest && t->highest - old[i].id > oldest) {
			t->forgotten += old[i].missed && !old[i].worked;
			continue;
		}
		side_insert(t->side, cap, &old[i]);
		t->nr_side++;
	}
	free(old);
}

static uint64_t side_oldest(const struct launches_table *t)
{
	uint64_t oldest = 0;

	for (uint32_t i = 0; i < t->side_cap; i++)
		if (t->side[i].used && t->side[i].id < t->highest &&
		    t->highest - t->side[i].id > oldest)
			oldest = t->highest - t->side[i].id;
	return oldest;
}

static void side_make_room(struct launches_table *t)
{
	if (t->nr_side * 2 < t->side_cap)
		return;
	side_rebuild(t, t->side_cap ? t->side_cap : TABLE_FIRST, UINT64_MAX);
	/* Unless that made much room, the table would have to grow again soon. */
	if (t->nr_side * 4 < t->side_cap)
		return;
	if (t->side_cap / 2 < AF_LAUNCHES_WAITING) {
		side_rebuild(t, t->side_cap * 2, UINT64_MAX);
		return;
	}
	for (uint64_t oldest = side_oldest(t) / 2; t->nr_side * 4 >= t->side_cap; oldest /= 2)
		side_rebuild(t, t->side_cap, oldest);
}

/* A call leaves the window: keep it aside if it may still get work. */
static void call_put_away(struct launches_table *t, const struct launches_call *c)
{
	if (!c->used || !c->waits || (c->worked && !c->many))
		return;
	side_make_room(t);
	side_insert(t->side, t->side_cap, c);
	t->nr_side++;
}

static void window_grow(struct launches_table *t)
{
	struct launches_call *old = t->window;
	uint32_t old_cap = t->window_cap;

	t->window_cap = old_cap ? old_cap * 2 : TABLE_FIRST;
	t->window = af_xcalloc(t->window_cap, sizeof *t->window);
	for (uint32_t i = 0; i < old_cap; i++)
		if (old[i].used)
			t->window[old[i].id & (t->window_cap - 1)] = old[i];
	free(old);
}

static struct launches_call *window_slot(const struct launches_table *t, uint64_t id)
{
	return &t->window[id & (t->window_cap - 1)];
}

void launches_put(struct launches_table *t, const struct launches_call *c)
{
	struct launches_call put = *c;

	put.used = true;
	if (!t->window_cap)
		window_grow(t);
	struct launches_call *slot = window_slot(t, c->id);
	while (slot->used && slot->id != c->id && slot->waits &&
	       t->window_cap < AF_LAUNCHES_WINDOW && !slot->worked) {
		window_grow(t);
		slot = window_slot(t, c->id);
	}
	if (slot->used && slot->id > c->id) {
		call_put_away(t, &put);
		return;
	}
	if (slot->used && slot->id == c->id)
		put.worked |= slot->worked;
	else
		call_put_away(t, slot);
	*slot = put;
}

struct launches_call *launches_find_waiting(struct launches_table *t, uint64_t id)
{
	if (!t->nr_side)
		return NULL;
	uint64_t i = af_scatter(id) & (t->side_cap - 1);
	for (; t->side[i].used; i = (i + 1) & (t->side_cap - 1))
		if (t->side[i].id == id)
			return &t->side[i];
	return NULL;
}

static uint64_t count_missed(const struct launches_call *calls, uint32_t nr)
{
	uint64_t missed = 0;

	for (uint32_t i = 0; i < nr; i++)
		missed += calls[i].used && calls[i].missed && !calls[i].worked;
	return missed;
}

uint64_t launches_unfinished(const struct launches_table *t)
{
	return t->forgotten + count_missed(t->window, t->window_cap) +
	       count_missed(t->side, t->side_cap);
}

static void calls_put(struct launches_table *t, const struct launches_call *calls, uint32_t nr,
                      uint64_t shift)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct launches_call c = calls[i];
		if (!c.used)
			continue;
		c.id += shift;
		launches_put(t, &c);
	}
}

void launches_add(struct launches_table *t, const struct launches_table *from, uint64_t shift)
{
	uint64_t highest = from->highest + shift;

	t->lowest = t->lowest ? t->lowest : from->lowest;
	t->highest = highest > t->highest ? highest : t->highest;
	t->calls += from->calls;
	t->forgotten += from->forgotten;
	calls_put(t, from->side, from->side_cap, shift);
	calls_put(t, from->window, from->window_cap, shift);
}

void launches_free(struct launches_table *t)
{
	free(t->window);
	free(t->side);
	*t = (struct launches_table){0};
}
