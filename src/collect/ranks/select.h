/*
 * Which ranks of a job are recorded. Each rank decides for itself, by its launcher's variables. The
 * others run as if aflame were not there.
 */
#ifndef AF_COLLECT_RANKS_SELECT_H
#define AF_COLLECT_RANKS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct af_err;
struct af_job_rank;
struct af_launch;

/* A rank is recorded if all that are given fit. */
struct af_rank_selection {
	const char *ranks; /* "0-3,64", or NULL */
	const char *hosts; /* "one", or names of hosts: "node1,node2"; or NULL */
	uint64_t every;    /* every so many, from rank 0 on; 0: all */
};

/* Is @rank in @list, "0-3,64"? 1, 0, or -EINVAL: it is no list of ranks. */
int af_rank_in_list(uint64_t rank, const char *list);

/*
 * Is this rank recorded? 1 or 0. -EINVAL: the selection makes no sense. -ENOENT: no launcher made
 * this process a rank. Both with a message.
 */
int af_rank_select(const struct af_rank_selection *s, const struct af_job_rank *job,
                   const struct af_launch *l, struct af_err *err);

/* The selection as it is written on a command line: "--ranks 0-3 --every 2"; "" for all. */
void af_rank_selection_text(const struct af_rank_selection *s, char *text, size_t size);

#endif
