/*
 * The rows in what zetMetricGroupCalculateMultipleMetricValuesExp gives for the metric group
 * EuStallSampling: an address, and how often threads were there for each reason. Pure: all counts
 * and lengths are a driver's, and none is believed.
 */
#ifndef AF_COLLECT_ZET_VALUES_H
#define AF_COLLECT_ZET_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/xe/rows.h"
#include "collect/zet/abi.h"

enum {
	AF_ZET_COLUMNS_MOST = 64,
	AF_ZET_COLUMN_ADDRESS = -1, /* in units of 8 bytes */
	AF_ZET_COLUMN_IGNORED = -2, /* no count, such as a time */
};

/* The metrics of the group, in order: a column of rows each. */
struct af_zet_columns {
	uint32_t nr;
	int8_t is[AF_ZET_COLUMNS_MOST]; /* enum af_xe_reason, or as above */
	bool has_address;
	uint32_t nr_unknown; /* counts of a name that is not known, which are OtherStall here */
};

/*
 * Append a metric. Columns from the 65th on are ignored, but a row is as long as there are metrics.
 * Names are those of the Level Zero specification.
 */
void af_zet_columns_add(struct af_zet_columns *c, const char *name, uint32_t type);

/*
 * Hand each row to @take. @values has @nr_values, which are of @nr_sets sets one behind the other,
 * with as many values as @set_values says; each set begins with a row. Counts above UINT32_MAX, of
 * all value types, are that; those below 0 are 0. Returns how often a set ended within a row, or
 * beyond the values.
 */
uint32_t af_zet_values_rows(const struct af_zet_columns *c, const struct zet_typed_value *values,
                            uint32_t nr_values, const uint32_t *set_values, uint32_t nr_sets,
                            void (*take)(void *arg, const struct af_xe_row *row), void *arg);

#endif
