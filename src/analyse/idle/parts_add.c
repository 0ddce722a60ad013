/*
 * Parts of the trace, one added after the other, as if all had been read in one. Where that cannot
 * be known, it is not done.
 */
#include "analyse/idle/idle.h"

#include <stdlib.h>

#include "analyse/world/world.h"
#include "base/arena.h"

/* With fewer records nothing is settled before all have come. */
enum { PART_RECORDS = AF_IDLE_SETTLE / 4 * 3 };

struct adding {
	struct idle *to;
	const struct idle *from;
	struct idle_maps maps;
};

static const struct idle_thread *thread_known(const struct idle *i, uint32_t process, uint32_t tid)
{
	const uint64_t *slot = af_map_get(&i->by_thread, (uint64_t)process << 32 | tid);

	return slot ? &i->threads[*slot] : NULL;
}

static bool has_read(const struct idle_thread *t, uint64_t at_ns)
{
	return t && at_ns >= t->read_from_ns && at_ns < t->read_to_ns;
}

/* Works and samples of the border must not be of a time that is explained already. */
static bool border_fits(const struct adding *a)
{
	const struct idle *to = a->to;

	for (uint32_t n = 0; n < to->nr_works; n++)
		if (to->settled_ns && to->works[n].start_ns <= to->settled_ns)
			return false;
	for (uint32_t n = 0; n < to->nr_threads; n++) {
		const struct idle_thread *t = &to->threads[n];
		const struct idle_thread *next = thread_known(a->from, t->process, t->tid);
		for (uint32_t k = t->merged_ticks; k < t->nr_ticks; k++)
			if (has_read(t, t->ticks[k].time_ns) || has_read(next, t->ticks[k].time_ns))
				return false;
	}
	return true;
}

/* Does it begin in a part before, at a time that is explained already? */
static bool is_explained(const struct adding *a, const struct idle_thread *to,
                         const struct af_span *spans, uint32_t nr)
{
	return nr && spans[0].start_ns < a->from->from_ns && spans[0].start_ns < to->read_to_ns;
}

static void spans_add(struct adding *a, struct af_span **to, uint32_t *nr, uint32_t *cap,
                      const struct af_span *from, uint32_t nr_from)
{
	AF_ROOM(*to, (size_t)*nr + nr_from, *cap);
	for (uint32_t n = 0; n < nr_from; n++) {
		struct af_span *span = &(*to)[*nr + n];
		*span = from[n];
		span->place = idle_maps_place(&a->maps, a->to, a->from, span->place);
	}
	*nr += nr_from;
	a->to->held += nr_from;
}

static bool thread_add(struct adding *a, const struct idle_thread *from)
{
	struct idle_thread *t = idle_thread(a->to, from->process, from->tid);

	if (is_explained(a, t, from->calls, from->nr_calls) ||
	    is_explained(a, t, from->waits, from->nr_waits))
		return false;
	spans_add(a, &t->calls, &t->nr_calls, &t->cap_calls, from->calls, from->nr_calls);
	spans_add(a, &t->waits, &t->nr_waits, &t->cap_waits, from->waits, from->nr_waits);
	AF_ROOM(t->ticks, (size_t)t->nr_ticks + from->nr_ticks, t->cap_ticks);
	for (uint32_t n = 0; n < from->nr_ticks; n++) {
		struct idle_tick *tick = &t->ticks[t->nr_ticks++];
		*tick = from->ticks[n];
		tick->place = idle_maps_place(&a->maps, a->to, a->from, tick->place);
	}
	t->tidy_ticks &= !from->nr_ticks;
	a->to->held += from->nr_ticks;
	return true;
}

/* Those of which all is there are added once, the others at the head and behind the body. */
static bool threads_add(struct adding *a)
{
	const struct idle *from = a->from;

	for (uint32_t n = 0; n < from->nr_threads; n++) {
		const struct idle_thread *t = &from->threads[n];
		if (!t->whole && n >= from->head.nr_threads)
			continue;
		if (!thread_add(a, t->whole ? t : &from->head.threads[n]))
			return false;
	}
	return true;
}

/* Later parts have gaps that are explained by the end of this one. */
static void threads_follow(struct adding *a)
{
	struct idle *to = a->to;

	for (uint32_t n = 0; n < a->from->nr_threads; n++) {
		const struct idle_thread *from = &a->from->threads[n];
		struct idle_thread *t = idle_thread(to, from->process, from->tid);
		uint64_t read_to_ns = t->read_to_ns;
		t->read_to_ns = 0;
		if (!from->whole)
			thread_add(a, from);
		t = idle_thread(to, from->process, from->tid);
		t->read_to_ns = read_to_ns;
		if (!from->read_to_ns)
			continue;
		if (!t->read_to_ns || from->read_from_ns < t->read_from_ns)
			t->read_from_ns = from->read_from_ns;
		if (from->read_to_ns > t->read_to_ns)
			t->read_to_ns = from->read_to_ns;
	}
	for (uint32_t n = 0; n < to->nr_threads; n++)
		to->threads[n].merged_ticks = to->threads[n].nr_ticks;
}

static void works_add(struct adding *a, const struct idle_piece *works, uint32_t nr)
{
	struct idle *to = a->to;

	AF_ROOM(to->works, (size_t)to->nr_works + nr, to->cap_works);
	for (uint32_t n = 0; n < nr; n++) {
		struct idle_piece *p = &to->works[to->nr_works++];
		*p = works[n];
		p->device = a->maps.devices[p->device];
		p->place = idle_maps_place(&a->maps, to, a->from, p->place);
	}
}

