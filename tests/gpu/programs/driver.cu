/*
 * driver MODULE: the driver API alone: cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel,
 * copies and a fill.
 */
#include "truth.h"

enum { LAUNCHES = 60, SIZE = 1 << 20 };

static CUfunction function_k1, function_k2;
static unsigned long long ns = 5000;
static void *arguments[] = {&ns};

CALLPATH void by_launch_kernel(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK_DRIVER(
		    cuLaunchKernel(function_k1, 3, 2, 1, 32, 2, 1, 64, NULL, arguments, NULL));
}

CALLPATH void by_launch_kernel_ex(void)
{
	CUlaunchConfig config = {};

	config.gridDimX = config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = 32;
	config.blockDimY = config.blockDimZ = 1;
	for (int i = 0; i < LAUNCHES; i++)
		CHECK_DRIVER(cuLaunchKernelEx(&config, function_k2, arguments, NULL));
}

CALLPATH void by_cooperative(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK_DRIVER(
		    cuLaunchCooperativeKernel(function_k2, 2, 1, 1, 32, 1, 1, 0, NULL, arguments));
}

CALLPATH void copies_to_device(CUdeviceptr memory, const void *host)
{
	CHECK_DRIVER(cuMemcpyHtoD(memory, host, SIZE));
	truth_copies["copies_to_device"] = {"WRITE", 1, SIZE};
}

CALLPATH void copies_to_host(CUdeviceptr memory, void *host)
{
	CHECK_DRIVER(cuMemcpyDtoH(host, memory, SIZE));
	truth_copies["copies_to_host"] = {"READ", 1, SIZE};
}

CALLPATH void fills(CUdeviceptr memory)
{
	CHECK_DRIVER(cuMemsetD32(memory, 7, SIZE / 4));
	truth_copies["fills"] = {"FILL", 1, SIZE};
}

int main(int argc, char **argv)
{
	static char host[SIZE];
	CUdeviceptr memory;
	CUcontext context;
	CUdevice device;
	CUmodule module;

	if (argc != 2)
		return 2;
	CHECK_DRIVER(cuInit(0));
	CHECK_DRIVER(cuDeviceGet(&device, 0));
	CHECK_DRIVER(cuDevicePrimaryCtxRetain(&context, device));
	CHECK_DRIVER(cuCtxSetCurrent(context));
	CHECK_DRIVER(cuModuleLoad(&module, argv[1]));
	CHECK_DRIVER(cuModuleGetFunction(&function_k1, module, "k1"));
	CHECK_DRIVER(cuModuleGetFunction(&function_k2, module, "k2"));
	CHECK_DRIVER(cuMemAlloc(&memory, SIZE));
	by_launch_kernel();
	by_launch_kernel_ex();
	by_cooperative();
	copies_to_device(memory, host);
	fills(memory);
	copies_to_host(memory, host);
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuMemFree(memory));
	CHECK_DRIVER(cuModuleUnload(module));
	launched("by_launch_kernel", "k1", LAUNCHES);
	launched("by_launch_kernel_ex", "k2", LAUNCHES);
	launched("by_cooperative", "k2", LAUNCHES);
	truth_others["sizes"] = "{\"by_launch_kernel\": [96, 4, 1, 32, 2, 1]}";
	truth_print();
	return 0;
}
