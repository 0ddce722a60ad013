/*
 * A flame chart of a trace: the stacks of its threads and the work of its devices, one after the
 * other, as a tree whose children keep the order of time (struct af_tree, ordered). It has the
 * stacks and the sums of the requested trees: threads and queues follow each other, and idle time
 * takes no room.
 */
#ifndef AF_ANALYSE_TIME_CHART_H
#define AF_ANALYSE_TIME_CHART_H

#include "analyse/pass/pass.h"
#include "analyse/time/timeline.h"

/*
 * Make *@t, finished, from the trace in @dir, with columns "time" and "samples". @view is
 * AF_VIEW_CPU, AF_VIEW_GPU or AF_VIEW_ALL. The caller closes *@t, also after a failure. @progress
 * may be NULL.
 */
int af_chart_make(struct af_tree *t, const char *dir, const struct af_query *query, int view,
                  af_timeline_progress *progress, void *arg, struct af_err *err);

#endif
