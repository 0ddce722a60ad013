/*
 * When there is recording: --delay, --duration, --max-size, and on and off by --ctl. The program
 * runs on in any case. What was not recorded is in the trace: LOST PAUSED with the length of each
 * gap, at its end, and a NOTE `stopped` when recording ended before the program.
 */
#ifndef AF_COLLECT_SESSION_BOUNDS_H
#define AF_COLLECT_SESSION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct af_recording;

struct af_bounds {
	uint64_t begin_ns;
	bool delay_over;
	uint64_t off_since_ns; /* 0: on */
	uint64_t off_ns;       /* of all gaps that are over */
	uint64_t last_ns; /* since when only what was under way is taken; 0: it is not so far */
};

/* Before the program starts. */
void af_bounds_begin(struct af_recording *r);

/* Often, while it runs. */
void af_bounds_look(struct af_recording *r);

/* On and off; nothing happens where it is so already. -EALREADY after a stop. */
int af_bounds_pause(struct af_recording *r);
int af_bounds_resume(struct af_recording *r);

/* For good. @why goes into the trace: "after --duration". */
void af_bounds_stop(struct af_recording *r, const char *why);

/* The program has ended: what is off since a while was off until now. */
void af_bounds_end(struct af_recording *r);

/* Bytes of the trace so far. */
uint64_t af_bounds_bytes(const struct af_recording *r);

#endif
