/* How long what threads did is held: until no gap to come can be explained by it. */
#include "analyse/idle/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/world/work.h"
#include "analyse/world/world.h"

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Until when nothing of a process can be asked for any more: its devices' open gaps begin later. */
static void settled_processes(const struct idle *i, struct af_map *until_ns)
{
	for (uint32_t n = 0; n < i->nr_devices; n++) {
		const struct idle_device *d = &i->devices[n];
		bool fresh;
		uint64_t ns = shorter(d->nr_works ? d->end_ns : 0, i->settled_ns);
		uint64_t *of = af_map_at(until_ns, d->process, &fresh);
		*of = fresh ? ns : shorter(*of, ns);
	}
}

static void thread_forget(struct idle *i, struct idle_thread *t, uint64_t until_ns)
{
	uint32_t calls = af_spans_after(t->calls, t->nr_calls, until_ns);
	uint32_t waits = af_spans_after(t->waits, t->nr_waits, until_ns), ticks = 0;

	while (ticks < t->nr_ticks && t->ticks[ticks].time_ns < until_ns)
		ticks++;
	t->near_call -= t->near_call < calls ? t->near_call : calls;
	t->near_wait -= t->near_wait < waits ? t->near_wait : waits;
	t->nr_calls -= calls;
	t->nr_waits -= waits;
	t->tidy_calls = t->nr_calls;
	t->tidy_waits = t->nr_waits;
	t->nr_ticks -= ticks;
	t->merged_ticks -= t->merged_ticks < ticks ? t->merged_ticks : ticks;
	if (calls && t->nr_calls)
		memmove(t->calls, t->calls + calls, t->nr_calls * sizeof *t->calls);
	if (waits && t->nr_waits)
		memmove(t->waits, t->waits + waits, t->nr_waits * sizeof *t->waits);
	if (ticks && t->nr_ticks)
		memmove(t->ticks, t->ticks + ticks, t->nr_ticks * sizeof *t->ticks);
	i->held += t->nr_calls + t->nr_waits + t->nr_ticks;
}

/* The oldest go unread where too much is held: a device that does nothing for hours. */
void idle_forget_oldest(struct idle *i)
{
	uint64_t from_ns = i->forgotten_before;

	while (i->held > AF_IDLE_HELD && from_ns < i->now_ns) {
		from_ns += (i->now_ns - from_ns + 1) / 2;
		i->held = 0;
		for (uint32_t n = 0; n < i->nr_threads; n++)
			thread_forget(i, &i->threads[n], from_ns);
		i->forgotten_before = from_ns;
	}
}

void idle_forget(struct idle *i)
{
	struct af_map until_ns = {0};

	settled_processes(i, &until_ns);
	i->held = 0;
	for (uint32_t n = 0; n < i->nr_threads; n++) {
		struct idle_thread *t = &i->threads[n];
		/* A process that has no device may get one: what it did until then counts. */
		const uint64_t *ns = af_map_get(&until_ns, t->process);
		thread_forget(i, t, ns ? *ns : 0);
	}
	af_map_free(&until_ns);
}

/* Devices of the trace that did nothing here may go on with gaps that began before. */
static void unseen_devices(const struct idle *i, const struct af_world *w, struct af_map *until_ns)
{
	for (uint32_t k = 1; k < w->nr_descriptors; k++) {
		const struct af_work like = {.process = w->descriptors[k].process, .descriptor = k};
		if (!idle_is_busy(w->descriptors[k].is.op))
			continue;
		uint64_t key = (uint64_t)like.process << 32 | af_work_device(w, &like);
		const uint64_t *device = af_map_get(&i->by_device, key);
		if (!device || !i->devices[*device].nr_works)
			*af_map_at(until_ns, like.process, NULL) = 0;
	}
}

void idle_forget_part(struct idle *i, const struct af_world *w)
{
	struct af_map until_ns = {0};

	settled_processes(i, &until_ns);
	unseen_devices(i, w, &until_ns);
	i->held = 0;
	for (uint32_t n = 0; n < i->nr_threads; n++) {
		struct idle_thread *t = &i->threads[n];
		const uint64_t *ns = af_map_get(&until_ns, t->process);
		t->whole = !ns || !*ns || *ns < i->head.until_ns;
		thread_forget(i, t, t->whole ? 0 : *ns);
	}
	af_map_free(&until_ns);
}
