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

/* A wait of a part of the trace whose wake-up is not in it. */
struct wakers_early {
	uint32_t sleeper, state;
	uint64_t blocked_ns, count, wake;
};

struct wakers {
	struct af_stack_locations stack_locations;
	struct af_join waiting; /* wake-ups whose thread is not back on a CPU yet */
	struct af_map by_sleeper, by_sum;
	struct wakers_sum *sums;
	uint32_t nr, cap;
	struct wakers_early *early; /* in order */
	uint32_t nr_early, cap_early;
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

static struct wakers_sum *wakers_sum(struct wakers *k, uint32_t sleeper, uint32_t state,
                                     uint32_t waker)
{
	bool fresh;
	uint64_t *row = af_map_at(&k->by_sleeper, (uint64_t)sleeper << 32 | state, &fresh);

	if (fresh)
		*row = k->by_sleeper.nr;
	uint64_t *slot = af_map_at(&k->by_sum, *row << 32 | waker, &fresh);
	if (fresh) {
		AF_GROW(k->sums, k->nr, k->cap);
		k->sums[k->nr] =
		    (struct wakers_sum){.sleeper = sleeper, .state = state, .waker = waker};
		*slot = k->nr++;
	}
	return &k->sums[*slot];
}

/* Has the wake-up come? Then *@waker is its stack location. */
static bool wakers_take(struct wakers *k, uint64_t wake, uint32_t *waker)
{
	struct af_cause cause;

	if (!wake || !af_join_take(&k->waiting, WAKE_SCOPE, wake, &cause))
		return false;
	*waker = cause.what;
	return k->any = true;
}

static void wakers_wait(struct wakers *k, const struct wakers_early *wait, uint32_t waker)
{
	struct wakers_sum *sum = wakers_sum(k, wait->sleeper, wait->state, waker);

	sum->blocked_ns += wait->blocked_ns;
	sum->square += (double)wait->blocked_ns * (double)wait->blocked_ns;
	sum->count += wait->count;
}

static void wakers_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct wakers *k = self;
	uint32_t waker = WAKER_UNKNOWN;
	struct af_wait wait;

	if (ev->kind == AF_KIND_WAKE) {
		wakers_wake(k, w, ev);
		return;
	}
	if (!af_wait_read(w, ev, &wait) || !wait.blocked_ns)
		return;
	const struct wakers_early is = {
	    .sleeper = af_stack_locations_number(&k->stack_locations, &wait.at),
	    .state = wait.state,
	    .blocked_ns = wait.blocked_ns,
	    .count = !wait.blocked_out_of_range,
	    .wake = wait.wake,
	};
	if (wakers_take(k, is.wake, &waker) || !is.wake || !w->in_part) {
		wakers_wait(k, &is, waker);
		return;
	}
	AF_GROW(k->early, k->nr_early, k->cap_early);
	k->early[k->nr_early++] = is;
}

static bool wakers_merge(void *self, const struct af_world *w, const void *other)
{
	const struct wakers *from = other;
	struct wakers *k = self;
	uint32_t *numbers = af_xcalloc((size_t)from->stack_locations.nr + 1, sizeof *numbers);

	(void)w;
	for (uint32_t i = 0; i < from->stack_locations.nr; i++)
		numbers[i] =
		    af_stack_locations_number(&k->stack_locations, &from->stack_locations.all[i]);
	for (uint32_t i = 0; i < from->nr_early; i++) {
		struct wakers_early wait = from->early[i];
		uint32_t waker = WAKER_UNKNOWN;
		wait.sleeper = numbers[wait.sleeper];
		wakers_take(k, wait.wake, &waker);
		wakers_wait(k, &wait, waker);
	}
	for (uint32_t i = 0; i < from->nr; i++) {
		const struct wakers_sum *s = &from->sums[i];
		struct wakers_sum *to =
		    wakers_sum(k, numbers[s->sleeper], s->state,
		               s->waker == WAKER_UNKNOWN ? WAKER_UNKNOWN : numbers[s->waker]);
		to->blocked_ns += s->blocked_ns;
		to->count += s->count;
		to->square += s->square;
	}
	for (uint64_t i = 0; i < from->waiting.cap; i++) {
		struct af_cause cause = from->waiting.slots[i];
		if (!cause.process)
			continue;
		cause.what = numbers[cause.what];
		af_join_put(&k->waiting, &cause);
	}
	k->any |= from->any;
	free(numbers);
	return true;
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
	free(k->early);
}

const struct af_pass_ops af_pass_wakers = {
    .name = "wakers",
    .question = "who ended the waits?",
    .answers = 1 << AF_VIEW_WAKERS,
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_WAKE,
    .state_size = sizeof(struct wakers),
    .event = wakers_event,
    .merge = wakers_merge,
    .finish = wakers_finish,
    .close = wakers_close,
};
