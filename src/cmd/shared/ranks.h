/*
 * Folders with a trace of each rank of a parallel job, as `mpirun … aflame record` makes them:
 * commands that read all of them, those that read one, and the list.
 */
#ifndef AF_CMD_SHARED_RANKS_H
#define AF_CMD_SHARED_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/command.h"

struct af_err;
struct af_set;
struct af_tables;

/* The row of a reading command's option table. */
#define AF_RANK_OPTION(type)                                                                       \
	{                                                                                          \
		AF_OPT_STRING, "rank", 0, "N",                                                     \
		    "in a folder of ranks (mpirun, srun, torchrun), read the trace of rank N",     \
		    offsetof(type, rank)                                                           \
	}

struct af_ranks_query {
	const char *rank; /* a number, or NULL */
	bool all;         /* the command reads a folder of ranks as a whole: af_load() */
	bool *is_set;     /* if not NULL: whether it does that now */
};

/*
 * *@dir becomes the trace to read, which stays valid: it is unchanged unless it is a folder of
 * ranks and a rank is requested. When none is, and the command does not read all, the ranks are
 * listed on standard error: -EISDIR. -ENOENT: there is no such rank, and the message lists the
 * ranks. -EINVAL: the trace has no ranks, or the rank is not a number.
 */
int af_ranks_choose(const char **dir, const struct af_ranks_query *query, struct af_err *err);

/*
 * The same for a command that reads a folder of ranks as a whole unless one is requested; *@is_set:
 * it does so now.
 */
int af_ranks_or_set(const char **dir, const char *rank, bool *is_set, struct af_err *err);

/*
 * Open the set at @dir, if that is a folder of ranks: 1, and the caller closes it. 0: it is none,
 * and nothing is open. -ENODATA: it is one of a job of which nothing was recorded yet.
 */
int af_ranks_set(const char *dir, struct af_set *set, struct af_err *err);

/* Add the table `ranks` to @f: a row for each member, as it is now. */
void af_ranks_table(const struct af_set *set, struct af_tables *f);

#endif
