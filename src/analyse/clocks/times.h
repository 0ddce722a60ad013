/*
 * The times of a set: since its first trace began, on the clock of the set's first member
 * (clocks.h). A host whose time of day is all that is known of its clock, and wrong by more than a
 * day, would put its ranks years away from the others: such a trace counts as if it had begun with
 * the typical one, as do all traces of a set of runs.
 *
 *	af_set_times_read → { af_set_times_of, af_set_times_part }* → af_set_times_free
 */
#ifndef AF_ANALYSE_CLOCKS_TIMES_H
#define AF_ANALYSE_CLOCKS_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/clocks/clocks.h"

struct af_set_time {
	uint64_t start_ns; /* of the trace, on its own clock; 0: it cannot be read */
	int64_t moved_ns;  /* added to its times, because its clock is too far away */
	uint64_t size_bytes;
};

struct af_set_times {
	struct af_set_clocks clocks;
	struct af_set_time *members; /* as in the set */
	uint64_t start_ns;           /* of the set, on the clock of the reference */
	uint32_t nr_moved;
};

/*
 * Read where the traces of @s begin, and their clocks. @s is borrowed for the call. -ENODATA: @s
 * has no member. Free @t either way.
 */
int af_set_times_read(struct af_set_times *t, const struct af_set *s, struct af_err *err);
void af_set_times_free(struct af_set_times *t);

/* The time of the set, from 0 on, when the clock of member @member stood at @ns. */
uint64_t af_set_times_of(const struct af_set_times *t, uint32_t member, uint64_t ns);

/*
 * A range of the set's times as one of times since the trace of @member began, as a query has it:
 * *@to_ns 0 is the end. False: the trace has no part in it.
 */
bool af_set_times_part(const struct af_set_times *t, uint32_t member, uint64_t *from_ns,
                       uint64_t *to_ns);

/*
 * How far times of different hosts may be off, for people: "times of other hosts than node0 may be
 * off by up to 3 us: …". False: all have one clock, and @text is "".
 */
bool af_set_times_text(const struct af_set_times *t, const char *path, char *text, size_t size);

#endif
