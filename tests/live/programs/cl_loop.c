/*
 * cl_loop [LAUNCHES [PER_FINISH [events]]]: the cost of an enqueue.
 *
 * Truth: LAUNCHES (50000) enqueues of the one-item kernel tiny from launch_tiny, with a clFinish
 * after every PER_FINISH (500); with "events" each asks for an event and releases it at once.
 * Prints the CPU and wall time of an enqueue in the launching thread (without the finish), and the
 * wall time of all over the number. Run it with and without a profiler: the ratio is the profiler's
 * cost.
 *
 * Exit status: 0, or 1 when the kernel did not run that often.
 */
#include "burn.h"
#include "cl_setup.h"

#include <string.h>

static const char source[] = "kernel void tiny(global uint *a) { a[0] += 1; }\n";

static const size_t one = 1;

APART static void launch_tiny(cl_command_queue queue, cl_kernel kernel, cl_event *event)
{
	CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, event));
	if (event)
		CL_CHECK(clReleaseEvent(*event));
}

struct cost {
	int64_t cpu_ns, wall_ns, whole_ns;
};

APART static struct cost loop(cl_command_queue queue, cl_kernel kernel, long launches,
                              long per_finish, cl_event *event)
{
	struct cost cost = {0};

	cost.whole_ns = -burn_clock_ns(CLOCK_MONOTONIC);
	for (long left = launches; left > 0; left -= per_finish) {
		const long nr = left < per_finish ? left : per_finish;

		cost.cpu_ns -= burn_thread_ns();
		cost.wall_ns -= burn_clock_ns(CLOCK_MONOTONIC);
		for (long i = 0; i < nr; i++)
			launch_tiny(queue, kernel, event);
		cost.wall_ns += burn_clock_ns(CLOCK_MONOTONIC);
		cost.cpu_ns += burn_thread_ns();
		CL_CHECK(clFinish(queue));
	}
	cost.whole_ns += burn_clock_ns(CLOCK_MONOTONIC);
	return cost;
}

int main(int argc, char **argv)
{
	const long launches = argc > 1 && atol(argv[1]) > 0 ? atol(argv[1]) : 50000;
	const long per_finish = argc > 2 && atol(argv[2]) > 0 ? atol(argv[2]) : 500;
	const int with_events = argc > 3 && !strcmp(argv[3], "events");
	cl_uint count = 0;
	cl_command_queue queue;
	cl_kernel kernel;
	struct cost cost;
	cl_event event;
	struct cl cl;
	cl_mem mem;

	cl_open(&cl, source);
	queue = cl_queue(&cl, 0);
	mem = cl_buffer(&cl, sizeof count);
	kernel = cl_kernel_with(&cl, "tiny", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});
	loop(queue, kernel, 100, 10, NULL); /* so that compiling the kernel is not in the cost */
	CL_CHECK(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL));
	cost = loop(queue, kernel, launches, per_finish, with_events ? &event : NULL);
	CL_CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL));
	truth_number("launches", launches);
	truth_number("enqueue_cpu_ns", cost.cpu_ns / launches);
	truth_number("enqueue_wall_ns", cost.wall_ns / launches);
	truth_number("whole_ns_per_launch", cost.whole_ns / launches);
	CL_CHECK(clReleaseKernel(kernel));
	CL_CHECK(clReleaseMemObject(mem));
	CL_CHECK(clReleaseCommandQueue(queue));
	cl_close(&cl);
	return count != (cl_uint)launches;
}
