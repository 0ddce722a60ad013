/*
 * `record --steps 100:110@NAME`: counts the program's steps by its ranges and marks, and has the
 * recorder switch recording on when the first wanted step begins and off when the last ends.
 *
 *	af_steps_begin()  before a range or mark is recorded
 *	af_steps_end()    after the end of a range was recorded
 */
#ifndef AF_INJECT_NVTX_STEPS_H
#define AF_INJECT_NVTX_STEPS_H

#include <stdint.h>

#include "inject/core/inject.h"

/* The beginning or end of a range, or a mark. */
struct af_step_edge {
	enum af_range_edge edge;
	const char *name; /* of @len bytes; at an end NULL */
	uint32_t len;
	uint64_t range; /* of START and END */
	int32_t depth;  /* of PUSH and POP: how many ranges of its domain are open around it */
};

/*
 * Count it. When it begins the first wanted step, this waits until recording is on, a tenth of a
 * second at most. Any thread; nothing happens without --steps.
 */
void af_steps_begin(const struct af_step_edge *e);

/* The same for the end of a step: the last one switches recording off. */
void af_steps_end(const struct af_step_edge *e);

#endif
