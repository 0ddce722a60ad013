/*
 * A part of the trace by itself. Most of its gaps can be explained by what is in it. At its begin,
 * the head, devices may still do what the part before had them do, and at its end not all that
 * happened has come yet: both are held until the parts are added, in parts_add.c.
 */
#include "analyse/idle/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/work.h"
#include "analyse/world/world.h"
#include "base/arena.h"

/* The head of a part, and its end that is held, are at least one in so many of it. */
enum { PART_EDGE = 16 };

void idle_head_free(struct idle_head *head)
{
	for (uint32_t n = 0; n < head->nr_threads; n++) {
		free(head->threads[n].calls);
		free(head->threads[n].waits);
		free(head->threads[n].ticks);
	}
	free(head->threads);
	free(head->works);
	free(head->devices);
	*head = (struct idle_head){0};
}

bool idle_part_needs(struct idle *i, const struct af_world *w, uint32_t process)
{
	if (process != i->last_process || !i->knows_last) {
		if (!i->knows_last)
			for (uint32_t k = 1; k < w->nr_descriptors; k++)
				af_map_at(&i->with_work, w->descriptors[k].process, NULL);
		i->knows_last = true;
		i->last_process = process;
		i->last_needed = af_map_get(&i->with_work, process) != NULL;
	}
	i->nr_skipped += !i->last_needed;
	return i->last_needed;
}

/* Is there a GPU that several processes use? It gets one more device, which has no head. */
static bool is_shared(const struct af_world *w)
{
	struct af_map by_gpu = {0};
	bool shared = false, fresh;

	for (uint32_t k = 1; k < w->nr_descriptors && !shared; k++) {
		const struct af_work like = {.process = w->descriptors[k].process, .descriptor = k};
		uint32_t gpu = af_world_gpu(w, like.process, af_work_device(w, &like));
		uint64_t *of = gpu ? af_map_at(&by_gpu, gpu, &fresh) : NULL;
		shared = of && !fresh && *of != like.process;
		if (of)
			*of = like.process;
	}
	af_map_free(&by_gpu);
	return shared;
}

/* The end of a thread's last call is where it may have begun one that ends in the next part. */
static uint64_t calls_end(struct idle *i, uint64_t until_ns, uint64_t late_ns)
{
	for (uint32_t n = i->nr_works; n && i->works[n - 1].start_ns >= late_ns; n--) {
		const struct idle_piece *p = &i->works[n - 1];
		if (!p->launched)
			continue;
		const struct idle_thread *t = idle_thread(i, i->devices[p->device].process, p->tid);
		uint64_t end_ns = t->nr_calls ? t->calls[t->nr_calls - 1].end_ns : 0;
		if (end_ns >= late_ns && end_ns < until_ns)
			until_ns = end_ns;
	}
	return until_ns;
}

/* Works that begin before have all come, and with them all that explains the gaps before them. */
static uint64_t tail_from(struct idle *i, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t edge_ns = (to_ns - from_ns) / PART_EDGE, delay_ns = i->delay_ns / 4 * 5;

	edge_ns = edge_ns > delay_ns ? edge_ns : delay_ns;
	if (edge_ns >= to_ns - from_ns)
		return from_ns;
	return calls_end(i, to_ns - edge_ns, to_ns - (to_ns - from_ns) / 4);
}

/* When each queue, and so each device, has begun with what this part gave it to do; 0: late. */
static uint64_t queues_begin(struct idle *i, const struct af_world *w, uint64_t from_ns,
                             uint64_t until_ns)
{
	uint64_t middle_ns = from_ns + (until_ns - from_ns) / 2, begin_ns = from_ns;
	uint8_t *seen = af_xcalloc((size_t)w->nr_descriptors + 1, 1);
	uint8_t *devices = af_xcalloc((size_t)i->nr_devices + 1, 1);
	struct af_map queues = {0};
	bool fresh;

	for (uint32_t n = 0; n < i->nr_works && i->works[n].start_ns < until_ns; n++) {
		const struct idle_piece *p = &i->works[n];
		const struct af_work_descriptor *d = &w->descriptors[p->descriptor];
		if (p->start_ns >= middle_ns && !devices[p->device]) {
			begin_ns = 0;
			break;
		}
		devices[p->device] = 1;
		if (p->start_ns >= middle_ns || seen[p->descriptor])
			continue;
		seen[p->descriptor] = 1;
		af_map_at(&queues, (uint64_t)d->process << 32 | d->is.queue, &fresh);
		if (fresh)
			begin_ns = p->start_ns + 1;
	}
	af_map_free(&queues);
	free(devices);
	free(seen);
	return begin_ns;
}

/* The first sample of a thread in a part comes when the part is added. */
static uint64_t samples_begin(struct idle *i, uint64_t begin_ns, uint64_t middle_ns)
{
	for (uint32_t n = 0; n < i->nr_works && i->works[n].start_ns < middle_ns; n++) {
		const struct idle_piece *p = &i->works[n];
		if (!p->launched)
			continue;
		const struct idle_thread *t = idle_thread(i, i->devices[p->device].process, p->tid);
		if (t->nr_ticks && t->ticks[0].time_ns >= begin_ns &&
		    t->ticks[0].time_ns < middle_ns)
			begin_ns = t->ticks[0].time_ns + 1;
	}
	return begin_ns;
}

