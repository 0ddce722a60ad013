/*
 * A map from a runtime's handles to our data about them. Reads are lock-free and fit for a hot
 * path; writes take a mutex and happen when objects are made. When the runtime uses a handle again,
 * its value is set again. Memory grows with the number of different handles and is never given
 * back.
 */
#ifndef AF_INJECT_CORE_HANDLES_H
#define AF_INJECT_CORE_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct af_handle_slot {
	_Atomic uint64_t key, value;
};

struct af_handle_table {
	uint64_t nr_slots; /* a power of two */
	uint64_t nr_used;
	struct af_handle_slot slots[];
};

struct af_handles {
	_Atomic(struct af_handle_table *) table;
	pthread_mutex_t lock;
};

#define AF_HANDLES_INIT                                                                            \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* The value of @key, 0 when it was never set. Key 0 has no value. Any thread. */
uint64_t af_handles_get(const struct af_handles *h, uint64_t key);

/* Give @key a value; 0 forgets it. Without memory the handle stays unknown. Any thread. */
void af_handles_set(struct af_handles *h, uint64_t key, uint64_t value);

/*
 * The value of @key, set to @value if it has none. Several threads that meet a handle at once all
 * get the same value. Without memory: @value.
 */
uint64_t af_handles_claim(struct af_handles *h, uint64_t key, uint64_t value);

/*
 * Calls @each for all keys that have a value, in no order; keys set meanwhile may be missed. Any
 * thread.
 */
void af_handles_each(const struct af_handles *h,
                     void (*each)(void *arg, uint64_t key, uint64_t value), void *arg);

/* Forget everything and remake the lock: in a forked child, while it has one thread. */
void af_handles_after_fork(struct af_handles *h);

#endif
