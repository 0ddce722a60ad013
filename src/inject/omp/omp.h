/*
 * Between the files of this room. tool.c has the tool that the runtime finds, and its callbacks;
 * device.c defines devices and the names of target regions; write.c writes events.
 *
 * Every function may be called on any thread, and none while the thread's context is entered,
 * unless it is given the context.
 */
#ifndef AF_INJECT_OMP_OMP_H
#define AF_INJECT_OMP_OMP_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/core/thread.h"

/*
 * The functions that calls are recorded as: by the specification's names of what the callbacks
 * tell. F(NAME, name, category)
 */
#define AF_OMP_FUNCTIONS(F)                                                                        \
	F(TARGET, "ompt_target", OTHER)                                                            \
	F(ENTER_DATA, "ompt_target_enter_data", OTHER)                                             \
	F(EXIT_DATA, "ompt_target_exit_data", OTHER)                                               \
	F(UPDATE, "ompt_target_update", OTHER)                                                     \
	F(TARGET_NOWAIT, "ompt_target_nowait", OTHER)                                              \
	F(ENTER_DATA_NOWAIT, "ompt_target_enter_data_nowait", OTHER)                               \
	F(EXIT_DATA_NOWAIT, "ompt_target_exit_data_nowait", OTHER)                                 \
	F(UPDATE_NOWAIT, "ompt_target_update_nowait", OTHER)                                       \
	F(ALLOC, "ompt_target_data_alloc", ALLOC)                                                  \
	F(TO_DEVICE, "ompt_target_data_transfer_to_device", COPY)                                  \
	F(FROM_DEVICE, "ompt_target_data_transfer_from_device", COPY)                              \
	F(DELETE, "ompt_target_data_delete", FREE)                                                 \
	F(ASSOCIATE, "ompt_target_data_associate", OTHER)                                          \
	F(DISASSOCIATE, "ompt_target_data_disassociate", OTHER)                                    \
	F(SUBMIT, "ompt_target_submit", LAUNCH)

enum af_omp_function {
	AF_OMP_NONE,
#define AF_F(NAME, name, category) AF_OMP_##NAME,
	AF_OMP_FUNCTIONS(AF_F)
#undef AF_F
	    AF_OMP_FUNCTIONS_END
};

enum { AF_OMP_ARGS = 5 };

/* A call, from its beginning to its end. */
struct af_omp_call {
	uint64_t begin_ns, correlation; /* of the work that it does, 0: it does none */
	uint64_t args[AF_OMP_ARGS];
	const void *region; /* return address in the program, of the target construct */
	uint32_t nr_args, descriptor;
	uint32_t callpath,
	    epoch; /* epoch: of the thread's context, whose id callpath is; 0: none */
	enum af_omp_function function;
};

/* Define what this process has not defined yet: it is new, or a fork made it. */
void af_omp_check_fork(void);

/* The runtime has initialized @device, of a @type that it names itself. */
void af_omp_device(int device, const char *type);

/*
 * The queue of @device; 0: its work is not recorded here, as the device has a driver whose own
 * tracing records it.
 */
uint32_t af_omp_queue(int device);

/* The kernel of the target region that the program enters at @region, defined on @t when new. */
uint32_t af_omp_kernel(struct af_thread_context *t, const void *region);

/* Forget the parent's, and define this process's own. In af_omp_check_fork(). */
void af_omp_devices_after_fork(void);

/*
 * @c begins, inside of @around or of none (NULL), whose stack is its own, too: the frames between
 * them are the runtime's. With @work it is a piece of work for that descriptor's queue, whose
 * LAUNCH is written; @regs are those of the callback's caller.
 */
void af_omp_begin(struct af_omp_call *c, const struct af_omp_call *around,
                  const struct af_ev_descriptor *work, const struct af_regs *regs);

/* @c has ended, inside of @depth other calls of this thread. */
void af_omp_end(struct af_omp_call *c, uint8_t depth, const struct af_regs *regs);

#endif
