/* In the child: devices, their metric groups, and the metrics in these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "collect/zet/private.h"

enum { DRIVERS_MOST = 16 };

static void text_copy(char to[AF_ZET_TEXT], const char from[AF_ZET_TEXT])
{
	memcpy(to, from, AF_ZET_TEXT);
	to[AF_ZET_TEXT - 1] = 0;
}

/* Devices of older drivers have no PCI address; those of a part are of the whole. */
static void device_pci(struct zet_api *z, void *handle, char *text, size_t size)
{
	struct zet_pci_properties pci = {.is = AF_ZET_IS_PCI};

	if (!ZET(z, zeDevicePciGetPropertiesExt, handle, &pci))
		snprintf(text, size, "%04x:%02x:%02x.%x", pci.domain & 0xffff, pci.bus & 0xff,
		         pci.device & 0xff, pci.function & 0xf);
}

/* False: it is no GPU, or fails. */
static bool device_describe(struct zet_api *z, void *handle, struct zet_device *d)
{
	struct zet_ip_version ip = {.is = AF_ZET_IS_IP_VERSION};
	struct zet_device_properties p = {.is = AF_ZET_IS_DEVICE, .next = &ip};
	enum { GPU = 1 };

	uint32_t rc = ZET(z, zeDeviceGetProperties, handle, &p);
	if (rc) {
		zet_send_failed(z, rc, d->device);
		return false;
	}
	d->vendor = p.vendor;
	d->id = p.device;
	d->ip_version = ip.version;
	d->clock_mhz = p.clock_mhz;
	d->processors = p.slices * p.subslices_slice;
	d->tick_ns = (uint32_t)p.timer_resolution;
	memcpy(d->uuid, p.uuid, sizeof d->uuid);
	text_copy(d->name, p.name);
	device_pci(z, handle, d->pci, sizeof d->pci);
	return p.type == GPU;
}

struct places {
	struct zet_place *all;
	uint32_t nr, most;
};

static struct zet_place *place_add(struct zet_api *z, struct places *p, void *driver, void *handle,
                                   uint32_t parent)
{
	struct zet_place *place = &p->all[p->nr];

	if (p->nr == p->most || !handle)
		return NULL;
	*place = (struct zet_place){.driver = driver, .handle = handle};
	place->about.device = p->nr + 1;
	place->about.parent = parent;
	if (!device_describe(z, handle, &place->about))
		return NULL;
	p->nr++;
	zet_send(z, ZET_DEVICE, &place->about, sizeof place->about);
	return place;
}

static void parts_add(struct zet_api *z, struct places *p, const struct zet_place *whole)
{
	void *handles[ZET_DEVICES_MOST] = {NULL};
	uint32_t nr = ZET_DEVICES_MOST;

	if (ZET(z, zeDeviceGetSubDevices, whole->handle, &nr, handles))
		return;
	for (uint32_t i = 0; i < nr && i < ZET_DEVICES_MOST; i++)
		place_add(z, p, whole->driver, handles[i], whole->about.device);
}

static void driver_add(struct zet_api *z, struct places *p, void *driver)
{
	void *handles[ZET_DEVICES_MOST] = {NULL};
	uint32_t nr = ZET_DEVICES_MOST;

	uint32_t rc = ZET(z, zeDeviceGet, driver, &nr, handles);
	if (rc) {
		zet_send_failed(z, rc, 0);
		return;
	}
	for (uint32_t i = 0; i < nr && i < ZET_DEVICES_MOST; i++) {
		const struct zet_place *place = place_add(z, p, driver, handles[i], 0);
		if (place)
			parts_add(z, p, place);
	}
}

uint32_t zet_devices(struct zet_api *z, struct zet_place *all, uint32_t most)
{
	struct places p = {.all = all, .most = most};
	void *drivers[DRIVERS_MOST] = {NULL};
	uint32_t nr = DRIVERS_MOST;

	uint32_t rc = ZET(z, zeInit, 0);
	if (!rc)
		rc = ZET(z, zeDriverGet, &nr, drivers);
	if (rc) {
		zet_send_failed(z, rc, 0);
		return 0;
	}
	for (uint32_t i = 0; i < nr && i < DRIVERS_MOST; i++)
		driver_add(z, &p, drivers[i]);
	return p.nr;
}

