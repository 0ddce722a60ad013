/*
 * The part of Level Zero's binary interface that is used, by the oneAPI Level Zero specification
 * (1.5 to 1.13, "Core" and "Tools"; https://oneapi-src.github.io/level-zero-spec) and the tracing
 * layer of its loader (oneapi-src/level-zero, include/layers/zel_tracing_register_cb.h).
 * zexKernelGetBaseAddress is an extension of Intel's driver (intel/compute-runtime,
 * level_zero/include/zex_module.h). Handles are opaque pointers. tests/unit/test_ze_abi.c compares
 * it with the vendor's headers where they are installed.
 */
#ifndef AF_INJECT_ZE_ZE_ABI_H
#define AF_INJECT_ZE_ZE_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	AF_ZE_SUCCESS = 0,
	AF_ZE_NOT_READY = 1,
	AF_ZE_UNINITIALIZED = 0x78000001,
};

/* ze_structure_type_t */
enum {
	AF_ZE_STYPE_DRIVER_PROPERTIES = 0x1,
	AF_ZE_STYPE_DEVICE_PROPERTIES = 0x3,
	AF_ZE_STYPE_EVENT_POOL_DESC = 0x10,
	AF_ZE_STYPE_EVENT_DESC = 0x11,
	AF_ZE_STYPE_MEMORY_PROPERTIES = 0x17,
	AF_ZE_STYPE_PCI_PROPERTIES = 0x10008,
	AF_ZE_STYPE_DEVICE_PROPERTIES_1_2 = 0x20006, /* whose timer is in cycles a second */
	AF_ZE_STYPE_TRACER_DESC = 0x1,               /* zel_structure_type_t */
	AF_ZE_STYPE_GROUP_PROPERTIES = 0x1,          /* zet_structure_type_t, as the next two */
	AF_ZE_STYPE_METRIC_PROPERTIES = 0x2,
	AF_ZE_STYPE_QUERY_POOL_DESC = 0x4,
};

enum {
	AF_ZE_POOL_HOST_VISIBLE = 1,
	AF_ZE_POOL_IPC = 2,
	AF_ZE_POOL_TIMESTAMP = 4,
	AF_ZE_POOL_MAPPED_TIMESTAMP = 8,
	AF_ZE_SCOPE_HOST = 4,
	AF_ZE_QUEUE_SYNCHRONOUS = 1, /* ze_command_queue_mode_t */
	AF_ZE_DEVICE_GPU = 1,        /* ze_device_type_t */
	AF_ZE_DEVICE_CPU = 2,
	AF_ZE_DEVICE_SUBDEVICE = 2, /* ze_device_property_flags_t */
	AF_ZE_MEMORY_HOST = 1,      /* ze_memory_type_t; 0: not Level Zero's */
	AF_ZE_MEMORY_DEVICE = 2,
	AF_ZE_MEMORY_SHARED = 3,
	AF_ZE_DEBUG_ELF = 0,      /* zet_module_debug_info_format_t */
	AF_ZE_HANDLE_KERNEL = 11, /* zel_handle_type_t */
	AF_ZE_PROLOGUE = 0,       /* zel_tracer_reg_t */
	AF_ZE_EPILOGUE = 1,
	AF_ZE_EVENT_BASED = 1,     /* zet_metric_group_sampling_type_flag_t */
	AF_ZE_METRIC_VALUES = 0,   /* zet_metric_group_calculation_type_t */
	AF_ZE_METRIC_DURATION = 0, /* zet_metric_type_t, as the next two */
	AF_ZE_METRIC_EVENT = 1,
	AF_ZE_METRIC_EVENT_RANGE = 2,
	AF_ZE_VALUE_UINT32 = 0, /* zet_value_type_t, as the next four */
	AF_ZE_VALUE_UINT64 = 1,
	AF_ZE_VALUE_FLOAT32 = 2,
	AF_ZE_VALUE_FLOAT64 = 3,
	AF_ZE_VALUE_BOOL8 = 4,
	AF_ZE_QUERY_PERFORMANCE = 0, /* zet_metric_query_pool_type_t */
	AF_ZE_TEXT = 256,            /* ZET_MAX_METRIC_NAME and its like */
};

struct af_ze_driver_properties {
	uint32_t stype;
	void *next;
	uint8_t uuid[16];
	uint32_t version;
};

struct af_ze_device_properties {
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice, clock_mhz;
	uint64_t max_alloc_bytes;
	uint32_t max_contexts, max_priority, threads_eu, simd_width, eus_subslice, subslices_slice;
	uint32_t slices;
	uint64_t timer; /* ns a cycle; of DEVICE_PROPERTIES_1_2 cycles a second */
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

struct af_ze_pci_properties {
	uint32_t stype;
	void *next;
	uint32_t domain, bus, device, function;
	int32_t pcie, width;
	int64_t bandwidth;
};

struct af_ze_queue_desc {
	uint32_t stype;
	const void *next;
	uint32_t ordinal, index, flags, mode, priority;
};

struct af_ze_module_desc {
	uint32_t stype;
	const void *next;
	uint32_t format;
	size_t size;
	const uint8_t *bytes;
	const char *options;
	const void *constants;
};

struct af_ze_kernel_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
	const char *name;
};

struct af_ze_pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, count;
};

struct af_ze_event_desc {
	uint32_t stype;
	const void *next;
	uint32_t index, signal, wait;
};

struct af_ze_memory_properties {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint64_t id, page_bytes;
};

