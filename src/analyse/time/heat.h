/*
 * When was it busy? FlameScope's heat map: each column is a second or another period, and rows are
 * parts of the period, so that events at the same point of every period form a line. A cell for
 * CPUs counts the samples whose moments are in it. A cell for devices has their busy time in it,
 * which is more than its length where several pieces of work ran at once. Where no work has a
 * length but instructions were sampled, it counts these samples.
 *
 * The pass answers AF_ANSWER_OWN with a struct af_heat in asked.own, which says what is asked, and
 * leaves tables among the facts:
 *
 *	heat        a row for each cell that is not empty, in order of time
 *	heat_about  one row: the meaning of the cells
 *	periods     what is periodic, as in period.h; at most one row
 *	intervals   where asked.own has an interval: each with what took most of it
 *
 * Times are since the trace began. They start at asked.from_ns, and only the requested time range
 * is covered.
 */
#ifndef AF_ANALYSE_TIME_HEAT_H
#define AF_ANALYSE_TIME_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/table/table.h"

enum {
	AF_HEAT_ROWS = 50,
	AF_HEAT_COLUMNS = 40, /* the period is the longest with so many columns, a second at most */
	AF_HEAT_CELLS = 1 << 22, /* later cells are left out */
	AF_HEAT_INTERVALS = 1 << 20
};

struct heat;
struct af_pass_ops;
struct af_query;

struct af_heat {
	bool gpu;             /* device work, else CPU samples */
	uint64_t period_ns;   /* of a column; 0: chosen */
	uint64_t interval_ns; /* of the table of intervals; 0: none */

	/*
	 * For a trace of a set, which is one map: a time of the trace as one of the set, where the
	 * cells begin, and the part of the map that it has, which the owner of this closes. With
	 * NULL, times are since the trace began, and the tables are among the facts.
	 */
	uint64_t (*place)(const struct af_heat *heat, uint64_t time_ns);
	const void *arg; /* for place() */
	uint32_t member; /* the same */
	uint64_t from_ns;
	struct heat *kept;

	/* Results. */
	bool has_cpu, has_gpu; /* does the time range have any? */
};

/* A row of the table "heat", "heat_about", "intervals", "periods". */
#define AF_HEAT_CELL_COLUMNS(C, counted, measured)                                                 \
	C(column, "Column", AF_CELL_COUNT)                                                         \
	C(row, "Row", AF_CELL_COUNT)                                                               \
	C(start_ns, "Start", AF_CELL_NS)                                                           \
	C(count, counted, AF_CELL_COUNT)                                                           \
	C(time_ns, measured, AF_CELL_NS)
struct af_heat_cell_row {
	AF_HEAT_CELL_COLUMNS(AF_ROW_CELL, "", "")
};

#define AF_HEAT_ABOUT_COLUMNS(C)                                                                   \
	C(view, "View", AF_CELL_TEXT)                                                              \
	C(period_ns, "Column", AF_CELL_NS)                                                         \
	C(rows, "Rows", AF_CELL_COUNT)                                                             \
	C(columns, "Columns", AF_CELL_COUNT)                                                       \
	C(from_ns, "From", AF_CELL_NS)                                                             \
	C(to_ns, "To", AF_CELL_NS)                                                                 \
	C(left_out, "Left out", AF_CELL_COUNT,                                                     \
	  AF_SHOW_USED) /* samples or works beyond the last cell */
struct af_heat_about_row {
	AF_HEAT_ABOUT_COLUMNS(AF_ROW_CELL)
};

#define AF_HEAT_INTERVAL_COLUMNS(C, counted, measured, most_in)                                    \
	C(from_ns, "From", AF_CELL_NS)                                                             \
	C(to_ns, "To", AF_CELL_NS)                                                                 \
	C(count, counted, AF_CELL_COUNT)                                                           \
	C(time_ns, measured, AF_CELL_NS, AF_SHOW_USED)                                             \
	C(function, most_in, AF_CELL_TEXT)                                                         \
	C(share, "Share", AF_CELL_PERCENT)
struct af_heat_interval_row {
	AF_HEAT_INTERVAL_COLUMNS(AF_ROW_CELL, "", "", "")
};

#define AF_PERIOD_COLUMNS(C)                                                                       \
	C(period_ns, "Period", AF_CELL_NS)                                                         \
	C(strength_percent, "Strength", AF_CELL_PERCENT)                                           \
	C(per_minute, "A minute", AF_CELL_COUNT)
struct af_period_row {
	AF_PERIOD_COLUMNS(AF_ROW_CELL)
};

/*
 * The pass that answers @heat, and how @query asks it: the owner sets `own` and the time range. It
 * attributes samples of instructions where kernels of intervals are requested.
 */
const struct af_pass_ops *af_heat_pass(const struct af_heat *heat, struct af_query *query);

/*
 * Add the part of @one, a trace of a set, to @all, which asks the same. @one keeps nothing. The
 * outcome does not depend on how the traces are grouped.
 */
void af_heat_join(struct af_heat *all, struct af_heat *one);

/* The tables of all that was joined. Nothing, where no trace was. */
void af_heat_tables(struct af_heat *all, struct af_tables *f);

/* Free what is kept. */
void af_heat_close(struct af_heat *all);

#endif
