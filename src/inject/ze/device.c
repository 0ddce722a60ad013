/* Level Zero's devices and their parts: DEVICE, DEVICE_NOTE, and the CLOCK of each that is used. */
#include <stdio.h>
#include <string.h>

#include "inject/core/handles.h"
#include "inject/core/inject.h"
#include "inject/core/kernels.h"
#include "inject/core/lock.h"
#include "inject/ze/timer.h"
#include "inject/ze/ze.h"

enum {
	PARTS_MAX = 16,
	READ_TRIES = 3,
	UUID_BYTES = 16,
	SLACK_S = 5,
};

static struct af_handles by_handle = AF_HANDLES_INIT; /* → struct af_ze_device * */
static struct af_handles drivers = AF_HANDLES_INIT;   /* of devices and contexts → driver */
static struct af_fork_lock lock = AF_FORK_LOCK;       /* to fill a slot of `devices` */
static struct af_ze_device devices[AF_ZE_DEVICES];
static _Atomic uint32_t nr_devices;

void af_ze_context_made(void *driver, void *context)
{
	af_handles_set(&drivers, (uintptr_t)context, (uintptr_t)driver);
}

void *af_ze_extension(void *context, const char *name)
{
	void *driver = (void *)(uintptr_t)af_handles_get(&drivers, (uintptr_t)context);
	void *function = NULL;

	if (!driver || af_ze_next.zeDriverGetExtensionFunctionAddress(driver, name, &function))
		return NULL;
	return function;
}

/* The vendor's text of a driver: its build number is in the low bits. */
static void driver_text(void *driver, char *text, size_t size)
{
	struct af_ze_driver_properties p = {.stype = AF_ZE_STYPE_DRIVER_PROPERTIES};
	uint32_t api = 0;

	if (!driver || af_ze_next.zeDriverGetProperties(driver, &p))
		p.version = 0;
	if (!driver || af_ze_next.zeDriverGetApiVersion(driver, &api))
		api = 0;
	snprintf(text, size, "Level Zero %u.%u, driver %u.%u.%u", api >> 16, api & 0xffff,
	         p.version >> 24, p.version >> 16 & 0xff, p.version & 0xffff);
}

static void device_define(uint32_t id, uint32_t parent, const struct af_ze_device_properties *p,
                          const char *driver)
{
	const char *vendor = p->vendor == 0x8086 ? "Intel" : "";
	uint32_t type = p->type == AF_ZE_DEVICE_GPU   ? AF_DEVICE_GPU
	                : p->type == AF_ZE_DEVICE_CPU ? AF_DEVICE_CPU
	                                              : AF_DEVICE_ACCELERATOR;
	struct af_ev_device ev = {
	    .device = id, .parent = parent, .type = type, .api = AF_API_LEVEL_ZERO};
	struct af_tail tail[] = {{p->name, (uint32_t)strnlen(p->name, sizeof p->name), 0},
	                         {vendor, (uint32_t)strlen(vendor), 0},
	                         {driver, (uint32_t)strlen(driver), 0}};
	struct af_thread_context *t = af_thread_enter();

	if (!t)
		return;
	af_stream_put_tail(&t->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
	af_thread_leave(t);
}

static void notes_write(void *handle, uint32_t id, const struct af_ze_device_properties *p)
{
	struct af_ze_pci_properties pci = {.stype = AF_ZE_STYPE_PCI_PROPERTIES};
	char text[64] = "";

	for (int i = 0; i < UUID_BYTES; i++) {
		size_t used = strlen(text);
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		snprintf(text + used, sizeof text - used, "%s%02x", dash ? "-" : "", p->uuid[i]);
	}
	af_device_note(id, "uuid", text);
	snprintf(text, sizeof text, "%u", p->slices * p->subslices_slice * p->eus_subslice);
	af_device_note(id, "processors", text);
	snprintf(text, sizeof text, "%u", p->clock_mhz * 1000);
	af_device_note(id, "clock_khz", text);
	snprintf(text, sizeof text, "%04x:%04x", p->vendor & 0xffff, p->device & 0xffff);
	af_device_note(id, "pci_id", text);
	if (!af_ze_next.zeDevicePciGetPropertiesExt ||
	    af_ze_next.zeDevicePciGetPropertiesExt(handle, &pci))
		return;
	snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device,
	         pci.function);
	af_device_note(id, "pci", text);
}

