/* The stacks of a trace in order of time, which `aflame flame --flamechart` draws. */
#ifndef AF_CMD_FLAME_CHART_H
#define AF_CMD_FLAME_CHART_H

#include <stdbool.h>

#include "analyse/pass/pass.h"
#include "analyse/tree/tree.h"

struct af_err;

/*
 * Open @chart, the tree of view @v of @r in order of time, by reading the trace @dir again: by
 * @weight, NULL for the first, which the user asked for where @is_wanted. The share of the weight
 * that has no time is reported on standard error. Close @chart also if it failed.
 */
int af_flame_chart(struct af_tree *chart, const char *dir, const struct af_results *r, int v,
                   const char *weight, bool is_wanted, struct af_err *err);

#endif