static void thread_head(struct idle_thread *to, const struct idle_thread *t, uint64_t until_ns)
{
	uint32_t calls = 0, waits = 0, ticks = 0;

	while (calls < t->nr_calls && t->calls[calls].start_ns < until_ns)
		calls++;
	while (waits < t->nr_waits && t->waits[waits].start_ns < until_ns)
		waits++;
	while (ticks < t->nr_ticks && t->ticks[ticks].time_ns < until_ns)
		ticks++;
	*to = (struct idle_thread){.process = t->process,
	                           .tid = t->tid,
	                           .nr_calls = calls,
	                           .nr_waits = waits,
	                           .nr_ticks = ticks};
	to->calls = af_xcalloc((size_t)calls + 1, sizeof *to->calls);
	to->waits = af_xcalloc((size_t)waits + 1, sizeof *to->waits);
	to->ticks = af_xcalloc((size_t)ticks + 1, sizeof *to->ticks);
	if (calls)
		memcpy(to->calls, t->calls, calls * sizeof *to->calls);
	if (waits)
		memcpy(to->waits, t->waits, waits * sizeof *to->waits);
	if (ticks)
		memcpy(to->ticks, t->ticks, ticks * sizeof *to->ticks);
}

/* Works of the head leave the devices as they are then; what they explain is for later. */
static void head_take(struct idle *i, const struct af_world *w, uint64_t until_ns)
{
	struct idle_head *h = &i->head;

	h->until_ns = until_ns;
	while (h->nr_works < i->nr_works && i->works[h->nr_works].start_ns < until_ns)
		h->nr_works++;
	h->works = af_xcalloc((size_t)h->nr_works + 1, sizeof *h->works);
	if (h->nr_works)
		memcpy(h->works, i->works, h->nr_works * sizeof *h->works);
	h->nr_threads = i->nr_threads;
	h->threads = af_xcalloc((size_t)h->nr_threads + 1, sizeof *h->threads);
	for (uint32_t n = 0; n < h->nr_threads; n++)
		thread_head(&h->threads[n], &i->threads[n], until_ns);
	i->taking = true;
	idle_settle_works(i, w, until_ns - 1);
	i->taking = false;
	h->nr_devices = i->nr_devices;
	h->devices = af_xcalloc((size_t)h->nr_devices + 1, sizeof *h->devices);
	if (h->nr_devices)
		memcpy(h->devices, i->devices, h->nr_devices * sizeof *h->devices);
}

static void threads_whole(struct idle *i)
{
	for (uint32_t n = 0; n < i->nr_threads; n++)
		i->threads[n].whole = true;
}

/* The part may be kept for long, and most of what it held is gone. */
static void part_shrink(struct idle *i)
{
	i->works = idle_spare_shrink(i->works, i->nr_works, &i->cap_works, sizeof *i->works);
	for (uint32_t n = 0; n < i->nr_threads; n++) {
		struct idle_thread *t = &i->threads[n];
		t->calls =
		    idle_spare_shrink(t->calls, t->nr_calls, &t->cap_calls, sizeof *t->calls);
		t->waits =
		    idle_spare_shrink(t->waits, t->nr_waits, &t->cap_waits, sizeof *t->waits);
		t->ticks =
		    idle_spare_shrink(t->ticks, t->nr_ticks, &t->cap_ticks, sizeof *t->ticks);
	}
}

void idle_part_end(struct idle *i, const struct af_world *w)
{
	uint64_t from_ns = w->part_from_ns ? w->part_from_ns : w->first_ns, to_ns = w->part_to_ns;

	i->first_ns = w->first_ns;
	i->from_ns = w->part_from_ns;
	i->nr_held = i->held;
	i->unsure |= i->delay_ns > AF_IDLE_LATE_NS - IDLE_SURE_NS;
	idle_tidy(i);
	idle_works_order(i);
	threads_whole(i);
	if (to_ns == UINT64_MAX)
		to_ns = i->now_ns > from_ns ? i->now_ns : from_ns;
	uint64_t until_ns = tail_from(i, from_ns, to_ns);
	i->until_ns = i->nr_works && until_ns ? until_ns - 1 : 0;
	if (!i->nr_works || until_ns <= from_ns + (to_ns - from_ns) / 2 || is_shared(w))
		return;
	if (w->part_from_ns) {
		uint64_t middle_ns = from_ns + (until_ns - from_ns) / 2;
		uint64_t begin_ns = queues_begin(i, w, from_ns, until_ns);
		uint64_t edge_ns = from_ns + (to_ns - from_ns) / PART_EDGE;
		if (!begin_ns)
			return;
		begin_ns = samples_begin(i, begin_ns, middle_ns);
		head_take(i, w, begin_ns > edge_ns ? begin_ns : edge_ns);
	}
	idle_settle_works(i, w, i->until_ns);
	i->unsure |= i->late != 0;
	i->body = true;
	idle_forget_part(i, w);
	part_shrink(i);
}
