/* Command lists that are executed: each of their nodes becomes a piece of work. */
#include "inject/ze/ze.h"

#include "inject/core/inject.h"
#include "inject/ze/metric.h"

/*
 * Its event must show when this launch completes. Events of ours are reset; one of the program's
 * that it did not reset has stamps, which this launch will replace. Where the launch before has not
 * completed, nobody could tell the two apart before both have.
 */
static void node_prepare(struct af_ze_node *n)
{
	struct af_ze_kernel_timestamp t;

	n->overtakes = n->is_stale = false;
	if (!n->event || !n->ran)
		return;
	if (af_ze_work_waits(n->work, n->correlation)) {
		af_ze_work_event_ends(n->work, n->event);
		n->overtakes = true;
	} else if (n->is_ours) {
		af_ze_next.zeEventHostReset(n->event);
		if (n->query)
			af_ze_query_again(n->query);
	} else if (!af_ze_next.zeEventQueryStatus(n->event) &&
	           !af_ze_next.zeEventQueryKernelTimestamp(n->event, &t)) {
		n->is_stale = true;
		n->stale = t.global.start;
	}
}

void af_ze_execute(uint32_t nr, void **lists)
{
	for (uint32_t i = 0; lists && i < nr; i++) {
		struct af_ze_list *l = af_ze_list(lists[i]);
		if (l && l->ran_on)
			af_ze_harvest(l->ran_on);
		for (uint32_t k = 0; l && k < l->nr_nodes; k++)
			node_prepare(&l->nodes[k]);
	}
}

bool af_ze_has_work(uint32_t nr, void **lists)
{
	for (uint32_t i = 0; lists && i < nr; i++) {
		const struct af_ze_list *l = af_ze_list(lists[i]);
		if (l && l->nr_nodes)
			return true;
	}
	return false;
}

static void node_launch(struct af_ze_call *c, struct af_ze_lane *lane,
                        const struct af_ze_list *list, struct af_ze_node *n)
{
	struct af_ze_launched w = {
	    .lane = lane,
	    .event = n->event,
	    .correlation = c->correlation,
	    .launched_ns = c->begin_ns,
	    .node = n->id,
	    .overtakes = n->overtakes,
	    .is_stale = n->is_stale,
	    .stale = n->stale,
	    .query = n->query,
	    .queries = list->queries,
	    .descriptor = n->descriptor,
	};

	n->ran = true;
	w.descriptor.queue = lane->id;
	n->correlation = c->correlation;
	n->work = af_ze_work_push(&w);
	if (n->work && !n->is_ours)
		af_ze_event_works(n->event, n->work);
}

void af_ze_executed(struct af_ze_call *c, struct af_ze_lane *lane, uint32_t nr, void **lists)
{
	for (uint32_t i = 0; lists && i < nr; i++) {
		struct af_ze_list *l = af_ze_list(lists[i]);
		for (uint32_t k = 0; l && k < l->nr_nodes; k++)
			node_launch(c, lane, l, &l->nodes[k]);
		if (l)
			l->ran_on = lane;
	}
	af_ze_tick(c->begin_ns);
	af_ze_harvest_some(lane);
}
