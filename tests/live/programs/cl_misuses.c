/*
 * cl_misuses [STEPS]: a loop that uses OpenCL in each of the ways that cost, a function for each.
 *
 * Truth, as calls.FUNCTION: read_back copies 64 KiB to the host and waits for it; finish_again
 * waits twice with nothing to wait for; wait_for_each launches four kernels and waits after each;
 * allocate_each makes a buffer and releases it; build_each builds a program. poll_event asks for a
 * kernel's state until it is done: polled.calls, polled.loops count what it asked 16 times or more.
 * Before the loop 30 buffers are made and released.
 *
 * Exit status: 0.
 */
#include "burn.h"
#include "cl_setup.h"

enum { BYTES = 1 << 16, EACH = 4, SETUP = 30, LOOP = 16 };

static const char source[] =
    CL_SPIN_SOURCE "kernel void k(global uint *a, uint n) { a[0] = spin(a[0] + 1, n); }\n";

static struct cl cl;
static cl_command_queue queue;
static cl_kernel quick, slow;
static cl_mem memory;
static unsigned char host[BYTES];
static long polled_calls, polled_loops, polled_rest;

APART static void poll_event(void)
{
	const size_t one = 1;
	cl_event event;
	cl_int state = CL_QUEUED;
	long calls = 0;

	CL_CHECK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &one, &one, 0, NULL, &event));
	CL_CHECK(clFlush(queue));
	/* Not so often that a recorder on a busy machine loses events. */
	for (uint32_t spun = 1; state > CL_COMPLETE; calls++) {
		CL_CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
		                        &state, NULL));
		spun = cl_spin(spun, 1000);
		polled_rest += spun & 1;
	}
	CL_CHECK(clReleaseEvent(event));
	if (calls < LOOP)
		return;
	polled_calls += calls;
	polled_loops++;
}

APART static void read_back(void)
{
	CL_CHECK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
}

APART static void finish_again(void)
{
	CL_CHECK(clFinish(queue));
	CL_CHECK(clFinish(queue));
}

APART static void wait_for_each(void)
{
	for (int i = 0; i < EACH; i++) {
		cl_launch(queue, quick, 1, 1);
		CL_CHECK(clFinish(queue));
	}
}

APART static void allocate_each(void)
{
	CL_CHECK(clReleaseMemObject(cl_buffer(&cl, BYTES)));
}

APART static void build_each(void)
{
	const char *text = "kernel void other(global uint *a) { a[0] = 3; }\n";
	cl_int rc;
	cl_program program = clCreateProgramWithSource(cl.context, 1, &text, NULL, &rc);

	cl_check(rc, "clCreateProgramWithSource");
	CL_CHECK(clBuildProgram(program, 1, &cl.device, "", NULL, NULL));
	CL_CHECK(clReleaseProgram(program));
}

static cl_kernel kernel_of(uint32_t rounds)
{
	return cl_kernel_with(&cl, "k",
	                      (struct cl_arg[]){CL_ARG(memory), CL_ARG(rounds), {0, NULL}});
}

static void loop(long steps)
{
	for (long i = 0; i < steps; i++) {
		poll_event();
		read_back();
		finish_again();
		wait_for_each();
		allocate_each();
		build_each();
	}
}

int main(int argc, char **argv)
{
	const long steps = argc > 1 && atol(argv[1]) > 0 ? atol(argv[1]) : 40;

	cl_open(&cl, source);
	queue = cl_queue(&cl, 0);
	memory = cl_buffer(&cl, BYTES);
	quick = kernel_of(100);
	slow = kernel_of(200000);
	for (int i = 0; i < SETUP; i++)
		CL_CHECK(clReleaseMemObject(cl_buffer(&cl, BYTES)));
	loop(steps);
	truth_number("steps", steps);
	truth_number("calls.read_back", steps);
	truth_number("calls.finish_again", 2 * steps);
	truth_number("calls.wait_for_each", EACH * steps);
	truth_number("bytes.read_back", BYTES * steps);
	truth_number("polled.calls", polled_calls);
	truth_number("polled.loops", polled_loops);
	CL_CHECK(clReleaseKernel(quick));
	CL_CHECK(clReleaseKernel(slow));
	CL_CHECK(clReleaseMemObject(memory));
	CL_CHECK(clReleaseCommandQueue(queue));
	cl_close(&cl);
	return 0;
}
