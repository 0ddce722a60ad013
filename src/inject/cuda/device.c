/* Describes the CUDA devices: DEVICE and DEVICE_NOTE events, from attributes of the driver. */
#include <stdio.h>
#include <string.h>

#include "inject/core/inject.h"
#include "inject/core/kernels.h"
#include "inject/core/lock.h"
#include "inject/cuda/cuda.h"

enum { DEVICES_MAX = 64, UUID_BYTES = 16 };

/* CUdevice_attribute */
enum {
	CLOCK_RATE = 13,
	MULTIPROCESSORS = 16,
	PCI_BUS = 33,
	PCI_DEVICE = 34,
	PCI_DOMAIN = 50,
	CAPABILITY_MAJOR = 75,
	CAPABILITY_MINOR = 76
};

/* The driver's functions that are called; those that it lacks are NULL. */
struct driver {
	uint32_t (*count)(int *);
	uint32_t (*get)(int *, int);
	uint32_t (*name)(char *, int, int);
	uint32_t (*version)(int *);
	uint32_t (*uuid)(uint8_t *, int);
	uint32_t (*attribute)(int *, int, int);
	uint32_t (*memory)(size_t *, int);
};

static struct af_fork_lock lock = AF_FORK_LOCK; /* to give ids */
static _Atomic uint32_t ids[DEVICES_MAX];       /* by ordinal */

/*
 * Ids are given in the order of ordinals: where CUDA is the only API, they are the ordinals plus 1.
 * Devices beyond the table share an id that no other has.
 */
static uint32_t id_of(uint32_t ordinal)
{
	uint32_t most = ordinal < DEVICES_MAX ? ordinal : DEVICES_MAX - 1;
	uint32_t id = atomic_load_explicit(&ids[most], memory_order_acquire);

	if (id)
		return id;
	af_fork_lock(&lock);
	for (uint32_t i = 0; i <= most; i++)
		if (!atomic_load(&ids[i]))
			atomic_store_explicit(&ids[i], af_inject_new_id(AF_ID_DEVICE),
			                      memory_order_release);
	af_fork_unlock(&lock);
	return atomic_load(&ids[most]);
}

uint32_t af_cuda_device(uint32_t ordinal)
{
	if (ordinal < DEVICES_MAX)
		atomic_fetch_or_explicit(&af_cuda_devices, 1ull << ordinal, memory_order_relaxed);
	return id_of(ordinal);
}

static void device_define(uint32_t id, const char *name, const char *driver)
{
	struct af_thread_context *t = af_thread_enter();
	struct af_ev_device ev = {.device = id, .type = AF_DEVICE_GPU, .api = AF_API_CUDA};
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0},
	                         {"NVIDIA", 6, 0},
	                         {driver, (uint32_t)strlen(driver), 0}};

	if (!t)
		return;
	af_stream_put_tail(&t->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
	af_thread_leave(t);
}

/* As nvidia-smi writes it. A part of a device (MIG) has one of its own. */
static void note_uuid(const struct driver *d, uint32_t id, int device)
{
	uint8_t uuid[UUID_BYTES];
	char text[64] = "GPU-";

	if (!d->uuid || d->uuid(uuid, device))
		return;
	for (int i = 0; i < UUID_BYTES; i++) {
		size_t used = strlen(text);
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		snprintf(text + used, sizeof text - used, "%s%02x", dash ? "-" : "", uuid[i]);
	}
	af_device_note(id, "uuid", text);
}

static bool attribute(const struct driver *d, int which, int device, int *value)
{
	return d->attribute && !d->attribute(value, which, device);
}

static void notes_write(const struct driver *d, uint32_t id, int device)
{
	int value, minor, slot;
	size_t bytes;
	char text[64];

	note_uuid(d, id, device);
	if (attribute(d, MULTIPROCESSORS, device, &value)) {
		snprintf(text, sizeof text, "%d", value);
		af_device_note(id, "processors", text);
	}
	if (attribute(d, CLOCK_RATE, device, &value)) {
		snprintf(text, sizeof text, "%d", value);
		af_device_note(id, "clock_khz", text);
	}
	if (attribute(d, CAPABILITY_MAJOR, device, &value) &&
	    attribute(d, CAPABILITY_MINOR, device, &minor)) {
		snprintf(text, sizeof text, "%d.%d", value, minor);
		af_device_note(id, "capability", text);
	}
	if (attribute(d, PCI_DOMAIN, device, &value) && attribute(d, PCI_BUS, device, &minor) &&
	    attribute(d, PCI_DEVICE, device, &slot)) {
		snprintf(text, sizeof text, "%04x:%02x:%02x.0", (unsigned)value, (unsigned)minor,
		         (unsigned)slot);
		af_device_note(id, "pci", text);
	}
	if (d->memory && !d->memory(&bytes, device)) {
		snprintf(text, sizeof text, "%zu", bytes);
		af_device_note(id, "memory_bytes", text);
	}
}

static bool driver_resolve(struct driver *d)
{
	d->count = af_cuda_driver("cuDeviceGetCount");
	d->get = af_cuda_driver("cuDeviceGet");
	d->name = af_cuda_driver("cuDeviceGetName");
	d->version = af_cuda_driver("cuDriverGetVersion");
	d->uuid = af_cuda_driver("cuDeviceGetUuid_v2"); /* CUDA 11.4 */
	if (!d->uuid)
		d->uuid = af_cuda_driver("cuDeviceGetUuid");
	d->attribute = af_cuda_driver("cuDeviceGetAttribute");
	d->memory = af_cuda_driver("cuDeviceTotalMem_v2");
	return d->count && d->get && d->name && d->version;
}

void af_cuda_devices_define(void)
{
	struct driver d = {0};
	int nr = 0, device = 0, version = 0;
	char text[256], words[32];

	if (!driver_resolve(&d) || d.count(&nr) || d.version(&version))
		return;
	snprintf(words, sizeof words, "CUDA %d.%d", version / 1000, version % 1000 / 10);
	for (int i = 0; i < nr && i < DEVICES_MAX; i++) {
		if (d.get(&device, i) || d.name(text, sizeof text - 1, device))
			continue;
		text[sizeof text - 1] = 0;
		uint32_t id = af_cuda_device((uint32_t)i);
		device_define(id, text, words);
		notes_write(&d, id, device);
	}
}
