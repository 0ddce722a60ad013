/*
 * cl_intel [BINARY]: three launches of the kernel tiny, of a file in the driver's form or else of
 * its source, on the first platform.
 *
 * Truth: the address of its code in the device's memory, as Intel's driver has it (0: another
 * driver), and how long the code is; the time before the last reference to the program goes, which
 * another kernel of it holds. Nobody reads results: without hardware there are none.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BINARY_PROGRAM_INTEL = 0x407D, BINARY_GPU_ADDRESS_INTEL = 0x10010 };

static const char *source = "kernel void tiny(global uint *a) { a[get_global_id(0)] += 1; }\n";

static void check(cl_int rc, const char *call)
{
	if (!rc)
		return;
	printf("%s: %d\n", call, rc);
	exit(1);
}

/* A kernel more holds the program, which has two references itself. */
static void release_all(cl_program program, cl_kernel kernel)
{
	struct timespec now;
	cl_int rc;
	cl_kernel other = clCreateKernel(program, "tiny", &rc);

	check(rc, "clCreateKernel");
	check(clRetainProgram(program), "clRetainProgram");
	check(clRetainKernel(other), "clRetainKernel");
	check(clReleaseKernel(kernel), "clReleaseKernel");
	check(clReleaseKernel(other), "clReleaseKernel");
	check(clReleaseProgram(program), "clReleaseProgram");
	check(clReleaseProgram(program), "clReleaseProgram");
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("truth last_ns %lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	check(clReleaseKernel(other), "clReleaseKernel");
}

static void __attribute__((noinline)) launch_tiny(cl_command_queue queue, cl_kernel kernel)
{
	const size_t global = 64;

	for (int i = 0; i < 3; i++)
		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
		      "clEnqueueNDRangeKernel");
}

static cl_program make_program(cl_context context, cl_device_id device, const char *path)
{
	static unsigned char bytes[1 << 20];
	const unsigned char *binary = bytes;
	FILE *file = path ? fopen(path, "rb") : NULL;
	size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
	cl_program program;
	cl_int rc;

	if (file)
		fclose(file);
	if (file)
		program = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, &rc);
	else
		program = clCreateProgramWithSource(context, 1, &source, NULL, &rc);
	check(rc, "clCreateProgram");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	return program;
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_uint nr = 0;
	cl_int rc;
	uint64_t address = 0;
	size_t size = 0;

	check(clGetPlatformIDs(1, &platform, &nr), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	check(rc, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &rc);
	check(rc, "clCreateCommandQueue");
	cl_program program = make_program(context, device, argc > 1 ? argv[1] : NULL);
	cl_kernel kernel = clCreateKernel(program, "tiny", &rc);
	check(rc, "clCreateKernel");
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &rc);
	check(rc, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
	launch_tiny(queue, kernel);
	check(clFinish(queue), "clFinish");
	if (clGetKernelInfo(kernel, BINARY_GPU_ADDRESS_INTEL, sizeof address, &address, NULL))
		address = 0;
	if (clGetKernelInfo(kernel, BINARY_PROGRAM_INTEL, 0, NULL, &size))
		size = 0;
	printf("truth address %llu\ntruth size %zu\n", (unsigned long long)address, size);
	release_all(program, kernel);
	return 0;
}
