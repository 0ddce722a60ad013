/*
 * cl_queues: the ways in which commands are not simply one after the other.
 *
 * Truth, all of it checked by the results of the kernels; all queues have profiling off:
 *
 * - diamond: 20 times, on an out-of-order queue: kernel top, then left and right, which wait for
 *   top's event, then bottom, which waits for both
 * - sub-devices: the device split into parts of one compute unit, two of them with a queue each in
 *   one context: 10 launches of sub_work on each (0 where the device cannot split)
 * - user event: delayed waits for a user event that the host sets 250 ms after the enqueue, so
 *   that its start is at least 200 ms after it was queued
 * - contexts: 8 contexts, each with its own program, queue and 5 launches of in_context
 * - two queues: producer on one in-order queue, consumer on another, tied by an event; 10 times
 *
 * Exit status: 0, or 1 when a result is wrong.
 */
#include "burn.h"
#include "cl_setup.h"

#include <string.h>

enum {
	ITEMS = 1024,
	DIAMONDS = 20,
	SUB_LAUNCHES = 10,
	CONTEXTS = 8,
	CONTEXT_LAUNCHES = 5,
	PAIRS = 10
};

static const char source[] = CL_SPIN_SOURCE
    "#define ID get_global_id(0)\n"
    "kernel void top(global uint *a, uint x) { a[ID] = spin(ID + x, 200) % 1000; }\n"
    "kernel void left(global const uint *a, global uint *b) { b[ID] = a[ID] + 1 + spin(0, 2000); "
    "}\n"
    "kernel void right(global const uint *a, global uint *c) { c[ID] = a[ID] * 2 + spin(0, 2000); "
    "}\n"
    "kernel void bottom(global const uint *b, global const uint *c, global uint *d) { d[ID] = "
    "b[ID] + c[ID]; }\n"
    "kernel void sub_work(global uint *a, uint x) { a[ID] = spin(ID + 1, 2000) + x; }\n"
    "kernel void delayed(global uint *a, uint x) { a[ID] = x; }\n"
    "kernel void in_context(global uint *a, uint x) { a[ID] = a[ID] + x; }\n"
    "kernel void producer(global uint *a, uint x) { a[ID] = spin(x, 1000); }\n"
    "kernel void consumer(global const uint *a, global uint *b) { b[ID] = a[ID] ^ 1; }\n";

static const size_t items = ITEMS;

static void enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint nr_waits,
                    const cl_event *waits, cl_event *done)
{
	CL_CHECK(
	    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, nr_waits, waits, done));
}

static cl_uint last_item(cl_command_queue queue, cl_mem mem)
{
	cl_uint value;

	CL_CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, (ITEMS - 1) * sizeof value, sizeof value,
	                             &value, 0, NULL, NULL));
	return value;
}

