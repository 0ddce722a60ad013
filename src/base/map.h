/*
 * Open-addressing hash map from 64-bit keys to 64-bit values. A key is the value itself (a number,
 * or two of 32 bits), never a hash of it: longer keys go into keys.h. The places of keys, and so
 * the order of slots, differ from process to process. The map grows by doubling and has no
 * deletion, because nothing here needs it. Its memory comes from af_xcalloc().
 */
#ifndef AF_BASE_MAP_H
#define AF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct af_map {
	struct af_map_slot {
		uint64_t key, value;
		bool used;
	} * slots;
	size_t nr, cap; /* cap is 0 or a power of two */
};

/* A zeroed struct is an empty map. */
void af_map_free(struct af_map *m);

/* The value of @key, or NULL. Valid until the next af_map_at(). */
uint64_t *af_map_get(const struct af_map *m, uint64_t key);

/* The value of @key, inserted as 0 if absent (*@fresh tells, may be NULL). Same validity. */
uint64_t *af_map_at(struct af_map *m, uint64_t key, bool *fresh);

/* Add each value of @from to that of the same key of @to. */
void af_map_add(struct af_map *to, const struct af_map *from);

#endif
