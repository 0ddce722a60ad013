/*
 * The part of Level Zero's binary interface that this room uses, by names of its own: its headers
 * are needed neither to build nor to run. Handles are opaque pointers, a call's result is a number.
 * Source: the oneAPI Level Zero specification 1.5 to 1.13, ze_api.h and zet_api.h of its headers.
 * tests/unit/test_zet_abi.c compares sizes, offsets and numbers with them where they are installed.
 */
#ifndef AF_COLLECT_ZET_ABI_H
#define AF_COLLECT_ZET_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ze_result_t: number, name without ZE_RESULT_ */
#define AF_ZET_RESULTS(R)                                                                          \
	R(0, SUCCESS)                                                                              \
	R(1, NOT_READY)                                                                            \
	R(0x70000001, ERROR_DEVICE_LOST)                                                           \
	R(0x70000002, ERROR_OUT_OF_HOST_MEMORY)                                                    \
	R(0x70000003, ERROR_OUT_OF_DEVICE_MEMORY)                                                  \
	R(0x70000006, ERROR_DEVICE_REQUIRES_RESET)                                                 \
	R(0x70010000, ERROR_INSUFFICIENT_PERMISSIONS)                                              \
	R(0x70010001, ERROR_NOT_AVAILABLE)                                                         \
	R(0x70020000, ERROR_DEPENDENCY_UNAVAILABLE)                                                \
	R(0x70020001, WARNING_DROPPED_DATA)                                                        \
	R(0x78000001, ERROR_UNINITIALIZED)                                                         \
	R(0x78000002, ERROR_UNSUPPORTED_VERSION)                                                   \
	R(0x78000003, ERROR_UNSUPPORTED_FEATURE)                                                   \
	R(0x78000004, ERROR_INVALID_ARGUMENT)                                                      \
	R(0x78000005, ERROR_INVALID_NULL_HANDLE)                                                   \
	R(0x78000006, ERROR_HANDLE_OBJECT_IN_USE)                                                  \
	R(0x78000008, ERROR_INVALID_SIZE)                                                          \
	R(0x78000009, ERROR_UNSUPPORTED_SIZE)                                                      \
	R(0x7ffffffe, ERROR_UNKNOWN)

enum af_zet_result {
#define AF_R(number, NAME) AF_ZET_##NAME = number,
	AF_ZET_RESULTS(AF_R)
#undef AF_R
};

enum { AF_ZET_TEXT = 256 }; /* ZE_MAX_DEVICE_NAME, ZET_MAX_METRIC_NAME and the others */

/* ze_structure_type_t, zet_structure_type_t */
enum {
	AF_ZET_IS_DEVICE = 0x3,
	AF_ZET_IS_CONTEXT = 0xd,
	AF_ZET_IS_EVENT_POOL = 0x10,
	AF_ZET_IS_EVENT = 0x11,
	AF_ZET_IS_PCI = 0x10008,
	AF_ZET_IS_IP_VERSION = 0x1000f, /* since 1.6 of the specification */
	AF_ZET_IS_GROUP = 0x1,
	AF_ZET_IS_METRIC = 0x2,
	AF_ZET_IS_STREAMER = 0x3,
};

enum {
	AF_ZET_POOL_HOST_VISIBLE = 1, /* ze_event_pool_flag_t */
	AF_ZET_SCOPE_HOST = 4,        /* ze_event_scope_flag_t */
	AF_ZET_EVENT_BASED = 1,       /* zet_metric_group_sampling_type_flag_t */
	AF_ZET_TIME_BASED = 2,
	AF_ZET_METRIC_VALUES = 0, /* zet_metric_group_calculation_type_t */
};

/* zet_metric_type_t: number, name of ours, name without ZET_METRIC_TYPE_ */
#define AF_ZET_TYPES(T)                                                                            \
	T(0, "duration", DURATION)                                                                 \
	T(1, "event", EVENT)                                                                       \
	T(2, "event with range", EVENT_WITH_RANGE)                                                 \
	T(3, "throughput", THROUGHPUT)                                                             \
	T(4, "timestamp", TIMESTAMP)                                                               \
	T(5, "flag", FLAG)                                                                         \
	T(6, "ratio", RATIO)                                                                       \
	T(7, "raw", RAW)                                                                           \
	T(0x7ffffffe, "ip", IP_EXP)

/* zet_value_type_t */
#define AF_ZET_VALUES(T)                                                                           \
	T(0, "uint32", UINT32)                                                                     \
	T(1, "uint64", UINT64)                                                                     \
	T(2, "float32", FLOAT32)                                                                   \
	T(3, "float64", FLOAT64)                                                                   \
	T(4, "bool8", BOOL8)

enum af_zet_type {
#define AF_T(number, name, NAME) AF_ZET_TYPE_##NAME = number,
	AF_ZET_TYPES(AF_T)
#undef AF_T
};

