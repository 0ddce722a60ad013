/*
 * An OMPT tool that counts callbacks of the host: a second witness of what aflame records. When the
 * runtime ends it writes its numbers as facts.
 */
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long parallels, open_parallels, implicits, works, barriers, explicits, taskwaits,
    mutexes, creates, schedules, threads;

static void on_thread(ompt_thread_t type, ompt_data_t *data)
{
	(void)type;
	(void)data;
	threads++;
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                              unsigned requested, int flags, const void *at)
{
	(void)task;
	(void)frame;
	(void)requested;
	(void)flags;
	(void)at;
	parallel->value = (uint64_t)++parallels;
	open_parallels++;
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *at)
{
	(void)task;
	(void)flags;
	(void)at;
	open_parallels -= parallel->value != 0;
}

static void on_implicit(ompt_scope_endpoint_t scope, ompt_data_t *parallel, ompt_data_t *task,
                        unsigned parallelism, unsigned index, int flags)
{
	(void)task;
	(void)parallelism;
	(void)index;
	if (scope & ompt_scope_begin && !(flags & ompt_task_initial))
		implicits += parallel->value != 0;
}

static void on_work(ompt_work_t type, ompt_scope_endpoint_t scope, ompt_data_t *parallel,
                    ompt_data_t *task, uint64_t count, const void *at)
{
	(void)type;
	(void)parallel;
	(void)task;
	(void)count;
	(void)at;
	works += (scope & ompt_scope_begin) != 0;
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t scope, ompt_data_t *parallel,
                    ompt_data_t *task, const void *at)
{
	(void)parallel;
	(void)task;
	(void)at;
	if (!(scope & ompt_scope_begin))
		return;
	if (kind == ompt_sync_region_barrier_explicit)
		explicits++;
	else if (kind == ompt_sync_region_taskwait)
		taskwaits++;
	else
		barriers++;
}

static void on_acquired(ompt_mutex_t kind, ompt_wait_id_t wait, const void *at)
{
	(void)kind;
	(void)wait;
	(void)at;
	mutexes++;
}

static void on_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *fresh, int flags,
                      int has_dependences, const void *at)
{
	(void)task;
	(void)frame;
	(void)fresh;
	(void)has_dependences;
	(void)at;
	creates += !(flags & ompt_task_initial);
}

static void on_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *following)
{
	(void)prior;
	(void)status;
	(void)following;
	schedules++;
}

static int tool_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

	(void)device;
	(void)data;
	set(ompt_callback_thread_begin, (ompt_callback_t)on_thread);
	set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
	set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
	set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit);
	set(ompt_callback_work, (ompt_callback_t)on_work);
	set(ompt_callback_sync_region_wait, (ompt_callback_t)on_wait);
	set(ompt_callback_mutex_acquired, (ompt_callback_t)on_acquired);
	set(ompt_callback_task_create, (ompt_callback_t)on_create);
	set(ompt_callback_task_schedule, (ompt_callback_t)on_schedule);
	return 1;
}

static void tool_finalize(ompt_data_t *data)
{
	(void)data;
	printf("truth tool_ompt_thread %ld\ntruth tool_ompt_parallel %ld\n"
	       "truth tool_ompt_implicit_task %ld\ntruth tool_ompt_work %ld\n"
	       "truth tool_ompt_barrier_implicit %ld\ntruth tool_ompt_barrier_explicit %ld\n"
	       "truth tool_ompt_taskwait %ld\ntruth tool_ompt_mutex_wait %ld\n"
	       "truth tool_ompt_task_create %ld\ntruth tool_ompt_task_schedule %ld\n"
	       "truth open_parallels %ld\n",
	       threads, parallels, implicits, works, barriers, explicits, taskwaits, mutexes,
	       creates, schedules, open_parallels);
	fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t tool = {tool_initialize, tool_finalize, {0}};

	(void)version;
	(void)runtime;
	return &tool;
}
