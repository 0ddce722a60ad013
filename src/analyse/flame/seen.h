/*
 * The part of the flame graph for calls of device APIs that only the kernel saw: launches, copies
 * and fills under their stacks, by number. The work of the devices is not known then, and is not
 * guessed.
 *
 *	{ flame_seen_add | flame_seen_merge }* → flame_seen_has, flame_seen_draw → flame_seen_free
 */
#ifndef AF_ANALYSE_FLAME_SEEN_H
#define AF_ANALYSE_FLAME_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "base/keys.h"
#include "base/map.h"

struct flame_seen {
	struct flame_seen_sum *sums;
	uint32_t nr, cap;
	struct af_keys by_call; /* process, path and function → index */
};

/*
 * Count @call, unless it has a correlation number (launches.h joins those) or does no device work.
 */
void flame_seen_add(struct flame_seen *f, const struct af_world *w, const struct af_call *call);

/*
 * Count the call, or the calls, of @ev if they are of functions that the user named (--uprobe),
 * which belong to the view of CPUs. CALL_SUM has those whose stacks were not recorded.
 */
void flame_seen_probed(struct flame_seen *f, const struct af_world *w, const struct af_event *ev);

/* One of the calls belongs to @work, which is drawn in its place. */
void flame_seen_matched(struct flame_seen *f, const struct af_work *work);

/* Add the calls of @from, of another part of the trace. */
void flame_seen_merge(struct flame_seen *f, const struct flame_seen *from);

/* The weights that are not zero, as bits: of calls of APIs, or of functions that were named. */
uint32_t flame_seen_has(const struct flame_seen *f, bool probed);

/* Add to @t the calls that have one of the requested weights. */
void flame_seen_draw(const struct flame_seen *f, const struct af_world *w, struct af_tree *t,
                     const struct af_query *query);

/* The same for functions that were named: the stacks end in them. */
void flame_seen_draw_probed(const struct flame_seen *f, const struct af_world *w, struct af_tree *t,
                            const struct af_query *query);

/* A zeroed struct is empty. */
void flame_seen_free(struct flame_seen *f);

#endif
