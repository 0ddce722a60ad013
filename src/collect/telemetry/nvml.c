/* NVIDIA's GPUs by their management library. */
#include "collect/telemetry/nvml.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/telemetry/private.h"

/*
 * The driver answers some questions in 1 us and others, such as those for energy, in milliseconds,
 * and brings these up to date ten times a second at most. Slow ones are not read more often.
 */
enum { SLOW_NS = 50000, SLOW_PERIOD_NS = 100000000, DEVICES_MOST = 64, TRIES = 3 };

struct nvml {
	void *library;
	void *devices[DEVICES_MOST];
	unsigned nr_devices;
	struct nvml_counter *all; /* beside the source's counters */
	uint32_t cap;
#define AF_F(name, type, args) type(*name) args;
	NVML_FUNCTIONS(AF_F)
#undef AF_F
};

/* Reads one value: NVML_SUCCESS, or an error of NVML. */
typedef int nvml_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value);

struct nvml_counter {
	nvml_read *read;
	void *device;
	uint32_t what;
	uint64_t slow_ns; /* how long it took to read, if that is long; else 0 */
	uint64_t read_ns; /* when it was read, if it is slow */
	int error;        /* the last; it is reported once */
};

static int power_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	unsigned mw = 0;
	(void)what;
	int rc = n->nvmlDeviceGetPowerUsage(device, &mw);

	*value = mw;
	return rc;
}

static int field_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	struct nvml_field f = {.id = what};

	if (what == NVML_FIELD_NVLINK_SENT || what == NVML_FIELD_NVLINK_RECEIVED)
		f.scope = NVML_ALL_LINKS;
	int rc = n->nvmlDeviceGetFieldValues(device, 1, &f);
	if (rc || f.error)
		return rc ? rc : f.error;
	switch (f.type) {
	case NVML_DOUBLE:
		*value = f.value.d > 0 && f.value.d < 1e18 ? (uint64_t)f.value.d : 0;
		break;
	case NVML_INT:
		*value = f.value.i > 0 ? (uint64_t)f.value.i : 0;
		break;
	case NVML_UINT:
		*value = f.value.u;
		break;
	case NVML_USHORT:
		*value = f.value.us;
		break;
	default:
		*value = f.value.ull;
		break;
	}
	return NVML_SUCCESS;
}

static int energy_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	unsigned long long mj = 0;
	(void)what;
	int rc = n->nvmlDeviceGetTotalEnergyConsumption(device, &mj);

	*value = mj;
	return rc;
}

static int clock_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	unsigned mhz = 0;
	int rc = n->nvmlDeviceGetClockInfo(device, (int)what, &mhz);

	*value = mhz;
	return rc;
}

static int busy_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	struct nvml_utilization u = {0};
	int rc = n->nvmlDeviceGetUtilizationRates(device, &u);

	*value = what ? u.memory : u.gpu;
	return rc;
}

static int memory_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	struct nvml_memory m = {0};
	(void)what;
	int rc = n->nvmlDeviceGetMemoryInfo(device, &m);

	*value = m.used;
	return rc;
}

static int temperature_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	unsigned degrees = 0;
	int rc = n->nvmlDeviceGetTemperature(device, (int)what, &degrees);

	*value = degrees;
	return rc;
}

static int reason_read(const struct nvml *n, void *device, uint32_t what, uint64_t *value)
{
	unsigned long long bits = 0;
	int rc = n->nvmlDeviceGetCurrentClocksThrottleReasons(device, &bits);

	*value = (bits & what) != 0;
	return rc;
}

