/*
 * Names of threads that are sampled from outside: read once from /proc where no event reported the
 * thread's beginning, and renewed by the events of its threads.
 */
#ifndef AF_COLLECT_OUTSIDE_NAMES_H
#define AF_COLLECT_OUTSIDE_NAMES_H

#include "base/map.h"
#include "collect/perf/sideband.h"

enum { AF_COMM_BYTES = 16 }; /* with the NUL: TASK_COMM_LEN */

struct af_outside_names {
	struct af_map by_tid; /* index of @all plus one */
	char (*all)[AF_COMM_BYTES];
	uint32_t nr, cap;
};

/* A zeroed struct is empty. */
void af_outside_names_free(struct af_outside_names *n);

/* Take a name from @e of @s, if it names a thread. */
void af_outside_names_take(struct af_outside_names *n, const struct af_sideband *s,
                           const struct af_sideband_event *e);

/*
 * The name that @tid of @pid has now; "" when it is not known any more. Valid until the next call.
 */
const char *af_outside_name(struct af_outside_names *n, uint32_t pid, uint32_t tid);

#endif
