/*
 * Values of counters, of devices and of the host: what events hold, and their units. A value is a
 * whole number of which `per` of its struct af_counter are one unit. Levels are means of their
 * spans; amounts of spans add up.
 */
#ifndef AF_ANALYSE_COUNTERS_COUNTERS_H
#define AF_ANALYSE_COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"
#include "analyse/world/world.h"
#include "trace/kinds.h"

/* Rates and table cells count thousandths of a unit. */
enum { AF_COUNTER_SCALE = 1000 };

#define AF_COUNTER_COLUMNS(C)                                                                      \
	C(counter, "Counter", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                 \
	C(mean, "Mean", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN, .of = "mean_of")                   \
	C(min, "Min", AF_CELL_NUMBER, .merge = AF_MERGE_MIN)                                       \
	C(max, "Max", AF_CELL_NUMBER, .merge = AF_MERGE_MAX)                                       \
	C(unit, "Unit", AF_CELL_TEXT, .merge = AF_MERGE_KEY) /* of these three */                  \
	C(total, "Total", AF_CELL_NUMBER, AF_SHOW_USED)      /* of amounts */                      \
	C(total_unit, "Total in", AF_CELL_TEXT, AF_SHOW_USED)                                      \
	C(readings, "Readings", AF_CELL_COUNT)                                                     \
	C(covered_ns, "Covered", AF_CELL_NS, AF_SHOW_USED) /* their spans, added up */             \
	C(covered_percent, "Of the run", AF_CELL_PERCENT, AF_SHOW_USED, .merge = AF_MERGE_MEAN,    \
	  .of = "readings")                                                                        \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(group, "Group", AF_CELL_TEXT, AF_SHOW_USED, .merge = AF_MERGE_KEY)                       \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_USED)                                          \
	C(mean_of, "Mean of", AF_CELL_COUNT, AF_SHOW_NEVER) /* of the mean: ns, or readings */
struct af_counter_row {
	AF_COUNTER_COLUMNS(AF_ROW_CELL)
};

/* How a value of kernel_counters was found: `how`. */
#define AF_COUNTER_MEASURED "measured"       /* over works of the kernel alone */
#define AF_COUNTER_APPORTIONED "apportioned" /* over their times, in which others ran, too */

#define AF_KERNEL_COUNTER_COLUMNS(C)                                                               \
	C(kernel, "Kernel", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(counter, "Counter", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                 \
	C(mean, "Mean", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN, .of = "mean_of")                   \
	C(unit, "Unit", AF_CELL_TEXT, .merge = AF_MERGE_KEY) /* of mean and total */               \
	C(total, "Total", AF_CELL_NUMBER, AF_SHOW_USED)      /* of amounts that were measured */   \
	C(how, "How", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                         \
	C(measured, "Measured", AF_CELL_COUNT) /* launches with a value, or in readings */         \
	C(launches, "Of launches", AF_CELL_COUNT)                                                  \
	C(covered_ns, "Covered", AF_CELL_NS, AF_SHOW_USED) /* of the kernel's time, by readings */ \
	C(kernel_ns, "Kernel's time", AF_CELL_NS)                                                  \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(process, "Process", AF_CELL_TEXT, AF_SHOW_USED)                                          \
	C(mean_of, "Mean of", AF_CELL_COUNT, AF_SHOW_NEVER) /* of the mean */
struct af_kernel_counter_row {
	AF_KERNEL_COUNTER_COLUMNS(AF_ROW_CELL)
};

/* The values of a READING or WORK_READING. */
struct af_counter_values {
	uint32_t process;
	uint64_t start_ns, end_ns; /* of a READING; the same: of the moment */
	uint64_t call;             /* of a WORK_READING, as the next */
	uint32_t node;
	const uint8_t *at; /* of the next two */
	uint32_t left;
};

/* False when @ev is neither, or malformed. The bytes are those of @ev. */
bool af_counter_values(const struct af_event *ev, struct af_counter_values *values);

/*
 * The next value, of *@counter, an index of w->counters; values of counters that no event defined
 * are left out. False at the end.
 */
bool af_counter_next(struct af_counter_values *values, const struct af_world *w, uint32_t *counter,
                     uint64_t *value);

static inline bool af_counter_adds_up(const struct af_counter *c)
{
	return c->flags & AF_COUNTER_AMOUNT;
}

/* Is a part of its name in @list, words between commas, in capitals or not? NULL has all. */
bool af_counter_chosen(const struct af_counter *c, const char *list);

/* @amount in @ns as thousandths a second, at most UINT64_MAX; 0 for no time. */
uint64_t af_counter_rate(unsigned __int128 amount, uint64_t ns);

/* @value / @per as the cell of an AF_CELL_NUMBER; it is at most UINT64_MAX. */
uint64_t af_counter_cell(unsigned __int128 value, uint64_t per);

/* The same of a value with a fraction. */
uint64_t af_counter_cell_of(double value, uint64_t per);

/* The unit of @c, or of its rate: "W", "bytes/s", "1/s". Lives as long as the tables. */
const char *af_counter_unit(struct af_tables *f, const struct af_counter *c, bool rate);

#define AF_COUNTER_HOST "host"

/* The name of its device for tables, AF_COUNTER_HOST for none. Lives as long as the tables. */
const char *af_counter_device(struct af_tables *f, const struct af_world *w,
                              const struct af_counter *c);

/*
 * Is the device of @c the device @device of @process, or what that is a part of? By numbers in one
 * process; else by PCI address or UUID; else, of the recorder's own, because it has one GPU.
 */
bool af_counter_is_of(const struct af_world *w, const struct af_counter *c, uint32_t process,
                      uint32_t device);

#endif
