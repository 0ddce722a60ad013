/*
 * Which waits had nothing to wait for: what was put on queues since they were last waited for. Each
 * call that puts work on a queue has a number in its process. Events count as queues on which
 * recording them puts work.
 */
#include "analyse/usage/private.h"
#include "analyse/world/world.h"
#include "base/arena.h"

/* The default stream of CUDA and its like: other streams may wait for it, or it for them. */
enum { DEFAULT_STREAMS = 2 };

static bool is_default(uint64_t handle)
{
	return handle <= DEFAULT_STREAMS;
}

/* Does the runtime run one command after the other on this queue of OpenCL? */
static bool is_in_order(const struct af_world *w, uint32_t process, uint64_t handle)
{
	for (uint32_t i = w->nr_queues; i-- > 1;) {
		const struct af_queue *q = &w->queues[i];
		if (q->process == process && q->handle == handle)
			return !(q->flags & AF_QUEUE_OUT_OF_ORDER);
	}
	return false;
}

static struct usage_queue *queue_of(struct usage *u, struct usage_process *p, uint64_t handle,
                                    bool *fresh)
{
	uint64_t *slot = af_map_at(&p->queues, handle, fresh);

	if (*fresh) {
		AF_GROW(u->queues, u->nr_queues, u->cap_queues);
		u->queues[u->nr_queues] = (struct usage_queue){0};
		*slot = u->nr_queues++;
	}
	return &u->queues[*slot];
}

void usage_queues_named(struct usage *u, const struct af_world *w, struct usage_process *p,
                        const struct usage_function *f, const struct af_event *ev)
{
	bool fresh;

	if (usage_has(ev, f->event))
		queue_of(u, p, usage_value(ev, f->event), &fresh)->work = p->count;
	if (!usage_has(ev, f->queue)) {
		p->unknown = p->count;
		return;
	}
	uint64_t handle = usage_value(ev, f->queue);
	struct usage_queue *q = queue_of(u, p, handle, &fresh);
	q->work = p->count;
	if (!usage_value(ev, f->blocking))
		return;
	if (!q->order)
		q->order = is_in_order(w, p->ordinal, handle) ? USAGE_IN_ORDER : USAGE_NO_ORDER;
	if (q->order == USAGE_IN_ORDER)
		q->waited = p->count;
}

bool usage_queues_wait(struct usage *u, struct usage_process *p, const struct usage_function *f,
                       const struct af_event *ev)
{
	bool needless = p->has_waited && p->waited >= p->count, fresh;
	struct usage_value of = f->queue.bytes ? f->queue : f->event;

	p->count += !p->count;
	if (f->waits_for_all) {
		p->waited = p->count;
		p->has_waited = true;
		return needless;
	}
	if (!usage_has(ev, of))
		return needless;
	uint64_t handle = usage_value(ev, of);
	struct usage_queue *q = queue_of(u, p, handle, &fresh);
	uint64_t work = is_default(handle) ? p->count : q->work;
	work = p->unknown > work ? p->unknown : work;
	/* Where no event was seen to be recorded, calls that do it are not in the trace. */
	needless = needless || (q->waited && q->waited >= work && (f->queue.bytes || q->work));
	q->waited = p->count;
	return needless;
}
