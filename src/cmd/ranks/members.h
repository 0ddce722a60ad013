/*
 * Reads the members of a set for a command that compares them, on all CPUs and in all processes of
 * a launcher.
 */
#ifndef AF_CMD_RANKS_MEMBERS_H
#define AF_CMD_RANKS_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/set/set.h"
#include "cmd/shared/together.h"

struct af_members {
	const char *command; /* for messages: "report" */
	struct af_set *set;
	const struct af_pass_ops *const *passes;
	struct af_query query; /* of each; `own` becomes a zeroed @own_size bytes */
	size_t own_size;
	void (*own_free)(void *own); /* what is in it; or NULL */
	/* One call at a time, in the order of members; @r is closed afterwards. */
	void (*add)(void *arg, const struct af_member *who, const struct af_results *r);
	struct af_reduce_ops ops; /* of @arg, for the processes of a launcher */
	void *arg;
};

/*
 * Read all members of a set that af_together_list() has listed, and hand them over: afterwards
 * process 0 has those of all. Members that cannot be read, or not as a whole, are named on standard
 * error with the reason, which becomes the member's `why`. Returns 0 or the failure of a process.
 */
int af_members_read(const struct af_members *m, struct af_reduce *r, struct af_err *err);

/* The name of a member for people. */
const char *af_member_text(const struct af_member *m);

#endif
