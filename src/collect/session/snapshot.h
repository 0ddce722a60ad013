/*
 * A snapshot: a trace of its own with all that is recorded up to now, while recording goes on. A
 * child process copies and names it, so that the rings are drained meanwhile; the directory has its
 * name when it is whole.
 *
 *	af_snapshot_start() → { af_snapshot_reap() }* → af_snapshot_wait()
 */
#ifndef AF_COLLECT_SESSION_SNAPSHOT_H
#define AF_COLLECT_SESSION_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

struct af_drain_rest;
struct af_err;
struct af_recording;

/* One that is being made. */
struct af_snapshot {
	int pid;
	int fd;     /* says why it failed */
	bool asked; /* by --ctl, which is to be answered */
	char dir[1024];
};

struct af_snapshots {
	struct af_snapshot *items;
	uint32_t nr, cap;
	uint32_t last; /* number of the last that was given one */
	uint32_t nr_made;
};

/* @dir: its name, NULL: the trace's with .1, .2 and so on. @asked: by --ctl. */
int af_snapshot_start(struct af_recording *r, const char *dir, bool asked, struct af_err *err);

/*
 * What a child process of the recorder does first: copy the trace so far into the directory @to,
 * which messages call @dir, with the packets @rests that no file has yet.
 */
int af_snapshot_copy(const struct af_recording *r, int to, const char *dir,
                     const struct af_drain_rest *rests, uint32_t nr, struct af_err *err);

/* See which are whole and tell. */
void af_snapshot_reap(struct af_recording *r);

/* Wait for all. */
void af_snapshot_wait(struct af_recording *r);

#endif
