/*
 * gen_kineto MEGABYTES: a trace of PyTorch's profiler of about that size to standard output, with
 * stacks and shapes as with_stack and record_shapes write them: for each launch a few Python
 * functions and operators, the call, the kernel, and both ends of its arrow. For
 * tests/bench/import.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PID = 4242, MODULES = 48, KERNELS = 60, FUNCTIONS = 4 };

static uint64_t written, now_ns = 3600000000, python_id;
static unsigned event_index;

#define PUT(...) (written += (uint64_t)printf(__VA_ARGS__))
#define US(ns) (unsigned long long)((ns) / 1000), (unsigned)((ns) % 1000)

static void function(unsigned depth, unsigned which, uint64_t at_ns, uint64_t ns)
{
	PUT("  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": "
	    "\"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module_%u.py(%u): "
	    "_call_impl_%u\", \"pid\": %d, \"tid\": %d,\n    \"ts\": %llu.%03u, \"dur\": "
	    "%llu.%03u,\n    \"args\": {\n      \"Python parent id\": %llu, \"Python id\": %llu, "
	    "\"Ev Idx\": %u\n    }\n  },\n",
	    which, 100 + depth, depth, PID, PID, US(at_ns), US(ns), (unsigned long long)python_id,
	    (unsigned long long)python_id + 1, event_index);
	python_id++;
	event_index++;
}

static void operator(const char *name, uint64_t at_ns, uint64_t ns)
{
	PUT("  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::%s\", \"pid\": %d, "
	    "\"tid\": "
	    "%d,\n    \"ts\": %llu.%03u, \"dur\": %llu.%03u,\n    \"args\": {\n      \"External "
	    "id\": %u,\"Record function id\": 0, \"Sequence number\": %u, \"Fwd thread id\": 0, "
	    "\"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", "
	    "\"c10::BFloat16\", \"\"], \"Input Strides\": [[4096, 1], [1, 4096], []], \"Input "
	    "Dims\": [[2048, 4096], [4096, 4096], []], \"Ev Idx\": %u\n    }\n  },\n",
	    name, PID, PID, US(at_ns), US(ns), event_index, event_index, event_index);
	event_index++;
}

static void launch(unsigned n, uint64_t at_ns)
{
	PUT("  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
	    "\"pid\": %d, \"tid\": %d,\n    \"ts\": %llu.%03u, \"dur\": 4.125,\n    \"args\": {\n"
	    "      \"External id\": %u, \"cbid\": 211, \"correlation\": %u\n    }\n  },\n",
	    PID, PID, US(at_ns), n, n);
	PUT("  {\n    \"ph\": \"s\", \"id\": %u, \"pid\": %d, \"tid\": %d, \"ts\": %llu.%03u,\n    "
	    "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
	    n, PID, PID, US(at_ns));
}

static void kernel(unsigned n, uint64_t at_ns)
{
	PUT("  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
	    "at::native::vectorized_elementwise_kernel<4, at::native::functor_%u<c10::BFloat16>, "
	    "std::array<char*, 3ul> >(int, at::native::functor_%u<c10::BFloat16>, "
	    "std::array<char*, 3ul>)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %llu.%03u, \"dur\": "
	    "3.584,\n    \"args\": {\n      \"External id\": %u,\n      \"queued\": 0, \"device\": "
	    "0, \"context\": 1,\n      \"stream\": 7, \"correlation\": %u,\n      \"registers per "
	    "thread\": 32,\n      \"shared memory\": 0,\n      \"blocks per SM\": 62.060606,\n     "
	    " "
	    "\"warps per SM\": 248.242424,\n      \"grid\": [8192, 1, 1],\n      \"block\": [128, "
	    "1, 1],\n      \"est. achieved occupancy %%\": 100\n    }\n  },\n",
	    n % KERNELS, n % KERNELS, US(at_ns), n, n);
	PUT("  {\n    \"ph\": \"f\", \"id\": %u, \"pid\": 0, \"tid\": 7, \"ts\": %llu.%03u,\n    "
	    "\"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n",
	    n, US(at_ns));
}

int main(int argc, char **argv)
{
	uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 0) * 1000000 : 0;
	unsigned n = 0;

	if (!most) {
		fprintf(stderr, "gen_kineto MEGABYTES\n");
		return 2;
	}
	PUT("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": "
	    "\"NVIDIA H200\"}],\n  \"with_stack\": 1,\n  \"baseTimeNanoseconds\": "
	    "1760000000000000000,\n  \"traceEvents\": [\n");
	while (written < most) {
		n++;
		for (unsigned depth = 0; depth < FUNCTIONS; depth++)
			function(depth, n % MODULES, now_ns + depth * 500, 30000 - depth * 1000);
		operator("linear", now_ns + 3000, 20000);
		operator("addmm", now_ns + 4000, 15000);
		launch(n, now_ns + 5000);
		kernel(n, now_ns + 12000);
		now_ns += 31000;
	}
	printf("  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": %d, "
	       "\"tid\": 0,\n    \"args\": {\n      \"name\": \"python3\"\n    }\n  }\n  ],\n  "
	       "\"displayTimeUnit\": \"ms\"\n}\n",
	       PID);
	fprintf(stderr, "%u launches, %u host events\n", n, event_index + n);
	return 0;
}
