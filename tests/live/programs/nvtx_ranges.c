/*
 * nvtx_ranges: one of everything that NVTX has, around launches.
 *
 * Truth: in the range "step" k1 is launched twice, once of these in "forward"; k2 once in
 * "all_reduce" of the domain "comm", which begins in "step" and ends after it; k3 once in none.
 * Names come as text, as wide text, and registered beforehand. The process says "depths ok" where
 * what push and pop return is what NVTX says it is.
 */
#include <stdio.h>

#include "cuda_setup.h"
#include "nvtx_say.h"

enum { NS = 100000 };

int main(void)
{
	struct cuda cuda;
	struct nvtx_domain *comm = nvtx_domain("comm");
	struct nvtx_string *registered = nvtx_string(comm, "all_reduce");
	struct nvtx_attributes step = nvtx_with(NVTX_ASCII, "step", 0xff00ff00);
	struct nvtx_attributes reduce = nvtx_with(NVTX_REGISTERED, registered, 0);
	struct nvtx_attributes flag = nvtx_with(NVTX_WIDE, L"gr\u00fc\u00df \u4f60 \U0001f525", 0);

	cuda_open(&cuda, 0);
	uint64_t started = nvtx_start("started"), other = nvtx_domain_start(comm, &reduce);
	int ok = nvtx_push_ex(&step) == 0;
	cuda_launch(cuda.k[0], NULL, NS);
	ok &= nvtx_push_wide(L"forward") == 1;
	cuda_launch(cuda.k[0], NULL, NS);
	ok &= nvtx_pop() == 1;
	ok &= nvtx_domain_push(comm, &reduce) == 0;
	ok &= nvtx_pop() == 0;
	cuda_launch(cuda.k[1], NULL, NS);
	ok &= nvtx_domain_pop(comm) == 0;
	cuda_launch(cuda.k[2], NULL, NS);
	nvtx_mark("mark");
	nvtx_domain_mark(comm, &flag);
	nvtx_domain_end(comm, other);
	nvtx_end(started);
	CUDA_CHECK(cuCtxSynchronize());
	cuda_close(&cuda);
	cuda_truth("depths", (uint64_t)ok);
	cuda_truth_print();
	return 0;
}
