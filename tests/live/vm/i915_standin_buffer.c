// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of the stand-in for i915: a program maps them by the driver's own functions, which are
 * not DRM's. Source: Linux 6.1, drivers/gpu/drm/i915/gem/i915_gem_mman.c, i915_gem_create.c,
 * i915_gem_userptr.c.
 */
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "i915_standin.h"

enum { BUFFER_MOST = 1 << 24 };

struct standin_buffer {
	struct drm_gem_object base;
	void *memory; /* NULL: the program's own */
};

static void buffer_free(struct drm_gem_object *object)
{
	struct standin_buffer *buffer = container_of(object, struct standin_buffer, base);

	drm_gem_object_release(object);
	vfree(buffer->memory);
	kfree(buffer);
}

static const struct drm_gem_object_funcs buffer_funcs = {.free = buffer_free};

static int buffer_create(struct drm_device *drm, struct drm_file *file, u64 size, bool own,
                         u32 *handle)
{
	struct standin_buffer *buffer;
	int err;

	if (!size || size % PAGE_SIZE || size > BUFFER_MOST)
		return -EINVAL;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	buffer->memory = own ? NULL : vmalloc_user(size);
	if (!own && !buffer->memory) {
		kfree(buffer);
		return -ENOMEM;
	}
	buffer->base.funcs = &buffer_funcs;
	drm_gem_private_object_init(drm, &buffer->base, size);
	err = drm_gem_create_mmap_offset(&buffer->base);
	if (!err)
		err = drm_gem_handle_create(file, &buffer->base, handle);
	drm_gem_object_put(&buffer->base); /* the handle has it */
	return err;
}

int i915_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_i915_gem_create *arg = data;

	return buffer_create(drm, file, arg->size, false, &arg->handle);
}

int i915_gem_userptr_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_i915_gem_userptr *arg = data;

	if (arg->flags || arg->user_ptr % PAGE_SIZE)
		return -EINVAL;
	return buffer_create(drm, file, arg->user_size, true, &arg->handle);
}

int i915_gem_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_i915_gem_mmap_offset *arg = data;
	struct drm_gem_object *object;

	if (arg->extensions || arg->flags > I915_MMAP_OFFSET_FIXED)
		return -EINVAL;
	object = drm_gem_object_lookup(file, arg->handle);
	if (!object)
		return -ENOENT;
	arg->offset = drm_vma_node_offset_addr(&object->vma_node);
	drm_gem_object_put(object);
	return 0;
}

static void vm_open(struct vm_area_struct *vma)
{
	drm_gem_object_get(vma->vm_private_data);
}

static void vm_close(struct vm_area_struct *vma)
{
	drm_gem_object_put(vma->vm_private_data);
}

static const struct vm_operations_struct buffer_mapping = {.open = vm_open, .close = vm_close};

int i915_gem_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct drm_file *file = filp->private_data;
	struct drm_vma_offset_manager *places = file->minor->dev->vma_offset_manager;
	struct drm_gem_object *object = NULL;
	struct drm_vma_offset_node *node;
	int err;

	drm_vma_offset_lock_lookup(places);
	node = drm_vma_offset_exact_lookup_locked(places, vma->vm_pgoff, vma_pages(vma));
	if (node && drm_vma_node_is_allowed(node, file)) {
		object = container_of(node, struct drm_gem_object, vma_node);
		if (!kref_get_unless_zero(&object->refcount))
			object = NULL;
	}
	drm_vma_offset_unlock_lookup(places);
	if (!object)
		return -EINVAL;
	err =
	    remap_vmalloc_range(vma, container_of(object, struct standin_buffer, base)->memory, 0);
	if (err) {
		drm_gem_object_put(object);
		return err;
	}
	vma->vm_ops = &buffer_mapping;
	vma->vm_private_data = object;
	return 0;
}
