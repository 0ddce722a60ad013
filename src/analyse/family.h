/*
 * The processes of a run as a family tree, for people: who started whom, in order of birth, and
 * short-lived ones of one name under one parent as a single member that counts them (and their
 * children merged likewise), because a build has ten thousand of those.
 */
#ifndef AF_ANALYSE_FAMILY_H
#define AF_ANALYSE_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

struct af_world;

struct af_family_member {
	uint32_t process; /* ordinal: the only one, or the first of them */
	uint32_t count;   /* processes that are merged here */
	uint32_t depth;   /* below the oldest there is */
	uint32_t parent;  /* index of a member before this one; itself: none */
};

struct af_family {
	struct af_family_member *members; /* parents before children, depth first */
	uint32_t nr;
	uint32_t *member_of; /* by ordinal: an index, UINT32_MAX for what is no process */
};

/* Longer-lived processes are always members of their own. */
enum { AF_FAMILY_SHORT_NS = 1000000000 };

/*
 * Of the processes that @there (by ordinal) names. The parent is the one that PROCESS names, else
 * the newest image with the pid that is its ppid. The caller frees, after a failure too.
 */
void af_family_make(struct af_family *f, const struct af_world *w, const bool *there);
void af_family_free(struct af_family *f);

#endif
