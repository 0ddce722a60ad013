/*
 * Maps the values of another profiler to the weights of a trace. The unit tells what a value
 * measures: time, bytes, or a count. Of several values of one kind one is taken, because a trace
 * has one column of each.
 */
#ifndef AF_EXCHANGE_TEXT_WEIGHTS_H
#define AF_EXCHANGE_TEXT_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct af_builder;
struct af_builder_sum;

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
	enum import_weight weight; /* by import_weight_of(), NONE when it is not taken */
	uint64_t scale;            /* nanoseconds or bytes in one unit; 1 for counts */
};

enum { IMPORT_VALUE_TYPES = 64 };

/* Fill in weight and scale from the names of @t. */
void import_weight_of(struct import_value_type *t);

/*
 * Keep at most one of each weight of the @nr types: the one called @preferred, else one of the same
 * family ("inuse_space" has "inuse_objects"), else the last. A note of @d tells which were taken as
 * what, and which were not. Returns the number of those that were not. With @sum, types of one kind
 * add up, because a stack has only one of them; but of samples, which are of CPUs or of devices,
 * the first is taken.
 */
uint32_t import_weights_choose(struct import_value_type *types, uint32_t nr, const char *preferred,
                               bool sum, struct af_builder *d);

/* Add @value of @t to @s, scaled; invalid values are counted in @d. */
void import_weight_add(struct af_builder *d, struct af_builder_sum *s,
                       const struct import_value_type *t, int64_t value);

#endif
