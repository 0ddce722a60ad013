/* See cl_setup.h. */
#include "cl_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cl_check(cl_int rc, const char *what)
{
	if (!rc)
		return;
	fflush(stdout);
	fprintf(stderr, "%s: OpenCL error %d\n", what, rc);
	exit(2);
}

static void find_device(struct cl *cl)
{
	const char *wanted = getenv("CL_PROGRAMS_DEVICE");
	cl_uint index = wanted ? (cl_uint)atoi(wanted) : 0;
	cl_platform_id platforms[16];
	cl_uint nr_platforms = 0;

	if (clGetPlatformIDs(16, platforms, &nr_platforms))
		nr_platforms = 0;
	for (cl_uint i = 0; i < nr_platforms && i < 16; i++) {
		cl_device_id devices[32];
		cl_uint nr_devices = 0;

		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 32, devices, &nr_devices))
			continue;
		if (index < nr_devices && index < 32) {
			cl->platform = platforms[i];
			cl->device = devices[index];
			return;
		}
		index -= nr_devices;
	}
	fprintf(stderr, "no OpenCL device\n");
	exit(77);
}

static void build(struct cl *cl, const char *source)
{
	cl_int rc;

	cl->program = clCreateProgramWithSource(cl->context, 1, &source, NULL, &rc);
	cl_check(rc, "clCreateProgramWithSource");
	CL_CHECK(clBuildProgram(cl->program, 0, NULL, getenv("CL_PROGRAMS_OPTIONS"), NULL, NULL));
}

void cl_open(struct cl *cl, const char *source)
{
	memset(cl, 0, sizeof *cl);
	find_device(cl);
	cl_open_again(cl, cl, source);
}

void cl_open_again(struct cl *again, const struct cl *cl, const char *source)
{
	cl_int rc;

	*again = *cl;
	again->context = clCreateContext(NULL, 1, &again->device, NULL, NULL, &rc);
	cl_check(rc, "clCreateContext");
	build(again, source);
}

void cl_close(struct cl *cl)
{
	CL_CHECK(clReleaseProgram(cl->program));
	CL_CHECK(clReleaseContext(cl->context));
}

cl_command_queue cl_queue(const struct cl *cl, cl_command_queue_properties properties)
{
	cl_int rc;
	cl_command_queue queue;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	queue = clCreateCommandQueue(cl->context, cl->device, properties, &rc);
#pragma GCC diagnostic pop
	cl_check(rc, "clCreateCommandQueue");
	return queue;
}

cl_kernel cl_kernel_with(const struct cl *cl, const char *name, const struct cl_arg *args)
{
	cl_int rc;
	cl_kernel kernel = clCreateKernel(cl->program, name, &rc);

	cl_check(rc, name);
	for (cl_uint i = 0; args && args[i].size; i++)
		cl_check(clSetKernelArg(kernel, i, args[i].size, args[i].value), name);
	return kernel;
}

cl_mem cl_buffer(const struct cl *cl, size_t size)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(cl->context, CL_MEM_READ_WRITE, size, NULL, &rc);

	cl_check(rc, "clCreateBuffer");
	return mem;
}

void cl_launch(cl_command_queue queue, cl_kernel kernel, size_t global, size_t local)
{
	CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, local ? &local : NULL, 0,
	                                NULL, NULL));
}

uint32_t cl_spin(uint32_t x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}
