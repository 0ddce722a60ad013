#include "base/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct keys_entry {
	uint64_t value;
	size_t len;
	unsigned char key[];
};

struct af_keys_slot {
	uint64_t hash;
	struct keys_entry *entry;
};

void af_keys_free(struct af_keys *k)
{
	af_arena_free(&k->entries);
	free(k->slots);
	*k = (struct af_keys){0};
}

/* Most keys are a few words. */
static inline bool key_is(const struct keys_entry *e, const void *key, size_t len)
{
	uint64_t a, b, differ = 0;

	if (e->len != len)
		return false;
	if (len > 32 || len % 8)
		return !memcmp(e->key, key, len);
	for (size_t i = 0; i < len; i += 8) {
		memcpy(&a, e->key + i, 8);
		memcpy(&b, (const char *)key + i, 8);
		differ |= a ^ b;
	}
	return !differ;
}

static inline struct af_keys_slot *keys_slot(const struct af_keys *k, uint64_t hash,
                                             const void *key, size_t len)
{
	size_t mask = k->cap - 1;
	struct af_keys_slot *s;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		s = &k->slots[i];
		if (!s->entry || (s->hash == hash && key_is(s->entry, key, len)))
			return s;
	}
}

static void keys_grow(struct af_keys *k)
{
	struct af_keys_slot *old = k->slots;
	size_t nr = k->cap;

	k->cap = nr ? nr * 2 : 64;
	k->slots = af_xcalloc(k->cap, sizeof *k->slots);
	for (size_t i = 0; i < nr; i++) {
		size_t at = old[i].hash & (k->cap - 1);
		if (!old[i].entry)
			continue;
		while (k->slots[at].entry)
			at = (at + 1) & (k->cap - 1);
		k->slots[at] = old[i];
	}
	free(old);
}

uint64_t *af_keys_get(const struct af_keys *k, const void *key, size_t len)
{
	if (!k->cap)
		return NULL;
	struct af_keys_slot *s = keys_slot(k, af_scatter_bytes(key, len), key, len);
	return s->entry ? &s->entry->value : NULL;
}

uint64_t *af_keys_at(struct af_keys *k, const void *key, size_t len, bool *fresh)
{
	uint64_t hash = af_scatter_bytes(key, len);

	if (k->nr * 2 >= k->cap)
		keys_grow(k);
	struct af_keys_slot *s = keys_slot(k, hash, key, len);
	if (fresh)
		*fresh = !s->entry;
	if (!s->entry) {
		s->hash = hash;
		s->entry = af_arena_alloc(&k->entries, sizeof *s->entry + len);
		s->entry->len = len;
		memcpy(s->entry->key, key, len);
		k->nr++;
	}
	return &s->entry->value;
}

const void *af_keys_next(const struct af_keys *k, size_t *at, size_t *len)
{
	while (*at < k->cap) {
		const struct keys_entry *e = k->slots[(*at)++].entry;
		if (!e)
			continue;
		*len = e->len;
		return e->key;
	}
	return NULL;
}
