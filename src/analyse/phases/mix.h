/* Between the files that look for an even mix of functions: samples by part of the run. */
#ifndef AF_ANALYSE_PHASES_MIX_H
#define AF_ANALYSE_PHASES_MIX_H

#include "analyse/phases/private.h"
#include "analyse/tree/tree.h"

enum {
	MIX_PARTS = 20,
	MIX_FEATURES = 64 /* functions that are looked at: those whose shares change most */
};
#define MIX_DIFFER 0.10 /* of a share, besides its error: still about the same */

struct phase_sample {
	uint64_t at_ns;
	uint32_t weight_ns, location;
};

struct mix_part {
	uint32_t nr, loading; /* samples; of them importing, linking or compiling */
	uint64_t cpu_ns;
	uint32_t of[MIX_FEATURES]; /* samples with the function in their stack */
};

struct mix {
	const struct phase_sample *samples; /* in order of time */
	uint32_t nr;
	uint64_t start_ns, end_ns; /* of all samples */
	struct af_tree tree;       /* stacks without their processes */
	uint32_t nr_locations;
	uint32_t *nodes; /* by location */
	bool *loads;     /* by location */
	uint64_t *sets;  /* by location: bits of the functions that are looked at */
	uint32_t nr_parts, nr_features;
	struct mix_part parts[MIX_PARTS];
};

/* Give the locations of all samples their functions: once, before mix_cut(); mix_free() ends it. */
void mix_names(struct mix *x, const struct af_stack_locations *locations, const struct af_world *w);
void mix_free(struct mix *x);

/* Cut the run into @nr_parts, choose the functions to look at, and count. */
void mix_cut(struct mix *x, uint32_t nr_parts);

/* The part in which the @i-th sample lies. */
uint32_t mix_part_of(const struct mix *x, uint32_t i);

/*
 * The times of the steady part that has the parts [@from, @to): from_ns, error_ns and to_ns of
 * @found. It may begin in the part before, or in the first of them; likewise its end.
 */
void mix_edges(const struct mix *x, uint32_t from, uint32_t to, struct phase_mixed *found);

#endif
