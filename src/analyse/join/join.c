#include "analyse/join/join.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"

void af_join_free(struct af_join *j)
{
	free(j->slots);
	*j = (struct af_join){0};
}

static uint64_t home(const struct af_join *j, uint32_t process, uint64_t id)
{
	return af_scatter(id ^ (uint64_t)process << 48) & (j->cap - 1);
}

static void join_grow(struct af_join *j)
{
	struct af_join old = *j;

	j->cap = old.cap ? old.cap * 2 : 1024;
	j->nr = 0;
	j->slots = af_xcalloc(j->cap, sizeof *j->slots);
	for (uint64_t i = 0; i < old.cap; i++)
		if (old.slots[i].process)
			af_join_put(j, &old.slots[i]);
	free(old.slots);
}

void af_join_put(struct af_join *j, const struct af_cause *c)
{
	if (j->nr * 2 >= j->cap)
		join_grow(j);
	uint64_t i = home(j, c->process, c->id);
	while (j->slots[i].process)
		i = (i + 1) & (j->cap - 1);
	j->slots[i] = *c;
	j->nr++;
}

/* Knuth, The Art of Computer Programming 6.4, algorithm R: close the gap that a deletion leaves. */
static void join_close_gap(struct af_join *j, uint64_t gap)
{
	uint64_t mask = j->cap - 1;

	for (uint64_t i = (gap + 1) & mask; j->slots[i].process; i = (i + 1) & mask) {
		uint64_t at = home(j, j->slots[i].process, j->slots[i].id);
		if (((i - at) & mask) >= ((i - gap) & mask)) {
			j->slots[gap] = j->slots[i];
			gap = i;
		}
	}
	j->slots[gap].process = 0;
}

bool af_join_take(struct af_join *j, uint32_t process, uint64_t id, struct af_cause *c)
{
	if (!j->nr)
		return false;
	uint64_t i = home(j, process, id);
	for (; j->slots[i].process; i = (i + 1) & (j->cap - 1)) {
		if (j->slots[i].process != process || j->slots[i].id != id)
			continue;
		*c = j->slots[i];
		join_close_gap(j, i);
		j->nr--;
		return true;
	}
	return false;
}
