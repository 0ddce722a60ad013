/*
 * The groups that a rank is in: key and value, as "dp" = "3" (its data-parallel group) or "switch"
 * = "s7". They come from what the launcher and frameworks set in the environment, and from what the
 * user gives, which counts more. Reports compare ranks by them.
 */
#ifndef AF_COLLECT_RANKS_GROUPS_H
#define AF_COLLECT_RANKS_GROUPS_H

#include <stdint.h>

struct af_err;
struct af_job_rank;
struct af_launch;

#define AF_GROUPS_ENV "AFLAME_GROUPS"

enum { AF_GROUPS_MAX = 32, AF_GROUP_KEY = 33, AF_GROUP_VALUE = 129 };

struct af_rank_groups {
	struct {
		char key[AF_GROUP_KEY];     /* letters, digits, "_", "-" and "." */
		char value[AF_GROUP_VALUE]; /* printable, without blanks and commas */
	} all[AF_GROUPS_MAX];
	uint32_t nr;
};

/*
 * @given: "dp=3,tp=0", or the name of a file; NULL: only the environment counts. A line of the file
 * is "RANKS KEY=VALUE…" or "HOST KEY=VALUE…", where RANKS is like 0-3,64, and later lines count
 * more than earlier ones; "#" begins a comment. -EINVAL: @given makes no sense; or -errno of the
 * file; both with a message, and then @g has what the environment gives.
 */
int af_rank_groups_find(struct af_rank_groups *g, const char *given, const struct af_job_rank *job,
                        const struct af_launch *l, struct af_err *err);

#endif
