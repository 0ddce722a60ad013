/*
 * Shows the progress of slow work on a terminal.
 */
#ifndef AF_CMD_OUTPUT_PROGRESS_H
#define AF_CMD_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

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
