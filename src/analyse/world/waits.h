/*
 * A stretch that a thread was off the CPU, and the event that ended it.
 */
#ifndef AF_ANALYSE_WORLD_WAITS_H
#define AF_ANALYSE_WORLD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/world/stack_locations.h"

struct af_wait {
	struct af_stack_location at;
	uint32_t tid;
	uint32_t state;                       /* enum af_thread_state */
	uint64_t blocked_ns, queued_ns;       /* the parts of these in the time range: within.h */
	uint64_t blocked_at_ns, queued_at_ns; /* when that part begins */
	bool blocked_out_of_range, queued_out_of_range; /* they began before the time range */
	uint64_t wake;                                  /* 0: not recorded */
};

/*
 * False when @ev is not an OFFCPU event, or malformed. A state that this version does not know
 * becomes AF_STATE_END.
 */
bool af_wait_read(const struct af_world *w, const struct af_event *ev, struct af_wait *wait);

/* The name of the frame at the end of a wait's path: "[sleeping]". */
const char *af_wait_frame(uint32_t state);

#endif
