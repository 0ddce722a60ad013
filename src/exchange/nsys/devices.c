/*
 * Nsight Systems' export: devices. Which of the machine's devices a process numbers 0 is in newer
 * files (CUDA_VISIBLE_DEVICES); of older ones the machine's numbers are taken, and only names with
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exchange/nsys/nsys.h"

enum { DEVICES_MAX = 4096, NAMES_MOST = 1 << 16 };
enum { GPU_CUDA = 1, GPU_NAME, GPU_UUID, GPU_BUS, GPU_PROCESSORS, GPU_CLOCK, GPU_MEMORY };
enum { GPU_MAJOR = GPU_MEMORY + 1, GPU_MINOR };
enum { DEVICE_CUDA = 1, DEVICE_PID };

struct gpu {
	int64_t id, cuda;
	char name[128], uuid[64], bus[32];
	int64_t processors, clock_hz, memory_bytes, major, minor;
};

struct nsys_devices {
	struct gpu *gpus;
	uint32_t nr, cap;
	bool reported; /* which a process has */
};

static void take_gpu(struct import_nsys *in, const struct sqlite_rows *rows)
{
	struct nsys_devices *s = in->devices;
	struct gpu gpu = {.id = sqlite_int(rows, 0, -1), .cuda = sqlite_int(rows, GPU_CUDA, -1)};
	size_t len;

	if (s->nr == DEVICES_MAX)
		return;
	if (gpu.cuda < 0)
		gpu.cuda = gpu.id;
	snprintf(gpu.name, sizeof gpu.name, "%s", sqlite_text(rows, GPU_NAME, &len));
	snprintf(gpu.uuid, sizeof gpu.uuid, "%s", sqlite_text(rows, GPU_UUID, &len));
	snprintf(gpu.bus, sizeof gpu.bus, "%s", sqlite_text(rows, GPU_BUS, &len));
	gpu.processors = sqlite_int(rows, GPU_PROCESSORS, 0);
	gpu.clock_hz = sqlite_int(rows, GPU_CLOCK, 0);
	gpu.memory_bytes = sqlite_int(rows, GPU_MEMORY, 0);
	gpu.major = sqlite_int(rows, GPU_MAJOR, 0);
	gpu.minor = sqlite_int(rows, GPU_MINOR, 0);
	AF_GROW(s->gpus, s->nr, s->cap);
	s->gpus[s->nr++] = gpu;
}

static void name_device(struct import_nsys *in, uint32_t space, int64_t device,
                        const struct gpu *gpu)
{
	if (*gpu->name && device >= 0 && device < DEVICES_MAX)
		af_builder_device(in->builder, space, (uint32_t)device, gpu->name,
		                  strlen(gpu->name));
}

static void note_number(struct import_nsys *in, uint32_t space, uint32_t device, const char *key,
                        int64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)number);
	if (number > 0)
		af_builder_device_note(in->builder, space, device, key, text);
}

static void note_device(struct import_nsys *in, uint32_t space, uint32_t device,
                        const struct gpu *gpu)
{
	char text[80];

	/* As nvidia-smi writes it. */
	snprintf(text, sizeof text, "GPU-%s", gpu->uuid);
	if (*gpu->uuid)
		af_builder_device_note(in->builder, space, device, "uuid", text);
	note_number(in, space, device, "processors", gpu->processors);
	note_number(in, space, device, "clock_khz", gpu->clock_hz / 1000);
	snprintf(text, sizeof text, "%lld.%lld", (long long)gpu->major, (long long)gpu->minor);
	if (gpu->major > 0 && gpu->minor >= 0)
		af_builder_device_note(in->builder, space, device, "capability", text);
	if (*gpu->bus)
		af_builder_device_note(in->builder, space, device, "pci", gpu->bus);
	note_number(in, space, device, "memory_bytes", gpu->memory_bytes);
}

static void take_device(struct import_nsys *in, const struct sqlite_rows *rows)
{
	const struct nsys_devices *s = in->devices;
	int64_t id = sqlite_int(rows, 0, -1), device = sqlite_int(rows, DEVICE_CUDA, -1);
	const uint64_t *space =
	    af_map_get(&in->spaces, (uint64_t)(sqlite_int(rows, DEVICE_PID, 0) & NSYS_ID_MASK));

	in->devices->reported = true;
	if (!space || device < 0 || device >= DEVICES_MAX ||
	    af_map_get(&in->builder->noted, *space << 32 | (uint64_t)device))
		return;
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->gpus[i].id == id) {
			name_device(in, (uint32_t)*space, device, &s->gpus[i]);
			note_device(in, (uint32_t)*space, (uint32_t)device, &s->gpus[i]);
			return;
		}
}

void nsys_devices(struct import_nsys *in)
{
	static const char *const columns[] = {
	    "id",        "cuDevice",    "name",         "uuid",         "busLocation", "smCount",
	    "clockRate", "totalMemory", "computeMajor", "computeMinor", NULL};
	struct nsys_devices *s = af_xcalloc(1, sizeof *s);

	in->devices = s;
	nsys_table(in, "TARGET_INFO_GPU", NULL, columns, take_gpu);
	nsys_table(in, "TARGET_INFO_CUDA_DEVICE", NULL,
	           (const char *const[]){"gpuId", "cudaId", "pid", NULL}, take_device);
	/* Every process may have used every GPU; of so many no file has a use. */
	bool few = (uint64_t)in->spaces.nr * s->nr <= NAMES_MOST;
	for (size_t i = 0; i < in->spaces.cap && !s->reported && few; i++)
		for (uint32_t g = 0; in->spaces.slots[i].used && g < s->nr; g++)
			name_device(in, (uint32_t)in->spaces.slots[i].value, s->gpus[g].cuda,
			            &s->gpus[g]);
	in->devices = NULL;
	free(s->gpus);
	free(s);
}
