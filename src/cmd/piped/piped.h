/*
 * A recording that goes to standard output: as a tar of the trace, or in a format of another tool.
 *
 *	af_piped_begin → the recording, into dir → af_piped_end
 */
#ifndef AF_CMD_PIPED_PIPED_H
#define AF_CMD_PIPED_PIPED_H

#include <limits.h>
#include <stdbool.h>

#include "exchange/export/export.h"

struct af_err;

#define AF_PIPED_FORMATS "tar|" AF_EXPORT_NAMES

struct af_piped {
	const char *format; /* one of AF_PIPED_FORMATS */
	int fd;             /* the standard output that we were given */
	char folder[PATH_MAX];
	char dir[PATH_MAX + 16]; /* the trace to make, in it */
};

/*
 * Keeps standard output for the trace, makes it standard error for all others, and makes the folder
 * below @place, NULL: below $TMPDIR or /var/tmp. @format NULL: tar. -EINVAL if standard output is a
 * terminal and the format is not text, -errno with a message if the folder cannot be made; nothing
 * has changed then.
 */
int af_piped_begin(struct af_piped *p, const char *format, const char *place, struct af_err *err);

/*
 * Writes the trace, unless @failed, and removes the folder. A trace that could not be written
 * stays, and the message names it. -EPIPE without a message where nobody reads any more.
 */
int af_piped_end(struct af_piped *p, bool failed, struct af_err *err);

#endif
