/*
 * Samples of the instructions that Intel's GPUs execute, by the EU stall sampler of the kernel's xe
 * driver (Linux 6.15) or of Intel's own i915: of all processes, by address, with the reason why a
 * thread waited. Analysis finds the kernel at an address; nothing here looks at one.
 */
#ifndef AF_COLLECT_XE_EUSTALL_H
#define AF_COLLECT_XE_EUSTALL_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/session/devices.h"

struct af_err;

/* Names of the collectors, by which --sample turns them on. */
#define AF_COLLECTOR_XE "xe-eustall"
#define AF_COLLECTOR_I915 "i915-eustall"

/* Samples every card and GT there is, options.gpu_samples_second of each card. */
extern const struct af_devices_ops af_xe_eustall;

/* Is there a device with the driver xe, or Intel's i915, that samples stalls? Opens no stream. */
bool af_xe_is_there(void);

/*
 * Probes (collect/probe/collect.h): a stream of each GT is opened, without sampling, and closed
 * again. Interfaces: DRM_IOCTL_XE_OBSERVATION; DRM_IOCTL_I915_PERF_OPEN with PRELIM_ flags.
 */
int af_xe_eustall_probe(char *words, size_t size, struct af_err *err);
int af_i915_eustall_probe(char *words, size_t size, struct af_err *err);

#endif
