/* Events of ours, which take the stamps of work; and what is known of the program's own. */
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum {
	SETS_MAX = 256,    /* of a context and a device */
	POOL_EVENTS = 256, /* made together */
	POOLS_MAX = 64,    /* of a set: work in flight and nodes of lists beyond are not timed */
};

/* Values of the program's events and pools: they have stamps; then the work that waits. */
#define EVENT_TIMED 1ull

struct af_ze_events {
	void *context, *device; /* NULL: the set is free */
	void *pools[POOLS_MAX];
	uint32_t nr_pools, nr_free;
	bool failed; /* no more can be made */
	void *free[POOLS_MAX * POOL_EVENTS];
};

static struct af_fork_lock lock = AF_FORK_LOCK; /* of all that follows; not of the maps */
static struct af_ze_events *sets;
static uint32_t nr_sets;
static struct af_handles pools = AF_HANDLES_INIT;  /* the program's → EVENT_TIMED */
static struct af_handles events = AF_HANDLES_INIT; /* the program's → EVENT_TIMED, work << 1 */

struct af_ze_events *af_ze_events(void *context, void *device)
{
	struct af_ze_events *found = NULL, *unused = NULL;

	af_fork_lock(&lock);
	if (!sets)
		sets = af_pages(SETS_MAX * sizeof *sets, MAP_NORESERVE);
	for (uint32_t i = 0; sets && i < nr_sets && !found; i++) {
		if (sets[i].context == context && sets[i].device == device)
			found = &sets[i];
		else if (!sets[i].context)
			unused = &sets[i];
	}
	if (sets && !found && !unused && nr_sets < SETS_MAX)
		unused = &sets[nr_sets++];
	if (!found && unused) {
		unused->context = context;
		unused->device = device;
		unused->nr_pools = unused->nr_free = 0;
		unused->failed = false;
		found = unused;
	}
	af_fork_unlock(&lock);
	return found;
}

/* True: another pool of @e may be made, and has its place. */
static bool pool_reserve(struct af_ze_events *e, uint32_t *place)
{
	af_fork_lock(&lock);
	bool may = !e->failed && e->nr_pools < POOLS_MAX;
	if (may) {
		*place = e->nr_pools++;
		e->pools[*place] = NULL;
	}
	af_fork_unlock(&lock);
	return may;
}

/* Make a pool and its events; the caller gets the first of them. */
static void *pool_make(struct af_ze_events *e)
{
	const struct af_ze_pool_desc desc = {.stype = AF_ZE_STYPE_EVENT_POOL_DESC,
	                                     .flags =
	                                         AF_ZE_POOL_HOST_VISIBLE | AF_ZE_POOL_TIMESTAMP,
	                                     .count = POOL_EVENTS};
	void *pool = NULL, *event, *first = NULL, *device = e->device;
	uint32_t place;

	if (!pool_reserve(e, &place))
		return NULL;
	bool failed = af_ze_next.zeEventPoolCreate(e->context, &desc, 1, &device, &pool);
	for (uint32_t i = 0; i < POOL_EVENTS && !failed; i++) {
		const struct af_ze_event_desc one = {.stype = AF_ZE_STYPE_EVENT_DESC,
		                                     .index = i,
		                                     .signal = AF_ZE_SCOPE_HOST,
		                                     .wait = AF_ZE_SCOPE_HOST};
		failed = af_ze_next.zeEventCreate(pool, &one, &event);
		if (failed)
			break;
		if (!first)
			first = event;
		else
			af_ze_event_give(e, event);
	}
	af_fork_lock(&lock);
	e->pools[place] = pool;
	e->failed |= failed;
	af_fork_unlock(&lock);
	return first;
}

void *af_ze_event_take(struct af_ze_list *l)
{
	struct af_ze_events *e = l->events;

	if (!e)
		return NULL;
	if (!l->nr_spare) {
		af_fork_lock(&lock);
		while (e->nr_free && l->nr_spare < AF_ZE_SPARE)
			l->spare[l->nr_spare++] = e->free[--e->nr_free];
		af_fork_unlock(&lock);
	}
	return l->nr_spare ? l->spare[--l->nr_spare] : pool_make(e);
}

