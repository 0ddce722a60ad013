/*
 * cuda_ze FIRST MODULE: a kernel by CUDA, and "heavy" of MODULE by Level Zero, in one process: the
 * one that FIRST names ("cuda", "ze") before the other.
 */
#include <string.h>

#include "cuda_setup.h"
#include "ze_setup.h"

static void by_cuda(void)
{
	struct cuda cuda;

	cuda_open(&cuda, 0);
	cuda_launch(cuda.k[0], NULL, 100000);
	CUDA_CHECK(cuCtxSynchronize());
	cuda_close(&cuda);
}

static void by_ze(const char *path)
{
	ze_start();
	ze_kernel_handle_t kernel = ze_kernel(ze_module(ze_context, path), "heavy", 8000);
	ze_command_list_handle_t list = ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
	const ze_group_count_t groups = {1, 1, 1};

	OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	bool cuda_first = !strcmp(argv[1], "cuda");
	if (cuda_first)
		by_cuda();
	by_ze(argv[2]);
	if (!cuda_first)
		by_cuda();
	return 0;
}
