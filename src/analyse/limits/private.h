/* Inside src/analyse/limits. */
#ifndef AF_ANALYSE_LIMITS_PRIVATE_H
#define AF_ANALYSE_LIMITS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/counters/curve.h"
#include "analyse/pass/pass.h"
#include "base/map.h"

/* A part of the union of a device's work: @busy_ns of the time from its start to its end. */
struct limits_interval {
	uint64_t start_ns, end_ns, busy_ns;
};

struct limits_busy {
	struct limits_interval *all;
	uint32_t nr, cap;
	uint32_t tidy;      /* so many are in order and apart */
	uint64_t closed_ns; /* shorter gaps than this are closed */
};

enum limits_role {
	LIMITS_NONE,
	LIMITS_THROTTLE, /* 1 while the device is throttled */
	LIMITS_CLOCK,
	LIMITS_POWER,
	LIMITS_CELSIUS,
	LIMITS_BUSY, /* percent */
	LIMITS_MEMORY,
	LIMITS_TRAFFIC, /* bytes a second over PCIe, in one direction */
	LIMITS_GENERATION,
	LIMITS_LANES,
	LIMITS_MOST_GENERATION,
	LIMITS_MOST_LANES,
	LIMITS_ROLES
};

/* A level, or an amount a second. The curve has its value, in the counter's unit, times ns. */
struct limits_series {
	bool is_known;
	enum limits_role role;
	uint64_t first_ns;    /* its first reading; 0: there is none */
	uint64_t was_ns, was; /* the last one, if it was of a moment; @was_ns 0: it was not */
	struct af_curve curve;
};

/* A device as a process numbers it, with its work. */
struct limits_device {
	uint32_t process, device;
	struct limits_busy busy;
};

struct limits {
	struct limits_series *series; /* by counter of the world */
	uint32_t cap_series;
	struct limits_device *devices;
	uint32_t nr_devices, cap_devices;
	struct af_map by_device;
};

/*
 * busy.c: work may come in any order. _append: all of @from, too; _tidy: make @b its union, in
 * order.
 */
void limits_busy_add(struct limits_busy *b, uint64_t start_ns, uint64_t end_ns, uint64_t busy_ns);
void limits_busy_append(struct limits_busy *to, const struct limits_busy *from);
void limits_busy_tidy(struct limits_busy *b);

/* How much of the time from @from_ns to @to_ns was busy; @b is tidy. */
double limits_busy_ns(const struct limits_busy *b, uint64_t from_ns, uint64_t to_ns);

/*
 * over.c: the time in which @is holds for a curve's value, and means of other curves then (`on`)
 * and else (`off`): NULL for those that are not there. Where @busy is NULL all time counts.
 */
struct limits_over {
	const struct limits_busy *busy;
	const struct af_time_range *in; /* readings are cut to it; works are already */
	bool idle;                      /* the time between its works, instead */
	const struct af_curve *of[3];
	/* How much of a piece with this mean value counts, 0 to 1. */
	double (*part)(double value, double limit);
	double limit;

	double on_ns, all_ns; /* of the time with a value */
	uint64_t first_ns, last_ns;
	struct limits_mean {
		double sum, ns;
	} on[3], off[3], value_on; /* @value_on: of the curve itself */
	double most[3];            /* the largest mean of a piece, while it holds */
};

/* Go through all of @by and add it up into @o, whose sums are zero before. */
void limits_over(struct limits_over *o, const struct af_curve *by);

/* @part: as it is, from 0 to 1; all of it from @limit on. */
double limits_part_level(double value, double limit);
double limits_part_from(double value, double limit);

/* link.c: bytes a second that a PCIe link moves in one direction; 0: nobody knows. */
double limits_link_bytes(double generation, double lanes);

/* table.c */
void limits_table(struct limits *l, const struct af_world *w, struct af_results *out);

#endif
