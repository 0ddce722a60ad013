/*
 * The OMPT tool behind ours. A runtime takes one tool: it gets ours, and ours hands on what the
 * other one registers for.
 */
#ifndef AF_INJECT_OMP_NEXT_H
#define AF_INJECT_OMP_NEXT_H

#include <stdbool.h>

#include "inject/omp/ompt_abi.h"

/* The tool of the process that comes behind libaflame.so, or NULL; it has been started. */
struct af_ompt_tool *af_omp_next_loaded(unsigned version, const char *runtime);

/*
 * The first tool of OMP_TOOL_LIBRARIES that wants to work, loaded as the runtime would
 * (OpenMP 5.2, 19.2.2), or NULL.
 */
struct af_ompt_tool *af_omp_next_named(unsigned version, const char *runtime);

/* Calls are handed on to @next from its initialization on; NULL: there is none. */
void af_omp_next_is(struct af_ompt_tool *next);

/*
 * Initialize the other tool; true if there is one that stays. Callbacks for @ours, a bit for each
 * enum af_ompt_event that the runtime calls us for, are kept here, all others are the runtime's.
 */
bool af_omp_next_initialize(af_ompt_lookup lookup, int initial_device, uint64_t ours);
void af_omp_next_finalize(void);

/* Is there one that stayed? */
bool af_omp_next_works(void);

/* The callback that it registered for @event, one of ours, or NULL. */
af_ompt_function af_omp_next_registered(enum af_ompt_event event);

/*
 * Hand a callback on, with the arguments that the runtime gave us. A tool that registered only the
 * plain callback of an event gets that one, once an operation, with numbers of this process.
 */
void af_omp_next_device(int device, const char *type, void *handle, af_ompt_lookup lookup,
                        const char *documentation);
void af_omp_next_target(int kind, int scope, int device, union af_ompt_data *task,
                        union af_ompt_data *target_task, union af_ompt_data *data,
                        const void *region);
void af_omp_next_data_op(int scope, union af_ompt_data *target_task, union af_ompt_data *data,
                         uint64_t *id, int op, void *from, int from_device, void *to, int to_device,
                         size_t bytes, const void *region);
void af_omp_next_submit(int scope, union af_ompt_data *data, uint64_t *id, unsigned teams);

#endif
