/*
 * Shared by the OpenCL programs of known behaviour: one device, one context, one program, and the
 * rule that an unexpected error ends the program with status 2 and a line on standard error.
 *
 * CL_PROGRAMS_DEVICE in the environment picks the device by index over all platforms (0),
 * CL_PROGRAMS_OPTIONS has options for the compiler.
 */
#ifndef LIVE_CL_SETUP_H
#define LIVE_CL_SETUP_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

struct cl {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
};

/* A kernel argument list entry; the last one has size 0. */
struct cl_arg {
	size_t size;
	const void *value;
};

#define CL_ARG(variable)                                                                           \
	{                                                                                          \
		sizeof(variable), &(variable)                                                      \
	}

/* Ends the program when @rc is an error; @what names the call. */
void cl_check(cl_int rc, const char *what);

#define CL_CHECK(call) cl_check((call), #call)

/* Opens the device and builds @source. Exits 77 (skipped) when there is no device. */
void cl_open(struct cl *cl, const char *source);

/* A further context on the same device, with its own build of @source. */
void cl_open_again(struct cl *again, const struct cl *cl, const char *source);

/* Releases program and context. */
void cl_close(struct cl *cl);

/* A queue with these properties (CL_QUEUE_*), by the OpenCL 1.2 call. */
cl_command_queue cl_queue(const struct cl *cl, cl_command_queue_properties properties);

/* A kernel with its first arguments set; @args may be NULL. */
cl_kernel cl_kernel_with(const struct cl *cl, const char *name, const struct cl_arg *args);

/* A read-write buffer of @size bytes. */
cl_mem cl_buffer(const struct cl *cl, size_t size);

/* Enqueues a one-dimensional kernel without waiting for anything and without an event. */
void cl_launch(cl_command_queue queue, cl_kernel kernel, size_t global, size_t local);

/*
 * Source of two helpers that kernels may call: spin(x, n) is n rounds of a 32-bit xorshift from x.
 * cl_spin() is the same on the host.
 */
#define CL_SPIN_SOURCE                                                                             \
	"uint spin(uint x, uint n)\n"                                                              \
	"{\n"                                                                                      \
	"	for (uint i = 0; i < n; i++) {\n"                                                        \
	"		x ^= x << 13;\n"                                                                        \
	"		x ^= x >> 17;\n"                                                                        \
	"		x ^= x << 5;\n"                                                                         \
	"	}\n"                                                                                     \
	"	return x;\n"                                                                             \
	"}\n"
uint32_t cl_spin(uint32_t x, uint32_t n);

#endif
