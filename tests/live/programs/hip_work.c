/*
 * Device work by HIP, on the mock of its runtime: the mode says which. "heavy" takes 16000 ns,
 * "light" 4000 ns, a copy a nanosecond for each byte.
 *
 *	paths     5 heavy by hot_path(), 2 by cold_path(), 3 light by main()
 *	kinds     a copy of each direction, one between devices, a fill, a kernel on the other
 *	          device, a launch that fails
 *	nested    3 copies of 3000 bytes by a function that makes two copies of 1000 and 2000
 *	graphs    4 launches of a graph, of which a thread of the runtime does the last kernel in 1
 *	threads   8 threads with 500 launches each, of kernels by their own functions
 *	direct    3 heavy by functions that were looked up in the runtime itself
 *	own       a tool that the program itself registers first, and 2 heavy
 *	forks     2 heavy, a child that launches nothing and ends, and 1 light
 *	exits     2 heavy and the end by _exit()
 *	idle      2 heavy, and then 2.5 s of nothing; SIGKILL ends it
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct dim3 {
	uint32_t x, y, z;
};

enum { HEAVY_NS = 16000, LIGHT_NS = 4000, THREADS = 8, LAUNCHES = 500, FAILS_GRID = 666 };
enum { HOST_TO_HOST = 0, HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, ON_DEVICE = 3 };

int hipSetDevice(int device);
int hipMalloc(void **at, size_t size);
int hipStreamCreate(void **stream);
int hipDeviceSynchronize(void);
int hipLaunchKernel(const void *function, struct dim3 blocks, struct dim3 block, void **args,
                    size_t shared, void *stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       void *stream);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipGraphLaunch(void *graph, void *stream);
void mock_hip_kernel(const void *function, const char *name, uint64_t takes_ns);

static const struct dim3 blocks = {8, 1, 1}, block = {64, 2, 1};
static const char heavy[1], light[1];
static __typeof__(&hipLaunchKernel) launch_by = hipLaunchKernel;

__attribute__((noinline)) static int launch(const void *kernel, void *stream)
{
	return launch_by(kernel, blocks, block, NULL, 0, stream);
}

__attribute__((noinline)) static void hot_path(void *stream)
{
	for (int i = 0; i < 5; i++)
		launch(heavy, stream);
}

__attribute__((noinline)) static void cold_path(void *stream)
{
	launch(heavy, stream);
	launch(heavy, stream);
}

__attribute__((noinline)) static void mode_paths(void)
{
	void *stream = NULL;

	hipStreamCreate(&stream);
	hot_path(stream);
	cold_path(stream);
	for (int i = 0; i < 3; i++)
		launch(light, stream);
}

__attribute__((noinline)) static void mode_kinds(void)
{
	static char host[4096];
	void *at = NULL, *other = NULL;
	const struct dim3 fails = {FAILS_GRID, 1, 1};

	hipMalloc(&at, sizeof host);
	hipMalloc(&other, sizeof host);
	hipMemcpyAsync(host, host + 2048, 1000, HOST_TO_HOST, NULL);
	hipMemcpyAsync(at, host, 1001, HOST_TO_DEVICE, NULL);
	hipMemcpyAsync(host, at, 1002, DEVICE_TO_HOST, NULL);
	hipMemcpyAsync(other, at, 1003, ON_DEVICE, NULL);
	hipMemcpyPeerAsync(other, 1, at, 0, 1004, NULL);
	hipMemsetAsync(at, 0, 1005, NULL);
	hipSetDevice(1);
	launch(light, NULL);
	printf("failed %d\n", hipLaunchKernel(heavy, fails, block, NULL, 0, NULL));
}

__attribute__((noinline)) static void mode_nested(void)
{
	static char host[4096];
	void *at = NULL;

	hipMalloc(&at, sizeof host);
	for (int i = 0; i < 3; i++)
		hipMemcpy(at, host, 3000, HOST_TO_DEVICE);
}

__attribute__((noinline)) static void mode_graphs(void)
{
	for (int i = 0; i < 3; i++)
		hipGraphLaunch("graph", NULL);
	hipGraphLaunch("worker", NULL);
}

/* Each thread has a function of its own, which is found in the stack of its launches. */
#define WORKER(n)                                                                                  \
	__attribute__((noinline)) static int worker_##n(void *stream)                              \
	{                                                                                          \
		int failed = 0;                                                                    \
		for (int i = 0; i < LAUNCHES; i++)                                                 \
			failed += launch((n) % 2 ? heavy : light, stream);                         \
		return failed + (n);                                                               \
	}
WORKER(0)
WORKER(1)
WORKER(2)
WORKER(3)
WORKER(4)
WORKER(5)
WORKER(6)
WORKER(7)

static void *thread_run(void *arg)
{
	static int (*const workers[THREADS])(void *) = {worker_0, worker_1, worker_2, worker_3,
	                                                worker_4, worker_5, worker_6, worker_7};
	void *stream = NULL;
	int n = (int)(intptr_t)arg;

	hipSetDevice(n % 2);
	hipStreamCreate(&stream);
	return (void *)(intptr_t)workers[n](stream);
}

static void mode_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_run, (void *)(intptr_t)i))
			exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

__attribute__((noinline)) static void mode_direct(void)
{
	void *runtime = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);

	*(void **)&launch_by = runtime ? dlsym(runtime, "hipLaunchKernel") : NULL;
	if (!launch_by)
		exit(1);
	for (int i = 0; i < 3; i++)
		launch(heavy, NULL);
}

/* The program's own tool wants nothing. */
static void *own_tool(uint32_t version, const char *words, uint32_t priority, void *client)
{
	(void)version, (void)words, (void)client;
	printf("priority %u\n", priority);
	return NULL;
}

static void mode_own(void)
{
	void *sdk = dlopen("librocprofiler-sdk.so.1", RTLD_NOW);
	int (*force)(void *(*)(uint32_t, const char *, uint32_t, void *)) =
	    sdk ? (__typeof__(force))dlsym(sdk, "rocprofiler_force_configure") : NULL;

	if (!force || force(own_tool))
		exit(1);
	launch(heavy, NULL);
	launch(heavy, NULL);
}

static void mode_forks(void)
{
	int status = 1;

	launch(heavy, NULL);
	launch(heavy, NULL);
	pid_t child = fork();
	if (!child)
		exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
	launch(light, NULL);
}

static void mode_idle(void)
{
	const struct timespec t = {.tv_sec = 2, .tv_nsec = 500000000};

	launch(heavy, NULL);
	launch(heavy, NULL);
	nanosleep(&t, NULL);
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	mock_hip_kernel(heavy, "heavy", HEAVY_NS);
	mock_hip_kernel(light, "light", LIGHT_NS);
	if (!strcmp(mode, "paths"))
		mode_paths();
	else if (!strcmp(mode, "kinds"))
		mode_kinds();
	else if (!strcmp(mode, "nested"))
		mode_nested();
	else if (!strcmp(mode, "graphs"))
		mode_graphs();
	else if (!strcmp(mode, "threads"))
		mode_threads();
	else if (!strcmp(mode, "direct"))
		mode_direct();
	else if (!strcmp(mode, "idle"))
		mode_idle();
	else if (!strcmp(mode, "own"))
		mode_own();
	else if (!strcmp(mode, "forks"))
		mode_forks();
	else if (!strcmp(mode, "exits"))
		launch(heavy, NULL), launch(heavy, NULL);
	else
		return 2;
	if (strcmp(mode, "direct"))
		hipDeviceSynchronize();
	if (!strcmp(mode, "exits"))
		_exit(0);
	return 0;
}
