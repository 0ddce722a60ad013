/*
 * Calls in the order in which they began, so that a call stands before those that it made. Events
 * come as calls end, from within; a thread's calls are held until the one around them ends.
 *
 *	{ af_calls_event }* → af_calls_end → af_calls_free
 */
#ifndef AF_CMD_CALLS_CALLS_H
#define AF_CMD_CALLS_CALLS_H

#include "base/map.h"
#include "cmd/calls/line.h"

enum { AF_CALLS_HELD = 1 << 16 }; /* of a thread; beyond that they are put out early */

struct af_calls {
	struct af_values values;
	struct af_line_style style;
	bool keeps; /* payloads do not stay: what is held is copied */
	uint64_t
	    shift_ns; /* added to begins of calls that had not returned, on their trace's clock */
	uint64_t nr_early; /* calls put out before the one around them */

	/* private */
	struct af_calls_thread *threads;
	uint32_t nr, cap;
	struct af_map by_thread; /* process and thread → index */
};

/* Take the event @ev, if it is a call; lines that are due are appended to @b. */
void af_calls_event(struct af_calls *c, const struct af_world *w, const struct af_event *ev,
                    struct af_buf *b);

/* Append what is still held: no more events come. */
void af_calls_end(struct af_calls *c, const struct af_world *w, struct af_buf *b);

/* Free what @c holds, and the names of handles. A zeroed struct is fine. */
void af_calls_free(struct af_calls *c);

#endif
