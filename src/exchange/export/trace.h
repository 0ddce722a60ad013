/*
 * Reading a trace to write its events elsewhere: a first time for names, which come last, and a
 * second time for the events. Both readings number stacks and the like alike, so what an event
 * means is asked of `now`, and what it is called of `whole`.
 *
 *	export_trace_open → { export_trace_next }* → export_trace_close
 */
#ifndef AF_EXCHANGE_EXPORT_TRACE_H
#define AF_EXCHANGE_EXPORT_TRACE_H

#include "analyse/world/world.h"
#include "base/buf.h"

struct af_err;
struct af_export_job;

enum { EXPORT_FLUSH_BYTES = 256 << 10 };

struct export_trace {
	struct af_trace *trace;
	uint64_t wanted;
	struct af_world whole, now;
	struct af_map queue_handles; /* process and queue → the runtime's handle */
	struct af_map kernel_names;  /* process and kernel → name in names */
	struct af_strtab names;
	struct af_map
	    launches_seen; /* processes whose launches were seen from outside → how many */
	uint64_t epoch_ns; /* to be added to times for those since 1970 */
};

/* What of the trace is within, now.within says. */
int export_trace_open(struct export_trace *t, const struct af_export_job *job, uint64_t wanted,
                      struct af_err *err);
bool export_trace_next(struct export_trace *t, struct af_event *ev);
void export_trace_close(struct export_trace *t); /* a zeroed one is fine */

/* The handle of a queue of @process, which for CUDA is the number of the stream. */
uint64_t export_queue_handle(const struct export_trace *t, uint32_t process, uint32_t queue);

/*
 * Whether @ev is the launch of a kernel: each launch of the trace is one event. Where launches of a
 * process were seen from outside, calls without a stack are no more of them: gpuperf's two halves
 * tell of the same launches.
 */
struct af_call;
bool export_launch_read(const struct export_trace *t, const struct af_event *ev,
                        struct af_call *call);

/* The name of a kernel as its runtime gave it, mangled; "" when not known. */
const char *export_kernel_name(const struct export_trace *t, uint32_t process, uint32_t kernel);

/*
 * The frames of @node in @t without the process, root first: @take for each, with its text and
 * kind, last for the leaf.
 */
struct af_tree;
void export_stack(const struct af_tree *t, uint32_t node,
                  void (*take)(void *arg, const char *text, size_t len, uint32_t kind, bool last),
                  void *arg);

/* A frame's text for folded lines: what would end it there becomes `:` or a blank. */
void export_frame_text(struct af_buf *b, const char *text, size_t len);

#endif
