/*
 * The device's part of the flame graph: work is added up by its call while the trace is read, and
 * drawn when all names are known.
 *
 *	{ flame_work_add }* → flame_work_share → flame_work_has, flame_work_draw → flame_work_free
 */
#ifndef AF_ANALYSE_FLAME_WORK_H
#define AF_ANALYSE_FLAME_WORK_H

#include <stdint.h>

#include "analyse/flame/scratch.h"
#include "analyse/pass/pass.h"
#include "base/keys.h"

/*
 * Works that are one frame with one stack. The label is one number for all descriptors of an
 * operation, a kernel and a queue, of which @descriptor is one: sizes do not split frames.
 */
struct flame_launch_group {
	uint32_t process, path, function;
	uint32_t doing; /* of w->annotations */
	uint32_t label;
	uint32_t node;    /* of a graph, w->nodes; 0 for none */
	uint32_t matched; /* 1: the path is that of a call at about the time */
	uint32_t after;   /* the group that came next on its path, plus 1; 0: not known */
	uint64_t time_ns, count, bytes;
	uint32_t descriptor;
};

struct flame_work {
	struct flame_launch_group *launch_groups; /* with their weights */
	uint32_t nr_launch_groups, cap_launch_groups;
	struct af_keys by_group, by_label;
	uint32_t *label_of; /* by work descriptor: its label, from 1; 0 not known yet */
	uint32_t *last_of;  /* by call path: its last launch group plus 1; 0 none yet */
	uint32_t nr_labels, nr_paths;
};

/*
 * Add up @work, which launches.h hands over: busy time, and outside of `out_of_range` count and
 * bytes. Failed work and work whose descriptor is unknown are left out.
 */
void flame_work_add(struct flame_work *f, const struct af_world *w, const struct af_work *work);

/* Add what @from added up in another part of the trace. */
void flame_work_merge(struct flame_work *f, const struct af_world *w,
                      const struct flame_work *from);

/*
 * Share the work of launches whose stacks were not taken (--launches) among the groups of the same
 * kernel that have stacks, in proportion to their own: its time by time, its count by count, its
 * bytes by bytes. Groups of the same annotations take it if there are any. Sums stay what they are;
 * what has nobody to go to stays where it is.
 */
void flame_work_share(struct flame_work *f, const struct af_world *w);

/* The weights that are not zero, as bits. */
uint32_t flame_work_has(const struct flame_work *f);

/*
 * Add to @t the work that has one of the requested weights, grouped as requested, with its
 * instruction samples; samples themselves are a weight where @samples.
 */
void flame_work_draw(const struct flame_work *f, const struct af_world *w, struct af_tree *t,
                     const struct af_results *results, bool samples);

/*
 * The frames of @is up to its kernel, without it; where a graph was timed as a whole, up to the
 * graph. @scratch is open for this use of @t alone.
 */
uint32_t flame_group_stack(struct af_tree *t, struct flame_scratch *scratch,
                           const struct af_world *w, const struct af_launch_group_key *is,
                           const struct af_query *query);

/* The same with the frame of the kernel or of the other work. */
uint32_t flame_group_node(struct af_tree *t, struct flame_scratch *scratch,
                          const struct af_world *w, const struct af_launch_group_key *is,
                          const struct af_query *query);

/* The frames of a process: its own, and its rank where that is requested. */
uint32_t flame_process(struct af_tree *t, const struct af_world *w, uint32_t process,
                       enum af_grouping group);

/* A zeroed struct is empty. */
void flame_work_free(struct flame_work *f);

#endif
