/* Threads in a timeline: where samples found them, what they waited for, what was lost. */
#include <string.h>

#include "analyse/frames/frames.h"
#include "analyse/time/timeline_private.h"
#include "analyse/world/waits.h"
#include "base/arena.h"

/* Samples of a thread in the same function, so far without a break. */
struct timeline_run {
	uint32_t process, tid;
	struct af_slice slice;
};

static void run_put(struct af_timeline *t, struct timeline_run *r)
{
	if ((r->slice.value || r->slice.weight_ns) &&
	    timeline_wants(t, r->slice.start_ns, r->slice.end_ns))
		timeline_put(t, ROW_RUN, r->process, &(struct timeline_row_id){.number = r->tid},
		             &r->slice);
}

static struct timeline_run *run_of(struct af_timeline *t, uint32_t process, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_run, (uint64_t)process << 32 | tid, &fresh);

	if (fresh) {
		AF_GROW(t->runs, t->nr_runs, t->cap_runs);
		t->runs[t->nr_runs] = (struct timeline_run){.process = process, .tid = tid};
		*slot = t->nr_runs++;
	}
	return &t->runs[*slot];
}

/*
 * A sample stands for the time just before it, as long as its weight: CPU time, so the thread was
 * there about then. Samples half a weight apart still join.
 */
static bool run_joins(const struct af_timeline *t, const struct af_slice *open,
                      const struct af_sample *s, uint32_t stack, uint32_t name, uint64_t start_ns)
{
	if ((!open->value && !open->weight_ns) || open->name != name)
		return false;
	if (t->query.trees)
		return open->stack == stack && start_ns == open->end_ns;
	return start_ns <= open->end_ns + s->length_ns / 2;
}

static void run_join(struct af_slice *open, const struct af_sample *s, uint32_t stack)
{
	open->value += !s->out_of_range;
	open->weight_ns += s->weight_ns;
	open->stack = open->stack == stack ? stack : 0;
	if (s->time_ns > open->end_ns)
		open->end_ns = s->time_ns;
}

void timeline_sample(void *timeline, const struct af_sample *joined)
{
	struct af_timeline *t = timeline;
	struct af_sample cut = *joined, *s = &cut;
	struct timeline_run *r = run_of(t, s->at.process, s->tid);
	struct af_slice *open = &r->slice;

	if (!timeline_trees_sample(t, s))
		return;
	uint32_t stack =
	    t->query.trees ? timeline_trees_place(t, &s->at, s->tid) : timeline_stack(t, &s->at);
	uint32_t name = timeline_leaf(t, stack);
	uint64_t start_ns = s->length_ns < s->time_ns ? s->time_ns - s->length_ns : 0;

	if (run_joins(t, open, s, stack, name, start_ns)) {
		run_join(open, s, stack);
		return;
	}
	run_put(t, r);
	if (start_ns < open->end_ns)
		start_ns = open->end_ns < s->time_ns ? open->end_ns : s->time_ns;
	*open = (struct af_slice){
	    .kind = AF_SLICE_RUN,
	    .start_ns = start_ns,
	    .end_ns = s->time_ns,
	    .name = name,
	    .stack = stack,
	    .value = !s->out_of_range,
	    .weight_ns = s->weight_ns,
	};
}

void timeline_runs_end(struct af_timeline *t)
{
	for (uint32_t i = 0; i < t->nr_runs; i++)
		run_put(t, &t->runs[i]);
}

/* States of a thread off the CPU: the words of af_wait_frame() without their brackets. */
static uint32_t wait_name(struct af_timeline *t, uint32_t state)
{
	const char *frame = af_wait_frame(state);

	return timeline_text(t, frame + 1, strlen(frame) - 2);
}

/* In trees a wait is a frame. */
static uint32_t wait_stack(struct af_timeline *t, const struct af_wait *wait, uint32_t state)
{
	uint32_t node = timeline_trees_place(t, &wait->at, wait->tid);
	bool fresh;
	uint64_t *slot = af_map_at(&t->by_wait, (uint64_t)node << 32 | state, &fresh);

	if (fresh) {
		timeline_settle(t);
		*slot = af_frames_under(&t->stacks, node, af_wait_frame(state), AF_FRAME_MARK);
	}
	return (uint32_t)*slot;
}

static void wait_put(struct af_timeline *t, const struct af_wait *wait, uint32_t state,
                     uint64_t start_ns, uint64_t ns)
{
	uint64_t end_ns = start_ns + ns;

	if (!ns || !timeline_wants(t, start_ns, end_ns))
		return;
	struct af_slice s = {
	    .kind = AF_SLICE_WAIT,
	    .start_ns = start_ns,
	    .end_ns = end_ns,
	    .name = wait_name(t, state),
	    .stack = t->query.trees ? wait_stack(t, wait, state) : timeline_stack(t, &wait->at),
	};
	timeline_put(t, ROW_WAITS, wait->at.process, &(struct timeline_row_id){.number = wait->tid},
	             &s);
}

void timeline_wait(struct af_timeline *t, const struct af_event *ev)
{
	struct af_wait wait;

	if (!af_wait_read(&t->world, ev, &wait))
		return;
	wait_put(t, &wait, wait.state, wait.blocked_at_ns, wait.blocked_ns);
	wait_put(t, &wait, AF_STATE_RUNNABLE, wait.queued_at_ns, wait.queued_ns);
}

void timeline_lost(struct af_timeline *t, const struct af_event *ev)
{
	struct af_ev_lost l;

	if (!af_event_decode(ev, &l, sizeof l, NULL) ||
	    !timeline_wants(t, ev->time_ns, ev->time_ns))
		return;
	struct af_slice s = {
	    .kind = AF_SLICE_LOST,
	    .start_ns = ev->time_ns,
	    .end_ns = ev->time_ns,
	    .name = timeline_name(t, af_lost_text(l.reason)),
	    .value = l.count,
	};
	timeline_put(t, ROW_LOST, ev->process, &(struct timeline_row_id){0}, &s);
}
