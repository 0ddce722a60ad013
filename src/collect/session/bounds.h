/*
 * When recording is on: --delay, --duration, --max-size, and on and off by --ctl. The program runs
 * on in any case. The trace tells what was not recorded: LOST PAUSED with the length of each gap,
 * at its end, and a NOTE `stopped` when recording ended before the program.
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
	uint64_t off_ns;       /* of all gaps that have ended */
	uint64_t last_ns; /* since when only the end of earlier work is recorded; 0: not so far */
};

/* Before the program starts. */
void af_bounds_begin(struct af_recording *r);

/* Often, while it runs. */
void af_bounds_poll(struct af_recording *r);

/* Pause and resume; nothing happens when it is so already. -EALREADY after a stop. */
int af_bounds_pause(struct af_recording *r);
int af_bounds_resume(struct af_recording *r);

/* Stop for good. The trace gets @why: "after --duration". */
void af_bounds_stop(struct af_recording *r, const char *why);

/* The program has ended: a gap that is open ends now. */
void af_bounds_end(struct af_recording *r);

/* Bytes of the trace so far. */
uint64_t af_bounds_bytes(const struct af_recording *r);

#endif
