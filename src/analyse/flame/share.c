/*
 * With --launches 1/N one launch in N has its stack. Which ones was left to chance, so those that
 * have one stand for the others: the work of the others is shared among them (share_all()).
 */
#include <stdlib.h>

#include "analyse/flame/work.h"
#include "base/arena.h"

enum { SHARED = 3 }; /* time, count, bytes */

/* The weights of groups that belong together: of those with stacks, and of those without. */
struct share {
	uint64_t has[SHARED], wants[SHARED];
	uint64_t seen[SHARED], given[SHARED]; /* of has and wants, while they are given out */
};

struct shares {
	struct af_keys by_key;
	struct share *all;
	uint32_t nr, cap;
	bool by_annotations;
};

static bool has_no_stack(const struct flame_launch_group *g, const struct af_world *w)
{
	const struct af_stack *stack = &w->stacks[w->paths[g->path].stack];

	return stack->stop == AF_STOP_NOT_CHOSEN && !stack->nr;
}

static struct share *share_of(struct shares *s, const struct flame_launch_group *g)
{
	uint32_t doing = s->by_annotations ? g->doing : 0;
	bool fresh;
	uint64_t *slot =
	    af_keys_at(&s->by_key, AF_KEY((uint64_t)g->node << 32 | g->label, doing), &fresh);

	if (fresh) {
		AF_GROW(s->all, s->nr, s->cap);
		s->all[s->nr] = (struct share){0};
		*slot = s->nr++;
	}
	return &s->all[*slot];
}

static void weights_of(struct flame_launch_group *g, uint64_t *weights[SHARED])
{
	weights[0] = &g->time_ns;
	weights[1] = &g->count;
	weights[2] = &g->bytes;
}

/* Sums of hostile times stop at the largest number. */
static void sum_add(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

static void shares_sum(struct shares *s, struct flame_work *f, const struct af_world *w)
{
	for (uint32_t i = 0; i < f->nr_launch_groups; i++) {
		struct flame_launch_group *g = &f->launch_groups[i];
		struct share *share = share_of(s, g);
		uint64_t *to = has_no_stack(g, w) ? share->wants : share->has, *weights[SHARED];
		weights_of(g, weights);
		for (int v = 0; v < SHARED; v++)
			sum_add(&to[v], *weights[v]);
	}
}

/*
 * Each takes up to where its part ends of the whole, rounded down, less what those before it took:
 * so the parts add up, whatever is rounded.
 */
static void share_take(struct share *share, struct flame_launch_group *g)
{
	uint64_t *weights[SHARED];

	weights_of(g, weights);
	for (int v = 0; v < SHARED; v++) {
		if (!share->has[v] || !share->has[1])
			continue;
		sum_add(&share->seen[v], *weights[v]);
		uint64_t upto =
		    (uint64_t)((__uint128_t)share->wants[v] * share->seen[v] / share->has[v]);
		sum_add(weights[v], upto - share->given[v]);
		share->given[v] = upto;
	}
}

/* @g keeps only weights that nobody takes. */
static void share_leave(struct share *share, struct flame_launch_group *g)
{
	uint64_t *weights[SHARED];

	weights_of(g, weights);
	for (int v = 0; v < SHARED; v++)
		if (share->has[v] && share->has[1])
			*weights[v] = 0;
}

static void share_all(struct flame_work *f, const struct af_world *w, bool by_annotations)
{
	struct shares s = {.by_annotations = by_annotations};

	shares_sum(&s, f, w);
	for (uint32_t i = 0; i < f->nr_launch_groups; i++) {
		struct flame_launch_group *g = &f->launch_groups[i];
		if (has_no_stack(g, w))
			share_leave(share_of(&s, g), g);
		else
			share_take(share_of(&s, g), g);
	}
	af_keys_free(&s.by_key);
	free(s.all);
}

void flame_work_share(struct flame_work *f, const struct af_world *w)
{
	if (!w->stacks_left_out)
		return;
	share_all(f, w, true);
	share_all(f, w, false);
}
