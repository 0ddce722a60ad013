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

enum { DEVICES_MOST = 64, VALUES_MOST = 8, FIELD_TYPE = VALUES_MOST - 1 };

struct nvml {
	void *library;
	struct nvml_call *calls;
	uint32_t nr_calls, cap_calls;
#define AF_F(name, type, args) type(*name) args;
	NVML_FUNCTIONS(AF_F)
#undef AF_F
};

/*
 * The driver answers some questions in 10 us and others, such as the one for energy, in 3 ms. So a
 * call is made no more often than that it takes one part in @apart of a core's time.
 */
struct nvml_question {
	/* NVML_SUCCESS and a value for each counter, or an error of NVML. */
	int (*ask)(const struct nvml *n, void *device, uint32_t what, uint64_t *values);
	uint32_t what, apart;
	struct {
		const char *name, *unit;
		uint64_t per;
		uint32_t flags;
	} counters[VALUES_MOST];
};

/* A question to one device. */
struct nvml_call {
	const struct nvml_question *is;
	void *device;
	uint32_t first; /* of its counters */
	struct telemetry_pace pace;
};

static int power_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned mw = 0;
	(void)what;
	int rc = n->nvmlDeviceGetPowerUsage(device, &mw);

	values[0] = mw;
	return rc;
}

static uint64_t field_value(const struct nvml_field *f)
{
	switch (f->type) {
	case NVML_DOUBLE:
		return f->value.d > 0 && f->value.d < 1e18 ? (uint64_t)f->value.d : 0;
	case NVML_INT:
		return f->value.i > 0 ? (uint64_t)f->value.i : 0;
	case NVML_UINT:
		return f->value.u;
	case NVML_USHORT:
		return f->value.us;
	default:
		return f->value.ull;
	}
}

static int field_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	struct nvml_field f = {.id = what};

	if (what == NVML_FIELD_NVLINK_SENT || what == NVML_FIELD_NVLINK_RECEIVED)
		f.scope = NVML_ALL_LINKS;
	int rc = n->nvmlDeviceGetFieldValues(device, 1, &f);
	values[0] = field_value(&f);
	values[FIELD_TYPE] = f.type;
	return rc ? rc : f.error;
}

static int energy_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned long long mj = 0;
	(void)what;
	int rc = n->nvmlDeviceGetTotalEnergyConsumption(device, &mj);

	values[0] = mj;
	return rc;
}

static int clock_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned mhz = 0;
	int rc = n->nvmlDeviceGetClockInfo(device, (int)what, &mhz);

	values[0] = mhz;
	return rc;
}

static int busy_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	struct nvml_utilization u = {0};
	(void)what;
	int rc = n->nvmlDeviceGetUtilizationRates(device, &u);

	values[0] = u.gpu;
	values[1] = u.memory;
	return rc;
}

static int memory_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	struct nvml_memory m = {0};
	(void)what;
	int rc = n->nvmlDeviceGetMemoryInfo(device, &m);

	values[0] = m.used;
	return rc;
}

static int temperature_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned degrees = 0;
	int rc = n->nvmlDeviceGetTemperature(device, (int)what, &degrees);

	values[0] = degrees;
	return rc;
}

static int reasons_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	static const uint32_t bits[] = {
#define AF_R(bit, name) bit,
	    NVML_REASONS(AF_R)
#undef AF_R
	};
	unsigned long long set = 0;
	(void)what;
	int rc = n->nvmlDeviceGetCurrentClocksThrottleReasons(device, &set);

	_Static_assert(sizeof bits / sizeof *bits <= VALUES_MOST, "a value each");
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
		values[i] = (set & bits[i]) != 0;
	return rc;
}

/* The link as it is now, which saves power when idle; and the most that device and slot can do. */
static int link_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned generation = 0, lanes = 0;
	(void)what;
	int rc = n->nvmlDeviceGetCurrPcieLinkGeneration(device, &generation);

	rc = rc ? rc : n->nvmlDeviceGetCurrPcieLinkWidth(device, &lanes);
	values[0] = generation;
	values[1] = lanes;
	return rc;
}

static int link_most_ask(const struct nvml *n, void *device, uint32_t what, uint64_t *values)
{
	unsigned generation = 0, lanes = 0;
	(void)what;
	int rc = n->nvmlDeviceGetMaxPcieLinkGeneration(device, &generation);

	rc = rc ? rc : n->nvmlDeviceGetMaxPcieLinkWidth(device, &lanes);
	values[0] = generation;
	values[1] = lanes;
	return rc;
}

