/* Work in flight: a table of events, polled in the order of each queue; GPU_WORK. */
#include <sched.h>
#include <string.h>

#include "base/pages.h"
#include "inject/api/sums.h"
#include "inject/core/inject.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum {
	BATCH = 16, /* pieces that are written together */
	EVERY = 8,  /* launches between two polls */
	POLLS = 16, /* pieces polled then: twice as many as came */
};

struct ze_work {
	struct af_pool_entry link; /* also of a piece that was just taken off the free stack */
	struct af_ze_launched is;
	bool written; /* it only waits to be unlinked */
};

static struct af_pool works; /* 262,144 pieces of work in flight */
static _Atomic uint64_t last_correlation;

uint64_t af_ze_correlation_next(void)
{
	return atomic_fetch_add(&last_correlation, 1) + 1;
}

uint64_t af_ze_correlation_last(void)
{
	return atomic_load(&last_correlation);
}

static struct ze_work *work_at(uint32_t index)
{
	return af_pool_at(&works, sizeof(struct ze_work), index);
}

static uint32_t work_next(uint32_t index)
{
	return af_pool_next(&works, sizeof(struct ze_work), index);
}

static void work_set_next(uint32_t index, uint32_t next)
{
	af_pool_link(&works, sizeof(struct ze_work), index, next);
}

static void work_free(uint32_t index)
{
	work_at(index)->is.correlation = 0;
	af_pool_give(&works, sizeof(struct ze_work), index, index);
}

/* A query whose values never came; it has no times that could be missing. */
static void query_lost(struct af_thread_context *t, uint64_t now, enum af_lost reason)
{
	reason = reason == AF_LOST_NO_STAMPS ? AF_LOST_DROPPED : reason;
	af_stream_put(&t->stream, lost, now, .reason = reason, .count = 1);
}

/* Write one piece on @t, entered. @ns NULL: its times are not known, for @reason. */
static void work_put(struct af_thread_context *t, uint64_t now, const struct af_ze_launched *w,
                     const struct af_ze_stamps *ns, enum af_lost reason)
{
	if (w->query) {
		query_lost(t, now, reason);
		return;
	}
	uint64_t busy = ns ? ns->end - ns->start : 0;
	uint32_t id =
	    af_work_descriptor_id(af_thread_descriptors(t), &t->stream, now, &w->descriptor);

	if (!ns)
		af_stream_put(&t->stream, lost, now, .reason = reason, .count = 1);
	if (af_sums_only())
		af_sums_add(t, AF_SUM_WORK | id, !ns, busy, 0);
	else if (ns && busy <= UINT32_MAX)
		af_stream_put(&t->stream, gpu_work, now, .descriptor = id,
		              .correlation = (uint32_t)w->correlation, .start_ns = ns->start,
		              .busy_ns = (uint32_t)busy, .node = w->node);
	else
		af_stream_put(&t->stream, gpu_work_long, now, .descriptor = id,
		              .correlation = (uint32_t)w->correlation,
		              .start_ns = ns ? ns->start : 0, .end_ns = ns ? ns->end : 0,
		              .node = w->node);
}

static void work_write(const struct af_ze_launched *w, const struct af_ze_stamps *ns,
                       enum af_lost reason)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	work_put(t, af_now_ns(), w, ns, reason);
	af_thread_leave(t);
}

uint32_t af_ze_work_push(const struct af_ze_launched *launched)
{
	struct af_ze_lane *l = launched->lane;
	uint32_t index = launched->event ? af_pool_take(&works, sizeof(struct ze_work)) : 0;

	if (!index) {
		work_write(launched, NULL,
		           launched->event ? AF_LOST_TABLE_FULL : AF_LOST_NO_STAMPS);
		return 0;
	}
	struct ze_work *w = work_at(index);
	w->is = *launched;
	w->written = false;
	atomic_fetch_add_explicit(&l->nr_pending, 1, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&l->pushed, memory_order_relaxed);
	do {
		work_set_next(index, head);
	} while (!atomic_compare_exchange_weak_explicit(
	    &l->pushed, &head, index, memory_order_release, memory_order_relaxed));
	return index;
}

/*
 * The thread that claims a queue looks after its work. Nobody waits for it at a launch; whoever is
 * about to reset an event does (@wait), a few calls of the driver at most.
 */
static bool lane_claim(struct af_ze_lane *l, bool wait)
{
	while (atomic_exchange_explicit(&l->busy, 1, memory_order_acquire)) {
		if (!wait)
			return false;
		sched_yield();
	}
	return true;
}

static void lane_unclaim(struct af_ze_lane *l)
{
	atomic_store_explicit(&l->busy, 0, memory_order_release);
}

