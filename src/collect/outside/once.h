/*
 * Every moment of a thread once. A thread that is sampled from outside may have several events: one
 * that was opened on it, and those that it inherits from the thread that made it, which may have
 * been watched by then, or not; nobody can ask. So what counts is told by the samples: a thread's
 * are those of the watch that spoke of it first, for as long as that is open.
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
		uint32_t watch;               /* 0: none has spoken of it */
		uint64_t began_ns, spoken_ns; /* the thread, its watch for the first time */
	} * threads;
	uint32_t nr, cap;
	bool *closed; /* by watch */
	uint32_t nr_watches, cap_watches;
};

/* A zeroed struct is empty. */
void af_outside_once_free(struct af_outside_once *o);

/* A new watch. Its number is never 0. */
uint32_t af_outside_once_open(struct af_outside_once *o);

/* An event of @watch; those that others inherit have its id, too. */
void af_outside_once_event(struct af_outside_once *o, uint32_t watch, uint64_t id);

/* Its events are closed: others speak for its threads, if any. */
void af_outside_once_close(struct af_outside_once *o, uint32_t watch);

/* A thread @tid began at @time_ns: the one before it of the same number is over. */
void af_outside_once_begin(struct af_outside_once *o, uint32_t tid, uint64_t time_ns);

/* Does event @id speak for @tid? In order of time. */
bool af_outside_once_speaks(struct af_outside_once *o, uint32_t tid, uint64_t id, uint64_t time_ns);

#endif
