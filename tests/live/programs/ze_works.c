/*
 * Level Zero in every way that work is launched: `ze_works MODE MODULE [MODULE]`. Kernels: "heavy"
 * of the first module, and "light" of the second. Each mode says what is true of it; a line "truth
 * NAME NUMBER" is what it knows itself.
 */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze_setup.h"

#define NOINLINE __attribute__((noinline))

enum { THREADS = 4, LAUNCHES = 50, BYTES = 256, CHURNS = 50 };

static const ze_group_count_t groups = {16, 3, 1};
static const char *module_path, *other_path;

/* Nothing between here and the launch is a tail call, so that its frame is there. */
static NOINLINE void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

static NOINLINE void hot_path(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	for (int i = 0; i < 3; i++)
		launch(list, kernel);
	__asm__ volatile("");
}

static NOINLINE void cold_path(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	launch(list, kernel);
	__asm__ volatile("");
}

static NOINLINE void fill_list(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	launch(list, kernel);
	launch(list, kernel);
	OK(zeCommandListClose(list));
}

static NOINLINE void run_list(ze_command_queue_handle_t queue, ze_command_list_handle_t list)
{
	OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
	OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
}

/* 4 launches by an immediate list, 3 of them in hot_path(); lists of 2 kernels run 3 times, 1. */
static void mode_paths(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_command_list_handle_t later = ze_deferred(ze_context);
	ze_command_queue_handle_t queue = ze_queue(ze_context);
	ze_event_handle_t event;

	ze_events(ze_context, 1, &event);
	hot_path(list, kernel);
	ze_takes(kernel, 80000);
	cold_path(list, kernel);
	ze_wait(list, event);
	ze_takes(kernel, 16000);
	fill_list(later, kernel);
	for (int i = 0; i < 3; i++)
		run_list(queue, later);
	OK(zeCommandListReset(later));
	ze_takes(kernel, 4000);
	fill_list(later, kernel);
	run_list(queue, later);
	OK(zeCommandListDestroy(later));
	OK(zeKernelDestroy(kernel));
	OK(zeModuleDestroy(module));
}

/*
 * 4 launches on an immediate list, the second one behind a copy; a list of one kernel that runs
 * twice, and one of two kernels.
 */
static void mode_measured(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_command_list_handle_t one = ze_deferred(ze_context), two = ze_deferred(ze_context);
	ze_command_queue_handle_t queue = ze_queue(ze_context);
	ze_event_handle_t event;
	char from[BYTES] = {0}, to[BYTES];

	ze_events(ze_context, 1, &event);
	for (uint64_t i = 1; i <= 4; i++) {
		if (i == 2)
			OK(zeCommandListAppendMemoryCopy(list, to, from, BYTES, NULL, 0, NULL));
		ze_takes(kernel, i * 8000);
		launch(list, kernel);
	}
	ze_wait(list, event);
	ze_takes(kernel, 40000);
	launch(one, kernel);
	OK(zeCommandListClose(one));
	run_list(queue, one);
	run_list(queue, one);
	fill_list(two, kernel);
	run_list(queue, two);
	OK(zeCommandListDestroy(two));
	OK(zeCommandListDestroy(one));
	OK(zeContextDestroy(ze_context));
}

/* 2 launches that complete, and one that takes a minute. */
static void launch_unread(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);

	launch(list, kernel);
	launch(list, kernel);
	usleep(20000);
	ze_takes(kernel, 60000000000);
	launch(list, kernel);
	puts("launched");
	fflush(stdout);
}

static void handle_ends(int signo)
{
	_exit(signo == SIGUSR1 ? 4 : 5);
}

/* The program ends, or becomes another one, by functions that run no exit handlers. */
static void mode__exit(void)
{
	launch_unread();
	_exit(3);
}

static void mode_quick_exit(void)
{
	launch_unread();
	quick_exit(3);
}

