/* `aflame doctor --metrics`: what the GPUs here can count, by Level Zero. */
#ifndef AF_CMD_METRICS_METRICS_H
#define AF_CMD_METRICS_METRICS_H

#include <stdbool.h>

struct af_err;

/*
 * Print all metric groups of all GPUs and of their sub-devices to standard output, or why there are
 * none. Returns the exit status: 0 if there is a group. -errno with a message if no process can be
 * started.
 */
int af_metrics_show(bool json, struct af_err *err);

#endif
