/*
 * The work descriptors that a stream has defined: operation, queue, kernel, bytes and
 * sizes of a piece of device work, so that repeated work costs an id. One memo belongs to one
 * stream and moves with it when another thread takes the stream over. A zeroed memo is empty. Fixed
 * size, no allocation.
 */
#ifndef AF_INJECT_CORE_DESCRIPTORS_H
#define AF_INJECT_CORE_DESCRIPTORS_H

#include <stdint.h>

#include "trace/layout.h"

struct af_stream;

enum {
	AF_DESCRIPTOR_SETS = 128,
	AF_DESCRIPTOR_WAYS = 4,
	AF_DESCRIPTOR_CONFIGS = 256,
};

/* The LAUNCH_CONFIG that was last written. */
struct af_work_descriptor_config {
	struct af_ev_launch_config is; /* descriptor 0: none */
};

struct af_work_descriptor_memo {
	struct af_ev_descriptor entries[AF_DESCRIPTOR_SETS][AF_DESCRIPTOR_WAYS]; /* id 0: free */
	uint8_t victim[AF_DESCRIPTOR_SETS];
	struct af_work_descriptor_config
	    configs[AF_DESCRIPTOR_CONFIGS]; /* by descriptor, direct-mapped; the user's */
	uint32_t nr_ids;                    /* last id given in this stream */
};

/*
 * The id of @descriptor (its own `descriptor` member is ignored) in stream @s, defined there at
 * @now when new. Between af_thread_enter() and af_thread_leave(). A descriptor that fell out of the
 * memo gets a new id; one is never given twice while the memo lives. Returns 0 when the definition
 * was discarded.
 */
uint32_t af_work_descriptor_id(struct af_work_descriptor_memo *m, struct af_stream *s, uint64_t now,
                               const struct af_ev_descriptor *descriptor);

#endif