/* Has the process of @device another one, or does it share one? Then it matters when it came. */
static bool is_further(const struct idle *i, const struct af_world *w, uint32_t device)
{
	const struct idle_device *d = &i->devices[device];
	uint32_t gpu = af_world_gpu(w, d->process, d->id);

	for (uint32_t n = 0; n < i->nr_devices; n++) {
		const struct idle_device *is = &i->devices[n];
		if (n != device && (is->process == d->process ||
		                    (gpu && gpu == af_world_gpu(w, is->process, is->id))))
			return true;
	}
	return false;
}

/* Devices are numbered as their works came; what processes did before their first one counts. */
static bool devices_number(struct adding *a, const struct af_world *w)
{
	struct idle *to = a->to;
	const uint32_t known = to->nr_merged_devices, border = to->nr_devices - known;

	for (uint32_t n = 0; n < a->from->nr_devices; n++) {
		const struct idle_device *d = &a->from->devices[n];
		a->maps.devices[n] = idle_device(to, d->process, d->id);
		if (!known && d->came_after >= PART_RECORDS && is_further(a->from, w, n))
			return false;
	}
	if (border && to->nr_devices > known + 1)
		return false;
	for (uint32_t n = known; known && n < to->nr_devices; n++)
		if (is_further(to, w, n))
			return false;
	return true;
}

/* Gaps and kernels behind the head depend on nothing else. */
static bool is_like(const struct idle_device *d, const struct idle_device *head, uint64_t until_ns)
{
	return head->nr_works && d->end_ns == head->end_ns && d->launched == head->launched &&
	       d->tid == head->tid && d->call_start_ns == head->call_start_ns &&
	       d->call_end_ns == head->call_end_ns &&
	       (d->kernels_end_ns == head->kernels_end_ns ||
	        (d->kernels_end_ns <= until_ns && head->kernels_end_ns <= until_ns));
}

static void device_add(struct idle_device *d, const struct idle_device *from,
                       const struct idle_device *head)
{
	d->first_ns = d->nr_works ? d->first_ns : from->first_ns;
	d->nr_works += from->nr_works - head->nr_works;
	d->nr_gaps += from->nr_gaps;
	d->busy_ns += from->busy_ns - head->busy_ns;
	d->kernels_ns += from->kernels_ns - head->kernels_ns;
	if (from->longest_ns > d->longest_ns)
		d->longest_ns = from->longest_ns;
	for (int phase = 0; phase < IDLE_PHASES; phase++)
		d->phase_ns[phase] += from->phase_ns[phase];
	d->end_ns = from->end_ns;
	if (from->kernels_end_ns > head->kernels_end_ns)
		d->kernels_end_ns = from->kernels_end_ns;
	d->launched = from->launched;
	d->tid = from->tid;
	d->call_start_ns = from->call_start_ns;
	d->call_end_ns = from->call_end_ns;
}

/* Add what is behind the head, if the devices were then as the part took them to be. */
static bool body_add(struct adding *a)
{
	static const struct idle_device none;
	const struct idle *from = a->from;
	const struct idle_head *head = &from->head;

	if (a->to->nr_works)
		return false;
	for (uint32_t n = 0; n < from->nr_devices; n++) {
		const struct idle_device *h = n < head->nr_devices ? &head->devices[n] : &none;
		struct idle_device *d = &a->to->devices[a->maps.devices[n]];
		if (from->devices[n].nr_works == h->nr_works)
			continue;
		if (head->until_ns ? !is_like(d, h, head->until_ns) : d->nr_works != 0)
			return false;
		device_add(d, &from->devices[n], h);
	}
	idle_sums_add(a->to, from, &a->maps);
	works_add(a, from->works, from->nr_works);
	a->to->settled_ns = from->settled_ns;
	return true;
}

/* Would more be held in the whole than is held at most? */
static bool is_much(const struct idle *to, const struct idle *from)
{
	return to->held + from->nr_held + to->nr_skipped > AF_IDLE_HELD;
}

static bool part_settle(struct adding *a, const struct af_world *w)
{
	const struct idle *from = a->from;
	struct idle *to = a->to;

	works_add(a, from->body ? from->head.works : from->works,
	          from->body ? from->head.nr_works : from->nr_works);
	idle_tidy(to);
	if (!from->body)
		idle_settle_works(to, w, from->until_ns);
	else if (from->head.until_ns)
		idle_settle_works(to, w, from->head.until_ns - 1);
	return !to->late && (!from->body || body_add(a));
}

bool idle_part_add(struct idle *to, const struct af_world *w, const struct idle *from)
{
	struct adding a = {.to = to, .from = from};

	if (!to->first_ns)
		to->first_ns = from->first_ns;
	to->merging = true;
	to->fresh += from->fresh;
	to->unsure |= from->unsure;
	to->nr_skipped += from->nr_skipped;
	to->unplaced += from->unplaced;
	if (from->now_ns > to->now_ns)
		to->now_ns = from->now_ns;
	a.maps.devices = af_xcalloc((size_t)from->nr_devices + 1, sizeof *a.maps.devices);
	bool fine = !(to->unsure && to->fresh >= PART_RECORDS) && !is_much(to, from) &&
	            border_fits(&a) && devices_number(&a, w) && threads_add(&a) &&
	            part_settle(&a, w);
	if (fine) {
		idle_forget(to);
		threads_follow(&a);
		to->nr_merged_devices = to->nr_devices;
	}
	free(a.maps.devices);
	free(a.maps.own);
	return fine;
}
