/*
 * A tree in which stacks are laid beside one another before a part of them goes into another tree.
 * What was laid there, and what was last put into the other tree, is remembered: the nodes of a
 * graph have one launch, and each call path captures many of them.
 *
 *	flame_scratch_open → { flame_scratch_call | flame_scratch_copy }* → flame_scratch_close
 */
#ifndef AF_ANALYSE_FLAME_SCRATCH_H
#define AF_ANALYSE_FLAME_SCRATCH_H

#include "analyse/attribution/attribution.h"
#include "analyse/tree/tree.h"
#include "base/map.h"

struct flame_scratch {
	struct af_tree tree;
	/* private */
	uint32_t *of_path; /* by call path: the node of its stack plus 1; 0: not known yet */
	uint32_t cap_paths;
	struct flame_scratch_name {
		uint32_t name;      /* in the other tree, plus 1; 0: not known yet */
		const char *module; /* that it had in this one */
	} * names;
	uint32_t cap_names;
	struct af_map by_capture; /* node of a graph << 32 | path → node of the stack below it */
	/* The host's part of the stack that was made last: flame_group_stack(). */
	struct af_launch_group_key last;
	uint32_t last_node; /* 0: none */
};

/* For one other tree. With @locations, the scratch keeps them as that does. */
void flame_scratch_open(struct flame_scratch *s, bool locations);
/* A zeroed struct is closed. */
void flame_scratch_close(struct flame_scratch *s);

/* The node of the stack of a call from @path. */
uint32_t flame_scratch_call(struct flame_scratch *s, const struct af_world *w, uint32_t path);

/* Copies the frames between @above and @node to below @to in @t, the other tree. */
uint32_t flame_scratch_copy(struct flame_scratch *s, struct af_tree *t, uint32_t to, uint32_t above,
                            uint32_t node);

/* The last frame that two stacks share, from the root on; 0 for none. */
uint32_t flame_scratch_common(const struct flame_scratch *s, uint32_t a, uint32_t b);

#endif
