/*
 * The part of NVIDIA's Management Library that is used, by its binary interface: "NVML API
 * Reference Guide", and nvml.h of CUDA 12 and 13 for numbers. The library is opened at run time.
 */
#ifndef AF_COLLECT_TELEMETRY_NVML_H
#define AF_COLLECT_TELEMETRY_NVML_H

#include <stdint.h>

enum { NVML_SUCCESS = 0, NVML_NO_PERMISSION = 4 };

/* nvmlClockType_t; nvmlTemperatureSensors_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

/* nvmlFieldValue_t.fieldId */
enum {
	NVML_FIELD_ENERGY = 83,       /* mJ since the driver was loaded */
	NVML_FIELD_NVLINK_SENT = 138, /* KiB, of all links with the scope below */
	NVML_FIELD_NVLINK_RECEIVED = 139,
	NVML_FIELD_POWER_INSTANT = 186, /* mW */
	NVML_FIELD_PCIE_SENT = 197,     /* bytes */
	NVML_FIELD_PCIE_RECEIVED = 198,
};
#define NVML_ALL_LINKS UINT32_MAX

/* nvmlValueType_t */
enum { NVML_DOUBLE, NVML_UINT, NVML_ULONG, NVML_ULONG_LONG, NVML_LONG_LONG, NVML_INT, NVML_USHORT };

struct nvml_field {
	uint32_t id, scope;
	int64_t timestamp, latency_us;
	uint32_t type;
	int32_t error;
	union {
		double d;
		int32_t i;
		uint32_t u;
		uint64_t ull;
		uint16_t us;
	} value;
};

_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");

struct nvml_utilization {
	uint32_t gpu, memory; /* percent */
};

struct nvml_memory {
	uint64_t total, free, used;
};

/* nvmlPciInfo_t of _v3 */
struct nvml_pci {
	char id_legacy[16];
	uint32_t domain, bus, device, pci_device, pci_subsystem;
	char id[32];
};

/* nvmlClocksThrottleReasons: bits, and what they are called here. */
#define NVML_REASONS(R)                                                                            \
	R(0x4, "throttled: power cap")                                                             \
	R(0x8, "throttled: hardware")                                                              \
	R(0x10, "throttled: sync boost")                                                           \
	R(0x20, "throttled: heat (driver)")                                                        \
	R(0x40, "throttled: heat (hardware)")                                                      \
	R(0x80, "throttled: power brake")                                                          \
	R(0x2, "clocks set by applications")

#define NVML_FUNCTIONS(F)                                                                          \
	F(nvmlInit_v2, int, (void))                                                                \
	F(nvmlShutdown, int, (void))                                                               \
	F(nvmlDeviceGetCount_v2, int, (unsigned *nr))                                              \
	F(nvmlDeviceGetHandleByIndex_v2, int, (unsigned i, void **device))                         \
	F(nvmlDeviceGetName, int, (void *device, char *name, unsigned size))                       \
	F(nvmlDeviceGetPciInfo_v3, int, (void *device, struct nvml_pci *pci))                      \
	F(nvmlDeviceGetPowerUsage, int, (void *device, unsigned *mw))                              \
	F(nvmlDeviceGetTotalEnergyConsumption, int, (void *device, unsigned long long *mj))        \
	F(nvmlDeviceGetClockInfo, int, (void *device, int type, unsigned *mhz))                    \
	F(nvmlDeviceGetUtilizationRates, int, (void *device, struct nvml_utilization *rates))      \
	F(nvmlDeviceGetMemoryInfo, int, (void *device, struct nvml_memory *memory))                \
	F(nvmlDeviceGetTemperature, int, (void *device, int sensor, unsigned *degrees))            \
	F(nvmlDeviceGetCurrentClocksThrottleReasons, int,                                          \
	  (void *device, unsigned long long *bits))                                                \
	F(nvmlDeviceGetFieldValues, int, (void *device, int nr, struct nvml_field *values))        \
	F(nvmlDeviceGetCurrPcieLinkGeneration, int, (void *device, unsigned *generation))          \
	F(nvmlDeviceGetCurrPcieLinkWidth, int, (void *device, unsigned *lanes))                    \
	F(nvmlDeviceGetMaxPcieLinkGeneration, int, (void *device, unsigned *generation))           \
	F(nvmlDeviceGetMaxPcieLinkWidth, int, (void *device, unsigned *lanes))

#endif
