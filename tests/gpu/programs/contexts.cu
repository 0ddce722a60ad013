/*
 * contexts: two contexts made by the driver API, and a third that is destroyed while its work may
 * still be under way, all used through the runtime by whoever is current.
 */
#include "truth.h"

enum { LAUNCHES = 50 };

static CUcontext make_context(CUdevice device)
{
	CUcontext context;

#if CUDA_VERSION >= 13000
	CHECK_DRIVER(cuCtxCreate(&context, NULL, 0, device));
#else
	CHECK_DRIVER(cuCtxCreate(&context, 0, device));
#endif
	return context;
}

CALLPATH void in_first(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		k1<<<1, 1>>>(5000);
}

CALLPATH void in_second(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		k2<<<1, 1>>>(5000);
}

CALLPATH void in_destroyed(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		k2<<<1, 1>>>(20000);
}

int main(void)
{
	CUcontext first, second, destroyed;
	CUdevice device;

	CHECK_DRIVER(cuInit(0));
	CHECK_DRIVER(cuDeviceGet(&device, 0));
	first = make_context(device);
	second = make_context(device);
	destroyed = make_context(device);
	for (int i = 0; i < 2; i++) {
		CHECK_DRIVER(cuCtxSetCurrent(first));
		in_first();
		CHECK_DRIVER(cuCtxSetCurrent(second));
		in_second();
	}
	CHECK_DRIVER(cuCtxSetCurrent(destroyed));
	in_destroyed();
	CHECK_DRIVER(cuCtxDestroy(destroyed));
	CHECK_DRIVER(cuCtxSetCurrent(second));
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuCtxSetCurrent(first));
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuCtxDestroy(second));
	CHECK_DRIVER(cuCtxDestroy(first));
	launched("in_first", "k1", 2 * LAUNCHES);
	launched("in_second", "k2", 2 * LAUNCHES);
	launched("in_destroyed", "k2", LAUNCHES);
	fact("contexts", 3);
	truth_print();
	return 0;
}
