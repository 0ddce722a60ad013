/* A walk through memory that waits for each step, in a function that is inlined two levels deep. */
__device__ __forceinline__ int step(const int *next, int at)
{
	return next[at];
}

__device__ __forceinline__ int steps(const int *next, int at, int n)
{
#pragma unroll 1
	for (int i = 0; i < n; i++)
		at = step(next, at);
	return at;
}

extern "C" __global__ void walk(int *out, const int *next, int n)
{
	__shared__ int last[128];

	last[threadIdx.x] = steps(next, threadIdx.x, n);
	__syncthreads();
	out[threadIdx.x] = last[127 - threadIdx.x];
}
