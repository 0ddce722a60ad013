/* The functions of the mock, and the tables by which the loader finds them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock_zet.h"

/* Mappings that a write of ours would reach other processes by. */
static int shared_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096], how[8];
	int nr = 0;

	while (maps && fgets(line, sizeof line, maps))
		nr += sscanf(line, "%*x-%*x %7s", how) == 1 && !strncmp(how, "rw-s", 4);
	if (maps)
		fclose(maps);
	return nr;
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr - 3; /* two are folders, one is its own */
}

static ze_result_t init(ze_init_flags_t flags)
{
	const char *enabled = getenv("ZET_ENABLE_METRICS");

	(void)flags;
	printf("mock_zet prints\n");
	fflush(stdout);
	mock_log("init\t%s\t%d\t%d\n", enabled ? enabled : "", shared_mappings(), descriptors());
	return mock_fault("zeInit", NULL);
}

static ze_result_t driver_get(uint32_t *nr, ze_driver_handle_t *drivers)
{
	if (*nr && drivers)
		drivers[0] = (ze_driver_handle_t)mock_get();
	*nr = 1;
	return mock_fault("zeDriverGet", NULL);
}

static void devices_of(uint32_t whole, uint32_t *nr, ze_device_handle_t *devices)
{
	struct mock *m = mock_get();
	uint32_t found = 0;

	for (uint32_t i = 0; i < m->nr_devices; i++) {
		if (m->devices[i].part_of != whole)
			continue;
		if (devices && found < *nr)
			devices[found] = (ze_device_handle_t)&m->devices[i];
		found++;
	}
	*nr = *nr && *nr < found ? *nr : found;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *nr, ze_device_handle_t *devices)
{
	(void)driver;
	devices_of(0, nr, devices);
	return mock_fault("zeDeviceGet", NULL);
}

