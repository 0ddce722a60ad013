/*
 * Stacks of addresses, for a trace builder: of profilers that leave symbols to the reader of their
 * files. With the mappings of the processes they are in the trace as they would be in a recording,
 * and are symbolized in the same way.
 *
 *	af_draft_mapping, af_draft_stack → af_draft_sample
 */
#ifndef AF_EXCHANGE_BUILDER_ADDRESSES_H
#define AF_EXCHANGE_BUILDER_ADDRESSES_H

#include <stdint.h>

#include "base/map.h"

struct af_draft;

enum { AF_DRAFT_BUILD_ID = 20 };

/* In a sample's node and kernel_node: it is a stack of addresses from af_draft_stack(). */
#define AF_DRAFT_ADDRESSES (1u << 31)

struct af_draft_mapping {
	uint64_t start, end, bias;
	uint32_t process; /* index */
	uint32_t generation, flags;
	uint32_t path; /* of the draft's names */
	uint8_t build_id_len, build_id[AF_DRAFT_BUILD_ID];
};

struct af_draft_stack {
	uint64_t first; /* in pcs */
	uint32_t nr, generation, stop;
	uint32_t defined; /* private to the writer: the stream in which it is defined */
};

struct af_draft_addresses {
	uint64_t *pcs;
	struct af_draft_stack *stacks;
	struct af_draft_mapping *mappings;
	uint64_t nr_pcs, cap_pcs;
	uint32_t nr_stacks, cap_stacks, nr_mappings, cap_mappings;
	struct af_map by_stack;
};

void draft_addresses_free(struct af_draft_addresses *a); /* a zeroed one is fine */

/* Add a mapping of a process. Mappings come in order of time, and generations never decrease. */
void af_draft_mapping(struct af_draft *d, const struct af_draft_mapping *m);

/*
 * The id of the stack @pcs: leaf first, return addresses less one, as in STACK and KSTACK; @stop:
 * enum af_stop.
 */
uint32_t af_draft_stack(struct af_draft *d, const uint64_t *pcs, uint32_t nr, uint32_t generation,
                        uint32_t stop);

#endif
