/*
 * Watches a running recording: asks its recorder for copies of the trace so far
 * (collect/session/live.h), and finds them.
 *
 *	af_watch_open() → { af_watch_poll() }*
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
	uint32_t last; /* number of the last copy that was read */
	uint64_t touched_ns, ready_ns;
	bool ended; /* the recording is over: @dir is the whole trace */
};

/*
 * Watch the recording into @dir, which must outlive @w. -ENOENT with a message when nobody records
 * there now.
 */
int af_watch_open(struct af_watch *w, const char *dir, struct af_err *err);

/*
 * Is there a newer copy? Then its name is put into @path and 1 is returned; it may be gone by the
 * time it is opened, when a newer one takes its place. 0: not yet; call again after some tenths of
 * a second. When the recording has ended, the trace itself is the last copy, and @w->ended is set.
 */
int af_watch_next(struct af_watch *w, char path[PATH_MAX]);

/*
 * Is there a newer copy? Then it is analysed into @r, which the caller closes, and 1 is returned.
 * 0: not yet; call again after some tenths of a second. When the recording has ended, the trace
 * itself is the last copy, and @w->ended is set. Takes a fifth of a CPU at most.
 */
int af_watch_poll(struct af_watch *w, const struct af_query *query, struct af_results *r,
                  struct af_err *err);

#endif
