/* Reads the members of a set for a command that compares them, on all CPUs. */
#ifndef AF_CMD_RANKS_MEMBERS_H
#define AF_CMD_RANKS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/set/set.h"

struct af_members {
	const char *command; /* for messages: "report" */
	struct af_set *set;
	const struct af_pass_ops *const *passes;
	struct af_query query; /* of each; `own` becomes a zeroed @own_size bytes */
	size_t own_size;
	/* On any thread, or NULL: what is of this member alone in its query and `own`. */
	void (*begin)(void *arg, const struct af_member *who, struct af_query *query);
	void (*own_free)(void *own); /* what is in it; or NULL */
	/* One call at a time, in the order of members; @r is closed afterwards. */
	void (*add)(void *arg, const struct af_member *who, const struct af_results *r);
	void *arg;
	bool parts;        /* traces that are not whole count, too, and are named */
	const char *shown; /* NULL, or what becomes of them: "shown"; "compared" without it */
};

/*
 * Read all members and hand them over. Those that cannot be read, or not as a whole, are named on
 * standard error with the reason, which becomes the member's `why`. Returns how many these are;
 * 0 with @parts, where a member is only in part.
 */
uint32_t af_members_read(const struct af_members *m);

/* The name of a member for people. */
const char *af_member_text(const struct af_member *m);

#endif
