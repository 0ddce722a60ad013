/*
 * The blocks that are in use, by address: many small tables, each with a lock that is held for a
 * few instructions. A table grows with mmap(); beyond BOOK_MOST blocks none is added.
 */
#ifndef AF_INJECT_ALLOC_BOOK_H
#define AF_INJECT_ALLOC_BOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/alloc/alloc.h"

enum { AF_BOOK_SHARDS = 64 };

struct af_book_entry {
	uint64_t address; /* 0: free */
	uint64_t bytes;
	uint32_t site;
};

/* Zeros are an empty one. */
struct af_book_shard {
	_Alignas(64) _Atomic uint32_t lock;
	uint32_t bits; /* of the table's size */
	uint32_t used;
	struct af_book_entry *entries;
};

struct af_book {
	struct af_book_shard shards[AF_BOOK_SHARDS];
};

/* A lock held for a few instructions. The caller is no handler that interrupted its holder. */
void af_alloc_lock(_Atomic uint32_t *lock);
void af_alloc_unlock(_Atomic uint32_t *lock);

/* Add the block at @p, which replaces one at the same address: *@old. False: there is no room. */
bool af_book_add(struct af_book *book, const void *p, const struct af_alloc_block *block,
                 struct af_alloc_block *old);

/* Remove the block at @p. @block->site is 0 where there is none. */
void af_book_remove(struct af_book *book, const void *p, struct af_alloc_block *block);

#endif
