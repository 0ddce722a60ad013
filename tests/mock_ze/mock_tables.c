/* Tables of functions that the mock does not have: the loader wants them all to be there. */
#include <stdint.h>

#define EMPTY(name)                                                                                \
	__attribute__((visibility("default"))) uint32_t name(uint32_t version, void *table);       \
	__attribute__((visibility("default"))) uint32_t name(uint32_t version, void *table)        \
	{                                                                                          \
		(void)version, (void)table;                                                        \
		return 0;                                                                          \
	}

EMPTY(zeGetDeviceExpProcAddrTable)
EMPTY(zeGetImageExpProcAddrTable)
EMPTY(zeGetEventExpProcAddrTable)
EMPTY(zeGetKernelExpProcAddrTable)
EMPTY(zeGetFabricVertexExpProcAddrTable)
EMPTY(zeGetFabricEdgeExpProcAddrTable)
EMPTY(zetGetDebugProcAddrTable)
EMPTY(zetGetDeviceProcAddrTable)
EMPTY(zetGetKernelProcAddrTable)
EMPTY(zetGetMetricGroupExpProcAddrTable)
EMPTY(zetGetMetricStreamerProcAddrTable)
EMPTY(zetGetModuleProcAddrTable)
EMPTY(zetGetTracerExpProcAddrTable)
EMPTY(zesGetDeviceProcAddrTable)
EMPTY(zesGetDiagnosticsProcAddrTable)
EMPTY(zesGetDriverProcAddrTable)
EMPTY(zesGetEngineProcAddrTable)
EMPTY(zesGetFabricPortProcAddrTable)
EMPTY(zesGetFanProcAddrTable)
EMPTY(zesGetFirmwareProcAddrTable)
EMPTY(zesGetFrequencyProcAddrTable)
EMPTY(zesGetLedProcAddrTable)
EMPTY(zesGetMemoryProcAddrTable)
EMPTY(zesGetPerformanceFactorProcAddrTable)
EMPTY(zesGetPowerProcAddrTable)
EMPTY(zesGetPsuProcAddrTable)
EMPTY(zesGetRasProcAddrTable)
EMPTY(zesGetSchedulerProcAddrTable)
EMPTY(zesGetStandbyProcAddrTable)
EMPTY(zesGetTemperatureProcAddrTable)
