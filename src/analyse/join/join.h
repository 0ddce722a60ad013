/*
 * Causes that wait for their effect: launches for their device work, wake-ups for the thread to run
 * again. An entry is removed when its effect comes, so the table is as large as the number in
 * flight, not as the trace.
 */
#ifndef AF_ANALYSE_JOIN_JOIN_H
#define AF_ANALYSE_JOIN_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct af_cause {
	uint64_t id;      /* in its process */
	uint32_t process; /* an unused slot has 0 */
	uint32_t what;    /* the caller's, a call path of the world or the like */
};

struct af_join {
	struct af_cause *slots;
	uint64_t nr, cap; /* cap is 0 or a power of two */
};

/* A zeroed struct is empty. */
void af_join_free(struct af_join *j);
void af_join_put(struct af_join *j, const struct af_cause *c);

/* Remove the cause of this effect from the table into *@c; false when there is none. */
bool af_join_take(struct af_join *j, uint32_t process, uint64_t id, struct af_cause *c);

#endif
