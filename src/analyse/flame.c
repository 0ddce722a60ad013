/*
 * Where did the time go? Samples, waits and device work, added up by call path while the trace is
 * read; the trees are built when it ends, as names come last.
 */
#include <stdlib.h>

#include "analyse/frames.h"
#include "analyse/join.h"
#include "analyse/pass.h"
#include "analyse/places.h"
#include "analyse/waits.h"
#include "analyse/work.h"

/*
 * What was done at one place: 0 is being on the CPU, a thread's state (FLAME_STATE added) being off
 * it, anything else device work: the shape of the world that stands for its label.
 */
#define FLAME_STATE (1u << 31)

struct flame_sum {
	uint32_t place, what;
	uint64_t value[AF_WEIGHTS];
};

struct flame {
	struct af_join waiting;
	struct af_places places;
	struct af_map by_sum;   /* (place, what) → index */
	struct af_map by_label; /* operation and kernel → shape index that stands for it */
	struct flame_sum *sums;
	uint32_t nr, cap;
	uint64_t failed, unlaunched;
};

static uint64_t *flame_at(struct flame *f, const struct af_place *at, uint32_t what)
{
	uint32_t place = af_places_number(&f->places, at);
	bool fresh;
	uint64_t *slot = af_map_at(&f->by_sum, (uint64_t)place << 32 | what, &fresh);

	if (fresh) {
		AF_GROW(f->sums, f->nr, f->cap);
		f->sums[f->nr] = (struct flame_sum){.place = place, .what = what};
		*slot = f->nr++;
	}
	return f->sums[*slot].value;
}

static void flame_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	uint64_t *value = flame_at(self, &s->at, 0);

	value[AF_WEIGHT_TIME] += s->weight_ns;
	value[AF_WEIGHT_SAMPLES]++;
}

/* Blocked, then waiting for its turn: both end in a frame of their own. */
static void flame_wait(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_wait wait;

	if (!af_wait_read(w, ev, &wait))
		return;
	if (wait.blocked_ns)
		flame_at(f, &wait.at, FLAME_STATE + wait.state)[AF_WEIGHT_OFF_CPU] +=
		    wait.blocked_ns;
	if (wait.queued_ns)
		flame_at(f, &wait.at, FLAME_STATE + AF_STATE_RUNNABLE)[AF_WEIGHT_OFF_CPU] +=
		    wait.queued_ns;
}

static void flame_launch(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_launch l;

	if (!af_event_decode(ev, &l, sizeof l, NULL) || !ev->process)
		return;
	struct af_cause launch = {
	    .id = l.correlation,
	    .process = ev->process,
	    .what = af_world_path(w, ev, l.callpath),
	};
	af_join_put(&f->waiting, &launch);
}

/* One shape stands for all with the same operation and kernel: sizes do not split frames. */
static uint32_t flame_label(struct flame *f, const struct af_world *w, uint32_t shape)
{
	const struct af_shape *s = &w->shapes[shape];
	uint64_t key = (uint64_t)s->process << 40 ^ (uint64_t)s->is.op << 32 ^ s->is.kernel;
	bool fresh;
	uint64_t *slot = af_map_at(&f->by_label, key, &fresh);

	if (fresh)
		*slot = shape;
	return (uint32_t)*slot;
}

static void flame_work(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_cause launch = {.what = 0};
	struct af_work work;

	if (!af_work_read(w, ev, &work))
		return;
	if (!af_join_take(&f->waiting, ev->process, work.id, &launch))
		f->unlaunched++;
	f->failed += work.status != 0;
	uint32_t shape = work.shape;
	if (work.status || !shape)
		return;
	struct af_place at = {.process = ev->process, .path = launch.what};
	uint64_t *value = flame_at(f, &at, flame_label(f, w, shape));
	value[AF_WEIGHT_TIME] += af_work_busy_ns(&work);
	value[AF_WEIGHT_COUNT]++;
	value[AF_WEIGHT_BYTES] += w->shapes[shape].is.bytes;
}

