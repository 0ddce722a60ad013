/*
 * Shared by the files of the pass `blocked`.
 */
#ifndef AF_ANALYSE_FUNCTIONS_BLOCKED_PRIVATE_H
#define AF_ANALYSE_FUNCTIONS_BLOCKED_PRIVATE_H

#include <stdint.h>

#include "analyse/tree/tree.h"
#include "analyse/world/stack_locations.h"
#include "base/keys.h"
#include "base/map.h"

struct af_tables;
struct af_world;

/* Waits of a thread at a stack location, in one state. */
struct blocked_sum {
	uint32_t place, state, tid;
	uint64_t ns, count, longest_ns;
	uint64_t counted_ns; /* of the waits that count */
};

struct blocked {
	struct af_stack_locations stack_locations;
	struct af_keys by_sum;
	struct blocked_sum *sums;
	uint32_t nr, cap;
};

/* Sums by the node of their path: paths with equal names are one row. */
struct blocked_rows {
	struct af_tree tree;
	struct blocked_sum *by_node; /* place holds the node */
	uint32_t *nodes;             /* by sum */
	uint64_t all_ns;
};

/* blocked_threads.c: the table of the longest wait of each thread. */
void blocked_threads(const struct blocked *b, const struct blocked_rows *r,
                     const struct af_world *w, struct af_tables *f);

#endif
