/*
 * Shows the progress of slow work on a terminal, or leaves it where another process finds it.
 */
#ifndef AF_CMD_OUTPUT_PROGRESS_H
#define AF_CMD_OUTPUT_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Progress in memory that another process reads. */
struct af_progress_shared {
	_Atomic(const char *) what; /* a literal, which has the same address in a fork */
	_Atomic uint64_t done, size;
};

/* From now on this process shows no progress and leaves it at @shared, which outlives it. */
void af_progress_share(struct af_progress_shared *shared);

struct af_progress {
	const char *what; /* "reading the trace" */
	uint64_t next_ns;
	bool shown;
};

/*
 * @what names the work ("reading the trace"); it outlives the progress. Only a terminal on standard
 * error gets lines.
 */
struct af_progress af_progress_begin(const char *what);

/* Show @done of @size, unless that was just shown. @progress is a struct af_progress. */
void af_progress_tell(void *progress, uint64_t done, uint64_t size);

/* Clear the line on the terminal. */
void af_progress_end(const struct af_progress *p);

#endif
