/*
 * Copies of a recording for those who watch it while it goes on: DIR/.live.1, DIR/.live.2, … are
 * traces of their own, each whole when it has its name, and only the newest is kept. They are made
 * while DIR/.watched is touched, by a process of the least priority that takes a fifth of a CPU
 * at most; the program being recorded has no part in it.
 *
 *	{ af_live_look() }* → af_live_end()
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

/* Often. */
void af_live_look(struct af_recording *r);

/* Nobody will look any more: all of them are removed. */
void af_live_end(struct af_recording *r);

#endif
