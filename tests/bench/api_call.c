/*
 * api_call PAIRS ROUNDS THREADS: calls of an API that do next to nothing, in bursts with a pause
 * after each, so that what records them can catch up. A line a burst and thread: ns of CPU time a
 * call, and of wall time. The first burst, in which memory is touched, is left out. For
 * tests/bench/api. With WITH_MPI it calls MPI, with WITH_ZE Level Zero, with WITH_HIP HIP, with
 * WITH_CLOCK only the system's clock, twice for a call; else OpenCL.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 16, PAUSE_NS = 150000000 };

static long pairs, rounds, nr_threads;
static pthread_barrier_t barrier;
static double cpu_ns[THREADS_MAX], wall_ns[THREADS_MAX];

#ifdef WITH_MPI
#include <mpi.h>

static void begin(int argc, char **argv)
{
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
}

static void burst(long thread)
{
	int rank, is;

	(void)thread;
	for (long i = 0; i < pairs; i++) {
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		MPI_Initialized(&is);
	}
}

static void end(void)
{
	MPI_Finalize();
}
#elif defined WITH_ZE
#include <level_zero/ze_api.h>

static ze_kernel_handle_t kernels[THREADS_MAX];

/* The driver is the tests' mock, whose kernels are named and take what their argument says. */
static void begin(int argc, char **argv)
{
	static const uint8_t text[] = "heavy";
	const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                                      .format = ZE_MODULE_FORMAT_NATIVE,
	                                      .inputSize = sizeof text - 1,
	                                      .pInputModule = text};
	const ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
	                                      .pKernelName = "heavy"};
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	uint32_t nr = 1;

	(void)argc;
	(void)argv;
	if (zeInit(0) || zeDriverGet(&nr, &driver) || zeDeviceGet(driver, &nr, &device) ||
	    zeContextCreate(driver, &context_desc, &context) ||
	    zeModuleCreate(context, device, &module_desc, &module, NULL)) {
		fprintf(stderr, "api_call: no Level Zero device\n");
		exit(1);
	}
	for (long i = 0; i < nr_threads; i++)
		if (zeKernelCreate(module, &kernel_desc, &kernels[i]))
			exit(1);
}

static void burst(long thread)
{
	uint64_t ns = 80;

	for (long i = 0; i < pairs; i++) {
		zeKernelSetGroupSize(kernels[thread], 64, 2, 1);
		zeKernelSetArgumentValue(kernels[thread], 0, sizeof ns, &ns);
	}
}

static void end(void)
{
}
#elif defined WITH_HIP
/* As AMD's header has it. */
int hipSetDevice(int device);

static void begin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	hipSetDevice(0);
}

static void burst(long thread)
{
	(void)thread;
	for (long i = 0; i < pairs; i++) {
		hipSetDevice(0);
		hipSetDevice(1);
	}
}

static void end(void)
{
}
#elif defined WITH_CLOCK
static void begin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
}

static void burst(long thread)
{
	struct timespec t;

	(void)thread;
	for (long i = 0; i < 4 * pairs; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

static void end(void)
{
}
#else
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

static cl_mem buffers[THREADS_MAX];

static void begin(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int error;

	(void)argc;
	(void)argv;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
		fprintf(stderr, "api_call: no OpenCL device\n");
		exit(1);
	}
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	for (long i = 0; i < nr_threads; i++) {
		buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);
		/* The counts of two threads' buffers must not share a cache line. */
		clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);
	}
}

static void burst(long thread)
{
	cl_mem m = buffers[thread];

	for (long i = 0; i < pairs; i++) {
		clRetainMemObject(m);
		clReleaseMemObject(m);
	}
}

static void end(void)
{
}
#endif

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *run(void *arg)
{
	long thread = (intptr_t)arg;

	for (long r = 0; r <= rounds; r++) {
		pthread_barrier_wait(&barrier);
		double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
		burst(thread);
		cpu_ns[thread] = (now(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)(2 * pairs);
		wall_ns[thread] = (now(CLOCK_MONOTONIC) - wall) / (double)(2 * pairs);
		pthread_barrier_wait(&barrier);
		for (long i = 0; r && !thread && i < nr_threads; i++)
			printf("%.2f %.2f\n", cpu_ns[i], wall_ns[i]);
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	pairs = argc == 4 ? atol(argv[1]) : 0;
	rounds = argc == 4 ? atol(argv[2]) : 0;
	const long nr = argc == 4 ? atol(argv[3]) : 0;
	if (pairs < 1 || rounds < 1 || nr < 1 || nr > THREADS_MAX) {
		fprintf(stderr, "api_call PAIRS ROUNDS THREADS\n");
		return 2;
	}
	nr_threads = nr;
	begin(argc, argv);
	pthread_barrier_init(&barrier, NULL, (unsigned)nr);
	for (intptr_t i = 1; i < nr; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	run(NULL);
	for (long i = 1; i < nr; i++)
		pthread_join(threads[i], NULL);
	end();
	return 0;
}
