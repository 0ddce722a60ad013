/* See device.h. The kernels' source is built in (kernels.inc is kernels.cl as a C string). */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char built_in_source[] =
#include "kernels.inc"
    ;

static const char *const kernel_names[DEVICE_NR_KERNELS] = {
    [DEVICE_LAYER_NORM] = "layer_norm",     [DEVICE_MATMUL] = "matmul",
    [DEVICE_SOFTMAX_ROWS] = "softmax_rows", [DEVICE_GELU] = "gelu",
    [DEVICE_ADD_RESIDUAL] = "add_residual",
};

static _Thread_local char last_error[512];

int device_fail(const char *what, cl_int rc)
{
	if (rc)
		snprintf(last_error, sizeof last_error, "%s: OpenCL error %d", what, rc);
	else
		snprintf(last_error, sizeof last_error, "%s", what);
	return -1;
}

const char *device_error(void)
{
	return last_error;
}

/* The device of that index, counted over all platforms. */
static int find_device(struct device *d, int index)
{
	cl_platform_id platforms[16];
	cl_uint nr_platforms = 0;
	cl_int rc = clGetPlatformIDs(16, platforms, &nr_platforms);

	if (rc)
		return device_fail("no OpenCL platform", rc);
	if (nr_platforms > 16)
		nr_platforms = 16;
	for (cl_uint i = 0; i < nr_platforms; i++) {
		cl_device_id ids[32];
		cl_uint nr_ids = 0;

		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 32, ids, &nr_ids))
			continue;
		if (index >= 0 && (cl_uint)index < nr_ids && index < 32) {
			d->id = ids[index];
			return 0;
		}
		index -= (int)nr_ids;
	}
	return device_fail("no OpenCL device of that index", 0);
}

static int open_queues(struct device *d)
{
	cl_command_queue_properties can = 0;
	cl_int rc;

	d->compute = clCreateCommandQueue(d->context, d->id, 0, &rc);
	if (rc)
		return device_fail("compute queue", rc);
	d->copy = clCreateCommandQueue(d->context, d->id, 0, &rc);
	if (rc)
		return device_fail("copy queue", rc);
	clGetDeviceInfo(d->id, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL);
	can &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	d->heads = clCreateCommandQueue(d->context, d->id, can, &rc);
	return rc ? device_fail("out-of-order queue", rc) : 0;
}

/* The whole of a file as a string that the caller frees, or NULL. */
static char *read_source(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0, got = 1;

	while (file && got) {
		char *grown = realloc(text, size + 4096 + 1);

		if (!grown)
			break;
		text = grown;
		got = fread(text + size, 1, 4096, file);
		size += got;
		text[size] = '\0';
	}
	if (file)
		fclose(file);
	return text;
}

static int build_failed(struct device *d, cl_int rc)
{
	char log[400] = "";

	clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
	fprintf(stderr, "%s\n", log);
	return device_fail("the kernels do not build", rc);
}

static int open_kernels(struct device *d, const char *path, const char *options)
{
	char *text = path ? read_source(path) : NULL;
	const char *source = path ? text : built_in_source;
	cl_int rc;

	if (!source)
		return device_fail("cannot read the kernel source file", 0);
	d->program = clCreateProgramWithSource(d->context, 1, &source, NULL, &rc);
	free(text);
	if (rc)
		return device_fail("clCreateProgramWithSource", rc);
	if (!options)
		options = getenv("DEMO_CL_OPTIONS");
	rc = clBuildProgram(d->program, 1, &d->id, options, NULL, NULL);
	if (rc)
		return build_failed(d, rc);
	for (int i = 0; i < DEVICE_NR_KERNELS; i++) {
		d->kernels[i] = clCreateKernel(d->program, kernel_names[i], &rc);
		if (rc)
			return device_fail(kernel_names[i], rc);
	}
	return 0;
}

int device_open(struct device *d, int index, const char *kernels_path, const char *build_options)
{
	cl_int rc;

	memset(d, 0, sizeof *d);
	if (find_device(d, index))
		return -1;
	clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof d->name - 1, d->name, NULL);
	d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &rc);
	if (rc)
		return device_fail("clCreateContext", rc);
	if (open_queues(d))
		return -1;
	return open_kernels(d, kernels_path, build_options);
}

static void close_queue(cl_command_queue queue)
{
	if (!queue)
		return;
	clFinish(queue);
	clReleaseCommandQueue(queue);
}

void device_close(struct device *d)
{
	close_queue(d->copy);
	close_queue(d->heads);
	close_queue(d->compute);
	for (int i = 0; i < DEVICE_NR_KERNELS; i++)
		if (d->kernels[i])
			clReleaseKernel(d->kernels[i]);
	if (d->program)
		clReleaseProgram(d->program);
	if (d->context)
		clReleaseContext(d->context);
	memset(d, 0, sizeof *d);
}

cl_mem device_buffer(struct device *d, size_t nr)
{
	cl_int rc;
	cl_mem mem =
	    clCreateBuffer(d->context, CL_MEM_READ_WRITE, nr * sizeof(cl_float), NULL, &rc);

	if (rc) {
		device_fail("clCreateBuffer", rc);
		return NULL;
	}
	return mem;
}

int device_launch(struct device *d, enum device_kernel kernel, const struct device_range *range,
                  const struct device_arg *args, cl_uint nr_args, struct device_after after,
                  cl_event *done)
{
	const bool flat = range->global[1] == 0;
	const size_t *local = range->local[0] ? range->local : NULL;
	cl_int rc;

	for (cl_uint i = 0; i < nr_args; i++) {
		rc = clSetKernelArg(d->kernels[kernel], i, args[i].size, args[i].value);
		if (rc)
			return device_fail(kernel_names[kernel], rc);
	}
	rc = clEnqueueNDRangeKernel(range->queue, d->kernels[kernel], flat ? 1 : 2, NULL,
	                            range->global, local, after.nr, after.nr ? after.events : NULL,
	                            device_event_place(d, done));
	return rc ? device_fail(kernel_names[kernel], rc) : 0;
}

void device_event_release(struct device *d, cl_event *event)
{
	if (*event && !d->leak_events)
		clReleaseEvent(*event);
	*event = NULL;
}

cl_event *device_event_place(struct device *d, cl_event *wanted)
{
	static _Thread_local cl_event lost;

	return wanted ? wanted : d->leak_events ? &lost : NULL;
}
