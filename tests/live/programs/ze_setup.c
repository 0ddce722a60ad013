#include "ze_setup.h"

#include <stdio.h>
#include <stdlib.h>

ze_driver_handle_t ze_driver;
ze_device_handle_t ze_device;
ze_context_handle_t ze_context;

void ze_ok(ze_result_t rc, const char *text)
{
	if (!rc)
		return;
	printf("%s: 0x%x\n", text, rc);
	exit(1);
}

void ze_start(void)
{
	const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_device_handle_t all[16];
	uint32_t nr = 1;

	OK(zeInit(0));
	OK(zeDriverGet(&nr, &ze_driver));
	nr = 0;
	OK(zeDeviceGet(ze_driver, &nr, NULL));
	nr = nr > 16 ? 16 : nr;
	OK(zeDeviceGet(ze_driver, &nr, all));
	ze_device = all[0];
	OK(zeContextCreate(ze_driver, &desc, &ze_context));
}

ze_module_handle_t ze_module(ze_context_handle_t context, const char *path)
{
	static uint8_t bytes[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;

	if (file)
		fclose(file);
	return ze_module_of(context, bytes, size);
}

ze_module_handle_t ze_module_of(ze_context_handle_t context, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	bool spirv = size > 4 && bytes[0] == 0x03 && bytes[1] == 0x02 && bytes[2] == 0x23;
	const char *flags = getenv("ZE_SETUP_FLAGS"); /* for the driver's compiler */
	ze_module_handle_t module;

	ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                         .format =
	                             spirv ? ZE_MODULE_FORMAT_IL_SPIRV : ZE_MODULE_FORMAT_NATIVE,
	                         .inputSize = size,
	                         .pInputModule = bytes,
	                         .pBuildFlags = flags ? flags : "-g -ze-intel-allow-zebin"};
	OK(zeModuleCreate(context, ze_device, &desc, &module, NULL));
	return module;
}

void ze_takes(ze_kernel_handle_t kernel, uint64_t ns)
{
	OK(zeKernelSetArgumentValue(kernel, 0, sizeof ns, &ns));
}

ze_kernel_handle_t ze_kernel(ze_module_handle_t module, const char *name, uint64_t ns)
{
	const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
	ze_kernel_handle_t kernel;

	OK(zeKernelCreate(module, &desc, &kernel));
	OK(zeKernelSetGroupSize(kernel, 64, 2, 1));
	ze_takes(kernel, ns);
	return kernel;
}

ze_command_list_handle_t ze_immediate(ze_context_handle_t context, ze_command_queue_mode_t mode)
{
	const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
	                                      .mode = mode};
	ze_command_list_handle_t list;

	OK(zeCommandListCreateImmediate(context, ze_device, &desc, &list));
	return list;
}

ze_command_list_handle_t ze_deferred(ze_context_handle_t context)
{
	const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_list_handle_t list;

	OK(zeCommandListCreate(context, ze_device, &desc, &list));
	return list;
}

ze_command_queue_handle_t ze_queue(ze_context_handle_t context)
{
	const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
	                                      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	ze_command_queue_handle_t queue;

	OK(zeCommandQueueCreate(context, ze_device, &desc, &queue));
	return queue;
}

void ze_events(ze_context_handle_t context, uint32_t nr, ze_event_handle_t *events)
{
	const ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
	                                   .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
	                                   .count = nr};
	ze_event_pool_handle_t pool;

	OK(zeEventPoolCreate(context, &desc, 1, &ze_device, &pool));
	for (uint32_t i = 0; i < nr; i++) {
		const ze_event_desc_t one = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
		                             .index = i,
		                             .signal = ZE_EVENT_SCOPE_FLAG_HOST,
		                             .wait = ZE_EVENT_SCOPE_FLAG_HOST};
		OK(zeEventCreate(pool, &one, &events[i]));
	}
}

void ze_wait(ze_command_list_handle_t list, ze_event_handle_t event)
{
	OK(zeCommandListAppendSignalEvent(list, event));
	zeEventHostSynchronize(event, 200000000);
	OK(zeEventHostReset(event));
}