/* In ticks a second where the driver can, as whole nanoseconds a tick are up to 1 % off. */
static bool properties_get(void *handle, struct af_ze_device_properties *p, uint64_t *hz)
{
	*p = (struct af_ze_device_properties){.stype = AF_ZE_STYPE_DEVICE_PROPERTIES_1_2};
	bool exact = !af_ze_next.zeDeviceGetProperties(handle, p) && p->timer > 1000 &&
	             p->timer <= AF_TIMER_HZ_MAX;
	if (exact) {
		*hz = p->timer;
		return true;
	}
	*p = (struct af_ze_device_properties){.stype = AF_ZE_STYPE_DEVICE_PROPERTIES};
	if (af_ze_next.zeDeviceGetProperties(handle, p))
		return false;
	*hz = p->timer && p->timer < 1000000 ? 1000000000 / p->timer : 1000000000;
	return true;
}

/* True when this call made the entry. */
static bool device_register(void *handle, const struct af_ze_device_properties *p, uint64_t hz,
                            struct af_ze_device **ret)
{
	af_fork_lock(&lock);
	uint32_t nr = atomic_load(&nr_devices);
	struct af_ze_device *d = (void *)(uintptr_t)af_handles_get(&by_handle, (uintptr_t)handle);
	bool fresh = !d && nr < AF_ZE_DEVICES;
	if (fresh) {
		d = &devices[nr];
		*d = (struct af_ze_device){
		    .handle = handle,
		    .id = af_inject_new_id(AF_ID_DEVICE),
		    .hz = hz,
		    .bits = p->timestamp_bits,
		    .kernel_bits = p->kernel_timestamp_bits,
		};
		atomic_store_explicit(&nr_devices, nr + 1, memory_order_release);
		af_handles_set(&by_handle, (uintptr_t)handle, (uintptr_t)d);
	}
	af_fork_unlock(&lock);
	*ret = d;
	return fresh;
}

static struct af_ze_device *device_meet(void *handle, void *driver, uint32_t parent)
{
	struct af_ze_device *d = (void *)(uintptr_t)af_handles_get(&by_handle, (uintptr_t)handle);
	struct af_ze_device_properties p;
	char text[96];
	uint64_t hz;

	if (d || !handle || !properties_get(handle, &p, &hz))
		return d;
	if (!device_register(handle, &p, hz, &d))
		return d;
	driver_text(driver, text, sizeof text);
	device_define(d->id, parent, &p, text);
	notes_write(handle, d->id, &p);
	return d;
}

struct af_ze_device *af_ze_device(void *handle)
{
	return device_meet(handle, NULL, 0);
}

/* A driver (22.43) that has no parts of a device leaves the number as it was. */
static void parts_define(void *handle, void *driver, uint32_t parent)
{
	void *parts[PARTS_MAX] = {0};
	uint32_t nr = 0;

	if (af_ze_next.zeDeviceGetSubDevices(handle, &nr, NULL) || !nr)
		return;
	nr = nr < PARTS_MAX ? nr : PARTS_MAX;
	if (af_ze_next.zeDeviceGetSubDevices(handle, &nr, parts))
		return;
	for (uint32_t i = 0; i < nr && i < PARTS_MAX; i++)
		device_meet(parts[i], driver, parent);
}

void af_ze_devices_define(void *driver)
{
	void *handles[AF_ZE_DEVICES] = {0};
	uint32_t nr = 0;

	if (af_ze_next.zeDeviceGet(driver, &nr, NULL) || !nr)
		return;
	nr = nr < AF_ZE_DEVICES ? nr : AF_ZE_DEVICES;
	if (af_ze_next.zeDeviceGet(driver, &nr, handles))
		return;
	for (uint32_t i = 0; i < nr && i < AF_ZE_DEVICES; i++) {
		struct af_ze_device *d = device_meet(handles[i], driver, 0);
		if (d)
			parts_define(handles[i], driver, d->id);
	}
}