void af_ze_events_give(struct af_ze_events *e, void **given, uint32_t nr)
{
	if (!e)
		return;
	af_fork_lock(&lock);
	for (uint32_t i = 0; i < nr && e->context && e->nr_free < POOLS_MAX * POOL_EVENTS; i++)
		e->free[e->nr_free++] = given[i];
	af_fork_unlock(&lock);
}

void af_ze_event_give(struct af_ze_events *e, void *event)
{
	af_ze_events_give(e, &event, 1);
}

void af_ze_pool_flags(const struct af_ze_pool_desc **desc, struct af_ze_pool_desc *own)
{
	/* Other processes share the memory of an IPC pool and know its layout by its flags. */
	if (!*desc || (*desc)->flags & (AF_ZE_POOL_IPC | AF_ZE_POOL_MAPPED_TIMESTAMP))
		return;
	*own = **desc;
	own->flags |= AF_ZE_POOL_TIMESTAMP | AF_ZE_POOL_HOST_VISIBLE;
	*desc = own;
}

void af_ze_pool_made(void *pool, const struct af_ze_pool_desc *desc)
{
	uint32_t both = AF_ZE_POOL_TIMESTAMP | AF_ZE_POOL_HOST_VISIBLE;

	af_handles_set(&pools, (uintptr_t)pool,
	               desc && (desc->flags & both) == both ? EVENT_TIMED : 0);
}

void af_ze_event_made(void *pool, void *event)
{
	af_handles_set(&events, (uintptr_t)event, af_handles_get(&pools, (uintptr_t)pool));
}

bool af_ze_event_is_timed(void *event)
{
	return af_handles_get(&events, (uintptr_t)event) & EVENT_TIMED;
}

void af_ze_event_works(void *event, uint32_t work)
{
	af_handles_set(&events, (uintptr_t)event, (uint64_t)work << 1 | EVENT_TIMED);
}

void af_ze_event_ends(void *event)
{
	uint64_t value = af_handles_get(&events, (uintptr_t)event);

	if (value <= EVENT_TIMED)
		return;
	af_ze_work_event_ends((uint32_t)(value >> 1), event);
	af_handles_set(&events, (uintptr_t)event, EVENT_TIMED);
}

void af_ze_event_signalled(void *event)
{
	struct af_ze_lane *l =
	    af_ze_work_lane((uint32_t)(af_handles_get(&events, (uintptr_t)event) >> 1));

	if (l)
		af_ze_harvest(l);
}

void af_ze_event_gone(void *event)
{
	af_ze_event_ends(event);
	af_handles_set(&events, (uintptr_t)event, 0);
}

/* Our events of @context are destroyed before it is; no work is in flight any more. */
static void set_end(struct af_ze_events *e)
{
	for (uint32_t i = 0; i < e->nr_free; i++)
		af_ze_next.zeEventDestroy(e->free[i]);
	for (uint32_t i = 0; i < e->nr_pools; i++)
		if (e->pools[i])
			af_ze_next.zeEventPoolDestroy(e->pools[i]);
	e->nr_free = e->nr_pools = 0;
	e->device = NULL;
	e->context = NULL;
}

void af_ze_context_gone(void *context)
{
	af_ze_works_end(context);
	af_ze_lists_end(context);
	af_ze_queries_end(context);
	for (uint32_t i = 0; i < nr_sets; i++)
		if (sets[i].context == context)
			set_end(&sets[i]);
}

void af_ze_events_after_fork(void)
{
	af_handles_after_fork(&pools);
	af_handles_after_fork(&events);
	if (sets)
		munmap(sets, SETS_MAX * sizeof *sets);
	sets = NULL;
	nr_sets = 0;
}
