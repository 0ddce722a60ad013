/*
 * A mock of AMD's HIP runtime (libamdhip64.so.6), with the few functions that the live programs
 * use, as hip_runtime_api.h of 6.4 declares them. As rocprofiler-register does in ROCm, it loads
 * rocprofiler-sdk at its first call if a tool is there. Work takes as long as its kernel was
 * registered for; without the SDK nothing does it.
 */
#include "mock_hip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct dim3 {
	uint32_t x, y, z;
};

struct stream {
	int device;
	uint64_t queue;
};

enum { KERNELS = 16, FILL = 1, NO_DEVICE = 101, INVALID = 1, FAILS_GRID = 666 };

int hipGetDeviceCount(int *nr);
int hipRuntimeGetVersion(int *version);
int hipSetDevice(int device);
int hipMalloc(void **at, size_t size);
int hipFree(void *at);
int hipStreamCreate(struct stream **stream);
int hipStreamSynchronize(struct stream *stream);
int hipDeviceSynchronize(void);
int hipLaunchKernel(const void *function, struct dim3 blocks, struct dim3 block, void **args,
                    size_t shared, struct stream *stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct stream *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       struct stream *stream);
int hipMemsetAsync(void *to, int value, size_t bytes, struct stream *stream);
int hipGraphLaunch(void *graph, struct stream *stream);
void mock_hip_kernel(const void *function, const char *name, uint64_t takes_ns);

static struct {
	const void *function;
	char name[64];
	uint64_t takes_ns;
} kernels[KERNELS] = {{NULL, "", 0}, {NULL, "__amd_rocclr_fillBufferAligned.kd", 500}};
static int nr_kernels = 2;

static struct stream defaults[MOCK_DEVICES] = {{0, 1}, {1, 2}};
static _Atomic uint64_t nr_queues = MOCK_DEVICES;
static _Atomic uint64_t busy_until; /* CLOCK_MONOTONIC, of all devices */
static __thread int device_now;

static mock_work_take *sdk_work;
static mock_symbol_take *sdk_symbol;

/* A tool's, as rocprofiler-register looks for it. */
extern void *rocprofiler_configure(void) __attribute__((weak));

static void tools_load(void)
{
	void *sdk = rocprofiler_configure || getenv("ROCP_TOOL_LIBRARIES")
	                ? dlopen("librocprofiler-sdk.so.1", RTLD_NOW)
	                : NULL;
	mock_tools_start *start = sdk ? (mock_tools_start *)dlsym(sdk, "mock_sdk_start") : NULL;

	if (!start)
		return;
	sdk_work = (mock_work_take *)dlsym(sdk, "mock_sdk_work");
	sdk_symbol = (mock_symbol_take *)dlsym(sdk, "mock_sdk_symbol");
	start();
	for (int i = 1; i < nr_kernels; i++)
		sdk_symbol((uint64_t)i, kernels[i].name);
}

static void tools_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, tools_load);
}

static int work_do(struct mock_work *w)
{
	uint64_t until = sdk_work ? sdk_work(w) : 0, now = atomic_load(&busy_until);

	while (until > now && !atomic_compare_exchange_weak(&busy_until, &now, until))
		;
	return 0;
}

static struct stream *stream_of(struct stream *stream)
{
	return stream ? stream : &defaults[device_now];
}

static int kernel_do(int kernel, struct dim3 blocks, struct dim3 block, struct stream *stream)
{
	struct stream *s = stream_of(stream);
	struct mock_work w = {.device = s->device,
	                      .queue = s->queue,
	                      .kernel = (uint64_t)kernel,
	                      .group = {block.x, block.y, block.z},
	                      .grid = {blocks.x * block.x, blocks.y * block.y, blocks.z * block.z},
	                      .takes_ns = kernels[kernel].takes_ns,
	                      .name = kernels[kernel].name};

	return work_do(&w);
}

void mock_hip_kernel(const void *function, const char *name, uint64_t takes_ns)
{
	kernels[nr_kernels].function = function;
	kernels[nr_kernels].takes_ns = takes_ns;
	snprintf(kernels[nr_kernels].name, sizeof kernels[nr_kernels].name, "%s.kd", name);
	if (sdk_symbol)
		sdk_symbol((uint64_t)nr_kernels, kernels[nr_kernels].name);
	nr_kernels++;
}

