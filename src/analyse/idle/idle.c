/*
 * Why was a device idle? The pass: what happened is held, put in order, laid over one another.
 */
#include "analyse/idle/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pass/pass.h"
#include "analyse/world/waits.h"
#include "analyse/world/work.h"
#include "base/arena.h"

struct idle_thread *idle_thread(struct idle *i, uint32_t process, uint32_t tid)
{
	uint32_t *near = &i->near_threads[(process ^ tid) & (IDLE_THREADS_NEAR - 1)];
	bool fresh;

	if (*near) {
		struct idle_thread *is = &i->threads[*near - 1];
		if (is->process == process && is->tid == tid)
			return is;
	}
	uint64_t *slot = af_map_at(&i->by_thread, (uint64_t)process << 32 | tid, &fresh);
	if (fresh) {
		AF_GROW(i->threads, i->nr_threads, i->cap_threads);
		i->threads[i->nr_threads] = (struct idle_thread){.process = process, .tid = tid};
		*slot = i->nr_threads++;
	}
	*near = (uint32_t)*slot + 1;
	return &i->threads[*slot];
}

uint32_t idle_place_at(struct idle *i, const struct af_stack_location *at)
{
	if (!at->tid && !at->kstack && at->path && at->path < IDLE_PLACE_OWN)
		return at->path;
	return IDLE_PLACE_OWN | af_stack_locations_number(&i->stack_locations, at);
}

struct af_stack_location idle_location(const struct idle *i, const struct af_world *w,
                                       uint32_t place)
{
	if (place & IDLE_PLACE_OWN)
		return i->stack_locations.all[place & ~IDLE_PLACE_OWN];
	return (struct af_stack_location){.process = w->paths[place].process, .path = place};
}

static void idle_now(struct idle *i, uint64_t time_ns)
{
	i->fresh++;
	if (time_ns > i->now_ns)
		i->now_ns = time_ns;
}

static uint32_t idle_place(struct idle *i, uint32_t process, uint32_t path)
{
	const struct af_stack_location at = {.process = process, .path = path};

	return idle_place_at(i, &at);
}

void idle_call(struct idle *i, const struct af_call *call)
{
	struct idle_thread *t = idle_thread(i, call->process, call->tid);

	idle_now(i, call->end_ns);
	if (call->end_ns <= call->start_ns)
		return;
	if (t->nr_calls == t->cap_calls)
		t->calls = idle_spare_room(t->calls, t->nr_calls, &t->cap_calls, sizeof *t->calls);
	t->calls[t->nr_calls++] = (struct af_span){
	    .start_ns = call->start_ns,
	    .end_ns = call->end_ns,
	    .place = idle_place(i, call->process, call->path),
	    .what = call->function,
	};
	i->held++;
}

static void idle_wait_add(struct idle *i, const struct af_wait *wait, uint32_t state,
                          uint64_t start_ns, uint64_t ns)
{
	struct idle_thread *t = idle_thread(i, wait->at.process, wait->tid);

	if (!ns)
		return;
	AF_GROW(t->waits, t->nr_waits, t->cap_waits);
	t->waits[t->nr_waits++] = (struct af_span){
	    .start_ns = start_ns,
	    .end_ns = start_ns + ns,
	    .place = idle_place_at(i, &wait->at),
	    .what = state,
	};
	i->held++;
}

void idle_wait(struct idle *i, const struct af_wait *wait, uint64_t time_ns)
{
	idle_now(i, time_ns);
	idle_wait_add(i, wait, wait->state, wait->blocked_at_ns, wait->blocked_ns);
	idle_wait_add(i, wait, AF_STATE_RUNNABLE, wait->queued_at_ns, wait->queued_ns);
}

void idle_tick(struct idle *i, const struct af_sample *s)
{
	struct idle_thread *t = idle_thread(i, s->at.process, s->tid);

	idle_now(i, s->time_ns);
	AF_GROW(t->ticks, t->nr_ticks, t->cap_ticks);
	t->ticks[t->nr_ticks++] = (struct idle_tick){
	    .time_ns = s->time_ns,
	    .weight_ns = s->weight_ns,
	    .place = idle_place_at(i, &s->at),
	};
	t->tidy_ticks = false;
	i->held++;
}

