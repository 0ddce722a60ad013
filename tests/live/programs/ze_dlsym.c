/*
 * ze_dlsym [loader]: without the word there is no loader in the process, and "truth found 0" of
 * zeInit. With it the loader is opened for this program alone, and its functions are looked up on
 * the handle: a launch by an immediate list. The next function behind this program's own malloc is
 * found as ever, by its caller.
 */
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *loader;

#define ZE(name, ...)                                                                              \
	do {                                                                                       \
		__typeof__(&name) f = (__typeof__(&name))dlsym(loader, #name);                     \
		if (!f || f(__VA_ARGS__)) {                                                        \
			puts(#name);                                                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static int nr_calls;

char *strdup(const char *text);
char *strdup(const char *text)
{
	char *(*next)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, "strdup");

	nr_calls++;
	return next(text);
}

static void __attribute__((noinline))
launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	const ze_group_count_t groups = {1, 1, 1};

	ZE(zeCommandListAppendLaunchKernel, list, kernel, &groups, NULL, 0, NULL);
}

int main(int argc, char **argv)
{
	const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
	                                            .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
	const ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
	                                      .pKernelName = "heavy"};
	const ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                                      .format = ZE_MODULE_FORMAT_NATIVE,
	                                      .inputSize = 5,
	                                      .pInputModule = (const uint8_t *)"heavy"};
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;
	ze_command_list_handle_t list;
	uint32_t nr = 1;

	free(strdup("x"));
	printf("truth own_strdup %d\n", nr_calls);
	printf("truth found %d\n", dlsym(RTLD_DEFAULT, "zeInit") != NULL);
	printf("truth unknown %d\n", dlsym(RTLD_DEFAULT, "zeInitially") != NULL);
	if (argc < 2 || strcmp(argv[1], "loader"))
		return 0;
	loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!loader)
		return 2;
	ZE(zeInit, 0);
	ZE(zeDriverGet, &nr, &driver);
	nr = 1;
	ZE(zeDeviceGet, driver, &nr, &device);
	ZE(zeContextCreate, driver, &context_desc, &context);
	ZE(zeModuleCreate, context, device, &module_desc, &module, NULL);
	ZE(zeKernelCreate, module, &kernel_desc, &kernel);
	ZE(zeCommandListCreateImmediate, context, device, &queue_desc, &list);
	launch(list, kernel);
	return 0;
}
