/*
 * Shared by the files of the heat map.
 */
#ifndef AF_ANALYSE_TIME_HEAT_PRIVATE_H
#define AF_ANALYSE_TIME_HEAT_PRIVATE_H

#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/time/heat.h"
#include "analyse/world/stack_locations.h"
#include "base/map.h"
#include "base/strtab.h"

/*
 * How much of each of equal stretches of time was covered, from time 0 on. An interval over many
 * stretches costs no more than a short one until the sums are needed.
 */
struct heat_bins {
	uint64_t each_ns;
	uint64_t *ns; /* by stretch, after heat_bins_settle() */
	uint32_t nr;

	/* private */
	int64_t *begins; /* intervals that begin in this stretch less those that ended before it */
	uint32_t cap;
};

/* Make the stretches @factor times as long. */
void heat_bins_coarsen(struct heat_bins *b, uint32_t factor);

/* Cover the time; the part in stretch @most or later is left out. False when that is all of it. */
bool heat_bins_add(struct heat_bins *b, uint64_t start_ns, uint64_t end_ns, uint32_t most);

/* Add all of @b to @a; both have stretches of one length. */
void heat_bins_join(struct heat_bins *a, struct heat_bins *b);

/* Bring b->ns up to date with all that was added; more may be added afterwards. */
void heat_bins_settle(struct heat_bins *b);
void heat_bins_free(struct heat_bins *b);

struct heat {
	struct heat_bins cells; /* of a map of devices */
	/* By cell: samples whose moments, or works whose starts, are in it */
	uint64_t *counts;
	uint32_t nr_counts, cap_counts;
	struct heat_bins series; /* finer, to find periods in */
	uint64_t weight_ns;      /* the longest time that a sample stood for */
	uint64_t end_ns;         /* latest end, since the first cell begins */
	uint64_t left_out;
	bool has_cpu, has_gpu;
	bool busy; /* some device work has a length */
	/* Instruction samples, which are shown when no work has a length. */
	struct heat_window {
		uint64_t start_ns, end_ns, samples;
		uint64_t ended_ns; /* a time of the trace */
		uint32_t process, device, interval;
	} * windows;
	uint32_t nr_windows, cap_windows;
	struct af_map by_window; /* process and id of those that are in windows */

	/* Intervals. */
	struct af_stack_locations stack_locations;
	struct af_map by_what; /* interval and place, or descriptor → ns; or code → samples */
	struct heat_interval {
		uint64_t count, ns;
	} * intervals;
	uint32_t nr_intervals, cap_intervals;
	/* When all is read: interval and name of the function or kernel → ns, or samples. */
	struct af_strtab names;
	struct af_map by_name;
	bool sampled_only; /* times are samples: no work has a length, but instructions were seen */
};

/* Free what is in it. */
void heat_free(struct heat *h);

/* The cells are long enough for a map that ends at @end_ns. */
void heat_until(struct heat *h, const struct af_heat *query, uint64_t end_ns);
/* Make cells ten times as long. */
void heat_cells_coarsen(struct heat *h);
/* Count in a cell; what is beyond the last one is left out. */
void heat_count_add(struct heat *h, uint64_t cell, uint64_t count);

/*
 * A sample at a stack location or, with NULL, work of a descriptor. Its moment is its end, for work
 * its start.
 */
struct heat_piece {
	const struct af_stack_location *at;
	uint32_t descriptor;
	bool out_of_range; /* the moment is not in the time range */
	uint64_t start_ns, end_ns;
};

/*
 * Add the piece @is to the intervals of asked->interval_ns that it lies in. Called only where the
 * query has intervals.
 */
void heat_intervals_add(struct heat *h, const struct af_heat *query, const struct heat_piece *is);

/*
 * The same for instruction samples, in the place of work: they are spread evenly over their window.
 * Its code is what attribution found in the windows of an interval; NULL: nothing.
 */
void heat_intervals_sampled(struct heat *h, const struct af_world *w, const struct af_heat *query,
                            const struct af_attribution *found);

/* Names of what intervals have, for which the world is needed. */
void heat_intervals_names(struct heat *h, const struct af_world *w, const struct af_heat *query);

/* The tables; the first cell begins at @from_ns. */
void heat_tables(struct heat *h, const struct af_heat *query, uint64_t from_ns,
                 struct af_tables *f);
void heat_intervals_table(const struct heat *h, const struct af_heat *query, uint64_t from_ns,
                          struct af_tables *f);

#endif
