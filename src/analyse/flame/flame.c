/*
 * Where did the time go? Samples, waits and device work, added up by call path while the trace is
 * read; the trees are built when it ends, as names come last.
 */
#include <stdlib.h>

#include "analyse/flame/seen.h"
#include "analyse/flame/work.h"
#include "analyse/frames/frame_locations.h"
#include "analyse/frames/frames.h"
#include "analyse/frames/last.h"
#include "analyse/pass/pass.h"
#include "analyse/world/stack_locations.h"
#include "analyse/world/waits.h"
#include "base/arena.h"

/*
 * The state of a thread: 0 on the CPU; FLAME_DEVICE on the CPU, in code of a device that is the
 * host; FLAME_STATE plus a state of a wait: off the CPU. FLAME_SUMMED marks weight that another
 * profiler added up, possibly of a device.
 */
#define FLAME_STATE (1u << 31)
#define FLAME_SUMMED (FLAME_STATE - 2)
#define FLAME_DEVICE (FLAME_STATE - 1)

struct flame_sum {
	uint32_t place, what;
	uint32_t doing; /* of w->annotations, where ranges are frames */
	uint64_t value[AF_WEIGHTS];
	double square;        /* sum of those of waits */
	uint64_t freed_bytes; /* of what was allocated here */
};

struct flame {
	struct af_stack_locations stack_locations;
	struct af_map by_sum;    /* (place, aspect) → index */
	struct af_map by_aspect; /* (doing, what) → number; without doing it is what */
	struct flame_sum *sums;
	uint32_t nr, cap;
	struct flame_work work;
	struct flame_seen seen;
	bool summed;  /* it has what another profiler added up */
	bool counted; /* and samples that have a count */
};

/* Numbers of what was done inside of ranges lie between 0 and FLAME_STATE. */
static uint32_t flame_aspect(struct flame *f, uint32_t what, uint32_t doing)
{
	bool fresh;

	if (!doing)
		return what;
	uint64_t *slot = af_map_at(&f->by_aspect, (uint64_t)doing << 32 | what, &fresh);
	if (fresh)
		*slot = f->by_aspect.nr;
	return (uint32_t)*slot;
}

static struct flame_sum *flame_at(struct flame *f, const struct af_stack_location *at,
                                  uint32_t what, uint32_t doing)
{
	uint32_t place = af_stack_locations_number(&f->stack_locations, at);
	uint32_t aspect = flame_aspect(f, what, doing);
	bool fresh;
	uint64_t *slot = af_map_at(&f->by_sum, (uint64_t)place << 32 | aspect, &fresh);

	if (fresh) {
		AF_GROW(f->sums, f->nr, f->cap);
		f->sums[f->nr] = (struct flame_sum){.place = place, .what = what, .doing = doing};
		*slot = f->nr++;
	}
	return &f->sums[*slot];
}

/* The annotations that are open on the thread; only work goes back to another operation. */
static uint32_t flame_doing(const struct af_world *w, uint32_t process, uint32_t tid)
{
	return w->annotations.apart ? af_annotations_now(&w->annotations, process, tid) : 0;
}

/* @b to *@a, which may be as much as fits. */
static void sum_most(uint64_t *a, uint64_t b)
{
	if (__builtin_add_overflow(*a, b, a))
		*a = UINT64_MAX;
}

static void flame_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	struct flame *f = self;
	uint64_t *value = flame_at(f, &s->at, s->on_device ? FLAME_DEVICE : 0,
	                           w->annotations.apart ? s->doing : 0)
	                      ->value;

	value[AF_WEIGHT_TIME] += s->weight_ns;
	value[AF_WEIGHT_SAMPLES] += !s->out_of_range;
	sum_most(&value[AF_WEIGHT_COUNT], s->count);
	f->counted |= s->count != 0;
}

