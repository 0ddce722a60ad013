/*
 * cl_exit_without_finish [return|exit|_exit]: the process ends while kernels are still in the
 * queue.
 *
 * Truth: 20 launches of slow (some 20 ms each on two cores) are flushed; the first is waited for,
 * and then the program ends in the named way without waiting for the others or releasing anything.
 * At least one launch has completed; whatever a profiler says of the other 19, it must not hang,
 * crash or invent end times.
 *
 * Exit status: 9.
 */
#include "burn.h"
#include "cl_setup.h"

#include <string.h>
#include <unistd.h>

enum { ITEMS = 4096, LAUNCHES = 20 };

static const char source[] =
    CL_SPIN_SOURCE "kernel void slow(global uint *a) { a[get_global_id(0)] = spin(get_global_id(0) "
		   "+ 1, 8000); }\n";

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	const size_t items = ITEMS;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_event first;
	struct cl cl;
	cl_mem mem;

	cl_open(&cl, source);
	queue = cl_queue(&cl, 0);
	mem = cl_buffer(&cl, ITEMS * sizeof(cl_uint));
	kernel = cl_kernel_with(&cl, "slow", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});
	CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &first));
	for (int i = 1; i < LAUNCHES; i++)
		cl_launch(queue, kernel, ITEMS, 0);
	CL_CHECK(clFlush(queue));
	CL_CHECK(clWaitForEvents(1, &first));
	truth_number("launches", LAUNCHES);
	fflush(stdout);
	if (!strcmp(how, "_exit"))
		_exit(9);
	if (!strcmp(how, "exit"))
		exit(9);
	return 9;
}