static ze_result_t sub_devices(ze_device_handle_t device, uint32_t *nr, ze_device_handle_t *parts)
{
	devices_of(((struct mock_device *)device)->number, nr, parts);
	return mock_fault("zeDeviceGetSubDevices", (struct mock_device *)device);
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *p)
{
	const struct mock_device *d = (struct mock_device *)device;

	if (p->stype != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	p->type = ZE_DEVICE_TYPE_GPU;
	p->vendorId = 0x8086;
	p->deviceId = 0xe20b;
	p->coreClockRate = 2000;
	p->timerResolution = MOCK_TICK_NS;
	p->numSlices = 2;
	p->numSubslicesPerSlice = 4;
	memset(p->uuid.id, (int)d->number, sizeof p->uuid.id);
	snprintf(p->name, sizeof p->name, "%s", d->name);
	/* ze_device_ip_version_ext_t, which the oldest headers lack. */
	struct {
		uint32_t stype;
		void *next;
		uint32_t version;
	} *ip = p->pNext;
	if (ip && ip->stype == 0x1000f)
		ip->version = d->ip_version;
	return mock_fault("zeDeviceGetProperties", d);
}

static ze_result_t device_pci(ze_device_handle_t device, ze_pci_ext_properties_t *p)
{
	const struct mock_device *d = (struct mock_device *)device;

	if (p->stype != ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES ||
	    sscanf(d->pci, "%x:%x:%x.%x", &p->address.domain, &p->address.bus, &p->address.device,
	           &p->address.function) != 4)
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                  ze_context_handle_t *context)
{
	static int one;

	(void)driver;
	*context = (ze_context_handle_t)&one;
	if (desc->stype != ZE_STRUCTURE_TYPE_CONTEXT_DESC)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return mock_fault("zeContextCreate", NULL);
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
	(void)context;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
                               uint32_t nr, ze_device_handle_t *devices,
                               ze_event_pool_handle_t *pool)
{
	(void)nr;
	(void)devices;
	*pool = (ze_event_pool_handle_t)context;
	if (desc->stype != ZE_STRUCTURE_TYPE_EVENT_POOL_DESC ||
	    desc->flags != ZE_EVENT_POOL_FLAG_HOST_VISIBLE || desc->count != 1)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return mock_fault("zeEventPoolCreate", NULL);
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
	(void)pool;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
                                ze_event_handle_t *event)
{
	*event = (ze_event_handle_t)pool;
	if (desc->stype != ZE_STRUCTURE_TYPE_EVENT_DESC || desc->index ||
	    desc->signal != ZE_EVENT_SCOPE_FLAG_HOST)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_any(ze_event_handle_t event)
{
	(void)event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t group_get(zet_device_handle_t device, uint32_t *nr,
                             zet_metric_group_handle_t *groups)
{
	struct mock_device *d = (struct mock_device *)device;

	for (uint32_t i = 0; groups && i < d->nr_groups && i < *nr; i++)
		groups[i] = (zet_metric_group_handle_t)&d->groups[i];
	*nr = d->nr_groups;
	return mock_fault("zetMetricGroupGet", d);
}

static ze_result_t group_properties(zet_metric_group_handle_t group,
                                    zet_metric_group_properties_t *p)
{
	const struct mock_group *g = (struct mock_group *)group;
	zet_metric_group_properties_t all = g->properties;

	if (p->stype != ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	all.stype = p->stype;
	all.pNext = p->pNext;
	*p = all;
	return mock_fault("zetMetricGroupGetProperties", g->device);
}

static ze_result_t metric_get(zet_metric_group_handle_t group, uint32_t *nr,
                              zet_metric_handle_t *metrics)
{
	struct mock_group *g = (struct mock_group *)group;

	for (uint32_t i = 0; metrics && i < g->properties.metricCount && i < *nr; i++)
		metrics[i] = (zet_metric_handle_t)&g->metrics[i];
	*nr = g->properties.metricCount;
	return mock_fault("zetMetricGet", g->device);
}

static ze_result_t metric_properties(zet_metric_handle_t metric, zet_metric_properties_t *p)
{
	zet_metric_properties_t all = ((struct mock_metric *)metric)->properties;

	if (p->stype != ZET_STRUCTURE_TYPE_METRIC_PROPERTIES)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	all.stype = p->stype;
	all.pNext = p->pNext;
	*p = all;
	return mock_fault("zetMetricGetProperties", NULL);
}

static ze_result_t activate(zet_context_handle_t context, zet_device_handle_t device, uint32_t nr,
                            zet_metric_group_handle_t *groups)
{
	struct mock_device *d = (struct mock_device *)device;

	(void)context;
	(void)groups;
	ze_result_t rc = mock_fault("zetContextActivateMetricGroups", d);
	if (!rc)
		d->active = nr;
	mock_log("activate\t%u\t%u\n", d->number, nr);
	return rc;
}

static ze_result_t streamer_open(zet_context_handle_t context, zet_device_handle_t device,
                                 zet_metric_group_handle_t group, zet_metric_streamer_desc_t *desc,
                                 ze_event_handle_t event, zet_metric_streamer_handle_t *streamer)
{
	struct mock_device *d = (struct mock_device *)device;
	const struct mock_group *g = (struct mock_group *)group;

	(void)context;
	if (desc->stype != ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC || g->device != d)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (!d->active)
		return ZE_RESULT_NOT_READY;
	if (d->is_open)
		return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
	ze_result_t rc = mock_fault("zetMetricStreamerOpen", d);
	d->is_open = !rc;
	/* As Intel's driver has it: ticks of the timer are taken for cycles; of stalls alone. */
	uint32_t asked = desc->samplingPeriod, units = asked / MOCK_TICK_NS / MOCK_UNIT;
	uint32_t unit_ns = MOCK_TICK_NS;
	units = units < 1 ? 1 : units > 7 ? 7 : units;
	if (strcmp(g->properties.name, "EuStallSampling") == 0)
		desc->samplingPeriod = units * MOCK_UNIT * MOCK_TICK_NS;
	else
		unit_ns = 1;
	mock_log("open\t%u\t%s\t%u\t%u\t%s\n", d->number, g->properties.name,
	         desc->samplingPeriod / unit_ns, desc->notifyEveryNReports,
	         event ? "event" : "none");
	*streamer = (zet_metric_streamer_handle_t)d;
	return rc;
}

static ze_result_t streamer_close(zet_metric_streamer_handle_t streamer)
{
	struct mock_device *d = (struct mock_device *)streamer;

	d->is_open = false;
	mock_log("close\t%u\n", d->number);
	return mock_fault("zetMetricStreamerClose", d);
}

static bool has_parts(const struct mock_device *device)
{
	uint32_t nr = 0;

	devices_of(device->number, &nr, NULL);
	return nr != 0;
}

/* A raw report has the number of its row, and nothing else; a header has none. */
static ze_result_t streamer_read(zet_metric_streamer_handle_t streamer, uint32_t most, size_t *size,
                                 uint8_t *raw)
{
	struct mock_device *d = (struct mock_device *)streamer;
	size_t had = 0;

	ze_result_t rc = mock_fault("zetMetricStreamerReadData", d);
	if (rc)
		return rc;
	if (!*size || most != UINT32_MAX) {
		*size = MOCK_ROWS * MOCK_RAW_BYTES;
		return ZE_RESULT_SUCCESS;
	}
	bool more = d->reads_done < d->nr_reads;
	for (uint32_t i = 0; more && i < d->nr_rows; i++) {
		if (d->rows[i].read != d->reads_done || had + MOCK_RAW_BYTES > *size)
			continue;
		memset(raw + had, 0, MOCK_RAW_BYTES);
		memcpy(raw + had, &i, sizeof i);
		had += MOCK_RAW_BYTES;
	}
	/* As Intel's driver: of a device with parts there is always a header. */
	if (!had && has_parts(d)) {
		memset(raw, 0xff, MOCK_RAW_BYTES);
		had = MOCK_RAW_BYTES;
	}
	*size = had;
	return more && d->drops[d->reads_done++] ? ZE_RESULT_WARNING_DROPPED_DATA
	                                         : ZE_RESULT_SUCCESS;
}

static void typed_value(const zet_metric_properties_t *p, const struct mock_row *row, uint32_t at,
                        zet_typed_value_t *v)
{
	v->type = p->resultType;
	if (p->resultType == ZET_VALUE_TYPE_FLOAT32)
		v->value.fp32 = (float)row->floats[at];
	else if (p->resultType == ZET_VALUE_TYPE_FLOAT64)
		v->value.fp64 = row->floats[at];
	else if (p->resultType == ZET_VALUE_TYPE_UINT32)
		v->value.ui32 = (uint32_t)row->values[at];
	else if (p->resultType == ZET_VALUE_TYPE_BOOL8)
		v->value.b8 = row->values[at] != 0;
	else
		v->value.ui64 = row->values[at];
}

/* Rows of a set lie together, as the specification wants it. */
static ze_result_t calculate(zet_metric_group_handle_t group,
                             zet_metric_group_calculation_type_t type, size_t size,
                             const uint8_t *raw, uint32_t *nr_sets, uint32_t *nr_values,
                             uint32_t *counts, zet_typed_value_t *values)
{
	const struct mock_group *g = (struct mock_group *)group;
	uint32_t nr_metrics = g->properties.metricCount, sets = 0, at = 0;

	ze_result_t rc = mock_fault("zetMetricGroupCalculateMultipleMetricValuesExp", g->device);
	if (rc)
		return rc;
	if (type != ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES || size % MOCK_RAW_BYTES)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	if (*(const uint32_t *)raw == UINT32_MAX) {
		*nr_sets = 2;
		*nr_values = 0;
		return ZE_RESULT_SUCCESS;
	}
	for (size_t i = 0; i < size; i += MOCK_RAW_BYTES) {
		uint32_t row;
		memcpy(&row, raw + i, sizeof row);
		if (g->device->rows[row].set >= sets)
			sets = g->device->rows[row].set + 1;
	}
	if (!*nr_sets || !*nr_values) {
		*nr_sets = sets;
		*nr_values = (uint32_t)(size / MOCK_RAW_BYTES) * nr_metrics;
		return ZE_RESULT_SUCCESS;
	}
	for (uint32_t set = 0; set < sets; set++) {
		uint32_t before = at;
		for (size_t i = 0; i < size; i += MOCK_RAW_BYTES) {
			uint32_t row;
			memcpy(&row, raw + i, sizeof row);
			if (g->device->rows[row].set != set)
				continue;
			for (uint32_t k = 0; k < nr_metrics; k++, at++)
				typed_value(&g->metrics[k].properties, &g->device->rows[row], k,
				            &values[at]);
		}
		counts[set] = at - before;
	}
	*nr_values = at;
	return ZE_RESULT_SUCCESS;
}

#define TABLE(prefix, Name, table)                                                                 \
	__attribute__((visibility("default")))                                                     \
	ze_result_t prefix##Get##Name##ProcAddrTable(ze_api_version_t version, table *t)

#define EMPTY(prefix, Name, table)                                                                 \
	TABLE(prefix, Name, table)                                                                 \
	{                                                                                          \
		(void)version;                                                                     \
		(void)t;                                                                           \
		return ZE_RESULT_SUCCESS;                                                          \
	}

TABLE(ze, Global, ze_global_dditable_t)
{
	(void)version;
	t->pfnInit = init;
	return ZE_RESULT_SUCCESS;
}

TABLE(ze, Driver, ze_driver_dditable_t)
{
	(void)version;
	t->pfnGet = driver_get;
	return ZE_RESULT_SUCCESS;
}

TABLE(ze, Device, ze_device_dditable_t)
{
	(void)version;
	t->pfnGet = device_get;
	t->pfnGetSubDevices = sub_devices;
	t->pfnGetProperties = device_properties;
	t->pfnPciGetPropertiesExt = device_pci;
	return ZE_RESULT_SUCCESS;
}

TABLE(ze, Context, ze_context_dditable_t)
{
	(void)version;
	t->pfnCreate = context_create;
	t->pfnDestroy = context_destroy;
	return ZE_RESULT_SUCCESS;
}

TABLE(ze, EventPool, ze_event_pool_dditable_t)
{
	(void)version;
	t->pfnCreate = pool_create;
	t->pfnDestroy = pool_destroy;
	return ZE_RESULT_SUCCESS;
}

TABLE(ze, Event, ze_event_dditable_t)
{
	(void)version;
	t->pfnCreate = event_create;
	t->pfnDestroy = event_any;
	t->pfnQueryStatus = event_any;
	t->pfnHostReset = event_any;
	return ZE_RESULT_SUCCESS;
}

TABLE(zet, Context, zet_context_dditable_t)
{
	(void)version;
	t->pfnActivateMetricGroups = activate;
	return ZE_RESULT_SUCCESS;
}

TABLE(zet, MetricGroup, zet_metric_group_dditable_t)
{
	(void)version;
	t->pfnGet = group_get;
	t->pfnGetProperties = group_properties;
	return ZE_RESULT_SUCCESS;
}

TABLE(zet, MetricGroupExp, zet_metric_group_exp_dditable_t)
{
	(void)version;
	t->pfnCalculateMultipleMetricValuesExp = calculate;
	return ZE_RESULT_SUCCESS;
}

TABLE(zet, Metric, zet_metric_dditable_t)
{
	(void)version;
	t->pfnGet = metric_get;
	t->pfnGetProperties = metric_properties;
	return ZE_RESULT_SUCCESS;
}

TABLE(zet, MetricStreamer, zet_metric_streamer_dditable_t)
{
	(void)version;
	t->pfnOpen = streamer_open;
	t->pfnClose = streamer_close;
	t->pfnReadData = streamer_read;
	return ZE_RESULT_SUCCESS;
}

EMPTY(ze, DeviceExp, ze_device_exp_dditable_t)
EMPTY(ze, CommandQueue, ze_command_queue_dditable_t)
EMPTY(ze, CommandList, ze_command_list_dditable_t)
EMPTY(ze, Image, ze_image_dditable_t)
EMPTY(ze, ImageExp, ze_image_exp_dditable_t)
EMPTY(ze, Fence, ze_fence_dditable_t)
EMPTY(ze, EventExp, ze_event_exp_dditable_t)
EMPTY(ze, Module, ze_module_dditable_t)
EMPTY(ze, ModuleBuildLog, ze_module_build_log_dditable_t)
EMPTY(ze, Kernel, ze_kernel_dditable_t)
EMPTY(ze, KernelExp, ze_kernel_exp_dditable_t)
EMPTY(ze, Sampler, ze_sampler_dditable_t)
EMPTY(ze, PhysicalMem, ze_physical_mem_dditable_t)
EMPTY(ze, Mem, ze_mem_dditable_t)
EMPTY(ze, VirtualMem, ze_virtual_mem_dditable_t)
EMPTY(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t)
EMPTY(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t)
EMPTY(zet, Device, zet_device_dditable_t)
EMPTY(zet, CommandList, zet_command_list_dditable_t)
EMPTY(zet, Module, zet_module_dditable_t)
EMPTY(zet, Kernel, zet_kernel_dditable_t)
EMPTY(zet, MetricQueryPool, zet_metric_query_pool_dditable_t)
EMPTY(zet, MetricQuery, zet_metric_query_dditable_t)
EMPTY(zet, TracerExp, zet_tracer_exp_dditable_t)
EMPTY(zet, Debug, zet_debug_dditable_t)
EMPTY(zes, Driver, zes_driver_dditable_t)
EMPTY(zes, Device, zes_device_dditable_t)
EMPTY(zes, Scheduler, zes_scheduler_dditable_t)
EMPTY(zes, PerformanceFactor, zes_performance_factor_dditable_t)
EMPTY(zes, Power, zes_power_dditable_t)
EMPTY(zes, Frequency, zes_frequency_dditable_t)
EMPTY(zes, Engine, zes_engine_dditable_t)
EMPTY(zes, Standby, zes_standby_dditable_t)
EMPTY(zes, Firmware, zes_firmware_dditable_t)
EMPTY(zes, Memory, zes_memory_dditable_t)
EMPTY(zes, FabricPort, zes_fabric_port_dditable_t)
EMPTY(zes, Temperature, zes_temperature_dditable_t)
EMPTY(zes, Psu, zes_psu_dditable_t)
EMPTY(zes, Fan, zes_fan_dditable_t)
EMPTY(zes, Led, zes_led_dditable_t)
EMPTY(zes, Ras, zes_ras_dditable_t)
EMPTY(zes, Diagnostics, zes_diagnostics_dditable_t)
