/* Takes samples and side-band records from the perf events, and writes them in order of time. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collect/outside/private.h"
#include "collect/session/session.h"

/* One that unblocks the signal samples itself again, and what lies in between is its own. */
static bool still_blocks(const struct af_outside *o, struct outside_watched *w)
{
	if (!w->looked_at)
		w->blocks = outside_blocking(o, w->pid, w->tid) != OUTSIDE_BLOCKS_NOT;
	w->looked_at = true;
	return w->blocks;
}

static bool is_wanted(const struct af_outside *o, const struct bpf_image *i, uint32_t tid)
{
	if (!i || !i->in_scope)
		return false;
	if (!i->registration || i->sampled_here)
		return true;
	struct outside_watched *w = outside_watched_alone(o, i->pid, tid);
	return w && still_blocks(o, w);
}

static void unblocked_leave(struct af_outside *o)
{
	for (uint32_t i = o->nr_watched; i--;) {
		struct outside_watched *w = &o->watched[i];
		bool leaves = w->looked_at && !w->blocks;
		w->looked_at = false;
		if (leaves)
			outside_leave(o, w);
	}
}

static void sample_take(void *arg, const struct af_outside_sample *s)
{
	struct af_outside *o = arg;
	uint64_t nr = s->nr_chain < AF_BPF_USER_MAX ? s->nr_chain : AF_BPF_USER_MAX;
	uint64_t stack_bytes = nr ? s->stack_bytes & ~7ull : 0;
	size_t size = offsetof(struct af_bpf_stacks, pcs) + nr * 8 + stack_bytes;
	struct af_bpf_stacks *r = af_xcalloc(1, size > sizeof *r ? size : sizeof *r);

	r->head = (struct af_bpf_head){
	    .time_ns = s->time_ns,
	    .kind = AF_BPF_SAMPLE,
	    .cpu = s->cpu,
	    .pid = s->pid,
	    .tid = s->tid,
	    .ns_pid = s->pid,
	    .ns_tid = s->tid,
	};
	r->user_bytes = (uint32_t)(nr * 8);
	r->stack_bytes = (uint32_t)stack_bytes;
	r->wake = 1; /* period */
	r->sp = s->sp;
	r->fp = s->fp;
	memcpy(r->pcs, s->chain, nr * 8);
	memcpy((char *)r->pcs + nr * 8, s->stack, stack_bytes);
	AF_GROW(o->samples, o->nr_samples, o->cap_samples);
	o->samples[o->nr_samples++] = (struct outside_sample){r, s->event};
}

static int sample_order(const void *a, const void *b)
{
	const struct outside_sample *x = a, *y = b;
	uint64_t x_ns = x->stacks->head.time_ns, y_ns = y->stacks->head.time_ns;

	return x_ns < y_ns ? -1 : x_ns > y_ns;
}

static size_t sample_size(const struct af_bpf_stacks *r)
{
	return offsetof(struct af_bpf_stacks, pcs) + r->user_bytes + r->stack_bytes;
}

/* Into the queue, in order of time over all CPUs. */
static void samples_queue(struct af_outside *o)
{
	AF_SORT(o->samples, o->nr_samples, sample_order);
	for (uint32_t i = 0; i < o->nr_samples; i++) {
		struct af_bpf_stacks *r = o->samples[i].stacks;
		const struct af_bpf_head *h = &r->head;
		const struct bpf_image *image = bpf_image_at(&o->b, h->pid, h->time_ns);
		if (af_outside_once_accepts(&o->once, h->tid, o->samples[i].event, h->time_ns) &&
		    is_wanted(o, image, h->tid)) {
			snprintf(r->head.comm, sizeof r->head.comm, "%s",
			         af_outside_name(&o->names, h->pid, h->tid));
			bpf_queue_add(&o->b, r, sample_size(r));
		}
		free(r);
	}
	o->nr_samples = 0;
	unblocked_leave(o);
}

/*
 * A process that samples itself has single threads that are watched: these leave nothing to others.
 */
static bool inherits(struct af_outside *o, const struct af_sideband_event *e)
{
	const struct bpf_image *i = bpf_image_at(&o->b, e->parent, e->time_ns);

	return i && i->in_scope && (!i->registration || i->sampled_here);
}

void outside_read(struct af_outside *o, uint64_t until_ns)
{
	const struct af_sideband_event *e;
	struct af_sideband *s = &o->b.sideband;

	af_sideband_begin(s);
	af_outside_rings_read(&o->rings, until_ns, s, sample_take, o);
	af_sideband_sort(s);
	while ((e = af_sideband_next(s, until_ns))) {
		bpf_image_sideband(&o->b, e);
		af_outside_names_take(&o->names, s, e);
		if (e->kind == AF_SIDEBAND_THREAD)
			af_outside_once_begin(&o->once, e->tid, e->time_ns);
		if (e->kind == AF_SIDEBAND_FORK && inherits(o, e))
			outside_follow(o, e->pid);
	}
	samples_queue(o);
}
