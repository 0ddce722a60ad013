#include "inject/core/handles.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/pages.h"

enum { HANDLES_FIRST = 256 };

static struct af_handle_slot *table_slot(struct af_handle_table *t, uint64_t key)
{
	uint64_t i = af_mix(key);

	for (;; i++) {
		struct af_handle_slot *s = &t->slots[i & (t->nr_slots - 1)];
		uint64_t found = atomic_load_explicit(&s->key, memory_order_acquire);
		if (found == key || !found)
			return s;
	}
}

uint64_t af_handles_get(const struct af_handles *h, uint64_t key)
{
	struct af_handle_table *t = atomic_load_explicit(&h->table, memory_order_acquire);

	if (!t || !key)
		return 0;
	struct af_handle_slot *s = table_slot(t, key);
	/* A slot that was free when it was found may be another key's by now. */
	if (atomic_load_explicit(&s->key, memory_order_acquire) != key)
		return 0;
	return atomic_load_explicit(&s->value, memory_order_acquire);
}

static struct af_handle_table *table_new(uint64_t nr_slots)
{
	size_t size = sizeof(struct af_handle_table) + nr_slots * sizeof(struct af_handle_slot);
	struct af_handle_table *t = af_pages(size, 0);

	if (!t)
		return NULL;
	t->nr_slots = nr_slots;
	return t;
}

/* The value first: a reader that sees the key must find it. */
static void table_put(struct af_handle_table *t, uint64_t key, uint64_t value)
{
	struct af_handle_slot *s = table_slot(t, key);

	atomic_store_explicit(&s->value, value, memory_order_release);
	if (!atomic_load_explicit(&s->key, memory_order_relaxed)) {
		atomic_store_explicit(&s->key, key, memory_order_release);
		t->nr_used++;
	}
}

/*
 * A table with room for one more. The outgrown one stays mapped, as a reader may be in it; the
 * sizes double, so that costs at most as much again.
 */
static struct af_handle_table *handles_room(struct af_handles *h)
{
	struct af_handle_table *old = atomic_load(&h->table);

	if (old && old->nr_used < old->nr_slots / 2)
		return old;
	struct af_handle_table *t = table_new(old ? old->nr_slots * 2 : HANDLES_FIRST);
	if (!t)
		return NULL;
	for (uint64_t i = 0; old && i < old->nr_slots; i++) {
		if (old->slots[i].key && old->slots[i].value)
			table_put(t, old->slots[i].key, old->slots[i].value);
	}
	atomic_store_explicit(&h->table, t, memory_order_release);
	return t;
}

void af_handles_set(struct af_handles *h, uint64_t key, uint64_t value)
{
	if (!key)
		return;
	pthread_mutex_lock(&h->lock);
	struct af_handle_table *t = handles_room(h);
	if (t)
		table_put(t, key, value);
	pthread_mutex_unlock(&h->lock);
}

uint64_t af_handles_claim(struct af_handles *h, uint64_t key, uint64_t value)
{
	pthread_mutex_lock(&h->lock);
	uint64_t known = af_handles_get(h, key);
	if (!known) {
		struct af_handle_table *t = key ? handles_room(h) : NULL;
		if (t)
			table_put(t, key, value);
		known = value;
	}
	pthread_mutex_unlock(&h->lock);
	return known;
}

void af_handles_each(const struct af_handles *h,
                     void (*each)(void *arg, uint64_t key, uint64_t value), void *arg)
{
	const struct af_handle_table *t = atomic_load_explicit(&h->table, memory_order_acquire);

	for (uint64_t i = 0; t && i < t->nr_slots; i++) {
		uint64_t key = atomic_load_explicit(&t->slots[i].key, memory_order_acquire);
		uint64_t value = atomic_load_explicit(&t->slots[i].value, memory_order_acquire);
		if (key && value)
			each(arg, key, value);
	}
}

void af_handles_after_fork(struct af_handles *h)
{
	struct af_handle_table *t = atomic_load(&h->table);

	atomic_store(&h->table, NULL);
	if (t)
		munmap(t, sizeof *t + t->nr_slots * sizeof *t->slots);
	pthread_mutex_init(&h->lock, NULL);
}
