/* Calls that append work to a command list: the event that it signals, and what it is. */
#include "inject/ze/ze.h"

#include "inject/core/inject.h"

void af_ze_append(struct af_ze_call *c, void *list, void **signal)
{
	c->list = af_ze_list(list);
	c->event = NULL;
	c->is_ours = false;
	if (!c->list || (c->list->is_immediate && !c->records))
		return;
	if (*signal) {
		if (!af_ze_event_is_timed(*signal))
			return;
		af_ze_event_ends(*signal);
		c->event = *signal;
		return;
	}
	c->event = af_ze_event_take(c->list);
	c->is_ours = c->event != NULL;
	if (c->is_ours)
		*signal = c->event;
}

void af_ze_append_failed(struct af_ze_call *c)
{
	if (c->list && c->is_ours)
		af_ze_event_give(c->list->events, c->event);
}

void af_ze_append_launched(struct af_ze_call *c, struct af_ev_descriptor *is)
{
	struct af_ze_list *list = c->list;
	struct af_ze_launched w = {
	    .lane = list->lane,
	    .event = c->event,
	    .events = c->is_ours ? list->events : NULL,
	    .correlation = c->correlation,
	    .launched_ns = c->begin_ns,
	    .descriptor = *is,
	};

	if (!list->lane)
		return;
	w.descriptor.queue = list->lane->id;
	uint32_t work = af_ze_work_push(&w);
	if (work && !c->is_ours)
		af_ze_event_works(c->event, work);
	af_ze_tick(c->begin_ns);
	if (list->is_synchronous)
		af_ze_harvest(list->lane);
	else
		af_ze_harvest_some(list->lane);
}

void af_ze_append_query(const struct af_ze_call *c)
{
	struct af_ze_list *list = c->list;
	const struct af_ze_launched w = {
	    .lane = list->lane,
	    .event = c->query_event,
	    .events = list->events,
	    .correlation = c->correlation,
	    .launched_ns = c->begin_ns,
	    .query = c->query,
	    .queries = list->queries,
	};
	struct af_ze_node *n = list->is_immediate ? NULL : af_ze_node_add(list);

	if (list->is_immediate && list->lane) {
		af_ze_work_push(&w);
		if (list->is_synchronous)
			af_ze_harvest(list->lane);
	} else if (n) {
		n->id = c->node;
		n->event = c->query_event;
		n->is_ours = true;
		n->query = c->query;
	} else {
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
	}
}

struct af_ze_node *af_ze_append_node(struct af_ze_call *c, const struct af_ev_descriptor *is)
{
	struct af_ze_node *n = af_ze_node_add(c->list);

	if (!n) {
		af_inject_lost(AF_LOST_TABLE_FULL, 1);
		return NULL;
	}
	n->id = af_inject_new_id(AF_ID_NODE);
	n->event = c->event;
	n->is_ours = c->is_ours;
	n->descriptor = *is;
	return n;
}

void af_ze_kernel_work(const struct af_ze_call *c, void *kernel,
                       const struct af_ze_group_count *groups, struct af_ev_descriptor *is)
{
	uint32_t local[3];
	(void)c;

	is->op = AF_OP_KERNEL;
	is->kernel = af_ze_kernel(kernel, local);
	is->local_x = local[0];
	is->local_y = local[1];
	is->local_z = local[2];
	if (!groups)
		return; /* the device reads how many there are */
	is->global_x = (uint64_t)groups->x * local[0];
	is->global_y = (uint64_t)groups->y * local[1];
	is->global_z = (uint64_t)groups->z * local[2];
}

/* Shared memory counts as the device's. */
static bool is_device_memory(const struct af_ze_call *c, const void *p, void **device)
{
	struct af_ze_memory_properties m = {.stype = AF_ZE_STYPE_MEMORY_PROPERTIES};

	*device = NULL;
	if (!c->list || !p || af_ze_next.zeMemGetAllocProperties(c->list->context, p, &m, device))
		return false;
	return m.type == AF_ZE_MEMORY_DEVICE || m.type == AF_ZE_MEMORY_SHARED;
}

void af_ze_copy_work(const struct af_ze_call *c, const void *to, const void *from, uint64_t bytes,
                     struct af_ev_descriptor *is)
{
	void *device_to, *device_from;
	bool into = is_device_memory(c, to, &device_to);
	bool out_of = is_device_memory(c, from, &device_from);

	is->bytes = bytes;
	if (into && out_of)
		is->op =
		    device_to && device_from && device_to != device_from ? AF_OP_PEER : AF_OP_COPY;
	else if (into)
		is->op = AF_OP_WRITE;
	else
		is->op = out_of ? AF_OP_READ : AF_OP_HOST;
}
