/*
 * Reports of a time-based metric group, as zetMetricGroupCalculateMultipleMetricValuesExp gives
 * them: which metrics are counters, their values as whole numbers, and when a report was made.
 * Pure: all counts, lengths and values are a driver's, and none is believed.
 */
#ifndef AF_COLLECT_ZET_REPORTS_H
#define AF_COLLECT_ZET_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/zet/abi.h"

enum {
	AF_ZET_METERS_MOST = 512, /* metrics of a group that are recorded */
	AF_ZET_PARTS_MOST = 8,    /* of a device */
	AF_ZET_MILLIONTHS = 1000000,
};

/* A metric as a counter. */
struct af_zet_meter {
	bool is_counter; /* times and addresses are none */
	bool is_amount;  /* it adds up over time; else it is a level */
	uint32_t per;    /* of a whole number: millionths where the driver gives fractions */
};

struct af_zet_meters {
	uint32_t nr; /* of the group, also beyond those that are recorded */
	struct af_zet_meter all[AF_ZET_METERS_MOST];
	int span_at;  /* of the metric that has the nanoseconds of a report, from 1; 0: none has */
	int stamp_at; /* of the one that has the device's time, in nanoseconds, from 1 */
};

/* Append a metric, as zetMetricGetProperties describes it. Names and units end with a NUL. */
void af_zet_meters_add(struct af_zet_meters *m, const char *name, const char *units, uint32_t type,
                       uint32_t value_type);

/*
 * @v in @per, rounded. False: it is negative, not a number, too large, or of a type that is not
 * known.
 */
bool af_zet_value_whole(const struct zet_typed_value *v, uint32_t per, uint64_t *whole);

/*
 * The device's clock against ours. A report is read some time after it was made, and the least of
 * these times is close to none; that is forgotten slowly, as clocks drift.
 */
struct af_zet_clock {
	bool is_known;
	uint64_t offset_ns; /* ours minus the device's, modulo 2^64 */
	uint64_t stamp_ns, read_ns;
};

struct af_zet_clocks {
	struct af_zet_clock all[AF_ZET_PARTS_MOST];
};

/* A report of a part of the device. */
struct af_zet_report {
	uint32_t part;
	uint64_t time_ns; /* its end, on our clock; never after it was read */
	uint64_t span_ns;
	const struct zet_typed_value *values; /* as many as there are metrics */
};

/* Where reports lie: @values has @nr_values, of @nr_sets parts one behind the other. */
struct af_zet_reports {
	const struct zet_typed_value *values;
	const uint32_t *set_values; /* how many are of each part */
	uint32_t nr_values, nr_sets;
	uint64_t read_ns;   /* when they were read */
	uint64_t period_ns; /* the time of one that does not tell it */
};

/*
 * Hand each report to @take, those of a part in order. Returns how often a part's values ended
 * within a report or beyond all values; parts beyond AF_ZET_PARTS_MOST count so, too.
 */
uint32_t af_zet_reports_take(const struct af_zet_meters *m, struct af_zet_clocks *clocks,
                             const struct af_zet_reports *reports,
                             void (*take)(void *arg, const struct af_zet_report *report),
                             void *arg);

#endif
