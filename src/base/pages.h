/*
 * Memory from the kernel, not from the program's heap: zeroed, and there as it is touched. And a
 * pool of entries in such memory, which any thread takes and gives back without a lock:
 *
 *	{ af_pool_take → af_pool_at, af_pool_next, af_pool_link → af_pool_give }*
 *
 * Entries have numbers from 1, by which lists can be made of them: 0 ends a list. @size is that of
 * an entry, the same in all calls.
 */
#ifndef AF_BASE_PAGES_H
#define AF_BASE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* The same at @near, if nothing is there, else elsewhere. */
static inline void *af_pages_near(void *near, size_t size, int flags)
{
	void *p =
	    mmap(near, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* NULL and errno where there is none; munmap() frees it. @flags: more of mmap(2)'s, or 0. */
static inline void *af_pages(size_t size, int flags)
{
	return af_pages_near(NULL, size, flags);
}

enum { AF_SPARES = 16 };

/*
 * Pages that threads have in turn: each takes one of @size bytes while it needs it. For what is too
 * large for thread-local storage, of which a library that is opened late has hardly 1,600 bytes.
 * Any thread, no lock. A zeroed one is empty.
 */
struct af_spares {
	size_t size;
	_Atomic(void *) all[AF_SPARES];
};

/* One that has whatever it was left with, or zeros; NULL: there is no memory. */
static inline void *af_spares_take(struct af_spares *s)
{
	void *p = NULL;

	for (int i = 0; i < AF_SPARES && !p; i++)
		if (atomic_load_explicit(&s->all[i], memory_order_relaxed))
			p = atomic_exchange(&s->all[i], NULL);
	return p ? p : af_pages(s->size, 0);
}

static inline void af_spares_give(struct af_spares *s, void *p)
{
	for (int i = 0; i < AF_SPARES; i++) {
		void *none = NULL;
		if (atomic_compare_exchange_strong(&s->all[i], &none, p))
			return;
	}
	munmap(p, s->size);
}

enum { AF_POOL_CHUNKS = 256, AF_POOL_ENTRIES = 1024 /* of a chunk */ };

/* Zeroed: empty. Its chunks are never unmapped: who lost a race may still read the link of one. */
struct af_pool {
	_Atomic(void *) chunks[AF_POOL_CHUNKS];
	/* Stack of free numbers; the upper half counts, so a pop cannot mistake a reused head. */
	_Atomic uint64_t free;
	_Atomic uint32_t used; /* numbers handed out so far */
};

/* How each entry begins: the link of the list that it is in, also of that of the free ones. */
struct af_pool_entry {
	_Atomic uint32_t next;
};

static inline void *af_pool_at(const struct af_pool *p, size_t size, uint32_t number)
{
	char *chunk =
	    atomic_load_explicit(&p->chunks[(number - 1) / AF_POOL_ENTRIES], memory_order_acquire);

	return chunk + (number - 1) % AF_POOL_ENTRIES * size;
}

static inline uint32_t af_pool_next(const struct af_pool *p, size_t size, uint32_t number)
{
	const struct af_pool_entry *e = af_pool_at(p, size, number);

	return atomic_load_explicit(&e->next, memory_order_relaxed);
}

static inline void af_pool_link(const struct af_pool *p, size_t size, uint32_t number,
                                uint32_t next)
{
	struct af_pool_entry *e = af_pool_at(p, size, number);

	atomic_store_explicit(&e->next, next, memory_order_relaxed);
}

static inline bool af_pool_chunk(struct af_pool *p, size_t size, uint32_t i)
{
	void *none = NULL;

	if (atomic_load(&p->chunks[i]))
		return true;
	void *chunk = af_pages(AF_POOL_ENTRIES * size, 0);
	if (!chunk)
		return false;
	if (!atomic_compare_exchange_strong(&p->chunks[i], &none, chunk))
		munmap(chunk, AF_POOL_ENTRIES * size);
	return true;
}

/* The number of an entry, as it was given back; 0 where there is no room for more. */
static inline uint32_t af_pool_take(struct af_pool *p, size_t size)
{
	uint64_t head = atomic_load_explicit(&p->free, memory_order_acquire);

	while ((uint32_t)head) {
		uint64_t next = af_pool_next(p, size, (uint32_t)head) | ((head >> 32) + 1) << 32;
		if (atomic_compare_exchange_weak_explicit(
			&p->free, &head, next, memory_order_acquire, memory_order_acquire))
			return (uint32_t)head;
	}
	uint32_t used = atomic_load(&p->used);
	do {
		if (used >= AF_POOL_CHUNKS * AF_POOL_ENTRIES ||
		    !af_pool_chunk(p, size, used / AF_POOL_ENTRIES))
			return 0;
	} while (!atomic_compare_exchange_weak(&p->used, &used, used + 1));
	return used + 1;
}

/* Gives back the list from @first to @last. */
static inline void af_pool_give(struct af_pool *p, size_t size, uint32_t first, uint32_t last)
{
	uint64_t head = atomic_load_explicit(&p->free, memory_order_relaxed), mine;

	do {
		af_pool_link(p, size, last, (uint32_t)head);
		mine = ((head >> 32) + 1) << 32 | first;
	} while (!atomic_compare_exchange_weak_explicit(&p->free, &head, mine, memory_order_release,
	                                                memory_order_relaxed));
}

/* All entries are free again, in a child of a fork. */
static inline void af_pool_forget(struct af_pool *p)
{
	atomic_store(&p->free, 0);
	atomic_store(&p->used, 0);
}

#endif
