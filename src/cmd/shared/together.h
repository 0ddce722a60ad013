/*
 * Reads a set on all CPUs and, where a launcher started several of us (mpirun, srun), in all
 * processes: each reads a part, and process 0 has the result of all.
 */
#ifndef AF_CMD_SHARED_TOGETHER_H
#define AF_CMD_SHARED_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/set/set.h"
#include "reduce/reduce.h"

struct af_err;

/* How a command reads members and adds them up; see analyse/set/read.h and reduce/reduce.h. */
struct af_together {
	const char *what; /* for the progress: "adding up ranks" */
	uint64_t jobs;    /* -j; 0: as many as there are CPUs */
	/* Called before members are read, with those that this process reads; or NULL. */
	void (*prepare)(void *sum, struct af_set *set, uint32_t first, uint32_t nr);
	void *(*read)(void *sum, const struct af_member *who, struct af_err *err);
	int (*take)(void *sum, const struct af_member *who, void *result, const struct af_err *why);
	void (*drop)(void *result);
	struct af_reduce_ops ops; /* of @sum */
	void *sum;
};

/*
 * Is it for another process alone to answer for @path: one trace, and not process 0 of a launcher?
 * Then this one has nothing to do.
 */
bool af_together_idle(const char *path);

/*
 * Read the set @path, or the one member of it that is a trace, into @how->sum. *@silent: another
 * process answers. *@set is the list of members, which the caller closes, also after a failure.
 */
int af_together_read(const struct af_together *how, const char *path, struct af_set *set,
                     bool *silent, struct af_err *err);

/* The same of a set that every process has listed: it becomes the list of process 0. */
int af_together_members(const struct af_together *how, struct af_set *set, bool *silent,
                        struct af_err *err);

/*
 * The same in steps, for several sets: af_together_open → { af_together_list → af_together_part }*
 * → af_reduce_close. A silent process (r->silent) makes the same calls as the others. So no process
 * leaves a set out: a failure of the list is that of all, and one of the part is process 0's alone.
 *
 * _open prints in a line why launched processes do not read together.
 */
void af_together_open(struct af_reduce *r);

/* List the set @path, which process 0 does for all; the caller closes it, also after a failure. */
int af_together_list(struct af_reduce *r, const char *path, struct af_set *set, struct af_err *err);

/* Read it: how->sum of process 0 is that of all members afterwards. */
int af_together_part(struct af_reduce *r, const struct af_together *how, struct af_set *set,
                     struct af_err *err);

/* The option -j, for the tables of commands. */
#define AF_JOBS_OPTION(type)                                                                       \
	{                                                                                          \
		AF_OPT_U64, "jobs", 'j', "N",                                                      \
		    "threads that read the traces of a set (AFLAME_JOBS, or all CPUs)",            \
		    offsetof(type, jobs)                                                           \
	}

#endif