/* Where a device answers the first of two for one counter, the second is left out. */
static const struct nvml_question usual[] = {
    {field_ask, NVML_FIELD_POWER_INSTANT, 4000, {{"power", "W", 1000, 0}}},
    {power_ask, 0, 4000, {{"power", "W", 1000, 0}}},
    {energy_ask, 0, 20000, {{"energy", "J", 1000, AF_COUNTER_AMOUNT}}},
    {clock_ask, NVML_CLOCK_SM, 20000, {{"SM clock", "MHz", 1, 0}}},
    {clock_ask, NVML_CLOCK_MEM, 20000, {{"memory clock", "MHz", 1, 0}}},
    {busy_ask, 0, 20000, {{"GPU busy", "%", 1, 0}, {"memory busy", "%", 1, 0}}},
    {memory_ask, 0, 20000, {{"memory used", "bytes", 1, 0}}},
    {temperature_ask, NVML_TEMPERATURE_GPU, 20000, {{"temperature", "°C", 1, 0}}},
    {reasons_ask,
     0,
     20000,
     {
#define AF_R(bit, name) {name, "", 1, 0},
	 NVML_REASONS(AF_R)
#undef AF_R
     }},
};

/* A user who names these has what the links moved at each tick. */
static const struct nvml_question links[] = {
    {field_ask, NVML_FIELD_PCIE_RECEIVED, 0, {{"PCIe received", "bytes", 1, AF_COUNTER_AMOUNT}}},
    {field_ask, NVML_FIELD_PCIE_SENT, 0, {{"PCIe sent", "bytes", 1, AF_COUNTER_AMOUNT}}},
    {field_ask, NVML_FIELD_NVLINK_RECEIVED, 0, {{"NVLink received", "KiB", 1, AF_COUNTER_AMOUNT}}},
    {field_ask, NVML_FIELD_NVLINK_SENT, 0, {{"NVLink sent", "KiB", 1, AF_COUNTER_AMOUNT}}},
    {link_ask, 0, 20000, {{"PCIe generation", "", 1, 0}, {"PCIe lanes", "", 1, 0}}},
    {link_most_ask,
     0,
     20000,
     {{"PCIe generation, most", "", 1, 0}, {"PCIe lanes, most", "", 1, 0}}},
};

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

/*
 * Bytes over PCIe are a number of 32 bits (driver 580): at 63 GB/s it wraps in 68 ms. A lane of
 * generation 1 moves 250 MB a second, and twice as many of each later one.
 */
static void wraps_set(struct telemetry_total *t, const struct nvml *n, void *device)
{
	uint64_t link[VALUES_MOST] = {0};

	t->wraps = 1ull << 32;
	if (!link_most_ask(n, device, 0, link) && link[0] && link[0] < 16 && link[1] &&
	    link[1] <= 64)
		t->once_ns = t->wraps * 4 / (link[1] << (link[0] - 1));
}

static void question_add(struct telemetry_source *s, struct nvml *n, void *device, uint32_t number,
                         const struct nvml_question *is)
{
	uint64_t values[VALUES_MOST] = {0};
	int rc = is->ask(n, device, is->what, values);

	if (rc == NVML_NO_PERMISSION && !*s->why)
		snprintf(s->why, sizeof s->why, "%s needs rights that this user has not",
		         is->counters[0].name);
	if (rc)
		return;
	AF_GROW(n->calls, n->nr_calls, n->cap_calls);
	n->calls[n->nr_calls++] = (struct nvml_call){.is = is, .device = device, .first = s->nr};
	for (int i = 0; i < VALUES_MOST && is->counters[i].name; i++)
		telemetry_add(s, number, is->counters[i].flags, is->counters[i].per,
		              is->counters[i].name, is->counters[i].unit, "");
	if (is->counters[0].flags & AF_COUNTER_AMOUNT && is->ask == field_ask &&
	    values[FIELD_TYPE] == NVML_UINT)
		wraps_set(&s->totals[s->nr - 1], n, device);
}

