/*
 * The stand-in for Linux's i915: what its files share. A card is QEMU's device `edu`. Structs that
 * programs of BPF read have the driver's names, and those members that they read.
 */
#ifndef I915_STANDIN_H
#define I915_STANDIN_H

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <uapi/drm/i915_drm.h>

struct dentry;

struct ip_version {
	u8 ver, rel;
};

struct intel_runtime_info {
	struct {
		struct ip_version ip;
	} graphics;
};

struct drm_i915_private;

struct intel_engine_cs {
	struct drm_i915_private *i915;
	char name[8];
	ktime_t busy_until;
};

/* Times of a request as the stand-in takes them itself, just before and after what tells of it. */
struct standin_times {
	u64 queued_from, queued_to, done_from, done_to;
};

enum { STANDIN_TIMES = 64 };

struct drm_i915_private {
	struct drm_device drm;
	struct intel_runtime_info __runtime;
	struct intel_engine_cs engine;
	struct mutex lock;
	struct dentry *debug;
	u32 nr_times, nr_contexts;
	struct standin_times times[STANDIN_TIMES];
};

struct i915_request {
	struct dma_fence fence;
	spinlock_t lock;
	struct intel_engine_cs *engine;
	struct hrtimer timer;
	struct standin_times *times;
};

static inline struct drm_i915_private *to_i915(struct drm_device *drm)
{
	return container_of(drm, struct drm_i915_private, drm);
}

/* i915_standin_buffer.c: buffers, in the kernel's memory or in that of the program. */
int i915_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int i915_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int i915_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int i915_gem_mmap(struct file *filp, struct vm_area_struct *vma);

#endif
