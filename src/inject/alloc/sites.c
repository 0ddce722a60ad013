#include "inject/alloc/sites.h"

#include <string.h>

#include "base/hash.h"
#include "inject/alloc/book.h"

static uint64_t words_hash(const uint64_t *words, uint32_t nr, enum af_stop stop, uint32_t epoch)
{
	const uint64_t apart = 0x9e3779b97f4a7c15ull;
	uint64_t secret = af_hash_seed[1], h = (uint64_t)stop << 32 | nr;

	h = af_mul_fold(h ^ af_hash_seed[0], epoch ^ af_hash_seed[3]);
	for (uint32_t i = 0; i < nr; i++, secret += apart)
		h += af_mul_fold(words[i] ^ secret, af_hash_seed[2] ^ (secret >> 7));
	return af_scatter(h);
}

/* The number that @index has for @hash; 0: *@slot is where it belongs, or there is no room. */
static uint32_t index_find(const _Atomic uint32_t *index, uint64_t hash, const char *records,
                           size_t size, uint32_t *slot)
{
	for (uint32_t i = 0; i < AF_SITES_INDEX; i++) {
		*slot = (uint32_t)(hash + i) % AF_SITES_INDEX;
		uint32_t number = atomic_load_explicit(&index[*slot], memory_order_acquire);
		uint64_t has;
		if (!number)
			return 0;
		memcpy(&has, records + number * size, sizeof has);
		if (has == hash)
			return number;
	}
	return 0;
}

static uint32_t stack_find(const struct af_sites *s, uint64_t hash, uint32_t *slot)
{
	return index_find(s->stack_index, hash, (const char *)s->stacks, sizeof *s->stacks, slot);
}

static uint32_t site_find(const struct af_sites *s, uint64_t hash, uint32_t *slot)
{
	return index_find(s->site_index, hash, (const char *)s->sites, sizeof *s->sites, slot);
}

/* With the lock. */
static uint32_t stack_add(struct af_sites *s, uint64_t hash, uint32_t slot, const uint64_t *words,
                          uint32_t nr)
{
	uint32_t number = atomic_load(&s->nr_stacks) + 1;

	if (number >= AF_SITES || AF_SITES_WORDS - s->nr_words < nr)
		return 0;
	struct af_site_stack *stack = &s->stacks[number];
	stack->hash = hash;
	stack->at = s->nr_words;
	stack->nr = nr;
	memcpy(s->words + s->nr_words, words, nr * sizeof *words);
	s->nr_words += nr;
	atomic_store(&s->nr_stacks, number);
	atomic_store_explicit(&s->stack_index[slot], number, memory_order_release);
	return number;
}

uint32_t af_sites_stack(struct af_sites *s, const uint64_t *words, uint32_t nr, enum af_stop stop,
                        uint32_t epoch)
{
	uint64_t hash = words_hash(words, nr, stop, epoch);
	uint32_t slot, number = stack_find(s, hash, &slot);

	if (number)
		return number;
	af_alloc_lock(&s->lock);
	number = stack_find(s, hash, &slot);
	if (!number) {
		uint32_t next = atomic_load(&s->nr_stacks) + 1;
		if (next < AF_SITES) {
			s->stacks[next].stop = stop;
			s->stacks[next].epoch = epoch;
		}
		number = stack_add(s, hash, slot, words, nr);
	}
	af_alloc_unlock(&s->lock);
	return number;
}

/* With the lock. */
static uint32_t site_add(struct af_sites *s, uint64_t hash, uint32_t slot, uint32_t stack,
                         uint32_t py)
{
	uint32_t number = af_sites_nr(s) + 1;

	if (number >= AF_SITES)
		return 0;
	s->sites[number].hash = hash;
	s->sites[number].stack = stack;
	s->sites[number].py = py;
	atomic_store(&s->nr_sites, number);
	atomic_store_explicit(&s->site_index[slot], number, memory_order_release);
	return number;
}

uint32_t af_sites_site(struct af_sites *s, uint32_t stack, uint32_t py)
{
	uint32_t slot, number = 0;

	if (stack && !py)
		number = atomic_load_explicit(&s->stacks[stack].plain, memory_order_acquire);
	if (!stack || number)
		return number ? number : AF_SITE_UNKNOWN;
	uint64_t hash = af_mix((uint64_t)stack << 32 | py);
	number = site_find(s, hash, &slot);
	if (!number) {
		af_alloc_lock(&s->lock);
		number = site_find(s, hash, &slot);
		if (!number)
			number = site_add(s, hash, slot, stack, py);
		af_alloc_unlock(&s->lock);
	}
	if (number && !py)
		atomic_store_explicit(&s->stacks[stack].plain, number, memory_order_release);
	return number ? number : AF_SITE_UNKNOWN;
}

uint32_t af_sites_nr(const struct af_sites *s)
{
	uint32_t nr = atomic_load(&s->nr_sites);

	return nr ? nr : AF_SITE_UNKNOWN;
}

bool af_sites_capture(const struct af_sites *s, const struct af_site *site, struct af_capture *c)
{
	const struct af_site_stack *stack = &s->stacks[site->stack], *py = &s->stacks[site->py];

	if (!site->stack)
		return false;
	c->nr = stack->nr;
	c->stop = (enum af_stop)stack->stop;
	c->epoch = stack->epoch;
	memcpy(c->pcs, s->words + stack->at, stack->nr * sizeof *c->pcs);
	c->nr_py = site->py ? py->nr : 0;
	c->py_stop = (enum af_stop)py->stop;
	memcpy(c->py, s->words + py->at, c->nr_py * sizeof *c->py);
	return true;
}
