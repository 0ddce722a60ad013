/*
 * cl_leak [SCALE]: a program that asks for an event of every command and never releases one.
 *
 * Truth: 5000 launches of tiny, 501 writes and 500 reads of 4 KiB on an in-order queue with a
 * finish every 96 commands; 6001 events live until the end of the process, which also leaves
 * queue, kernel, buffers, program and context behind. What a profiler keeps per event must not grow
 * with them.
 *
 * Exit status: 0, or 1 when the result is wrong.
 */
#include "burn.h"
#include "cl_setup.h"

enum { ITEMS = 1024 };

static const char source[] = "kernel void tiny(global uint *a) { a[get_global_id(0)] += 1; }\n";

int main(int argc, char **argv)
{
	const int rounds = (int)(500 * burn_scale(argc, argv));
	const size_t items = ITEMS;
	static cl_uint zeros[ITEMS], host[ITEMS];
	cl_command_queue queue;
	cl_kernel kernel;
	cl_event lost;
	struct cl cl;
	cl_mem mem, other;

	cl_open(&cl, source);
	queue = cl_queue(&cl, 0);
	mem = cl_buffer(&cl, sizeof host);
	other = cl_buffer(&cl, sizeof zeros);
	CL_CHECK(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, &lost));
	kernel = cl_kernel_with(&cl, "tiny", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});
	for (int i = 0; i < rounds; i++) {
		CL_CHECK(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, sizeof zeros, zeros, 0,
		                              NULL, &lost));
		for (int j = 0; j < 10; j++)
			CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0,
			                                NULL, &lost));
		CL_CHECK(clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, sizeof host, host, 0, NULL,
		                             &lost));
		if (i % 8 == 7)
			CL_CHECK(clFinish(queue));
	}
	CL_CHECK(clFinish(queue));
	truth_number("launches", 10L * rounds);
	truth_number("events_leaked", 12L * rounds + 1);
	return host[0] != 10u * (cl_uint)rounds || host[ITEMS - 1] != host[0];
}
