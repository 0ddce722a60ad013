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

enum af_ompt_set { AF_OMPT_SET_NEVER = 1, AF_OMPT_SET_IMPOSSIBLE = 2 };

/* ompt_callbacks_t (19.4.2) */
enum af_ompt_event {
	AF_OMPT_DEVICE_INITIALIZE = 12,
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

#endif
