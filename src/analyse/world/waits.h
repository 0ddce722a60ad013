/* A stretch that a thread was off the CPU, and who ended it. */
#ifndef AF_ANALYSE_WORLD_WAITS_H
#define AF_ANALYSE_WORLD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/world/places.h"

struct af_wait {
	struct af_place at;
	uint32_t tid;
	uint32_t state;                       /* enum af_thread_state */
	uint64_t blocked_ns, queued_ns;       /* of these what is within: within.h */
	uint64_t blocked_at_ns, queued_at_ns; /* when that begins */
	bool blocked_aside, queued_aside;     /* they began before the time that is asked for */
	uint64_t wake;                        /* 0: not recorded */
};

/* False when @ev is no OFFCPU, or malformed. A state that this version does not know is
 * AF_STATE_END. */
bool af_wait_read(const struct af_world *w, const struct af_event *ev, struct af_wait *wait);

/* What the frame at the end of a wait's path is called: "[sleeping]". */
const char *af_wait_frame(uint32_t state);

#endif
