/*
 * The kernel's interface, as far as this room uses it, by numbers of its own: the headers that
 * distributions have are older than EU stall sampling (Linux 6.15), and those of the prelim i915
 * are installed nowhere.
 *
 * Sources: include/uapi/drm/drm.h (DRM_IOCTL_VERSION), include/uapi/drm/xe_drm.h (DRM_XE_…),
 * include/uapi/drm/i915_drm.h (I915_PERF_…), and Intel's i915_drm_prelim.h (PRELIM_…).
 */
#ifndef AF_COLLECT_XE_UAPI_H
#define AF_COLLECT_XE_UAPI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct drm_version {
	int major, minor, patch;
	size_t name_size;
	char *name;
	size_t date_size;
	char *date;
	size_t text_size;
	char *text;
};

struct xe_query {
	uint64_t extensions;
	uint32_t query;
	uint32_t size; /* 0: the kernel says how large the answer is */
	uint64_t data;
	uint64_t reserved[2];
};

enum {
	XE_QUERY_ENGINES = 0,
	XE_QUERY_CONFIG = 2,
	XE_QUERY_GT_LIST = 3,
	XE_QUERY_GT_TOPOLOGY = 5,
	XE_QUERY_OA_UNITS = 8,  /* since Linux 6.11 */
	XE_QUERY_EU_STALL = 10, /* since Linux 6.15 */
};

struct xe_query_config {
	uint32_t nr, pad;
	uint64_t info[]; /* the first: revision << 16 | device id */
};

struct xe_query_engine {
	uint16_t class, instance, gt, pad;
	uint64_t reserved[3];
};

struct xe_query_engines {
	uint32_t nr, pad;
	struct xe_query_engine engines[];
};

enum { XE_GT_MAIN = 0, XE_GT_MEDIA = 1 };

struct xe_query_gt {
	uint16_t type, tile, gt, pad[3];
	uint32_t reference_clock;
	uint64_t near_memory, far_memory;
	uint16_t ip_major, ip_minor, ip_revision, pad2;
	uint64_t reserved[7];
};

struct xe_query_gt_list {
	uint32_t nr, pad;
	struct xe_query_gt gts[];
};

/* One of several that follow each other. */
struct xe_query_topology {
	uint16_t gt, type;
	uint32_t nr_bytes; /* that follow: a bit for each unit */
};

enum { XE_TOPOLOGY_DSS_GEOMETRY = 1, XE_TOPOLOGY_DSS_COMPUTE = 2 };

/* One of several that follow each other, each with its engines. */
struct xe_query_oa_unit {
	uint64_t extensions;
	uint32_t id, type;
	uint64_t capabilities, stamp_hz;
	uint16_t gt, reserved[3]; /* 0 in older kernels: engines have theirs */
	uint64_t reserved2[3];
	uint64_t nr_engines;
	struct {
		uint16_t class, instance, gt, pad;
	} engines[];
};

struct xe_query_oa_units {
	uint64_t extensions;
	uint32_t nr, pad;
};

enum { XE_OA_UNIT_OAG = 0 };

struct xe_query_eu_stall {
	uint64_t extensions, capabilities;
	uint64_t row_bytes;
	uint64_t buffer_bytes; /* of each XeCore */
	uint64_t reserved[5];
	uint64_t nr_rates;
	uint64_t rates[]; /* GPU cycles between samples, the fastest first */
};

struct xe_observation {
	uint64_t extensions;
	uint64_t type; /* XE_OBSERVE_EU_STALL */
	uint64_t operation;
	uint64_t param; /* the first struct xe_property */
};

enum {
	XE_OBSERVE_OA = 0,
	XE_OBSERVE_EU_STALL = 1,
	XE_STREAM_OPEN = 0,
	XE_ADD_CONFIG = 1, /* gives its id */
	XE_REMOVE_CONFIG = 2,
};

/* A config makes an OA unit count something: pairs of a register's address and its value. */
struct xe_oa_config {
	uint64_t extensions;
	char uuid[36];
	uint32_t nr;
	uint64_t registers;
};

