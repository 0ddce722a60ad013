/*
 * The part of i915's user interface that a program of the tests uses. Source: Linux 6.1,
 * include/uapi/drm/i915_drm.h, which the stand-in itself is built with: a number that is wrong here
 * is refused there.
 */
#ifndef I915_UAPI_H
#define I915_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum { I915_PINNED = 1 << 4, I915_OFFSET_WB = 2 };

struct i915_create {
	__u64 size;
	__u32 handle, pad;
};

struct i915_userptr {
	__u64 address, size;
	__u32 flags, handle;
};

struct i915_mmap_offset {
	__u32 handle, pad;
	__u64 offset, flags, extensions;
};

struct i915_context {
	__u32 context, flags;
	__u64 extensions;
};

struct i915_buffer {
	__u32 handle, nr_relocations;
	__u64 relocations, alignment, offset, flags, reserved[2];
};

struct i915_exec {
	__u64 buffers;
	__u32 nr_buffers, start, bytes, dr1, dr4, nr_cliprects;
	__u64 cliprects, flags, context, reserved;
};

#define I915_IOCTL_CREATE _IOWR('d', 0x40 + 0x1b, struct i915_create)
#define I915_IOCTL_USERPTR _IOWR('d', 0x40 + 0x33, struct i915_userptr)
#define I915_IOCTL_MMAP_OFFSET _IOWR('d', 0x40 + 0x24, struct i915_mmap_offset)
#define I915_IOCTL_CONTEXT _IOWR('d', 0x40 + 0x2d, struct i915_context)
#define I915_IOCTL_EXEC _IOWR('d', 0x40 + 0x29, struct i915_exec)

#endif
