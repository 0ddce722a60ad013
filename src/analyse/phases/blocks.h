/* The calls that launched work, by call path. */
#ifndef AF_ANALYSE_PHASES_BLOCKS_H
#define AF_ANALYSE_PHASES_BLOCKS_H

#include "analyse/phases/private.h"

/* The calls from one call path that launched work. */
struct phase_path {
	uint32_t process;
	uint32_t path; /* of the world */
	bool loaded;   /* the times are at hand, and sorted */
	struct phase_times calls;
};

/* No more will come: the paths are those with calls from now on. */
void phase_calls_end(struct phase_calls *c);

/* After that: the times of @p, a path of @c, of which number, first and last are known. */
void phase_calls_load(struct phase_calls *c, struct phase_path *p);

/* How many calls of @p are from @from_ns to @to_ns: apportioned, where not all times are kept. */
uint64_t phase_calls_between(struct phase_calls *c, struct phase_path *p, uint64_t from_ns,
                             uint64_t to_ns);

#endif
