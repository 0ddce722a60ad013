/*
 * The counters of kernels, for the files of this room: kernels.c is the pass, kernels_join.c joins
 * readings of single works with them, and kernels_table.c makes the table.
 *
 * Works wait for the readings of their time. A reading of one piece of work comes before the work
 * or behind it, so each waits for the other, and so many works are kept at most: what is measured
 * is read soon after it ran.
 */
#ifndef AF_ANALYSE_COUNTERS_KERNELS_H
#define AF_ANALYSE_COUNTERS_KERNELS_H

#include "analyse/counters/curve.h"
#include "analyse/join/join.h"
#include "analyse/pass/pass.h"
#include "base/keys.h"
#include "base/map.h"
#include "base/strtab.h"

enum { KERNELS_WAITING = 1 << 20, KERNELS_DONE = 1 << 18 /* a power of two */ };

/* A kernel on a device. */
struct kernels_row {
	uint32_t name, process, device;
	uint64_t launches, time_ns;
};

/* A counter of a kernel. */
struct kernels_value {
	uint32_t row, counter;          /* indexes of the rows, and of w->counters */
	uint64_t measured;              /* launches */
	unsigned __int128 sum;          /* over those */
	uint64_t launches;              /* in times with readings */
	double apportioned, covered_ns; /* over those times, and how long they are, in ns */
};

struct kernels {
	struct af_strtab names;
	struct af_keys by_row;
	struct kernels_row *rows;
	struct af_map by_value; /* row and counter */
	struct kernels_value *values;
	uint32_t nr_rows, cap_rows, nr_values, cap_values;

	struct af_curve *curves; /* by index of w->counters */
	uint32_t cap_curves;
	struct af_map by_device; /* row and counter: 1, or 2 if its device is the row's, too */
	/* Works whose time has no readings yet. */
	struct kernels_waiting {
		uint32_t row;
		bool counts; /* as a launch: it began in the time range */
		uint64_t start_ns, end_ns;
	} * waiting;
	uint32_t nr_waiting, cap_waiting;

	/* Works without a reading of their own, and readings without their work. */
	struct af_join done, early;
	struct kernels_done {
		uint32_t process;
		uint64_t id;
	} * last_done; /* KERNELS_DONE of them, the oldest is replaced */
	uint64_t nr_done;
	struct kernels_early {
		uint32_t counter, next; /* next: index, 0 for none */
		uint64_t value;
	} * parts;
	uint32_t nr_parts, cap_parts;
	bool has_work_readings;
};

/* The value of a row and a counter, made at its first use. */
struct kernels_value *kernels_value(struct kernels *k, uint32_t row, uint32_t counter);

/* A piece of work of @row, and a reading, by the number of the call that asked for the work. */
void kernels_join_work(struct kernels *k, const struct af_work *work, uint32_t row);
void kernels_join_reading(struct kernels *k, const struct af_world *w, const struct af_event *ev);

/* A row of the table kernel_counters: what of @value was measured, or what was apportioned. */
struct kernels_table_row {
	uint64_t time_ns;
	const struct kernels_value *value;
	bool measured;
};

/* Add the table kernel_counters, and where counters are chosen, kernels_by_counter. */
void kernels_table(struct kernels *k, const struct af_world *w, struct af_results *out);
void kernels_columns(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                     const struct kernels_table_row *rows, uint32_t nr);

/* Texts live as long as the tables. kernels_process(): "" where all kernels are of one. */
const char *kernels_name(const struct kernels *k, struct af_tables *f, uint32_t row);
const char *kernels_process(const struct kernels *k, const struct af_world *w, struct af_tables *f,
                            uint32_t row);

/* The mean of a launch, or over the kernel's times, as a cell of AF_CELL_NUMBER. */
struct af_cell kernels_mean(const struct kernels_value *v, const struct af_world *w, bool measured);

#endif
