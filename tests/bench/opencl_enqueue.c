/*
 * The cost of one clEnqueueNDRangeKernel for its caller: `enqueue ROUNDS BATCH` enqueues BATCH
 * empty kernels, waits, and does so ROUNDS times. Prints one line: the median over rounds of CPU
 * nanoseconds of this thread for each enqueue (the waits apart), then for each wait divided by
 * BATCH, then wall nanoseconds for each kernel from end to end.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(cl_int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: %d\n", what, rc);
		exit(2);
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare);
	return v[n / 2];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, batch = argc > 2 ? atoi(argv[2]) : 1000;
	const char *text = "__kernel void nothing(void) {}";
	size_t one = 1;
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc;

	if (rounds < 1 || batch < 1)
		return 2;
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	check(rc, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &rc);
	check(rc, "clCreateCommandQueue");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &rc);
	check(rc, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	cl_kernel kernel = clCreateKernel(program, "nothing", &rc);
	check(rc, "clCreateKernel");

	double *enqueue = calloc((size_t)rounds, sizeof *enqueue);
	double *wait = calloc((size_t)rounds, sizeof *wait);
	double *wall = calloc((size_t)rounds, sizeof *wall);
	for (int r = -1; r < rounds; r++) {
		uint64_t w0 = clock_ns(CLOCK_MONOTONIC);
		uint64_t t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < batch; i++)
			check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL,
			                             NULL),
			      "clEnqueueNDRangeKernel");
		uint64_t t1 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		check(clFinish(queue), "clFinish");
		uint64_t t2 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t w1 = clock_ns(CLOCK_MONOTONIC);
		if (r < 0)
			continue; /* the driver compiles at the first launch */
		enqueue[r] = (double)(t1 - t0) / batch;
		wait[r] = (double)(t2 - t1) / batch;
		wall[r] = (double)(w1 - w0) / batch;
	}
	printf("%.0f %.0f %.0f\n", median(enqueue, rounds), median(wait, rounds),
	       median(wall, rounds));
	free(enqueue);
	free(wait);
	free(wall);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