static void mode_handler(void)
{
	signal(SIGUSR1, handle_ends);
	launch_unread();
	raise(SIGUSR1);
}

/* The first program is not there. */
static void mode_exec_unread(void)
{
	launch_unread();
	execl("/nonexistent/program", "program", NULL);
	execl("/bin/true", "true", NULL);
}

/* 8 launches, 60 ms apart. */
static void mode_spread(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);
	ze_event_handle_t event;

	ze_events(ze_context, 1, &event);
	for (int i = 0; i < 8; i++) {
		launch(list, kernel);
		usleep(60000);
	}
	ze_wait(list, event);
}

/* A copy to the device, one back, a fill; the bytes that come back. */
static void mode_copies(void)
{
	const ze_device_mem_alloc_desc_t device = {.stype =
	                                               ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	ze_command_list_handle_t list = ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
	char out[BYTES], in[BYTES], pattern = 7;
	ze_event_handle_t events[2];
	int sum = 0;
	void *there;

	memset(out, 1, sizeof out);
	ze_events(ze_context, 2, events);
	OK(zeMemAllocDevice(ze_context, &device, BYTES, 64, ze_device, &there));
	OK(zeCommandListAppendMemoryCopy(list, there, out, BYTES, NULL, 0, NULL));
	OK(zeCommandListAppendBarrier(list, events[0], 0, NULL));
	OK(zeCommandListAppendWaitOnEvents(list, 1, events));
	OK(zeCommandListAppendMemoryFill(list, there, &pattern, 1, BYTES / 2, events[1], 0, NULL));
	OK(zeCommandListAppendMemoryCopy(list, in, there, BYTES, NULL, 0, NULL));
	ze_wait(list, events[0]);
	for (int i = 0; i < BYTES; i++)
		sum += in[i];
	printf("truth sum %d\n", sum);
	OK(zeMemFree(ze_context, there));
}

/* A module is unloaded, and another one's kernel gets the address. */
static void mode_reload(void)
{
	const char *const paths[] = {module_path, other_path}, *const names[] = {"heavy", "light"};
	ze_command_queue_handle_t queue = ze_queue(ze_context);
	uint64_t (*unused)(void) = NULL;
	ze_result_t (*base)(ze_kernel_handle_t, uint64_t *) = (void *)unused;

	OK(zeDriverGetExtensionFunctionAddress(ze_driver, "zexKernelGetBaseAddress",
	                                       (void **)&base));
	for (int i = 0; i < 2; i++) {
		ze_module_handle_t module = ze_module(ze_context, paths[i]);
		ze_kernel_handle_t kernel = ze_kernel(module, names[i], 800);
		ze_command_list_handle_t list = ze_deferred(ze_context);
		uint64_t address = 0;
		fill_list(list, kernel);
		run_list(queue, list);
		OK(base(kernel, &address));
		printf("truth %s %llu\n", names[i], (unsigned long long)address);
		OK(zeCommandListDestroy(list));
		OK(zeKernelDestroy(kernel));
		OK(zeModuleDestroy(module));
	}
}

/* A list that is executed again before it has completed: 3 times, then waited for. */
static void mode_pipelined(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 2000000);
	ze_command_list_handle_t list = ze_deferred(ze_context);
	ze_command_queue_handle_t queue = ze_queue(ze_context);

	fill_list(list, kernel);
	for (int i = 0; i < 3; i++)
		OK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
	OK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	run_list(queue, list);
}

/*
 * The program's own events, without stamps: of an immediate list, reset between two launches; of a
 * list that runs three times, reset once.
 */
