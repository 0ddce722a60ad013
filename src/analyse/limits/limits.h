/*
 * The table `limits`: how the machine held the program back, a row for each device and limit. Times
 * are of the device's work if the trace has work of any device, and else of all with readings.
 */
#ifndef AF_ANALYSE_LIMITS_LIMITS_H
#define AF_ANALYSE_LIMITS_LIMITS_H

#include "analyse/table/table.h"

/* L(NAME, word for programs) */
#define AF_LIMITS(L)                                                                               \
	L(THROTTLED, "throttled")                                                                  \
	L(MEMORY_FULL, "memory-full")                                                              \
	L(SHARED, "shared-device")                                                                 \
	L(NEIGHBOUR_BUSY, "busy-neighbour")                                                        \
	L(NEIGHBOUR_HOT, "hot-neighbour")                                                          \
	L(LINK_FULL, "full-link")

enum af_limit_kind {
#define AF_L(NAME, word) AF_LIMIT_##NAME,
	AF_LIMITS(AF_L)
#undef AF_L
	    AF_LIMIT_KINDS
};

enum {
	AF_LIMIT_MEMORY_PERCENT = 95, /* of the device's memory in use: it is nearly full */
	AF_LIMIT_BUSY_PERCENT = 10,   /* a device that is less busy does not count as busy */
	AF_LIMIT_LINK_PERCENT = 80    /* of what a PCIe link moves: headers take part of the rest */
};

#define AF_LIMIT_COLUMNS(C)                                                                        \
	C(kind, "Kind", AF_CELL_TEXT, AF_SHOW_NEVER, .merge = AF_MERGE_KEY) /* of AF_LIMITS */     \
	C(limit, "Limit", AF_CELL_TEXT, .merge = AF_MERGE_KEY) /* the counter's name */            \
	C(device, "Device", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                   \
	C(time_ns, "Time", AF_CELL_NS)                                                             \
	C(of_ns, "Of", AF_CELL_NS)                                                                 \
	C(of, "Of what", AF_CELL_TEXT, .merge = AF_MERGE_KEY)                                      \
	C(from_ns, "From", AF_CELL_NS, .merge = AF_MERGE_MIN) /* as --from and --to count */       \
	C(to_ns, "To", AF_CELL_NS, .merge = AF_MERGE_MAX)                                          \
	C(value, "Then", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN) /* the clock, or what was full */ \
	C(otherwise, "Else", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN,                               \
	  .of = "of_ns")                                               /* or the most there is */  \
	C(unit, "Unit", AF_CELL_TEXT, .merge = AF_MERGE_KEY)           /* of these two */          \
	C(power_w, "Power, W", AF_CELL_NUMBER, .merge = AF_MERGE_MEAN) /* then */                  \
	C(most_celsius, "Up to, °C", AF_CELL_NUMBER, .merge = AF_MERGE_MAX)                        \
	C(link, "Link", AF_CELL_TEXT, AF_SHOW_USED,                                                \
	  .merge = AF_MERGE_KEY) /* "generation 4 of 5, …" */
struct af_limit_row {
	AF_LIMIT_COLUMNS(AF_ROW_CELL)
};

/* The word of a kind, for programs; a constant. */
const char *af_limit_word(enum af_limit_kind kind);

#endif