struct af_ze_stamps {
	uint64_t start, end; /* on the device's timer, as far as its bits are valid */
};

struct af_ze_kernel_timestamp {
	struct af_ze_stamps global, context;
};

struct af_ze_group_count {
	uint32_t x, y, z;
};

struct af_ze_copy_region {
	uint32_t x, y, z, width, height, depth;
};

struct af_ze_group_properties {
	uint32_t stype;
	void *next;
	char name[AF_ZE_TEXT], description[AF_ZE_TEXT];
	uint32_t sampling, domain, nr_metrics;
};

struct af_ze_metric_properties {
	uint32_t stype;
	void *next;
	char name[AF_ZE_TEXT], description[AF_ZE_TEXT], component[AF_ZE_TEXT];
	uint32_t tier, type, value_type;
	char units[AF_ZE_TEXT];
};

struct af_ze_query_pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t type, count;
};

struct af_ze_value {
	uint32_t type;
	union {
		uint32_t u32;
		uint64_t u64;
		float f32;
		double f64;
		uint8_t b8;
	} as;
};

struct af_ze_tracer_desc {
	uint32_t stype;
	const void *next;
	void *user;
};

/*
 * The tracing layer calls these before and after a function: @params has a pointer to each
 * argument, and a prologue may change them.
 */
typedef void af_ze_callback(void *params, uint32_t result, void *user, void **instance);

/* The value of argument @i. */
#define AF_ZE_ARG(params, i, type) (*((type **)(params))[i])

/* Functions of the loader that we call: P(name, parameters). */
#define AF_ZE_FUNCTIONS(P)                                                                         \
	P(zeDriverGet, (uint32_t *, void **))                                                      \
	P(zeDriverGetProperties, (void *, struct af_ze_driver_properties *))                       \
	P(zeDriverGetApiVersion, (void *, uint32_t *))                                             \
	P(zeDriverGetExtensionFunctionAddress, (void *, const char *, void **))                    \
	P(zeDeviceGet, (void *, uint32_t *, void **))                                              \
	P(zeDeviceGetSubDevices, (void *, uint32_t *, void **))                                    \
	P(zeDeviceGetProperties, (void *, struct af_ze_device_properties *))                       \
	P(zeDeviceGetGlobalTimestamps, (void *, uint64_t *, uint64_t *))                           \
	P(zeModuleGetNativeBinary, (void *, size_t *, uint8_t *))                                  \
	P(zetModuleGetDebugInfo, (void *, uint32_t, size_t *, uint8_t *))                          \
	P(zeKernelGetName, (void *, size_t *, char *))                                             \
	P(zeMemGetAllocProperties,                                                                 \
	  (void *, const void *, struct af_ze_memory_properties *, void **))                       \
	P(zeEventPoolCreate, (void *, const struct af_ze_pool_desc *, uint32_t, void **, void **)) \
	P(zeEventPoolDestroy, (void *))                                                            \
	P(zeEventCreate, (void *, const struct af_ze_event_desc *, void **))                       \
	P(zeEventDestroy, (void *))                                                                \
	P(zeEventHostReset, (void *))                                                              \
	P(zeEventQueryStatus, (void *))                                                            \
	P(zeEventQueryKernelTimestamp, (void *, struct af_ze_kernel_timestamp *))                  \
	P(zelTracerCreate, (const struct af_ze_tracer_desc *, void **))                            \
	P(zelTracerDestroy, (void *))                                                              \
	P(zelTracerSetEnabled, (void *, uint8_t))

/* The same of those that read counters over single launches (metric.h). */
#define AF_ZE_METRIC_FUNCTIONS(P)                                                                  \
	P(zeCommandListAppendBarrier, (void *, void *, uint32_t, void **))                         \
	P(zetMetricGroupGet, (void *, uint32_t *, void **))                                        \
	P(zetMetricGroupGetProperties, (void *, struct af_ze_group_properties *))                  \
	P(zetMetricGet, (void *, uint32_t *, void **))                                             \
	P(zetMetricGetProperties, (void *, struct af_ze_metric_properties *))                      \
	P(zetContextActivateMetricGroups, (void *, void *, uint32_t, void **))                     \
	P(zetMetricQueryPoolCreate,                                                                \
	  (void *, void *, void *, const struct af_ze_query_pool_desc *, void **))                 \
	P(zetMetricQueryPoolDestroy, (void *))                                                     \
	P(zetMetricQueryCreate, (void *, uint32_t, void **))                                       \
	P(zetMetricQueryDestroy, (void *))                                                         \
	P(zetMetricQueryReset, (void *))                                                           \
	P(zetMetricQueryGetData, (void *, size_t *, uint8_t *))                                    \
	P(zetMetricGroupCalculateMetricValues,                                                     \
	  (void *, uint32_t, size_t, const uint8_t *, uint32_t *, struct af_ze_value *))           \
	P(zetCommandListAppendMetricQueryBegin, (void *, void *))                                  \
	P(zetCommandListAppendMetricQueryEnd, (void *, void *, void *, uint32_t, void **))

/* The same of those that older loaders lack. */
#define AF_ZE_OPTIONAL(P)                                                                          \
	P(zeDevicePciGetPropertiesExt, (void *, struct af_ze_pci_properties *))                    \
	P(zelEnableTracingLayer, (void))                                                           \
	P(zelLoaderTranslateHandle, (uint32_t, void *, void **))                                   \
	AF_ZE_METRIC_FUNCTIONS(P)

#endif
