/* Work in flight: a table of events, harvested in the order of each queue into WORK events. */
#include "inject/opencl/opencl.h"

#include <string.h>

#include "base/pages.h"
#include "inject/api/api.h"
#include "inject/api/sums.h"
#include "inject/core/inject.h"

enum {
	BATCH = 16,
	ENQUEUE_HARVEST = 2,    /* most an enqueue writes: twice what it adds */
	ENQUEUE_PATIENCE = 8,   /* enqueues before asking after unfinished work again */
	OUT_OF_ORDER_POLLS = 8, /* pieces polled when any may be done */
	TICK_NS = 1000000000,
};

struct opencl_work {
	struct af_pool_entry link; /* also of a piece that was just taken off the free stack */
	cl_event event;
	uint64_t correlation;
	struct af_ev_descriptor descriptor;
};

struct opencl_stamps {
	uint64_t queued, submit, start, end;
	cl_int status;
	bool missing;
};

/* The work that one poll of a queue found complete. */
struct opencl_batch {
	uint32_t nr;
	bool more; /* of the list is left */
	uint32_t works[BATCH];
	struct opencl_stamps stamps[BATCH];
};

static struct af_pool works; /* 262,144 pieces of work in flight */
static _Atomic uint64_t last_correlation;
static _Atomic uint64_t next_tick_ns;

static struct opencl_work *opencl_work(uint32_t index)
{
	return af_pool_at(&works, sizeof(struct opencl_work), index);
}

static uint32_t work_next(uint32_t index)
{
	return af_pool_next(&works, sizeof(struct opencl_work), index);
}

static void work_set_next(uint32_t index, uint32_t next)
{
	af_pool_link(&works, sizeof(struct opencl_work), index, next);
}

static void work_free(uint32_t index)
{
	af_pool_give(&works, sizeof(struct opencl_work), index, index);
}

/* Write one WORK; @t is entered. */
static void work_write(struct af_thread_context *t, uint64_t now, uint64_t correlation,
                       const struct af_ev_descriptor *descriptor, const struct opencl_stamps *s)
{
	uint32_t id = af_work_descriptor_id(af_thread_descriptors(t), &t->stream, now, descriptor);
	uint64_t submit = s->submit - s->queued;
	uint64_t start = s->start - s->submit;
	uint64_t busy = s->end - s->start;

	if (af_sums_only()) {
		bool failed = s->missing || s->status < 0 || s->end < s->start;
		af_sums_add(t, AF_SUM_WORK | id, failed, busy, 0);
		return;
	}
	/* A difference that is negative wraps and does not fit either. */
	if (!s->missing && s->status >= 0 && (submit | start | busy) <= UINT32_MAX) {
		af_stream_put(&t->stream, work, now, .descriptor = id, .correlation = correlation,
		              .queued_ns = s->queued, .submit_after_ns = (uint32_t)submit,
		              .start_after_ns = (uint32_t)start, .busy_ns = (uint32_t)busy);
		return;
	}
	af_stream_put(&t->stream, work_long, now, .descriptor = id, .correlation = correlation,
	              .queued_ns = s->queued, .submit_ns = s->submit, .start_ns = s->start,
	              .end_ns = s->end, .status = s->status < 0 ? s->status : 0);
}

static void lost_write(struct af_thread_context *t, uint64_t now, enum af_lost reason)
{
	af_stream_put(&t->stream, lost, now, .reason = reason, .count = 1);
}

/* Work that the driver refused with @status. */
static void work_write_refused(const struct af_opencl_call *call, cl_int status)
{
	struct opencl_stamps s = {.status = status};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	work_write(t, af_now_ns(), call->correlation, &call->descriptor, &s);
	af_thread_leave(t);
}

/* Work whose times will not be known, for @reason. */
static void work_write_untimed(const struct af_opencl_call *call, enum af_lost reason)
{
	struct opencl_stamps s = {.missing = true};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	uint64_t now = af_now_ns();
	lost_write(t, now, reason);
	work_write(t, now, call->correlation, &call->descriptor, &s);
	af_thread_leave(t);
}

void af_opencl_launch(struct af_opencl_call *call, cl_command_queue queue)
{
	struct af_regs regs = call->regs;

	af_inject_in_opencl++;
	af_api_skip_wrapper(&regs);
	*call = (struct af_opencl_call){.regs = regs};
	if (!af_inject_recording())
		return;
	af_opencl_check_fork();
	struct af_opencl_queue *q = af_opencl_queue(queue);
	if (!q && af_opencl_queues_full())
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
	struct af_thread_context *t = q ? af_thread_enter() : NULL;
	if (!t)
		return;

	uint32_t callpath = af_sums_only() ? 0 : af_callpath_call(t, &regs, AF_CATEGORY_LAUNCH);
	call->queue = q;
	call->correlation = atomic_fetch_add(&last_correlation, 1) + 1;
	af_api_correlate((uint32_t)call->correlation);
	call->descriptor.queue = q->id;
	call->begin_ns = af_now_ns();
	if (!af_sums_only())
		af_stream_put(&t->stream, launch, call->begin_ns, .callpath = callpath,
		              .correlation = call->correlation);
	af_thread_leave(t);
	af_opencl_bracket_begin(call);
}

