/*
 * Where did the time go? Samples and device work, added up by call path while the trace is read;
 * the trees are built when it ends, as names come last.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/frames.h"
#include "analyse/join.h"
#include "analyse/pass.h"
#include "analyse/work.h"

/* What one path did with one piece of device work, or (label 0) on the CPU. */
struct flame_sum {
	uint32_t path, process;
	uint32_t label; /* 0: CPU; else shape index of the world, the first of its label */
	bool in_kernel; /* the sampled time was in a system call */
	uint64_t value[4];
};

struct flame {
	struct af_join waiting;
	struct af_map by_sum;   /* (path or process, label) → index */
	struct af_map by_label; /* operation and kernel → shape index that stands for it */
	struct flame_sum *sums;
	uint32_t nr, cap;
	uint64_t failed, unlaunched;
};

static struct flame_sum *flame_sum(struct flame *f, uint32_t path, uint32_t process, uint32_t label,
                                   bool in_kernel)
{
	uint64_t who = path ? path : (uint64_t)process | 1ull << 31;
	bool fresh;
	uint64_t *slot =
	    af_map_at(&f->by_sum, who << 32 | (uint64_t)label << 1 | in_kernel, &fresh);

	if (fresh) {
		AF_GROW(f->sums, f->nr, f->cap);
		f->sums[f->nr] = (struct flame_sum){
		    .path = path, .process = process, .label = label, .in_kernel = in_kernel};
		*slot = f->nr++;
	}
	return &f->sums[*slot];
}

static void flame_sample(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_sample s;

	if (!af_event_decode(ev, &s, sizeof s, NULL))
		return;
	struct flame_sum *sum = flame_sum(f, af_world_path(w, ev, s.callpath), ev->process, 0,
	                                  s.flags & AF_SAMPLE_SYSCALL);
	sum->value[AF_WEIGHT_TIME] += s.weight_ns;
	sum->value[AF_WEIGHT_SAMPLES]++;
}

static void flame_launch(struct flame *f, const struct af_world *w, const struct af_event *ev)
{
	struct af_ev_launch l;

	if (!af_event_decode(ev, &l, sizeof l, NULL) || !ev->process)
		return;
	struct af_launch launch = {
	    .correlation = l.correlation,
	    .process = ev->process,
	    .path = af_world_path(w, ev, l.callpath),
	    .time_ns = ev->time_ns,
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
	struct af_launch launch = {.path = 0};
	struct af_work work;

	if (!af_work_read(ev, &work))
		return;
	if (!af_join_take(&f->waiting, ev->process, work.correlation, &launch))
		f->unlaunched++;
	f->failed += work.status != 0;
	uint32_t shape = af_world_shape(w, ev, work.shape);
	if (work.status || !shape)
		return;
	struct flame_sum *sum =
	    flame_sum(f, launch.path, ev->process, flame_label(f, w, shape), false);
	sum->value[AF_WEIGHT_TIME] += af_work_busy_ns(&work);
	sum->value[AF_WEIGHT_COUNT]++;
	sum->value[AF_WEIGHT_BYTES] += w->shapes[shape].is.bytes;
}

static void flame_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	switch (ev->kind) {
	case AF_KIND_SAMPLE:
		flame_sample(self, w, ev);
		break;
	case AF_KIND_LAUNCH:
		flame_launch(self, w, ev);
		break;
	default:
		flame_work(self, w, ev);
	}
}

static uint32_t frame_under(struct af_tree *t, uint32_t parent, const char *text,
                            enum af_frame kind)
{
	return af_tree_child(t, parent, af_tree_name(t, text, strlen(text), kind, 0));
}

static void flame_add(struct af_tree *t, const struct af_world *w, const struct flame_sum *s)
{
	uint32_t node = af_frames_node(t, w, s->path, s->process);

	if (s->in_kernel)
		node = frame_under(t, node, "[kernel]", AF_FRAME_KERNEL);
	if (s->label) {
		const struct af_shape *shape = &w->shapes[s->label];
		const char *name = shape->is.op == AF_OP_KERNEL
		                       ? af_world_kernel(w, shape->process, shape->is.kernel)
		                       : af_op_text(shape->is.op);
		node = frame_under(t, node, *name ? name : "[unnamed kernel]", AF_FRAME_GPU);
	}
	for (uint32_t i = 0; i < 4; i++)
		af_tree_add(t, node, i, s->value[i]);
}

static void flame_finish(void *self, const struct af_world *w, struct af_results *out)
{
	struct flame *f = self;

	out->launches_unfinished = f->waiting.nr;
	out->works_failed = f->failed;
	out->works_unlaunched = f->unlaunched;
	for (uint32_t i = 0; i < f->nr; i++) {
		const struct flame_sum *s = &f->sums[i];
		flame_add(&out->trees[s->label ? AF_VIEW_GPU : AF_VIEW_CPU], w, s);
		flame_add(&out->trees[AF_VIEW_ALL], w, s);
	}
}

static void flame_close(void *self)
{
	struct flame *f = self;

	af_join_free(&f->waiting);
	af_map_free(&f->by_sum);
	af_map_free(&f->by_label);
	free(f->sums);
}

const struct af_pass_ops af_pass_flame = {
    .name = "flame",
    .question = "where did the time go?",
    .wants = 1ull << AF_KIND_SAMPLE | 1ull << AF_KIND_LAUNCH | 1ull << AF_KIND_WORK |
             1ull << AF_KIND_WORK_LONG,
    .state_size = sizeof(struct flame),
    .event = flame_event,
    .finish = flame_finish,
    .close = flame_close,
};
