/*
 * OMPT, the tools interface of OpenMP, as far as it is used: the declarations of the OpenMP API
 * Specification 5.2, chapter 19 (5.1 has the same numbers), so that no header of a runtime is
 * needed.
 */
#ifndef AF_INJECT_OMP_OMPT_ABI_H
#define AF_INJECT_OMP_OMPT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ompt_data_t (19.4.4.1) */
union af_ompt_data {
	uint64_t value;
	void *pointer;
};

/* ompt_function_lookup_t (19.5.3.1) */
typedef void (*af_ompt_function)(void);
typedef af_ompt_function (*af_ompt_lookup)(const char *name);

/* ompt_start_tool_result_t (19.3.1) */
struct af_ompt_tool {
	int (*initialize)(af_ompt_lookup lookup, int initial_device, union af_ompt_data *tool_data);
	void (*finalize)(union af_ompt_data *tool_data);
	union af_ompt_data tool_data;
};

/* ompt_set_callback (19.6.1.3): an enum af_ompt_set */
typedef int (*af_ompt_set_callback)(int event, af_ompt_function callback);

enum af_ompt_set {
	AF_OMPT_SET_NEVER = 1,
	AF_OMPT_SET_IMPOSSIBLE = 2,
	AF_OMPT_SET_ALWAYS = 5,
};

/* ompt_get_callback (19.6.1.4): 1 when one is set */
typedef int (*af_ompt_get_callback)(int event, af_ompt_function *callback);

/* ompt_start_tool (19.2.1) */
typedef struct af_ompt_tool *(*af_ompt_start)(unsigned version, const char *runtime);

/* ompt_callbacks_t (19.4.2) */
enum af_ompt_event {
	AF_OMPT_THREAD_BEGIN = 1,
	AF_OMPT_THREAD_END = 2,
	AF_OMPT_PARALLEL_BEGIN = 3,
	AF_OMPT_PARALLEL_END = 4,
	AF_OMPT_TASK_CREATE = 5,
	AF_OMPT_TASK_SCHEDULE = 6,
	AF_OMPT_IMPLICIT_TASK = 7,
	AF_OMPT_TARGET_PLAIN = 8,
	AF_OMPT_TARGET_DATA_OP_PLAIN = 9,
	AF_OMPT_TARGET_SUBMIT_PLAIN = 10,
	AF_OMPT_DEVICE_INITIALIZE = 12,
	AF_OMPT_SYNC_REGION_WAIT = 16,
	AF_OMPT_WORK = 20,
	AF_OMPT_MUTEX_ACQUIRE = 26,
	AF_OMPT_MUTEX_ACQUIRED = 27,
	AF_OMPT_TARGET_EMI = 33,
	AF_OMPT_TARGET_DATA_OP_EMI = 34,
	AF_OMPT_TARGET_SUBMIT_EMI = 35,
};

/* ompt_scope_endpoint_t (19.4.4.11) */
enum af_ompt_scope { AF_OMPT_BEGIN = 1, AF_OMPT_END = 2, AF_OMPT_BEGIN_END = 3 };

/* ompt_target_t (19.4.4.21) */
enum af_ompt_target {
	AF_OMPT_TARGET = 1,
	AF_OMPT_TARGET_ENTER_DATA = 2,
	AF_OMPT_TARGET_EXIT_DATA = 3,
	AF_OMPT_TARGET_UPDATE = 4,
	AF_OMPT_TARGET_NOWAIT = 8, /* added to one of those */
};

/* ompt_target_data_op_t (19.4.4.15) */
enum af_ompt_data_op {
	AF_OMPT_ALLOC = 1,
	AF_OMPT_TO_DEVICE = 2,
	AF_OMPT_FROM_DEVICE = 3,
	AF_OMPT_DELETE = 4,
	AF_OMPT_ASSOCIATE = 5,
	AF_OMPT_DISASSOCIATE = 6,
	AF_OMPT_ASYNC = 16, /* added to one of the first four */
};

