/*
 * Writes a trace as slices, in one of their formats.
 */
#ifndef AF_CMD_SHARED_SLICES_H
#define AF_CMD_SHARED_SLICES_H

#include <stdbool.h>

#include "analyse/time/timeline.h"
#include "cmd/output/atomic_write.h"
#include "render/render.h"

struct af_err;

struct af_slices_request {
	const char *who; /* the command, for messages on standard error */
	struct af_output to;
	const struct af_format *format;
	struct af_timeline_query query;
	bool gzip;
	/* NULL, or: writes more behind the slices, in a format that can_join. */
	int (*more)(void *arg, int fd, struct af_err *err);
	void *arg;
};

/*
 * Read the trace in @dir, which af_trace_prepare() has seen, and write it. A file is replaced only
 * when all of it could be written. Slices that are left out are reported on standard error.
 */
int af_slices_write(const struct af_slices_request *request, const char *dir, struct af_err *err);

/*
 * The same for the set @dir: the tracks of all its ranks, with times of the first rank's host.
 * Ranks that cannot be read are named on standard error, and so is the error of the hosts' clocks.
 * -EINVAL: the format cannot hold several traces.
 */
int af_slices_write_set(const struct af_slices_request *request, const char *dir,
                        struct af_err *err);

#endif
