/*
 * hip_source: a program in HIP's language, which nvcc compiles with AMD's headers for NVIDIA's
 * devices: HIP's functions are CUDA's there. So it shows that a HIP source is recorded from its line
 * to its kernel, and nothing about AMD's devices or runtime. (hip_facts.py has the headers.)
 */
#include <hip/hip_runtime.h>

#include "truth.h"

enum { ROUNDS = 25, SIZE = 1 << 20, UNIT_NS = 50000 };

#define CHECK_HIP(call)                                                                            \
	do {                                                                                       \
		hipError_t rc_ = (call);                                                           \
		if (rc_ != hipSuccess) {                                                           \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, rc_);  \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static char *device;
static char host[SIZE];
static hipStream_t stream;

CALLPATH void hip_launches_k1(void)
{
	hipLaunchKernelGGL(k1, dim3(1), dim3(1), 0, stream, 3 * UNIT_NS);
}

CALLPATH void hip_launches_k2(void)
{
	k2<<<1, 1, 0, stream>>>(UNIT_NS);
}

CALLPATH void hip_copies(void)
{
	CHECK_HIP(hipMemcpy(device, host, SIZE, hipMemcpyHostToDevice));
}

CALLPATH void hip_reads(void)
{
	CHECK_HIP(hipMemcpy(host, device, SIZE - 1, hipMemcpyDeviceToHost));
}

int main(void)
{
	CHECK_HIP(hipStreamCreate(&stream));
	CHECK_HIP(hipMalloc((void **)&device, SIZE));
	for (int i = 0; i < ROUNDS; i++) {
		hip_copies();
		hip_launches_k1();
		hip_launches_k2();
		CHECK_HIP(hipStreamSynchronize(stream));
		hip_reads();
	}
	launched("hip_launches_k1", "k1", ROUNDS);
	launched("hip_launches_k2", "k2", ROUNDS);
	truth_copies["hip_copies"] = {"WRITE", ROUNDS, (unsigned long long)ROUNDS * SIZE};
	truth_copies["hip_reads"] = {"READ", ROUNDS, (unsigned long long)ROUNDS * (SIZE - 1)};
	truth_others["shares"] = "{\"hip_launches_k1 k1\": 0.75, \"hip_launches_k2 k2\": 0.25}";
	truth_print();
	return 0;
}
