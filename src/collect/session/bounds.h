/*
 * When recording is on: --delay, --duration, --max-size, --steps, and on and off by --ctl. The
 * program runs on in any case. The trace tells what was not recorded: LOST PAUSED with the length
 * of each gap, at its end, and a NOTE `stopped` when recording ended before the program.
 *
 * Of --steps processes count their steps themselves (inject/nvtx/steps.h), and ask the recorder to
 * switch recording on and off.
 */
#ifndef AF_COLLECT_SESSION_BOUNDS_H
#define AF_COLLECT_SESSION_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/write/session.h"

struct af_client;
struct af_err;
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

struct af_steps_wanted {
	uint64_t first, last;     /* from 1 on; first is 0: all that happens is recorded */
	char name[AF_STEPS_NAME]; /* of their ranges; "": whichever they are */
};

struct af_steps_state {
	uint32_t nr_in; /* processes that are in their wanted steps now */
	bool began;     /* there was one */
};

/* Read "100:110", "100" or "100:110@NAME": 0, or -EINVAL with a message. */
int af_steps_parse(struct af_steps_wanted *w, const char *text, struct af_err *err);

/*
 * @g has come to its first wanted step (@begins), or is past its last one or has ended. Recording
 * is on while a process is in its steps.
 */
void af_steps_take(struct af_recording *r, struct af_client *g, bool begins);

/* The recording ends: a NOTE `steps`, where there are any. */
void af_steps_note(struct af_recording *r);

/* Why no step was recorded, for people; false: some were, or none are wanted. */
bool af_steps_missed(const struct af_recording *r, char *text, size_t size);

#endif
