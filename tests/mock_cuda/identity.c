/*
 * The identity of a device: its UUID, 16 bytes that say MOCK_CUDA_GPU (0) and which device
 * of this one it is, so that processes that are given the same number share their devices; and how
 * much memory it has.
 */
#include "mock_cuda.h"

#include <stddef.h>
#include <string.h>

CUDA_API int cuDeviceGetUuid_v2(uint8_t uuid[16], int device);
CUDA_API int cuDeviceTotalMem_v2(size_t *bytes, int device);

static int device_uuid(uint8_t uuid[16], int device)
{
	if (device < 0 || device >= mock_nr_devices() || !uuid)
		return CUDA_INVALID_DEVICE;
	memset(uuid, 0xaf, 16);
	uuid[0] = (uint8_t)mock_setting("MOCK_CUDA_GPU", 0);
	uuid[15] = (uint8_t)device;
	return CUDA_OK;
}

int cuDeviceGetUuid_v2(uint8_t uuid[16], int device)
{
	struct {
		uint8_t *uuid;
		int device;
	} params = {uuid, device};

	MOCK_CALL(647, &params, device_uuid(uuid, device));
}

static int device_memory(size_t *bytes, int device)
{
	if (device < 0 || device >= mock_nr_devices() || !bytes)
		return CUDA_INVALID_DEVICE;
	*bytes = mock_setting("MOCK_CUDA_MEMORY", 1ULL << 34);
	return CUDA_OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	struct {
		size_t *bytes;
		int device;
	} params = {bytes, device};

	MOCK_CALL(259, &params, device_memory(bytes, device));
}
