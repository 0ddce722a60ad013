/*
 * Open-addressing hash map from 64-bit keys to 64-bit values, and a hash for strings.
 * Grows by doubling; no deletion (nothing here needs it). Memory comes from af_xcalloc.
 */
#ifndef AF_BASE_MAP_H
#define AF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Mix one 64-bit word; good enough for tables, not for adversaries. */
static inline uint64_t af_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* The product of two words, folded: what hashes of many words are made of. */
static inline uint64_t af_mul_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Hash of @len bytes. */
uint64_t af_hash(const void *data, size_t len);

#endif
