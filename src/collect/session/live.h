/*
 * Copies of a recording for live views: DIR/.live.1, DIR/.live.2, … are traces of their own. Each
 * is whole when it has its name, and only the newest is kept. They are made while DIR/.watched is
 * touched, by a process of the lowest priority that takes at most a fifth of a CPU; the recorded
 * program has no part in it.
 *
 *	{ af_live_view_poll() }* → af_live_end()
 */
#ifndef AF_COLLECT_SESSION_LIVE_H
#define AF_COLLECT_SESSION_LIVE_H

#include <stdint.h>

struct af_recording;

struct af_live {
	int pid; /* of the process that makes one, or 0 */
	uint32_t last;
	uint64_t begin_ns, next_ns;
};

/* Call it often. */
void af_live_view_poll(struct af_recording *r);

/* Nobody watches any more: remove all copies. */
void af_live_end(struct af_recording *r);

#endif