/* Move what was pushed to the end of the queue's own list, oldest first. */
static void lane_collect(struct af_ze_lane *l)
{
	uint32_t index = atomic_exchange_explicit(&l->pushed, 0, memory_order_acquire);
	uint32_t newest = index, oldest = 0;

	while (index) {
		uint32_t below = work_next(index);
		work_set_next(index, oldest);
		oldest = index;
		index = below;
	}
	if (!oldest)
		return;
	if (l->newest)
		work_set_next(l->newest, oldest);
	else
		l->oldest = oldest;
	l->newest = newest;
}

static void lane_cut(struct af_ze_lane *l, uint32_t before, uint32_t index)
{
	uint32_t next = work_next(index);

	if (before)
		work_set_next(before, next);
	else
		l->oldest = next;
	if (l->newest == index)
		l->newest = before;
}

static void lane_unlink(struct af_ze_lane *l, uint32_t before, uint32_t index)
{
	lane_cut(l, before, index);
	work_free(index);
	atomic_fetch_sub(&l->nr_pending, 1);
}

/* An event of ours is free again, once it is reset. */
static void event_done(const struct af_ze_launched *w)
{
	if (w->events && !af_ze_next.zeEventHostReset(w->event))
		af_ze_event_give(w->events, w->event);
}

/* Work that was found complete. */
struct ze_done {
	uint32_t index;
	bool stamped;
	struct af_ze_stamps ns;
};

/*
 * Has the event of @w been signalled? With @complete, all that was launched before is done, so an
 * event that may be an earlier launch's is this one's. zeEventQueryKernelTimestamp: "not ready" of
 * an event that was not signalled.
 */
static bool work_is_done(const struct ze_work *w, bool complete, struct ze_done *done)
{
	struct af_ze_kernel_timestamp t = {0};

	done->stamped = false;
	if (w->written)
		return true;
	if (w->is.overtakes && !complete)
		return false;
	uint32_t rc = af_ze_next.zeEventQueryKernelTimestamp(w->is.event, &t);
	if (rc == AF_ZE_NOT_READY)
		return false;
	bool is_stale = w->is.is_stale && t.global.start == w->is.stale;
	if (!rc && is_stale && !complete)
		return false;
	if (w->is.query)
		return true;
	done->stamped =
	    !rc && !is_stale &&
	    af_ze_device_stamps(w->is.lane->device, w->is.launched_ns, &t.global, &done->ns);
	return true;
}

/* Write @w if it is complete. False: it is not. */
static bool work_poll(struct ze_work *w, bool complete)
{
	struct ze_done done;

	if (!work_is_done(w, complete, &done))
		return false;
	if (w->written)
		return true;
	if (w->is.query)
		af_ze_query_read(&w->is);
	else
		work_write(&w->is, done.stamped ? &done.ns : NULL, AF_LOST_NO_STAMPS);
	event_done(&w->is);
	return true;
}

/* Its event is not to be read any more. */
static void work_give_up(struct ze_work *w, enum af_lost reason)
{
	if (!w->written)
		work_write(&w->is, NULL, reason);
	w->written = true;
}

/* Give back the places of written work, and its events, which are those of one set. */
static void batch_free(const struct ze_done *done, uint32_t nr)
{
	struct af_ze_events *set = NULL;
	void *events[BATCH];
	uint32_t nr_events = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct ze_work *w = work_at(done[i].index);
		bool ours = !w->written && w->is.events;
		if (ours && !af_ze_next.zeEventHostReset(w->is.event)) {
			set = w->is.events;
			events[nr_events++] = w->is.event;
		}
		w->is.correlation = 0;
		if (i)
			work_set_next(done[i - 1].index, done[i].index);
	}
	af_pool_give(&works, sizeof(struct ze_work), done[0].index, done[nr - 1].index);
	if (nr_events)
		af_ze_events_give(set, events, nr_events);
}

/* The work that one poll of a queue found complete: written, and its places given back. */
static void batch_write(struct af_ze_lane *l, const struct ze_done *done, uint32_t nr)
{
	struct af_thread_context *t = af_thread_enter();
	uint64_t now = t ? af_now_ns() : 0;

	for (uint32_t i = 0; t && i < nr; i++) {
		const struct ze_work *w = work_at(done[i].index);
		if (!w->written && !w->is.query)
			work_put(t, now, &w->is, done[i].stamped ? &done[i].ns : NULL,
			         AF_LOST_NO_STAMPS);
	}
	if (t)
		af_thread_leave(t);
	batch_free(done, nr);
	atomic_fetch_sub(&l->nr_pending, nr);
}

