/* Inside src/analyse/energy. */
#ifndef AF_ANALYSE_ENERGY_PRIVATE_H
#define AF_ANALYSE_ENERGY_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/attribution/attribution.h"
#include "analyse/counters/curve.h"
#include "analyse/pass/pass.h"
#include "analyse/world/stack_locations.h"
#include "base/keys.h"
#include "base/strtab.h"

/* Works of one kind, from one call path, on one device; or samples of CPUs, of one stack. */
struct energy_row {
	struct af_launch_group_key is; /* of samples only its process and `doing` */
	uint32_t place;                /* of energy.cpu_stacks, plus 1: of samples; 0: of works */
	uint32_t name;                 /* of energy.names: of the kernel, or of what else it did */
	uint32_t next;                 /* in the same row of the table, plus 1; 0: it is the last */
	uint64_t works, time_ns;
	/* Once shared. Of readings in which it ran alone; how far @joule may be off. */
	double joule, alone_joule, error_joule;
};

struct energy_work {
	uint64_t start_ns, end_ns;
	uint32_t row;
};

/* A counter of power or of energy. */
struct energy_meter {
	bool is_power;         /* else an amount of energy */
	bool is_package;       /* of CPUs */
	bool is_of_spans;      /* what was taken between two readings is known, not only at them */
	uint64_t was_ns, was;  /* power: the last reading; @was_ns 0: none */
	double was_watt;       /* the same, of power */
	struct af_curve joule; /* over time */
	uint64_t first_ns, last_ns, readings;
};

struct energy {
	struct energy_meter *meters; /* by counter of the world */
	uint32_t cap_meters;
	struct energy_row *rows;
	uint32_t nr_rows, cap_rows;
	struct af_keys by_row;
	struct af_map by_place; /* of cpu_stacks << 32 | doing → its row */
	struct af_stack_locations cpu_stacks;
	uint32_t nr_looked_at; /* counters of the world */
	bool has_package;      /* among them: samples matter */
	struct af_strtab names;
	struct energy_work *works;
	size_t nr_works, cap_works;
};

/* The joules that a device took; the rows have their parts of @busy. */
struct energy_sums {
	double idle, busy;
	double idle_error; /* how far @idle may be off */
	double scale;    /* the device's counter over integrated power; 1: it has no such counter */
	bool scaled;     /* both are there */
	bool is_bounded; /* errors are known: there are neighbouring readings */
	uint64_t idle_ns, longest_ns; /* in which nothing ran; between two readings */
	double period_ns;             /* mean, of readings */
};

/*
 * Share what the meters of one device have among rows of its works, and add that to what the rows
 * have. @power and @counter are meters, one may be NULL; only time in @in counts; @is_of says which
 * rows are of the device.
 *
 * Between two readings the power may be any that neighbouring readings have, and so what a row took
 * may be off by the difference for as long as it ran; where the energy of that time is known and
 * the row ran alone, it is not off. Where power is scaled, so is that, and what scaling added or
 * took is added to it.
 */
struct energy_sums energy_share(struct energy *e, const struct energy_meter *power,
                                const struct energy_meter *counter, const struct af_time_range *in,
                                const bool *is_of);

/*
 * energy.c: is @c the energy of a CPU package? cpu.c: the rows of CPUs. _sample keeps a sample, if
 * there is a meter of packages; _row finds the row of a stack; _name names it by its innermost
 * frame, in @t, a tree for that, when all names are known.
 */
bool energy_is_package(const struct af_counter *c);
void energy_cpu_sample(struct energy *e, const struct af_world *w, const struct af_sample *s);
uint32_t energy_cpu_row(struct energy *e, const struct af_stack_location *at, uint32_t doing);
void energy_cpu_name(struct energy *e, const struct af_world *w, struct af_tree *t,
                     struct energy_row *row);

/*
 * draw.c: the same energy in the trees of devices' work and of CPUs, in mJ. _works: @mj of a row of
 * the table, shared among its works, of which @first is the first plus 1; _idle: of a device
 * without work, or of CPUs.
 */
struct energy_draw;
struct energy_draw *energy_draw_open(const struct energy *e, const struct af_world *w,
                                     struct af_results *out);
void energy_draw_works(struct energy_draw *d, uint32_t first, double joule, uint64_t mj);
void energy_draw_idle(struct energy_draw *d, const char *device, bool cpu, uint64_t mj);
void energy_draw_close(struct energy_draw *d);

/* The table, and rows of idle time; nothing where no device has readings. */
void energy_table(struct energy *e, const struct af_world *w, struct af_results *out);

#endif
