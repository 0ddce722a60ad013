/*
 * many_apis MODULE: a program that uses as many APIs as this file is compiled for, one after
 * another in each step: OpenCL, CUDA, Level Zero (with the kernel "heavy" of MODULE), OpenMP's
 * target regions, HIP (WITH_HIP) and MPI (WITH_MPI). A range of NVTX encloses each step, and a task
 * of ITT each API's part of it. test_many_apis.py compiles it.
 *
 * Truth: STEPS steps; each has 4 launches of OpenCL, 3 of CUDA, 2 of Level Zero, 5 of HIP, which
 * fail where there is no device, 2 target regions and 1 reduction by MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef WITH_HIP
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#endif
#ifdef WITH_MPI
#include <mpi.h>
#endif

#include "cl_setup.h"
#include "cuda_setup.h"
#include "itt_say.h"
#include "nvtx_say.h"
#include "ze_setup.h"

#define NOINLINE __attribute__((noinline))

enum { STEPS = 6, PAUSE_MS = 60, N = 4096 };

static const struct id none;
static struct domain *app;

static cl_command_queue queue;
static cl_kernel spin;
static struct cuda cuda;
static ze_command_list_handle_t list;
static ze_kernel_handle_t heavy;
static ze_event_handle_t event;
static double values[N];

NOINLINE static void opencl(void)
{
	for (int i = 0; i < 4; i++)
		cl_launch(queue, spin, 256, 64);
	CL_CHECK(clFinish(queue));
}

NOINLINE static void cuda_part(void)
{
	for (int i = 0; i < 3; i++)
		cuda_launch(cuda.k[0], NULL, 2000000);
	CUDA_CHECK(cuCtxSynchronize());
}

NOINLINE static void level_zero(void)
{
	static const ze_group_count_t groups = {16, 3, 1};

	for (int i = 0; i < 2; i++)
		OK(zeCommandListAppendLaunchKernel(list, heavy, &groups, NULL, 0, NULL));
	ze_wait(list, event);
}

#ifdef WITH_HIP
static void nothing(void)
{
}

NOINLINE static void hip(void)
{
	void *args[] = {NULL};
	dim3 one = {.x = 1, .y = 1, .z = 1};

	for (int i = 0; i < 5; i++)
		if (hipLaunchKernel((void *)nothing, one, one, args, 0, NULL))
			continue;
}
#endif

NOINLINE static void openmp(void)
{
	for (int k = 0; k < 2; k++) {
#pragma omp target teams distribute parallel for map(tofrom : values)
		for (int i = 0; i < N; i++)
			values[i] += 1;
	}
}

#ifdef WITH_MPI
NOINLINE static void mpi(void)
{
	double all[N];

	MPI_Allreduce(values, all, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
#endif

static void part(const char *name, void (*does)(void))
{
	ITT(task_begin, app, none, none, itt_string_handle_create(name));
	does();
	ITT(task_end, app);
}

static void step(void)
{
	nvtx_push("step");
	part("by OpenCL", opencl);
	part("by CUDA", cuda_part);
	part("by Level Zero", level_zero);
	part("by OpenMP", openmp);
#ifdef WITH_HIP
	part("by HIP", hip);
#endif
#ifdef WITH_MPI
	part("by MPI", mpi);
#endif
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
	nvtx_pop();
}

static void start_opencl(struct cl *cl, cl_mem *memory)
{
	static const cl_uint rounds = 20000;

	cl_open(cl, CL_SPIN_SOURCE "kernel void turns(global uint *a, uint n) { "
	                           "a[get_global_id(0)] = spin(get_global_id(0) + 1, n); }\n");
	*memory = cl_buffer(cl, N);
	const struct cl_arg args[] = {CL_ARG(*memory), CL_ARG(rounds), {0, NULL}};
	spin = cl_kernel_with(cl, "turns", args);
	queue = cl_queue(cl, 0);
}

int main(int argc, char **argv)
{
	struct cl cl;
	cl_mem memory;

#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
#endif
	itt_begin();
	app = itt_domain_create("many");
	start_opencl(&cl, &memory);
	cuda_open(&cuda, 0);
	ze_start();
	heavy = ze_kernel(ze_module(ze_context, argc > 1 ? argv[1] : ""), "heavy", 3000000);
	list = ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_events(ze_context, 1, &event);
	for (int i = 0; i < STEPS; i++)
		step();
	printf("truth steps %d\ntruth sum %.0f\n", STEPS, values[0]);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
