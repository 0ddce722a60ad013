// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for Linux's i915 driver, for tests in a virtual machine: no GPU is behind it. It bears
 * the driver's name, offers those of its ioctls by which programs get memory and submit batches, as
 * the kernel's own header of them has them, and has functions and structs of its names, and its
 * trace point, for programs of BPF. A request takes as many milliseconds as the last 12 bits of its
 * batch's address tell, one after the other, and ends with a fence. Source: Linux 6.1,
 * drivers/gpu/drm/i915/gem/i915_gem_execbuffer.c, i915_request.c.
 */
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "i915_standin.h"

#define CREATE_TRACE_POINTS
#include "i915_standin_trace.h"

enum { BUFFERS_MOST = 64 };

/* ---- requests ---- */

static const char *fence_driver(struct dma_fence *fence)
{
	return "i915";
}

static const char *fence_timeline(struct dma_fence *fence)
{
	return "standin";
}

static const struct dma_fence_ops i915_fence_ops = {
    .get_driver_name = fence_driver,
    .get_timeline_name = fence_timeline,
};

static enum hrtimer_restart request_due(struct hrtimer *timer)
{
	struct i915_request *rq = container_of(timer, struct i915_request, timer);

	rq->times->done_from = ktime_get_ns();
	dma_fence_signal(&rq->fence);
	rq->times->done_to = ktime_get_ns();
	dma_fence_put(&rq->fence);
	return HRTIMER_NORESTART;
}

static int request_queue(struct drm_i915_private *i915, u64 batch)
{
	struct intel_engine_cs *engine = &i915->engine;
	struct i915_request *rq;

	if (i915->nr_times == STANDIN_TIMES)
		return -ENOSPC;
	rq = kzalloc(sizeof(*rq), GFP_KERNEL);
	if (!rq)
		return -ENOMEM;
	spin_lock_init(&rq->lock);
	rq->engine = engine;
	rq->times = &i915->times[i915->nr_times++];
	dma_fence_init(&rq->fence, &i915_fence_ops, &rq->lock, 1, i915->nr_times);
	rq->times->queued_from = ktime_get_ns();
	trace_i915_request_queue(rq, 0);
	rq->times->queued_to = ktime_get_ns();
	if (ktime_before(engine->busy_until, ktime_get()))
		engine->busy_until = ktime_get();
	engine->busy_until = ktime_add_ms(engine->busy_until, batch & 0xfff);
	hrtimer_init(&rq->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	rq->timer.function = request_due;
	hrtimer_start(&rq->timer, engine->busy_until, HRTIMER_MODE_ABS);
	return 0;
}

/* ---- ioctls; the names are the driver's ---- */

static noinline int i915_gem_do_execbuffer(struct drm_device *dev, struct drm_file *file,
                                           struct drm_i915_gem_execbuffer2 *args,
                                           struct drm_i915_gem_exec_object2 *exec)
{
	struct drm_i915_private *i915 = to_i915(dev);
	u32 i, at = args->flags & I915_EXEC_BATCH_FIRST ? 0 : args->buffer_count - 1;
	int err;

	for (i = 0; i < args->buffer_count; i++) {
		struct drm_gem_object *object = drm_gem_object_lookup(file, exec[i].handle);

		if (!object)
			return -ENOENT;
		drm_gem_object_put(object);
		/* Programs of today choose the addresses. */
		if (!(exec[i].flags & EXEC_OBJECT_PINNED))
			return -EINVAL;
	}
	mutex_lock(&i915->lock);
	err = request_queue(i915, exec[at].offset + args->batch_start_offset);
	mutex_unlock(&i915->lock);
	return err;
}

int i915_gem_execbuffer2_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int i915_gem_execbuffer2_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_i915_gem_execbuffer2 *args = data;
	struct drm_i915_gem_exec_object2 *exec;
	int err = -EFAULT;

	if (!args->buffer_count || args->buffer_count > BUFFERS_MOST)
		return -EINVAL;
	exec = kcalloc(args->buffer_count, sizeof(*exec), GFP_KERNEL);
	if (!exec)
		return -ENOMEM;
	if (!copy_from_user(exec, u64_to_user_ptr(args->buffers_ptr),
	                    args->buffer_count * sizeof(*exec)))
		err = i915_gem_do_execbuffer(dev, file, args, exec);
	kfree(exec);
	return err;
}

