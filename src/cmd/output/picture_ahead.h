/*
 * The slices of a page, which another thread reads from a trace and hands to the format while this
 * one reads the trees.
 *
 *	af_picture_ahead_begin → af_picture_write with it, or not → af_picture_ahead_end
 */
#ifndef AF_CMD_OUTPUT_PICTURE_AHEAD_H
#define AF_CMD_OUTPUT_PICTURE_AHEAD_H

#include <pthread.h>

#include "base/err.h"
#include "render/render.h"

struct af_query;
struct af_timeline;

/* Zeroed: nothing is read ahead. */
struct af_picture_ahead {
	const struct af_format *format; /* NULL: nothing is read ahead */
	struct af_render render;        /* its state is the page's */

	/* private */
	const char *dir;
	const struct af_query *query;
	struct af_timeline *timeline;
	pthread_t thread;
	bool runs, leaving;
	int rc;
	struct af_err err;
};

/*
 * Begin @format, which can take slices ahead, and to read the slices of the trace in @dir that have
 * the stacks of @query's trees. What is given must live until the end. Without a thread, nothing
 * is read ahead.
 */
void af_picture_ahead_begin(struct af_picture_ahead *a, const struct af_format *format,
                            const struct af_picture *picture, const char *dir,
                            const struct af_query *query);

/* Wait for all slices, or where they are of no use, for the thread to stop. 0, or its error. */
int af_picture_ahead_wait(struct af_picture_ahead *a, bool of_use, struct af_err *err);

/* Stop it if it still runs, and free all but what af_picture_write() has freed. */
void af_picture_ahead_end(struct af_picture_ahead *a);

#endif
