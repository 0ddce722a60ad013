/*
 * Compares the same program on 1, 2, 4, … ranks: how does the time of each function, call path and
 * API call grow, and which of them stops scaling first?
 *
 *	af_scale_open → for each set: af_scale_begin, { af_scale_add of a member }*
 *	→ af_scale_tables → af_scale_close
 *
 * With *strong* scaling all ranks together have the same work, so the ideal time of all ranks stays
 * the same; with *weak* scaling each rank has, so that of a rank does. What a row *loses* is the
 * time of a rank beyond that ideal, which comes from the set with the fewest ranks: of a path in
 * the slowest rank, for which others wait; of functions and calls on average. Its exponent is
 * b of total = a × ranks^b, fitted by least squares of the logarithms: ideally 0, or 1 of weak
 * scaling. Sampled time scatters: three standard deviations of the loss are its noise.
 */
#ifndef AF_ANALYSE_SCALE_SCALE_H
#define AF_ANALYSE_SCALE_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/table/table.h"
#include "analyse/tally/tally.h"

struct af_buf;
struct af_err;
struct af_scale;

enum { AF_SCALE_SETS = 16, AF_SCALE_EFFICIENT = 8000 }; /* hundredths of a percent */

/* Nothing to compare yet. The caller closes it. */
struct af_scale *af_scale_open(bool weak);
void af_scale_close(struct af_scale *s); /* NULL is fine */

/* The following members are of another set, called @name. At most AF_SCALE_SETS. */
void af_scale_begin(struct af_scale *s, const char *name);

/* The query's `own`: facts of a rank besides its results. */
struct af_scale_rank {
	struct af_tally calls; /* the first member, for af_pass_tally */
	uint64_t wall_ns;
};

/*
 * Add one rank of the set at hand: its trees of CPU and device time, by time, samples, count and
 * time off the CPU, and the calls of its APIs. Texts are copied.
 */
void af_scale_add(struct af_scale *s, const struct af_results *r, const struct af_scale_rank *rank);

/*
 * The set at hand as bytes, for another process of the same version of aflame; such bytes added to
 * the set at hand, whose members come before: -EBADMSG, and nothing was added; and the set at hand
 * without members.
 */
void af_scale_write(const struct af_scale *s, struct af_buf *to);
int af_scale_read(struct af_scale *s, const void *data, size_t size, struct af_err *err);
void af_scale_empty(struct af_scale *s);

/* The passes that this takes, NULL-terminated, and the answers of their query. */
extern const struct af_pass_ops *const af_scale_passes[];
#define AF_SCALE_ANSWERS (1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU | AF_ANSWER_TALLY)

/* How many ranks the set at hand has. */
uint32_t af_scale_ranks(const struct af_scale *s);

/* The row of "scale": a set. */
#define AF_SCALE_COLUMNS(C)                                                                        \
	C(set, "Set", AF_CELL_TEXT)                                                                \
	C(ranks, "Ranks", AF_CELL_COUNT)                                                           \
	C(wall_ns, "Wall", AF_CELL_NS)                                                             \
	C(speedup, "Speed-up", AF_CELL_TEXT)                                                       \
	C(efficiency, "Efficiency", AF_CELL_PERCENT)                                               \
	C(cpu_ns, "CPU, all ranks", AF_CELL_NS)                                                    \
	C(device_ns, "Device, all", AF_CELL_NS, AF_SHOW_USED)                                      \
	C(wait_ns, "Waits, all", AF_CELL_NS, AF_SHOW_USED)                                         \
	C(mpi_ns, "MPI, all", AF_CELL_NS, AF_SHOW_USED)
struct af_scale_row {
	AF_SCALE_COLUMNS(AF_ROW_CELL)
};

/*
 * The first columns of "scale_paths", "scale_functions" and "scale_calls". Behind them are, for
 *  each set from the smallest on, rank_ns_1, rank_ns_2, …: the time of a rank, for paths of the
 * slowest; and total_ns_1, …, of all ranks.
 */
#define AF_SCALE_PART_COLUMNS(C)                                                                   \
	C(name, "What", AF_CELL_TEXT)                                                              \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(stops_at, "Stops at", AF_CELL_COUNT)                                                     \
	C(lost_ns, "A rank loses", AF_CELL_NS)                                                     \
	C(noise_ns, "Noise", AF_CELL_NS, AF_SHOW_NEVER)                                            \
	C(efficiency, "Efficiency", AF_CELL_PERCENT)                                               \
	C(exponent, "Exponent", AF_CELL_TEXT)                                                      \
	C(exponent_percent, "Exponent", AF_CELL_PERCENT, AF_SHOW_NEVER, .change = true)            \
	C(full_path, "Path", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_scale_part_row {
	AF_SCALE_PART_COLUMNS(AF_ROW_CELL)
};

/*
 * Add the tables: "scale", then "scale_paths", "scale_functions" and "scale_calls" with the rows
 * that stop first at their beginning. Rows of less than @least hundredths of a percent of all
 * time in every set are left out. Once, when all sets are there.
 */
void af_scale_tables(struct af_scale *s, uint32_t least, struct af_tables *f);

#endif
