/* Instructions of as many kinds as there are; nothing of it makes sense to run. */
#include <cassert>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void fp64(double *a, float *f, int n)
{
	int i = threadIdx.x;
	double x = a[i];
	x = sqrt(x) * sin(x) + 1.0 / x;
	a[i] = x > 0 ? floor(x) : (double)f[i];
	f[i] = (float)x;
	a[i + n] = fma(x, x, (double)(long long)x);
	((long long *)a)[i + 9] = (long long)x;
	((unsigned *)f)[i + 7] = (unsigned)x;
	a[i + 77] = fmin(x, a[3]);
	if (x > a[9])
		a[8] = x;
}
extern "C" __global__ void h2(__half2 *a, __nv_bfloat162 *b, int n)
{
	int i = threadIdx.x;
	__half2 x = a[i];
	x = __hfma2(x, x, a[i + 1]);
	x = __hmax2(x, a[2]);
	a[i] = h2exp(x);
	if (__hgt(__low2half(x), __high2half(x)))
		a[3] = __hadd2(x, x);
#if __CUDA_ARCH__ >= 800
	b[i] = __hfma2(b[i], b[i + 1], b[i + 2]);
#endif
	a[n] = __floats2half2_rn(__half2float(__low2half(x)), 2.f * n);
}
extern "C" __global__ void wm(half *a, half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.f);
	for (int k = 0; k < 8; k++) {
		wmma::load_matrix_sync(fa, a + k * 16, 128);
		wmma::load_matrix_sync(fb, b + k * 16, 128);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmi(signed char *a, signed char *b, int *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
	wmma::fill_fragment(fc, 0);
	wmma::load_matrix_sync(fa, a, 128);
	wmma::load_matrix_sync(fb, b, 128);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmh(half *a, half *b, half *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
	wmma::fill_fragment(fc, __float2half(0));
	wmma::load_matrix_sync(fa, a, 128);
	wmma::load_matrix_sync(fb, b, 128);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void wmd(double *a, double *b, double *c)
{
	wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
	wmma::fill_fragment(fc, 0.);
	for (int k = 0; k < 4; k++) {
		wmma::load_matrix_sync(fa, a + k, 128);
		wmma::load_matrix_sync(fb, b + k, 128);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}
extern "C" __global__ void wmt(float *a, float *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
	wmma::fill_fragment(fc, 0.f);
	wmma::load_matrix_sync(fa, a, 128);
	wmma::load_matrix_sync(fb, b, 128);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmb(__nv_bfloat16 *a, __nv_bfloat16 *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.f);
	wmma::load_matrix_sync(fa, a, 128);
	wmma::load_matrix_sync(fb, b, 128);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void cpa(float4 *g, float *o, int n)
{
	__shared__ float4 s[2][256];
	for (int k = 0; k < n; k++) {
		__pipeline_memcpy_async(&s[k & 1][threadIdx.x], g + k * 256 + threadIdx.x, 16);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		o[threadIdx.x] += s[(k + 1) & 1][255 - threadIdx.x].x;
	}
	__pipeline_wait_prior(0);
	o[9] = s[0][1].y;
}
extern "C" __global__ void rdx(int *a)
{
	a[threadIdx.x] = __reduce_add_sync(~0u, a[threadIdx.x]);
	a[3] = __reduce_min_sync(~0u, (unsigned)a[9]);
}
#endif
extern "C" __global__ void atom(int *a, float *f, unsigned long long *l, double *d)
{
	__shared__ int s[32];
	__shared__ unsigned long long sl[4];
	atomicAdd(a, 1);
	a[1] = atomicAdd(a + 2, 3);
	a[4] = atomicCAS(a + 5, 1, 2);
	l[0] = atomicCAS(l + 1, 3ull, 4ull);
	l[2] = atomicAdd(l + 3, 1ull);
	atomicAdd(f, 1.f);
	f[1] = atomicAdd(f + 2, 2.f);
	s[threadIdx.x] = atomicAdd(&s[3], a[9]);
	a[7] = atomicCAS(&s[1], 2, a[8]);
	sl[1] = atomicCAS(&sl[2], l[4], l[5]);
	l[8] = sl[1];
	l[9] = atomicExch(&sl[3], l[7]);
	atomicAdd(d, 1.0);
	d[1] = atomicAdd(d + 2, d[3]);
	a[10] = atomicMax(a + 11, a[12]);
	a[20] = s[2];
	__threadfence();
	l[20] = atomicMax(l + 21, l[22]);
}
extern "C" __global__ void warp(int *a, unsigned long long *l)
{
	int i = threadIdx.x;
	a[i] = __shfl_xor_sync(~0u, a[i], 3) + __shfl_sync(~0u, a[i + 1], i) +
	       __shfl_down_sync(~0u, a[7], a[8]);
	a[i + 64] = __ballot_sync(~0u, a[i] > 3) + __any_sync(~0u, a[9]);
	a[3] = __match_any_sync(~0u, a[5]);
	l[1] = __match_any_sync(~0u, l[2]);
	int p;
	a[6] = __match_all_sync(~0u, a[9], &p);
	a[99] = p + __popc(a[8]) + __clz(a[3]) + __ffs(a[2]) + __brev(a[1]) + __popcll(l[7]);
	a[101] = __byte_perm(a[3], a[4], a[5]);
	a[102] = __funnelshift_l(a[1], a[2], a[3]);
	a[103] = __dp4a(a[1], a[2], a[3]);
	a[104] = __mulhi(a[5], a[6]);
	a[105] = __vabsdiffu4(a[1], a[2]);
	a[106] = __sad(a[1], a[2], a[3]);
	l[4] = l[5] * l[6] + l[7];
	l[8] = l[9] / l[10];
	a[107] = a[108] % a[109];
	l[12] = clock64();
	a[120] = clock();
	a[121] = l[3] >> a[9];
	l[31] = l[32] << a[3];
	l[33] = (unsigned)a[3] * (unsigned long long)(unsigned)a[4] + l[36];
	if (l[40] > l[41])
		a[130] = 1;
	a[131] = max(a[132], a[133]);
	a[134] = min(max(a[135], a[136]), a[137]);
}
extern "C" __global__ void cvt(float *f, short *s, char *c, long long *l, unsigned char *u)
{
	int i = threadIdx.x;
	f[i] = s[i];
	f[i + 1] = c[i];
	s[i + 3] = f[i + 9];
	c[i + 4] = f[i + 3];
	l[i] = f[i + 5];
	f[i + 7] = l[i + 8];
	u[i] = f[i + 2];
	f[i + 30] = rintf(f[i + 31]);
	f[i + 32] = truncf(f[i + 33]);
	f[i + 34] = __expf(f[i + 3]) + __logf(f[9]) + rsqrtf(f[i]) + __sinf(f[2]) + tanhf(f[5]) +
	            f[3] / f[4] + powf(f[9], f[10]);
	f[40] = fminf(f[41], f[42]);
	f[43] = f[44] > f[45] ? f[46] : f[47];
	f[50] = erff(f[51]);
}
extern "C" __global__ void vec(float4 *a, double2 *d, short4 *s, char2 *c,
                               const float4 *__restrict__ r)
{
	int i = threadIdx.x;
	a[i] = r[i + 1];
	d[i] = d[i + 2];
	s[i] = s[i + 7];
	c[i] = c[i + 9];
	__shared__ float4 q[64];
	q[i] = r[i + 5];
	__syncthreads();
	a[i + 64] = q[63 - i];
	float loc[32];
	for (int k = 0; k < 32; k++)
		loc[k] = r[k].x;
	a[3].x = loc[i];
	((float4 *)loc)[i & 7] = r[9];
	a[99].y = loc[i + 1];
}
extern "C" __global__ void tex(cudaTextureObject_t t, cudaTextureObject_t t3,
                               cudaSurfaceObject_t sf, float *o, float4 *o4)
{
	int i = threadIdx.x;
	o[i] = tex2D<float>(t, i, 2.f) + tex1Dfetch<float>(t, i);
	o4[i] = tex3D<float4>(t3, i, 1.f, 2.f);
	o[i + 1] = tex2DLod<float>(t, 1.f, i, 2.f);
	float v;
	surf2Dread(&v, sf, i * 4, 3);
	surf2Dwrite(v + 1, sf, i * 4, 4);
	o4[i + 2] = tex2Dgather<float4>(t, i, 2.f, 1);
	o4[4] = tex2DGrad<float4>(t, i, 1.f, make_float2(1, 2), make_float2(o[3], 4));
	o[6] = tex2DLayered<float>(t, 1.f, 2.f, i);
}
__device__ __noinline__ int rec(int n)
{
	return n < 2 ? n : rec(n - 1) + rec(n - 2);
}
typedef int (*fn)(int);
__device__ fn tab[2] = {rec, rec};
extern "C" __global__ void calls(int *a)
{
	a[0] = rec(a[1]);
	a[2] = tab[a[3]](a[4]);
	switch (a[5]) {
	case 0:
		a[6] = 1;
		break;
	case 1:
		a[7] = a[8] * 2;
		break;
	case 2:
		a[9] = rec(3);
		break;
	case 3:
		a[10] = 5;
		break;
	case 4:
		a[11] = 7;
		break;
	case 5:
		a[12] = 9;
		break;
	default:
		a[13] = 3;
	}
	if (a[14])
		__trap();
	asm volatile("nanosleep.u32 20;");
	a[20] = __activemask();
	__nanosleep(a[21]);
	assert(a[30]);
	printf("%d\n", a[31]);
}
#if __CUDA_ARCH__ == 900
extern "C" __global__ void wg(float *o, unsigned long long da, unsigned long long db, int x)
{
	float d[8] = {0};
	float e[64];
	for (int i = 0; i < 64; i++)
		e[i] = o[i];
	asm volatile("wgmma.fence.sync.aligned;");
	asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
	             "{%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1, 1, 1, 0, 0;"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
	               "+f"(d[6]), "+f"(d[7])
	             : "l"(da), "l"(db));
	asm volatile("wgmma.commit_group.sync.aligned;");
	asm volatile("wgmma.wait_group.sync.aligned 0;");
	unsigned r[4] = {x, x + 1, x + 2, x + 3};
	asm volatile("wgmma.fence.sync.aligned;");
	asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
	             "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, 1, 1, 1, 0;"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
	               "+f"(d[6]), "+f"(d[7])
	             : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(db));
	asm volatile("wgmma.commit_group.sync.aligned;");
	asm volatile("wgmma.wait_group.sync.aligned 0;");
	for (int i = 0; i < 8; i++)
		o[i] = d[i] + e[i];
}
#endif
extern "C" __global__ void ldm(half *o)
{
	__shared__ half s[1024];
	unsigned a, b, c, d;
	unsigned p = __cvta_generic_to_shared(s + threadIdx.x * 8);
#if __CUDA_ARCH__ >= 750
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
	             : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
	             : "r"(p));
	((unsigned *)o)[threadIdx.x] = a + b * c + d;
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];"
	             : "=r"(a), "=r"(b)
	             : "r"(p));
	((unsigned *)o)[threadIdx.x + 99] = a + b;
	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];" : "=r"(a) : "r"(p));
	((unsigned *)o)[threadIdx.x + 199] = a;
#endif
#if __CUDA_ARCH__ == 900
	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%2,%3,%4};" ::"r"(p),
	             "r"(a), "r"(b), "r"(c), "r"(d));
	asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0],{%1,%2};" ::"r"(p), "r"(a),
	             "r"(b));
#endif
}