static void flame_summed(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_summed s;

	if (ev->kind != AF_KIND_SUMMED || !af_event_decode(ev, &s, sizeof s, NULL))
		return;
	struct af_stack_location at = af_place_of(w, ev, s.callpath, s.kstack);
	uint64_t *value = flame_at(f, &at, FLAME_SUMMED, 0)->value;
	const uint64_t sums[AF_WEIGHTS] = {s.busy_ns, s.samples, s.count, s.bytes, s.off_cpu_ns};

	for (uint32_t i = 0; i < AF_WEIGHTS; i++)
		sum_most(&value[i], sums[i]);
	f->summed = true;
}

static void flame_wait(struct flame *f, const struct af_wait *wait, uint32_t state, uint32_t doing,
                       uint64_t ns)
{
	if (!ns)
		return;
	struct flame_sum *sum = flame_at(f, &wait->at, FLAME_STATE + state, doing);
	sum->value[AF_WEIGHT_OFF_CPU] += ns;
	sum->square += (double)ns * (double)ns;
}

/* Whichever thread wrote the event, the allocations were of any. */
static void flame_allocated(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_allocated a;

	if (ev->kind != AF_KIND_ALLOCATED || !af_event_decode(ev, &a, sizeof a, NULL))
		return;
	struct af_stack_location at = af_place_of(w, ev, a.callpath, 0);
	at.tid = 0;
	struct flame_sum *sum = flame_at(f, &at, 0, 0);
	sum_most(&sum->value[AF_WEIGHT_ALLOC], a.bytes);
	sum_most(&sum->value[AF_WEIGHT_ALLOCS], a.allocations);
	sum_most(&sum->freed_bytes, a.freed_bytes);
}

/* A wait has two parts, blocked and queued for a CPU; each ends in a frame of its own. */
static void flame_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct flame *f = self;
	struct af_call call;
	struct af_wait wait;

	if (af_call_seen_read(w, ev, &call))
		flame_seen_add(&f->seen, w, &call);
	flame_seen_probed(&f->seen, w, ev);
	flame_summed(f, w, ev);
	flame_allocated(f, w, ev);
	if (!af_wait_read(w, ev, &wait))
		return;
	uint32_t doing = flame_doing(w, wait.at.process, wait.tid);
	flame_wait(f, &wait, wait.state, doing, wait.blocked_ns);
	flame_wait(f, &wait, AF_STATE_RUNNABLE, doing, wait.queued_ns);
}

static void flame_take_work(void *self, const struct af_world *w, const struct af_work *work)
{
	struct flame *f = self;

	flame_work_add(&f->work, w, work);
	if (work->matched && !work->matched_again)
		flame_seen_matched(&f->seen, work);
}

static bool flame_merge(void *self, const struct af_world *w, const void *other)
{
	const struct flame *from = other;
	struct flame *f = self;

	for (uint32_t i = 0; i < from->nr; i++) {
		const struct flame_sum *s = &from->sums[i];
		struct flame_sum *to =
		    flame_at(f, &from->stack_locations.all[s->place], s->what, s->doing);
		for (uint32_t v = 0; v < AF_WEIGHTS; v++)
			sum_most(&to->value[v], s->value[v]);
		to->square += s->square;
		sum_most(&to->freed_bytes, s->freed_bytes);
	}
	flame_work_merge(&f->work, w, &from->work);
	flame_seen_merge(&f->seen, &from->seen);
	f->summed |= from->summed;
	f->counted |= from->counted;
	return true;
}

/*
 * If the tree has the time of devices' work too, a device that is the host has its time there: the
 * time of the host's thread is the same time.
 */
static bool flame_elsewhere(const struct flame_sum *s, uint32_t weight, bool with_work)
{
	return with_work && s->what == FLAME_DEVICE && weight == AF_WEIGHT_TIME;
}

/* The views that a sum belongs to, besides the one of everything. */
static int flame_view(const struct flame *f, const struct af_world *w, const struct flame_sum *s)
{
	bool device =
	    s->what == FLAME_SUMMED && af_frames_on_device(w, &f->stack_locations.all[s->place]);

	return device ? AF_VIEW_GPU : AF_VIEW_CPU;
}

