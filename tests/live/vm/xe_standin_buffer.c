// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of the stand-in: memory of the kernel that a program makes, maps and closes by DRM's own
 * calls, so that the functions of DRM by which the real driver does it are those that run. Source:
 * Linux 6.15, drivers/gpu/drm/xe/xe_bo.c; 6.1, drivers/gpu/drm/drm_gem.c.
 */
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "xe_standin.h"

enum { BUFFER_MOST = 1 << 24 };

struct standin_buffer {
	struct drm_gem_object base;
	void *memory;
};

static void buffer_free(struct drm_gem_object *object)
{
	struct standin_buffer *buffer = container_of(object, struct standin_buffer, base);

	drm_gem_object_release(object);
	vfree(buffer->memory);
	kfree(buffer);
}

static int buffer_mmap(struct drm_gem_object *object, struct vm_area_struct *vma)
{
	struct standin_buffer *buffer = container_of(object, struct standin_buffer, base);

	return remap_vmalloc_range(vma, buffer->memory, 0);
}

static const struct vm_operations_struct buffer_mapping = {
    .open = drm_gem_vm_open,
    .close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs buffer_funcs = {
    .free = buffer_free,
    .mmap = buffer_mmap,
    .vm_ops = &buffer_mapping,
};

int standin_buffer_create(struct drm_device *drm, struct drm_file *file,
                          struct drm_xe_gem_create *arg)
{
	struct standin_buffer *buffer;
	int err;

	if (!arg->size || arg->size % PAGE_SIZE || arg->size > BUFFER_MOST)
		return -EINVAL;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	buffer->memory = vmalloc_user(arg->size);
	if (!buffer->memory) {
		kfree(buffer);
		return -ENOMEM;
	}
	buffer->base.funcs = &buffer_funcs;
	drm_gem_private_object_init(drm, &buffer->base, arg->size);
	err = drm_gem_create_mmap_offset(&buffer->base);
	if (!err)
		err = drm_gem_handle_create(file, &buffer->base, &arg->handle);
	drm_gem_object_put(&buffer->base); /* the handle has it */
	return err;
}

int standin_buffer_offset(struct drm_file *file, struct drm_xe_gem_mmap_offset *arg)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, arg->handle);

	if (!object)
		return -ENOENT;
	arg->offset = drm_vma_node_offset_addr(&object->vma_node);
	drm_gem_object_put(object);
	return 0;
}
