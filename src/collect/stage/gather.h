/*
 * Moves traces to their place that a recorder left in the staging directory: it was killed, or the
 * place was full.
 */
#ifndef AF_COLLECT_STAGE_GATHER_H
#define AF_COLLECT_STAGE_GATHER_H

#include <stdint.h>

#include "trace/read/staged.h"

struct af_err;

enum af_gather_state {
	AF_GATHER_HERE,      /* it is not staged */
	AF_GATHER_MOVED,     /* it was, and is here now */
	AF_GATHER_ELSEWHERE, /* it is on another host */
	AF_GATHER_RECORDED,  /* its recorder, or another gather, is at work on it */
	AF_GATHER_GONE,      /* this host has no such directory: the trace is lost */
	AF_GATHER_FAILED     /* see the message; it is where it was */
};

struct af_gathered {
	enum af_gather_state state;
	struct af_staged staged; /* but for AF_GATHER_HERE */
	uint64_t bytes;          /* copied */
};

/*
 * Bring the trace to its place @dir_fd, which messages call @shown, if this host has it. A message
 * is there for AF_GATHER_FAILED only.
 */
void af_gather(struct af_gathered *g, int dir_fd, const char *shown, struct af_err *err);

/*
 * Look at the staging directories in @stage_dir, the --stage of recorders: the traces whose places
 * are in @set (NULL: anywhere) come to their place, which is made anew where it is gone; what was
 * moved before is removed. @each is called with the place of each, as it was recorded. Returns
 * their number, or -errno with a message when @stage_dir cannot be read.
 */
int af_gather_stages(const char *stage_dir, const char *set,
                     void (*each)(void *arg, const char *place, const struct af_gathered *g,
                                  const struct af_err *why),
                     void *arg, struct af_err *err);

#endif
