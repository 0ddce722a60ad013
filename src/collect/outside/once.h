/*
 * Counts every moment of a thread once. A thread that is sampled from outside may have several
 * events: one that was opened on it, and those that it inherits from the thread that made it. The
 * kernel does not tell which of these exist, so the samples decide: a thread's samples are those of
 * the watch whose event sampled it first, for as long as that watch is open.
 */
#ifndef AF_COLLECT_OUTSIDE_ONCE_H
#define AF_COLLECT_OUTSIDE_ONCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct af_outside_once {
	struct af_map watch_of; /* event's id → watch */
	struct af_map by_tid;   /* index of @threads plus one */
	struct once_thread {
		uint32_t watch; /* 0: no sample yet */
		/* When the thread began, and when its watch was chosen: at its first sample */
		uint64_t began_ns, chosen_ns;
	} * threads;
	uint32_t nr, cap;
	bool *closed; /* by watch */
	uint32_t nr_watches, cap_watches;
};

/* A zeroed struct is empty. */
void af_outside_once_free(struct af_outside_once *o);

/* A new watch. Its number is never 0. */
uint32_t af_outside_once_open(struct af_outside_once *o);

/* Add an event of @watch; events inherited from it have the same id. */
void af_outside_once_event(struct af_outside_once *o, uint32_t watch, uint64_t id);

/* The watch's events are closed: other watches may sample its threads from now on. */
void af_outside_once_close(struct af_outside_once *o, uint32_t watch);

/* A thread @tid began at @time_ns: the earlier thread of that number is over. */
void af_outside_once_begin(struct af_outside_once *o, uint32_t tid, uint64_t time_ns);

/* Does a sample of event @id for @tid count? Call it in order of time. */
bool af_outside_once_accepts(struct af_outside_once *o, uint32_t tid, uint64_t id,
                             uint64_t time_ns);

#endif
