/*
 * Arrows of a file of events: from an operator to the one that runs backwards for it. Their ends
 * come in any order, and an id joins them.
 */
#ifndef AF_EXCHANGE_EVENTS_FLOWS_H
#define AF_EXCHANGE_EVENTS_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

struct af_builder;

/* One end of an arrow. */
struct import_flow {
	uint64_t ns;
	uint32_t id, thread;
	bool end;
};

/* A zeroed struct is empty. */
struct import_flows {
	struct import_flow *all;
	uint64_t nr, cap;
};

/* Keep one end; the other may come later. */
void import_flows_add(struct import_flows *flows, struct import_flow flow);

/*
 * Give the builder a link for each beginning and end with one id, their times moved by @base_ns,
 * and free the flows. Ends without the other end are left out.
 */
void import_flows_join(struct import_flows *flows, struct af_builder *d, uint64_t base_ns);

#endif
