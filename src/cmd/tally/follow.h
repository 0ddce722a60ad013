/*
 * The tally of a job that goes on: what is new is read again and again, until the job has ended.
 */
#ifndef AF_CMD_TALLY_FOLLOW_H
#define AF_CMD_TALLY_FOLLOW_H

#include <stdint.h>

#include "cmd/tally/sums.h"

struct af_err;

/* How far the job is. */
struct tally_moment {
	uint64_t ns; /* since following began */
	uint32_t nr, nr_live;
};

struct tally_follow {
	struct tally_group by;
	uint64_t interval_ns, jobs;
	void (*show)(void *arg, const struct tally_sums *sums, const struct tally_moment *at);
	void *arg;
};

/*
 * Show the tally of the set @dir every interval while one of its members is recorded, here or on
 * another host. Returns 0 when that is no longer so: the caller reads the whole then. -ENODATA,
 * -ENOENT: there is no set.
 */
int tally_follow(const struct tally_follow *how, const char *dir, struct af_err *err);

#endif