enum af_zet_value_type {
#define AF_T(number, name, NAME) AF_ZET_VALUE_##NAME = number,
	AF_ZET_VALUES(AF_T)
#undef AF_T
};

struct zet_device_properties {
	uint32_t is;
	void *next;
	uint32_t type, vendor, device, flags, sub_device;
	uint32_t clock_mhz;
	uint64_t max_alloc;
	uint32_t max_contexts, max_priority;
	uint32_t threads_eu, simd_width, eus_subslice, subslices_slice, slices;
	uint64_t timer_resolution;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[AF_ZET_TEXT];
};

/* In the list that begins with zet_device_properties.next; 0 stays where a driver lacks it. */
struct zet_ip_version {
	uint32_t is;
	void *next;
	uint32_t version; /* major << 22 | minor << 14 | revision */
};

struct zet_pci_properties {
	uint32_t is;
	void *next;
	uint32_t domain, bus, device, function;
	int32_t link, width;
	int64_t bandwidth;
};

struct zet_context_desc {
	uint32_t is;
	const void *next;
	uint32_t flags;
};

struct zet_event_pool_desc {
	uint32_t is;
	const void *next;
	uint32_t flags, nr;
};

struct zet_event_desc {
	uint32_t is;
	const void *next;
	uint32_t index, signal, wait;
};

struct zet_group_properties {
	uint32_t is;
	void *next;
	char name[AF_ZET_TEXT];
	char description[AF_ZET_TEXT];
	uint32_t sampling;
	uint32_t domain;
	uint32_t nr_metrics;
};

struct zet_metric_properties {
	uint32_t is;
	void *next;
	char name[AF_ZET_TEXT];
	char description[AF_ZET_TEXT];
	char component[AF_ZET_TEXT];
	uint32_t tier;
	uint32_t type;       /* enum af_zet_type */
	uint32_t value_type; /* enum af_zet_value_type */
	char units[AF_ZET_TEXT];
};

struct zet_streamer_desc {
	uint32_t is;
	const void *next;
	uint32_t notify_reports;
	uint32_t period_ns;
};

struct zet_typed_value {
	uint32_t type;
	union {
		uint32_t u32;
		uint64_t u64;
		float f32;
		double f64;
		uint8_t b8;
	} value;
};

/* Name, parameters; all return a ze_result_t. */
#define AF_ZET_CALLS(C)                                                                            \
	C(zeInit, (uint32_t flags))                                                                \
	C(zeDriverGet, (uint32_t * nr, void **drivers))                                            \
	C(zeDeviceGet, (void *driver, uint32_t *nr, void **devices))                               \
	C(zeDeviceGetSubDevices, (void *device, uint32_t *nr, void **devices))                     \
	C(zeDeviceGetProperties, (void *device, struct zet_device_properties *))                   \
	C(zeDevicePciGetPropertiesExt, (void *device, struct zet_pci_properties *))                \
	C(zeContextCreate, (void *driver, const struct zet_context_desc *, void **context))        \
	C(zeContextDestroy, (void *context))                                                       \
	C(zeEventPoolCreate, (void *context, const struct zet_event_pool_desc *,                   \
	                      uint32_t nr_devices, void **devices, void **pool))                   \
	C(zeEventPoolDestroy, (void *pool))                                                        \
	C(zeEventCreate, (void *pool, const struct zet_event_desc *, void **event))                \
	C(zeEventDestroy, (void *event))                                                           \
	C(zeEventQueryStatus, (void *event))                                                       \
	C(zeEventHostReset, (void *event))                                                         \
	C(zetMetricGroupGet, (void *device, uint32_t *nr, void **groups))                          \
	C(zetMetricGroupGetProperties, (void *group, struct zet_group_properties *))               \
	C(zetMetricGet, (void *group, uint32_t *nr, void **metrics))                               \
	C(zetMetricGetProperties, (void *metric, struct zet_metric_properties *))                  \
	C(zetContextActivateMetricGroups,                                                          \
	  (void *context, void *device, uint32_t nr, void **groups))                               \
	C(zetMetricStreamerOpen, (void *context, void *device, void *group,                        \
	                          struct zet_streamer_desc *, void *event, void **streamer))       \
	C(zetMetricStreamerClose, (void *streamer))                                                \
	C(zetMetricStreamerReadData,                                                               \
	  (void *streamer, uint32_t most_reports, size_t *size, uint8_t *data))                    \
	C(zetMetricGroupCalculateMultipleMetricValuesExp,                                          \
	  (void *group, uint32_t type, size_t size, const uint8_t *data, uint32_t *nr_sets,        \
	   uint32_t *nr_values, uint32_t *set_values, struct zet_typed_value *values))

/* The number of a call, for messages. */
enum af_zet_call {
	AF_ZET_CALL_NONE,
#define AF_C(name, parameters) AF_ZET_CALL_##name,
	AF_ZET_CALLS(AF_C)
#undef AF_C
	    AF_ZET_NR_CALLS
};

#endif