/* Where a device has none of the first, the second of one name is tried. */
static const struct {
	nvml_read *read;
	uint32_t what, flags;
	uint64_t per;
	const char *name, *unit;
} counters[] = {
    {field_read, NVML_FIELD_POWER_INSTANT, 0, 1000, "power", "W"},
    {power_read, 0, 0, 1000, "power", "W"},
    {energy_read, 0, AF_COUNTER_AMOUNT, 1000, "energy", "J"},
    {clock_read, NVML_CLOCK_SM, 0, 1, "SM clock", "MHz"},
    {clock_read, NVML_CLOCK_MEM, 0, 1, "memory clock", "MHz"},
    {busy_read, 0, 0, 1, "GPU busy", "%"},
    {busy_read, 1, 0, 1, "memory busy", "%"},
    {memory_read, 0, 0, 1, "memory used", "bytes"},
    {temperature_read, NVML_TEMPERATURE_GPU, 0, 1, "temperature", "°C"},
    {field_read, NVML_FIELD_PCIE_RECEIVED, AF_COUNTER_AMOUNT, 1, "PCIe received", "bytes"},
    {field_read, NVML_FIELD_PCIE_SENT, AF_COUNTER_AMOUNT, 1, "PCIe sent", "bytes"},
    {field_read, NVML_FIELD_NVLINK_RECEIVED, AF_COUNTER_AMOUNT, 1, "NVLink received", "KiB"},
    {field_read, NVML_FIELD_NVLINK_SENT, AF_COUNTER_AMOUNT, 1, "NVLink sent", "KiB"},
#define AF_R(bit, name) {reason_read, bit, 0, 1, name, ""},
    NVML_REASONS(AF_R)
#undef AF_R
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static bool library_open(struct telemetry_source *s, struct nvml *n)
{
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		snprintf(s->why, sizeof s->why,
		         "no libnvidia-ml.so.1: NVIDIA's driver has it (in a container: "
		         "NVIDIA_DRIVER_CAPABILITIES=utility)");
		return false;
	}
#define AF_F(name, type, args)                                                                     \
	*(void **)&n->name = dlsym(n->library, #name);                                             \
	if (!n->name) {                                                                            \
		snprintf(s->why, sizeof s->why, "libnvidia-ml.so.1 has no " #name);                \
		return false;                                                                      \
	}
	NVML_FUNCTIONS(AF_F)
#undef AF_F
	return true;
}

/* The quickest of a few: the first may wake the device. */
static uint64_t time_to_read(const struct nvml *n, const struct nvml_counter *c)
{
	uint64_t best_ns = UINT64_MAX, value;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin_ns = af_now_ns();
		c->read(n, c->device, c->what, &value);
		uint64_t took_ns = af_now_ns() - begin_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	return best_ns;
}

static void counter_add(struct telemetry_source *s, struct nvml *n, void *device, uint32_t number,
                        int i)
{
	struct nvml_counter c = {counters[i].read, device, counters[i].what, 0, 0, 0};
	uint64_t value;
	int rc = c.read(n, device, c.what, &value);

	if (rc == NVML_NO_PERMISSION && !*s->why)
		snprintf(s->why, sizeof s->why, "%s needs rights that this user has not",
		         counters[i].name);
	if (rc)
		return;
	uint64_t took_ns = time_to_read(n, &c);
	c.slow_ns = took_ns > SLOW_NS ? took_ns : 0;
	AF_GROW(n->all, s->nr, n->cap);
	n->all[s->nr] = c;
	telemetry_add(s, number, counters[i].flags, counters[i].per, counters[i].name,
	              counters[i].unit, "");
}

static void device_add(struct telemetry_source *s, struct nvml *n, unsigned i)
{
	uint32_t number = TELEMETRY_NVML_FROM + i, first = s->nr;
	char name[96] = "NVIDIA GPU";
	struct nvml_pci pci = {0};
	void *device = NULL;

	if (n->nvmlDeviceGetHandleByIndex_v2(i, &device) || !device)
		return;
	n->nvmlDeviceGetName(device, name, sizeof name);
	if (n->nvmlDeviceGetPciInfo_v3(device, &pci))
		pci.id[0] = 0;
	pci.id[sizeof pci.id - 1] = name[sizeof name - 1] = 0;
	for (int k = 0; k < COUNTERS && s->nr < TELEMETRY_VALUES; k++) {
		bool again = s->nr > first && !strcmp(s->all[s->nr - 1].name, counters[k].name);
		if (!again)
			counter_add(s, n, device, number, k);
	}
	if (s->nr > first)
		telemetry_add_device(s, &(struct telemetry_device){.number = number,
		                                                   .name = name,
		                                                   .vendor = "NVIDIA",
		                                                   .driver = "NVML",
		                                                   .pci = pci.id});
}

/* The driver's files that the library opened are not for the program that is recorded. */
static void descriptors_close_on_exec(void)
{
	DIR *d = opendir("/proc/self/fd");
	char to[64];

	for (const struct dirent *e; d && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
		if (n <= 0)
			continue;
		to[n] = 0;
		if (!strncmp(to, "/dev/nvidia", strlen("/dev/nvidia")))
			fcntl(atoi(e->d_name), F_SETFD, FD_CLOEXEC);
	}
	if (d)
		closedir(d);
}

static void nvml_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	struct nvml *n = s->own = af_xcalloc(1, sizeof *n);
	unsigned nr = 0;
	(void)roots;

	if (!library_open(s, n))
		return;
	int rc = n->nvmlInit_v2();
	if (rc) {
		snprintf(s->why, sizeof s->why,
		         "nvmlInit failed (%d): is NVIDIA's driver loaded? nvidia-smi tells", rc);
		n->nvmlShutdown = NULL;
		return;
	}
	descriptors_close_on_exec();
	n->nvmlDeviceGetCount_v2(&nr);
	for (unsigned i = 0; i < nr && i < DEVICES_MOST; i++)
		device_add(s, n, i);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why, "NVML has no device here");
}

static void counter_read(struct telemetry_source *s, const struct nvml *n, uint32_t i,
                         uint64_t now_ns)
{
	struct nvml_counter *c = &n->all[i];
	uint64_t value = 0;
	char what[160];

	if (c->slow_ns && now_ns - c->read_ns < SLOW_PERIOD_NS)
		return;
	c->read_ns = now_ns;
	int rc = c->read(n, c->device, c->what, &value);
	if (rc) {
		snprintf(what, sizeof what, "%s of device %u: NVML's error %d", s->all[i].name,
		         s->all[i].device - TELEMETRY_NVML_FROM, rc);
		telemetry_failed(s, what);
		s->totals[i].known = false;
	} else if (s->all[i].flags & AF_COUNTER_AMOUNT) {
		telemetry_total(s, i, value);
	} else {
		telemetry_put(s, i, value);
	}
}

/* Slow ones are read at the first tick and the last, too, whenever that is. */
static void nvml_read_all(struct telemetry_source *s, struct telemetry_reading *to)
{
	const struct nvml *n = s->own;

	for (uint32_t i = 0; i < s->nr; i++) {
		if (to->again || s->beat.stopped)
			n->all[i].read_ns = 0;
		counter_read(s, n, i, to->time_ns);
	}
}

static void nvml_close(struct telemetry_source *s)
{
	struct nvml *n = s->own;

	if (n && n->nvmlShutdown)
		n->nvmlShutdown();
	if (n && n->library)
		dlclose(n->library);
	if (n)
		free(n->all);
	free(n);
	s->own = NULL;
}

const struct telemetry_ops telemetry_nvml = {
    .name = "nvml",
    .summary = "power, energy, clocks, use, memory, links and throttling of NVIDIA's GPUs (NVML)",
    .find = nvml_find,
    .read = nvml_read_all,
    .close = nvml_close,
};
