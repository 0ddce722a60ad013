/*
 * Samples of the instructions that Intel's GPUs execute, by Level Zero's metric streamer: the same
 * samples as those of the kernel's stream (collect/xe/eustall.h), where that is refused or too old.
 * A child of the recorder has the driver.
 */
#ifndef AF_COLLECT_ZET_STALL_H
#define AF_COLLECT_ZET_STALL_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/session/devices.h"

struct af_err;

/* The name of the collector, by which --sample turns it on. */
#define AF_COLLECTOR_ZET "zet-stall"

/*
 * Samples each GPU that has the metric group EuStallSampling. Specification: Level Zero, Tools,
 * "Metric Streamer".
 */
extern const struct af_devices_ops af_zet_stall;

/* The kernel's stream (af_xe_eustall), and this where that gives nothing but may help. */
extern const struct af_devices_ops af_zet_behind_xe;

/*
 * Might it sample something: is a GPU of the xe driver here that has the sampler, or does
 * ZE_ENABLE_ALT_DRIVERS name a driver? Loads no driver and opens no stream.
 */
bool af_zet_may_help(void);

/* Probe (collect/probe/collect.h): the driver is loaded and asked for the metric group. */
int af_zet_stall_probe(char *words, size_t size, struct af_err *err);

#endif
