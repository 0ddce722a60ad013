/* Queries around launches: their pools, what is added to lists, and the values that come of it. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/api/sums.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum {
	SETS_MAX = 64, /* of a context and a device */
	POOL_QUERIES = 32,
	POOLS_MAX = 32, /* of a set: launches beyond are not measured, which is counted */
	RAW_MAX = 1 << 16,
};

enum set_state { SET_FREE = 0, SET_READY = 1, SET_OFF = 2 };

struct af_ze_queries {
	_Atomic uint32_t state; /* enum set_state */
	void *context, *device;
	const struct af_ze_group *group;
	void *pools[POOLS_MAX], *all[POOLS_MAX * POOL_QUERIES];
	uint32_t nr_pools, nr_all, nr_free;
	void *free[POOLS_MAX * POOL_QUERIES];
};

/* The thread that reads a query has it. */
struct scratch {
	uint8_t raw[RAW_MAX];
	struct af_ze_value values[AF_ZE_METRICS_MAX];
	uint64_t pairs[2 * AF_ZE_METRICS_MAX];
};

static struct af_fork_lock lock = AF_FORK_LOCK; /* of the free queries of all sets */
static struct af_ze_queries *sets;
static _Atomic uint32_t nr_sets;
static _Atomic uint32_t busy; /* claimed by the thread that makes a set, ends one or reads */
static _Atomic uint32_t noted, nr_launches;
static _Atomic uint64_t nr_left_out;
static struct scratch *scratch;

