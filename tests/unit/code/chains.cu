/*
 * Kernels with known chains of inlined calls. A comment before a function names it, for the lines
 * up to the next one: test_code.c takes from them what function each line is in.
 */
#include "chains.cuh"

/* in inner */
__device__ __forceinline__ float inner(const Poly &p, float x)
{
	float s = p.eval(x);
	return s * s + clamped(s, -1.0f, 1.0f);
}

/* in outer */
__device__ __forceinline__ float outer(const Poly &p, const float *in, int i)
{
	float x = in[i];
	return inner(p, x) +
	       inner(p, x + 1.0f);
}

/* in callee */
__device__ __noinline__ float callee(const float *in, int i)
{
	Poly q = {in[0], 2, in[i]};
	return q.eval(in[i + 1]);
}

/* in three_deep */
extern "C" __global__ void three_deep(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		Poly p = {in[0], in[1], in[2]};
		out[i] = outer(p, in, i);
		out[i + n] = callee(in, i);
	}
}

/* in two_deep */
extern "C" __global__ void two_deep(float *out, const float *in, int n)
{
	Poly p = {in[0], in[1], in[2]};

	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		float s = inner(p, in[i]);
		__syncthreads();
		out[i] = s + callee(in, i);
	}
}

/* in scale */
template <typename T>
__global__ void scale(T *v, T by)
{
	v[threadIdx.x] = clamped(v[threadIdx.x] * by, T(0), T(100));
}

/* in quotient */
__global__ void quotient(double *v)
{
	v[threadIdx.x] /= v[threadIdx.x + 1];
}

template __global__ void scale<float>(float *, float);
template __global__ void scale<double>(double *, double);
