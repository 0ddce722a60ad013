/*
 * Hash map from keys of any bytes to 64-bit values. It compares whole keys and places them by this
 * process's secret (hash.h), so no file can make two keys one, nor make the table slow. For keys
 * longer than a word; a word goes into map.h, which compares it as well.
 */
#ifndef AF_BASE_KEYS_H
#define AF_BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct af_keys {
	struct af_keys_slot *slots;
	size_t nr, cap; /* cap is 0 or a power of two */
	struct af_arena entries;
};

/* A key of words, for @key and @len below: AF_KEY(process, address). Without padding, so equal is
 * equal. */
#define AF_KEY(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__})

/* A key that is a string. */
#define AF_KEY_TEXT(text) (text), strlen(text)

/* A zeroed struct is an empty map. */
void af_keys_free(struct af_keys *k);

/* The value of the @len bytes at @key, or NULL. Valid until af_keys_free(). */
uint64_t *af_keys_get(const struct af_keys *k, const void *key, size_t len);

/* The same, inserted as 0 with a copy of the key if absent (*@fresh tells, may be NULL). */
uint64_t *af_keys_at(struct af_keys *k, const void *key, size_t len, bool *fresh);

/*
 * A key at or behind *@at, which begins at 0 and is moved behind it, with its length; NULL: there
 * is no other. Their order differs from process to process.
 */
const void *af_keys_next(const struct af_keys *k, size_t *at, size_t *len);

#endif