/* Others wait: for a few calls of the driver. */
static void busy_claim(void)
{
	while (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		sched_yield();
}

static void busy_unclaim(void)
{
	atomic_store_explicit(&busy, 0, memory_order_release);
}

static void note_once(const char *text)
{
	if (!atomic_exchange(&noted, 1))
		af_inject_note("ze.metrics", text);
}

/* Level Zero's own words for why it refused are in the log of its driver alone. */
static void refused(struct af_ze_queries *q, const char *call, uint32_t rc)
{
	char text[300];

	atomic_store(&q->state, SET_OFF);
	snprintf(text, sizeof text,
	         "launches are not measured any more: %s failed (0x%x). Another program may use "
	         "the counters of the device",
	         call, rc);
	note_once(text);
}

static bool functions_are_there(void)
{
#define AF_P(name, parameters)                                                                     \
	if (!af_ze_next.name)                                                                      \
		return false;
	AF_ZE_METRIC_FUNCTIONS(AF_P)
#undef AF_P
	return true;
}

bool af_ze_measures(void)
{
	const struct af_session *s = af_inject_session();

	return s && *s->launch_metrics && !af_sums_only();
}

static struct af_ze_queries *set_find(void *context, void *device, uint32_t *unused)
{
	uint32_t nr = atomic_load_explicit(&nr_sets, memory_order_acquire);

	*unused = nr;
	for (uint32_t i = 0; sets && i < nr; i++) {
		if (atomic_load(&sets[i].state) == SET_FREE)
			*unused = i;
		else if (sets[i].context == context && sets[i].device == device)
			return &sets[i];
	}
	return NULL;
}

static void set_start(struct af_ze_queries *q, const char *name, uint32_t every)
{
	char text[400];
	void *group;

	q->group =
	    functions_are_there()
		? af_ze_group(q->device, name, text, sizeof text)
		: (snprintf(text, sizeof text, "Level Zero's loader has no metric queries"), NULL);
	if (!q->group) {
		char why[460];
		snprintf(why, sizeof why, "launches are not measured: %s", text);
		note_once(why);
		atomic_store(&q->state, SET_OFF);
		return;
	}
	group = q->group->handle;
	uint32_t rc = af_ze_next.zetContextActivateMetricGroups(q->context, q->device, 1, &group);
	if (rc) {
		refused(q, "zetContextActivateMetricGroups", rc);
		return;
	}
	snprintf(text, sizeof text, "the metric group %.100s is read over every launch of a kernel",
	         name);
	if (every > 1)
		snprintf(text, sizeof text,
		         "the metric group %.100s is read over 1 launch of a kernel in %u", name,
		         every);
	af_inject_note("ze.metrics.group", text);
	atomic_store_explicit(&q->state, SET_READY, memory_order_release);
}

struct af_ze_queries *af_ze_queries(void *context, void *device)
{
	const struct af_session *s = af_inject_session();
	uint32_t unused;

	if (!s || !af_ze_measures())
		return NULL;
	busy_claim();
	if (!sets)
		sets = af_pages(SETS_MAX * sizeof *sets, MAP_NORESERVE);
	if (!scratch)
		scratch = af_pages(sizeof *scratch, 0);
	struct af_ze_queries *q = set_find(context, device, &unused);
	if (!q && sets && scratch && unused < SETS_MAX) {
		q = &sets[unused];
		memset(q, 0, sizeof *q);
		q->context = context;
		q->device = device;
		if (unused == atomic_load(&nr_sets))
			atomic_store_explicit(&nr_sets, unused + 1, memory_order_release);
		set_start(q, s->launch_metrics, s->launch_metrics_every);
	}
	busy_unclaim();
	return q;
}

/* Make a pool and its queries. Claimed. */
static bool pool_make(struct af_ze_queries *q)
{
	const struct af_ze_query_pool_desc desc = {.stype = AF_ZE_STYPE_QUERY_POOL_DESC,
	                                           .type = AF_ZE_QUERY_PERFORMANCE,
	                                           .count = POOL_QUERIES};
	void *pool = NULL, *query = NULL;

	if (q->nr_pools == POOLS_MAX)
		return false;
	uint32_t rc = af_ze_next.zetMetricQueryPoolCreate(q->context, q->device, q->group->handle,
	                                                  &desc, &pool);
	if (rc) {
		refused(q, "zetMetricQueryPoolCreate", rc);
		return false;
	}
	q->pools[q->nr_pools++] = pool;
	for (uint32_t i = 0; i < POOL_QUERIES; i++) {
		if (af_ze_next.zetMetricQueryCreate(pool, i, &query))
			break;
		q->all[q->nr_all++] = query;
		af_fork_lock(&lock);
		q->free[q->nr_free++] = query;
		af_fork_unlock(&lock);
	}
	return true;
}

static void *query_pop(struct af_ze_queries *q)
{
	af_fork_lock(&lock);
	void *query = q->nr_free ? q->free[--q->nr_free] : NULL;
	af_fork_unlock(&lock);
	return query;
}

static void *query_take(struct af_ze_queries *q)
{
	void *query = query_pop(q);

	if (query)
		return query;
	busy_claim();
	query = query_pop(q);
	if (!query && pool_make(q))
		query = query_pop(q);
	busy_unclaim();
	if (!query && atomic_load(&q->state) == SET_READY)
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
	return query;
}

static void query_push(struct af_ze_queries *q, void *query)
{
	af_fork_lock(&lock);
	if (q->nr_free < POOLS_MAX * POOL_QUERIES)
		q->free[q->nr_free++] = query;
	af_fork_unlock(&lock);
}

void af_ze_query_give(struct af_ze_queries *q, void *query)
{
	if (!af_ze_next.zetMetricQueryReset(query))
		query_push(q, query);
}

void af_ze_query_again(void *query)
{
	af_ze_next.zetMetricQueryReset(query);
}

static bool is_its_turn(void)
{
	const struct af_session *s = af_inject_session();
	uint32_t every = s && s->launch_metrics_every ? s->launch_metrics_every : 1;

	return atomic_fetch_add_explicit(&nr_launches, 1, memory_order_relaxed) % every == 0;
}

/*
 * The kernel's own events are waited for before the query begins, so it does not count the time
 * until they come.
 */
void af_ze_query_begin(struct af_ze_call *c, uint32_t nr_waits, void **waits)
{
	struct af_ze_queries *q = c->list ? c->list->queries : NULL;

	c->query = NULL;
	if (!q || atomic_load_explicit(&q->state, memory_order_acquire) != SET_READY ||
	    (c->list->is_immediate && !c->records) || !is_its_turn())
		return;
	void *query = query_take(q);
	if (!query)
		return;
	uint32_t rc = af_ze_next.zeCommandListAppendBarrier(c->list->handle, NULL, nr_waits, waits);
	if (!rc)
		rc = af_ze_next.zetCommandListAppendMetricQueryBegin(c->list->handle, query);
	if (rc) {
		query_push(q, query);
		refused(q, "zetCommandListAppendMetricQueryBegin", rc);
		return;
	}
	c->query = query;
	/* The call of the program begins now. */
	c->begin_ns = af_now_ns();
}

/* A query that has begun ends, even if there is no kernel in it: then it is not used again. */
bool af_ze_query_end(struct af_ze_call *c, bool failed)
{
	if (!c->query)
		return false;
	struct af_ze_queries *q = c->list->queries;
	c->query_event = af_ze_event_take(c->list);
	uint32_t rc = af_ze_next.zeCommandListAppendBarrier(c->list->handle, NULL, 0, NULL);
	if (!rc)
		rc = af_ze_next.zetCommandListAppendMetricQueryEnd(c->list->handle, c->query,
		                                                   c->query_event, 0, NULL);
	if (rc)
		refused(q, "zetCommandListAppendMetricQueryEnd", rc);
	if (rc && c->query_event)
		af_ze_event_give(c->list->events, c->query_event);
	return !rc && !failed && c->query_event;
}

/* Claimed. Returns the number of values. */
static uint32_t values_get(const struct af_ze_group *g, void *query, uint32_t *left_out)
{
	size_t size = 0;
	uint32_t nr = 0;

	if (af_ze_next.zetMetricQueryGetData(query, &size, NULL) || !size || size > RAW_MAX ||
	    af_ze_next.zetMetricQueryGetData(query, &size, scratch->raw) || size > RAW_MAX ||
	    af_ze_next.zetMetricGroupCalculateMetricValues(g->handle, AF_ZE_METRIC_VALUES, size,
	                                                   scratch->raw, &nr, NULL) ||
	    nr != g->nr ||
	    af_ze_next.zetMetricGroupCalculateMetricValues(g->handle, AF_ZE_METRIC_VALUES, size,
	                                                   scratch->raw, &nr, scratch->values) ||
	    nr != g->nr)
		return 0;
	return af_ze_values(g->metrics, nr, scratch->values, scratch->pairs, left_out);
}

void af_ze_query_read(const struct af_ze_launched *w)
{
	uint32_t left_out = 0;

	busy_claim();
	uint32_t nr = values_get(w->queries->group, w->query, &left_out);
	struct af_thread_context *t = nr ? af_thread_enter() : NULL;
	if (t) {
		struct af_ev_work_reading ev = {.call = w->correlation, .node = w->node};
		struct af_tail tail = {scratch->pairs, nr * 2 * (uint32_t)sizeof *scratch->pairs,
		                       sizeof *scratch->pairs};
		af_stream_put_tail(&t->stream, AF_KIND_WORK_READING, af_now_ns(), &ev, sizeof ev,
		                   &tail, 1);
		af_thread_leave(t);
	}
	busy_unclaim();
	atomic_fetch_add_explicit(&nr_left_out, left_out, memory_order_relaxed);
	if (!nr) {
		note_once("the driver gave no values of a query");
		af_inject_lost(AF_LOST_DROPPED, 1);
	}
	if (w->events)
		af_ze_query_give(w->queries, w->query);
}

void af_ze_queries_report(void)
{
	uint64_t nr = atomic_exchange(&nr_left_out, 0);
	char text[160];

	if (!nr)
		return;
	snprintf(text, sizeof text,
	         "%llu values that are no numbers, negative or beyond 64 bits were left out",
	         (unsigned long long)nr);
	af_inject_note("ze.metrics.left_out", text);
}

static void set_end(struct af_ze_queries *q)
{
	bool others = false;

	for (uint32_t i = 0; i < q->nr_all; i++)
		af_ze_next.zetMetricQueryDestroy(q->all[i]);
	for (uint32_t i = 0; i < q->nr_pools; i++)
		af_ze_next.zetMetricQueryPoolDestroy(q->pools[i]);
	for (uint32_t i = 0; i < atomic_load(&nr_sets); i++)
		others |= &sets[i] != q && sets[i].device == q->device &&
		          atomic_load(&sets[i].state) == SET_READY;
	/* Drivers activate groups for all contexts of a device. */
	if (q->nr_pools && !others)
		af_ze_next.zetContextActivateMetricGroups(q->context, q->device, 0, NULL);
	atomic_store(&q->state, SET_FREE);
}

void af_ze_queries_end(void *context)
{
	uint32_t nr = atomic_load(&nr_sets);

	if (!nr)
		return;
	busy_claim();
	for (uint32_t i = 0; i < nr; i++)
		if (atomic_load(&sets[i].state) != SET_FREE && sets[i].context == context)
			set_end(&sets[i]);
	busy_unclaim();
}

void af_ze_queries_after_fork(void)
{
	if (sets)
		munmap(sets, SETS_MAX * sizeof *sets);
	sets = NULL;
	atomic_store(&nr_sets, 0);
	atomic_store(&busy, 0);
	atomic_store(&noted, 0);
	atomic_store(&nr_left_out, 0);
}
