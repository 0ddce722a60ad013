/* AMD's agents as devices, their queues and clocks, and names of kernels. */
#include <stdio.h>
#include <string.h>

#include "inject/core/inject.h"
#include "inject/core/kernels.h"
#include "inject/rocm/rocm.h"

enum { DEVICES_MAX = 64, READ_TRIES = 3, KERNEL_NAME_BYTES = 60000 };

struct rocm_device {
	uint64_t agent;
	uint32_t id;
	bool is_gpu;
	_Atomic bool has_queue;
	char name[128], vendor[64];
};

/* Filled in before the first work. */
static struct rocm_device devices[DEVICES_MAX];
static uint32_t nr_devices;
static char driver[64];

static struct af_handles queues = AF_HANDLES_INIT; /* the SDK's number → id */
static struct af_handles copies = AF_HANDLES_INIT; /* place of a device, from 1 → id of a queue */
static struct af_handles kernel_ids = AF_HANDLES_INIT; /* the SDK's number → id */
static struct af_kernels kernels = AF_KERNELS_INIT;

static struct rocm_device *device_find(uint64_t agent)
{
	for (uint32_t i = 0; i < nr_devices; i++)
		if (devices[i].agent == agent)
			return &devices[i];
	return NULL;
}

static void device_define(struct af_thread_context *t, struct rocm_device *d)
{
	d->id = af_inject_new_id(AF_ID_DEVICE);
	struct af_ev_device ev = {
	    .device = d->id, .type = d->is_gpu ? AF_DEVICE_GPU : AF_DEVICE_CPU, .api = AF_API_HIP};
	struct af_tail tail[] = {{d->name, (uint32_t)strlen(d->name), 0},
	                         {d->vendor, (uint32_t)strlen(d->vendor), 0},
	                         {driver, (uint32_t)strlen(driver), 0}};

	af_stream_put_tail(&t->stream, AF_KIND_DEVICE, af_now_ns(), &ev, sizeof ev, tail, 3);
}

/* A location is bus, device and function in 8, 5 and 3 bits. */
static void notes_write(uint32_t id, const struct af_rocm_agent *a)
{
	char text[64];

	snprintf(text, sizeof text, "%04x:%02x:%02x.%x", a->domain, a->location >> 8 & 0xff,
	         a->location >> 3 & 0x1f, a->location & 7);
	af_device_note(id, "pci", text);
	snprintf(text, sizeof text, "%04x:%04x", a->vendor, a->device);
	af_device_note(id, "pci_id", text);
}

/* CPUs are defined when they copy something. */
static void device_add(const struct af_rocm_agent *a)
{
	struct rocm_device *d = &devices[nr_devices];

	if (nr_devices == DEVICES_MAX || a->size < sizeof *a ||
	    (a->type != AF_ROCM_AGENT_CPU && a->type != AF_ROCM_AGENT_GPU))
		return;
	d->agent = a->id;
	d->is_gpu = a->type == AF_ROCM_AGENT_GPU;
	const char *name = a->product_name && *a->product_name ? a->product_name : a->name;
	snprintf(d->name, sizeof d->name, "%s", name ? name : "");
	snprintf(d->vendor, sizeof d->vendor, "%s", a->vendor_name ? a->vendor_name : "");
	nr_devices++;
	struct af_thread_context *t = d->is_gpu ? af_thread_enter() : NULL;
	if (!t)
		return;
	device_define(t, d);
	af_thread_leave(t);
	notes_write(d->id, a);
}

static int agents_take(uint32_t version, const void **agents, size_t nr, void *arg)
{
	(void)arg;
	for (size_t i = 0; version == AF_ROCM_AGENT_VERSION && i < nr; i++)
		device_add(agents[i]);
	return AF_ROCM_SUCCESS;
}

void af_rocm_devices_define(uint32_t version)
{
	snprintf(driver, sizeof driver, "rocprofiler-sdk %u.%u.%u", version / 10000,
	         version / 100 % 100, version % 100);
	af_rocm_sdk.query_available_agents(AF_ROCM_AGENT_VERSION, agents_take,
	                                   sizeof(struct af_rocm_agent), NULL);
}

bool af_rocm_is_gpu(uint64_t agent)
{
	const struct rocm_device *d = device_find(agent);

	return d && d->is_gpu;
}

