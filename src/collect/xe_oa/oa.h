/*
 * Frequency, activity and throttling of Intel's GPUs over time, from what the kernel's xe driver
 * shows of each GT: a heartbeat of readings, beside whatever else is sampled. Nothing here fails a
 * recording: what cannot be read is left out, and a NOTE tells.
 */
#ifndef AF_COLLECT_XE_OA_OA_H
#define AF_COLLECT_XE_OA_OA_H

#include <stddef.h>

#include "collect/session/devices.h"

struct af_err;

/* Name of the collector, by which --sample turns it on. */
#define AF_COLLECTOR_XE_OA "xe-oa"

/* Reads every GT of every card with the driver xe, each options.heartbeat_ns. */
extern const struct af_devices_ops af_xe_oa;

/*
 * Probe (collect/probe/collect.h): names what is there to be read. Interface:
 * Documentation/ABI/testing/sysfs-driver-intel-xe.
 */
int af_xe_oa_probe(char *words, size_t size, struct af_err *err);

#endif
