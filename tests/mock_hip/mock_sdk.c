/*
 * A mock of AMD's rocprofiler-sdk over the mock of the HIP runtime: tools register as with the real
 * one, are asked for the number of each piece of work in the thread that launches it, and get
 * records from a thread of the mock's own. MOCK_HIP_LOG names a file for the truth: name, start and
 * end of each work, in ns of the mock's clock. MOCK_SDK has words of how to misbehave:
 *
 *	refuse    start_context() fails, as where another tool has what it needs
 *	reverse   records come in the reverse order, the newest first
 *	larger    records are longer than this version's, as those of a later one
 *	drop      every third record is dropped and counted
 *	keep      the last two records never come
 *	stampless a kernel has no times
 *	hour      its clock is an hour ahead of CLOCK_MONOTONIC
 *
 * MOCK_SDK_VERSION is its number, 10001 (1.0.1) by default. With MOCK_OLDER the library lacks the
 * service for numbers, as the first releases do.
 */
#include "mock_sdk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mock_hip.h"

enum { TOOLS = 4, RECORDS = 4096, FULL = 256, KEPT = 2, LANES = 64, CONTEXT = 70, BUFFER = 300 };
enum { OK = 0, CONFLICT = 12, LOCKED = 16, ABI = 19, INVALID = 20 };
enum { COPY = 10, KERNEL = 11, CODE_OBJECT = 10, CATEGORY_TRACING = 1, HOUR_NS_S = 3600 };

union record {
	struct mock_dispatch dispatch;
	struct mock_copy copy;
};

struct tool {
	mock_configure *configure;
	struct mock_tool *result;
	struct mock_client client;
	uint64_t context, buffer;
	int started, kinds;
	mock_buffer_cb *full;
	void *full_data, *code_data, *request_data;
	void *code;
	mock_request_cb *request;
	union record records[RECORDS];
	size_t nr;
	uint64_t nr_works, nr_dropped;
};

void mock_sdk_start(void);
void mock_sdk_symbol(uint64_t kernel, const char *name);
uint64_t mock_sdk_work(const struct mock_work *work);

static struct tool tools[TOOLS];
static int nr_tools, current = -1, state; /* state: 0 before, -1 while, 1 after configuring */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lanes[LANES], nr_internal;

static int is(const char *word)
{
	const char *how = getenv("MOCK_SDK");

	return how && strstr(how, word) != NULL;
}

static uint32_t version(void)
{
	const char *number = getenv("MOCK_SDK_VERSION");

	return number ? (uint32_t)atoi(number) : 10001;
}

static uint64_t ahead_ns(void)
{
	return is("hour") ? 3600ull * 1000000000 : 0;
}

int rocprofiler_get_timestamp(uint64_t *timestamp)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	*timestamp = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ahead_ns();
	return OK;
}

static struct tool *tool_of(uint64_t handle, uint64_t base)
{
	return handle >= base && handle < base + TOOLS ? &tools[handle - base] : NULL;
}

int rocprofiler_create_context(uint64_t *context)
{
	if (state != -1)
		return LOCKED;
	*context = tools[current].context = CONTEXT + (uint64_t)current;
	return OK;
}

int rocprofiler_start_context(uint64_t context)
{
	struct tool *t = tool_of(context, CONTEXT);

	if (!t || is("refuse"))
		return CONFLICT;
	t->started = 1;
	return OK;
}

int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                              mock_buffer_cb *callback, void *data, uint64_t *buffer)
{
	struct tool *t = tool_of(context, CONTEXT);

	if (!t || !size || watermark > size || (policy != 1 && policy != 2) || *buffer)
		return INVALID;
	t->full = callback;
	t->full_data = data;
	*buffer = t->buffer = BUFFER + (uint64_t)(t - tools);
	return OK;
}

int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
                                                 const int32_t *operations, size_t nr,
                                                 uint64_t buffer)
{
	struct tool *t = tool_of(context, CONTEXT);

	(void)operations, (void)nr;
	if (!t || buffer != t->buffer || (kind != COPY && kind != KERNEL))
		return INVALID;
	t->kinds |= 1 << kind;
	return OK;
}

int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                   const int32_t *operations, size_t nr,
                                                   void *callback, void *data)
{
	struct tool *t = tool_of(context, CONTEXT);

	(void)operations, (void)nr;
	if (!t || kind != CODE_OBJECT)
		return INVALID;
	t->code = callback;
	t->code_data = data;
	return OK;
}

