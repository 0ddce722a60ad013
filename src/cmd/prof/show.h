/* The results of `aflame prof`, made of the trace that was recorded. */
#ifndef AF_CMD_PROF_SHOW_H
#define AF_CMD_PROF_SHOW_H

#include <stdbool.h>
#include <stdint.h>

struct af_err;

struct af_prof_show {
	const char *folded; /* file for folded stacks; NULL: none */
	bool wall;          /* they are by nanoseconds: a wait is one sample, whatever its length */
	bool alloc;         /* … or by bytes that were allocated */
	bool flat;      /* the flat report, on standard error: standard output is the program's */
	bool lines;     /* of it also the lines */
	uint32_t limit; /* rows of each of its tables; 0: all */
};

/* Write what @show has of the trace in @dir. 0, or -errno with a message. */
int af_prof_show(const struct af_prof_show *show, const char *dir, struct af_err *err);

#endif
