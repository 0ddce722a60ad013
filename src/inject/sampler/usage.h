/*
 * The CPU time that a process and its threads used, which they report themselves as they end; and
 * why some of their time will have no samples. Only the recorder sees what ends by a signal.
 */
#ifndef AF_INJECT_SAMPLER_USAGE_H
#define AF_INJECT_SAMPLER_USAGE_H

#include "trace/layout.h"

struct af_thread_context;

/* The calling thread, whose context is @t and entered, ends. */
void af_usage_thread_ends(struct af_thread_context *t);

/* The process begins: it has run nothing of its own. */
void af_usage_process_begins(void);

/* The process ends, by exit() or _exit(): report its own time, its threads' and its children's. */
void af_usage_process_ends(void);

/*
 * The file @path is about to be run, by this process or by a child: report it if it cannot be
 * sampled.
 */
void af_usage_before_exec(const char *path);

/* Write UNSAMPLED about this process. */
void af_usage_unsampled(enum af_unsampled cause, uint64_t count, uint64_t cpu_ns);

#endif
