/*
 * Functions that the driver gives by name: one that the loader has as well, called with an offset
 * that the mock takes, one that it refuses, and by the loader, whose driver has none; and one that
 * is newer than everybody. "truth" lines have the results.
 */
#include <stdio.h>

#include "ze_setup.h"

typedef ze_result_t(ZE_APICALL *offset_function)(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t);
typedef ze_result_t(ZE_APICALL *newer_function)(ze_kernel_handle_t);

int main(int argc, char **argv)
{
	offset_function offset;
	newer_function newer;

	if (argc < 2)
		return 2;
	ze_start();
	ze_module_handle_t module = ze_module(ze_context, argv[1]);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 80);
	OK(zeDriverGetExtensionFunctionAddress(ze_driver, "zeKernelSetGlobalOffsetExp",
	                                       (void **)&offset));
	OK(zeDriverGetExtensionFunctionAddress(ze_driver, "zexKernelNewerThanAll",
	                                       (void **)&newer));
	printf("truth taken %u\n", (unsigned)offset(kernel, 1, 2, 3));
	printf("truth refused %u\n", (unsigned)offset(kernel, 1, 2, 4));
	printf("truth loader %u\n", (unsigned)zeKernelSetGlobalOffsetExp(kernel, 5, 0, 1));
	printf("truth newer %u\n", (unsigned)newer(kernel));
	printf("truth lacks %u\n", (unsigned)zeDriverGetExtensionFunctionAddress(
				       ze_driver, "zexKernelLacks", (void **)&newer));
	return 0;
}
