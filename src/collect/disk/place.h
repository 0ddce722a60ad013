/*
 * Where a trace is made. It lies in a directory of its name, or, of a rank of a job, in a folder
 * of that name: rank-0017. An older trace steps aside, anything else is left alone.
 *
 * Ranks start at the same instant on many hosts, any of them may be killed at any point, and the
 * folder may be on NFS. So nobody holds a lock: a folder is made whole under another name, with the
 * job's key in it, and renamed to its own, which fails where there is one already. A folder of
 * another job is renamed to a name that follows from its inode: whoever is late finds that name
 * taken, and can never set aside the folder that has come in its place.
 */
#ifndef AF_COLLECT_DISK_PLACE_H
#define AF_COLLECT_DISK_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/disk/room.h"

struct af_err;
struct af_job_rank;

#define AF_PLACE_DEFAULT "aflame.data"

struct af_place_asked {
	/* A name, or a pattern of them (af_job_name). NULL: AF_PLACE_DEFAULT, or another name where
	 * that is taken by what is no trace. */
	const char *output;
	const struct af_job_rank *job;
	bool force; /* replace an old trace instead of keeping it as .old */
};

struct af_place {
	int dir_fd;         /* of the trace */
	char dir[1024];     /* its absolute path */
	char why[512];      /* the default name could not be had, so dir is another one; or "" */
	int in_fd;          /* the directory that it lies in */
	char name[256];     /* its name there */
	int job_in_fd;      /* the directory that the folder of the job lies in, or -1 */
	char job_name[256]; /* the folder's name there */
	uint64_t aside;     /* inode of the folder that this rank set aside, 0: none */
};

/*
 * Make the directory of a new trace. -EEXIST: the name is taken by what is no trace. -EBUSY: by one
 * that is still being recorded. -EINVAL: the pattern makes no sense. On failure nothing is open.
 */
int af_place_make(struct af_place *p, const struct af_place_asked *asked, struct af_err *err);

/* The same at the path @path as it is, with what is there treated as @how says. */
int af_place_make_at(struct af_place *p, const char *path, enum af_room how, struct af_err *err);

/* Remove the trace again, wherever it lies by now; its name only while it is the trace's. */
void af_place_unmake(struct af_place *p);

/*
 * The recording has ended. Closes all; whoever set the folder of another job aside removes those
 * that were set aside before: one is kept.
 */
void af_place_leave(struct af_place *p);

/* Is a recorder at work on the trace @dir_fd, or on one of the traces in it? */
bool af_place_is_recorded(int dir_fd);

#endif