/* ompt_sync_region_t (19.4.4.14); 1 and 2 are of older runtimes */
enum af_ompt_sync {
	AF_OMPT_BARRIER_IMPLICIT = 2,
	AF_OMPT_BARRIER_EXPLICIT = 3,
	AF_OMPT_TASKWAIT = 5,
	AF_OMPT_TASKGROUP = 6,
	AF_OMPT_REDUCTION = 7,
	AF_OMPT_BARRIER_IMPLICIT_WORKSHARE = 8,
	AF_OMPT_BARRIER_IMPLICIT_PARALLEL = 9,
};

/* ompt_task_flag_t (19.4.4.19) */
enum { AF_OMPT_TASK_INITIAL = 1 };

/* ompt_callback_thread_begin_t (19.5.2.1) and ompt_callback_thread_end_t */
typedef void (*af_ompt_on_thread_begin)(int type, union af_ompt_data *thread);
typedef void (*af_ompt_on_thread_end)(union af_ompt_data *thread);

/* ompt_callback_parallel_begin_t (19.5.2.3) and ompt_callback_parallel_end_t */
typedef void (*af_ompt_on_parallel_begin)(union af_ompt_data *task, const void *frame,
                                          union af_ompt_data *parallel, unsigned requested,
                                          int flags, const void *region);
typedef void (*af_ompt_on_parallel_end)(union af_ompt_data *parallel, union af_ompt_data *task,
                                        int flags, const void *region);

/* ompt_callback_work_t (19.5.2.5) */
typedef void (*af_ompt_on_work)(int type, int scope, union af_ompt_data *parallel,
                                union af_ompt_data *task, uint64_t count, const void *at);

/* ompt_callback_task_create_t (19.5.2.7), ompt_callback_task_schedule_t (19.5.2.10) */
typedef void (*af_ompt_on_task_create)(union af_ompt_data *task, const void *frame,
                                       union af_ompt_data *fresh, int flags, int has_dependences,
                                       const void *at);
typedef void (*af_ompt_on_task_schedule)(union af_ompt_data *prior, int status,
                                         union af_ompt_data *next);

/* ompt_callback_implicit_task_t (19.5.2.11); at its end @parallel is NULL */
typedef void (*af_ompt_on_implicit_task)(int scope, union af_ompt_data *parallel,
                                         union af_ompt_data *task, unsigned parallelism,
                                         unsigned index, int flags);

/* ompt_callback_sync_region_t (19.5.2.13) */
typedef void (*af_ompt_on_sync_region)(int kind, int scope, union af_ompt_data *parallel,
                                       union af_ompt_data *task, const void *at);

/* ompt_callback_mutex_acquire_t (19.5.2.14) and ompt_callback_mutex_t */
typedef void (*af_ompt_on_mutex_acquire)(int kind, unsigned hint, unsigned implementation,
                                         uint64_t wait, const void *at);
typedef void (*af_ompt_on_mutex)(int kind, uint64_t wait, const void *at);

/* ompt_callback_device_initialize_t (19.5.2.19) */
typedef void (*af_ompt_on_device)(int device, const char *type, void *handle, af_ompt_lookup lookup,
                                  const char *documentation);

/* ompt_callback_target_emi_t and ompt_callback_target_t (19.5.2.26) */
typedef void (*af_ompt_on_target_emi)(int kind, int scope, int device, union af_ompt_data *task,
                                      union af_ompt_data *target_task, union af_ompt_data *data,
                                      const void *region);
typedef void (*af_ompt_on_target)(int kind, int scope, int device, union af_ompt_data *task,
                                  uint64_t target, const void *region);

/* ompt_callback_target_data_op_emi_t and ompt_callback_target_data_op_t (19.5.2.25) */
typedef void (*af_ompt_on_data_op_emi)(int scope, union af_ompt_data *target_task,
                                       union af_ompt_data *data, uint64_t *id, int op, void *from,
                                       int from_device, void *to, int to_device, size_t bytes,
                                       const void *region);
typedef void (*af_ompt_on_data_op)(uint64_t target, uint64_t id, int op, void *from,
                                   int from_device, void *to, int to_device, size_t bytes,
                                   const void *region);

/* ompt_callback_target_submit_emi_t and ompt_callback_target_submit_t (19.5.2.28) */
typedef void (*af_ompt_on_submit_emi)(int scope, union af_ompt_data *data, uint64_t *id,
                                      unsigned teams);
typedef void (*af_ompt_on_submit)(uint64_t target, uint64_t id, unsigned teams);

#endif
