/* Kernels in which it is known what waits for what. */

/* Each load's address comes from the load before, around the loop. */
extern "C" __global__ void chase(const unsigned *next, unsigned *out, int n)
{
	unsigned at = threadIdx.x;

#pragma unroll 1
	for (int i = 0; i < n; i++)
		at = next[at];
	*out = at;
}

/* A sum waits for the load of its own turn, and that for no other's. */
extern "C" __global__ void sum(const float *in, float *out, int n)
{
	float total = 0;

#pragma unroll 1
	for (int i = 0; i < n; i++)
		total += in[i * 32];
	*out = total;
}

extern "C" __global__ void shared(float *out)
{
	__shared__ float tile[256];

	tile[threadIdx.x] = out[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = tile[255 - threadIdx.x] * 3.0f;
}

extern "C" __global__ void special(float *out)
{
	out[threadIdx.x] = __expf(out[threadIdx.x]) + 3.0f;
}

/* Which of two loads it was is not known before it runs. */
extern "C" __global__ void either(const float *a, const float *b, float *out, int n)
{
	float v;

	if (n > 7)
		v = *(const volatile float *)(a + threadIdx.x);
	else
		v = *(const volatile float *)(b + n);
	out[threadIdx.x] = v * v;
}

/* A store still reads its register when that is to be written. */
extern "C" __global__ void fixed(int *out, int x)
{
	out[threadIdx.x] = (x * 77 + 5) * x * 13 + 9;
}

#if __CUDA_ARCH__ >= 800
#include <cuda_pipeline.h>

extern "C" __global__ void copies(const float4 *in, float *out)
{
	__shared__ float4 tile[128];

	__pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[threadIdx.x] = tile[127 - threadIdx.x].x;
}
#endif
