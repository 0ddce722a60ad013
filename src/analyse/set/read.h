/*
 * Reads many members at once, on all CPUs, and takes their results in the order of the members: the
 * outcome is the same whatever the number of threads. Few results wait for their turn at any time,
 * so memory does not grow with members.
 */
#ifndef AF_ANALYSE_SET_READ_H
#define AF_ANALYSE_SET_READ_H

#include <stdint.h>

#include "analyse/set/set.h"

struct af_err;

struct af_set_reading {
	const struct af_set *set;
	uint32_t first, nr; /* the members to read */
	unsigned threads;   /* 1: all on the thread of the caller */
	/* On any thread, several at once: the result, or NULL and the reason. */
	void *(*read)(void *arg, const struct af_member *who, struct af_err *err);
	/*
	 * One call at a time, in the order of members: @result, which is taken, or NULL and @why.
	 * Another value than 0 ends the reading.
	 */
	int (*take)(void *arg, const struct af_member *who, void *result, const struct af_err *why);
	void (*drop)(void *result); /* one that nobody takes any more */
	/* After each member that was taken, or NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t nr);
	void *arg;
};

/* Read the members. Returns 0, or what @take returned when it was not 0. */
int af_set_read(const struct af_set_reading *how);

/* The CPUs that this process may use; AFLAME_JOBS or @wanted (0: as many) where one is given. */
unsigned af_set_threads(uint64_t wanted);

/* How many of @threads, which read @nr members, read each of them. */
unsigned af_set_threads_each(unsigned threads, uint32_t nr);

#endif
