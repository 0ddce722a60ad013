/*
 * cl_paths [profile] [SCALE]: two kernels from two call paths, device time known by construction.
 *
 * Truth: kernel k1 does three times the work of k2. hot_path launches both three times for each
 * time that cold_path does, on one in-order queue. Device time by path and kernel:
 * run;hot_path;launch_k1 9/16, run;hot_path;launch_k2 3/16, run;cold_path;launch_k1 3/16,
 * run;cold_path;launch_k2 1/16. About 1.5 s on two cores. Launches: 120 and 120 from hot_path, 40
 * and 40 from cold_path. With "profile" the queue has profiling on and the shares of device time
 * measured by the program are printed too.
 *
 * Exit status: 0, or 1 when a result is wrong or the program's own measurement is far from this.
 */
#include "burn.h"
#include "cl_setup.h"

#include <string.h>

enum { ITEMS = 4096, LOCAL = 64, UNIT = 800, MAX_ROUNDS = 4000 };

static const char source[] =
    CL_SPIN_SOURCE "kernel void k1(global uint *out, uint n) { out[get_global_id(0)] = "
		   "spin(get_global_id(0) + 1, n); }\n"
		   "kernel void k2(global uint *out, uint n) { out[get_global_id(0)] = "
		   "spin(get_global_id(0) + 9, n); }\n";

enum path { HOT_K1, HOT_K2, COLD_K1, COLD_K2, NR_PATHS };

static cl_command_queue queue;
static cl_kernel k1, k2;
static int profile;
static cl_event events[8 * MAX_ROUNDS];
static enum path event_path[8 * MAX_ROUNDS];
static int nr_events;

static void launch(cl_kernel kernel, enum path path)
{
	const size_t global = ITEMS, local = LOCAL;

	event_path[nr_events] = path;
	CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
	                                profile ? &events[nr_events++] : NULL));
}

APART static void launch_k1(enum path path)
{
	launch(k1, path);
}

APART static void launch_k2(enum path path)
{
	launch(k2, path);
}

APART static void hot_path(void)
{
	launch_k1(HOT_K1);
	launch_k2(HOT_K2);
}

APART static void cold_path(void)
{
	launch_k1(COLD_K1);
	launch_k2(COLD_K2);
}

APART static void run(int rounds)
{
	while (rounds--) {
		hot_path();
		hot_path();
		hot_path();
		cold_path();
		CL_CHECK(clFinish(queue));
	}
}

/* 1 when the shares of device time are far from those of the truth. */
static int report_own_times(void)
{
	static const char *const names[] = {"hot_path.k1", "hot_path.k2", "cold_path.k1",
	                                    "cold_path.k2"};
	static const double want[] = {9 / 16.0, 3 / 16.0, 3 / 16.0, 1 / 16.0};
	int64_t ns[NR_PATHS] = {0}, all = 0;
	int wrong = 0;

	for (int i = 0; i < nr_events; i++) {
		cl_ulong start, end;

		CL_CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START,
		                                 sizeof start, &start, NULL));
		CL_CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof end,
		                                 &end, NULL));
		ns[event_path[i]] += (int64_t)(end - start);
		all += (int64_t)(end - start);
		CL_CHECK(clReleaseEvent(events[i]));
	}
	for (int i = 0; i < NR_PATHS; i++) {
		truth_share(names[i], ns[i], all);
		wrong |= share_is_wrong(ns[i], all, want[i]);
	}
	truth_number("device_ms", all / 1000000);
	return wrong;
}

static int result_is_wrong(cl_mem mem, uint32_t first, cl_uint n)
{
	cl_uint got;

	CL_CHECK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof got, &got, 0, NULL, NULL));
	return got != cl_spin(first, n);
}

int main(int argc, char **argv)
{
	const cl_uint n1 = 3 * UNIT, n2 = UNIT;
	int rounds, wrong;
	cl_mem out1, out2;
	struct cl cl;

	profile = argc > 1 && !strcmp(argv[1], "profile");
	rounds = (int)(40 * burn_scale(argc - profile, argv + profile));
	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	cl_open(&cl, source);
	queue = cl_queue(&cl, profile ? CL_QUEUE_PROFILING_ENABLE : 0);
	out1 = cl_buffer(&cl, ITEMS * sizeof(cl_uint));
	out2 = cl_buffer(&cl, ITEMS * sizeof(cl_uint));
	k1 = cl_kernel_with(&cl, "k1", (struct cl_arg[]){CL_ARG(out1), CL_ARG(n1), {0, NULL}});
	k2 = cl_kernel_with(&cl, "k2", (struct cl_arg[]){CL_ARG(out2), CL_ARG(n2), {0, NULL}});
	run(rounds);
	wrong = result_is_wrong(out1, 1, n1) | result_is_wrong(out2, 9, n2);
	truth_number("launches", 8L * rounds);
	if (profile)
		wrong |= report_own_times();
	CL_CHECK(clReleaseKernel(k1));
	CL_CHECK(clReleaseKernel(k2));
	CL_CHECK(clReleaseMemObject(out1));
	CL_CHECK(clReleaseMemObject(out2));
	CL_CHECK(clReleaseCommandQueue(queue));
	cl_close(&cl);
	return wrong;
}
