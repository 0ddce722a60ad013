/*
 * The kernel's trace points that tell when work of GPUs was queued, given to the device, and done
 * (bpf/drm.bpf.h): those of the scheduler that most drivers share, and those of i915 and of fences.
 * They need no functions of drivers, so they work where the kernel lets nobody attach to those.
 *
 *	af_work_points_choose() before the programs are loaded → af_work_points_attach()
 */
#ifndef AF_COLLECT_BATCHES_POINTS_H
#define AF_COLLECT_BATCHES_POINTS_H

#include <stdbool.h>

struct btf;
struct record_bpf;

enum af_work_points {
	AF_WORK_SCHEDULER = 1,
	AF_WORK_I915 = 2,
};

/*
 * Choose the programs whose types the running kernel has; @kernel NULL: none. Returns bits of enum
 * af_work_points.
 */
unsigned af_work_points_choose(struct record_bpf *programs, const struct btf *kernel);

/* Attach those that were loaded. Returns bits of those that tell of work now. */
unsigned af_work_points_attach(struct record_bpf *programs);

/* These bits in words. */
const char *af_work_points_name(unsigned points);

#endif
