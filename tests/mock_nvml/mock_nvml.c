/*
 * A stand-in for NVIDIA's Management Library: two devices whose numbers are known. The first takes
 * 200 W for MOCK_NVML_STEP_MS (250) from its first reading on, and 400 W after that; its energy
 * counter is the integral of that from 5 kJ on. Its clock is 1980 MHz, and 1200 MHz while it takes
 * 400 W, as its power cap throttles it then. PCIe brings it 1 MB for each ms. The second has a
 * temperature of 77 degrees and nothing else.
 *
 *	MOCK_NVML_INIT     what nvmlInit_v2 returns
 *	MOCK_NVML_FIELDS   0: GetFieldValues supports none
 *	MOCK_NVML_SLOW_US  how long the energy counter takes to answer
 *	MOCK_NVML_PCIE_US  how long PCIe's counter does
 *	MOCK_NVML_DENIED   1: NVML_ERROR_NO_PERMISSION for the energy; 2: for everything
 *	MOCK_NVML_LANES    of its PCIe link (16), of 16; the link is of generation 1, of 4
 *	MOCK_NVML_GONE_MS  after this the first device is lost (NVML_ERROR_GPU_IS_LOST)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/telemetry/nvml.h"

enum { NOT_SUPPORTED = 3, DENIED = NVML_NO_PERMISSION, LOST = 15 };

#define API __attribute__((visibility("default"))) int

static int devices[2];

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static uint64_t now_us(void)
{
	static uint64_t first;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	first = first ? first : us;
	return us - first;
}

static uint64_t step_us(void)
{
	return setting("MOCK_NVML_STEP_MS", 250) * 1000;
}

static int lost(void)
{
	return now_us() > setting("MOCK_NVML_GONE_MS", 1000000) * 1000;
}

static int unlike(const void *device, int of)
{
	if (device != &devices[of])
		return NOT_SUPPORTED;
	return setting("MOCK_NVML_DENIED", 0) > 1 ? DENIED : lost() && !of ? LOST : 0;
}

static uint32_t power_mw(void)
{
	return now_us() < step_us() ? 200000 : 400000;
}

API nvmlInit_v2(void);
API nvmlShutdown(void);
API nvmlDeviceGetCount_v2(unsigned *nr);
API nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
API nvmlDeviceGetName(void *device, char *name, unsigned size);
API nvmlDeviceGetPciInfo_v3(void *device, struct nvml_pci *pci);
API nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
API nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
API nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
API nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilization *rates);
API nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory);
API nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees);
API nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
API nvmlDeviceGetFieldValues(void *device, int nr, struct nvml_field *values);
API nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation);
API nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes);
API nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation);
API nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes);

API nvmlInit_v2(void)
{
	return (int)setting("MOCK_NVML_INIT", 0);
}

API nvmlShutdown(void)
{
	return 0;
}

API nvmlDeviceGetCount_v2(unsigned *nr)
{
	*nr = 2;
	return 0;
}

API nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	*device = &devices[i];
	return 0;
}

API nvmlDeviceGetName(void *device, char *name, unsigned size)
{
	snprintf(name, size, "Mock H%d", device == &devices[0] ? 200 : 100);
	return 0;
}

API nvmlDeviceGetPciInfo_v3(void *device, struct nvml_pci *pci)
{
	pci->bus = device == &devices[0] ? 0x18 : 0x2a;
	snprintf(pci->id, sizeof pci->id, "00000000:%02X:00.0", pci->bus);
	return 0;
}

API nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
	*mw = power_mw();
	return unlike(device, 0);
}

static void take(const char *name)
{
	const struct timespec t = {.tv_nsec = (long)setting(name, 0) * 1000};

	/* Even a sleep of 0 takes 50 us. */
	if (t.tv_nsec)
		nanosleep(&t, NULL);
}

API nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	uint64_t us = now_us(), step = step_us();

	take("MOCK_NVML_SLOW_US");
	/* 200 W are 0.2 mJ a us. */
	*mj = 5000000 + (us < step ? us : step) / 5 + (us > step ? us - step : 0) * 2 / 5;
	return setting("MOCK_NVML_DENIED", 0) ? DENIED : unlike(device, 0);
}

API nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
	*mhz = type == NVML_CLOCK_MEM ? 3201 : power_mw() > 300000 ? 1200 : 1980;
	return unlike(device, 0);
}

API nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilization *rates)
{
	*rates = (struct nvml_utilization){97, 55};
	return unlike(device, 0);
}

API nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *memory)
{
	*memory = (struct nvml_memory){141ull << 30, 100ull << 30, 41ull << 30};
	return unlike(device, 0);
}

API nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
	*degrees = 77;
	return sensor ? NOT_SUPPORTED : unlike(device, 1);
}

API nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
	*bits = power_mw() > 300000 ? 0x4 : 0x1;
	return unlike(device, 0);
}

API nvmlDeviceGetFieldValues(void *device, int nr, struct nvml_field *values)
{
	for (int i = 0; i < nr; i++) {
		struct nvml_field *f = &values[i];
		f->error = NOT_SUPPORTED;
		if (!setting("MOCK_NVML_FIELDS", 1) || device != &devices[0])
			continue;
		f->error = unlike(device, 0);
		if (f->id == NVML_FIELD_POWER_INSTANT) {
			f->type = NVML_UINT;
			f->value.u = power_mw();
		} else if (f->id == NVML_FIELD_PCIE_RECEIVED) {
			f->type = NVML_UINT; /* it wraps after 100 ms for the first time */
			f->value.u = (uint32_t)(now_us() * 1000 - 100000000);
			take("MOCK_NVML_PCIE_US");
		} else {
			f->error = NOT_SUPPORTED;
		}
	}
	return 0;
}

API nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation)
{
	*generation = 1;
	return unlike(device, 0);
}

API nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes)
{
	*lanes = (unsigned)setting("MOCK_NVML_LANES", 16);
	return unlike(device, 0);
}

API nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation)
{
	*generation = 4;
	return unlike(device, 0);
}

API nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes)
{
	*lanes = 16;
	return unlike(device, 0);
}
