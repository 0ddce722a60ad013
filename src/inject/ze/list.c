/* Command queues and command lists: their QUEUE, and the nodes of lists. */
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/lock.h"
#include "inject/ze/metric.h"
#include "inject/ze/ze.h"

enum {
	LANES_MAX = 16384,
	LISTS_MAX = 65536,
	NODES_FIRST = 64,
	NODES_MAX = 1 << 20, /* of a list */
};

static struct af_fork_lock lock = AF_FORK_LOCK;       /* to take and give back the structs below */
static struct af_handles queues = AF_HANDLES_INIT;    /* → struct af_ze_lane * */
static struct af_handles by_handle = AF_HANDLES_INIT; /* of lists → struct af_ze_list * */
static struct af_ze_lane *lanes;
static _Atomic uint32_t nr_lanes;
static struct af_ze_list *lists;
static uint32_t nr_lists, free_list; /* the latter by index plus 1 */
static _Atomic uint32_t nr_graphs;
static struct af_handles contexts = AF_HANDLES_INIT; /* → id */

struct af_ze_lane *af_ze_lane_at(uint32_t i)
{
	return i < atomic_load_explicit(&nr_lanes, memory_order_acquire) ? &lanes[i] : NULL;
}

/* One that nobody uses. Under the lock. */
static struct af_ze_lane *lane_take(void)
{
	uint32_t nr = atomic_load(&nr_lanes);

	if (!lanes && !(lanes = af_pages(LANES_MAX * sizeof *lanes, MAP_NORESERVE)))
		return NULL;
	for (uint32_t i = 0; i < nr; i++) {
		struct af_ze_lane *l = &lanes[i];
		if (!atomic_load(&l->in_use) && !atomic_load(&l->nr_pending) &&
		    !atomic_exchange(&l->busy, 1)) {
			atomic_store(&l->in_use, 1);
			return l;
		}
	}
	if (nr == LANES_MAX)
		return NULL;
	atomic_store(&lanes[nr].busy, 1);
	atomic_store(&lanes[nr].in_use, 1);
	atomic_store_explicit(&nr_lanes, nr + 1, memory_order_release);
	return &lanes[nr];
}

static uint32_t context_id(void *handle)
{
	uint32_t id = (uint32_t)af_handles_get(&contexts, (uintptr_t)handle);

	if (!id && handle)
		id = (uint32_t)af_handles_claim(&contexts, (uintptr_t)handle,
		                                af_inject_new_id(AF_ID_CONTEXT));
	return id;
}

static void queue_define(const struct af_ze_lane *l)
{
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	af_stream_put(&t->stream, queue, af_now_ns(), .queue = l->id,
	              .device = l->device ? l->device->id : 0, .context = context_id(l->context),
	              .flags = 0, .handle = (uintptr_t)l->handle);
	af_thread_leave(t);
}

static struct af_ze_lane *lane_make(void *context, void *device, void *handle)
{
	struct af_ze_device *d = af_ze_device(device);

	af_fork_lock(&lock);
	struct af_ze_lane *l = lane_take();
	af_fork_unlock(&lock);
	if (!l) {
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
		return NULL;
	}
	l->handle = handle;
	l->context = context;
	l->device = d;
	l->id = af_inject_new_id(AF_ID_QUEUE);
	l->cursor = 0;
	atomic_store_explicit(&l->busy, 0, memory_order_release);
	queue_define(l);
	af_ze_device_use(d);
	return l;
}

static void lane_end(struct af_ze_lane *l)
{
	if (l)
		atomic_store(&l->in_use, 0);
}

void af_ze_queue_made(void *context, void *device, void *queue)
{
	struct af_ze_lane *l = lane_make(context, device, queue);

	af_handles_set(&queues, (uintptr_t)queue, (uintptr_t)l);
}

struct af_ze_lane *af_ze_lane(void *queue)
{
	return (void *)(uintptr_t)af_handles_get(&queues, (uintptr_t)queue);
}

void af_ze_queue_gone(void *queue)
{
	struct af_ze_lane *l = af_ze_lane(queue);

	if (!l)
		return;
	af_ze_harvest(l);
	af_handles_set(&queues, (uintptr_t)queue, 0);
	lane_end(l);
}

static struct af_ze_list *list_take(void)
{
	struct af_ze_list *l = NULL;

	af_fork_lock(&lock);
	if (!lists)
		lists = af_pages(LISTS_MAX * sizeof *lists, MAP_NORESERVE);
	if (lists && free_list) {
		l = &lists[free_list - 1];
		free_list = l->next_free;
	} else if (lists && nr_lists < LISTS_MAX) {
		l = &lists[nr_lists++];
	}
	af_fork_unlock(&lock);
	return l;
}

