/*
 * Which waits had nothing to wait for: what was put on queues since they were last waited for. Each
 * call that puts work on a queue has a number in its process. Events count as queues on which
 * recording them puts work.
 */
#include "analyse/usage/private.h"
#include "base/arena.h"
#include "trace/read/reader.h"

/* The default stream of CUDA and its like: other streams may wait for it, or it for them. */
enum { DEFAULT_STREAMS = 2 };

static bool is_default(uint64_t handle)
{
	return handle <= DEFAULT_STREAMS;
}

static struct usage_queue *queue_of(struct usage *u, struct usage_process *p, uint64_t handle)
{
	bool fresh;
	uint64_t *slot = af_map_at(&p->queues, handle, &fresh);

	if (fresh) {
		AF_GROW(u->queues, u->nr_queues, u->cap_queues);
		u->queues[u->nr_queues] = (struct usage_queue){0};
		*slot = u->nr_queues++;
	}
	return &u->queues[*slot];
}

void usage_queues_event(struct usage *u, struct usage_process *p, const struct af_event *ev)
{
	struct af_ev_queue fixed;

	if (af_event_decode(ev, &fixed, sizeof fixed, NULL))
		queue_of(u, p, fixed.handle)->in_order = !(fixed.flags & AF_QUEUE_OUT_OF_ORDER);
}

void usage_queues_named(struct usage *u, struct usage_process *p, const struct usage_function *f,
                        const struct af_event *ev)
{
	if (usage_has(ev, f->event))
		queue_of(u, p, usage_value(ev, f->event))->work = p->count;
	if (!usage_has(ev, f->queue)) {
		p->unknown = p->count;
		return;
	}
	struct usage_queue *q = queue_of(u, p, usage_value(ev, f->queue));
	q->work = p->count;
	if (q->in_order && usage_value(ev, f->blocking))
		q->waited = p->count;
}

/* The last work that a wait for the queue waits for. */
static uint64_t last_work(const struct usage_process *p, const struct usage_queue *q,
                          uint64_t handle)
{
	uint64_t work = is_default(handle) ? p->count : q->work;

	return p->unknown > work ? p->unknown : work;
}

static bool all_over(const struct usage_process *p)
{
	return p->has_waited && p->waited >= p->count;
}

static bool queue_over(const struct usage_process *p, const struct usage_queue *q, uint64_t handle)
{
	return q->waited && q->waited >= last_work(p, q, handle);
}

/* Where no event was seen to be recorded, calls that do it are not in the trace. */
static void wait_judge(struct usage_wait *wait, const struct usage_process *p,
                       const struct usage_queue *q, bool in_part)
{
	bool over = queue_over(p, q, wait->handle);

	wait->needless |= over && (wait->by_queue || q->work);
	if (!in_part)
		return;
	if (!q->waited && last_work(p, q, wait->handle) <= USAGE_PART_COUNT)
		wait->depends |= USAGE_ON_QUEUE;
	if (over && !wait->needless)
		wait->depends |= USAGE_ON_WORK;
}

void usage_queues_wait(struct usage *u, struct usage_process *p, const struct usage_function *f,
                       const struct af_event *ev, struct usage_wait *wait)
{
	struct usage_value of = f->queue.bytes ? f->queue : f->event;

	wait->needless = all_over(p);
	if (!p->has_waited && p->count == USAGE_PART_COUNT)
		wait->depends |= USAGE_ON_ALL;
	if (f->waits_for_all) {
		p->waited = p->count;
		p->has_waited = true;
	} else if (usage_has(ev, of)) {
		wait->handle = usage_value(ev, of);
		wait->by_queue = f->queue.bytes;
		struct usage_queue *q = queue_of(u, p, wait->handle);
		wait_judge(wait, p, q, u->in_part);
		q->waited = p->count;
	}
	if (wait->needless)
		wait->depends = 0;
}

void usage_queues_decide(const struct usage *u, const struct usage_process *p,
                         struct usage_wait *wait)
{
	const uint64_t *slot = af_map_get(&p->queues, wait->handle);
	struct usage_queue q = slot ? u->queues[*slot] : (struct usage_queue){0};

	if (wait->depends & USAGE_ON_ALL)
		wait->needless |= all_over(p);
	if (wait->depends & USAGE_ON_QUEUE)
		wait_judge(wait, p, &q, false);
	if (wait->depends & USAGE_ON_WORK)
		wait->needless |= q.work != 0;
}

/* A number of a part as one of the whole, where @count came before; @was: there was none. */
static uint64_t number_of(uint64_t number, uint64_t count, uint64_t was)
{
	return number ? count + (number - USAGE_PART_COUNT) : was;
}

void usage_queues_merge(struct usage *u, struct usage_process *p, const struct usage *from,
                        const struct usage_process *of)
{
	const uint64_t count = p->count;

	for (size_t i = 0; i < of->queues.cap; i++) {
		const struct af_map_slot *slot = &of->queues.slots[i];
		if (!slot->used)
			continue;
		const struct usage_queue *q = &from->queues[slot->value];
		struct usage_queue *to = queue_of(u, p, slot->key);
		to->work = number_of(q->work, count, to->work);
		to->waited = number_of(q->waited, count, to->waited);
	}
	p->unknown = number_of(of->unknown, count, p->unknown);
	p->waited = number_of(of->waited, count, p->waited);
	p->has_waited |= of->has_waited;
	p->count = number_of(of->count, count, 0);
}
