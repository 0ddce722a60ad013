/*
 * The slices of a set: those of its traces, one trace after the other, on the clock of the set.
 *
 *	{ af_set_slices_of → af_timeline_run() into its sink }* → af_set_slices_free
 */
#ifndef AF_ANALYSE_CLOCKS_SLICES_H
#define AF_ANALYSE_CLOCKS_SLICES_H

#include "analyse/clocks/times.h"
#include "analyse/time/slices.h"
#include "base/map.h"

/* Zeroed: of no set. @set and @times are borrowed. */
struct af_set_slices {
	const struct af_set *set;
	const struct af_set_times *times;

	/* private */
	struct af_map pids; /* → member, plus 1: viewers take one pid for one process */
	struct af_arena names;
	uint32_t member;
	struct af_slices_sink into;
};

/*
 * The sink for the slices of member @member, which hands them to @into: processes have pids that no
 * other member has, and names with their host and rank; times are those of the reference. One
 * member at a time.
 */
struct af_slices_sink af_set_slices_of(struct af_set_slices *s, uint32_t member,
                                       const struct af_slices_sink *into);
void af_set_slices_free(struct af_set_slices *s);

#endif