static void device_add(struct telemetry_source *s, struct nvml *n, unsigned i,
                       const struct nvml_question *all, uint32_t nr)
{
	uint32_t number = TELEMETRY_NVML_FROM + i, first = s->nr;
	char name[96] = "NVIDIA GPU", address[40] = "";
	struct nvml_pci pci = {0};
	void *device = NULL;

	if (n->nvmlDeviceGetHandleByIndex_v2(i, &device) || !device)
		return;
	n->nvmlDeviceGetName(device, name, sizeof name);
	/* As CUDA's devices have it; NVML's own text has a domain of eight digits. */
	if (!n->nvmlDeviceGetPciInfo_v3(device, &pci))
		snprintf(address, sizeof address, "%04x:%02x:%02x.0", pci.domain, pci.bus,
		         pci.device);
	name[sizeof name - 1] = 0;
	for (uint32_t k = 0; k < nr && s->nr + VALUES_MOST <= TELEMETRY_VALUES; k++) {
		const char *counter = all[k].counters[0].name;
		bool again = s->nr > first && !strcmp(s->all[s->nr - 1].name, counter);
		if (!again)
			question_add(s, n, device, number, &all[k]);
	}
	if (s->nr > first)
		telemetry_add_device(s, &(struct telemetry_device){.number = number,
		                                                   .name = name,
		                                                   .vendor = "NVIDIA",
		                                                   .driver = "NVML",
		                                                   .pci = address});
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

static void devices_find(struct telemetry_source *s, const struct nvml_question *all, uint32_t nr)
{
	struct nvml *n = s->own = af_xcalloc(1, sizeof *n);
	unsigned nr_devices = 0;

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
	n->nvmlDeviceGetCount_v2(&nr_devices);
	for (unsigned i = 0; i < nr_devices && i < DEVICES_MOST; i++)
		device_add(s, n, i, all, nr);
	if (!s->nr && !*s->why)
		snprintf(s->why, sizeof s->why, "NVML has no device here that answers");
}

static void usual_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	(void)roots;
	devices_find(s, usual, sizeof usual / sizeof *usual);
}

static void links_find(struct telemetry_source *s, const struct telemetry_roots *roots)
{
	(void)roots;
	devices_find(s, links, sizeof links / sizeof *links);
}

static void value_take(struct telemetry_source *s, uint32_t counter, uint64_t value)
{
	if (s->all[counter].flags & AF_COUNTER_AMOUNT)
		telemetry_total(s, counter, value);
	else
		telemetry_put(s, counter, value);
}

static void call_make(struct telemetry_source *s, const struct nvml *n, struct nvml_call *c)
{
	uint64_t values[VALUES_MOST] = {0}, begin_ns = af_now_ns();
	int rc = c->is->ask(n, c->device, c->is->what, values);
	char what[160];

	telemetry_asked(&c->pace, begin_ns, c->is->apart);
	if (rc) {
		snprintf(what, sizeof what, "%s of device %u: NVML's error %d",
		         c->is->counters[0].name, s->all[c->first].device - TELEMETRY_NVML_FROM,
		         rc);
		telemetry_failed(s, what);
	}
	for (uint32_t i = 0; i < VALUES_MOST && c->is->counters[i].name; i++)
		if (rc)
			s->totals[c->first + i].known = false;
		else
			value_take(s, c->first + i, values[i]);
}

static uint64_t nvml_takes(const struct telemetry_source *s, uint64_t time_ns, bool again)
{
	const struct nvml *n = s->own;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < n->nr_calls; i++)
		if (telemetry_is_due(s, &n->calls[i].pace, time_ns, again))
			ns += n->calls[i].pace.took_ns;
	return ns;
}

static void nvml_read(struct telemetry_source *s, struct telemetry_reading *to)
{
	const struct nvml *n = s->own;

	for (uint32_t i = 0; i < n->nr_calls; i++)
		if (telemetry_is_due(s, &n->calls[i].pace, to->time_ns, to->again))
			call_make(s, n, &n->calls[i]);
}

static void nvml_close(struct telemetry_source *s)
{
	struct nvml *n = s->own;

	if (n && n->nvmlShutdown)
		n->nvmlShutdown();
	if (n && n->library)
		dlclose(n->library);
	if (n)
		free(n->calls);
	free(n);
	s->own = NULL;
}

const struct telemetry_ops telemetry_nvml = {
    .name = "nvml",
    .summary = "power, energy, clocks, use, memory, temperature, throttling of NVIDIA's GPUs",
    .find = usual_find,
    .read = nvml_read,
    .takes = nvml_takes,
    .close = nvml_close,
};

const struct telemetry_ops telemetry_nvml_links = {
    .name = "nvml-links",
    .period_ns = 50000000,
    .summary =
	"PCIe and NVLink traffic and links of NVIDIA's GPUs (0.9 ms of CPU time a tick and GPU)",
    .find = links_find,
    .read = nvml_read,
    .takes = nvml_takes,
    .close = nvml_close,
};
