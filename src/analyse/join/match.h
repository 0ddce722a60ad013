/*
 * Matches device work whose stack is not in the trace by time with calls that were seen from
 * outside. Only on request: it is a guess, and the result is marked (af_work.matched).
 *
 *	{ af_match_seen | af_match_work | af_match_until }* → af_match_end → af_match_free
 *
 * Within a process, a launch matches a kernel, a launch of a graph all of a graph's work, a copy
 * matches a copy, a fill a fill. Each matches once, and never work that began before it.
 *
 * Where the trace has the call, but not its stack, the match is the last call seen from 1 ms before
 * the call's beginning to its end, of the same thread if there is one. Otherwise work takes calls
 * in the order of both, as a queue does. A missing call or piece of work must not shift all that
 * follow. So when the device has been idle for 1 ms, a call that waited through all of that time
 * gives way to one that was made since.
 *
 * Work is held for AF_MATCH_HOLD_NS, because it is recorded in another order than it began.
 */
#ifndef AF_ANALYSE_JOIN_MATCH_H
#define AF_ANALYSE_JOIN_MATCH_H

#include <stdint.h>

#include "analyse/join/launches.h"

enum { AF_MATCH_QUEUES = 4 };
#define AF_MATCH_HOLD_NS 2000000000ull
#define AF_MATCH_NEAR_NS 1000000ull

struct af_match {
	bool on; /* else works pass as they are */
	af_launches_take *take;
	void *arg;
	uint64_t matched; /* works, so far */

	/* private */
	struct match_process *processes;
	uint32_t nr_processes, cap_processes;
	struct af_map by_process;
	struct match_held *held; /* by start */
	uint64_t first, nr, cap;
};

/* A call with a correlation id is joined exactly, by launches.h, and is ignored here. */
void af_match_seen(struct af_match *m, const struct af_world *w, const struct af_call *call);

/*
 * Work in any order, copied. Work that has its stack, or no time, goes to m->take at once; the rest
 * is held until af_match_until() or af_match_end().
 */
void af_match_work(struct af_match *m, const struct af_world *w, struct af_work *work);

/* The trace has been read to @now_ns: hand over the work that has been held long enough. */
void af_match_until(struct af_match *m, const struct af_world *w, uint64_t now_ns);

/* No more will come: hand over all that is held. _free drops what is held. */
void af_match_end(struct af_match *m, const struct af_world *w);
void af_match_free(struct af_match *m);

#endif
