#include "base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct af_strtab_slot {
	uint64_t hash;
	uint32_t id_plus_1;
};

void af_strtab_free(struct af_strtab *t)
{
	af_arena_free(&t->arena);
	free(t->slots);
	free(t->strings);
	free(t->lens);
	*t = (struct af_strtab){0};
}

static void strtab_grow(struct af_strtab *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 256;
	struct af_strtab_slot *slots = af_xcalloc(cap, sizeof *slots);

	for (uint32_t i = 0; i < t->cap; i++) {
		if (!t->slots[i].id_plus_1)
			continue;
		uint32_t j = t->slots[i].hash & (cap - 1);
		while (slots[j].id_plus_1)
			j = (j + 1) & (cap - 1);
		slots[j] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->strings = af_xrealloc(t->strings, cap * sizeof *t->strings);
	t->lens = af_xrealloc(t->lens, cap * sizeof *t->lens);
	t->cap = cap;
}

/* The slot of @s, or the empty one where it would be. */
static uint32_t strtab_slot(const struct af_strtab *t, uint64_t hash, const char *s, size_t len)
{
	uint32_t j = hash & (t->cap - 1);

	for (; t->slots[j].id_plus_1; j = (j + 1) & (t->cap - 1)) {
		uint32_t id = t->slots[j].id_plus_1 - 1;
		if (t->slots[j].hash == hash && t->lens[id] == len &&
		    !memcmp(t->strings[id], s, len))
			break;
	}
	return j;
}

static uint32_t strtab_insert(struct af_strtab *t, const char *s, size_t len)
{
	uint64_t hash = af_scatter_bytes(s, len);
	uint32_t j = strtab_slot(t, hash, s, len);

	if (t->slots[j].id_plus_1)
		return t->slots[j].id_plus_1 - 1;
	t->slots[j] = (struct af_strtab_slot){hash, t->nr + 1};
	t->strings[t->nr] = af_arena_strdup(&t->arena, s, len);
	t->lens[t->nr] = (uint32_t)len;
	return t->nr++;
}

uint32_t af_strtab_id(struct af_strtab *t, const char *s, size_t len)
{
	if (!t->nr) {
		strtab_grow(t);
		strtab_insert(t, "", 0);
	}
	if (t->nr * 2 >= t->cap)
		strtab_grow(t);
	return strtab_insert(t, s, len);
}

uint32_t af_strtab_find(const struct af_strtab *t, const char *s, size_t len)
{
	if (!t->nr)
		return 0;
	uint32_t found = t->slots[strtab_slot(t, af_scatter_bytes(s, len), s, len)].id_plus_1;
	return found ? found - 1 : 0;
}

uint32_t af_strtab_id_z(struct af_strtab *t, const char *s)
{
	return af_strtab_id(t, s, strlen(s));
}

const char *af_strtab_get(const struct af_strtab *t, uint32_t id)
{
	return id < t->nr ? t->strings[id] : "";
}
