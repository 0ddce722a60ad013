/* A trace whose recorder was killed: what it left in shared memory is brought home. */
#ifndef AF_COLLECT_DISK_RECOVER_H
#define AF_COLLECT_DISK_RECOVER_H

struct af_err;

/*
 * 0: the trace in the directory @dir_fd, which messages call @dir, is finished (or no trace at all:
 * the reader will say so). 1: it was not, its streams are complete now, and names may be added
 * before af_recovered(). 2: it was not, and cannot be, as its disk is read-only, or it was not
 * recorded here: it reads as it is. -EBUSY: a recorder is at work on it. The .session file is not
 * trusted: only a directory that is ours, private, in /dev/shm and that names this very trace is
 * touched.
 */
int af_recover(int dir_fd, const char *dir, struct af_err *err);

/* Mark it finished. */
void af_recovered(int dir_fd);

/*
 * Is the trace in @dir_fd one of ours that only lacks its names, as there was no room for them?
 * Then a descriptor, to be closed when they have been tried; negative where it is not, where they
 * cannot be written, or where somebody is at it.
 */
int af_unnamed_begin(int dir_fd);
void af_unnamed_end(int dir_fd);

/*
 * @path where that is a shared directory of a recorder's and this user's alone: a descriptor, else
 * negative.
 */
int af_recover_shm_open(const char *path);

/*
 * Shared memory that recorders of this user left who were killed and whose traces have been deleted
 * since: nobody can finish those.
 */
void af_recover_sweep(void);

/* Remove what is there for those who watch (live.h): copies of the trace that @dir_fd is. */
void af_live_clear(int dir_fd);

#endif
