/*
 * Stacks of addresses, for a trace builder: of profilers that leave symbols to the reader of their
 * files. With the mappings of the processes they are in the trace as they would be in a recording,
 * and are symbolized in the same way.
 *
 *	af_builder_mapping, af_builder_stack → af_builder_sample
 */
#ifndef AF_EXCHANGE_BUILDER_ADDRESSES_H
#define AF_EXCHANGE_BUILDER_ADDRESSES_H

#include <stdint.h>

#include "base/map.h"

struct af_builder;

enum { AF_BUILDER_BUILD_ID = 20 };

/* In a sample's node and kernel_node: it is a stack of addresses from af_builder_stack(). */
#define AF_BUILDER_ADDRESSES (1u << 31)

struct af_builder_mapping {
	uint64_t start, end, bias;
	uint32_t process; /* index */
	uint32_t epoch, flags;
	uint32_t path; /* of the builder's names */
	uint8_t build_id_len, build_id[AF_BUILDER_BUILD_ID];
};

struct af_builder_stack {
	uint64_t first; /* in pcs */
	uint32_t nr, epoch, stop;
	uint32_t defined; /* private to the writer: the stream in which it is defined */
};

struct af_builder_addresses {
	uint64_t *pcs;
	struct af_builder_stack *stacks;
	struct af_builder_mapping *mappings;
	uint64_t nr_pcs, cap_pcs;
	uint32_t nr_stacks, cap_stacks, nr_mappings, cap_mappings;
	struct af_map by_stack;
};

void builder_addresses_free(struct af_builder_addresses *a); /* a zeroed one is fine */

/* Add a mapping of a process. Mappings come in order of time, and epochs never decrease. */
void af_builder_mapping(struct af_builder *d, const struct af_builder_mapping *m);

/*
 * The id of the stack @pcs: leaf first, return addresses less one, as in STACK and KSTACK; @stop:
 * enum af_stop.
 */
uint32_t af_builder_stack(struct af_builder *d, const uint64_t *pcs, uint32_t nr, uint32_t epoch,
                          uint32_t stop);

#endif