static bool work_push(const struct af_opencl_call *call)
{
	struct af_opencl_queue *q = call->queue;
	uint32_t index = af_pool_take(&works, sizeof(struct opencl_work));

	if (!index)
		return false;
	struct opencl_work *w = opencl_work(index);
	w->event = call->event;
	w->correlation = call->correlation;
	w->descriptor = call->descriptor;
	atomic_fetch_add(&q->nr_pending, 1);
	uint32_t head = atomic_load_explicit(&q->pushed, memory_order_relaxed);
	do {
		work_set_next(index, head);
	} while (!atomic_compare_exchange_weak_explicit(
	    &q->pushed, &head, index, memory_order_release, memory_order_relaxed));
	return true;
}

cl_int af_opencl_launched(struct af_opencl_call *call, cl_int rc, cl_event *event, bool blocking)
{
	struct af_opencl_queue *q = call->queue;

	af_inject_in_opencl--;
	if (!q)
		return rc;
	if (rc || !call->event) {
		if (event)
			*event = call->event;
		if (rc)
			work_write_refused(call, rc);
		else
			work_write_untimed(call, AF_LOST_NO_STAMPS);
		return rc;
	}
	if (event) {
		af_opencl_next.clRetainEvent(call->event);
		*event = call->event;
	}
	if (!blocking)
		af_opencl_bracket_end(call);
	if (!work_push(call)) {
		work_write_untimed(call, AF_LOST_TABLE_FULL);
		af_opencl_next.clReleaseEvent(call->event);
	}

	uint32_t patience = atomic_load_explicit(&q->patience, memory_order_relaxed);
	if (blocking)
		af_opencl_harvest(q, UINT32_MAX);
	else if (patience)
		atomic_store_explicit(&q->patience, patience - 1, memory_order_relaxed);
	else
		af_opencl_harvest(q, ENQUEUE_HARVEST);
	af_opencl_tick(call->begin_ns);
	return rc;
}

/* Move what was pushed to the end of the queue's own list, oldest first. */
static void queue_collect(struct af_opencl_queue *q)
{
	uint32_t index = atomic_exchange_explicit(&q->pushed, 0, memory_order_acquire);
	uint32_t newest = index, oldest = 0;

	while (index) {
		uint32_t below = work_next(index);
		work_set_next(index, oldest);
		oldest = index;
		index = below;
	}
	if (!oldest)
		return;
	if (q->newest)
		work_set_next(q->newest, oldest);
	else
		q->oldest = oldest;
	q->newest = newest;
}

static bool event_stamp(cl_event event, cl_profiling_info what, uint64_t *stamp)
{
	cl_ulong value = 0;

	if (af_opencl_next.clGetEventProfilingInfo(event, what, sizeof value, &value, NULL))
		return false;
	*stamp = value;
	return true;
}

static cl_int event_status(cl_event event)
{
	cl_int status = CL_COMPLETE;

	/* An event that does not tell will never tell more. */
	if (af_opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
	                                  &status, NULL))
		return CL_COMPLETE;
	return status;
}

/*
 * False while the work is not complete. The end is asked for first, as stamps are to be had only of
 * what has completed (clGetEventProfilingInfo: CL_PROFILING_INFO_NOT_AVAILABLE); the status, when
 * that does not settle it; and the end again, as the work may complete in between.
 */
static bool event_done(cl_event event, struct opencl_stamps *s)
{
	*s = (struct opencl_stamps){0};
	if (!event_stamp(event, CL_PROFILING_COMMAND_END, &s->end) || !s->end) {
		s->status = event_status(event);
		if (s->status > CL_COMPLETE)
			return false;
		if (s->status < CL_COMPLETE)
			return true;
		s->missing = !event_stamp(event, CL_PROFILING_COMMAND_END, &s->end);
	}
	s->missing = s->missing || !event_stamp(event, CL_PROFILING_COMMAND_START, &s->start) ||
	             !event_stamp(event, CL_PROFILING_COMMAND_SUBMIT, &s->submit) ||
	             !event_stamp(event, CL_PROFILING_COMMAND_QUEUED, &s->queued);
	return true;
}

static void queue_unlink(struct af_opencl_queue *q, uint32_t before, uint32_t index)
{
	uint32_t next = work_next(index);

	if (before)
		work_set_next(before, next);
	else
		q->oldest = next;
	if (q->newest == index)
		q->newest = before;
}

