/*
 * Compares the ranks of a job: it finds ranks that behave alike and odd ones, the call path that
 * the others wait for, and what each rank did over time.
 *
 *	af_ranks_open → for each member: af_analyse() with AF_RANKS_PASSES → af_ranks_add
 *	→ af_ranks_end → read, af_ranks_tables → af_ranks_close
 *
 * A rank is kept as its *profile*: times by kind and call path, of which small subtrees are added
 * to their parents, and what it did in a few hundred stretches of time. That takes some kilobytes
 * of each rank, whatever the size of its trace; the names of paths are kept once.
 */
#ifndef AF_ANALYSE_RANKS_RANKS_H
#define AF_ANALYSE_RANKS_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/pass/pass.h"
#include "analyse/ranks/activity.h"
#include "analyse/set/set.h"

struct af_buf;
struct af_err;
struct af_ranks;

/* The answers and weights that a rank's query needs, besides `own`, its struct af_activity. */
#define AF_RANKS_ANSWERS (1 << AF_VIEW_CPU | 1 << AF_VIEW_GPU | AF_ANSWER_OWN)
#define AF_RANKS_WEIGHTS                                                                           \
	(1 << AF_WEIGHT_TIME | 1 << AF_WEIGHT_SAMPLES | 1 << AF_WEIGHT_COUNT |                     \
	 1 << AF_WEIGHT_OFF_CPU)

/* Those passes, NULL-terminated. */
extern const struct af_pass_ops *const af_ranks_passes[];

/* The time of a rank, and where it differs from the typical rank. */
struct af_rank {
	const struct af_member *who; /* a copy that the ranks own */
	uint64_t wall_ns;
	uint64_t kinds_ns[AF_RANK_KINDS];
	uint32_t group; /* index of the groups */
	bool odd;

	/* These are set for odd ranks, and for the typical rank of each group but the first. */
	bool has_cause;
	enum af_rank_kind kind; /* the time that differs */
	uint32_t path;          /* node of the paths: the end of the call path that differs most */
	bool less;              /* it has less of it than the typical rank */
	uint64_t has_ns, typical_ns;
	double noise_ns; /* three standard deviations of the difference, by sampling */
	uint64_t delay_ns, explains_ns; /* it comes later by so much; all others wait, together */
};

struct af_rank_group {
	uint32_t nr, typical; /* members; the rank nearest to their median */
	uint64_t mean_ns[AF_RANK_KINDS];
};

/* The result. */
struct af_ranks_result {
	struct af_rank *ranks; /* in the order in which they were added */
	uint32_t nr;
	struct af_rank_group *groups; /* the largest first */
	uint32_t nr_groups;
	uint32_t *odd; /* indexes of odd ranks: who explains most of the job's time first */
	uint32_t nr_odd;
	uint64_t wall_ns;            /* of the median rank */
	bool has_waits;              /* waits off the CPU were recorded */
	const struct af_tree *paths; /* for af_rank.path */
};

/* No ranks yet. The caller closes them. */
struct af_ranks *af_ranks_open(void);
void af_ranks_close(struct af_ranks *all); /* NULL is fine */

/*
 * Add a rank: @who is copied, @r and the activity in its query stay the caller's, and may be closed
 * afterwards.
 */
void af_ranks_add(struct af_ranks *all, const struct af_member *who, const struct af_results *r);

/*
 * The ranks so far as bytes, for another process of the same version of aflame; and such bytes
 * added to ranks that come before: the outcome is that of adding them all here. A reader trusts no
 * byte: -EBADMSG, and nothing was added. Before _end.
 */
void af_ranks_write(const struct af_ranks *all, struct af_buf *to);
int af_ranks_read(struct af_ranks *all, const void *data, size_t size, struct af_err *err);

/* Compare all ranks; once. The result is @all's, and lives as long. */
const struct af_ranks_result *af_ranks_end(struct af_ranks *all);

/*
 * The call path of @path for people, the innermost function last: "main > step > extra_work". At
 * most @most frames of its end, 0: all. Lives as long as @f.
 */
const char *af_ranks_path(struct af_tables *f, const struct af_tree *paths, uint32_t path,
                          uint32_t most);

/*
 * The path in @paths of @node of a rank's tree @t, whose parent has the path @parent; it is made
 * when it is new. Processes, gaps and frames before main(), which only some stacks have, have no
 * path of their own: @parent.
 */
uint32_t af_ranks_path_of(struct af_tree *paths, uint32_t parent, const struct af_tree *t,
                          uint32_t node);

/*
 * By node of @from, which is a tree of paths: its path in @paths, made when it is new. The caller
 * frees it.
 */
uint32_t *af_ranks_paths_join(struct af_tree *paths, const struct af_tree *from);

/* The rows of "ranks", "rank_groups", "odd_ranks". */
#define AF_RANK_COLUMNS(C)                                                                         \
	AF_MEMBER_COLUMNS(C)                                                                       \
	C(group, "Group", AF_CELL_COUNT)                                                           \
	C(odd, "Odd", AF_CELL_TEXT, AF_SHOW_USED)                                                  \
	C(cpu_ns, "Sampled", AF_CELL_NS, AF_SHOW_USED)                                             \
	C(device_ns, "Device", AF_CELL_NS, AF_SHOW_USED)                                           \
	C(disk_ns, "Disk, locks", AF_CELL_NS, AF_SHOW_USED)                                        \
	C(mpi_ns, "MPI", AF_CELL_NS, AF_SHOW_USED)                                                 \
	C(wait_ns, "Waits", AF_CELL_NS, AF_SHOW_USED)                                              \
	C(queued_ns, "For a CPU", AF_CELL_NS, AF_SHOW_NEVER)                                       \
	C(wall_ns, "Wall", AF_CELL_NS, AF_SHOW_NEVER)                                              \
	C(why, "Why", AF_CELL_TEXT, AF_SHOW_USED)
