/*
 * --ctl FIFO: commands for a running recording, a line each: on, off, snapshot [DIR], stop, status.
 * Each is answered by a line in FIFO.ack, "ok …" or "error …"; answers that nobody reads are
 * dropped when the pipe is full. The input is hostile.
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
	bool too_long;       /* the current line is too long and will be ignored */
	size_t used;
	int in_fd; /* the directory that they lie in */
	char name[256], ack_name[256];
	char line[AF_CTL_LINE]; /* the current line so far */
};

/*
 * Make the FIFOs @path and @path.ack where they do not exist. Anything else of these names, and
 * FIFOs of other users, are refused: a negative errno and *err.
 */
int af_ctl_open(struct af_ctl *c, const char *path, struct af_err *err);

/* Close them, and remove those that af_ctl_open() made. Of a closed one nothing is done. */
void af_ctl_close(struct af_ctl *c);

/* Execute the commands that have arrived, without waiting for any. */
void af_ctl_pump(struct af_recording *r);

/* Answer "ok @text", or "error @text" if not @ok; @text has no newline. */
void af_ctl_answer(struct af_ctl *c, bool ok, const char *text);

#endif
