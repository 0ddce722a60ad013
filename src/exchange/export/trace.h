/*
 * Reads a trace to write its events elsewhere: once for the names, which come last, and a second
 * time for the events. Both readings number stacks and other definitions alike, so `now` tells what
 * an event means, and `whole` what it is called.
 *
 *	export_trace_open → { export_trace_next }* → export_trace_close
 */
#ifndef AF_EXCHANGE_EXPORT_TRACE_H
#define AF_EXCHANGE_EXPORT_TRACE_H

#include "analyse/world/world.h"
#include "base/buf.h"

struct af_err;
struct af_export_request;

enum { EXPORT_FLUSH_BYTES = 256 << 10 };

struct export_trace {
	struct af_trace *trace;
	uint64_t wanted;
	struct af_world whole, now;
	struct af_map queue_handles; /* process and queue → the runtime's handle */
	struct af_map kernel_names;  /* process and kernel → name in names */
	struct af_strtab names;
	/* Processes whose launches were seen from outside → how many */
	struct af_map launches_seen;
	uint64_t epoch_ns; /* to be added to times for those since 1970 */
};

/* now.time_range tells which part of the trace is inside the time range. */
int export_trace_open(struct export_trace *t, const struct af_export_request *request,
                      uint64_t wanted, struct af_err *err);
bool export_trace_next(struct export_trace *t, struct af_event *ev);
void export_trace_close(struct export_trace *t); /* a zeroed one is fine */

/* The runtime's handle of a queue of @process; for CUDA it is the number of the stream. */
uint64_t export_queue_handle(const struct export_trace *t, uint32_t process, uint32_t queue);

/*
 * Is @ev the launch of a kernel? Each launch of the trace is one event. Where launches of a process
 * were seen from outside, calls without a stack are not counted again: gpuperf's two halves
 * describe the same launches.
 */
struct af_call;
bool export_launch_read(const struct export_trace *t, const struct af_event *ev,
                        struct af_call *call);

/* The name of a kernel from its runtime, mangled; "" when not known. */
const char *export_kernel_name(const struct export_trace *t, uint32_t process, uint32_t kernel);

/*
 * The frames of @node in @t without the process, root first: @take for each, with its text and
 * kind, last for the leaf.
 */
struct af_tree;
void export_stack(const struct af_tree *t, uint32_t node,
                  void (*take)(void *arg, const char *text, size_t len, uint32_t kind, bool last),
                  void *arg);

/*
 * Append a frame's text for folded lines; characters that would end it there become `:` or a blank.
 */
void export_frame_text(struct af_buf *b, const char *text, size_t len);

#endif
