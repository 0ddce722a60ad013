/*
 * Folders with a trace of each rank of a job, as `mpirun … aflame record` makes them: which ranks
 * there are, and the trace of one.
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
		    "of a folder of ranks (mpirun, srun, torchrun), the trace of this one",        \
		    offsetof(type, rank)                                                           \
	}

struct af_ranks_asked {
	const char *rank; /* a number, or NULL */
	bool lists;       /* the list of ranks will do as an answer: on standard output */
	bool json;        /* then: for programs */
};

/*
 * *@dir becomes the trace to read, which stays valid: what it is, unless it is a folder of ranks.
 * Where none of these was asked for, they are listed: 1 where that is the answer, or else -EISDIR,
 * with the list on standard error. -ENOENT: there is no such rank, and the message has those there
 * are. -EINVAL: a trace has no ranks, or "x" is none.
 */
int af_ranks_choose(const char **dir, const struct af_ranks_asked *asked, struct af_err *err);

#endif
