/* What the files of the heat map share. */
#ifndef AF_ANALYSE_TIME_HEAT_PRIVATE_H
#define AF_ANALYSE_TIME_HEAT_PRIVATE_H

#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/time/heat.h"
#include "analyse/world/places.h"
#include "base/map.h"

/*
 * How much of each of equal stretches of time was covered, from time 0 on. What covers many costs
 * no more than what covers few, until somebody looks.
 */
struct heat_bins {
	uint64_t each_ns;
	uint64_t *ns; /* by stretch, after heat_bins_settle() */
	uint32_t nr;

	/* private */
	int64_t *begins; /* how many cover this one and those after it, less how many do no more */
	uint32_t cap;
};

/* Make them @factor times as long. */
void heat_bins_coarsen(struct heat_bins *b, uint32_t factor);

/* Cover the time; what is in stretch @most or after it is left out: false when all of it is. */
bool heat_bins_add(struct heat_bins *b, uint64_t start_ns, uint64_t end_ns, uint32_t most);

/* Bring b->ns up to date with all that was added; more may be added afterwards. */
void heat_bins_settle(struct heat_bins *b);
void heat_bins_free(struct heat_bins *b);

struct heat {
	struct heat_bins cells; /* of a map of devices */
	uint64_t *counts;       /* by cell: samples whose moments, works whose starts are in it */
	uint32_t nr_counts, cap_counts;
	struct heat_bins series; /* finer, to find periods in */
	uint64_t weight_ns;      /* the longest that a sample stood for */
	uint64_t end_ns;         /* of all, since the first cell begins */
	uint64_t left_out;
	bool has_cpu, has_gpu;
	bool busy; /* some work of devices has a length */
	/* Samples of their instructions, which are shown where none has. */
	struct heat_window {
		uint64_t start_ns, end_ns, samples;
	} * windows;
	uint32_t nr_windows, cap_windows;
	struct af_map by_window; /* process and id → number in windows */
	/* What was found in them, where intervals are asked for. */
	struct heat_sampled {
		uint32_t process, window, code; /* as the process numbers them */
		uint64_t samples;
	} * sampled;
	uint32_t nr_sampled, cap_sampled;

	/* Intervals. */
	struct af_places places;
	struct af_map by_what; /* interval and place, or shape → ns; or code → samples */
	struct heat_interval {
		uint64_t count, ns;
	} * intervals;
	uint32_t nr_intervals, cap_intervals;
};

/* A sample of a place or, NULL, work of a shape. Its moment is its end or, of work, its start. */
struct heat_piece {
	const struct af_place *at;
	uint32_t shape;
	bool aside; /* the moment is not within what is asked for */
	uint64_t start_ns, end_ns;
};

/*
 * Add the piece @is to the intervals of asked->interval_ns that it lies in. Called only where the
 * query has intervals.
 */
void heat_intervals_add(struct heat *h, const struct af_heat *asked, const struct heat_piece *is);

/* Samples of instructions, in the place of work: each was taken some time in its window, evenly. */
void heat_intervals_sampled(struct heat *h, const struct af_world *w, const struct af_heat *asked);

/* The tables. */
void heat_tables(struct heat *h, const struct af_world *w, struct af_results *out);
void heat_intervals_table(const struct heat *h, const struct af_world *w, struct af_results *out);

#endif
