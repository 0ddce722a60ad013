/*
 * The place where a trace is made: a directory of its name or, for a rank of a job, rank-0017 in a
 * folder of that name. An older trace is renamed or removed; anything else is left alone.
 *
 * Ranks start at the same instant on many hosts, any of them may be killed at any point, and the
 * folder may be on NFS. So no rank holds a lock. A rank makes the folder whole under another name,
 * with the job's key in it, and renames it to its own name, which fails when there is one already.
 * A folder of another job is renamed to a name that follows from its inode: a rank that comes late
 * finds that name taken, and can never set aside the folder that has come in its place.
 */
#ifndef AF_COLLECT_DISK_PLACE_H
#define AF_COLLECT_DISK_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/disk/room.h"
#include "trace/layout.h"

struct af_err;
struct af_job_rank;

#define AF_PLACE_DEFAULT AF_TRACE_DEFAULT

struct af_place_asked {
	/*
	 * A name, or a pattern of names (af_job_name). NULL: AF_PLACE_DEFAULT, or another name when
	 * something other than a trace has that name.
	 */
	const char *output;
	const struct af_job_rank *job;
	bool force; /* replace an old trace instead of keeping it as .old */
};

struct af_place {
	int dir_fd;            /* of the trace */
	char dir[1024];        /* its absolute path */
	char why[512];         /* why dir is not the default name; or "" */
	int in_fd;             /* the directory that it lies in */
	char name[256];        /* its name there */
	int job_in_fd;         /* the directory that the folder of the job lies in, or -1 */
	char job_name[256];    /* the folder's name there */
	uint64_t out_of_range; /* inode of the folder that this rank set aside, 0: none */
};

/*
 * Make the directory of a new trace. -EEXIST: something other than a trace has the name. -EBUSY: a
 * trace that is still being recorded has it. -EINVAL: the pattern is invalid. On failure nothing is
 * open.
 */
int af_place_make(struct af_place *p, const struct af_place_asked *asked, struct af_err *err);

/* The same at the path @path itself; @how tells what to do with an existing entry. */
int af_place_make_at(struct af_place *p, const char *path, enum af_room how, struct af_err *err);

/*
 * Remove the trace again, wherever it lies by now. Its name is removed only while it still belongs
 * to the trace.
 */
void af_place_unmake(struct af_place *p);

/*
 * The recording has ended: close everything. The rank that set the folder of another job aside
 * removes those that were set aside before: one is kept.
 */
void af_place_leave(struct af_place *p);

/* Is a recorder at work on the trace @dir_fd, or on one of the traces in it? */
bool af_place_is_recorded(int dir_fd);

#endif
