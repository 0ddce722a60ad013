/*
 * copies: a function for each kind of copy and fill, which does it COUNT times with bytes of its
 * own, so that bytes alone tell them apart.
 */
#include "truth.h"

#include <string.h>

enum { COUNT = 8, SIZE = 1 << 20, WIDTH = 1000, PITCH = 1024, ROWS = 64 };

static char *device, *other, *pinned, *managed, *peer;
static char pageable[SIZE];

/* The path function NAME, of op OP, which copies BYTES by CALL each time. */
#define COPIES(name, op, bytes, call)                                                              \
	CALLPATH void name(void)                                                                   \
	{                                                                                          \
		for (int i = 0; i < COUNT; i++)                                                    \
			CHECK(call);                                                               \
		truth_copies[#name] = {op, COUNT, (unsigned long long)COUNT * (bytes)};            \
	}

COPIES(to_device, "WRITE", SIZE, cudaMemcpy(device, pageable, SIZE, cudaMemcpyHostToDevice))
COPIES(to_device_small, "WRITE", 100, cudaMemcpy(device, pageable, 100, cudaMemcpyHostToDevice))
COPIES(to_device_pinned, "WRITE", SIZE - 1,
       cudaMemcpyAsync(device, pinned, SIZE - 1, cudaMemcpyHostToDevice))
COPIES(to_device_default, "WRITE", SIZE - 2,
       cudaMemcpyAsync(device, pinned, SIZE - 2, cudaMemcpyDefault))
COPIES(to_device_2d, "WRITE", WIDTH *ROWS,
       cudaMemcpy2D(device, PITCH, pinned, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice))
COPIES(to_host, "READ", SIZE - 3, cudaMemcpy(pageable, device, SIZE - 3, cudaMemcpyDeviceToHost))
COPIES(to_host_pinned, "READ", SIZE - 4,
       cudaMemcpyAsync(pinned, device, SIZE - 4, cudaMemcpyDeviceToHost))
COPIES(on_device, "COPY", SIZE - 5, cudaMemcpy(other, device, SIZE - 5, cudaMemcpyDeviceToDevice))
COPIES(on_device_2d, "COPY", WIDTH *ROWS,
       cudaMemcpy2DAsync(other, PITCH, device, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToDevice))
COPIES(with_managed, "any", SIZE - 6, cudaMemcpy(managed, device, SIZE - 6, cudaMemcpyDefault))
COPIES(to_peer, "PEER", SIZE - 7, cudaMemcpyPeerAsync(peer, 1, device, 0, SIZE - 7))
COPIES(fills, "FILL", SIZE - 8, cudaMemset(device, 1, SIZE - 8))
COPIES(fills_async, "FILL", SIZE - 12, cudaMemsetAsync(device, 2, SIZE - 12))
COPIES(fills_2d, "FILL", WIDTH *ROWS, cudaMemset2D(device, PITCH, 3, WIDTH, ROWS))

static int take_peer_memory(void)
{
	int devices = 0;

	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2)
		return 0;
	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc(&peer, 2 * SIZE)); /* not one of those that are counted */
	CHECK(cudaSetDevice(0));
	/* Without it the driver copies down to the host and up again, and the trace says so. */
	CHECK(cudaDeviceEnablePeerAccess(1, 0));
	return 1;
}

int main(void)
{
	const int peers = take_peer_memory();

	CHECK(cudaMalloc(&device, SIZE));
	CHECK(cudaMalloc(&other, SIZE));
	CHECK(cudaMallocHost(&pinned, SIZE));
	CHECK(cudaMallocManaged(&managed, SIZE));
	memset(managed, 1, SIZE);
	to_device();
	to_device_small();
	to_device_pinned();
	to_device_default();
	to_device_2d();
	to_host();
	to_host_pinned();
	on_device();
	on_device_2d();
	with_managed();
	if (peers)
		to_peer();
	fills();
	fills_async();
	fills_2d();
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(device));
	CHECK(cudaFree(other));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaFree(managed));
	fact("peers", peers);
	truth_others["allocations"] = "{\"DEVICE\": 2, \"PINNED\": 1, \"MANAGED\": 1}";
	fact("allocated_bytes", SIZE);
	truth_print();
	return 0;
}
