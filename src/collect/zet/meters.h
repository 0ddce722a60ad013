/*
 * Metrics of Intel's GPUs over time by Level Zero: a time-based group is streamed, and each report
 * is a READING of the recorder's.
 */
#ifndef AF_COLLECT_ZET_METERS_H
#define AF_COLLECT_ZET_METERS_H

#include <stddef.h>

#include "collect/session/devices.h"

struct af_err;

/* Name of the collector, by which --sample turns it on. */
#define AF_COLLECTOR_ZET_METRICS "zet-metrics"

/*
 * Streams options.metric_group of each GPU that has it, with a report each options.metric_ns. In a
 * process of its own, as drivers crash. Specification: Level Zero, Tools, "Metric Streamer".
 */
extern const struct af_devices_ops af_zet_meters;

/* Probe (collect/probe/collect.h): the driver is loaded and asked for its time-based groups. */
int af_zet_meters_probe(char *words, size_t size, struct af_err *err);

#endif
