/*
 * Completes a trace whose recorder was killed, from the shared memory that the recorder left.
 */
#ifndef AF_COLLECT_DISK_RECOVER_H
#define AF_COLLECT_DISK_RECOVER_H

struct af_err;

/*
 * Returns 0: the trace in the directory @dir_fd, which messages call @dir, is finished (or it is
 * not a trace; the reader will report that). 1: it was not finished; its streams are complete now,
 * and names may be added before af_recovered(). 2: it was not finished and cannot be, because its
 * disk is read-only or it was not recorded here; it reads as it is. -EBUSY: a recorder is at work
 * on it. The .session file is not trusted: only a directory in /dev/shm that is ours, private, and
 * names this very trace is touched.
 */
int af_recover(int dir_fd, const char *dir, struct af_err *err);

/* Mark it finished. */
void af_recovered(int dir_fd);

/*
 * Is the trace in @dir_fd ours, and does it lack only its names, because there was no room for
 * them? Then returns a descriptor, to be closed when naming has been tried. Negative when it is not
 * so, when names cannot be written, or when another process is at work on it.
 */
int af_unnamed_begin(int dir_fd);
void af_unnamed_end(int dir_fd);

/*
 * Remove the shared memory of killed recorders of this user whose traces have since been deleted:
 * nobody can finish those.
 */
void af_recover_sweep(void);

/* Remove the copies that the trace @dir_fd holds for live views (live.h). */
void af_live_clear(int dir_fd);

#endif
