/*
 * The part of the flame graph that tells of calls of device APIs which the kernel saw: launches,
 * copies and fills under the stack that asked for them, by number. What devices did then is not
 * known, and nothing is made up for it.
 *
 *	{ flame_seen_add }* → flame_seen_has, flame_seen_draw → flame_seen_free
 */
#ifndef AF_ANALYSE_FLAME_SEEN_H
#define AF_ANALYSE_FLAME_SEEN_H

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

/* One of the calls is known to be @work's, which is drawn in its place. */
void flame_seen_matched(struct flame_seen *f, const struct af_work *work);

/* Which weights there are, as bits. */
uint32_t flame_seen_has(const struct flame_seen *f);

/* Add to @t what has one of the weights that are asked for. */
void flame_seen_draw(const struct flame_seen *f, const struct af_world *w, struct af_tree *t,
                     const struct af_asked *asked);

/* A zeroed struct is empty. */
void flame_seen_free(struct flame_seen *f);

#endif
