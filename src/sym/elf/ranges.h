/*
 * Finds which of many overlapping address ranges covers an address. Where several do, the one with
 * the highest priority wins; among equals the one added last. Built once, then read-only, so any
 * number of threads may query it.
 *
 *	{ af_ranges_add }* → af_ranges_build → { af_ranges_find }* → af_ranges_free
 */
#ifndef AF_SYM_ELF_RANGES_H
#define AF_SYM_ELF_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AF_RANGES_NONE UINT32_MAX

struct af_ranges {
	/* The added ranges; freed by the build. */
	struct af_range {
		uint64_t start, end;
		uint32_t priority, value;
		uint32_t order;
	} * items;
	size_t nr, cap;
	bool unsorted;

	/* Segments that do not overlap: segment i is from starts[i] to starts[i + 1]. */
	uint64_t *starts;
	uint32_t *values;
	uint32_t nr_segments;
	/* First segment of each slice of 1 << shift bytes from starts[0], to skip most of the
	 * search. */
	uint32_t *slices;
	uint32_t nr_slices;
	unsigned shift;
};

/* A zeroed struct is empty: it covers nothing. */
void af_ranges_free(struct af_ranges *r);

/* From @start to before @end; an empty range is ignored. @value is not AF_RANGES_NONE. */
void af_ranges_add(struct af_ranges *r, uint64_t start, uint64_t end, uint32_t priority,
                   uint32_t value);
void af_ranges_build(struct af_ranges *r);

/* The value at @address or AF_RANGES_NONE. A few ns. */
uint32_t af_ranges_find(const struct af_ranges *r, uint64_t address);

#endif
