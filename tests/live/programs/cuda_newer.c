/*
 * cuda_newer: on the mock of CUDA, calls as a driver and a CUPTI report them that are newer than
 * aflame. With MOCK_CUPTI_NEWER_IDS: two calls of a function that no model has. Always: cuMemAlloc
 * of 4096 bytes at 0x1234, whose struct of arguments has something behind what is known.
 *
 * Exit status: 0.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum { DRIVER = 1, MEM_ALLOC_V2 = 243, TOMORROW = 810, ERROR = 7, SIZE = 4096 };

typedef uint32_t (*report_fn)(uint32_t domain, uint32_t id, const char *name, const void *params,
                              const void *result, void (*callee)(void *), void *arg);

static void callee(void *arg)
{
	(void)arg;
}

int main(void)
{
	uint64_t address = 0x1234;
	const uint32_t results[] = {0, ERROR};
	const struct {
		uint64_t *address;
		size_t size;
		uint64_t more[4];
	} params = {&address, SIZE, {1, 2, 3, 4}};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;

	if (!init || init(0)) /* loads libaflame.so */
		return 2;
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	report_fn report = cupti ? (report_fn)dlsym(cupti, "mock_cupti_report") : NULL;
	if (!report)
		return 3;
	for (int i = 0; getenv("MOCK_CUPTI_NEWER_IDS") && i < 2; i++)
		report(DRIVER, TOMORROW, "cuOfTomorrow", &params, &results[i], callee, NULL);
	report(DRIVER, MEM_ALLOC_V2, "cuMemAlloc_v2", &params, &results[0], callee, NULL);
	return 0;
}
