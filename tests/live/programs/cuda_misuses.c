/*
 * cuda_misuses [STEPS]: a loop that uses CUDA in each of the ways that cost, a function for each.
 *
 * Truth: copy_pageable copies 4 KiB twice from memory that is not pinned, copy_pinned once from
 * memory that is; wait_again waits twice for a stream on which nothing is; wait_for_each launches
 * three kernels and waits after each; allocate_each allocates and frees by the runtime; load_each
 * loads a module. poll_event asks for an event until it is done: polled.calls and polled.loops
 * count what it asked 16 times or more.
 */
#include "cuda_runtime.h"
#include "cuda_setup.h"

enum { BYTES = 4096, EACH = 3, LOOP = 16 };

static struct cuda cuda;
static struct CUstream_st *stream;
static struct CUevent_st *event;
static uint64_t memory;
static void *pinned;
static char pageable[BYTES];

__attribute__((noinline)) static void poll_event(void)
{
	uint64_t calls = 1;

	cuda_launch(cuda.k[0], stream, 1000000);
	CUDA_CHECK(cuEventRecord(event, stream));
	/* Not so often that a recorder on a busy machine loses events. */
	for (; cuEventQuery(event) == CUDA_NOT_READY; calls++)
		for (volatile int spun = 0; spun < 2000; spun++)
			;
	CUDA_CHECK(cuEventSynchronize(event));
	CUDA_CHECK(cuStreamSynchronize(stream));
	if (calls < LOOP)
		return;
	cuda_truth("polled.calls", calls);
	cuda_truth("polled.loops", 1);
}

__attribute__((noinline)) static void copy_pageable(void)
{
	for (int i = 0; i < 2; i++)
		CUDA_CHECK(cudaMemcpy((void *)(uintptr_t)memory, pageable, sizeof pageable,
		                      CUDA_HOST_TO_DEVICE));
	cuda_truth("copy_pageable", 2);
}

__attribute__((noinline)) static void copy_pinned(void)
{
	CUDA_CHECK(cuMemcpyHtoD_v2(memory, pinned, BYTES));
}

__attribute__((noinline)) static void wait_again(void)
{
	CUDA_CHECK(cuStreamSynchronize(stream));
	CUDA_CHECK(cuStreamSynchronize(stream));
	cuda_truth("wait_again", 2);
}

__attribute__((noinline)) static void wait_for_each(void)
{
	for (int i = 0; i < EACH; i++) {
		cuda_launch(cuda.k[1], stream, 50000);
		CUDA_CHECK(cuStreamSynchronize(stream));
	}
	cuda_truth("wait_for_each", EACH);
}

__attribute__((noinline)) static void allocate_each(void)
{
	void *more;

	CUDA_CHECK(cudaMalloc(&more, BYTES));
	CUDA_CHECK(cudaFree(more));
}

__attribute__((noinline)) static void load_each(void)
{
	struct CUmod_st *module;

	CUDA_CHECK(cuModuleLoadData(&module, cuda_kernels));
	CUDA_CHECK(cuModuleUnload(module));
}

int main(int argc, char **argv)
{
	uint64_t steps = cuda_number(argc, argv, 1, 40);

	cuda_open(&cuda, 0);
	stream = cuda_stream();
	CUDA_CHECK(cuEventCreate(&event, 0));
	CUDA_CHECK(cuMemAlloc_v2(&memory, BYTES));
	CUDA_CHECK(cuMemAllocHost_v2(&pinned, BYTES));
	for (uint64_t i = 0; i < steps; i++) {
		poll_event();
		wait_again();
		copy_pageable();
		copy_pinned();
		wait_for_each();
		allocate_each();
		load_each();
	}
	CUDA_CHECK(cuMemFreeHost(pinned));
	CUDA_CHECK(cuMemFree_v2(memory));
	CUDA_CHECK(cuEventDestroy_v2(event));
	CUDA_CHECK(cuStreamDestroy_v2(stream));
	cuda_close(&cuda);
	cuda_truth_print();
	return 0;
}