uint32_t idle_device(struct idle *i, uint32_t process, uint32_t id)
{
	bool fresh;

	if (i->last_device < i->nr_devices) {
		const struct idle_device *last = &i->devices[i->last_device];
		if (last->process == process && last->id == id && !last->nr_sharing)
			return i->last_device;
	}
	uint64_t *slot = af_map_at(&i->by_device, (uint64_t)process << 32 | id, &fresh);
	if (fresh) {
		AF_GROW(i->devices, i->nr_devices, i->cap_devices);
		i->devices[i->nr_devices] =
		    (struct idle_device){.process = process, .id = id, .came_after = i->fresh};
		*slot = i->nr_devices++;
	}
	return i->last_device = (uint32_t)*slot;
}

bool idle_is_busy(uint32_t op)
{
	return op != AF_OP_MARKER && op != AF_OP_BARRIER && op != AF_OP_FREE && op != AF_OP_HOST;
}

static bool is_kernel(uint32_t op)
{
	return op == AF_OP_KERNEL || op == AF_OP_NATIVE || op == AF_OP_GRAPH;
}

/* How late works come matters where the trace is read in parts. */
static void work_delay(struct idle *i, uint64_t start_ns, uint64_t busy_ns)
{
	if (i->now_ns > start_ns && i->now_ns - start_ns > i->delay_ns)
		i->delay_ns = i->now_ns - start_ns;
	i->unsure |= busy_ns > AF_IDLE_LATE_NS - IDLE_SURE_NS;
}

void idle_work(struct idle *i, const struct af_world *w, const struct af_work *work)
{
	uint32_t op = work->descriptor ? w->descriptors[work->descriptor].is.op : 0;
	uint64_t busy_ns = af_work_busy_ns(work);

	i->fresh++;
	if (work->status || !work->descriptor || !idle_is_busy(op))
		return;
	if (!busy_ns || !work->placed_ns) {
		i->unplaced++;
		return;
	}
	work_delay(i, work->placed_ns, busy_ns);
	if (i->nr_works == i->cap_works)
		i->works = idle_spare_room(i->works, i->nr_works, &i->cap_works, sizeof *i->works);
	i->works[i->nr_works++] = (struct idle_piece){
	    .start_ns = work->placed_ns,
	    .end_ns = work->placed_ns + busy_ns,
	    .call_start_ns = work->call_start_ns,
	    .call_end_ns = work->call_end_ns,
	    .device = idle_device(i, work->process, af_work_device(w, work)),
	    .descriptor = work->descriptor,
	    .place = idle_place(i, work->process, work->path),
	    .function = work->function,
	    .tid = work->tid,
	    .launched = work->launched,
	    .kernel = is_kernel(op),
	};
}

static int piece_order(const void *a, const void *b)
{
	const struct idle_piece *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->call_start_ns != y->call_start_ns)
		return x->call_start_ns < y->call_start_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->descriptor < y->descriptor ? -1 : x->descriptor > y->descriptor;
}

