/*
 * Moves the files of a staged trace to its place.
 */
#ifndef AF_COLLECT_STAGE_MOVE_H
#define AF_COLLECT_STAGE_MOVE_H

#include <stdint.h>

struct af_err;

/*
 * Copy all of the trace in the staging directory @from to its place @to, which has AF_STAGED_FILE,
 * and sync it; then remove that file, by which the trace is there. It may be called again after a
 * kill at any point. The caller holds the lock of the staging directory, and removes it afterwards.
 * *@bytes grows by what was copied. On failure what was copied is removed again, so that a full
 * disk has its room back; @shown is the place in messages.
 */
int af_stage_move(int from, int to, const char *shown, uint64_t *bytes, struct af_err *err);

#endif
