/* Reading a trace for the commands that show something of it. */
#ifndef AF_CMD_STUDY_H
#define AF_CMD_STUDY_H

#include "analyse/pass.h"

struct af_err;

/* What trees are weighed by, for completions; which of them a tree has, its trace tells. */
#define AF_WEIGHT_WORDS "time|samples|count|bytes|off-cpu"

/*
 * Prepare (finish what a killed recorder left), read and analyse the trace in @dir, with progress
 * on a terminal when it takes long. The top tables are added to the facts. Results are the caller's
 * to close, also after a failure.
 */
int af_study(const char *dir, struct af_results *r, struct af_err *err);

#endif
