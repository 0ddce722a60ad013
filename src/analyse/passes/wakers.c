/*
 * Who ended the waits? Each blocked stretch under the stack that waited, then `--`, then the stack
 * that woke it, turned round so that the two meet where one waited for the other: what the waker's
 * kernel did, its functions from the innermost to the outermost, its process. (Brendan Gregg's
 * off-wake graphs.) Time in which a thread that could run had no CPU is nobody's to end and not in
 * this view.
 */
#include <stdlib.h>

#include "analyse/frames/frames.h"
#include "analyse/join/join.h"
#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"

#define WAKER_UNKNOWN UINT32_MAX

/* One stack that waited in one state, and one that ended it. */
struct wakers_sum {
	uint32_t sleeper, state, waker; /* places; the waker's may be WAKER_UNKNOWN */
	uint64_t blocked_ns, count;
	double square; /* sum of those of waits */
};

struct wakers {
	struct af_stack_locations stack_locations;
	struct af_join waiting; /* wake-ups whose thread is not back on a CPU yet */
	struct af_map by_sleeper, by_sum;
	struct wakers_sum *sums;
	uint32_t nr, cap;
	bool any;
};

/* Ids of wake-ups are unique in the trace. */
enum { WAKE_SCOPE = 1 };

static void wakers_wake(struct wakers *k, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_wake wake;

	if (!af_event_decode(ev, &wake, sizeof wake, NULL) || !wake.wake)
		return;
	struct af_stack_location at = af_place_of(w, ev, wake.callpath, wake.kstack);
	struct af_cause cause = {
	    .id = wake.wake,
	    .process = WAKE_SCOPE,
	    .what = af_stack_locations_number(&k->stack_locations, &at),
	};
	af_join_put(&k->waiting, &cause);
}

static struct wakers_sum *wakers_sum(struct wakers *k, const struct af_wait *wait, uint32_t waker)
{
	uint32_t sleeper = af_stack_locations_number(&k->stack_locations, &wait->at);
	bool fresh;
	uint64_t *row = af_map_at(&k->by_sleeper, (uint64_t)sleeper << 32 | wait->state, &fresh);

	if (fresh)
		*row = k->by_sleeper.nr;
	uint64_t *slot = af_map_at(&k->by_sum, *row << 32 | waker, &fresh);
	if (fresh) {
		AF_GROW(k->sums, k->nr, k->cap);
		k->sums[k->nr] =
		    (struct wakers_sum){.sleeper = sleeper, .state = wait->state, .waker = waker};
		*slot = k->nr++;
	}
	return &k->sums[*slot];
}

static void wakers_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct wakers *k = self;
	struct af_cause cause = {.what = WAKER_UNKNOWN};
	struct af_wait wait;

	if (ev->kind == AF_KIND_WAKE) {
		wakers_wake(k, w, ev);
		return;
	}
	if (!af_wait_read(w, ev, &wait) || !wait.blocked_ns)
		return;
	if (wait.wake && af_join_take(&k->waiting, WAKE_SCOPE, wait.wake, &cause))
		k->any = true;
	struct wakers_sum *sum = wakers_sum(k, &wait, cause.what);
	sum->blocked_ns += wait.blocked_ns;
	sum->square += (double)wait.blocked_ns * (double)wait.blocked_ns;
	sum->count += !wait.blocked_out_of_range;
}

/* Making the tree: what one place, or one name, has become is asked for again and again. */
struct wakers_maker {
	const struct af_world *w;
	const struct af_stack_location *stack_locations;
	struct af_tree *tree, scratch; /* scratch: stacks of wakers, as they were */
	uint32_t *asleep;              /* by place: its node of @tree, 0: not made yet */
	uint32_t *awake;               /* by place: its node of @scratch */
	struct af_map names;           /* of scratch → of the tree */
};

static uint32_t maker_asleep(struct wakers_maker *m, uint32_t place)
{
	if (!m->asleep[place])
		m->asleep[place] = af_frames_node(m->tree, m->w, &m->stack_locations[place]);
	return m->asleep[place];
}

static uint32_t maker_name(struct wakers_maker *m, uint32_t name)
{
	bool fresh;
	uint64_t *known = af_map_at(&m->names, name, &fresh);

	if (fresh)
		*known = af_tree_name_like(m->tree, &m->scratch, name, 0);
	return (uint32_t)*known;
}

/* The frames of @place above @node, innermost first. */
static uint32_t maker_turned(struct wakers_maker *m, uint32_t node, uint32_t place)
{
	if (!m->awake[place])
		m->awake[place] = af_frames_node(&m->scratch, m->w, &m->stack_locations[place]);
	for (uint32_t n = m->awake[place]; n; n = m->scratch.nodes[n].parent)
		node = af_tree_child(m->tree, node, maker_name(m, m->scratch.nodes[n].name));
	return node;
}

static void wakers_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	struct af_tree *t = &out->trees[AF_VIEW_WAKERS];
	const struct wakers *k = self;
	struct wakers_maker m = {.w = w, .stack_locations = k->stack_locations.all, .tree = t};

	/* Where no waker was recorded, this would only be the view of off-CPU time again. */
	if (!k->any)
		return;
	out->has[AF_VIEW_WAKERS] = 1 << AF_WAKERS_OFF_CPU | 1 << AF_WAKERS_COUNT;
	af_tree_open(&m.scratch, none, 1);
	m.asleep = af_xcalloc(k->stack_locations.nr, sizeof *m.asleep);
	m.awake = af_xcalloc(k->stack_locations.nr, sizeof *m.awake);
	for (uint32_t i = 0; i < k->nr; i++) {
		const struct wakers_sum *s = &k->sums[i];
		uint32_t node = maker_asleep(&m, s->sleeper);
		node = af_frames_under(t, node, af_wait_frame(s->state), AF_FRAME_MARK);
		node = af_frames_under(t, node, "--", AF_FRAME_MARK);
		if (s->waker == WAKER_UNKNOWN)
			node = af_frames_under(t, node, "[waker not recorded]", AF_FRAME_MARK);
		else
			node = maker_turned(&m, node, s->waker);
		af_tree_add(t, node, AF_WAKERS_OFF_CPU, s->blocked_ns);
		af_tree_add(t, node, AF_WAKERS_COUNT, s->count);
		af_tree_vary(t, node, s->square);
	}
	af_tree_close(&m.scratch);
	af_map_free(&m.names);
	free(m.asleep);
	free(m.awake);
}

static void wakers_close(void *self)
{
	struct wakers *k = self;

	af_stack_locations_free(&k->stack_locations);
	af_join_free(&k->waiting);
	af_map_free(&k->by_sleeper);
	af_map_free(&k->by_sum);
	free(k->sums);
}

const struct af_pass_ops af_pass_wakers = {
    .name = "wakers",
    .question = "who ended the waits?",
    .answers = 1 << AF_VIEW_WAKERS,
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_WAKE,
    .state_size = sizeof(struct wakers),
    .event = wakers_event,
    .finish = wakers_finish,
    .close = wakers_close,
};
