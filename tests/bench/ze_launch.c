/*
 * Launches by an immediate list of Level Zero: `ze_launch [tracer]`, with a tracer whose callbacks
 * do nothing. Prints the CPU time of a launch in ns, and that of a launch and its share of a wait
 * after every 100: of 201 rounds of 1,000 launches the sixth fastest.
 */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 201, LAUNCHES = 1000, TOGETHER = 100, QUIET = 5 };

#define OK(call)                                                                                   \
	do {                                                                                       \
		if (call) {                                                                        \
			puts(#call);                                                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nothing(ze_command_list_append_launch_kernel_params_t *params, ze_result_t result,
                    void *user, void **instance)
{
	(void)params, (void)result, (void)user, (void)instance;
}

static void trace(void)
{
	zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC};
	zel_tracer_handle_t tracer;

	OK(zelTracerCreate(&desc, &tracer));
	OK(zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE,
	                                                          nothing));
	OK(zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE,
	                                                          nothing));
	OK(zelTracerSetEnabled(tracer, 1));
}

static int before(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void __attribute__((noinline))
round_run(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t event,
          uint64_t *launches, uint64_t *all)
{
	const ze_group_count_t groups = {16, 1, 1};
	uint64_t begin = cpu_ns();

	*launches = 0;
	for (int i = 0; i < LAUNCHES / TOGETHER; i++) {
		uint64_t from = cpu_ns();
		for (int k = 0; k < TOGETHER; k++)
			OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
		*launches += cpu_ns() - from;
		OK(zeCommandListAppendSignalEvent(list, event));
		OK(zeEventHostSynchronize(event, UINT64_MAX));
		OK(zeEventHostReset(event));
	}
	*all = cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	const ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
	                                            .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	const ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
	                                        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
	                                        .count = 1};
	const ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
	const ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
	                                      .pKernelName = "heavy"};
	ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
	                                .format = ZE_MODULE_FORMAT_NATIVE,
	                                .inputSize = 5,
	                                .pInputModule = (const uint8_t *)"heavy"};
	uint64_t launches[ROUNDS], all[ROUNDS], takes = 0;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;
	ze_command_list_handle_t list;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	uint32_t nr = 1;

	OK(zeInit(0));
	if (argc > 1 && !strcmp(argv[1], "tracer"))
		trace();
	OK(zeDriverGet(&nr, &driver));
	nr = 1;
	OK(zeDeviceGet(driver, &nr, &device));
	OK(zeContextCreate(driver, &context_desc, &context));
	OK(zeModuleCreate(context, device, &module_desc, &module, NULL));
	OK(zeKernelCreate(module, &kernel_desc, &kernel));
	OK(zeKernelSetGroupSize(kernel, 64, 1, 1));
	OK(zeKernelSetArgumentValue(kernel, 0, sizeof takes, &takes));
	OK(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
	OK(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
	OK(zeEventCreate(pool, &event_desc, &event));
	for (int i = 0; i < ROUNDS; i++)
		round_run(list, kernel, event, &launches[i], &all[i]);
	qsort(launches, ROUNDS, sizeof *launches, before);
	qsort(all, ROUNDS, sizeof *all, before);
	printf("%llu %llu\n", (unsigned long long)launches[QUIET] / LAUNCHES,
	       (unsigned long long)all[QUIET] / LAUNCHES);
	return 0;
}
