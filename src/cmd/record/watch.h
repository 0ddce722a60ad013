/*
 * Watching a recording that goes on: its recorder is asked for copies of what there is so far
 * (collect/session/live.h), and they are found here.
 *
 *	af_watch_open() → { af_watch_look() }*
 */
#ifndef AF_CMD_RECORD_WATCH_H
#define AF_CMD_RECORD_WATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"

struct af_err;

struct af_watch {
	const char *dir;
	uint32_t last; /* number of the copy that was taken */
	uint64_t touched_ns, ready_ns;
	bool ended; /* the recording is over: @dir is the whole trace */
};

/* -ENOENT with a message when nobody records into @dir now, which must outlive @w. */
int af_watch_open(struct af_watch *w, const char *dir, struct af_err *err);

/*
 * Is there a newer copy? Then it is analysed into @r, the caller's to close, and 1 returned. 0:
 * not yet; call again in some tenths of a second. When the recording has ended the trace itself is
 * the last one, and @w->ended is set. Takes a fifth of a CPU at most.
 */
int af_watch_look(struct af_watch *w, const struct af_asked *asked, struct af_results *r,
                  struct af_err *err);

#endif
