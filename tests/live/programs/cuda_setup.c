#include "cuda_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRUTHS_MAX = 64, SKIPPED = 77 };

#define SETUP_KERNEL(name)                                                                         \
	".visible .entry " name "(.param .u64 spin_ns)\n"                                          \
	"{\n"                                                                                      \
	"	.reg .u64 %start, %now, %spin;\n"                                                        \
	"	.reg .pred %again;\n"                                                                    \
	"	ld.param.u64 %spin, [spin_ns];\n"                                                        \
	"	mov.u64 %start, %globaltimer;\n"                                                         \
	"again:\n"                                                                                 \
	"	mov.u64 %now, %globaltimer;\n"                                                           \
	"	sub.u64 %now, %now, %start;\n"                                                           \
	"	setp.lt.u64 %again, %now, %spin;\n"                                                      \
	"	@%again bra again;\n"                                                                    \
	"	ret;\n"                                                                                  \
	"}\n"

const char cuda_kernels[] = ".version 7.0\n"
			    ".target sm_75\n"
			    ".address_size 64\n" SETUP_KERNEL("k1") SETUP_KERNEL("k2")
				SETUP_KERNEL("k3") SETUP_KERNEL("k4");

static struct {
	const char *key;
	uint64_t number;
} truths[TRUTHS_MAX];
static int nr_truths;

void cuda_check(int rc, const char *what)
{
	const char *name = NULL;

	if (!rc)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "%s: %s (%d)\n", what, name ? name : "?", rc);
	exit(rc == CUDA_NO_DEVICE ? SKIPPED : 1);
}

void cuda_open(struct cuda *cuda, int device)
{
	char name[] = "k1";

	CUDA_CHECK(cuInit(0));
	CUDA_CHECK(cuDeviceGet(&cuda->device, device));
	CUDA_CHECK(cuCtxCreate_v2(&cuda->context, 0, cuda->device));
	CUDA_CHECK(cuModuleLoadData(&cuda->module, cuda_kernels));
	for (int i = 0; i < CUDA_KERNELS; i++) {
		name[1] = (char)('1' + i);
		CUDA_CHECK(cuModuleGetFunction(&cuda->k[i], cuda->module, name));
	}
}

void cuda_close(struct cuda *cuda)
{
	CUDA_CHECK(cuCtxSetCurrent(cuda->context));
	CUDA_CHECK(cuModuleUnload(cuda->module));
	CUDA_CHECK(cuCtxDestroy_v2(cuda->context));
}

int cuda_nr_devices(void)
{
	int count;

	CUDA_CHECK(cuDeviceGetCount(&count));
	return count;
}

void cuda_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, uint64_t ns)
{
	void *params[] = {&ns};

	CUDA_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

struct CUstream_st *cuda_stream(void)
{
	struct CUstream_st *stream;

	CUDA_CHECK(cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING));
	return stream;
}

void cuda_truth(const char *key, uint64_t number)
{
	for (int i = 0; i < nr_truths; i++) {
		if (!strcmp(truths[i].key, key)) {
			truths[i].number += number;
			return;
		}
	}
	if (nr_truths == TRUTHS_MAX)
		abort();
	truths[nr_truths].key = key;
	truths[nr_truths++].number = number;
}

void cuda_truth_print(void)
{
	for (int i = 0; i < nr_truths; i++)
		printf("%s\"%s\": %llu", i ? ", " : "{", truths[i].key,
		       (unsigned long long)truths[i].number);
	printf("%s}\n", nr_truths ? "" : "{");
	fflush(stdout);
}

uint64_t cuda_number(int argc, char **argv, int index, uint64_t otherwise)
{
	return index < argc ? strtoull(argv[index], NULL, 0) : otherwise;
}
