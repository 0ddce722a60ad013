/*
 * The stand-in for Linux's xe driver: what its files share. A card is a PCI device of QEMU
 * (pci-testdev), a row is what a test wrote, and work takes the time that its address tells.
 */
#ifndef XE_STANDIN_H
#define XE_STANDIN_H

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "xe_uapi.h"

enum {
	STANDIN_GTS = 2,
	STANDIN_XECORES = 4,
	STANDIN_XECORE_BYTES = 512 * 1024,
	STANDIN_ROWS = STANDIN_XECORES * STANDIN_XECORE_BYTES / XE_ROW,
};

struct standin_card;

/* A GT, and the rows that wait for whoever observes it. */
struct standin_gt {
	struct standin_card *card;
	u32 id, nr_xecores;
	struct mutex lock;
	wait_queue_head_t wait;
	struct delayed_work poll;
	u8 *rows; /* a ring of STANDIN_ROWS */
	u64 added, taken, lost;
	u64 opened, rate, wait_rows;
	bool open, enabled, pollin, dropped, reported_drop, reset;
};

/* The part of the driver's own struct that programs of BPF read, by its names. */
struct intel_device_info {
	u32 graphics_verx100;
};

struct xe_device {
	struct drm_device drm;
	struct intel_device_info info;
};

struct standin_card {
	union {
		struct drm_device drm;
		struct xe_device xe;
	};
	struct dentry *debug;
	struct standin_gt gts[STANDIN_GTS];
	struct drm_gpu_scheduler scheduler;
	ktime_t busy_until; /* of the scheduler's thread */
};

extern unsigned int standin_graphics; /* version times 100: 1260 is Ponte Vecchio */

/* xe_standin_stall.c: streams of stalls, their sysctl, and the tests' side in debugfs. */
bool standin_observable(void);
int standin_stall_init(struct standin_card *card);
void standin_stall_exit(struct standin_card *card);
int standin_observation(struct standin_card *card, const struct drm_xe_observation_param *p);
int standin_sysctl_init(void);
void standin_sysctl_exit(void);

/* xe_standin_buffer.c: buffers that programs map, in the kernel's memory. */
int standin_buffer_create(struct drm_device *drm, struct drm_file *file,
                          struct drm_xe_gem_create *arg);
int standin_buffer_offset(struct drm_file *file, struct drm_xe_gem_mmap_offset *arg);

/* xe_standin_work.c: queues and work, by the kernel's own scheduler of GPUs. */
int standin_work_init(struct standin_card *card);
void standin_work_exit(struct standin_card *card);
int standin_file_open(struct drm_device *drm, struct drm_file *file);
void standin_file_close(struct drm_device *drm, struct drm_file *file);
int standin_queue_create(struct drm_file *file, struct drm_xe_exec_queue_create *arg);
int standin_exec(struct drm_file *file, const struct drm_xe_exec *arg);

#endif