/*
 * The narrowest of a few readings. Where the SDK's reading lies between ours the two are one clock,
 * as far as anybody can tell.
 */
static bool clock_read(struct af_ev_clock *best)
{
	best->uncertainty_ns = UINT64_MAX;
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t foreign, begin = af_now_ns();
		if (af_rocm_sdk.get_timestamp(&foreign))
			return false;
		uint64_t end = af_now_ns();
		if (end - begin >= best->uncertainty_ns)
			continue;
		best->mono_ns =
		    foreign >= begin && foreign <= end ? foreign : begin + (end - begin) / 2;
		best->foreign = foreign;
		best->uncertainty_ns = end - begin;
	}
	return true;
}

static void clock_put(struct af_thread_context *t, const struct af_ev_clock *pair, uint32_t device)
{
	af_stream_put(&t->stream, clock, af_now_ns(), .clock = AF_CLOCK_DEVICE, .device = device,
	              .mono_ns = pair->mono_ns, .foreign = pair->foreign,
	              .uncertainty_ns = pair->uncertainty_ns);
}

void af_rocm_clocks_write(void)
{
	struct af_thread_context *t;
	struct af_ev_clock pair;

	if (!clock_read(&pair) || !(t = af_thread_enter()))
		return;
	for (uint32_t i = 0; i < nr_devices; i++)
		if (atomic_load(&devices[i].has_queue))
			clock_put(t, &pair, devices[i].id);
	af_thread_leave(t);
}

/*
 * By the one thread that hands records over. The SDK reads its clock by a call of the kernel alone,
 * so @t may be entered.
 */
static void device_use(struct af_thread_context *t, struct rocm_device *d)
{
	struct af_ev_clock pair;

	if (atomic_load(&d->has_queue))
		return;
	if (!d->id)
		device_define(t, d);
	atomic_store(&d->has_queue, true);
	if (clock_read(&pair))
		clock_put(t, &pair, d->id);
}

uint32_t af_rocm_queue(struct af_thread_context *t, uint64_t agent, uint64_t queue)
{
	struct rocm_device *d = device_find(agent);
	struct af_handles *known_ones = queue ? &queues : &copies;
	uint64_t key = queue ? queue : d ? (uint64_t)(d - devices) + 1 : 0;
	uint64_t known = af_handles_get(known_ones, key);

	if (known || !d)
		return (uint32_t)known;
	uint32_t id = af_inject_new_id(AF_ID_QUEUE);
	known = af_handles_claim(known_ones, key, id);
	if (known != id)
		return (uint32_t)known;
	device_use(t, d);
	af_stream_put(&t->stream, queue, af_now_ns(), .queue = id, .device = d->id,
	              .context = d->id, .flags = queue ? 0 : AF_QUEUE_OUT_OF_ORDER,
	              .handle = queue);
	return id;
}

static void symbol_take(const struct af_rocm_symbol *s)
{
	static const char suffix[] = ".kd"; /* of a kernel's descriptor */
	size_t len = s->name ? strnlen(s->name, KERNEL_NAME_BYTES) : 0, end = sizeof suffix - 1;

	if (s->size < sizeof *s || !len)
		return;
	if (len > end && !memcmp(s->name + len - end, suffix, end))
		len -= end;
	af_handles_set(&kernel_ids, s->kernel, af_kernel_id(&kernels, NULL, 0, s->name, len));
}

void af_rocm_code(struct af_rocm_callback record, uint64_t *kept, void *arg)
{
	(void)kept, (void)arg;
	if (af_rocm_is_on() && record.kind == AF_ROCM_CALLBACK_CODE_OBJECT &&
	    record.operation == AF_ROCM_KERNEL_SYMBOL && record.phase == AF_ROCM_PHASE_LOAD)
		symbol_take(record.payload);
}

void af_rocm_code_1(struct af_rocm_callback_1 record, uint64_t *kept, void *arg)
{
	const struct af_rocm_callback older = {
	    .kind = record.kind,
	    .operation = record.operation,
	    .phase = record.phase,
	    .payload = record.payload,
	};

	af_rocm_code(older, kept, arg);
}

uint32_t af_rocm_kernel_id(uint64_t kernel)
{
	return (uint32_t)af_handles_get(&kernel_ids, kernel);
}