static void mode_events(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_command_list_handle_t later = ze_deferred(ze_context);
	ze_command_queue_handle_t queue = ze_queue(ze_context);
	ze_event_handle_t events[2];
	ze_fence_handle_t fence;
	const ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};

	ze_events(ze_context, 2, events);
	for (int i = 1; i <= 2; i++) {
		ze_takes(kernel, (uint64_t)i * 80000);
		OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, events[0], 0, NULL));
		OK(zeEventHostSynchronize(events[0], UINT64_MAX));
		OK(zeEventHostReset(events[0]));
	}
	ze_takes(kernel, 16000);
	OK(zeCommandListAppendLaunchKernel(later, kernel, &groups, events[1], 0, NULL));
	OK(zeCommandListClose(later));
	OK(zeFenceCreate(queue, &desc, &fence));
	for (int i = 0; i < 3; i++) {
		OK(zeCommandQueueExecuteCommandLists(queue, 1, &later, fence));
		OK(zeFenceHostSynchronize(fence, UINT64_MAX));
		OK(zeFenceReset(fence));
		OK(zeEventQueryStatus(events[1]));
		if (!i)
			OK(zeEventHostReset(events[1]));
	}
	OK(zeEventDestroy(events[1]));
}

static void *thread_run(void *module)
{
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 800);
	ze_event_handle_t event;

	ze_events(ze_context, 1, &event);
	for (int i = 0; i < LAUNCHES; i++)
		launch(list, kernel);
	ze_wait(list, event);
	OK(zeCommandListDestroy(list));
	return NULL;
}

/* 4 threads, each with 50 launches on a list of its own. */
static void mode_threads(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_run, module);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Everything is made, used and destroyed over and over, beside three others that do the same. */
static void *thread_churn(void *unused)
{
	const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	(void)unused;

	for (int i = 0; i < CHURNS; i++) {
		ze_context_handle_t context;
		ze_event_handle_t events[2];
		OK(zeContextCreate(ze_driver, &desc, &context));
		ze_module_handle_t module = ze_module_of(context, "heavy", 5);
		ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 800);
		ze_command_list_handle_t list =
		    ze_immediate(context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
		ze_command_list_handle_t later = ze_deferred(context);
		ze_command_queue_handle_t queue = ze_queue(context);
		ze_events(context, 2, events);
		for (int k = 0; k < 10; k++)
			launch(list, kernel);
		OK(zeCommandListAppendLaunchKernel(list, kernel, &groups, events[0], 0, NULL));
		ze_wait(list, events[1]);
		OK(zeEventDestroy(events[0]));
		fill_list(later, kernel);
		run_list(queue, later);
		run_list(queue, later);
		OK(zeCommandListReset(later));
		OK(zeCommandListDestroy(later));
		OK(zeCommandQueueDestroy(queue));
		OK(zeCommandListDestroy(list));
		OK(zeKernelDestroy(kernel));
		OK(zeModuleDestroy(module));
		OK(zeContextDestroy(context));
	}
	return NULL;
}

static void mode_churn(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_churn, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* A launch, a child that launches nothing and ends with 3, a launch. */
static void mode_fork(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 800);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_event_handle_t event;
	int status = 0;

	ze_events(ze_context, 1, &event);
	launch(list, kernel);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid)
		exit(zeInit(0) ? 4 : 3);
	waitpid(pid, &status, 0);
	printf("truth child %d\n", WEXITSTATUS(status));
	launch(list, kernel);
	ze_wait(list, event);
}

/* zeInit twice; two contexts with a launch each, the first one destroyed. */
static void mode_contexts(void)
{
	const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};

	OK(zeInit(0));
	for (int i = 0; i < 2; i++) {
		ze_context_handle_t context;
		ze_event_handle_t event;
		OK(zeContextCreate(ze_driver, &desc, &context));
		ze_module_handle_t module = ze_module(context, module_path);
		ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 800);
		ze_command_list_handle_t list =
		    ze_immediate(context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
		ze_events(context, 1, &event);
		launch(list, kernel);
		ze_wait(list, event);
		if (i)
			OK(zeCommandListDestroy(list));
		ze_command_list_handle_t later = ze_deferred(context);
		fill_list(later, kernel);
		/* With its lists, as programs do that are about to end. */
		if (!i)
			OK(zeContextDestroy(context));
	}
}