/* The narrowest of a few readings; the driver's own host time is on a clock of its choice. */
static bool clock_read(struct af_ze_device *d, struct af_ev_clock *best, uint64_t *ticks)
{
	best->uncertainty_ns = UINT64_MAX;
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t host = 0, stamp = 0, begin = af_now_ns();
		if (af_ze_next.zeDeviceGetGlobalTimestamps(d->handle, &host, &stamp))
			return false;
		uint64_t width = af_now_ns() - begin;
		if (width >= best->uncertainty_ns)
			continue;
		best->mono_ns = begin + width / 2;
		best->uncertainty_ns = width;
		*ticks = stamp;
	}
	return true;
}

/* Where the device's timer is at @mono_ns, by the newest pair. */
static uint64_t ticks_at(const struct af_ze_device *d, uint64_t mono_ns)
{
	const struct af_ze_pair *p =
	    &d->pairs[atomic_load_explicit(&d->pair, memory_order_acquire)];

	if (mono_ns >= p->mono_ns)
		return p->ticks + af_timer_ticks(mono_ns - p->mono_ns, d->hz);
	uint64_t before = af_timer_ticks(p->mono_ns - mono_ns, d->hz);
	return before < p->ticks ? p->ticks - before : 0;
}

static void clock_write(struct af_ze_device *d)
{
	struct af_ev_clock pair = {.clock = AF_CLOCK_DEVICE, .device = d->id};
	uint64_t ticks = 0;

	if (!clock_read(d, &pair, &ticks))
		return;
	/* All bits of the first reading count; from it on the timer is followed round. */
	if (atomic_load(&d->has_clock))
		ticks = af_timer_near(ticks, d->bits, ticks_at(d, pair.mono_ns));
	uint32_t next = !atomic_load(&d->pair);
	d->pairs[next] = (struct af_ze_pair){ticks, pair.mono_ns};
	atomic_store_explicit(&d->pair, next, memory_order_release);
	atomic_store(&d->has_clock, true);
	pair.foreign = af_timer_ns(ticks, d->hz);
	struct af_thread_context *t = af_thread_enter();
	if (!t)
		return;
	void *at = af_stream_begin(&t->stream, AF_KIND_CLOCK, af_now_ns(), sizeof pair);
	if (at) {
		memcpy(at, &pair, sizeof pair);
		af_stream_end(&t->stream);
	}
	af_thread_leave(t);
}

void af_ze_clocks_read(void)
{
	uint32_t nr = atomic_load_explicit(&nr_devices, memory_order_acquire);

	for (uint32_t i = 0; i < nr; i++)
		if (atomic_load_explicit(&devices[i].is_used, memory_order_relaxed))
			clock_write(&devices[i]);
}

void af_ze_device_use(struct af_ze_device *d)
{
	if (!d || atomic_exchange(&d->was_met, 1))
		return;
	clock_write(d);
	atomic_store(&d->is_used, true);
}

/*
 * Stamps of kernels are the low bits of the device's timer: of the times with these bits it is the
 * first after the launch.
 */
bool af_ze_device_stamps(const struct af_ze_device *d, uint64_t launched_ns,
                         const struct af_ze_stamps *stamps, struct af_ze_stamps *ns)
{
	if (!d || !atomic_load_explicit(&d->has_clock, memory_order_acquire))
		return false;
	/* A clock that was not read for long may be seconds off. */
	uint64_t slack = d->hz * SLACK_S, quarter = af_timer_mask(d->kernel_bits) / 4;
	uint64_t at = ticks_at(d, launched_ns);
	slack = slack < quarter ? slack : quarter;
	uint64_t start = af_timer_from(stamps->start, d->kernel_bits, at > slack ? at - slack : 0);
	uint64_t end = af_timer_from(stamps->end, d->kernel_bits, start);

	/* Nothing takes half of the time that the timer needs to come round. */
	if (end - start > af_timer_mask(d->kernel_bits) / 2)
		return false;
	ns->start = af_timer_ns(start, d->hz);
	ns->end = af_timer_ns(end, d->hz);
	return true;
}

void af_ze_devices_after_fork(void)
{
	af_handles_after_fork(&by_handle);
	af_handles_after_fork(&drivers);
	atomic_store(&nr_devices, 0);
}
