#include "base/map.h"

#include <stdlib.h>

#include "base/arena.h"

void af_map_free(struct af_map *m)
{
	free(m->slots);
	*m = (struct af_map){0};
}

static struct af_map_slot *map_slot(const struct af_map *m, uint64_t key)
{
	size_t mask = m->cap - 1;
	size_t i = af_scatter(key) & mask;

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & mask;
	return &m->slots[i];
}

uint64_t *af_map_get(const struct af_map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	struct af_map_slot *s = map_slot(m, key);
	return s->used ? &s->value : NULL;
}

static void map_grow(struct af_map *m)
{
	struct af_map old = *m;

	m->cap = old.cap ? old.cap * 2 : 64;
	m->slots = af_xcalloc(m->cap, sizeof *m->slots);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].used)
			*map_slot(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint64_t *af_map_at(struct af_map *m, uint64_t key, bool *fresh)
{
	if (m->nr * 2 >= m->cap)
		map_grow(m);

	struct af_map_slot *s = map_slot(m, key);
	if (fresh)
		*fresh = !s->used;
	if (!s->used) {
		s->used = true;
		s->key = key;
		m->nr++;
	}
	return &s->value;
}

void af_map_add(struct af_map *to, const struct af_map *from)
{
	for (size_t i = 0; i < from->cap; i++)
		if (from->slots[i].used)
			*af_map_at(to, from->slots[i].key, NULL) += from->slots[i].value;
}