/* Handles of a list that a call tells the length of, when asked with 0. */
#define HANDLES(z, call, of, most, nr, rc)                                                         \
	({                                                                                         \
		void **list_ = NULL;                                                               \
		*(nr) = 0;                                                                         \
		(rc) = ZET(z, call, of, nr, NULL);                                                 \
		if (!(rc) && *(nr)) {                                                              \
			uint32_t room_ = *(nr) < (most) ? *(nr) : (most);                          \
			list_ = af_xcalloc(room_, sizeof *list_);                                  \
			*(nr) = room_;                                                             \
			(rc) = ZET(z, call, of, nr, list_);                                        \
			*(nr) = (rc) ? 0 : *(nr) < room_ ? *(nr) : room_;                          \
		}                                                                                  \
		list_;                                                                             \
	})

void **zet_groups(struct zet_api *z, const struct zet_place *place, uint32_t *nr)
{
	uint32_t rc;
	void **groups = HANDLES(z, zetMetricGroupGet, place->handle, ZET_GROUPS_MOST, nr, rc);

	if (rc) {
		*nr = 0;
		zet_send_failed(z, rc, place->about.device);
	}
	return groups;
}

void **zet_metrics(struct zet_api *z, void *group, uint32_t device, uint32_t *nr)
{
	uint32_t rc;
	void **metrics = HANDLES(z, zetMetricGet, group, ZET_METRICS_MOST, nr, rc);

	if (rc) {
		*nr = 0;
		zet_send_failed(z, rc, device);
	}
	return metrics;
}

static void metric_send(struct zet_api *z, void *handle, uint32_t device)
{
	struct zet_metric_properties p = {.is = AF_ZET_IS_METRIC};
	struct zet_metric m = {0};

	uint32_t rc = ZET(z, zetMetricGetProperties, handle, &p);
	if (rc) {
		zet_send_failed(z, rc, device);
		return;
	}
	m.tier = p.tier;
	m.type = p.type;
	m.value_type = p.value_type;
	text_copy(m.name, p.name);
	text_copy(m.description, p.description);
	text_copy(m.component, p.component);
	text_copy(m.units, p.units);
	zet_send(z, ZET_METRIC, &m, sizeof m);
}

void zet_group_send(struct zet_api *z, void *handle, uint32_t device)
{
	struct zet_group_properties p = {.is = AF_ZET_IS_GROUP};
	struct zet_group g = {.device = device};
	uint32_t nr;

	uint32_t rc = ZET(z, zetMetricGroupGetProperties, handle, &p);
	if (rc) {
		zet_send_failed(z, rc, device);
		return;
	}
	g.sampling = p.sampling;
	g.domain = p.domain;
	text_copy(g.name, p.name);
	text_copy(g.description, p.description);
	zet_send(z, ZET_GROUP, &g, sizeof g);
	void **metrics = zet_metrics(z, handle, device, &nr);
	for (uint32_t i = 0; i < nr; i++)
		metric_send(z, metrics[i], device);
	free(metrics);
}

void zet_list(struct zet_api *z, void *arg)
{
	static struct zet_place places[ZET_DEVICES_MOST];
	const struct zet_done done = {0};

	(void)arg;
	uint32_t nr_devices = zet_load(z) ? zet_devices(z, places, ZET_DEVICES_MOST) : 0;
	for (uint32_t i = 0; i < nr_devices; i++) {
		uint32_t nr;
		void **groups = zet_groups(z, &places[i], &nr);
		for (uint32_t k = 0; k < nr; k++)
			zet_group_send(z, groups[k], places[i].about.device);
		free(groups);
	}
	zet_send(z, ZET_DONE, &done, sizeof done);
}
