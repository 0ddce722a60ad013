/*
 * Which weights of a trace the values of another profiler are. A unit says what they measure: time,
 * bytes, or how many; of several of a kind one is taken, as a trace has one column of each.
 */
#ifndef AF_EXCHANGE_TEXT_WEIGHTS_H
#define AF_EXCHANGE_TEXT_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct af_draft;
struct af_draft_sum;

enum import_weight {
	IMPORT_WEIGHT_TIME,
	IMPORT_WEIGHT_SAMPLES,
	IMPORT_WEIGHT_COUNT,
	IMPORT_WEIGHT_BYTES,
	IMPORT_WEIGHT_OFF_CPU,
	IMPORT_WEIGHTS,
	IMPORT_WEIGHT_NONE = IMPORT_WEIGHTS
};

/* A kind of value: "cpu" in "nanoseconds". */
struct import_value_type {
	const char *type, *unit;
	enum import_weight weight; /* by import_weight_of(), NONE for what is not taken */
	uint64_t scale;            /* nanoseconds or bytes of one; 1 of what is counted */
};

enum { IMPORT_VALUE_TYPES = 64 };

/* Fill in weight and scale from what @t is called. */
void import_weight_of(struct import_value_type *t);

/*
 * Of @nr types leave at most one of each weight: the one called @preferred, else what is of its
 * family ("inuse_space" has "inuse_objects"), else the last. A note of @d says which was taken for
 * what, and which not. How many are not. With @sum those of a kind add up, as a
 * stack has one of them only; but of samples, which are of CPUs or of devices, it is the first.
 */
uint32_t import_weights_choose(struct import_value_type *types, uint32_t nr, const char *preferred,
                               bool sum, struct af_draft *d);

/* Add @value of @t to @s, scaled; what cannot be is counted in @d. */
void import_weight_add(struct af_draft *d, struct af_draft_sum *s,
                       const struct import_value_type *t, int64_t value);

#endif
