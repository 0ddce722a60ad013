#include "inject/alloc/book.h"

#include <sched.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/pages.h"
#include "inject/core/inject.h"

enum {
	BOOK_FIRST_BITS = 8,
	BOOK_LAST_BITS = 18, /* of one shard: 12 million blocks in all, in 400 MB */
	LOCK_SPINS = 200,
};

void af_alloc_lock(_Atomic uint32_t *lock)
{
	for (uint32_t spins = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); spins++)
		if (spins % LOCK_SPINS == LOCK_SPINS - 1)
			sched_yield();
}

void af_alloc_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

/* Addresses are no keys of an adversary's: who allocates in a program owns it. */
static struct af_book_shard *shard_of(struct af_book *book, const void *p, uint64_t *hash)
{
	*hash = af_mix((uint64_t)p);
	return &book->shards[*hash % AF_BOOK_SHARDS];
}

static uint32_t slot_first(const struct af_book_shard *s, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ((1u << s->bits) - 1);
}

/* The slot of @p, or the free one where it belongs. The table has one. */
static uint32_t slot_find(const struct af_book_shard *s, uint64_t p, uint64_t hash)
{
	uint32_t mask = (1u << s->bits) - 1, at = slot_first(s, hash);

	while (s->entries[at].address && s->entries[at].address != p)
		at = (at + 1) & mask;
	return at;
}

/* Not inherited by a forked child, which finds no tables at all. */
static struct af_book_entry *entries_make(uint32_t bits)
{
	size_t size = sizeof(struct af_book_entry) << bits;
	bool may = !af_inject_now.session || af_inject_may_call();
	struct af_book_entry *entries = may ? af_pages(size, MAP_NORESERVE) : NULL;

	if (entries && madvise(entries, size, MADV_DONTFORK)) {
		munmap(entries, size);
		return NULL;
	}
	return entries;
}

static bool shard_grow(struct af_book_shard *s)
{
	struct af_book_shard bigger = {.bits = s->entries ? s->bits + 1 : BOOK_FIRST_BITS};

	if (bigger.bits > BOOK_LAST_BITS)
		return false;
	bigger.entries = entries_make(bigger.bits);
	if (!bigger.entries)
		return false;
	for (uint32_t i = 0; s->entries && i < 1u << s->bits; i++) {
		const struct af_book_entry *e = &s->entries[i];
		if (e->address)
			bigger.entries[slot_find(&bigger, e->address, af_mix(e->address))] = *e;
	}
	if (s->entries)
		munmap(s->entries, sizeof *s->entries << s->bits);
	s->bits = bigger.bits;
	s->entries = bigger.entries;
	return true;
}

bool af_book_add(struct af_book *book, const void *p, const struct af_alloc_block *block,
                 struct af_alloc_block *old)
{
	uint64_t hash;
	struct af_book_shard *s = shard_of(book, p, &hash);

	old->site = 0;
	af_alloc_lock(&s->lock);
	/* At most three quarters are used. */
	bool room = (s->entries && s->used < 3u << s->bits >> 2) || shard_grow(s);
	if (room) {
		struct af_book_entry *e = &s->entries[slot_find(s, (uint64_t)p, hash)];
		if (e->address)
			*old = (struct af_alloc_block){e->bytes, e->site};
		s->used += !e->address;
		*e = (struct af_book_entry){(uint64_t)p, block->bytes, block->site};
	}
	af_alloc_unlock(&s->lock);
	return room;
}

/* Later entries of the same row move up, so that a free slot ends each search. */
static void slot_free(struct af_book_shard *s, uint32_t at)
{
	uint32_t mask = (1u << s->bits) - 1, next = at;

	for (;;) {
		next = (next + 1) & mask;
		const struct af_book_entry *e = &s->entries[next];
		if (!e->address)
			break;
		uint32_t first = slot_first(s, af_mix(e->address));
		if (((next - first) & mask) < ((next - at) & mask))
			continue;
		s->entries[at] = *e;
		at = next;
	}
	s->entries[at].address = 0;
	s->used--;
}

void af_book_remove(struct af_book *book, const void *p, struct af_alloc_block *block)
{
	uint64_t hash;
	struct af_book_shard *s = shard_of(book, p, &hash);

	block->site = 0;
	af_alloc_lock(&s->lock);
	if (s->entries) {
		uint32_t at = slot_find(s, (uint64_t)p, hash);
		if (s->entries[at].address) {
			*block = (struct af_alloc_block){s->entries[at].bytes, s->entries[at].site};
			slot_free(s, at);
		}
	}
	af_alloc_unlock(&s->lock);
}