/* Calls and waits apart and in order, ticks in order. */
static int tick_order(const void *a, const void *b)
{
	const struct idle_tick *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void idle_tidy(struct idle *i)
{
	for (uint32_t n = 0; n < i->nr_threads; n++) {
		struct idle_thread *t = &i->threads[n];
		t->nr_calls = af_spans_tidy(t->calls, t->tidy_calls, t->nr_calls);
		t->nr_waits = af_spans_tidy(t->waits, t->tidy_waits, t->nr_waits);
		t->tidy_calls = t->nr_calls;
		t->tidy_waits = t->nr_waits;
		if (t->nr_ticks && !t->tidy_ticks)
			AF_SORT(t->ticks, t->nr_ticks, tick_order);
		t->tidy_ticks = true;
	}
}

static uint64_t process_start_ns(const struct idle *i, const struct af_world *w, uint32_t process)
{
	const struct af_process *p = af_world_process(w, process);
	uint64_t first_ns = i->first_ns ? i->first_ns : w->first_ns;
	uint64_t start_ns = p && p->start_ns > first_ns ? p->start_ns : first_ns;

	/* For a part of the run, idle time is the idle time inside it. */
	return w->time_range.to_ns && start_ns < w->time_range.from_ns ? w->time_range.from_ns
	                                                               : start_ns;
}

static void device_begin(struct idle *i, const struct af_world *w, uint32_t device,
                         const struct idle_piece *first)
{
	struct idle_device *d = &i->devices[device];
	uint64_t start_ns = process_start_ns(i, w, d->process);

	d->first_ns = first->start_ns;
	idle_explain(i, w, device, IDLE_BEFORE, start_ns, first->start_ns, first);
}

/* @device: the piece's own, or the GPU that this is. */
static void device_take(struct idle *i, const struct af_world *w, uint32_t device,
                        const struct idle_piece *p)
{
	struct idle_device *d = &i->devices[device];

	if (!d->nr_works++)
		device_begin(i, w, device, p);
	else if (p->start_ns > d->end_ns)
		idle_explain(i, w, device, IDLE_BETWEEN, d->end_ns, p->start_ns, p);
	uint64_t from_ns = p->start_ns > d->end_ns ? p->start_ns : d->end_ns;
	if (p->end_ns > from_ns) {
		d->busy_ns += p->end_ns - from_ns;
		d->end_ns = p->end_ns;
		d->process = i->devices[p->device].process;
		d->id = i->devices[p->device].id;
		d->launched = p->launched;
		d->tid = p->tid;
		d->call_start_ns = p->call_start_ns;
		d->call_end_ns = p->call_end_ns;
	}
	from_ns = p->start_ns > d->kernels_end_ns ? p->start_ns : d->kernels_end_ns;
	if (p->kernel && p->end_ns > from_ns) {
		d->kernels_ns += p->end_ns - from_ns;
		d->kernels_end_ns = p->end_ns;
	}
}

/* Works mostly come in order; what comes behind those that are is sorted, and laid between them. */
void idle_works_order(struct idle *i)
{
	struct idle_piece *all = i->works;
	uint32_t from = i->nr_ordered, nr = i->nr_works;

	for (from += !from && nr; from < nr && piece_order(&all[from - 1], &all[from]) <= 0;)
		from++;
	i->nr_ordered = nr;
	if (from == nr)
		return;
	uint32_t late = nr - from, before = from, to = nr;
	struct idle_piece *last = af_xcalloc(late, sizeof *last);
	memcpy(last, all + from, late * sizeof *last);
	AF_SORT(last, late, piece_order);
	while (late)
		all[--to] = before && piece_order(&all[before - 1], &last[late - 1]) > 0
		                ? all[--before]
		                : last[--late];
	free(last);
}

void idle_settle_works(struct idle *i, const struct af_world *w, uint64_t until_ns)
{
	uint32_t n = 0;

	idle_shared_refresh(i, w);
	idle_works_order(i);
	for (; n < i->nr_works && i->works[n].start_ns <= until_ns; n++) {
		const struct idle_device *d = &i->devices[i->works[n].device];
		i->late += d->nr_works && i->works[n].start_ns < d->first_ns;
		i->late += d->nr_works && i->works[n].start_ns < i->settled_ns;
		device_take(i, w, i->works[n].device, &i->works[n]);
		if (d->shared)
			device_take(i, w, d->shared, &i->works[n]);
	}
	i->nr_works -= n;
	i->nr_ordered = i->nr_works;
	if (i->nr_works)
		memmove(i->works, i->works + n, i->nr_works * sizeof *i->works);
	if (until_ns > i->settled_ns)
		i->settled_ns = until_ns;
}

/* Rather than that anything is forgotten unread, what is late may come too late. */
static void settle_sooner(struct idle *i, const struct af_world *w)
{
	uint64_t until_ns = i->settled_ns;

	while (i->held > AF_IDLE_HELD && until_ns < i->now_ns) {
		until_ns += (i->now_ns - until_ns + 1) / 2;
		idle_settle_works(i, w, until_ns);
		idle_forget(i);
	}
}

void idle_settle(struct idle *i, const struct af_world *w)
{
	bool full = i->nr_works > AF_IDLE_WORKS;

	if ((i->fresh < AF_IDLE_SETTLE && !full) || w->in_part || i->merging)
		return;
	i->fresh = 0;
	if (!full && i->now_ns <= AF_IDLE_LATE_NS && i->held <= AF_IDLE_HELD)
		return;
	idle_tidy(i);
	if (i->now_ns > AF_IDLE_LATE_NS)
		idle_settle_works(i, w, i->now_ns - AF_IDLE_LATE_NS);
	if (i->nr_works > AF_IDLE_WORKS) {
		idle_works_order(i);
		idle_settle_works(i, w, i->works[i->nr_works / 2].start_ns);
	}
	idle_forget(i);
	settle_sooner(i, w);
	idle_forget_oldest(i);
}

void idle_end(struct idle *i, const struct af_world *w)
{
	idle_tidy(i);
	idle_settle_works(i, w, UINT64_MAX);
	for (uint32_t n = 0; n < i->nr_devices; n++) {
		const struct idle_device *d = &i->devices[n];
		const struct af_process *p = af_world_process(w, d->process);
		uint64_t end_ns = p && p->end_ns > d->end_ns ? p->end_ns : w->last_ns;
		if (w->time_range.to_ns && end_ns > w->time_range.to_ns)
			end_ns = w->time_range.to_ns;
		if (d->nr_works)
			idle_explain(i, w, n, IDLE_AFTER, d->end_ns, end_ns, NULL);
	}
}

void idle_free(struct idle *i)
{
	if (i->merging)
		idle_spare_free();
	for (uint32_t n = 0; n < i->nr_threads; n++) {
		free(i->threads[n].calls);
		free(i->threads[n].waits);
		free(i->threads[n].ticks);
	}
	af_stack_locations_free(&i->stack_locations);
	af_map_free(&i->by_device);
	af_map_free(&i->by_thread);
	af_keys_free(&i->by_story);
	af_keys_free(&i->by_sum);
	af_map_free(&i->by_gpu);
	free(i->devices);
	free(i->threads);
	free(i->works);
	free(i->stories);
	free(i->sums);
	free(i->longest);
	af_map_free(&i->with_work);
	idle_head_free(&i->head);
	*i = (struct idle){0};
}

/* the pass */

static void pass_event(void *self, const struct af_world *w, const struct af_event *ev)
{
	struct af_call room;
	struct af_wait wait;

	if (w->in_part && !idle_part_needs(self, w, ev->process))
		return;
	if (ev->kind == AF_KIND_OFFCPU) {
		if (af_wait_read(w, ev, &wait))
			idle_wait(self, &wait, ev->time_ns);
	} else {
		const struct af_call *call = af_time_range_call_at(w, ev, &room);
		if (call && !af_call_of_runtime(w, call->function) &&
		    !af_call_of_program(w, call->function))
			idle_call(self, call);
	}
	idle_settle(self, w);
}

static void pass_sample(void *self, const struct af_world *w, const struct af_sample *s)
{
	if (w->in_part && !idle_part_needs(self, w, s->at.process))
		return;
	idle_tick(self, s);
	idle_settle(self, w);
}

static void pass_work(void *self, const struct af_world *w, const struct af_work *work)
{
	idle_work(self, w, work);
	idle_settle(self, w);
}

static bool pass_merge(void *self, const struct af_world *w, const void *from)
{
	if (from)
		return idle_part_add(self, w, from);
	idle_part_end(self, w);
	return true;
}

static void pass_end(void *self, const struct af_world *w)
{
	idle_end(self, w);
}

static void pass_finish(void *self, const struct af_world *w, struct af_results *out)
{
	const uint32_t tables = AF_ANSWER_TABLES | AF_ANSWER_GAPS;
	struct idle *i = self;
	struct idle_names names;

	if (i->nr_stories)
		out->has[AF_VIEW_IDLE] = 1 << AF_WEIGHT_TIME;
	idle_names_open(&names, i, w);
	names.start_ns = out->start_ns;
	if (out->query.answers & tables) {
		idle_table_shared(&names, &out->tables);
		idle_table_verdict(&names, &out->tables);
		idle_table_gaps(&names, &out->tables);
	}
	if (out->query.answers & 1 << AF_VIEW_IDLE)
		idle_tree(&names, out);
	idle_names_close(&names);
}

static void pass_close(void *self)
{
	idle_free(self);
}

const struct af_pass_ops af_pass_idle = {
    .name = "idle",
    .question = "why were devices idle?",
    .answers = 1 << AF_VIEW_IDLE | AF_ANSWER_TABLES | AF_ANSWER_GAPS,
    .wants = UINT64_MAX, /* the end of the run is that of all that is read */
    .takes = 1ull << AF_KIND_OFFCPU | 1ull << AF_KIND_CALL | 1ull << AF_KIND_CALL_LONG |
             1ull << AF_KIND_API_CALL | 1ull << AF_KIND_API_BIT,
    .settles = true,
    .state_size = sizeof(struct idle),
    .event = pass_event,
    .sample = pass_sample,
    .work = pass_work,
    .merge = pass_merge,
    .end = pass_end,
    .finish = pass_finish,
    .close = pass_close,
};
