/*
 * The part of the user interface of Linux's xe driver that the stand-in offers, under the names
 * that the driver gives its types, because programs of BPF find them by name. Source: Linux 6.15,
 * include/uapi/drm/xe_drm.h. Nothing is shared with src/collect/xe, so that an error there shows.
 */
#ifndef XE_UAPI_H
#define XE_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_LIST = 3,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_EU_STALL = 10,
	XE_TOPOLOGY_GEOMETRY = 1,
	XE_TOPOLOGY_COMPUTE = 2,
	XE_OBSERVE_EU_STALL = 1,
	XE_STALL_GT = 1,
	XE_STALL_RATE = 2,
	XE_STALL_WAIT = 3,
	XE_ROW = 64,
	XE_BIND_MAP = 0,
	XE_BIND_UNMAP = 1,
	XE_BIND_USERPTR = 2,
	XE_BIND_UNMAP_ALL = 3,
};

struct drm_xe_user_extension {
	__u64 next_extension;
	__u32 name, pad;
};

struct drm_xe_ext_set_property {
	struct drm_xe_user_extension base;
	__u32 property, pad;
	__u64 value;
	__u64 reserved[2];
};

struct drm_xe_device_query {
	__u64 extensions;
	__u32 query, size;
	__u64 data;
	__u64 reserved[2];
};

struct drm_xe_query_config {
	__u32 num_params, pad;
	__u64 info[5]; /* revision and device, flags, alignment, bits of addresses, priorities */
};

struct drm_xe_gt {
	__u16 type, tile_id, gt_id, pad[3];
	__u32 reference_clock;
	__u64 near_mem_regions, far_mem_regions;
	__u16 ip_ver_major, ip_ver_minor, ip_ver_rev, pad2;
	__u64 reserved[7];
};

struct drm_xe_query_gt_list {
	__u32 num_gt, pad;
	struct drm_xe_gt gt_list[2];
};

struct drm_xe_query_topology_mask {
	__u16 gt_id, type;
	__u32 num_bytes;
	__u8 mask[16];
};

struct drm_xe_query_eu_stall {
	__u64 extensions, capabilities, record_size, per_xecore_buf_size;
	__u64 reserved[5];
	__u64 num_sampling_rates;
	__u64 sampling_rates[7];
};

struct drm_xe_observation_param {
	__u64 extensions, observation_type, observation_op, param;
};

struct drm_xe_gem_create {
	__u64 extensions, size;
	__u32 placement, flags, vm_id, handle;
	__u16 cpu_caching, pad[3];
	__u64 reserved[2];
};

struct drm_xe_gem_mmap_offset {
	__u64 extensions;
	__u32 handle, flags;
	__u64 offset;
	__u64 reserved[2];
};

struct drm_xe_vm_bind_op {
	__u64 extensions;
	__u32 obj;
	__u16 pat_index, pad;
	__u64 obj_offset; /* of USERPTR: the process's address */
	__u64 range, addr;
	__u32 op, flags, prefetch_mem_region_instance, pad2;
	__u64 reserved[3];
};

struct drm_xe_vm_bind {
	__u64 extensions;
	__u32 vm_id, exec_queue_id, pad, num_binds;
	union {
		struct drm_xe_vm_bind_op bind;
		__u64 vector_of_binds;
	};
	__u32 pad2, num_syncs;
	__u64 syncs;
	__u64 reserved[2];
};

struct drm_xe_exec_queue_create {
	__u64 extensions;
	__u16 width, num_placements;
	__u32 vm_id, flags, exec_queue_id;
	__u64 instances;
	__u64 reserved[2];
};

struct drm_xe_exec {
	__u64 extensions;
	__u32 exec_queue_id, num_syncs;
	__u64 syncs, address;
	__u16 num_batch_buffer, pad[3];
	__u64 reserved[2];
};

#define XE_IOCTL_QUERY _IOWR('d', 0x40, struct drm_xe_device_query)
#define XE_IOCTL_GEM_CREATE _IOWR('d', 0x41, struct drm_xe_gem_create)
#define XE_IOCTL_MMAP_OFFSET _IOWR('d', 0x42, struct drm_xe_gem_mmap_offset)
#define XE_IOCTL_VM_BIND _IOW('d', 0x45, struct drm_xe_vm_bind)
#define XE_IOCTL_QUEUE_CREATE _IOWR('d', 0x46, struct drm_xe_exec_queue_create)
#define XE_IOCTL_EXEC _IOW('d', 0x49, struct drm_xe_exec)
#define XE_IOCTL_OBSERVATION _IOW('d', 0x4b, struct drm_xe_observation_param)
#define XE_IOCTL_ENABLE _IO('i', 0)
#define XE_IOCTL_DISABLE _IO('i', 1)

_Static_assert(XE_IOCTL_QUERY == 0xC0286440, "as the kernel numbers it");
_Static_assert(XE_IOCTL_OBSERVATION == 0x4020644B, "as the kernel numbers it");
_Static_assert(XE_IOCTL_VM_BIND == 0x40886445, "as the kernel numbers it");
_Static_assert(XE_IOCTL_QUEUE_CREATE == 0xC0306446, "as the kernel numbers it");
_Static_assert(XE_IOCTL_EXEC == 0x40386449, "as the kernel numbers it");
_Static_assert(XE_IOCTL_GEM_CREATE == 0xC0386441, "as the kernel numbers it");
_Static_assert(XE_IOCTL_MMAP_OFFSET == 0xC0286442, "as the kernel numbers it");
_Static_assert(sizeof(struct drm_xe_gt) == 96, "as the kernel lays it out");
_Static_assert(sizeof(struct drm_xe_query_eu_stall) == 136, "as the kernel lays it out");

#endif
