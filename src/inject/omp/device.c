/* Describes OpenMP's devices and target regions: DEVICE, CLOCK, QUEUE and KERNEL events. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "inject/core/kernels.h"
#include "inject/core/lock.h"
#include "inject/omp/omp.h"

enum { DEVICES_MAX = 64, TYPE_BYTES = 64, NAME_BYTES = 256 };

struct omp_device {
	char type[TYPE_BYTES]; /* empty: not initialized */
	_Atomic uint32_t queue;
};

static struct omp_device devices[DEVICES_MAX];
static struct af_fork_lock lock = AF_FORK_LOCK; /* to define one */
static struct af_kernels kernels = AF_KERNELS_INIT;
static struct af_handles regions = AF_HANDLES_INIT; /* return address → kernel */

/*
 * Plug-ins of libomptarget that run target regions on the host call themselves by its architecture.
 * Nothing else sees their work; work of GPUs is recorded by the driver's API.
 */
static bool is_host(const char *type)
{
	static const char *const hosts[] = {"x86_64",  "aarch64", "ppc64",
	                                    "riscv64", "s390x",   "generic"};

	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
		if (!strncmp(type, hosts[i], strlen(hosts[i])))
			return true;
	return false;
}

/* Stamps are our own, so the device's clock is the trace's. */
static void device_write(struct af_thread_context *t, int device, const char *type, uint32_t queue)
{
	struct af_ev_device ev = {.device = af_inject_new_id(AF_ID_DEVICE),
	                          .type = queue ? AF_DEVICE_CPU : AF_DEVICE_OTHER,
	                          .api = AF_API_OPENMP};
	uint64_t now = af_now_ns();
	char name[TYPE_BYTES + 32];

	snprintf(name, sizeof name, "OpenMP device %d (%s)", device, type);
	struct af_tail tail[] = {{name, (uint32_t)strlen(name), 0}, {"", 0, 0}, {"OpenMP", 6, 0}};
	af_stream_put_tail(&t->stream, AF_KIND_DEVICE, now, &ev, sizeof ev, tail, 3);
	if (!queue)
		return;
	af_stream_put(&t->stream, clock, now, .clock = AF_CLOCK_DEVICE, .device = ev.device,
	              .mono_ns = now, .foreign = now);
	af_stream_put(&t->stream, queue, now, .queue = queue, .device = ev.device,
	              .context = af_inject_new_id(AF_ID_CONTEXT));
}

static void device_define(int device)
{
	struct omp_device *d = &devices[device];
	uint32_t queue = is_host(d->type) ? af_inject_new_id(AF_ID_QUEUE) : 0;
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	device_write(t, device, d->type, queue);
	af_thread_leave(t);
	atomic_store_explicit(&d->queue, queue, memory_order_release);
}

void af_omp_device(int device, const char *type)
{
	if (device < 0 || device >= DEVICES_MAX)
		return;
	af_fork_lock(&lock);
	if (!*devices[device].type) {
		snprintf(devices[device].type, TYPE_BYTES, "%s", type && *type ? type : "unknown");
		device_define(device);
	}
	af_fork_unlock(&lock);
}

uint32_t af_omp_queue(int device)
{
	if (device < 0 || device >= DEVICES_MAX)
		return 0;
	return atomic_load_explicit(&devices[device].queue, memory_order_acquire);
}

/*
 * Names of functions that are not exported are known only to the reader, so a place is named, by
 * its address in the ELF file (src/analyse/names/regions.h).
 */
uint32_t af_omp_kernel(struct af_thread_context *t, const void *region)
{
	uint64_t known = af_handles_get(&regions, (uintptr_t)region);
	char name[NAME_BYTES];
	struct link_map *map = NULL;
	Dl_info info;

	if (known)
		return (uint32_t)known;
	if (region && dladdr1(region, &info, (void **)&map, RTLD_DL_LINKMAP) && info.dli_fname &&
	    map) {
		const char *slash = strrchr(info.dli_fname, '/');
		snprintf(name, sizeof name, "target region %.200s+0x%zx",
		         slash ? slash + 1 : info.dli_fname,
		         (size_t)((uintptr_t)region - map->l_addr));
	} else {
		snprintf(name, sizeof name, "target region");
	}
	uint32_t kernel = af_kernel_id(&kernels, t, 0, name, strlen(name));
	af_handles_set(&regions, (uintptr_t)region, kernel);
	return kernel;
}

void af_omp_devices_after_fork(void)
{
	af_handles_after_fork(&kernels.ids);
	af_handles_after_fork(&regions);
	for (int i = 0; i < DEVICES_MAX; i++) {
		atomic_store(&devices[i].queue, 0);
		if (*devices[i].type)
			device_define(i);
	}
}