int i915_gem_context_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int i915_gem_context_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_i915_gem_context_create_ext *args = data;

	args->ctx_id = ++to_i915(dev)->nr_contexts;
	return 0;
}

static const struct drm_ioctl_desc ioctls[] = {
    DRM_IOCTL_DEF_DRV(I915_GEM_CREATE, i915_gem_create_ioctl, DRM_RENDER_ALLOW),
    DRM_IOCTL_DEF_DRV(I915_GEM_USERPTR, i915_gem_userptr_ioctl, DRM_RENDER_ALLOW),
    DRM_IOCTL_DEF_DRV(I915_GEM_MMAP_OFFSET, i915_gem_mmap_offset_ioctl, DRM_RENDER_ALLOW),
    DRM_IOCTL_DEF_DRV(I915_GEM_CONTEXT_CREATE_EXT, i915_gem_context_create_ioctl, DRM_RENDER_ALLOW),
    DRM_IOCTL_DEF_DRV(I915_GEM_EXECBUFFER2_WR, i915_gem_execbuffer2_ioctl, DRM_RENDER_ALLOW),
};

/* ---- cards ---- */

static const struct file_operations fops = {
    .owner = THIS_MODULE,
    .open = drm_open,
    .release = drm_release,
    .unlocked_ioctl = drm_ioctl,
    .mmap = i915_gem_mmap,
    .llseek = noop_llseek,
};

static const struct drm_driver driver = {
    .driver_features = DRIVER_GEM | DRIVER_RENDER,
    .fops = &fops,
    .ioctls = ioctls,
    .num_ioctls = ARRAY_SIZE(ioctls),
    .name = "i915",
    .desc = "stand-in for i915: no GPU is behind it",
    .date = "20260101",
    .major = 1,
};

/* A line for each request: its times. */
static int times_show(struct seq_file *file, void *unused)
{
	struct drm_i915_private *i915 = file->private;
	u32 i;

	for (i = 0; i < i915->nr_times; i++) {
		const struct standin_times *t = &i915->times[i];

		seq_printf(file, "%llu %llu %llu %llu\n", t->queued_from, t->queued_to,
		           t->done_from, t->done_to);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(times);

static int standin_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct drm_i915_private *i915 =
	    devm_drm_dev_alloc(&pci->dev, &driver, struct drm_i915_private, drm);

	if (IS_ERR(i915))
		return PTR_ERR(i915);
	pci_set_drvdata(pci, i915);
	mutex_init(&i915->lock);
	i915->__runtime.graphics.ip.ver = 12;
	i915->engine.i915 = i915;
	strscpy(i915->engine.name, "ccs0", sizeof(i915->engine.name));
	i915->debug = debugfs_create_file("i915_standin", 0400, NULL, i915, &times_fops);
	return drm_dev_register(&i915->drm, 0);
}

static void standin_remove(struct pci_dev *pci)
{
	struct drm_i915_private *i915 = pci_get_drvdata(pci);

	debugfs_remove(i915->debug);
	drm_dev_unregister(&i915->drm);
}

/* QEMU's edu. */
static const struct pci_device_id ids[] = {{PCI_DEVICE(0x1234, 0x11e8)}, {}};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver pci_driver = {
    .name = "i915",
    .id_table = ids,
    .probe = standin_probe,
    .remove = standin_remove,
};
module_pci_driver(pci_driver);
MODULE_DESCRIPTION("stand-in for Intel's i915, for tests: no GPU is behind it");
MODULE_LICENSE("GPL");
