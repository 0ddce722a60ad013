/* Inside src/analyse/energy. */
#ifndef AF_ANALYSE_ENERGY_PRIVATE_H
#define AF_ANALYSE_ENERGY_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/attribution/attribution.h"
#include "analyse/counters/curve.h"
#include "analyse/pass/pass.h"
#include "base/keys.h"
#include "base/strtab.h"

/* Works of one kind, from one call path, on one device. */
struct energy_row {
	struct af_launch_group_key is;
	uint32_t name; /* of energy.names: of the kernel, or of what else it did */
	uint32_t next; /* in the same row of the table, plus 1; 0: it is the last */
	uint64_t works, time_ns;
	double joule,
	    alone_joule; /* once shared; @alone_joule: of readings in which it ran alone */
};

struct energy_work {
	uint64_t start_ns, end_ns;
	uint32_t row;
};

/* A counter of power or of energy. */
struct energy_meter {
	bool is_power;         /* else an amount of energy */
	uint64_t was_ns, was;  /* power: the last reading; @was_ns 0: none */
	struct af_curve joule; /* over time */
	uint64_t first_ns, last_ns, readings;
};

struct energy {
	struct energy_meter *meters; /* by counter of the world */
	uint32_t cap_meters;
	struct energy_row *rows;
	uint32_t nr_rows, cap_rows;
	struct af_keys by_row;
	struct af_strtab names;
	struct energy_work *works;
	size_t nr_works, cap_works;
};

/* The joules that a device took; the rows have their parts of @busy. */
struct energy_sums {
	double idle, busy;
	double scale; /* the device's counter over integrated power; 1: it has no such counter */
	bool scaled;  /* both are there */
	uint64_t idle_ns, longest_ns; /* in which nothing ran; between two readings */
	double period_ns;             /* mean, of readings */
};

/*
 * Share what the meters of one device have among rows of its works. @power and @counter are meters,
 * one may be NULL; only time in @in counts; @is_of says which rows are of the device.
 */
struct energy_sums energy_share(struct energy *e, const struct energy_meter *power,
                                const struct energy_meter *counter, const struct af_time_range *in,
                                const bool *is_of);

/*
 * draw.c: the same energy in the trees of devices' work, in mJ. _works: @mj of a row of the table,
 * shared among its works, of which @first is the first plus 1; _idle: of a device without work.
 */
struct energy_draw;
struct energy_draw *energy_draw_open(const struct energy *e, const struct af_world *w,
                                     struct af_results *out);
void energy_draw_works(struct energy_draw *d, uint32_t first, double joule, uint64_t mj);
void energy_draw_idle(struct energy_draw *d, const char *device, uint64_t mj);
void energy_draw_close(struct energy_draw *d);

/* The table, and rows of idle time; nothing where no device has readings. */
void energy_table(struct energy *e, const struct af_world *w, struct af_results *out);

#endif