/* Poll up to @polls pieces from where the last poll ended. False: the list was gone through. */
static bool batch_poll(struct af_ze_lane *l, uint32_t *polls)
{
	uint32_t before = l->cursor, index = before ? work_next(before) : l->oldest, nr = 0;
	struct ze_done done[BATCH];

	while (index && *polls && nr < BATCH) {
		uint32_t next = work_next(index);
		--*polls;
		const struct ze_work *w = work_at(index);
		if (work_is_done(w, false, &done[nr])) {
			if (w->is.query && !w->written)
				af_ze_query_read(&w->is);
			done[nr++].index = index;
			lane_cut(l, before, index);
		} else {
			before = index;
		}
		index = next;
	}
	l->cursor = index ? before : 0;
	if (nr)
		batch_write(l, done, nr);
	return index && *polls;
}

static void lane_harvest(struct af_ze_lane *l, uint32_t polls)
{
	if (!atomic_load_explicit(&l->nr_pending, memory_order_relaxed) || !lane_claim(l, false))
		return;
	lane_collect(l);
	if (polls == UINT32_MAX)
		l->cursor = 0;
	while (batch_poll(l, &polls))
		;
	lane_unclaim(l);
}

void af_ze_harvest(struct af_ze_lane *l)
{
	lane_harvest(l, UINT32_MAX);
}

void af_ze_harvest_some(struct af_ze_lane *l)
{
	uint32_t nr = atomic_load_explicit(&l->launches, memory_order_relaxed) + 1;

	/* If two threads launch at once, one of them may not count. */
	atomic_store_explicit(&l->launches, nr, memory_order_relaxed);
	if (nr % EVERY == 0)
		lane_harvest(l, POLLS);
}

/* Go through all work of @l, claimed: what @ends is written and unlinked. */
static void lane_each(struct af_ze_lane *l, bool (*ends)(struct ze_work *w, const void *arg),
                      const void *arg)
{
	uint32_t before = 0, index, next;

	lane_claim(l, true);
	lane_collect(l);
	l->cursor = 0;
	for (index = l->oldest; index; index = next) {
		next = work_next(index);
		if (ends(work_at(index), arg))
			lane_unlink(l, before, index);
		else
			before = index;
	}
	lane_unclaim(l);
}

static bool ends_completed(struct ze_work *w, const void *arg)
{
	const uint64_t *correlation = arg;

	if (w->is.correlation > *correlation)
		return work_poll(w, false);
	if (!work_poll(w, true))
		work_give_up(w, AF_LOST_NO_STAMPS);
	return true;
}

void af_ze_completed(struct af_ze_lane *l, uint64_t correlation)
{
	if (atomic_load(&l->nr_pending))
		lane_each(l, ends_completed, &correlation);
}

static bool ends_of_context(struct ze_work *w, const void *context)
{
	if (w->is.lane->context != context)
		return work_poll(w, false);
	if (!work_poll(w, false))
		work_give_up(w, AF_LOST_UNFINISHED);
	return true;
}

void af_ze_works_end(void *context)
{
	struct af_ze_lane *l;

	for (uint32_t i = 0; (l = af_ze_lane_at(i)); i++)
		if (atomic_load(&l->nr_pending) && l->context == context)
			lane_each(l, ends_of_context, context);
}

bool af_ze_work_waits(uint32_t index, uint64_t correlation)
{
	return index && work_at(index)->is.correlation == correlation;
}

/* Which piece of work is meant: by its place, and what it must still be. */
struct work_one {
	uint32_t index;
	uint64_t correlation; /* 0: of whichever launch */
	void *event;
};

static bool ends_one(struct ze_work *w, const void *arg)
{
	const struct work_one *one = arg;

	if (w != work_at(one->index) || w->is.event != one->event)
		return false;
	if (!work_poll(w, false))
		work_give_up(w, AF_LOST_NO_STAMPS);
	return true;
}

void af_ze_work_event_ends(uint32_t index, void *event)
{
	const struct work_one one = {.index = index, .event = event};
	struct ze_work *w = work_at(index);
	struct af_ze_lane *l = w->is.correlation && w->is.event == event ? w->is.lane : NULL;

	if (l)
		lane_each(l, ends_one, &one);
}

struct af_ze_lane *af_ze_work_lane(uint32_t index)
{
	return index && work_at(index)->is.correlation ? work_at(index)->is.lane : NULL;
}

static bool ends_unfinished(struct ze_work *w, const void *arg)
{
	(void)arg;
	work_give_up(w, AF_LOST_UNFINISHED);
	return true;
}

void af_ze_lane_abandon(struct af_ze_lane *l)
{
	lane_each(l, ends_unfinished, NULL);
}

/* The parent's events are the parent's. */
void af_ze_works_after_fork(void)
{
	af_pool_forget(&works);
}
