/*
 * Shared by the CUDA programs of known truth: call path functions, kernels that last as long as
 * they are reported, and the truth, which a program prints as its last line: `truth {JSON}`.
 *
 *   launches   path function → kernel → how many
 *   copies     path function → op (name of the trace), count, bytes
 *   graph      replay function, capture function, kernel, count
 *   others     whatever the program's own check wants
 *
 * Exit status: 0; 3 when CUDA refused what ought to work; 77 for `skip REASON`.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <vector>

/* A function that stacks have to show. Built with -fno-optimize-sibling-calls. */
#define CALLPATH extern "C" __attribute__((noinline))

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t rc_ = (call);                                                          \
		if (rc_ != cudaSuccess) {                                                          \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
			        cudaGetErrorString(rc_));                                          \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_DRIVER(call)                                                                         \
	do {                                                                                       \
		CUresult rc_ = (call);                                                             \
		if (rc_ != CUDA_SUCCESS) {                                                         \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, rc_);  \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static inline __device__ unsigned long long device_ns(void)
{
	unsigned long long now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

static inline __device__ void spin(unsigned long long ns)
{
	const unsigned long long start = device_ns();

	while (device_ns() - start < ns)
		;
}

/* Kernels keep their names: extern "C". k1 and k2 differ in name only. */
extern "C" __global__ void k1(unsigned long long ns)
{
	spin(ns);
}

extern "C" __global__ void k2(unsigned long long ns)
{
	spin(ns);
}

struct copied {
	const char *op;
	long count;
	unsigned long long bytes;
};

struct replayed {
	const char *replay, *capture, *kernel;
	long count;
};

static std::map<std::string, std::map<std::string, long>> truth_launches;
static std::map<std::string, copied> truth_copies;
static std::vector<replayed> truth_graph;
static std::map<std::string, std::string> truth_others; /* JSON values */

static inline void launched(const char *path, const char *kernel, long count = 1)
{
	truth_launches[path][kernel] += count;
}

static inline void fact(const char *name, long value)
{
	truth_others[name] = std::to_string(value);
}

static inline void truth_print(void)
{
	const char *comma = "";

	printf("truth {\"launches\": {");
	for (auto &path : truth_launches) {
		printf("%s\"%s\": {", comma, path.first.c_str());
		comma = "";
		for (auto &kernel : path.second) {
			printf("%s\"%s\": %ld", comma, kernel.first.c_str(), kernel.second);
			comma = ", ";
		}
		printf("}");
		comma = ", ";
	}
	printf("}, \"copies\": {");
	comma = "";
	for (auto &copy : truth_copies) {
		printf("%s\"%s\": {\"op\": \"%s\", \"count\": %ld, \"bytes\": %llu}", comma,
		       copy.first.c_str(), copy.second.op, copy.second.count, copy.second.bytes);
		comma = ", ";
	}
	printf("}, \"graph\": [");
	comma = "";
	for (auto &r : truth_graph) {
		printf("%s{\"replay\": \"%s\", \"capture\": \"%s\", \"kernel\": \"%s\", \"count\": "
		       "%ld}",
		       comma, r.replay, r.capture, r.kernel, r.count);
		comma = ", ";
	}
	printf("]");
	for (auto &other : truth_others)
		printf(", \"%s\": %s", other.first.c_str(), other.second.c_str());
	printf("}\n");
	fflush(stdout);
}

#define SKIP(reason)                                                                               \
	do {                                                                                       \
		printf("skip %s\n", reason);                                                       \
		exit(77);                                                                          \
	} while (0)

#endif