/* Kernels that do not end ("light" is "never" there): the program does. */
static void mode_never(void)
{
	ze_module_handle_t module = ze_module(ze_context, other_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "never", 800);

	for (int i = 0; i < 5; i++)
		launch(list, kernel);
}

/* An append that the driver refuses. */
static void mode_refused(void)
{
	ze_module_handle_t module = ze_module(ze_context, other_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "refused", 800);

	printf("truth status %d\n",
	       zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

static int traced;

static void on_launch(ze_command_list_append_launch_kernel_params_t *params, ze_result_t result,
                      void *user, void **instance)
{
	(void)params, (void)result, (void)user, (void)instance;
	traced++;
}

/* A tracer of the program's own sees its 2 launches. */
static void mode_tracer(void)
{
	zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC};
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 800);
	zel_tracer_handle_t tracer;
	ze_event_handle_t event;

	ze_events(ze_context, 1, &event);
	OK(zelTracerCreate(&desc, &tracer));
	OK(zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE,
	                                                          on_launch));
	OK(zelTracerSetEnabled(tracer, 1));
	launch(list, kernel);
	launch(list, kernel);
	ze_wait(list, event);
	printf("truth traced %d\n", traced);
}

/* 200,000 launches, waited for every 100; how much memory that took, in KiB. */
static void mode_many(void)
{
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 80);
	long before = 0, after = 0;
	ze_event_handle_t event;

	ze_events(ze_context, 1, &event);
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 100; k++)
			launch(list, kernel);
		ze_wait(list, event);
		FILE *f = i == 200 || i == 1999 ? fopen("/proc/self/statm", "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%*d %ld", i == 200 ? &before : &after) != 1)
			exit(1);
		fclose(f);
	}
	printf("truth grown_kib %ld\n", (after - before) * 4);
}

/*
 * 4 launches, 3 of them in hot_path(), then the file $ZE_WORKS_LAUNCHED; the code stays where it is
 * for half a second more.
 */
static void mode_stays(void)
{
	const char *file = getenv("ZE_WORKS_LAUNCHED");
	ze_module_handle_t module = ze_module(ze_context, module_path);
	ze_kernel_handle_t kernel = ze_kernel(module, "heavy", 8000);
	ze_command_list_handle_t list =
	    ze_immediate(ze_context, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);

	hot_path(list, kernel);
	cold_path(list, kernel);
	FILE *launched = file ? fopen(file, "w") : NULL;
	if (launched)
		fclose(launched);
	usleep(500000);
	OK(zeCommandListDestroy(list));
	OK(zeKernelDestroy(kernel));
	OK(zeModuleDestroy(module));
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
    {"paths", mode_paths},     {"spread", mode_spread},
    {"churn", mode_churn},     {"copies", mode_copies},
    {"reload", mode_reload},   {"pipelined", mode_pipelined},
    {"events", mode_events},   {"threads", mode_threads},
    {"fork", mode_fork},       {"contexts", mode_contexts},
    {"never", mode_never},     {"refused", mode_refused},
    {"tracer", mode_tracer},   {"many", mode_many},
    {"stays", mode_stays},     {"measured", mode_measured},
    {"_exit", mode__exit},     {"quick_exit", mode_quick_exit},
    {"handler", mode_handler}, {"exec_unread", mode_exec_unread},
};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	module_path = argv[2];
	other_path = argc > 3 ? argv[3] : argv[2];
	if (!strcmp(argv[1], "exec")) {
		/* A launch, then another program. */
		ze_start();
		mode_contexts();
		fflush(stdout);
		execl("/proc/self/exe", argv[0], "paths", argv[2], NULL);
		return 3;
	}
	ze_start();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		modes[i].run();
		puts("done");
		return 0;
	}
	return 2;
}
