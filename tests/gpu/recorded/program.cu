/* One record of each sort, or a few: what dump.c takes home. Copies to a peer where there is one. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(error_));              \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void plain(int *p)
{
	*p = 1;
}

template <typename T> __global__ void shared_memory(T *p)
{
	__shared__ T own[100];
	extern __shared__ char more[];
	own[threadIdx.x % 100] = (T)more[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = own[(threadIdx.x + 1) % 100];
}

__global__ void local_memory(int *p)
{
	volatile int own[500];
	for (int i = 0; i < 500; i++)
		own[i] = p[i % 7];
	*p = own[*p % 500];
}

__global__ __cluster_dims__(2, 1, 1) void clusters(int *p)
{
	p[blockIdx.x] = 1;
}

int main(void)
{
	int *a, *b, *pinned, host[1000] = {0}, devices = 0;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaMalloc(&a, 1 << 20));
	CHECK(cudaMalloc(&b, 1 << 20));
	CHECK(cudaMallocHost(&pinned, 1 << 16));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMemset(a, 0, 12345));
	plain<<<1, 1>>>(a);
	plain<<<dim3(3, 4, 5), dim3(8, 4, 2), 0, stream>>>(a);
	shared_memory<float><<<7, 128, 2048, stream>>>((float *)a);
	shared_memory<double><<<dim3(2, 9), 128, 4096>>>((double *)a);
	local_memory<<<1, 32>>>(a);
	clusters<<<6, 32>>>(a);
	CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(host, a, 999, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyAsync(b, a, 77777, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemcpyAsync(pinned, b, 65536, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaMemcpy2DAsync(a, 512, b, 256, 200, 30, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	plain<<<2, 2, 0, stream>>>(a);
	CHECK(cudaMemsetAsync(b, 1, 4321, stream));
	CHECK(cudaMemcpyAsync(b, a, 1234, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGetDeviceCount(&devices));
	if (devices > 1) {
		int *peer;
		CHECK(cudaSetDevice(1));
		CHECK(cudaMalloc(&peer, 1 << 20));
		CHECK(cudaSetDevice(0));
		CHECK(cudaDeviceEnablePeerAccess(1, 0));
		CHECK(cudaMemcpyPeerAsync(peer, 1, a, 0, 54321, stream));
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaSetDevice(1));
		plain<<<1, 1>>>(peer);
		CHECK(cudaDeviceSynchronize());
	}
	return 0;
}
