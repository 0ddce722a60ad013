/*
 * The results of many traces as those of one: trees, tables and coverage merge by what they are
 * about, in the order of the members, so the outcome does not depend on who read which trace.
 *
 *	af_merge_open → af_merge_add for each member, or af_merge_join of merges of members in a row
 *	→ af_merge_end
 *
 * Memory grows with distinct rows and stacks, not with members.
 */
#ifndef AF_ANALYSE_SET_MERGE_H
#define AF_ANALYSE_SET_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/set/set.h"

struct af_buf;
struct af_merge;

/* By what rows and stacks are kept apart; the words of --by. */
enum af_merge_by {
	AF_BY_NOTHING,
	AF_BY_HOST,
	AF_BY_RANK,
	AF_BY_DEVICE,
	AF_BY_PROCESS,
	AF_BY_GROUP /* of struct af_merge_how.group */
};

struct af_merge_how {
	struct af_query query; /* of every trace */
	enum af_merge_by by;
	const char *group; /* the key of groups: "dp" */
	bool runs;         /* members are runs, and no ranks: for people */
};

/* The value of --by that a member has, "" where members are not kept apart. Lives as it does. */
const char *af_member_by(const struct af_member *who, enum af_merge_by by, const char *group);

/* A merge of nothing yet. The caller closes it. */
struct af_merge *af_merge_open(const struct af_merge_how *how);
void af_merge_close(struct af_merge *m); /* NULL is fine */

/* Add the results of one trace, which stay the caller's. Texts are copied. */
void af_merge_add(struct af_merge *m, const struct af_member *who, const struct af_results *r);

/* A member without results: it is counted and named with the reason. */
void af_merge_missing(struct af_merge *m, const struct af_member *who, const char *why);

/* Add all of @later, whose members come behind those of @m. @later is empty afterwards. */
void af_merge_join(struct af_merge *m, struct af_merge *later);

/* How many members have been added. */
uint64_t af_merge_members(const struct af_merge *m);

/* Is a member missing, or there in part? */
bool af_merge_lacks(const struct af_merge *m);

/* "62 of 64 ranks; rank 3: not finished", at the end of @to. Before af_merge_end(), or after it. */
void af_merge_about(const struct af_merge *m, struct af_buf *to);

/* Add to the table `set` of @f what the list of members has, whatever could be read of them. */
void af_set_about(const struct af_set *set, struct af_tables *f);

/*
 * The merge as bytes, for another process of the same version of aflame; and such bytes added to a
 * merge that was opened in the same way, whose members come before. A reader trusts no byte:
 * -EBADMSG, and nothing was added.
 */
void af_merge_write(const struct af_merge *m, struct af_buf *to);
int af_merge_read(struct af_merge *m, const void *data, size_t size, struct af_err *err);

/*
 * The results of all, as af_analyse() leaves those of one trace: finished trees, tables, coverage,
 * and the tables of the set (`ranks`, and distributions of each row over the members). @m is
 * empty afterwards; the caller closes both.
 */
void af_merge_end(struct af_merge *m, struct af_results *out);

#endif
