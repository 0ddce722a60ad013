/* A trace whose recorder was killed: what it left in shared memory is brought home. */
#ifndef AF_COLLECT_RECOVER_H
#define AF_COLLECT_RECOVER_H

struct af_err;

/*
 * 0: the trace in @dir is finished (or no trace at all: the reader will say so). 1: it was not, its
 * streams are complete now, and names may be added before af_recovered(). 2: it was not, and cannot
 * be, as its disk is read-only, or its recorder ran on another host: it reads as it is. -EBUSY: a
 * recorder is at work on it. The .session file is not trusted: only a directory that is ours,
 * private, in /dev/shm and that names this very trace is touched.
 */
int af_recover(const char *dir, struct af_err *err);

/* The same of an open directory, which messages call @dir. */
int af_recover_at(int dir_fd, const char *dir, struct af_err *err);

/* Mark it finished. */
void af_recovered(const char *dir);

#endif
