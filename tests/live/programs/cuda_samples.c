/*
 * cuda_samples HOW [ROUNDS [CUBIN KERNEL]]: kernels that last long enough to be sampled.
 *
 * Truth, in nanoseconds by path: each of ROUNDS (5) waits for k1 of 30 ms under hot_path and of 10
 * ms under cold_path, and for k2 of 20 ms.
 *
 *	paths	that, and an end as usual
 *	churn	each round loads a module of its own, and unloads it at once when its kernel is done
 *	contexts	half of the rounds in a second context of the device
 *	destroy	the context is destroyed at the end, with samples not read yet
 *	exec	the process becomes `true` at the end
 *	cubin	KERNEL of the file CUBIN, 30 ms in each round
 *	sparse	each round is 60 us of kernels in 100 ms
 *	reset	half of the rounds in another context, made when the first has been destroyed
 */
#include "cuda_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { US = 1000, MS = 1000000, CUBIN_MAX = 1 << 20 };

static struct cuda cuda;

__attribute__((noinline)) static void run(struct CUfunc_st *kernel, uint64_t ns)
{
	cuda_launch(kernel, NULL, ns);
	CUDA_CHECK(cuCtxSynchronize());
}

__attribute__((noinline)) static void hot_path(void)
{
	run(cuda.k[0], 30 * MS);
	cuda_truth("ns.k1", 30 * MS);
}

__attribute__((noinline)) static void cold_path(void)
{
	run(cuda.k[0], 10 * MS);
	cuda_truth("ns.k1", 10 * MS);
}

static void one_round(void)
{
	hot_path();
	cold_path();
	run(cuda.k[1], 20 * MS);
	cuda_truth("ns.k2", 20 * MS);
}

static void sparse(void)
{
	run(cuda.k[0], 60 * US);
	cuda_truth("ns.k1", 60 * US);
	usleep(100000);
}

static void churn(void)
{
	struct CUmod_st *module;
	struct CUfunc_st *kernel;

	CUDA_CHECK(cuModuleLoadData(&module, cuda_kernels));
	CUDA_CHECK(cuModuleGetFunction(&kernel, module, "k3"));
	run(kernel, 5 * MS);
	CUDA_CHECK(cuModuleUnload(module));
	cuda_truth("ns.k3", 5 * MS);
}

static void run_cubin(const char *path, const char *name)
{
	static char bytes[CUBIN_MAX];
	static struct CUfunc_st *kernel;
	struct CUmod_st *module;
	FILE *file = kernel ? NULL : fopen(path, "rb");

	if (!kernel) {
		if (!file || !fread(bytes, 1, sizeof(bytes), file))
			exit(1);
		fclose(file);
		CUDA_CHECK(cuModuleLoadData(&module, bytes));
		CUDA_CHECK(cuModuleGetFunction(&kernel, module, name));
	}
	run(kernel, 30 * MS);
	cuda_truth("ns.cubin", 30 * MS);
}

static void second_context(void)
{
	CUDA_CHECK(cuCtxCreate_v2(&cuda.context, 0, cuda.device));
	CUDA_CHECK(cuModuleLoadData(&cuda.module, cuda_kernels));
	CUDA_CHECK(cuModuleGetFunction(&cuda.k[0], cuda.module, "k1"));
	CUDA_CHECK(cuModuleGetFunction(&cuda.k[1], cuda.module, "k2"));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "paths";
	const uint64_t rounds = cuda_number(argc, argv, 2, 5);

	cuda_open(&cuda, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		if (i == rounds / 2 && !strcmp(how, "reset"))
			CUDA_CHECK(cuCtxDestroy_v2(cuda.context));
		if (i == rounds / 2 && (!strcmp(how, "contexts") || !strcmp(how, "reset")))
			second_context();
		if (!strcmp(how, "churn"))
			churn();
		else if (!strcmp(how, "sparse"))
			sparse();
		else if (!strcmp(how, "cubin") && argc > 4)
			run_cubin(argv[3], argv[4]);
		else
			one_round();
	}
	cuda_truth("rounds", rounds);
	cuda_truth_print();
	if (!strcmp(how, "destroy"))
		CUDA_CHECK(cuCtxDestroy_v2(cuda.context));
	if (!strcmp(how, "exec"))
		execlp("true", "true", (char *)NULL);
	return 0;
}