/*
 * Take up to @most completed pieces off the list, going on where the last look ended. In an
 * in-order queue the first that is not complete ends the search; in another at most @look are
 * asked after, so that work stuck behind a user event hides nothing for long.
 */
static void queue_poll(struct af_opencl_queue *q, uint32_t most, uint32_t polls,
                       struct opencl_batch *b)
{
	uint32_t before = q->cursor;
	uint32_t index = before ? work_next(before) : q->oldest;

	b->nr = 0;
	while (index && polls-- && b->nr < most && b->nr < BATCH) {
		struct opencl_work *w = opencl_work(index);
		uint32_t next = work_next(index);

		if (event_done(w->event, &b->stamps[b->nr])) {
			queue_unlink(q, before, index);
			b->works[b->nr++] = index;
		} else if (q->in_order) {
			b->more = false;
			return;
		} else {
			before = index;
		}
		index = next;
	}
	b->more = index != 0;
	q->cursor = index ? before : 0;
}

static void batch_write(struct af_opencl_queue *q, const struct opencl_batch *b)
{
	struct af_thread_context *t = af_thread_enter();
	uint64_t now = af_now_ns();

	for (uint32_t i = 0; t && i < b->nr; i++) {
		const struct opencl_work *w = opencl_work(b->works[i]);
		if (b->stamps[i].missing)
			lost_write(t, now, AF_LOST_NO_STAMPS);
		work_write(t, now, w->correlation, &w->descriptor, &b->stamps[i]);
	}
	if (t)
		af_thread_leave(t);

	for (uint32_t i = 0; i < b->nr; i++) {
		struct opencl_work *w = opencl_work(b->works[i]);
		if (q->device && !q->device->root->has_timer)
			af_opencl_bracket_stamp(q->device->root, w->correlation,
			                        b->stamps[i].queued);
		af_opencl_next.clReleaseEvent(w->event);
		work_free(b->works[i]);
		atomic_fetch_sub(&q->nr_pending, 1);
	}
}

void af_opencl_harvest(struct af_opencl_queue *q, uint32_t most)
{
	struct opencl_batch b;
	uint32_t polls = most > OUT_OF_ORDER_POLLS ? UINT32_MAX : OUT_OF_ORDER_POLLS;
	bool found = false;

	if (!atomic_load_explicit(&q->nr_pending, memory_order_relaxed) ||
	    atomic_exchange_explicit(&q->busy, 1, memory_order_acquire))
		return;
	queue_collect(q);
	if (q->in_order || polls == UINT32_MAX)
		q->cursor = 0;
	do {
		queue_poll(q, most, polls, &b);
		if (b.nr)
			batch_write(q, &b);
		found |= b.nr > 0;
		most -= b.nr;
	} while (b.more && b.nr == BATCH && most);
	atomic_store_explicit(&q->patience, found ? 0 : ENQUEUE_PATIENCE, memory_order_relaxed);
	atomic_store_explicit(&q->busy, 0, memory_order_release);
}

void af_opencl_harvest_all(void)
{
	uint32_t nr = af_opencl_nr_queues();

	for (uint32_t i = 0; i < nr; i++) {
		struct af_opencl_queue *q = af_opencl_queue_at(i);
		if (q)
			af_opencl_harvest(q, UINT32_MAX);
	}
}

void af_opencl_tick(uint64_t now_ns)
{
	uint64_t due = atomic_load_explicit(&next_tick_ns, memory_order_relaxed);

	if (now_ns < due || !atomic_compare_exchange_strong(&next_tick_ns, &due, now_ns + TICK_NS))
		return;
	if (!due)
		return; /* the first event: everything has just begun */
	af_opencl_harvest_all();
	af_opencl_codes_tidy(false);
	af_opencl_clocks_read();
}

void af_opencl_work_flush(void)
{
	if (!af_inject_session())
		return;
	af_opencl_check_fork();
	af_opencl_harvest_all();
	af_opencl_clocks_read();
}

/* Whatever the runtime is now, it is not called any more; a forked child counts nothing. */
__attribute__((destructor)) static void opencl_destructor(void)
{
	uint64_t unfinished = 0;

	if (!af_inject_session())
		return;
	af_opencl_check_fork();
	for (uint32_t i = 0; i < af_opencl_nr_queues(); i++) {
		struct af_opencl_queue *q = af_opencl_queue_at(i);
		unfinished += q ? atomic_load(&q->nr_pending) : 0;
	}
	af_inject_lost(AF_LOST_UNFINISHED, unfinished);
}

/* The parent's events are the parent's to release. */
void af_opencl_work_after_fork(void)
{
	af_pool_forget(&works);
	atomic_store(&next_tick_ns, 0);
}
