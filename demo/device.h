/*
 * The OpenCL side of a block: device, queues, kernels, and the few calls that enqueue work.
 * Order: device_open, anything else, device_close. Functions return 0 or -1 (see block_error).
 */
#ifndef DEMO_DEVICE_H
#define DEMO_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

enum device_kernel {
	DEVICE_LAYER_NORM,
	DEVICE_MATMUL,
	DEVICE_SOFTMAX_ROWS,
	DEVICE_GELU,
	DEVICE_ADD_RESIDUAL,
	DEVICE_NR_KERNELS,
};

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue compute; /* in order */
	cl_command_queue copy;    /* in order, so that copies overlap the compute queue */
	cl_command_queue heads;   /* out of order where the device can, else in order */
	cl_program program;
	cl_kernel kernels[DEVICE_NR_KERNELS];
	bool leak_events;
	char name[128];
};

/* One kernel argument, by address. */
struct device_arg {
	size_t size;
	const void *value;
};

/* The commands that one must wait for. */
struct device_after {
	cl_uint nr;
	const cl_event *events;
};

/* Where and how one kernel runs: queue, and the two dimensions of the range. */
struct device_range {
	cl_command_queue queue;
	size_t global[2];
	size_t local[2]; /* 0: the runtime chooses */
};

/* Remembers a failure for block_error() and returns -1. */
int device_fail(const char *what, cl_int rc);

/* The message that device_fail() of this thread left. */
const char *device_error(void);

/*
 * Opens the device of that index, its queues and kernels. @kernels_path and @build_options may be
 * NULL. On failure @d is left fit for device_close().
 */
int device_open(struct device *d, int index, const char *kernels_path, const char *build_options);

/* Waits for all queues and releases everything @d has; accepts a half-open device. */
void device_close(struct device *d);

/* A read-write buffer of @nr floats, NULL on failure; the caller releases it. */
cl_mem device_buffer(struct device *d, size_t nr);

/* Sets the arguments and enqueues a kernel; @done may be NULL, else the caller releases it. */
int device_launch(struct device *d, enum device_kernel kernel, const struct device_range *range,
                  const struct device_arg *args, cl_uint nr_args, struct device_after after,
                  cl_event *done);

/* Releases an event and clears it, unless the device is reported to leak; *@event may be NULL. */
void device_event_release(struct device *d, cl_event *event);

/*
 * Where a command should put its event: @wanted, or, when events are to be leaked, a place that
 * nobody looks at. NULL asks the runtime for none.
 */
cl_event *device_event_place(struct device *d, cl_event *wanted);

#endif
