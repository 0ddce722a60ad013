/*
 * An OMPT tool that counts what it is called for: a second witness of what aflame records, and the
 * other tool beside it. With -DPLAIN it registers the callbacks without "_emi". When the runtime
 * ends it writes its numbers as facts.
 */
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long devices, begun, ended, strange, submits, copies, copied, allocs, threads, last;

static void on_device(int device, const char *type, ompt_device_t *handle,
                      ompt_function_lookup_t lookup, const char *documentation)
{
	(void)handle;
	(void)lookup;
	(void)documentation;
	devices += device >= 0 && type;
}

static void on_thread(ompt_thread_t type, ompt_data_t *data)
{
	(void)type;
	(void)data;
	threads++;
}

static void count_data(ompt_target_data_op_t op, size_t bytes)
{
	if (op == ompt_target_data_alloc)
		allocs++;
	if (op != ompt_target_data_transfer_to_device &&
	    op != ompt_target_data_transfer_from_device)
		return;
	copies++;
	copied += (long)bytes;
}

#ifdef PLAIN
static void on_target(ompt_target_t kind, ompt_scope_endpoint_t scope, int device,
                      ompt_data_t *task, ompt_id_t target, const void *region)
{
	(void)device;
	(void)task;
	strange += !target || !region || (scope == ompt_scope_begin) == ((long)target == last);
	last = (long)target;
	begun += kind == ompt_target && scope == ompt_scope_begin;
	ended += kind == ompt_target && scope == ompt_scope_end;
}

static void on_data(ompt_id_t target, ompt_id_t id, ompt_target_data_op_t op, void *from,
                    int from_device, void *to, int to_device, size_t bytes, const void *region)
{
	(void)from;
	(void)from_device;
	(void)to;
	(void)to_device;
	(void)region;
	strange += !id || (long)target != last;
	count_data(op, bytes);
}

static void on_submit(ompt_id_t target, ompt_id_t id, unsigned teams)
{
	(void)teams;
	strange += !id || (long)target != last;
	submits++;
}
#else
/* The room that the runtime has for the tool keeps what the tool put there. */
static void on_target(ompt_target_t kind, ompt_scope_endpoint_t scope, int device,
                      ompt_data_t *task, ompt_data_t *target_task, ompt_data_t *data,
                      const void *region)
{
	(void)device;
	(void)task;
	(void)target_task;
	(void)region;
	if (scope == ompt_scope_begin)
		data->value = (uint64_t)++last;
	else
		strange += data->value != (uint64_t)last;
	begun += kind == ompt_target && scope == ompt_scope_begin;
	ended += kind == ompt_target && scope == ompt_scope_end;
}

static void on_data(ompt_scope_endpoint_t scope, ompt_data_t *target_task, ompt_data_t *data,
                    ompt_id_t *id, ompt_target_data_op_t op, void *from, int from_device, void *to,
                    int to_device, size_t bytes, const void *region)
{
	(void)target_task;
	(void)data;
	(void)id;
	(void)from;
	(void)from_device;
	(void)to;
	(void)to_device;
	(void)region;
	if (scope == ompt_scope_end)
		count_data(op, bytes);
}

static void on_submit(ompt_scope_endpoint_t scope, ompt_data_t *data, ompt_id_t *id, unsigned teams)
{
	(void)id;
	(void)teams;
	strange += data->value != (uint64_t)last;
	submits += scope == ompt_scope_end;
}
#endif

static int tool_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
	ompt_get_callback_t get = (ompt_get_callback_t)lookup("ompt_get_callback");
	ompt_callback_t is = NULL;
#ifdef PLAIN
	const ompt_callbacks_t events[] = {ompt_callback_target, ompt_callback_target_data_op,
	                                   ompt_callback_target_submit};
#else
	const ompt_callbacks_t events[] = {ompt_callback_target_emi,
	                                   ompt_callback_target_data_op_emi,
	                                   ompt_callback_target_submit_emi};
#endif

	(void)device;
	set(ompt_callback_device_initialize, (ompt_callback_t)on_device);
	set(ompt_callback_thread_begin, (ompt_callback_t)on_thread);
	set(events[0], (ompt_callback_t)on_target);
	set(events[1], (ompt_callback_t)on_data);
	set(events[2], (ompt_callback_t)on_submit);
	strange += !get(events[2], &is) || is != (ompt_callback_t)on_submit;
	strange += data->value != 17;
	return 1;
}

static void tool_finalize(ompt_data_t *data)
{
	strange += data->value != 17;
	printf("truth tool_devices %ld\ntruth tool_begun %ld\ntruth tool_ended %ld\n"
	       "truth tool_submits %ld\ntruth tool_copies %ld\ntruth tool_bytes %ld\n"
	       "truth tool_allocs %ld\ntruth tool_threads %ld\ntruth tool_strange %ld\n",
	       devices, begun, ended, submits, copies, copied, allocs, threads, strange);
	fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t tool = {tool_initialize, tool_finalize, {.value = 17}};

	(void)version;
	(void)runtime;
	return &tool;
}
