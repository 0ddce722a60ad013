/*
 * cl_waits [ROUNDS]: OpenCL is there; a line is read; then what is known is done.
 *
 * Truth: in each of ROUNDS (200) hot_path launches a kernel three times and writes a buffer,
 * cold_path launches it once and waits. The calls are printed as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cl_setup.h"

#define APART __attribute__((noinline))

static const char source[] =
    "kernel void k(global uint *out) { out[get_global_id(0)] = get_global_id(0); }\n";

static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

APART static void launch(void)
{
	const size_t global = 64, local = 64;

	CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
	asm volatile("");
}

APART static void hot_path(void)
{
	static const uint32_t words[64];

	for (int i = 0; i < 3; i++)
		launch();
	CL_CHECK(
	    clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof words, words, 0, NULL, NULL));
}

APART static void cold_path(void)
{
	launch();
	CL_CHECK(clFinish(queue));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	struct cl cl;
	char go;

	cl_open(&cl, source);
	buffer = cl_buffer(&cl, 4096);
	const struct cl_arg args[] = {CL_ARG(buffer), {0, NULL}};
	kernel = cl_kernel_with(&cl, "k", args);
	queue = cl_queue(&cl, 0);
	launch();
	CL_CHECK(clFinish(queue));
	if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1)
		return 1;
	for (int i = 0; i < rounds; i++) {
		hot_path();
		cold_path();
	}
	printf("{\"clEnqueueNDRangeKernel\": %d, \"clEnqueueWriteBuffer\": %d, \"clFinish\": %d}\n",
	       4 * rounds, rounds, rounds);
	fflush(stdout);
	_exit(0); /* and no call of the ends of objects */
}
