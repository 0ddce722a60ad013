/*
 * stalls: kernels that are each bound by one thing, whose line says so in a comment:
 * `// hot: KERNEL REASON[|REASON]`, reasons as CUPTI names them, without what stands before
 * "stalled_". Two call paths of one kernel with 3 : 1 work, and a function that is inlined two
 * levels deep.
 *
 *	stalls [MS]          each is launched until it has run for so long (300)
 *	stalls N,N,N,…       each is launched so often
 *
 *	truth: the kernels, and of each how often it was launched and how long that took, in us
 */
#include "truth.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

enum { CHAIN = 1 << 22, THREADS = 256, CONFLICTS = 32, UNROLLED = 4096, WARM_NS = 500000000 };

static int nr_processors, *chain;
static float *floats;
static double *doubles;

/* One lane of a warp on each processor follows a random chain through memory. */
extern "C" __global__ void latency(const int *next, float *out, int steps)
{
	int at = blockIdx.x * 9973 + threadIdx.x;

	for (int i = 0; i < steps; i++)
		at = next[at & (CHAIN - 1)]; // hot: latency long_scoreboard
	out[blockIdx.x] = (float)at;
}

/* One warp computes, and seven wait for it. */
extern "C" __global__ void barrier(float *out, int steps)
{
	float x = (float)threadIdx.x;

	/* A warp that waits there has the barrier behind it: it is at what follows. */
	for (int i = 0; i < steps; i++, __syncthreads()) // hot: barrier barrier
		if (threadIdx.x < 32)
			for (int j = 0; j < 100; j++)
				x = x * 1.0001f + 0.5f;
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/* All lanes of a warp read from the same bank. */
extern "C" __global__ void conflicts(float *out, int steps)
{
	__shared__ float table[CONFLICTS * 64];
	float sum = 0;

	for (int i = threadIdx.x; i < CONFLICTS * 64; i += blockDim.x)
		table[i] = (float)i;
	__syncthreads();
	for (int i = 0; i < steps; i++)
		sum += table[((threadIdx.x + i) % 64) * CONFLICTS]; // hot: conflicts short_scoreboard|mio_throttle
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* More warps than there are units for doubles. */
extern "C" __global__ void fp64(double *out, int steps)
{
	double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

	for (int i = 0; i < steps; i++) {
#pragma unroll
		for (int j = 0; j < 16; j++)
			a = a * b + c, b = b * c + d, c = c * d + a, d = d * a + b; // hot: fp64 math_pipe_throttle
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

/* A loop whose body is larger than the caches of instructions. */
extern "C" __global__ void icache(float *out, int steps)
{
	float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

	for (int i = 0; i < steps; i++) {
#pragma unroll
		for (int j = 0; j < UNROLLED; j++)
			a = a * 1.5f + (float)j, b = b * 2.5f + (float)j, c = c * 3.5f + (float)j, d = d * 4.5f + (float)j; // hot: icache no_instructions
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

/* Each lane of a warp goes another way, there and back, one after the other: all in one line. */
typedef unsigned way_function(unsigned x);
#define WAY template <int N> __device__ __noinline__ unsigned way(unsigned x)
#define STEP asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "n"(0x1234567 * (N + 1) & 0x7fffffe0))
#define FOUR(n) way<n>, way<n + 1>, way<n + 2>, way<n + 3>
#define WAYS FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
#define TABLE __device__ way_function *ways[] = {WAYS}
#define KERNEL extern "C" __global__ void divergent(float *out, int steps)
#define LOOP unsigned x = threadIdx.x; way_function *f = ways[x & 31]; while (steps--) x = f(x)
#define END out[blockIdx.x * blockDim.x + threadIdx.x] = (float)x

WAY { STEP; return x; } TABLE; KERNEL { LOOP; END; } // hot: divergent branch_resolving

static __device__ __forceinline__ float innermost(float x)
{
	return x / (x * x + 1.5f); // hot: inlined *
}

static __device__ __forceinline__ float middle(float x, int n)
{
	for (int i = 0; i < n; i++)
		x = innermost(x + 1.0f);
	return x;
}

extern "C" __global__ void inlined(float *out, int steps)
{
	float x = (float)threadIdx.x;

	for (int i = 0; i < steps; i++)
		x += middle(x, 8);
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static double now_ms(void)
{
	using namespace std::chrono;
	return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

CALLPATH void path_of_three(void)
{
	latency<<<nr_processors, 32>>>(chain, floats, 3000);
}

CALLPATH void path_of_one(void)
{
	latency<<<nr_processors, 32>>>(chain, floats, 1000);
}

CALLPATH void run_latency(void)
{
	path_of_three();
	path_of_one();
}

CALLPATH void run_barrier(void)
{
	barrier<<<nr_processors, THREADS>>>(floats, 400);
}

CALLPATH void run_conflicts(void)
{
	conflicts<<<nr_processors, THREADS>>>(floats, 2000);
}

CALLPATH void run_fp64(void)
{
	fp64<<<nr_processors * 2, 1024>>>(doubles, 60);
}

CALLPATH void run_icache(void)
{
	icache<<<nr_processors, 128>>>(floats, 20);
}

CALLPATH void run_divergent(void)
{
	divergent<<<nr_processors, THREADS>>>(floats, 300);
}

CALLPATH void run_inlined(void)
{
	inlined<<<nr_processors, THREADS>>>(floats, 500);
}

static const struct {
	const char *kernel;
	void (*run)(void);
} kinds[] = {
    {"latency", run_latency},     {"barrier", run_barrier}, {"conflicts", run_conflicts},
    {"fp64", run_fp64},           {"icache", run_icache},   {"divergent", run_divergent},
    {"inlined", run_inlined},
};

static void chain_make(void)
{
	std::vector<int> order(CHAIN), next(CHAIN);

	std::iota(order.begin(), order.end(), 0);
	std::shuffle(order.begin(), order.end(), std::mt19937(1));
	for (int i = 0; i < CHAIN; i++)
		next[order[i]] = order[(i + 1) % CHAIN];
	CHECK(cudaMalloc(&chain, CHAIN * sizeof(int)));
	CHECK(cudaMemcpy(chain, next.data(), CHAIN * sizeof(int), cudaMemcpyHostToDevice));
}

/* How often: @n times, or where that is 0 until @ms are over. */
static long repeat(void (*run)(void), double ms, long n)
{
	const double begin = now_ms();
	long i = 0;

	for (; n ? i < n : now_ms() - begin < ms; i++) {
		run();
		CHECK(cudaDeviceSynchronize());
	}
	return i;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "300";
	const bool counted = strchr(how, ',');
	std::string names;

	CHECK(cudaDeviceGetAttribute(&nr_processors, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc(&floats, sizeof(float) * nr_processors * 1024));
	CHECK(cudaMalloc(&doubles, sizeof(double) * nr_processors * 2 * 1024));
	chain_make();
	/* A GPU that was idle takes a while to reach its clock. */
	k1<<<nr_processors, THREADS>>>(WARM_NS);
	CHECK(cudaDeviceSynchronize());
	for (auto &kind : kinds) {
		repeat(kind.run, 0, 1);
		const double begin = now_ms();
		const long n = repeat(kind.run, atof(how), counted ? atol(how) : 0);
		fact(kind.kernel, n);
		fact((std::string(kind.kernel) + "_us").c_str(), (now_ms() - begin) * 1e3);
		names += (names.empty() ? "\"" : ", \"") + std::string(kind.kernel) + "\"";
		if (counted && strchr(how, ','))
			how = strchr(how, ',') + 1;
	}
	truth_others["kernels"] = "[" + names + "]";
	truth_print();
	return 0;
}