#ifndef MOCK_OLDER
int rocprofiler_configure_external_correlation_id_request_service(uint64_t context,
                                                                  const int *kinds, size_t nr,
                                                                  mock_request_cb *callback,
                                                                  void *data)
{
	struct tool *t = tool_of(context, CONTEXT);
	int wanted = 0;

	for (size_t i = 0; i < nr; i++)
		wanted |= 1 << kinds[i];
	if (!t || wanted != (1 << COPY | 1 << KERNEL))
		return INVALID;
	t->request = callback;
	t->request_data = data;
	return OK;
}
#endif

int rocprofiler_query_available_agents(int which,
                                       int (*callback)(int, const void **, size_t, void *),
                                       size_t agent_size, void *data)
{
	static struct mock_agent agents[MOCK_DEVICES + 1];
	const void *all[MOCK_DEVICES + 1];

	if (agent_size > sizeof *agents)
		return ABI;
	for (int i = 0; i <= MOCK_DEVICES; i++) {
		agents[i] =
		    (struct mock_agent){.size = sizeof *agents,
		                        .id = i ? MOCK_GPU_AGENT + (uint64_t)i - 1 : MOCK_CPU_AGENT,
		                        .type = i ? 2 : 1,
		                        .vendor_id = 0x1002,
		                        .device_id = 0x74a1,
		                        .location_id = (uint32_t)(i << 8 | 1 << 3),
		                        .name = i ? "gfx942" : "CPU",
		                        .vendor_name = i ? "AMD" : "Any",
		                        .product_name = i ? "Mock Instinct" : "CPU"};
		all[i] = &agents[i];
	}
	return callback(which, all, MOCK_DEVICES + 1, data);
}

/* One thread at a time hands over. */
struct delivery {
	struct tool *tool;
	int last;
};

static void *deliver(void *arg)
{
	static union record taken[RECORDS];
	static struct mock_header headers[RECORDS], *pointers[RECORDS];
	struct delivery *d = arg;
	struct tool *t = d->tool;

	pthread_mutex_lock(&lock);
	size_t keep = is("keep") ? KEPT : 0, nr = t->nr > keep ? t->nr - keep : 0;
	memcpy(taken, t->records, nr * sizeof *taken);
	memmove(t->records, t->records + nr, (t->nr - nr) * sizeof *taken);
	t->nr -= nr;
	uint64_t dropped = t->nr_dropped;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < nr; i++) {
		headers[i].category = CATEGORY_TRACING;
		headers[i].kind = (uint32_t)taken[i].dispatch.kind;
		headers[i].payload = &taken[i];
		pointers[is("reverse") ? nr - 1 - i : i] = &headers[i];
	}
	if (nr)
		t->full(t->context, t->buffer, pointers, nr, t->full_data, dropped);
	return NULL;
}

static int flush(struct tool *t)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct delivery d = {.tool = t};
	pthread_t thread;

	pthread_mutex_lock(&one);
	if (!pthread_create(&thread, NULL, deliver, &d))
		pthread_join(thread, NULL);
	pthread_mutex_unlock(&one);
	return OK;
}

int rocprofiler_flush_buffer(uint64_t buffer)
{
	struct tool *t = tool_of(buffer, BUFFER);

	return t && t->full ? flush(t) : INVALID;
}

static void finalize(void)
{
	for (int i = 0; i < nr_tools; i++) {
		if (tools[i].result && tools[i].result->finalize)
			tools[i].result->finalize(tools[i].result->data);
		tools[i].started = 0;
	}
}

static void tool_add(mock_configure *configure)
{
	for (int i = 0; i < nr_tools; i++)
		if (tools[i].configure == configure)
			return;
	if (configure && nr_tools < TOOLS)
		tools[nr_tools++].configure = configure;
}

static void configure_all(mock_configure *forced)
{
	const char *library = getenv("ROCP_TOOL_LIBRARIES");
	void *tool = library ? dlopen(library, RTLD_NOW) : NULL;

	state = -1;
	atexit(finalize);
	tool_add(forced);
	if (tool)
		tool_add((mock_configure *)dlsym(tool, "rocprofiler_configure"));
	tool_add((mock_configure *)dlsym(RTLD_DEFAULT, "rocprofiler_configure"));
	for (int i = 0; i < nr_tools; i++)
		tools[i].result =
		    tools[i].configure(version(), "mock", (uint32_t)i, &tools[i].client);
	for (current = 0; current < nr_tools; current++)
		if (tools[current].result)
			tools[current].result->initialize(NULL, tools[current].result->data);
	state = 1;
}

int rocprofiler_force_configure(mock_configure *configure)
{
	if (state)
		return LOCKED;
	configure_all(configure);
	return OK;
}

void mock_sdk_start(void)
{
	if (!state)
		configure_all(NULL);
}