struct af_rank_row {
	AF_RANK_COLUMNS(AF_ROW_CELL)
};

#define AF_RANK_GROUP_COLUMNS(C)                                                                   \
	C(group, "Group", AF_CELL_COUNT)                                                           \
	C(nr_ranks, "Ranks", AF_CELL_COUNT)                                                        \
	C(ranks, "Which", AF_CELL_TEXT)                                                            \
	C(typical, "Typical", AF_CELL_TEXT)                                                        \
	C(host, "All on host", AF_CELL_TEXT, AF_SHOW_USED)                                         \
	C(cpu_ns, "CPU", AF_CELL_NS, AF_SHOW_USED)                                                 \
	C(device_ns, "Device", AF_CELL_NS, AF_SHOW_USED)                                           \
	C(disk_ns, "Disk, locks", AF_CELL_NS, AF_SHOW_USED)                                        \
	C(mpi_ns, "MPI", AF_CELL_NS, AF_SHOW_USED)                                                 \
	C(wait_ns, "Waits", AF_CELL_NS, AF_SHOW_USED)                                              \
	C(differs_by, "Differs by", AF_CELL_TEXT, AF_SHOW_USED)
struct af_rank_group_row {
	AF_RANK_GROUP_COLUMNS(AF_ROW_CELL)
};

#define AF_ODD_RANK_COLUMNS(C)                                                                     \
	C(rank, "Rank", AF_CELL_TEXT)                                                              \
	C(explains_ns, "Others wait", AF_CELL_NS)                                                  \
	C(delay_ns, "Later by", AF_CELL_NS)                                                        \
	C(share, "Of its run", AF_CELL_PERCENT)                                                    \
	C(kind, "Kind", AF_CELL_TEXT)                                                              \
	C(has_ns, "Has", AF_CELL_NS)                                                               \
	C(typical_ns, "Typical", AF_CELL_NS)                                                       \
	C(noise_ns, "Noise", AF_CELL_NS, AF_SHOW_NEVER)                                            \
	C(path, "Most of it in", AF_CELL_TEXT)                                                     \
	C(function, "Function", AF_CELL_TEXT, AF_SHOW_NEVER)                                       \
	C(full_path, "Path", AF_CELL_TEXT, AF_SHOW_NEVER)                                          \
	C(number, "Number", AF_CELL_COUNT, AF_SHOW_NEVER)                                          \
	C(group, "Group", AF_CELL_COUNT, AF_SHOW_NEVER)                                            \
	C(host, "Host", AF_CELL_TEXT, AF_SHOW_NEVER)                                               \
	C(trace, "Trace", AF_CELL_TEXT, AF_SHOW_NEVER)
struct af_odd_rank_row {
	AF_ODD_RANK_COLUMNS(AF_ROW_CELL)
};

/*
 * Add the tables "odd_ranks", "rank_groups" and "ranks", the last with a row for each of the @set's
 * members, also for those that were not added.
 */
void af_ranks_tables(const struct af_ranks *all, const struct af_set *set, struct af_tables *f);

/* The name of a kind for programs ("device") and for people ("device"). */
const char *af_rank_kind_name(enum af_rank_kind kind);
const char *af_rank_kind_title(enum af_rank_kind kind);

enum { AF_RANKS_BINS = 200 };

/* Rank by time. The caller frees it by af_ranks_heat_close(). */
struct af_ranks_heat {
	uint64_t start_ns, each_ns; /* of a bin; start on the clock of the reference */
	uint32_t nr_bins, nr;       /* nr: rows, one a rank, in the order of the result */
	/* By row, bin and kind: parts in 10,000 of a bin; of several threads more. */
	uint32_t *cells;
	const char *clocks; /* how well hosts are aligned, for people: "" for one clock */
};

/* The time at which what is known of a rank begins, on its own clock. */
uint64_t af_ranks_start_ns(const struct af_ranks *all, uint32_t rank);

/*
 * Lay the activities of all ranks over one another, in at most AF_RANKS_BINS bins. After _end.
 * @shifts (NULL: all 0), by rank, are added to the times of its clock for those of the reference.
 */
void af_ranks_heat(const struct af_ranks *all, const int64_t *shifts, struct af_ranks_heat *to);
void af_ranks_heat_close(struct af_ranks_heat *h);

static inline const uint32_t *af_ranks_heat_at(const struct af_ranks_heat *h, uint32_t row,
                                               uint32_t bin)
{
	return h->cells + ((size_t)row * h->nr_bins + bin) * AF_RANK_KINDS;
}

/* The table "heat" has a row for each rank and bin in which the rank did something. */
#define AF_RANK_HEAT_COLUMNS(C)                                                                    \
	C(rank, "Rank", AF_CELL_TEXT)                                                              \
	C(bin, "Bin", AF_CELL_COUNT)                                                               \
	C(start_ns, "From", AF_CELL_NS)                                                            \
	C(cpu, "CPU", AF_CELL_PERCENT)                                                             \
	C(device, "Device", AF_CELL_PERCENT)                                                       \
	C(disk, "Disk, locks", AF_CELL_PERCENT)                                                    \
	C(mpi, "MPI", AF_CELL_PERCENT)                                                             \
	C(wait, "Waits", AF_CELL_PERCENT)                                                          \
	C(queued, "For a CPU", AF_CELL_PERCENT)
struct af_rank_heat_row {
	AF_RANK_HEAT_COLUMNS(AF_ROW_CELL)
};

/* Add the table "heat" to @f. */
void af_ranks_heat_table(const struct af_ranks *all, const struct af_ranks_heat *h,
                         struct af_tables *f);

#endif