APART static int diamond(const struct cl *cl)
{
	cl_command_queue queue = cl_queue(cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_mem mem[4];
	cl_kernel kernels[4];
	int wrong = 0;

	for (int i = 0; i < 4; i++)
		mem[i] = cl_buffer(cl, ITEMS * sizeof(cl_uint));
	kernels[0] = cl_kernel_with(cl, "top", (struct cl_arg[]){CL_ARG(mem[0]), {0, NULL}});
	kernels[1] = cl_kernel_with(cl, "left",
	                            (struct cl_arg[]){CL_ARG(mem[0]), CL_ARG(mem[1]), {0, NULL}});
	kernels[2] = cl_kernel_with(cl, "right",
	                            (struct cl_arg[]){CL_ARG(mem[0]), CL_ARG(mem[2]), {0, NULL}});
	kernels[3] = cl_kernel_with(
	    cl, "bottom",
	    (struct cl_arg[]){CL_ARG(mem[1]), CL_ARG(mem[2]), CL_ARG(mem[3]), {0, NULL}});
	for (cl_uint x = 0; x < DIAMONDS; x++) {
		const cl_uint a = cl_spin(ITEMS - 1 + x, 200) % 1000;
		cl_event done[4];

		CL_CHECK(clSetKernelArg(kernels[0], 1, sizeof x, &x));
		enqueue(queue, kernels[0], 0, NULL, &done[0]);
		enqueue(queue, kernels[1], 1, &done[0], &done[1]);
		enqueue(queue, kernels[2], 1, &done[0], &done[2]);
		enqueue(queue, kernels[3], 2, &done[1], &done[3]);
		CL_CHECK(clWaitForEvents(1, &done[3]));
		wrong |= last_item(queue, mem[3]) != a + 1 + a * 2;
		for (int i = 0; i < 4; i++)
			CL_CHECK(clReleaseEvent(done[i]));
	}
	for (int i = 0; i < 4; i++) {
		CL_CHECK(clReleaseKernel(kernels[i]));
		CL_CHECK(clReleaseMemObject(mem[i]));
	}
	CL_CHECK(clReleaseCommandQueue(queue));
	return wrong;
}

/* Two sub-devices with a queue each; returns how many launches there were, or -1 when wrong. */
APART static int sub_devices(const struct cl *cl)
{
	const cl_device_partition_property by_one[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	cl_device_id parts[64];
	cl_uint nr_parts = 0;
	struct cl part = *cl;
	int wrong = 0;
	cl_int rc;

	if (clCreateSubDevices(cl->device, by_one, 64, parts, &nr_parts) || nr_parts < 2)
		return 0;
	part.context = clCreateContext(NULL, 2, parts, NULL, NULL, &rc);
	cl_check(rc, "clCreateContext of sub-devices");
	part.program =
	    clCreateProgramWithSource(part.context, 1, (const char *[]){source}, NULL, &rc);
	cl_check(rc, "clCreateProgramWithSource");
	CL_CHECK(clBuildProgram(part.program, 0, NULL, NULL, NULL, NULL));
	for (int i = 0; i < 2; i++) {
		cl_command_queue queue;
		cl_mem mem = cl_buffer(&part, ITEMS * sizeof(cl_uint));
		cl_kernel kernel =
		    cl_kernel_with(&part, "sub_work", (struct cl_arg[]){CL_ARG(mem), {0, NULL}});

		part.device = parts[i];
		queue = cl_queue(&part, 0);
		for (cl_uint x = 0; x < SUB_LAUNCHES; x++) {
			CL_CHECK(clSetKernelArg(kernel, 1, sizeof x, &x));
			enqueue(queue, kernel, 0, NULL, NULL);
		}
		wrong |= last_item(queue, mem) != cl_spin(ITEMS, 2000) + SUB_LAUNCHES - 1;
		CL_CHECK(clReleaseKernel(kernel));
		CL_CHECK(clReleaseMemObject(mem));
		CL_CHECK(clReleaseCommandQueue(queue));
	}
	cl_close(&part);
	for (cl_uint i = 0; i < nr_parts; i++)
		CL_CHECK(clReleaseDevice(parts[i]));
	return wrong ? -1 : 2 * SUB_LAUNCHES;
}

APART static int user_event(const struct cl *cl)
{
	const cl_uint x = 77;
	cl_command_queue queue = cl_queue(cl, 0);
	cl_mem mem = cl_buffer(cl, ITEMS * sizeof x);
	cl_kernel kernel =
	    cl_kernel_with(cl, "delayed", (struct cl_arg[]){CL_ARG(mem), CL_ARG(x), {0, NULL}});
	cl_event gate, done;
	cl_int rc, state;
	int wrong;

	gate = clCreateUserEvent(cl->context, &rc);
	cl_check(rc, "clCreateUserEvent");
	enqueue(queue, kernel, 1, &gate, &done);
	CL_CHECK(clFlush(queue));
	nanosleep(&(struct timespec){0, 250000000}, NULL);
	CL_CHECK(
	    clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
	wrong = state == CL_COMPLETE || state == CL_RUNNING;
	CL_CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CL_CHECK(clWaitForEvents(1, &done));
	wrong |= last_item(queue, mem) != x;
	CL_CHECK(clReleaseEvent(gate));
	CL_CHECK(clReleaseEvent(done));
	CL_CHECK(clReleaseKernel(kernel));
	CL_CHECK(clReleaseMemObject(mem));
	CL_CHECK(clReleaseCommandQueue(queue));
	return wrong;
}

/* All contexts are open at once. */
APART static int many_contexts(const struct cl *cl)
{
	struct cl many[CONTEXTS];
	int wrong = 0;

	for (int i = 0; i < CONTEXTS; i++)
		cl_open_again(&many[i], cl, source);
	for (int i = 0; i < CONTEXTS; i++) {
		const cl_uint x = (cl_uint)i + 1, zero = 0;
		cl_command_queue queue = cl_queue(&many[i], 0);
		cl_mem mem = cl_buffer(&many[i], ITEMS * sizeof x);
		cl_kernel kernel = cl_kernel_with(
		    &many[i], "in_context", (struct cl_arg[]){CL_ARG(mem), CL_ARG(x), {0, NULL}});

		CL_CHECK(clEnqueueFillBuffer(queue, mem, &zero, sizeof zero, 0, ITEMS * sizeof zero,
		                             0, NULL, NULL));
		for (int j = 0; j < CONTEXT_LAUNCHES; j++)
			enqueue(queue, kernel, 0, NULL, NULL);
		wrong |= last_item(queue, mem) != CONTEXT_LAUNCHES * x;
		CL_CHECK(clReleaseKernel(kernel));
		CL_CHECK(clReleaseMemObject(mem));
		CL_CHECK(clReleaseCommandQueue(queue));
	}
	for (int i = 0; i < CONTEXTS; i++)
		cl_close(&many[i]);
	return wrong;
}

APART static int two_queues(const struct cl *cl)
{
	cl_command_queue first = cl_queue(cl, 0), second = cl_queue(cl, 0);
	cl_mem a = cl_buffer(cl, ITEMS * sizeof(cl_uint)),
	       b = cl_buffer(cl, ITEMS * sizeof(cl_uint));
	cl_kernel producer =
	    cl_kernel_with(cl, "producer", (struct cl_arg[]){CL_ARG(a), {0, NULL}});
	cl_kernel consumer =
	    cl_kernel_with(cl, "consumer", (struct cl_arg[]){CL_ARG(a), CL_ARG(b), {0, NULL}});
	int wrong = 0;

	for (cl_uint x = 1; x <= PAIRS; x++) {
		cl_event produced;

		CL_CHECK(clSetKernelArg(producer, 1, sizeof x, &x));
		enqueue(first, producer, 0, NULL, &produced);
		CL_CHECK(clFlush(first));
		enqueue(second, consumer, 1, &produced, NULL);
		wrong |= last_item(second, b) != (cl_spin(x, 1000) ^ 1);
		CL_CHECK(clReleaseEvent(produced));
	}
	CL_CHECK(clReleaseKernel(producer));
	CL_CHECK(clReleaseKernel(consumer));
	CL_CHECK(clReleaseMemObject(a));
	CL_CHECK(clReleaseMemObject(b));
	CL_CHECK(clReleaseCommandQueue(first));
	CL_CHECK(clReleaseCommandQueue(second));
	return wrong;
}

int main(void)
{
	struct cl cl;
	int wrong, nr_sub;

	cl_open(&cl, source);
	wrong = diamond(&cl);
	nr_sub = sub_devices(&cl);
	wrong |= nr_sub < 0;
	wrong |= user_event(&cl);
	wrong |= many_contexts(&cl);
	wrong |= two_queues(&cl);
	cl_close(&cl);
	truth_number("launches.top", DIAMONDS);
	truth_number("launches.left", DIAMONDS);
	truth_number("launches.right", DIAMONDS);
	truth_number("launches.bottom", DIAMONDS);
	truth_number("launches.sub_work", nr_sub);
	truth_number("launches.delayed", 1);
	truth_number("launches.in_context", CONTEXTS * CONTEXT_LAUNCHES);
	truth_number("launches.producer", PAIRS);
	truth_number("launches.consumer", PAIRS);
	truth_number("delay_ms", 250);
	return wrong;
}
