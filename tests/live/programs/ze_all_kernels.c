/*
 * ze_all_kernels SPIRV NATIVE [TIMES]: builds the module of a SPIR-V file by Level Zero, writes its
 * native binary to NATIVE, prints "NAME ADDRESS" of each kernel, the address as the driver has it,
 * and launches each TIMES (1) times from one command list that is closed and executed.
 */
#include <level_zero/ze_api.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 256 };

static void check(ze_result_t result, const char *call)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s: %#x\n", call, (unsigned)result);
	exit(1);
}

#define CHECK(call) check((call), #call)

static void *file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");

	if (!f || fseek(f, 0, SEEK_END))
		exit(2);
	*size = (size_t)ftell(f);
	rewind(f);
	void *bytes = malloc(*size);
	if (!bytes || fread(bytes, 1, *size, f) != *size)
		exit(2);
	fclose(f);
	return bytes;
}

static void native_write(ze_module_handle_t module, const char *path)
{
	size_t size = 0;
	FILE *f = fopen(path, "wb");

	CHECK(zeModuleGetNativeBinary(module, &size, NULL));
	uint8_t *bytes = malloc(size);
	CHECK(zeModuleGetNativeBinary(module, &size, bytes));
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		exit(2);
	free(bytes);
}

static ze_module_handle_t module_build(ze_context_handle_t context, ze_device_handle_t device,
                                       const char *path)
{
	ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                         .format = ZE_MODULE_FORMAT_IL_SPIRV,
	                         .pBuildFlags = "-ze-intel-allow-zebin"};
	ze_module_handle_t module;

	desc.pInputModule = file_read(path, &desc.inputSize);
	CHECK(zeModuleCreate(context, device, &desc, &module, NULL));
	return module;
}

struct launcher {
	ze_result_t (*address)(ze_kernel_handle_t, uint64_t *);
	ze_command_list_handle_t list;
	void *buffer;
	int times;
};

static void kernel_launch(const struct launcher *l, ze_module_handle_t module, const char *name)
{
	ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
	ze_group_count_t groups = {16, 1, 1};
	ze_kernel_handle_t kernel;
	uint64_t address;
	int n = 64;

	CHECK(zeKernelCreate(module, &desc, &kernel));
	CHECK(l->address(kernel, &address));
	printf("%s %#" PRIx64 "\n", name, address);
	CHECK(zeKernelSetGroupSize(kernel, 64, 1, 1));
	CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof l->buffer, &l->buffer));
	CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof n, &n));
	for (int i = 0; i < l->times; i++)
		CHECK(zeCommandListAppendLaunchKernel(l->list, kernel, &groups, NULL, 0, NULL));
}

static void launch_all(const struct launcher *l, ze_module_handle_t module)
{
	const char *names[NAMES];
	uint32_t nr = NAMES;

	CHECK(zeModuleGetKernelNames(module, &nr, names));
	for (uint32_t i = 0; i < nr; i++)
		kernel_launch(l, module, names[i]);
}

int main(int argc, char **argv)
{
	ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_device_mem_alloc_desc_t device_mem = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_host_mem_alloc_desc_t host_mem = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_command_queue_handle_t queue;
	struct launcher l;
	uint32_t one = 1;

	if (argc < 3)
		return 2;
	l.times = argc > 3 ? atoi(argv[3]) : 1;
	CHECK(zeInit(0));
	CHECK(zeDriverGet(&one, &driver));
	CHECK(zeDeviceGet(driver, &one, &device));
	CHECK(zeContextCreate(driver, &context_desc, &context));
	ze_module_handle_t module = module_build(context, device, argv[1]);
	native_write(module, argv[2]);
	CHECK(zeDriverGetExtensionFunctionAddress(driver, "zexKernelGetBaseAddress",
	                                          (void **)&l.address));
	CHECK(zeMemAllocShared(context, &device_mem, &host_mem, 65536, 64, device, &l.buffer));
	CHECK(zeCommandQueueCreate(context, device, &queue_desc, &queue));
	CHECK(zeCommandListCreate(context, device, &list_desc, &l.list));
	launch_all(&l, module);
	CHECK(zeCommandListClose(l.list));
	CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &l.list, NULL));
	CHECK(zeCommandQueueSynchronize(queue, 1000000000));
	return 0;
}
