/*
 * The tally: calls of APIs added up by function and by thread, of one trace or of those of many
 * ranks, and the tables that people get of them.
 *
 *	struct af_tally t = {0};
 *	query.own = &t, query.answers = AF_ANSWER_TALLY → af_load() → af_tally_join(&all, &t)
 *	… → af_tally_tables(&all) → af_tally_free()
 *
 * af_pass_tally adds the rows of a trace; rows own their texts, so they outlive its results. Joined
 * tallies have a row for what their group keeps apart, so their memory does not grow with traces.
 */
#ifndef AF_ANALYSE_TALLY_TALLY_H
#define AF_ANALYSE_TALLY_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/tally/stats.h"
#include "base/arena.h"
#include "base/keys.h"

struct af_buf;
struct af_cursor;
struct af_err;
struct af_tables;

/* How it is known that calls were made. */
enum af_tally_source {
	AF_TALLY_TIMED,   /* they were recorded in the program, with their times */
	AF_TALLY_SEEN,    /* by the kernel alone: they have no times */
	AF_TALLY_ENQUEUED /* OpenCL: by the work that they asked for; they have no times */
};

/* APIs that call each other are in different tables, as their times contain each other. */
enum af_tally_level {
	AF_TALLY_DEVICE,  /* drivers and what works like one: CUDA, OpenCL, Level Zero, HIP */
	AF_TALLY_RUNTIME, /* built on those: the CUDA runtime, OpenMP */
	AF_TALLY_MPI,
	AF_TALLY_LEVELS
};

enum af_tally_group {
	AF_TALLY_BY_FUNCTION,
	AF_TALLY_BY_HOST,
	AF_TALLY_BY_RANK,
	AF_TALLY_BY_PROCESS,
	AF_TALLY_BY_THREAD
};

/* Calls of one function by one thread; texts are "" where they are not known. */
struct af_tally_row {
	const char *function;
	const char *driver; /* of a runtime's function: the function of the driver */
	const char *api;    /* "CUDA" */
	const char *category;
	const char *host, *rank, *process, *thread; /* "rank 3", "train [101]", "main [102]" */
	enum af_tally_level level;
	enum af_tally_source source;
	bool moves; /* its bytes are moved, not allocated */
	struct af_call_stats stats;
};

/* A process as tables of other passes call it. */
struct af_tally_process {
	const char *label, *rank, *host;
};

struct af_tally {
	struct af_arena arena; /* of the texts */
	struct af_tally_row *rows;
	uint32_t nr, cap;
	struct af_tally_process *processes; /* of the last trace */
	uint32_t nr_processes, cap_processes;
	struct af_keys devices; /* that did work, by UUID where that is known */
	struct af_keys hosts;   /* with calls */
	struct af_keys by_key;  /* of joined tallies: the row of what a group keeps apart */
	uint64_t with_calls, threads_with_calls; /* processes, threads; of each trace its own */
	uint64_t nr_open;    /* calls that had not returned when recording ended */
	uint64_t nr_lost;    /* events that were not recorded, calls perhaps */
	uint64_t nr_strange; /* calls of functions that this version does not know */
};

/* Free the rows. A zeroed struct is fine. */
void af_tally_free(struct af_tally *t);

/*
 * Add @from to @to, where rows with one function and the same of what @group keeps apart are one.
 * @to was empty or joined by the same group. Texts are copied.
 */
void af_tally_join(struct af_tally *to, const struct af_tally *from, enum af_tally_group group);

/*
 * A tally as bytes, for another process of this version, and back into @t, an empty one; its texts
 * are those at @from. The reader trusts no byte: -EBADMSG.
 */
void af_tally_write(const struct af_tally *t, struct af_buf *to);
int af_tally_read(struct af_tally *t, struct af_cursor *from, struct af_err *err);

/*
 * Add to @f the tables "tally" (one row: how many hosts, processes, …), a table of calls for each
 * level that has any ("api_mpi", "api_runtime", "api") and one of its bytes ("messages",
 * "traffic_runtime", "traffic"), each with a total.
 * Calls with one function and the same of what @group asks for are one row. @percentiles: columns
 * of these are for people, too.
 */
void af_tally_tables(const struct af_tally *t, enum af_tally_group group, bool percentiles,
                     struct af_tables *f);

#endif
