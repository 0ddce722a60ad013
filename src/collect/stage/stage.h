/*
 * A trace that is recorded into a directory of this host, and moved to its place at the end.
 *
 *	af_stage_begin → { record into the stage } → af_stage_end
 *
 * If the recorder is killed in between, af_gather() does the rest.
 */
#ifndef AF_COLLECT_STAGE_STAGE_H
#define AF_COLLECT_STAGE_STAGE_H

#include <stdint.h>

#include "collect/disk/place.h"

struct af_err;

/* Staging directories are called ".aflame-stage." and digits that nobody can guess. */
#define AF_STAGE_NAME "aflame-stage"

struct af_stage {
	struct af_place target; /* where the trace goes; dir_fd is -1 where nothing is staged */
};

/*
 * @p is the new place of a trace. Make a staging directory in @in, which becomes @p; the place goes
 * to @s->target and says so by its AF_STAGED_FILE. On failure @p is as it was.
 */
int af_stage_begin(struct af_stage *s, struct af_place *p, const char *in, struct af_err *err);

/*
 * The trace in the stage @p is settled: move it. @p becomes the target, *@bytes is the number of
 * bytes copied. On failure all stays where it is for af_gather(), and @p is still the stage.
 */
int af_stage_end(struct af_stage *s, struct af_place *p, uint64_t *bytes, struct af_err *err);

/* Write the AF_STAGED_FILE of the place @target_fd, for the directory @stage. 0 or -errno. */
int af_stage_stub(int target_fd, const char *stage);

/* Nothing was recorded: remove the target, too. Then the caller unmakes @p. */
void af_stage_unmake(struct af_stage *s);

/* The recording has ended: close everything. */
void af_stage_leave(struct af_stage *s);

#endif
