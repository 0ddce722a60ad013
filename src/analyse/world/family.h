/*
 * The processes of a run as a family tree, for people: which process started which, the busiest
 * first. The images of one process (forked, then exec'd) are one member, named after the last.
 * Short-lived processes of one name under one parent are one member that counts them, and so are
 * their children, because a build has ten thousand of those.
 */
#ifndef AF_ANALYSE_WORLD_FAMILY_H
#define AF_ANALYSE_WORLD_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

struct af_world;

struct af_family_member {
	uint32_t process; /* ordinal of its last image; of several processes, of the first one's */
	uint32_t count;   /* processes that are merged here */
	uint32_t depth;   /* below the oldest ancestor */
	uint32_t parent;  /* index of a member before this one; itself: none */
};

struct af_family {
	struct af_family_member *members; /* parents before children, depth first */
	uint32_t nr;
	uint32_t *member_of; /* by ordinal: an index, UINT32_MAX when there is no such process */
	uint32_t *image_of;  /* by ordinal: that of the last image of its process, or 0 */
	uint32_t *parent_of; /* by ordinal of a last image: the last image of its parent, or 0 */
};

enum {
	AF_FAMILY_SHORT_NS = 1000000000, /* longer-lived processes are members of their own */
	AF_FAMILY_MERGED = 3,            /* at least so many of a name are merged */
};

/*
 * Make the tree of the processes with @there (by ordinal); siblings are ordered by @busy_ns (by
 * ordinal), then by birth. The parent is the one that PROCESS names, else the newest process whose
 * pid is its ppid. The caller frees it.
 */
void af_family_make(struct af_family *f, const struct af_world *w, const bool *there,
                    const uint64_t *busy_ns);
void af_family_free(struct af_family *f);

#endif