enum {
	XE_OA_PROPERTY_UNIT = 1,
	XE_OA_PROPERTY_SAMPLE,
	XE_OA_PROPERTY_CONFIG,
	XE_OA_PROPERTY_FORMAT,
	XE_OA_PROPERTY_EXPONENT, /* a report each 2^(it + 1) ticks of the unit's time */
};

/* A format: type, counter select << 8, counter size << 16, BC report << 24. */
enum {
	XE_OA_FORMAT_OAG = 0 | 5 << 8, /* A24u40_A14u32_B8_C8, and before it A32u40_A4u32_B8_C8 */
	XE_OA_FORMAT_PEC = 5 | 5 << 8, /* PEC32u32_G1, from Xe2 on */
};

struct xe_property {
	uint64_t next;
	uint32_t name, pad; /* 0: set a property */
	uint32_t property, pad2;
	uint64_t value;
	uint64_t reserved[2];
};

enum {
	XE_PROPERTY_GT = 1,
	XE_PROPERTY_RATE = 2,
	XE_PROPERTY_WAIT_ROWS = 3,
};

struct i915_query {
	uint32_t nr, flags;
	uint64_t items;
};

struct i915_query_item {
	uint64_t query;
	int32_t size; /* after the call of the answer, or -errno */
	uint32_t flags;
	uint64_t data;
};

struct i915_query_engines {
	uint32_t nr, reserved[3];
};

struct i915_query_engine {
	uint16_t class, instance;
	uint32_t reserved;
	uint64_t flags, capabilities;
	uint16_t logical_instance, reserved2[3];
	uint64_t reserved3[3];
};

struct i915_perf_open {
	uint32_t flags, nr;
	uint64_t properties; /* pairs of words */
};

enum {
	I915_PERF_CLOEXEC = 1,
	I915_PERF_NONBLOCK = 2,
	I915_PERF_DISABLED = 4,
	I915_PERF_EU_STALL = 1 << 16, /* prelim */
	I915_STALL_BUFFER = 1001,     /* bytes for each subslice: 128, 256 or 512 KiB */
	I915_STALL_RATE,              /* 1 to 7 times 251 cycles */
	I915_STALL_POLL_NS,
	I915_STALL_CLASS,    /* of the engine whose GT it is */
	I915_STALL_INSTANCE, /* of that engine */
	I915_STALL_WAIT_ROWS,
	I915_QUERY_ENGINES = 2,
	I915_CLASS_COMPUTE = 4, /* PRELIM_I915_ENGINE_CLASS_COMPUTE */
};

#define DRM_VERSION_CALL _IOWR('d', 0x00, struct drm_version)
#define XE_QUERY_CALL _IOWR('d', 0x40, struct xe_query)
#define XE_OBSERVATION_CALL _IOW('d', 0x4b, struct xe_observation)
#define I915_QUERY_CALL _IOWR('d', 0x79, struct i915_query)
#define I915_PERF_OPEN_CALL _IOW('d', 0x76, struct i915_perf_open)
/* Streams of both drivers have these. */
#define STREAM_ENABLE_CALL _IO('i', 0)
#define STREAM_DISABLE_CALL _IO('i', 1)

_Static_assert(XE_QUERY_CALL == 0xc0286440, "DRM_IOCTL_XE_DEVICE_QUERY");
_Static_assert(XE_OBSERVATION_CALL == 0x4020644b, "DRM_IOCTL_XE_OBSERVATION");
_Static_assert(I915_PERF_OPEN_CALL == 0x40106476, "DRM_IOCTL_I915_PERF_OPEN");
_Static_assert(sizeof(struct i915_query_engine) == 56, "struct drm_i915_engine_info");
_Static_assert(sizeof(struct xe_query_gt) == 96, "struct drm_xe_gt");
_Static_assert(sizeof(struct xe_query_engine) == 32, "struct drm_xe_engine");
_Static_assert(sizeof(struct xe_query_oa_unit) == 72, "struct drm_xe_oa_unit");
_Static_assert(sizeof(struct xe_oa_config) == 56, "struct drm_xe_oa_config");
_Static_assert(sizeof(struct xe_property) == 48, "struct drm_xe_ext_set_property");
_Static_assert(offsetof(struct xe_query_eu_stall, rates) == 80, "struct drm_xe_query_eu_stall");

#endif