static uint32_t flame_add(struct af_tree *t, const struct af_world *w, const struct flame *f,
                          const struct flame_sum *s, const struct af_query *query, bool with_work)
{
	const struct af_stack_location *at = &f->stack_locations.all[s->place];
	uint32_t node = flame_process(t, w, at->process, query->group);

	if (at->tid)
		node = af_frames_thread(t, w, node, at->process, at->tid);
	if (query->ranges)
		node = af_frames_ranges(t, w, node, s->doing);
	node = af_frames_place(t, w, node, at);

	if (s->what >= FLAME_STATE)
		node =
		    af_frames_under(t, node, af_wait_frame(s->what - FLAME_STATE), AF_FRAME_MARK);
	for (uint32_t i = 0; i < AF_WEIGHTS; i++)
		if (!flame_elsewhere(s, i, with_work))
			af_tree_add(t, node, i, s->value[i]);
	if (s->square > 0)
		af_tree_vary(t, node, s->square);
	return node;
}

static void flame_part(struct af_results *out, const struct af_stack_location *at, uint32_t node,
                       uint64_t ns)
{
	if (!ns)
		return;
	AF_GROW(out->cpu_parts, out->nr_cpu_parts, out->cap_cpu_parts);
	out->cpu_parts[out->nr_cpu_parts++] =
	    (struct af_cpu_part){.node = node, .process = at->process, .ns = ns};
}

/* The weights of @s that are not 0, as bits. */
static uint32_t flame_has(const struct flame_sum *s, bool with_work)
{
	uint32_t has = 0;

	for (uint32_t i = 0; i < AF_WEIGHTS; i++)
		if (s->value[i] && !flame_elsewhere(s, i, with_work))
			has |= 1u << i;
	return has | (s->freed_bytes ? 1u << AF_WEIGHT_LIVE : 0);
}

/* All that was allocated, until flame_freed() takes what was freed from the tree. */
static void flame_live(struct flame *f)
{
	for (uint32_t i = 0; i < f->nr; i++)
		f->sums[i].value[AF_WEIGHT_LIVE] = f->sums[i].value[AF_WEIGHT_ALLOC];
}

/*
 * Threads wrote the events of a call path into several streams, and one stream may have its
 * allocations and another its frees: they meet in the tree. In a time range more may have been
 * freed than was allocated in it.
 */
static void flame_freed(struct af_tree *t, uint32_t node, const struct flame_sum *s)
{
	uint64_t *live = &t->self[AF_WEIGHT_LIVE][node];

	if (s->freed_bytes)
		*live -= s->freed_bytes < *live ? s->freed_bytes : *live;
}

/* The trees to make. If only one view has anything, the view of everything would equal it. */
static uint32_t flame_trees(const struct flame *f, const struct af_world *w, struct af_results *out)
{
	const uint32_t both = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU, all = 1 << AF_VIEW_ALL;

	for (uint32_t i = 0; i < f->nr; i++)
		out->has[flame_view(f, w, &f->sums[i])] |= flame_has(&f->sums[i], false);
	out->has[AF_VIEW_GPU] |= flame_work_has(&f->work) | flame_seen_has(&f->seen, false);
	out->has[AF_VIEW_CPU] |= flame_seen_has(&f->seen, true);
	if (out->sampled.exact + out->sampled.apportioned + out->sampled.unattributed)
		out->has[AF_VIEW_GPU] |= 1 << AF_WEIGHT_SAMPLES;
	out->has[AF_VIEW_CPU] |= f->counted ? AF_HAS_COUNTED : 0;
	out->has[AF_VIEW_CPU] |= af_world_samples_waits(w) ? AF_HAS_WALL : 0;
	out->has[AF_VIEW_ALL] = out->has[AF_VIEW_CPU] | out->has[AF_VIEW_GPU];
	bool alone = !out->has[AF_VIEW_CPU] || !out->has[AF_VIEW_GPU];
	uint32_t query = out->query.answers;
	return alone && (query & both) == both ? query & ~all : query;
}

/* Orders sums so that each stack begins like the one before it. */
struct flame_order {
	uint64_t key[AF_FRAMES_KEY];
	uint32_t sum;
};

