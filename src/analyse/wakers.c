/*
 * Who ended the waits? Each blocked stretch under the stack that waited, then `--`, then the stack
 * that woke it, turned round so that the two meet where one waited for the other: what the waker's
 * kernel did, its functions from the innermost to the outermost, its process. (Brendan Gregg's
 * off-wake graphs.) Time in which a thread that could run had no CPU is nobody's to end and not in
 * this view.
 */
#include <stdlib.h>

#include "analyse/frames.h"
#include "analyse/join.h"
#include "analyse/pass.h"
#include "analyse/waits.h"

#define WAKER_UNKNOWN UINT32_MAX

/* One stack that waited in one state, and one that ended it. */
struct wakers_sum {
	uint32_t sleeper, state, waker; /* places; the waker's may be WAKER_UNKNOWN */
	uint64_t blocked_ns, count;
};

struct wakers {
	struct af_places places;
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
	struct af_place at = af_place_of(w, ev, wake.callpath, wake.kstack);
	struct af_cause cause = {
	    .id = wake.wake,
	    .process = WAKE_SCOPE,
	    .what = af_places_number(&k->places, &at),
	};
	af_join_put(&k->waiting, &cause);
}

static struct wakers_sum *wakers_sum(struct wakers *k, const struct af_wait *wait, uint32_t waker)
{
	uint32_t sleeper = af_places_number(&k->places, &wait->at);
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
	sum->count++;
}

/* The frames of @at above @node, innermost first. @scratch is a tree to make them in. */
static uint32_t wakers_turned(struct af_tree *t, struct af_tree *scratch, const struct af_world *w,
                              uint32_t node, const struct af_place *at)
{
	for (uint32_t n = af_frames_node(scratch, w, at); n; n = scratch->nodes[n].parent) {
		size_t len;
		uint32_t name = scratch->nodes[n].name;
		const char *text = af_tree_text(scratch, name, &len);
		node = af_tree_child(t, node,
		                     af_tree_name(t, text, len, af_tree_frame(scratch, name), 0));
	}
	return node;
}

static void wakers_finish(void *self, const struct af_world *w, struct af_results *out)
{
	static const struct af_tree_weight none[] = {{"none", ""}};
	struct af_tree *t = &out->trees[AF_VIEW_WAKERS];
	struct wakers *k = self;
	struct af_tree scratch;

	/* Where no waker was recorded, this would only be the view of off-CPU time again. */
	if (!k->any)
		return;
	af_tree_open(&scratch, none, 1);
	for (uint32_t i = 0; i < k->nr; i++) {
		const struct wakers_sum *s = &k->sums[i];
		uint32_t node = af_frames_node(t, w, &k->places.all[s->sleeper]);
		node = af_frames_under(t, node, af_wait_frame(s->state), AF_FRAME_MARK);
		node = af_frames_under(t, node, "--", AF_FRAME_MARK);
		if (s->waker == WAKER_UNKNOWN)
			node = af_frames_under(t, node, "[waker not recorded]", AF_FRAME_MARK);
		else
			node = wakers_turned(t, &scratch, w, node, &k->places.all[s->waker]);
		af_tree_add(t, node, AF_WAKERS_OFF_CPU, s->blocked_ns);
		af_tree_add(t, node, AF_WAKERS_COUNT, s->count);
	}
	af_tree_close(&scratch);
}

static void wakers_close(void *self)
{
	struct wakers *k = self;

	af_places_free(&k->places);
	af_join_free(&k->waiting);
	af_map_free(&k->by_sleeper);
	af_map_free(&k->by_sum);
	free(k->sums);
}

const struct af_pass_ops af_pass_wakers = {
    .name = "wakers",
    .question = "who ended the waits?",
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_WAKE,
    .state_size = sizeof(struct wakers),
    .event = wakers_event,
    .finish = wakers_finish,
    .close = wakers_close,
};
