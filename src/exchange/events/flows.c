#include "exchange/events/flows.h"

#include <stdlib.h>

#include "base/arena.h"
#include "exchange/builder/builder.h"

void import_flows_add(struct import_flows *flows, struct import_flow flow)
{
	AF_GROW(flows->all, flows->nr, flows->cap);
	flows->all[flows->nr++] = flow;
}

static int flow_order(const void *a, const void *b)
{
	const struct import_flow *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->end != y->end)
		return x->end ? 1 : -1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

void import_flows_join(struct import_flows *flows, struct af_builder *d, uint64_t base_ns)
{
	AF_SORT(flows->all, flows->nr, flow_order);
	for (uint64_t i = 0; i + 1 < flows->nr; i++) {
		const struct import_flow *from = &flows->all[i], *to = from + 1;
		if (from->id != to->id || from->end || !to->end)
			continue;
		struct af_builder_link link = {from->ns + base_ns, to->ns + base_ns, from->thread,
		                               to->thread};
		af_builder_link(d, &link);
	}
	free(flows->all);
	*flows = (struct import_flows){0};
}
