/*
 * A snapshot: a trace of its own with everything recorded so far, made while recording goes on. A
 * child process copies and symbolizes it, so that the rings are drained meanwhile. The directory
 * gets its name when it is whole.
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

/* A snapshot that is being made. */
struct af_snapshot {
	int pid;
	int fd;     /* carries the reason when it fails */
	bool asked; /* by --ctl, which waits for an answer */
	char dir[1024];
};

struct af_snapshots {
	struct af_snapshot *items;
	uint32_t nr, cap;
	uint32_t last; /* the last number given */
	uint32_t nr_made;
};

/* Start a snapshot named @dir; NULL: the trace's name with .1, .2 and so on. @asked: by --ctl. */
int af_snapshot_start(struct af_recording *r, const char *dir, bool asked, struct af_err *err);

/*
 * The first step of a child process of the recorder: copy the trace so far into the directory @to,
 * which messages call @dir, with the packets @rests that no file has yet.
 */
int af_snapshot_copy(const struct af_recording *r, int to, const char *dir,
                     const struct af_drain_rest *rests, uint32_t nr, struct af_err *err);

/* Collect the finished snapshots and report them. */
void af_snapshot_reap(struct af_recording *r);

/* Wait for all. */
void af_snapshot_wait(struct af_recording *r);

#endif
