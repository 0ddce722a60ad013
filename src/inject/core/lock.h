/*
 * A lock that a forked child can take whatever threads of its parent held. It guards a few
 * instructions; nobody calls into a runtime with it.
 */
#ifndef AF_INJECT_CORE_LOCK_H
#define AF_INJECT_CORE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "inject/core/inject.h"

struct af_fork_lock {
	pthread_mutex_t mutex;
	_Atomic uint32_t fork_epoch; /* in which it was last taken */
};

#define AF_FORK_LOCK                                                                               \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, 0                                                       \
	}

/* Take @l. A thread that the fork did not copy may have held it: then it begins anew. */
static inline void af_fork_lock(struct af_fork_lock *l)
{
	uint32_t epoch = af_inject_fork_epoch();
	uint32_t was = atomic_load(&l->fork_epoch);

	if (was != epoch && atomic_compare_exchange_strong(&l->fork_epoch, &was, epoch))
		pthread_mutex_init(&l->mutex, NULL);
	pthread_mutex_lock(&l->mutex);
}

static inline void af_fork_unlock(struct af_fork_lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

#endif
