/*
 * The part of the flame graph inside kernels: lines of device code with inlined functions,
 * instructions, and the reasons why they stalled, with the widths that samples give.
 */
#ifndef AF_ANALYSE_FLAME_INSN_H
#define AF_ANALYSE_FLAME_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "base/keys.h"
#include "base/map.h"

struct flame_insn {
	struct af_tree *tree;
	const struct af_world *world;
	const struct af_results *results;
	enum af_depth depth;
	bool samples; /* are a weight here */

	/* private: frames of a place are the same in all launch groups, as names of the tree */
	struct af_keys by_place; /* → index of names: how many, then they */
	uint32_t *names, *stalls;
	uint32_t nr_names, cap_names;
};

/*
 * @samples: samples are a weight here, because CPU samples are in another tree or there are none.
 */
struct flame_insn flame_insn_open(struct af_tree *t, const struct af_world *w,
                                  const struct af_results *results, bool samples);

/* Free what @d holds; the tree stays. */
void flame_insn_close(struct flame_insn *d);

/* Are samples a weight here, and does the launch group @is have any? */
bool flame_insn_has(const struct flame_insn *d, const struct af_launch_group_key *is);

/*
 * Draw the samples of the launch group @is, whose time is @time_ns, below the frame @node of a
 * kernel. Adds all of the time.
 */
void flame_insn_draw(struct flame_insn *d, const struct af_launch_group_key *is, uint32_t node,
                     uint64_t time_ns);

/* Draw the samples of @launch_group, which belong to no recorded kernel, below @node. */
void flame_insn_draw_unrecorded(struct flame_insn *d, const struct af_launch_group *launch_group,
                                uint32_t node);

#endif
