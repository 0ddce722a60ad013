/*
 * Folders with a trace of each rank of a parallel job, as `mpirun … aflame record` makes them:
 * lists the ranks, and finds the trace of one.
 */
#ifndef AF_CMD_SHARED_RANKS_H
#define AF_CMD_SHARED_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/command.h"

struct af_err;

/* The row of a reading command's option table. */
#define AF_RANK_OPTION(type)                                                                       \
	{                                                                                          \
		AF_OPT_STRING, "rank", 0, "N",                                                     \
		    "in a folder of ranks (mpirun, srun, torchrun), read the trace of rank N",     \
		    offsetof(type, rank)                                                           \
	}

struct af_ranks_query {
	const char *rank; /* a number, or NULL */
	bool lists;       /* the list of ranks may be the result: on standard output */
	bool json;        /* then: for programs */
};

/*
 * *@dir becomes the trace to read, which stays valid: it is unchanged unless it is a folder of
 * ranks. When no rank is requested, the ranks are listed: returns 1 if the list may be the result,
 * else -EISDIR with the list on standard error. -ENOENT: there is no such rank, and the message
 * lists the ranks. -EINVAL: the trace has no ranks, or the rank is not a number.
 */
int af_ranks_choose(const char **dir, const struct af_ranks_query *query, struct af_err *err);

/*
 * Call @each with the path of each trace in the folder of ranks @dir, by rank, until one fails with
 * other than -ENODATA. Returns how many did not fail; 0 as well when @dir is no folder of ranks; or
 * the failure, of the last when all failed.
 */
int af_ranks_each(const char *dir, int (*each)(void *arg, const char *path, struct af_err *err),
                  void *arg, struct af_err *err);

#endif
