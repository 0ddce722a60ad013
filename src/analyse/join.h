/*
 * Launches that wait for their device work: correlation → launch. An entry is taken out when its
 * work has come, so the table is as large as the work in flight, not as the trace.
 */
#ifndef AF_ANALYSE_JOIN_H
#define AF_ANALYSE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct af_launch {
	uint64_t correlation;
	uint32_t process;
	uint32_t path; /* of the world; 0: not known. An unused slot has process 0 */
	uint64_t time_ns;
};

struct af_join {
	struct af_launch *slots;
	uint64_t nr, cap; /* cap is 0 or a power of two */
};

/* A zeroed struct is empty. */
void af_join_free(struct af_join *j);
void af_join_put(struct af_join *j, const struct af_launch *l);

/* Take the launch of this work out into *@l; false when there is none. */
bool af_join_take(struct af_join *j, uint32_t process, uint64_t correlation, struct af_launch *l);

#endif
