/* Shared by the files of the set. */
#ifndef AF_ANALYSE_SET_PRIVATE_H
#define AF_ANALYSE_SET_PRIVATE_H

#include "analyse/set/merge.h"
#include "analyse/set/set.h"

/*
 * Fill @m from the recorder's stream of the trace @dir_fd: notes, end and CPU time. Texts live in
 * @arena. When the stream cannot be read, the state is AF_MEMBER_UNREADABLE and @m->why is set.
 */
void set_member_read(struct af_arena *arena, struct af_member *m, int dir_fd);

/* A member without results, by name, for the list of those that are missing. */
struct set_missing {
	const char *label, *why;
};

enum { SET_NAMED = 64 }; /* missing members that are named; all are counted */

struct af_merge {
	struct af_merge_how how;
	struct af_arena texts;
	uint64_t nr_members; /* with results */
	uint64_t nr_missing;
	struct set_missing missing[SET_NAMED];
	struct af_tree trees[AF_VIEWS];
	uint32_t has[AF_VIEWS];
	char count_unit[48];
	bool summed;
};

#endif
