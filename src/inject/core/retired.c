/*
 * Contexts of threads in sessions that are over: a process that samples itself may have several
 * sessions. Their addresses stay valid for ever, because a thread that was interrupted may still
 * touch one; their memory is given back, and the next contexts are made at the same addresses.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "inject/core/thread.h"

static _Atomic(struct af_thread_context *) retired;

static void list_put(struct af_thread_context *first, struct af_thread_context *last)
{
	struct af_thread_context *now = atomic_load(&retired);

	do
		last->next_retired = now;
	while (!atomic_compare_exchange_weak(&retired, &now, first));
}

void af_retired_put(struct af_thread_context *t)
{
	madvise(t->stream.ring, AF_RING_BYTES, MADV_REMOVE);
	madvise(t->unwinder, af_unwinder_size(), MADV_DONTNEED);
	list_put(t, t);
}

/* All are taken for a moment, so that none can come back meanwhile. */
struct af_thread_context *af_retired_take(struct af_unwinder **u)
{
	struct af_thread_context *t = atomic_exchange(&retired, NULL);

	if (!t)
		return NULL;
	struct af_thread_context *rest = t->next_retired, *last = rest;
	while (last && last->next_retired)
		last = last->next_retired;
	if (rest)
		list_put(rest, last);
	munmap(t->stream.ring, AF_RING_BYTES);
	*u = t->unwinder;
	madvise(t, sizeof *t, MADV_DONTNEED);
	return t;
}
