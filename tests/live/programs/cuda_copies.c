/*
 * cuda_copies: a copy of every kind, fills, and allocations of every kind.
 *
 * Truth: calls and bytes of each function below, under its own name; what is held is at most one
 * block of each kind, and all is freed. Exit status 2 when what came back is not what was sent.
 */
#include "cuda_setup.h"

#include <string.h>

enum { SMALL = 4096, LARGE = 1 << 20 };

static struct cuda cuda;
static struct CUstream_st *stream;
static char pageable[LARGE];

__attribute__((noinline)) static void copy_up(uint64_t to)
{
	CUDA_CHECK(cuMemcpyHtoD_v2(to, pageable, SMALL));
	cuda_truth("write.calls", 1);
	cuda_truth("write.bytes", SMALL);
}

__attribute__((noinline)) static void copy_up_async(uint64_t to, const void *pinned)
{
	CUDA_CHECK(cuMemcpyHtoDAsync_v2(to, pinned, LARGE, stream));
	cuda_truth("write.calls", 1);
	cuda_truth("write.bytes", LARGE);
}

__attribute__((noinline)) static void copy_across(uint64_t to, uint64_t from)
{
	CUDA_CHECK(cuMemcpyDtoD_v2(to, from, SMALL));
	CUDA_CHECK(cuMemcpyDtoDAsync_v2(to, from, LARGE, stream));
	cuda_truth("copy.calls", 2);
	cuda_truth("copy.bytes", SMALL + LARGE);
}

__attribute__((noinline)) static void copy_down(uint64_t from)
{
	CUDA_CHECK(cuMemcpyDtoH_v2(pageable, from, SMALL));
	cuda_truth("read.calls", 1);
	cuda_truth("read.bytes", SMALL);
}

__attribute__((noinline)) static void copy_down_async(void *pinned, uint64_t from)
{
	CUDA_CHECK(cuMemcpyDtoHAsync_v2(pinned, from, LARGE, stream));
	cuda_truth("read.calls", 1);
	cuda_truth("read.bytes", LARGE);
}

__attribute__((noinline)) static void fill(uint64_t to)
{
	CUDA_CHECK(cuMemsetD8_v2(to, 7, SMALL));
	CUDA_CHECK(cuMemsetD32Async(to, 0x01020304, LARGE / 4, stream));
	cuda_truth("fill.calls", 2);
	cuda_truth("fill.bytes", SMALL + LARGE);
}

/* To the other device, where there is one. */
__attribute__((noinline)) static void copy_peer(uint64_t from)
{
	struct cuda other;
	uint64_t to;

	if (cuda_nr_devices() < 2)
		return;
	cuda_open(&other, 1);
	CUDA_CHECK(cuMemAlloc_v2(&to, LARGE));
	CUDA_CHECK(cuMemcpyPeer(to, other.context, from, cuda.context, LARGE));
	CUDA_CHECK(cuCtxSynchronize());
	CUDA_CHECK(cuCtxSetCurrent(cuda.context));
	CUDA_CHECK(cuCtxSynchronize());
	CUDA_CHECK(cuCtxSetCurrent(other.context));
	CUDA_CHECK(cuMemFree_v2(to));
	cuda_close(&other);
	CUDA_CHECK(cuCtxSetCurrent(cuda.context));
	cuda_truth("peer.calls", 1);
	cuda_truth("peer.bytes", LARGE);
	cuda_truth("alloc.device.calls", 1);
	cuda_truth("alloc.device.bytes", LARGE);
}

int main(void)
{
	uint64_t a, b, managed, pooled;
	void *pinned;

	cuda_open(&cuda, 0);
	stream = cuda_stream();
	memset(pageable, 3, sizeof(pageable));
	CUDA_CHECK(cuMemAlloc_v2(&a, LARGE));
	CUDA_CHECK(cuMemAlloc_v2(&b, LARGE));
	CUDA_CHECK(cuMemAllocHost_v2(&pinned, LARGE));
	CUDA_CHECK(cuMemAllocManaged(&managed, SMALL, CUDA_MANAGED_GLOBAL));
	CUDA_CHECK(cuMemAllocAsync(&pooled, SMALL, stream));
	memset(pinned, 5, LARGE);
	copy_up(a);
	copy_up_async(b, pinned);
	CUDA_CHECK(cuStreamSynchronize(stream));
	copy_across(a, b);
	CUDA_CHECK(cuCtxSynchronize());
	copy_down(a);
	if (pageable[0] != 5)
		return 2;
	fill(b);
	copy_down_async(pinned, b);
	CUDA_CHECK(cuStreamSynchronize(stream));
	if (*(int *)pinned != 0x01020304)
		return 2;
	copy_peer(b);
	CUDA_CHECK(cuMemFreeAsync(pooled, stream));
	CUDA_CHECK(cuStreamSynchronize(stream));
	CUDA_CHECK(cuMemFree_v2(managed));
	CUDA_CHECK(cuMemFreeHost(pinned));
	CUDA_CHECK(cuMemFree_v2(a));
	CUDA_CHECK(cuMemFree_v2(b));
	CUDA_CHECK(cuStreamDestroy_v2(stream));
	cuda_close(&cuda);
	cuda_truth("alloc.device.calls", 2);
	cuda_truth("alloc.device.bytes", 2 * LARGE);
	cuda_truth("alloc.pinned.bytes", LARGE);
	cuda_truth("alloc.managed.bytes", SMALL);
	cuda_truth("alloc.pool.bytes", SMALL);
	cuda_truth_print();
	return 0;
}