void mock_sdk_symbol(uint64_t kernel, const char *name)
{
	struct mock_symbol symbol = {
	    .size = sizeof symbol, .kernel_id = kernel, .kernel_name = name};
	const struct mock_callback_0 old = {
	    .kind = CODE_OBJECT, .operation = 2, .phase = 1, .payload = &symbol};
	const struct mock_callback_1 new = {.ancestor_id = 12345,
	                                    .kind = CODE_OBJECT,
	                                    .operation = 2,
	                                    .phase = 1,
	                                    .payload = &symbol};
	uint64_t kept = 0;

	for (int i = 0; i < nr_tools; i++) {
		struct tool *t = &tools[i];
		if (!t->code || !t->started)
			continue;
		if (version() < 10000)
			((void (*)(struct mock_callback_0, uint64_t *, void *))t->code)(
			    old, &kept, t->code_data);
		else
			((void (*)(struct mock_callback_1, uint64_t *, void *))t->code)(
			    new, &kept, t->code_data);
	}
}

static void record_fill(union record *r, const struct mock_work *w, uint64_t external,
                        uint64_t start, uint64_t end)
{
	size_t more = is("larger") ? sizeof r->copy.later : 0;

	memset(r, 0, sizeof *r);
	/* Both kinds begin alike. */
	r->copy = (struct mock_copy){.internal_id = ++nr_internal,
	                             .external_id = external,
	                             .thread_id = (uint64_t)syscall(SYS_gettid),
	                             .start_timestamp = start,
	                             .end_timestamp = end};
	uint64_t gpu = MOCK_GPU_AGENT + (uint64_t)w->device;
	if (w->kernel) {
		r->dispatch.size = sizeof r->dispatch - sizeof r->dispatch.later + more;
		r->dispatch.kind = KERNEL;
		r->dispatch.operation = 2;
		r->dispatch.dispatch_info.size = 72;
		r->dispatch.dispatch_info.agent_id = gpu;
		r->dispatch.dispatch_info.queue_id = w->queue;
		r->dispatch.dispatch_info.kernel_id = w->kernel;
		r->dispatch.dispatch_info.dispatch_id = nr_internal;
		memcpy(r->dispatch.dispatch_info.workgroup_size, w->group, sizeof w->group);
		memcpy(r->dispatch.dispatch_info.grid_size, w->grid, sizeof w->grid);
		return;
	}
	r->copy.size = sizeof r->copy - sizeof r->copy.later + more;
	r->copy.kind = COPY;
	r->copy.operation = w->direction;
	r->copy.bytes = w->bytes;
	r->copy.dst_agent_id = w->direction == 2   ? gpu
	                       : w->direction == 4 ? MOCK_GPU_AGENT + (uint64_t)w->to_device
	                                           : MOCK_CPU_AGENT;
	r->copy.src_agent_id = w->direction >= 3 ? gpu : MOCK_CPU_AGENT;
}

static void log_write(const struct mock_work *w, uint64_t start, uint64_t end)
{
	const char *path = getenv("MOCK_HIP_LOG");
	FILE *log = path ? fopen(path, "a") : NULL;

	if (!log)
		return;
	fprintf(log, "%s %d %llu %llu\n", w->name, w->device, (unsigned long long)start,
	        (unsigned long long)end);
	fclose(log);
}

/* The work begins when what was launched into its queue before has ended. */
uint64_t mock_sdk_work(const struct mock_work *w)
{
	uint64_t start, external[TOOLS] = {0};

	for (int i = 0; i < nr_tools; i++)
		if (tools[i].started && tools[i].request)
			tools[i].request((uint64_t)syscall(SYS_gettid), tools[i].context,
			                 w->kernel ? KERNEL : COPY, 1, nr_internal, &external[i],
			                 tools[i].request_data);
	rocprofiler_get_timestamp(&start);
	pthread_mutex_lock(&lock);
	uint64_t *lane =
	    &lanes[w->kernel ? w->queue % (LANES / 2) : LANES / 2 + (uint64_t)w->device];
	start = start < *lane ? *lane : start;
	uint64_t end = *lane = start + w->takes_ns;
	log_write(w, start, end);
	int full = 0;
	for (int i = 0; i < nr_tools; i++) {
		struct tool *t = &tools[i];
		if (!t->started || !(t->kinds >> (w->kernel ? KERNEL : COPY) & 1))
			continue;
		t->nr_works++;
		if (t->nr == RECORDS || (is("drop") && t->nr_works % 3 == 0)) {
			t->nr_dropped++;
			continue;
		}
		int stampless = is("stampless") && t->nr_works == 1;
		record_fill(&t->records[t->nr++], w, external[i], stampless ? 0 : start,
		            stampless ? 0 : end);
		full |= t->nr >= FULL ? 1 << i : 0;
	}
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < nr_tools; i++)
		if (full >> i & 1 && !is("keep"))
			flush(&tools[i]);
	return end - ahead_ns();
}
