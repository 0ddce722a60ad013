/*
 * ze_waits MODULE [ROUNDS]: Level Zero is there; a line is read; then what is known is done.
 *
 * Truth: in each of ROUNDS (200) hot_path launches a kernel three times, cold_path once, into a
 * list that is executed after them, and hot_path fills memory once. The calls are printed as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ze_setup.h"

#define APART __attribute__((noinline))

static const ze_group_count_t groups = {16, 1, 1};
static ze_command_list_handle_t list;
static ze_kernel_handle_t kernel;
static void *memory;

APART static void launch(void)
{
	OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
	asm volatile("");
}

APART static void hot_path(void)
{
	const uint32_t pattern = 7;

	for (int i = 0; i < 3; i++)
		launch();
	OK(zeCommandListAppendMemoryFill(list, memory, &pattern, sizeof pattern, 4096, NULL, 0,
	                                 NULL));
}

APART static void cold_path(void)
{
	launch();
	asm volatile("");
}

APART static void execute(ze_command_queue_handle_t queue)
{
	OK(zeCommandListClose(list));
	OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
	OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	OK(zeCommandListReset(list));
}

int main(int argc, char **argv)
{
	ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	char go;

	if (argc < 2)
		return 2;
	int rounds = argc > 2 ? atoi(argv[2]) : 200;
	ze_start();
	kernel = ze_kernel(ze_module(ze_context, argv[1]), "heavy", 1000);
	list = ze_deferred(ze_context);
	ze_command_queue_handle_t queue = ze_queue(ze_context);
	if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1)
		return 1;
	OK(zeMemAllocDevice(ze_context, &desc, 4096, 64, ze_device, &memory));
	for (int i = 0; i < rounds; i++) {
		hot_path();
		cold_path();
		execute(queue);
	}
	OK(zeMemFree(ze_context, memory));
	printf(
	    "{\"zeMemAllocDevice\": 1, \"zeMemFree\": 1, \"zeCommandListAppendLaunchKernel\": %d, "
	    "\"zeCommandListAppendMemoryFill\": %d, \"zeCommandQueueExecuteCommandLists\": %d, "
	    "\"zeCommandQueueSynchronize\": %d}\n",
	    4 * rounds, rounds, rounds, rounds);
	return 0;
}
