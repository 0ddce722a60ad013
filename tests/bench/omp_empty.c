/* An OMPT tool whose callbacks do nothing: the same events as aflame's, to compare with. */
#include <omp-tools.h>

static void on_device(int device, const char *type, ompt_device_t *handle,
                      ompt_function_lookup_t lookup, const char *documentation)
{
	(void)device;
	(void)type;
	(void)handle;
	(void)lookup;
	(void)documentation;
}

static void on_target(ompt_target_t kind, ompt_scope_endpoint_t scope, int device,
                      ompt_data_t *task, ompt_data_t *target_task, ompt_data_t *data,
                      const void *region)
{
	(void)kind;
	(void)scope;
	(void)device;
	(void)task;
	(void)target_task;
	(void)data;
	(void)region;
}

static void on_data(ompt_scope_endpoint_t scope, ompt_data_t *target_task, ompt_data_t *data,
                    ompt_id_t *id, ompt_target_data_op_t op, void *from, int from_device, void *to,
                    int to_device, size_t bytes, const void *region)
{
	(void)scope;
	(void)target_task;
	(void)data;
	(void)id;
	(void)op;
	(void)from;
	(void)from_device;
	(void)to;
	(void)to_device;
	(void)bytes;
	(void)region;
}

static void on_submit(ompt_scope_endpoint_t scope, ompt_data_t *data, ompt_id_t *id, unsigned teams)
{
	(void)scope;
	(void)data;
	(void)id;
	(void)teams;
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                              unsigned requested, int flags, const void *at)
{
	(void)task;
	(void)frame;
	(void)parallel;
	(void)requested;
	(void)flags;
	(void)at;
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *at)
{
	(void)parallel;
	(void)task;
	(void)flags;
	(void)at;
}

static void on_implicit(ompt_scope_endpoint_t scope, ompt_data_t *parallel, ompt_data_t *task,
                        unsigned parallelism, unsigned index, int flags)
{
	(void)scope;
	(void)parallel;
	(void)task;
	(void)parallelism;
	(void)index;
	(void)flags;
}

static int tool_initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

	(void)device;
	(void)data;
	set(ompt_callback_device_initialize, (ompt_callback_t)on_device);
	set(ompt_callback_target_emi, (ompt_callback_t)on_target);
	set(ompt_callback_target_data_op_emi, (ompt_callback_t)on_data);
	set(ompt_callback_target_submit_emi, (ompt_callback_t)on_submit);
	set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
	set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
	set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit);
	return 1;
}

static void tool_finalize(ompt_data_t *data)
{
	(void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t tool = {tool_initialize, tool_finalize, {0}};

	(void)version;
	(void)runtime;
	return &tool;
}