static int flame_sum_order(const void *a, const void *b)
{
	const struct flame_order *x = a, *y = b;

	for (int i = 0; i < AF_FRAMES_KEY; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return (x->sum > y->sum) - (x->sum < y->sum);
}

static void flame_add_sums(const struct flame *f, const struct af_world *w, struct af_results *out,
                           int view)
{
	const struct af_query *query = &out->query;
	struct af_tree *t = &out->trees[view];
	bool with_work = view == AF_VIEW_ALL && out->has[AF_VIEW_GPU] & 1 << AF_WEIGHT_TIME;
	bool parts = view == AF_VIEW_CPU && query->answers & AF_ANSWER_TABLES;
	struct flame_order *order = af_xcalloc(f->nr, sizeof *order);
	uint32_t *nodes = af_xcalloc(f->nr, sizeof *nodes);
	struct af_frames_last last = {0};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < f->nr; i++) {
		if (!(flame_has(&f->sums[i], with_work) & query->weights) ||
		    (view != AF_VIEW_ALL && flame_view(f, w, &f->sums[i]) != view))
			continue;
		order[nr].sum = i;
		af_frames_key(w, &f->stack_locations.all[f->sums[i].place], order[nr++].key);
	}
	AF_SORT(order, nr, flame_sum_order);
	t->last = &last;
	for (uint32_t i = 0; i < nr; i++) {
		const struct flame_sum *s = &f->sums[order[i].sum];
		uint32_t node = flame_add(t, w, f, s, query, with_work);
		nodes[i] = node;
		if (parts)
			flame_part(out, &f->stack_locations.all[s->place], node,
			           s->value[AF_WEIGHT_TIME]);
	}
	t->last = NULL;
	for (uint32_t i = 0; i < nr; i++)
		flame_freed(t, nodes[i], &f->sums[order[i].sum]);
	af_frames_last_free(&last);
	free(nodes);
	free(order);
}

static void flame_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct flame *f = self;

	flame_live(f);
	flame_work_share(&f->work, w);
	uint32_t trees = flame_trees(f, w, out);

	out->summed = f->summed;
	/* Samples of devices and of CPUs are different things: one tree cannot add them up. */
	bool cpu_samples = out->has[AF_VIEW_CPU] & 1 << AF_WEIGHT_SAMPLES;

	for (uint32_t v = 0; v <= AF_VIEW_ALL; v++) {
		struct af_tree *t = &out->trees[v];
		if (!(trees & 1u << v))
			continue;
		if (v != AF_VIEW_GPU || f->summed)
			flame_add_sums(f, w, out, (int)v);
		if (v != AF_VIEW_GPU)
			flame_seen_draw_probed(&f->seen, w, t, &out->query);
		if (v != AF_VIEW_CPU)
			flame_work_draw(&f->work, w, t, out, v == AF_VIEW_GPU || !cpu_samples);
		if (v != AF_VIEW_CPU)
			flame_seen_draw(&f->seen, w, t, &out->query);
	}
}

static void flame_close(void *self)
{
	struct flame *f = self;

	af_stack_locations_free(&f->stack_locations);
	af_map_free(&f->by_sum);
	af_map_free(&f->by_aspect);
	free(f->sums);
	flame_work_free(&f->work);
	flame_seen_free(&f->seen);
}

const struct af_pass_ops af_pass_flame = {
    .name = "flame",
    .question = "where did the time go?",
    .answers = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU | 1 << AF_VIEW_ALL | AF_ANSWER_TABLES,
    .attributes = 1 << AF_VIEW_GPU | 1 << AF_VIEW_ALL,
    .works_for = 1 << AF_VIEW_GPU | 1 << AF_VIEW_ALL | AF_ANSWER_TOP,
    .works_fast = true,
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_CALL_SEEN | 1ull << AF_KIND_SUMMED |
             1ull << AF_KIND_ALLOCATED | 1ull << AF_KIND_CALL_SUM | 1ull << AF_KIND_CALL_LONG,
    .state_size = sizeof(struct flame),
    .event = flame_event,
    .sample = flame_sample,
    .work = flame_take_work,
    .merge = flame_merge,
    .finish = flame_finish,
    .close = flame_close,
};
