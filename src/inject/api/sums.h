/*
 * Sums of calls and of device work in place of their events (`record --tally-only`): a table for
 * each thread, behind its ring (struct af_sum, trace/packet.h), so that it outlives the process.
 * Between af_thread_enter() and af_thread_leave().
 */
#ifndef AF_INJECT_API_SUMS_H
#define AF_INJECT_API_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/core/inject.h"
#include "trace/packet.h"

struct af_thread_context;

/*
 * Add one call or piece of work to the sum of @key. What failed is counted, and no part of the
 * times. A table that is full counts what it lost.
 */
void af_sums_add(struct af_thread_context *t, uint32_t key, bool failed, uint64_t ns,
                 uint64_t bytes);

/* Is nothing else to be written than sums, and the definitions that they need? */
static inline bool af_sums_only(void)
{
	const struct af_session *session = af_inject_session();

	return session && session->flags & AF_SESSION_SUMS;
}

/* The thread ends: its sums become events, and the next thread begins with none. */
void af_sums_end(struct af_thread_context *t);

#endif
