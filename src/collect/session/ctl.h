/*
 * --ctl FIFO: words for a recording that runs, a line each: on, off, snapshot [DIR], stop, status.
 * Each is answered by a line in FIFO.ack, "ok …" or "error …"; what nobody reads there is dropped
 * when the pipe is full. Any bytes may come.
 */
#ifndef AF_COLLECT_SESSION_CTL_H
#define AF_COLLECT_SESSION_CTL_H

#include <stdbool.h>
#include <stddef.h>

struct af_err;
struct af_recording;

enum { AF_CTL_LINE = 1024 };

struct af_ctl {
	int fd, ack_fd;      /* -1: there is none */
	bool made, ack_made; /* by us, to be removed */
	bool too_long;       /* the line that is coming: it is left out */
	size_t used;
	int in_fd; /* where they lie */
	char name[256], ack_name[256];
	char line[AF_CTL_LINE]; /* what came of the line so far */
};

/* Make both FIFOs where they are not. Refuses what is no FIFO, or somebody else's. */
int af_ctl_open(struct af_ctl *c, const char *path, struct af_err *err);
void af_ctl_close(struct af_ctl *c);

/* Do what has been asked for. */
void af_ctl_pump(struct af_recording *r);

/* Answer: "ok @text" or "error @text". */
void af_ctl_answer(struct af_ctl *c, bool ok, const char *text);

#endif