static void flame_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	switch (ev->kind) {
	case AF_KIND_OFFCPU:
		flame_wait(self, w, ev);
		break;
	case AF_KIND_LAUNCH:
		flame_launch(self, w, ev);
		break;
	default:
		flame_work(self, w, ev);
	}
}

static void flame_add(struct af_tree *t, const struct af_world *w, const struct flame *f,
                      const struct flame_sum *s)
{
	uint32_t node = af_frames_node(t, w, &f->places.all[s->place]);

	if (s->what >= FLAME_STATE) {
		node =
		    af_frames_under(t, node, af_wait_frame(s->what - FLAME_STATE), AF_FRAME_MARK);
	} else if (s->what) {
		const struct af_shape *shape = &w->shapes[s->what];
		const char *name = shape->is.op == AF_OP_KERNEL
		                       ? af_world_kernel(w, shape->process, shape->is.kernel)
		                       : af_op_text(shape->is.op);
		node = af_frames_under(t, node, *name ? name : "[unnamed kernel]", AF_FRAME_GPU);
	}
	for (uint32_t i = 0; i < AF_WEIGHTS; i++)
		af_tree_add(t, node, i, s->value[i]);
}

/* Which weights @s has something of, as bits. */
static uint32_t flame_has(const struct flame_sum *s)
{
	uint32_t has = 0;

	for (uint32_t i = 0; i < AF_WEIGHTS; i++)
		has |= (uint32_t) !!s->value[i] << i;
	return has;
}

static enum af_view flame_view(const struct flame_sum *s)
{
	return s->what && s->what < FLAME_STATE ? AF_VIEW_GPU : AF_VIEW_CPU;
}

/* The trees to make: with one view all there is, the one of both is that again. */
static uint32_t flame_trees(const struct flame *f, struct af_results *out)
{
	const uint32_t both = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU, all = 1 << AF_VIEW_ALL;

	for (uint32_t i = 0; i < f->nr; i++) {
		uint32_t has = flame_has(&f->sums[i]);
		out->has[flame_view(&f->sums[i])] |= has;
		out->has[AF_VIEW_ALL] |= has;
	}
	bool alone = !out->has[AF_VIEW_CPU] || !out->has[AF_VIEW_GPU];
	uint32_t asked = out->asked.answers;
	return alone && (asked & both) == both ? asked & ~all : asked;
}

static void flame_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct flame *f = self;
	uint32_t trees = flame_trees(f, out);

	out->launches_unfinished = f->waiting.nr;
	out->works_failed = f->failed;
	out->works_unlaunched = f->unlaunched;
	for (uint32_t i = 0; i < f->nr; i++) {
		const struct flame_sum *s = &f->sums[i];
		enum af_view view = flame_view(s);
		if (!(flame_has(s) & out->asked.weights))
			continue;
		if (trees & 1u << view)
			flame_add(&out->trees[view], w, f, s);
		if (trees & 1u << AF_VIEW_ALL)
			flame_add(&out->trees[AF_VIEW_ALL], w, f, s);
	}
}

static void flame_close(void *self)
{
	struct flame *f = self;

	af_join_free(&f->waiting);
	af_places_free(&f->places);
	af_map_free(&f->by_sum);
	af_map_free(&f->by_label);
	free(f->sums);
}

const struct af_pass_ops af_pass_flame = {
    .name = "flame",
    .question = "where did the time go?",
    .answers = 1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU | 1 << AF_VIEW_ALL | AF_ANSWER_TABLES,
    .wants = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_LAUNCH | 1ull << AF_KIND_WORK |
             1ull << AF_KIND_WORK_LONG,
    .state_size = sizeof(struct flame),
    .event = flame_event,
    .sample = flame_sample,
    .finish = flame_finish,
    .close = flame_close,
};