int hipGetDeviceCount(int *nr)
{
	tools_ready();
	*nr = MOCK_DEVICES;
	return 0;
}

int hipRuntimeGetVersion(int *version)
{
	*version = 60443483;
	return 0;
}

int hipSetDevice(int device)
{
	tools_ready();
	if (device < 0 || device >= MOCK_DEVICES)
		return NO_DEVICE;
	device_now = device;
	return 0;
}

int hipMalloc(void **at, size_t size)
{
	tools_ready();
	*at = malloc(size);
	return *at ? 0 : 2;
}

int hipFree(void *at)
{
	free(at);
	return 0;
}

int hipStreamCreate(struct stream **stream)
{
	tools_ready();
	*stream = malloc(sizeof **stream);
	if (!*stream)
		return 2;
	(*stream)->device = device_now;
	(*stream)->queue = atomic_fetch_add(&nr_queues, 1) + 1;
	return 0;
}

int hipDeviceSynchronize(void)
{
	struct timespec t;
	uint64_t until = atomic_load(&busy_until);

	tools_ready();
	t.tv_sec = (time_t)(until / 1000000000);
	t.tv_nsec = (long)(until % 1000000000);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
	return 0;
}

int hipStreamSynchronize(struct stream *stream)
{
	(void)stream;
	return hipDeviceSynchronize();
}

int hipLaunchKernel(const void *function, struct dim3 blocks, struct dim3 block, void **args,
                    size_t shared, struct stream *stream)
{
	(void)args, (void)shared;
	tools_ready();
	if (blocks.x == FAILS_GRID)
		return INVALID;
	for (int i = 2; i < nr_kernels; i++)
		if (kernels[i].function == function)
			return kernel_do(i, blocks, block, stream);
	return INVALID;
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct stream *stream)
{
	struct stream *s = stream_of(stream);
	struct mock_work w = {.device = s->device,
	                      .to_device = s->device,
	                      .direction = kind + 1,
	                      .bytes = bytes,
	                      .takes_ns = bytes,
	                      .name = "copy"};

	tools_ready();
	memmove(to, from, bytes);
	return work_do(&w);
}

/* It calls three of its exported functions, where a wrapper may stand before them. */
int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	int rc = hipMemcpyAsync(to, from, bytes / 3, kind, NULL);

	if (!rc)
		rc = hipMemcpyAsync((char *)to + bytes / 3, (const char *)from + bytes / 3,
		                    bytes - bytes / 3, kind, NULL);
	return rc ? rc : hipStreamSynchronize(NULL);
}

int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       struct stream *stream)
{
	struct mock_work w = {.device = from_device,
	                      .to_device = to_device,
	                      .direction = 4,
	                      .bytes = bytes,
	                      .takes_ns = bytes,
	                      .name = "copy"};

	(void)stream;
	tools_ready();
	memmove(to, from, bytes);
	return work_do(&w);
}

int hipMemsetAsync(void *to, int value, size_t bytes, struct stream *stream)
{
	const struct dim3 blocks = {4, 1, 1}, block = {256, 1, 1};

	tools_ready();
	memset(to, value, bytes);
	return kernel_do(FILL, blocks, block, stream);
}

static void *worker(void *stream)
{
	const struct dim3 blocks = {8, 1, 1}, block = {64, 1, 1};

	kernel_do(3, blocks, block, stream);
	return NULL;
}

/* A graph is the first kernel twice, and then the second, which "worker" has a thread launch. */
int hipGraphLaunch(void *graph, struct stream *stream)
{
	const struct dim3 blocks = {8, 1, 1}, block = {64, 1, 1};
	struct stream *s = stream_of(stream);
	pthread_t thread;

	tools_ready();
	kernel_do(2, blocks, block, s);
	kernel_do(2, blocks, block, s);
	if (graph && !strcmp(graph, "worker")) {
		if (!pthread_create(&thread, NULL, worker, s))
			pthread_join(thread, NULL);
	} else {
		worker(s);
	}
	return 0;
}