static void list_give(struct af_ze_list *l)
{
	af_fork_lock(&lock);
	l->next_free = free_list;
	free_list = (uint32_t)(l - lists) + 1;
	af_fork_unlock(&lock);
}

struct af_ze_list *af_ze_list(void *handle)
{
	return (void *)(uintptr_t)af_handles_get(&by_handle, (uintptr_t)handle);
}

void af_ze_list_made(void *context, void *device, void *handle, const struct af_ze_queue_desc *desc)
{
	struct af_ze_list *l = list_take();

	if (!l) {
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
		return;
	}
	/* The room for nodes of the list that was here before serves this one. */
	struct af_ze_node *nodes = l->nodes;
	uint32_t cap = l->cap_nodes;
	*l = (struct af_ze_list){
	    .handle = handle,
	    .context = context,
	    .device = af_ze_device(device),
	    .events = af_ze_events(context, device),
	    .queries = af_ze_queries(context, device),
	    .lane = desc ? lane_make(context, device, handle) : NULL,
	    .is_immediate = desc != NULL,
	    .is_synchronous = desc && desc->mode == AF_ZE_QUEUE_SYNCHRONOUS,
	    .graph = desc ? 0 : af_inject_next_id(&nr_graphs),
	    .nodes = nodes,
	    .cap_nodes = cap,
	};
	af_handles_set(&by_handle, (uintptr_t)handle, (uintptr_t)l);
}

struct af_ze_node *af_ze_node_add(struct af_ze_list *l)
{
	size_t old = l->cap_nodes * sizeof *l->nodes;
	uint32_t cap = l->cap_nodes + (l->cap_nodes ? l->cap_nodes : NODES_FIRST);

	if (l->nr_nodes == l->cap_nodes) {
		struct af_ze_node *nodes =
		    cap <= NODES_MAX ? af_pages(cap * sizeof *nodes, 0) : NULL;
		if (!nodes)
			return NULL;
		if (l->nodes) {
			memcpy(nodes, l->nodes, l->nr_nodes * sizeof *nodes);
			munmap(l->nodes, old);
		}
		l->nodes = nodes;
		l->cap_nodes = cap;
	}
	struct af_ze_node *n = &l->nodes[l->nr_nodes++];
	*n = (struct af_ze_node){0};
	return n;
}

/*
 * The list does not run: the program must not empty it before. An event that was not signalled even
 * so is not used again.
 */
void af_ze_list_emptied(void *handle)
{
	struct af_ze_list *l = af_ze_list(handle);

	if (!l || l->is_immediate)
		return;
	if (l->ran_on)
		af_ze_harvest(l->ran_on);
	for (uint32_t i = 0; i < l->nr_nodes; i++) {
		struct af_ze_node *n = &l->nodes[i];
		bool waits = af_ze_work_waits(n->work, n->correlation);
		if (waits)
			af_ze_work_event_ends(n->work, n->event);
		if (n->is_ours && !waits && (!n->ran || !af_ze_next.zeEventHostReset(n->event)))
			af_ze_event_give(l->events, n->event);
		if (n->query && !waits)
			af_ze_query_give(l->queries, n->query);
	}
	l->nr_nodes = 0;
	l->ran_on = NULL;
	l->graph = af_inject_next_id(&nr_graphs);
}

void af_ze_list_gone(void *handle)
{
	struct af_ze_list *l = af_ze_list(handle);

	if (!l)
		return;
	if (l->lane)
		af_ze_harvest(l->lane);
	af_ze_list_emptied(handle);
	if (l->events)
		af_ze_events_give(l->events, l->spare, l->nr_spare);
	l->nr_spare = 0;
	l->context = NULL;
	af_handles_set(&by_handle, (uintptr_t)handle, 0);
	lane_end(l->lane);
	list_give(l);
}

/* Its lists cannot be used any more: their spare events go with those of the context. */
void af_ze_lists_end(void *context)
{
	for (uint32_t i = 0; i < nr_lists; i++) {
		struct af_ze_list *l = &lists[i];
		if (l->context != context)
			continue;
		while (l->nr_spare)
			af_ze_next.zeEventDestroy(l->spare[--l->nr_spare]);
		for (uint32_t k = 0; k < l->nr_nodes; k++)
			if (l->nodes[k].is_ours)
				af_ze_next.zeEventDestroy(l->nodes[k].event);
		l->nr_nodes = 0;
		l->events = NULL;
	}
}

void af_ze_lists_after_fork(void)
{
	af_handles_after_fork(&queues);
	af_handles_after_fork(&by_handle);
	af_handles_after_fork(&contexts);
	if (lanes)
		munmap(lanes, LANES_MAX * sizeof *lanes);
	if (lists)
		munmap(lists, LISTS_MAX * sizeof *lists);
	lanes = NULL;
	lists = NULL;
	atomic_store(&nr_lanes, 0);
	nr_lists = free_list = 0;
}
